//! Calls from the other languages, each measured by a program of its own that runs ours and the
//! peer's in turn and prints rows as JSON.

use std::path::Path;
use std::process::{Command, Stdio};

use millpond::{Operation, ick};
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
}

pub(crate) const PYTHON: Language = Language {
    title: "Calls from Python",
    text: "Adds of one member a second, against redis-py with hiredis sending the same \
           EVALSHA. Aim: sync not slower, asyncio with 64 concurrent 3 times as fast.",
    variable: "MILLPOND_BENCH_PYTHON",
    arguments: &["python/calls.py"],
};

pub(crate) const NODE: Language = Language {
    title: "Calls from Node",
    text: "Adds of one member a second, against ioredis with automatic pipelining and \
           node-redis sending the same EVALSHA. Aim: 64 concurrent not slower than ioredis.",
    variable: "MILLPOND_BENCH_NODE",
    arguments: &["node/calls.mjs"],
};

pub(crate) const C: Language = Language {
    title: "Calls from C",
    text: "Calls a second, against hiredis sending the same EVALSHA.",
    variable: "MILLPOND_BENCH_C",
    arguments: &[],
};

pub(crate) const RUBY: Language = Language {
    title: "Calls from Ruby",
    text: "Calls a second. The drop-in sends through the same redis-rb connection that \
           calls EVALSHA by hand; aim: within 1.1 times, so a ratio of at least 0.91.",
    variable: "MILLPOND_BENCH_RUBY",
    arguments: &["ruby/calls.rb"],
};

pub(crate) const PHP: Language = Language {
    title: "Calls from PHP",
    text: "Calls a second, against phpredis calling EVALSHA by hand. The transport sends \
           through that same connection; aim: within 1.1 times, so a ratio of at least 0.91.",
    variable: "MILLPOND_BENCH_PHP",
    arguments: &["php/calls.php"],
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
            .arg(step.invocation().script.source())
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
