//! The time that a message costs the server.

use std::cell::RefCell;

use millpond::shuffle;
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::measure::in_turn;
use crate::report::{Report, number, ratio};
use crate::server_time::{send, spent};

use super::{STREAMS, fields, tenant};

const ROUNDS: usize = 5;
const SIZES: [usize; 3] = [1, 10, 100];

/// Messages that lie in the streams meanwhile, as many in each.
const WAITING: usize = 4;

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let connection = RefCell::new(redis::Client::open(server.url())?.get_connection()?);
    let section = report.section(
        "Server time of a message in a shuffle queue",
        "Microseconds of redis-server's own time (`INFO commandstats`) for a message that is \
         written, read and acknowledged, in batches of this size, of 40 tenants with 4 streams \
         each where there are so many; against XADD for each message, XREADGROUP and XACK for \
         the batch, all on one plain stream. Some messages wait in each stream meanwhile, and \
         entries stay when they are done, as with the bare commands. `INFO commandstats` leaves \
         out what reading a command costs, which a script pays again when it calls XADD, and so \
         it does the replies that a script receives: so the last column says what the least \
         scripts there can be take, XADD for each message, one XREADGROUP and one XACK on that \
         plain stream and no more. Aim: batches of 100 within 2 times the bare commands.",
        &[
            "streams",
            "batch",
            "write, µs",
            "read, µs",
            "ack, µs",
            "together, µs",
            "bare, µs",
            "ratio",
            "least scripts, ratio",
        ],
    );
    let mut least = Vec::new();
    for size in SIZES {
        let pair = in_turn(
            ROUNDS,
            || least_scripts(&server, &mut connection.borrow_mut(), size),
            || bare(&server, &mut connection.borrow_mut(), size),
        )?;
        least.push(pair.ratio);
    }
    for streams in STREAMS {
        for (size, least) in SIZES.into_iter().zip(&least) {
            let parts = RefCell::new([0.0; 3]);
            let pair = in_turn(
                ROUNDS,
                || {
                    let found = ours(&server, &mut connection.borrow_mut(), streams, size)?;
                    *parts.borrow_mut() = found;
                    Outcome::Ok(found.iter().sum())
                },
                || bare(&server, &mut connection.borrow_mut(), size),
            )?;
            let aim = (size >= 100).then_some(("aim 2", pair.ratio <= 2.0));
            let [write, read, ack] = parts.into_inner();
            section.row([
                streams.to_string(),
                size.to_string(),
                number(write),
                number(read),
                number(ack),
                number(pair.ours),
                number(pair.theirs),
                ratio(pair.ratio, aim),
                ratio(*least, None),
            ]);
        }
    }
    Ok(())
}

fn batches(size: usize) -> usize {
    (2_000 / size).max(10)
}

fn writing(streams: u32, messages: impl Iterator<Item = usize>) -> Outcome<shuffle::Write> {
    let mut step = shuffle::Write::new("q", streams, streams.min(4), None)?;
    for n in messages {
        step.push(tenant(n), fields(n))?;
    }
    Ok(step)
}

fn ours(
    server: &Redis,
    connection: &mut redis::Connection,
    streams: u32,
    size: usize,
) -> Outcome<[f64; 3]> {
    server.cli(&["FLUSHALL"]);
    let read = |max| shuffle::Read::new("q", "g", "c", max);
    // What waits, and a first read that joins the streams.
    send(connection, &writing(streams, 0..WAITING * streams as usize + 1)?)?;
    send(connection, &read(1)?)?;
    let (calls, all) = (batches(size), batches(size) * size);
    server.cli(&["CONFIG", "RESETSTAT"]);
    for batch in 0..calls {
        send(connection, &writing(streams, batch * size..(batch + 1) * size)?)?;
    }
    let write = spent(server, &["evalsha"], all);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let mut taken = Vec::new();
    for _ in 0..calls {
        let step = read(size)?;
        let replies: Vec<redis::Value> = redis::from_redis_value(send(connection, &step)?)?;
        let mut receipts = Vec::new();
        for pair in replies[1..].chunks(2) {
            let stream: u32 = redis::from_redis_value(pair[0].clone())?;
            let (id, _): (String, redis::Value) = redis::from_redis_value(pair[1].clone())?;
            let stream = shuffle::Stream::Number(stream);
            receipts.push(shuffle::Receipt { stream, id: id.parse()? });
        }
        taken.push(receipts);
    }
    let read = spent(server, &["evalsha"], all);
    server.cli(&["CONFIG", "RESETSTAT"]);
    for receipts in taken {
        send(connection, &shuffle::Ack::new("q", "g", &receipts)?)?;
    }
    Ok([write, read, spent(server, &["evalsha"], all)])
}

fn bare(server: &Redis, connection: &mut redis::Connection, size: usize) -> Outcome<f64> {
    server.cli(&["FLUSHALL"]);
    redis::cmd("XGROUP").arg(&["CREATE", "p", "g", "0", "MKSTREAM"]).exec(connection)?;
    server.cli(&["CONFIG", "RESETSTAT"]);
    for batch in 0..batches(size) {
        for n in batch * size..(batch + 1) * size {
            redis::cmd("XADD").arg("p").arg("*").arg(&fields(n)[..]).exec(connection)?;
        }
        type Entries = Vec<(String, redis::Value)>;
        let read: Vec<(String, Entries)> = redis::cmd("XREADGROUP")
            .arg(&["GROUP", "g", "c", "COUNT"])
            .arg(size)
            .arg(&["STREAMS", "p", ">"])
            .query(connection)?;
        let mut ack = redis::cmd("XACK");
        ack.arg("p").arg("g");
        for (id, _) in &read[0].1 {
            ack.arg(id);
        }
        ack.exec(connection)?;
    }
    Ok(spent(server, &["xadd", "xreadgroup", "xack"], batches(size) * size))
}

/// What any script pays: the same commands as [`bare`], each size's in a script of its own.
fn least_scripts(server: &Redis, connection: &mut redis::Connection, size: usize) -> Outcome<f64> {
    let write = redis::Script::new(
        "local ids = {} for i = 1, #ARGV, 4 do ids[#ids + 1] = redis.call('XADD', KEYS[1], '*', \
         ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end return ids",
    );
    let read = redis::Script::new(
        "return redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', ARGV[1], 'STREAMS', KEYS[1], '>')",
    );
    let ack = redis::Script::new("return redis.call('XACK', KEYS[1], 'g', unpack(ARGV))");
    server.cli(&["FLUSHALL"]);
    redis::cmd("XGROUP").arg(&["CREATE", "p", "g", "0", "MKSTREAM"]).exec(connection)?;
    for script in [&write, &read, &ack] {
        script.load(connection)?;
    }
    server.cli(&["CONFIG", "RESETSTAT"]);
    for batch in 0..batches(size) {
        let mut call = write.key("p");
        for n in batch * size..(batch + 1) * size {
            call.arg(&fields(n)[..]);
        }
        call.invoke::<redis::Value>(connection)?;
        let entries: Vec<(String, Vec<(String, redis::Value)>)> =
            read.key("p").arg(size).invoke(connection)?;
        let mut call = ack.key("p");
        for (id, _) in &entries[0].1 {
            call.arg(id);
        }
        call.invoke::<redis::Value>(connection)?;
    }
    Ok(spent(server, &["evalsha"], batches(size) * size))
}
