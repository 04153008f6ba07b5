//! Messages per second through one Redis.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use millpond::shuffle::Message;
use millpond_tests::servers::Redis;
use serde_json::Value;

use crate::Outcome;
use crate::measure::median;
use crate::report::{Report, number};

use super::{STREAMS, fields, tenant};

const ROUNDS: usize = 5;

/// Batches, and how many messages go through with each.
const SIZES: [(usize, usize); 2] = [(1, 2_000), (100, 20_000)];

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    let section = report.section(
        "Messages through a shuffle queue",
        "Thousands of messages a second of one blocking client in Rust: written, and read and \
         acknowledged, one at a time and in batches; 40 tenants with 4 streams each where there \
         are so many. Below, the bare commands on one plain stream by redis-rs: XADD, in a pipeline \
         for a batch, XREADGROUP and XACK; and the Go package that these queues come from, which \
         has no batches, where it is at hand.",
        &["streams", "batch", "written", "read and acknowledged"],
    );
    for streams in STREAMS {
        for (size, all) in SIZES {
            let (mut written, mut read) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                server.cli(&["FLUSHALL"]);
                let (first, second) = ours(&server, streams, size, all)?;
                written.push(first);
                read.push(second);
            }
            let rates = [written, read].map(median).map(number);
            let [written, read] = rates;
            section.row([streams.to_string(), size.to_string(), written, read]);
        }
    }
    for (size, all) in SIZES {
        let (mut written, mut read) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            server.cli(&["FLUSHALL"]);
            let (first, second) = bare(&mut connection, size, all)?;
            written.push(first);
            read.push(second);
        }
        let [written, read] = [written, read].map(median).map(number);
        section.row(["bare".into(), size.to_string(), written, read]);
    }
    for (streams, [written, read]) in go_package(&server)? {
        section.row([format!("{streams}, Go package"), "1".into(), number(written), number(read)]);
    }
    Ok(())
}

/// What the package that these queues come from does, one message at a time; nothing unless
/// `MILLPOND_INTEROP_PACKAGE` names a checkout of it. See `tests/interop`.
fn go_package(server: &Redis) -> Outcome<BTreeMap<u64, [f64; 2]>> {
    let mut rates = BTreeMap::new();
    if std::env::var_os("MILLPOND_INTEROP_PACKAGE").is_none() {
        return Ok(rates);
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../interop/run");
    let output = Command::new(program).args(["bench", &server.url()]).output()?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let row: Value = serde_json::from_slice(line)?;
        let streams = row["streams"].as_u64().ok_or("a row has no streams")?;
        let rate = row["per_second"].as_f64().ok_or("a row has no rate")? / 1_000.0;
        let which = usize::from(row["what"] != "write");
        rates.entry(streams).or_insert([0.0; 2])[which] = rate;
    }
    Ok(rates)
}

fn thousands_per_second(messages: usize, since: Instant) -> f64 {
    messages as f64 / 1_000.0 / since.elapsed().as_secs_f64()
}

fn ours(server: &Redis, streams: u32, size: usize, all: usize) -> Outcome<(f64, f64)> {
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(streams).streams_per_shard(streams.min(4));
    let consumer = queue.consumer("g", "c");
    queue.write("first", fields(0))?;
    consumer.ack(consumer.read()?.as_ref())?;
    let start = Instant::now();
    for from in (0..all).step_by(size) {
        if size == 1 {
            queue.write(tenant(from), fields(from))?;
        } else {
            queue.write_many((from..from + size).map(|n| (tenant(n), fields(n))))?;
        }
    }
    let written = thousands_per_second(all, start);
    let (start, mut done) = (Instant::now(), 0);
    while done < all {
        let messages: Vec<Message> = match size {
            1 => consumer.read()?.into_iter().collect(),
            _ => consumer.read_many(size)?,
        };
        done += messages.len();
        consumer.ack(&messages)?;
    }
    Ok((written, thousands_per_second(all, start)))
}

fn bare(connection: &mut redis::Connection, size: usize, all: usize) -> Outcome<(f64, f64)> {
    redis::cmd("XGROUP").arg(&["CREATE", "p", "g", "0", "MKSTREAM"]).exec(connection)?;
    let start = Instant::now();
    for from in (0..all).step_by(size) {
        let mut pipeline = redis::pipe();
        for n in from..from + size {
            pipeline.cmd("XADD").arg("p").arg("*").arg(&fields(n)[..]).ignore();
        }
        pipeline.exec(connection)?;
    }
    let written = thousands_per_second(all, start);
    let (start, mut done) = (Instant::now(), 0);
    while done < all {
        let entries: Vec<(String, Vec<(String, redis::Value)>)> = redis::cmd("XREADGROUP")
            .arg(&["GROUP", "g", "c", "COUNT"])
            .arg(size)
            .arg(&["STREAMS", "p", ">"])
            .query(connection)?;
        let mut ack = redis::cmd("XACK");
        ack.arg("p").arg("g");
        for (id, _) in &entries[0].1 {
            ack.arg(id);
            done += 1;
        }
        ack.exec(connection)?;
    }
    Ok((written, thousands_per_second(all, start)))
}
