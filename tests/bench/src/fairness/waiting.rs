//! What waiting for messages costs, between processes.

use std::process::Command;
use std::time::Duration;

use millpond::Client;
use millpond_tests::clock::cpu_time;
use millpond_tests::servers::Redis;
use millpond_tests::waiting::{PickedUp, Waiters, fields, is_picked_up, queue, write_in_rounds};

use crate::Outcome;
use crate::report::{Report, number, ratio};

const PROCESSES: usize = 4;
const THREADS: usize = 16;

/// Nothing may wait for the end of this.
const BLOCK: Duration = Duration::from_secs(30);

const IDLE: u64 = 1_000;
const BURSTS: u64 = 100_000;

/// This program run again, as a process of waiters: `millpond-bench waiters URL THREADS BLOCK_MS`.
pub(crate) fn wait(url: &str, threads: &str, block_ms: &str) -> Outcome {
    let block = Duration::from_millis(block_ms.parse()?);
    Ok(millpond_tests::waiting::wait(url, threads.parse()?, block)?)
}

pub(super) fn measure(report: &mut Report) -> Outcome {
    let section = report.section(
        "Waiting for messages of a shuffle queue",
        "64 waiters in 4 processes, each for 30 s at a time. One message at a time on an idle queue, \
         with 5 ms between; then 100 thousand of 4 writers, single and in batches, in bursts of up \
         to 300, after each of which everybody falls asleep: the delay of these is mostly that of \
         those before them. A message that no wake-up reached would lie for up to 30 s. Aim: 2 ms on average on an idle queue.",
        &["what", "figure"],
    );
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;

    let waiters = start(&server, PROCESSES)?;
    for number in 0..IDLE {
        std::thread::sleep(Duration::from_millis(5));
        queue(&client).write("tenant", fields(number))?;
    }
    let delays = finish(&client, waiters, IDLE)?;
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let at = |share: f64| number(delays[((delays.len() - 1) as f64 * share) as usize]);
    section.row(["idle queue, mean delay, ms".into(), ratio(mean, Some(("aim 2", mean <= 2.0)))]);
    section.row(["idle queue, p50, ms".into(), at(0.5)]);
    section.row(["idle queue, p99, ms".into(), at(0.99)]);
    section.row(["idle queue, longest of 1,000, ms".into(), at(1.0)]);

    let waiters = start(&server, PROCESSES)?;
    write_in_rounds(&client, &waiters, BURSTS, BLOCK * 2)?;
    let delays = finish(&client, waiters, BURSTS)?;
    section.row(["bursts, messages acknowledged exactly once".into(), delays.len().to_string()]);
    let longest = delays.last().copied().unwrap_or_default();
    section.row(["bursts, longest delay, ms".into(), number(longest)]);

    let connections = || server.cli(&["CLIENT", "LIST"]).text().lines().count();
    let before = connections();
    let waiters = start(&server, 1)?;
    // One of them is the pooled one of the first reads.
    let more = connections() - before - 1;
    let spent = cpu_time(waiters[0].pid());
    std::thread::sleep(Duration::from_secs(2));
    let spent = cpu_time(waiters[0].pid()) - spent;
    finish(&client, waiters, 0)?;
    section.row(["16 waiters of a process, idle for 2 s: processor time, ms".into(), {
        spent.as_millis().to_string()
    }]);
    section.row(["16 waiters of a process: connections that wait".into(), more.to_string()]);
    Ok(())
}

fn start(server: &Redis, processes: usize) -> Outcome<Vec<Waiters>> {
    let start = || {
        let mut program = Command::new(std::env::current_exe()?);
        let (threads, block) = (THREADS.to_string(), BLOCK.as_millis().to_string());
        let url = format!("{}?pool=1", server.url());
        Waiters::start(program.args(["waiters", &url, &threads, &block]))
    };
    let waiters = (0..processes).map(|_| start()).collect::<Result<_, _>>()?;
    std::thread::sleep(Duration::from_secs(1));
    Ok(waiters)
}

/// The delays in milliseconds, sorted, once each message was picked up and acknowledged once.
fn finish(client: &Client, waiters: Vec<Waiters>, count: u64) -> Outcome<Vec<f64>> {
    let is_done = is_picked_up(&waiters, count, BLOCK * 2);
    let (mut errors, mut messages) = (Vec::new(), Vec::new());
    for waiters in waiters {
        let PickedUp { messages: picked, errors: met } = waiters.finish();
        messages.extend(picked);
        errors.extend(met);
    }
    messages.sort_unstable();
    let is_each_once = messages.iter().map(|(number, _)| *number).eq(0..count);
    let left = queue(client).len()?;
    if !is_done || !errors.is_empty() || !is_each_once || left != 0 {
        let got = messages.len();
        return Err(format!(
            "{got} of {count}, each once: {is_each_once}, {left} left, {errors:?}"
        )
        .into());
    }
    let mut delays: Vec<_> = messages.iter().map(|(_, delay)| delay.as_secs_f64() * 1e3).collect();
    delays.sort_unstable_by(f64::total_cmp);
    Ok(delays)
}
