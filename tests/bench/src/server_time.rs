//! The time that a step costs the server, which is what one Redis runs out of.

use millpond::{ick, step::Operation};
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::measure::{evalsha, in_turn};
use crate::report::{Report, number, ratio};

const ROUNDS: usize = 15;
const SIZES: [usize; 4] = [1, 10, 100, 1_000];

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    let section = report.section(
        "Server time of a step",
        "Microseconds of redis-server's own time for one call (`INFO commandstats`), against the \
         bare commands with the same data: for an add of new members one ZADD, for an exchange of \
         a full batch ZREM, ZPOPMIN, ZADD and ZRANGE. The sets hold 100 thousand members before. \
         `INFO commandstats` leaves out what reading a command costs, which a script pays again \
         when it calls ZADD; so the last column says what the least script there can be, one ZADD \
         and no checks, takes. Aim: an add of 100 and more within 1.3 times the bare commands.",
        &["step", "members", "step, µs", "bare commands, µs", "ratio", "least script, ratio"],
    );
    for size in SIZES {
        let calls = (20_000 / size).clamp(50, 2_000);
        let connection = std::cell::RefCell::new(&mut connection);
        let pair = in_turn(
            ROUNDS,
            || add(&server, &mut connection.borrow_mut(), size, calls),
            || bare_add(&server, &mut connection.borrow_mut(), size, calls),
        )?;
        let least = in_turn(
            ROUNDS,
            || least_add(&server, &mut connection.borrow_mut(), size, calls),
            || bare_add(&server, &mut connection.borrow_mut(), size, calls),
        )?;
        let aim = (size >= 100).then_some(("aim 1.3", pair.ratio <= 1.3));
        section.row([
            "add".into(),
            size.to_string(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, aim),
            ratio(least.ratio, None),
        ]);
    }
    for size in SIZES {
        let calls = (20_000 / size).clamp(50, 2_000);
        let connection = std::cell::RefCell::new(&mut connection);
        let pair = in_turn(
            ROUNDS,
            || exchange(&server, &mut connection.borrow_mut(), size, calls),
            || bare_exchange(&server, &mut connection.borrow_mut(), size, calls),
        )?;
        section.row([
            "exchange".into(),
            size.to_string(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, None),
            String::new(),
        ]);
    }
    Ok(())
}

fn pairs(call: usize, size: usize) -> impl Iterator<Item = (f64, String)> {
    (0..size).map(move |i| {
        let n = call * size + i;
        (1_763_691_473.0 + n as f64 / 8.0, format!("document-{n:08}"))
    })
}

fn zadd<M: redis::ToRedisArgs>(set: &str, pairs: impl Iterator<Item = (f64, M)>) -> redis::Cmd {
    let mut command = redis::cmd("ZADD");
    command.arg(set);
    for (score, member) in pairs {
        command.arg(score).arg(member);
    }
    command
}

/// Sends a step over a plain connection, as its invocation says.
pub(crate) fn send(
    connection: &mut redis::Connection,
    step: &impl Operation,
) -> Outcome<redis::Value> {
    let call = step.invocation();
    let command = evalsha(&call);
    match command.query(connection) {
        Err(error) if error.code() == Some("NOSCRIPT") => {
            redis::cmd("SCRIPT").arg("LOAD").arg(call.script.source()).exec(connection)?;
            Ok(command.query(connection)?)
        }
        other => Ok(other?),
    }
}

/// Members that are there before, so that the sets are not so small that they lie in a cache.
const BEFORE: usize = 100_000;

/// Empties the server and fills a set.
fn reset(server: &Redis, connection: &mut redis::Connection, set: &str) -> Outcome {
    server.cli(&["FLUSHALL"]);
    for start in (0..BEFORE).step_by(1_000) {
        let members = (start..start + 1_000).map(|n| (2e9 + n as f64, format!("before-{n:08}")));
        zadd(set, members).exec(connection)?;
    }
    if set != BARE {
        server.cli(&["SET", "k", "ick.v1"]);
    }
    server.cli(&["CONFIG", "RESETSTAT"]);
    Ok(())
}

