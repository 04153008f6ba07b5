//! Events beside BullMQ's delayed jobs: what one costs the server to add, and to keep.

use std::process::{Command, Stdio};
use std::time::Duration;

use millpond::events::NewEvent;
use millpond_tests::servers::Redis;

use super::{DAY, PAYLOAD};
use crate::Outcome;
use crate::measure::in_turn;
use crate::report::{Report, number, ratio};
use crate::server_time::spent;

const ROUNDS: usize = 5;

/// How many are there, of which each step adds 1,000.
const EVENTS: usize = 100_000;

/// The program that does with BullMQ what is done here with events: its arguments are the server's URL and these.
pub(super) fn bull(server: &Redis, arguments: &[String]) -> Outcome<Vec<u8>> {
    let program = std::env::var("MILLPOND_BENCH_NODE")
        .map_err(|_| "MILLPOND_BENCH_NODE names the program; see make bench")?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/node/delayed.mjs");
    let mut command = Command::new(&program);
    command.arg(path).arg(server.url()).args(arguments).stderr(Stdio::inherit());
    let output = command.output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{program} {path} {arguments:?} failed").into()),
    }
}

pub(crate) fn peer(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let memory = || -> Outcome<f64> {
        let used = server.info("memory", "used_memory").ok_or("no memory is told")?;
        Ok(used.parse::<f64>()?)
    };
    // The server's microseconds and bytes for each that is added to an empty one.
    let measure = |add: &dyn Fn() -> Outcome| -> Outcome<[f64; 2]> {
        server.cli(&["FLUSHALL"]);
        let before = memory()?;
        server.cli(&["CONFIG", "RESETSTAT"]);
        add()?;
        let us = spent(&server, &["evalsha", "eval"], EVENTS);
        Ok([us, (memory()? - before) / EVENTS as f64])
    };
    let ours = || {
        measure(&|| {
            let queue = millpond::connect(&server.url())?.events("bench");
            for _ in 0..EVENTS / 1_000 {
                let later = || NewEvent::new(PAYLOAD).delay(DAY);
                queue.publish_many((0..1_000).map(|_| later()))?;
            }
            Ok(())
        })
    };
    let theirs = || measure(&|| bull(&server, &["add".into(), EVENTS.to_string()]).map(drop));
    let section = report.section(
        "Delayed events and BullMQ's delayed jobs",
        "100 thousand that are due in a day, with a payload of 100 bytes, added by 1,000 a call (`publish_many`, \
         `addBulk`) to an empty server: microseconds of redis-server's own time in scripts (`INFO commandstats`), and \
         bytes of memory (`used_memory`), for each. A job of BullMQ is a hash with a name, a state and options. Aims: \
         0.35 of its time, and 0.42 of its memory.",
        &["of each", "Millpond", "BullMQ", "ratio"],
    );
    for (at, what, aim) in [(0, "server time, µs", 0.35), (1, "memory, bytes", 0.42)] {
        let pair = in_turn(ROUNDS, || ours().map(|of| of[at]), || theirs().map(|of| of[at]))?;
        let told = format!("aim {aim}");
        let aim = Some((told.as_str(), pair.ratio <= aim));
        section.row([what.into(), number(pair.ours), number(pair.theirs), ratio(pair.ratio, aim)]);
    }
    Ok(())
}

/// A duration as the other program takes it.
pub(super) fn ms(time: Duration) -> String {
    time.as_millis().to_string()
}
