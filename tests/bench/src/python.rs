//! Calls from Python, measured by `python/calls.py` in an environment that has the wheel and
//! redis-py.

use std::process::Command;

use millpond::{Operation, ick};
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::report::{Report, number, ratio};

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let python = std::env::var("MILLPOND_BENCH_PYTHON").map_err(
        |_| "MILLPOND_BENCH_PYTHON names a python with millpond and redis; see make bench",
    )?;
    let server = Redis::start();
    let step = ick::Add::new("k", [(1_763_691_473.5, "document-00000001")])?;
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/calls.py"))
        .arg(server.url())
        .arg(step.invocation().script.source())
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("calls.py failed".into());
    }
    let found: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let section = report.section(
        "Calls from Python",
        "Adds of one member a second, against redis-py with hiredis sending the same EVALSHA. \
         Aim: sync not slower, asyncio with 64 concurrent 3 times as fast.",
        &["", "concurrent", "Millpond", "redis-py", "ratio"],
    );
    for row in found.as_array().ok_or("calls.py prints a list")? {
        let figure = |name: &str| row[name].as_f64().ok_or(format!("calls.py prints {name}"));
        let name = row["name"].as_str().unwrap_or_default().to_owned();
        let concurrent = row["concurrent"].as_u64().unwrap_or_default();
        let value = figure("ratio")?;
        let aim = match (name.as_str(), concurrent) {
            ("sync", _) => Some(("aim 1", value >= 1.0)),
            (_, 64) => Some(("aim 3", value >= 3.0)),
            _ => None,
        };
        section.row([
            name,
            concurrent.to_string(),
            number(figure("ours")?),
            number(figure("theirs")?),
            ratio(value, aim),
        ]);
    }
    Ok(())
}
