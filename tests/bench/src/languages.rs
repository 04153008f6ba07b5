//! Calls and workers of the other languages, each measured by a program of its own that runs ours
//! and the peers' in turn and prints rows as JSON.

use std::path::Path;
use std::process::{Command, Stdio};

use millpond::{ick, step::Operation};
use millpond_tests::servers::Redis;
use serde_json::Value;

use crate::Outcome;
use crate::report::{Report, number, ratio};

/// A program that measures a language: its table's title and introduction, the variable of the
/// environment with the program to start (`make bench` sets it), and its arguments, paths in the
/// folder of the benchmarks.
pub(crate) struct Language {
    title: &'static str,
    text: &'static str,
    variable: &'static str,
    arguments: &'static [&'static str],
    /// Whether its peers send the script of an add, which it is given then after the server's URL.
    script: bool,
}

pub(crate) const PYTHON: Language = Language {
    title: "Calls from Python",
    text: "Adds of one member a second, against redis-py with hiredis sending the same \
           EVALSHA. Aim: sync not slower, asyncio with 64 concurrent 3 times as fast.",
    variable: "MILLPOND_BENCH_PYTHON",
    arguments: &["python/calls.py"],
    script: true,
};

pub(crate) const NODE: Language = Language {
    title: "Calls from Node",
    text: "Adds of one member a second, against ioredis with automatic pipelining and \
           node-redis sending the same EVALSHA. Aim: 64 concurrent not slower than ioredis.",
    variable: "MILLPOND_BENCH_NODE",
    arguments: &["node/calls.mjs"],
    script: true,
};

pub(crate) const C: Language = Language {
    title: "Calls from C",
    text: "Calls a second, against hiredis sending the same EVALSHA.",
    variable: "MILLPOND_BENCH_C",
    arguments: &[],
    script: true,
};

pub(crate) const RUBY: Language = Language {
    title: "Calls from Ruby",
    text: "Calls a second. The drop-in sends through the same redis-rb connection that \
           calls EVALSHA by hand; aim: within 1.1 times, so a ratio of at least 0.91.",
    variable: "MILLPOND_BENCH_RUBY",
    arguments: &["ruby/calls.rb"],
    script: true,
};

pub(crate) const PHP: Language = Language {
    title: "Calls from PHP",
    text: "Calls a second, against phpredis calling EVALSHA by hand. The transport sends \
           through that same connection; aim: within 1.1 times, so a ratio of at least 0.91.",
    variable: "MILLPOND_BENCH_PHP",
    arguments: &["php/calls.php"],
    script: true,
};

pub(crate) const SHUFFLE_NODE: Language = Language {
    title: "Messages through a shuffle queue from Node",
    text: "Messages a second of one process, against BullMQ over ioredis: 2 fields with 56 bytes \
           in all, on the same redis-server without persistence. They are added one after the \
           other and by 100 (`writeMany`, `addBulk`); and of those that are there, all are taken, \
           worked on by a function that does nothing, acknowledged and deleted. `concurrent` is \
           how many are worked on at once: ours by so many loops around `read`, or by one over \
           `messages`, BullMQ's by one `Worker` with that `concurrency` that removes what is \
           completed. What they do is not the same. Ours is one queue of 64 streams with 40 \
           tenants, 4 streams each, and goes to the server once to take and once to acknowledge. \
           A job of BullMQ has a state, attempts, a result and events, and no tenant; its worker \
           holds a lock on each, and takes the next with the same call that completes one. Aim: \
           not slower.",
    variable: "MILLPOND_BENCH_NODE",
    arguments: &["node/messages.mjs"],
    script: false,
};

pub(crate) const SHUFFLE_PYTHON: Language = Language {
    title: "Messages through a shuffle queue from Python",
    text: "Messages a second of one process, against dramatiq over redis-py with hiredis: 2 fields \
           with 56 bytes in all, on the same redis-server without persistence. They are added one \
           after the other and by 100 (`write_many`; `group`, which sends each alone); and of \
           those that are there, all are taken, worked on by a function that does nothing, \
           acknowledged and deleted. `concurrent` is the number of threads: ours each with a \
           consumer, dramatiq's those of a `Worker` in the process. What they do is not the same. \
           Ours is one queue of 64 streams with 40 tenants, 4 streams each. dramatiq has one list, \
           sends JSON, and its middleware sees to retries, time limits and age limits; it \
           acknowledges each message alone. It takes as many as its prefetch says, by default \
           twice the threads, and while it has those it sleeps for some milliseconds, which is \
           long for work that is none: so it is measured with a prefetch of 100 as well. Aim: not \
           slower.",
    variable: "MILLPOND_BENCH_PYTHON",
    arguments: &["python/messages.py"],
    script: false,
};