const PRODUCER: &str = "k/ick/{k}/pset";
const BARE: &str = "p";

/// Microseconds that the server spent on these commands since the last reset, for one call.
pub(crate) fn spent(server: &Redis, commands: &[&str], calls: usize) -> f64 {
    let usec = |command: &&str| {
        let line = server.info("commandstats", &format!("cmdstat_{command}")).unwrap_or_default();
        let usec = line.split(',').find_map(|part| part.strip_prefix("usec="));
        usec.and_then(|usec| usec.parse::<f64>().ok()).unwrap_or(0.0)
    };
    commands.iter().map(usec).sum::<f64>() / calls as f64
}

fn add(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    calls: usize,
) -> Outcome<f64> {
    reset(server, connection, PRODUCER)?;
    for call in 0..calls {
        send(connection, &ick::Add::new("k", pairs(call, size))?)?;
    }
    Ok(spent(server, &["evalsha"], calls))
}

/// The least that a script can do: what an add costs beyond this is ours.
fn least_add(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    calls: usize,
) -> Outcome<f64> {
    const SOURCE: &str = "return redis.call('ZADD', KEYS[1], 'LT', 'CH', unpack(ARGV))";
    let sha: String = redis::cmd("SCRIPT").arg("LOAD").arg(SOURCE).query(connection)?;
    reset(server, connection, BARE)?;
    for call in 0..calls {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&sha).arg(1).arg(BARE);
        for (score, member) in pairs(call, size) {
            command.arg(score).arg(member);
        }
        command.exec(connection)?;
    }
    Ok(spent(server, &["evalsha"], calls))
}

fn bare_add(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    calls: usize,
) -> Outcome<f64> {
    reset(server, connection, BARE)?;
    for call in 0..calls {
        zadd(BARE, pairs(call, size)).exec(connection)?;
    }
    Ok(spent(server, &["zadd"], calls))
}

fn exchange(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    calls: usize,
) -> Outcome<f64> {
    reset(server, connection, PRODUCER)?;
    for call in 0..=calls {
        send(connection, &ick::Add::new("k", pairs(call, size))?)?;
    }
    send(connection, &ick::Reserve::new("k", size as u64)?)?;
    send(connection, &ick::Exchange::new("k", 0, [""; 0])?)?;
    server.cli(&["CONFIG", "RESETSTAT"]);
    for call in 0..calls {
        let members = pairs(call, size).map(|(_, member)| member);
        send(connection, &ick::Exchange::new("k", size as u64, members)?)?;
    }
    Ok(spent(server, &["evalsha"], calls))
}

fn bare_exchange(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    calls: usize,
) -> Outcome<f64> {
    reset(server, connection, BARE)?;
    for call in 0..=calls {
        zadd(BARE, pairs(call, size)).exec(connection)?;
    }
    let mut batch: Vec<(String, f64)> =
        redis::cmd("ZPOPMIN").arg(BARE).arg(size).query(connection)?;
    server.cli(&["CONFIG", "RESETSTAT"]);
    for _ in 0..calls {
        let mut remove = redis::cmd("ZREM");
        remove.arg("c");
        for (member, _) in &batch {
            remove.arg(member);
        }
        remove.exec(connection)?;
        batch = redis::cmd("ZPOPMIN").arg(BARE).arg(size).query(connection)?;
        let moved = batch.iter().map(|(member, score)| (*score, member));
        zadd("c", moved).exec(connection)?;
        let range: Vec<(String, f64)> = redis::cmd("ZRANGE")
            .arg("c")
            .arg(0)
            .arg(size - 1)
            .arg("WITHSCORES")
            .query(connection)?;
        assert_eq!(range.len(), batch.len());
    }
    Ok(spent(server, &["zrem", "zpopmin", "zadd", "zrange"], calls))
}
