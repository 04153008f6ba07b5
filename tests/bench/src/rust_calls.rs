//! Calls per second from Rust, against redis-rs alone sending the same EVALSHA.

use std::time::Instant;

use millpond::{Options, ick, step::Operation};
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::measure::{evalsha, in_turn};
use crate::report::{Report, Section, number, ratio};

const ROUNDS: usize = 21;
const CONCURRENT: usize = 64;

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let section = report.section(
        "Calls from Rust",
        "Adds of one member a second, against redis-rs alone (its default connection with no \
         time limit) sending the same EVALSHA with the same arguments and reading the same reply. \
         Async on tokio's default runtime. Aim: 0.95.",
        &["connection", "concurrent", "Millpond", "redis-rs", "ratio"],
    );
    for (connection, url) in [("TCP", server.url()), ("Unix socket", server.unix_url())] {
        blocking(section, connection, &url)?;
        for concurrent in [1, CONCURRENT] {
            asynchronous(section, connection, &url, concurrent)?;
        }
    }
    Ok(())
}

fn step() -> Outcome<ick::Add> {
    Ok(ick::Add::new("k", [(1_763_691_473.5, "document-00000001")])?)
}

fn command() -> Outcome<redis::Cmd> {
    Ok(evalsha(&step()?.invocation()))
}

fn row(section: &mut Section, connection: &str, concurrent: &str, pair: &crate::measure::Pair) {
    section.row([
        connection.into(),
        concurrent.into(),
        number(pair.ours),
        number(pair.theirs),
        ratio(pair.ratio, Some(("aim 0.95", pair.ratio >= 0.95))),
    ]);
}

fn blocking(section: &mut Section, connection: &str, url: &str) -> Outcome {
    const CALLS: usize = 4_000;
    let ick = Options::parse(url)?.connect()?.ick("k");
    let client = redis::Client::open(url)?;
    let theirs = std::cell::RefCell::new(client.get_connection()?);
    let pair = in_turn(
        ROUNDS,
        || -> Outcome<f64> {
            let start = Instant::now();
            for _ in 0..CALLS {
                ick.add([(1_763_691_473.5, "document-00000001")])?;
            }
            Ok(CALLS as f64 / start.elapsed().as_secs_f64())
        },
        || {
            let start = Instant::now();
            for _ in 0..CALLS {
                let _: (u64, u64) = command()?.query(&mut theirs.borrow_mut())?;
            }
            Ok(CALLS as f64 / start.elapsed().as_secs_f64())
        },
    )?;
    row(section, connection, "1, blocking", &pair);
    Ok(())
}

fn asynchronous(section: &mut Section, connection: &str, url: &str, concurrent: usize) -> Outcome {
    let calls = if concurrent == 1 { 4_000 } else { 40_000 } / concurrent;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ick = Options::parse(url)?.connect()?.to_async().ick("k");
    let client = redis::Client::open(url)?;
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let theirs = runtime.block_on(client.get_multiplexed_async_connection_with_config(&config))?;
    let ours = || -> Outcome<f64> {
        let start = Instant::now();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..concurrent)
                .map(|_| {
                    let ick = ick.clone();
                    tokio::spawn(async move {
                        for _ in 0..calls {
                            ick.add([(1_763_691_473.5, "document-00000001")]).await?;
                        }
                        Ok::<(), millpond::Error>(())
                    })
                })
                .collect();
            for task in tasks {
                task.await??;
            }
            Outcome::Ok(())
        })?;
        Ok((calls * concurrent) as f64 / start.elapsed().as_secs_f64())
    };
    let theirs = || -> Outcome<f64> {
        let start = Instant::now();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..concurrent)
                .map(|_| {
                    let mut connection = theirs.clone();
                    tokio::spawn(async move {
                        for _ in 0..calls {
                            let command = command().map_err(|error| error.to_string())?;
                            let _: (u64, u64) = command
                                .query_async(&mut connection)
                                .await
                                .map_err(|error| error.to_string())?;
                        }
                        Ok::<(), String>(())
                    })
                })
                .collect();
            for task in tasks {
                task.await??;
            }
            Outcome::Ok(())
        })?;
        Ok((calls * concurrent) as f64 / start.elapsed().as_secs_f64())
    };
    let pair = in_turn(ROUNDS, ours, theirs)?;
    row(section, connection, &format!("{concurrent}, async"), &pair);
    Ok(())
}