pub(crate) const WORKER_NODE: Language = Language {
    title: "Workers in Node",
    text: "Jobs a second of one process, on the same redis-server without persistence: \
           `worker.run` of a task store, of a shuffle queue of 64 streams with 40 tenants and of a \
           queue of events, with `prefetch: 100`, against BullMQ's `Worker`. All jobs are \
           enqueued first; the time is from the start of the first until the store holds none. A handler does nothing, or \
           waits 5 ms, of which a hundred at once can be 20,000 a second: the waits alone. Aims: \
           3 times BullMQ, 4 times with events, and 0.9 of the waits alone.",
    variable: "MILLPOND_BENCH_NODE",
    arguments: &["node/worker.mjs"],
    script: false,
};

pub(crate) const WORKER_PYTHON: Language = Language {
    title: "Workers in Python",
    text: "Jobs a second, on the same redis-server without persistence: asyncio's `worker.run` of \
           a task store, of a shuffle queue of 64 streams with 40 tenants and of a queue of \
           events, in one process with \
           `prefetch=100`, against dramatiq and Celery in two processes, which their own commands \
           start. They have a hundred at once as well, or as many as the row says where those do \
           more. Celery acknowledges early unless it is told to do so late; then a crash loses \
           what it had begun. All jobs are enqueued first; the time is from the start of the \
           first until the store holds none. A handler does nothing, or waits 5 ms, of which a \
           hundred at once can be 20,000 a second: the waits alone. Aims: 10 times dramatiq, and \
           0.9 of the waits alone.",
    variable: "MILLPOND_BENCH_PYTHON",
    arguments: &["python/worker.py"],
    script: false,
};

pub(crate) const WORKER_RUBY: Language = Language {
    title: "Workers in Ruby",
    text: "Jobs a second of one process, on the same redis-server without persistence: \
           `worker.run` of a task store and of a shuffle queue of 64 streams with 40 tenants, \
           with `prefetch: 100`, against Sidekiq with hiredis, on as many threads. What they \
           promise is not the same: Sidekiq takes a job out of the store when it begins, so a \
           crash loses it. All jobs are enqueued first; the time is from the start of the first \
           until the last has ended and the store holds none. A handler does nothing, or waits 5 \
           ms.",
    variable: "MILLPOND_BENCH_RUBY",
    arguments: &["ruby/worker.rb"],
    script: false,
};

impl Language {
    /// Runs the program and makes its rows a table.
    pub(crate) fn measure(&self, report: &mut Report) -> Outcome {
        let program = std::env::var(self.variable)
            .map_err(|_| format!("{} names the program; see make bench", self.variable))?;
        let server = Redis::start();
        let step = ick::Add::new("k", [(1_763_691_473.5, "document-00000001")])?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(&program)
            .args(self.arguments.iter().map(|argument| folder.join(argument)))
            .arg(server.url())
            .args(self.script.then(|| step.invocation().script.source()))
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("{program} {:?} failed", self.arguments).into());
        }
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout)?;
        let columns = ["", "concurrent", "Millpond", "peer", "peer's", "ratio"];
        let section = report.section(self.title, self.text, &columns);
        for row in rows {
            let figure =
                |name: &str| row[name].as_f64().ok_or(format!("a row has no {name}: {row}"));
            let value = figure("ratio")?;
            let aim = row["aim"]
                .as_f64()
                .map(|aim| (format!("aim {}", (aim * 100.0).round() / 100.0), value >= aim));
            section.row([
                row["name"].as_str().unwrap_or_default().to_owned(),
                row["concurrent"].as_u64().unwrap_or(1).to_string(),
                number(figure("ours")?),
                row["peer"].as_str().unwrap_or_default().to_owned(),
                number(figure("theirs")?),
                ratio(value, aim.as_ref().map(|(aim, met)| (aim.as_str(), *met))),
            ]);
        }
        Ok(())
    }
}
