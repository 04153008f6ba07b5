//! The embedded engine: members a second, and what a member costs in memory and on disk.

use std::time::Duration;

use millpond::ick::Ick;

use crate::Outcome;
use crate::measure::{median, time};
use crate::report::{Report, number, ratio};

const SMALL: usize = 10_000;
const LARGE: usize = 5_000_000;

/// Members that one round moves through the queue, whatever its size.
const MOVED: usize = 20_000;

pub(crate) fn measure(report: &mut Report) -> Outcome {
    // First, while this process holds no memory that it could use again.
    sizes(report)?;
    let section = report.section(
        "The embedded engine",
        "Millions of members a second on one thread, in a queue that holds 10 thousand or 5 \
         million others: added with the time as score, reserved, committed. The last column is \
         how much more a member costs in the large queue; aim: at most 2.",
        &["engine", "members a call", "step", "10 thousand", "5 million", "cost"],
    );
    let directory = tempfile::tempdir()?;
    for engine in ["memory:", "file:, sync=never", "file:, sync=always"] {
        let url = |size: usize| match engine {
            "memory:" => "memory:".to_owned(),
            _ => {
                let sync = if engine.ends_with("never") { "never" } else { "always" };
                let path = directory.path().join(format!("{sync}-{size}"));
                format!("file:{}?sync={sync}", path.display())
            }
        };
        let mut found = Vec::new();
        for size in [SMALL, LARGE] {
            let client = millpond::connect(&url(size))?;
            let ick = client.ick("k");
            for start in (0..size).step_by(100_000) {
                let end = (start + 100_000).min(size);
                ick.add((start..end).map(|n| (n as f64, member(n))))?;
            }
            let one = rounds(&ick, size, 1, if engine.ends_with("always") { 500 } else { MOVED })?;
            let thousand = rounds(&ick, size, 1_000, MOVED)?;
            found.push([one, thousand]);
        }
        for (which, per_call) in [(0, 1), (1, 1_000)] {
            for (step, name) in ["add", "reserve", "commit"].into_iter().enumerate() {
                let (small, large) = (found[0][which][step], found[1][which][step]);
                section.row([
                    engine.into(),
                    per_call.to_string(),
                    name.into(),
                    number(small),
                    number(large),
                    ratio(small / large, Some(("aim 2", small / large <= 2.0))),
                ]);
            }
        }
    }
    Ok(())
}

fn member(n: usize) -> String {
    format!("document-{n:012}")
}

/// Members per second: added, reserved, committed.
fn rounds(ick: &Ick, size: usize, per_call: usize, moved: usize) -> Outcome<[f64; 3]> {
    const ROUNDS: usize = 9;
    let mut next = size * 10;
    let mut found = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let calls = moved / per_call;
        let members: Vec<Vec<(f64, String)>> = (0..calls)
            .map(|call| {
                let first = next + call * per_call;
                (first..first + per_call).map(|n| (n as f64, member(n))).collect()
            })
            .collect();
        next += moved;
        let mut failure = None;
        let mut note =
            |result: millpond::Result<usize>| result.map_err(|e| failure = Some(e)).unwrap_or(0);
        let add = time(|| {
            for batch in &members {
                note(
                    ick.add(batch.iter().map(|(score, member)| (*score, member)))
                        .map(|a| a.new as usize),
                );
            }
        });
        // The sizes stay as they are: as many leave at the low end as came at the high end. Each
        // call is given one more batch, and returns only that, since the last was committed.
        let (mut reserve, mut commit) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..calls {
            let mut batch = Vec::new();
            reserve += time(|| {
                note(ick.reserve(per_call as u64).map(|entries| {
                    batch = entries;
                    batch.len()
                }));
            });
            commit += time(|| {
                note(ick.commit(batch.iter().map(|entry| &entry.member)).map(|n| n as usize));
            });
        }
        if let Some(error) = failure {
            return Err(error.into());
        }
        for (found, spent) in found.iter_mut().zip([add, reserve, commit]) {
            found.push(moved as f64 / spent.as_secs_f64());
        }
    }
    Ok(found.map(median))
}

/// Bytes per member: resident memory and the directory's size.
fn sizes(report: &mut Report) -> Outcome {
    let section = report.section(
        "What a queue costs",
        "A queue of 1 million members of 21 bytes.",
        &["what", "figure"],
    );
    const MEMBERS: usize = 1_000_000;
    let fill = |ick: &Ick| -> Outcome {
        for start in (0..MEMBERS).step_by(100_000) {
            ick.add((start..start + 100_000).map(|n| (n as f64, member(n))))?;
        }
        Ok(())
    };
    let before = resident()?;
    let client = millpond::connect("memory:")?;
    fill(&client.ick("k"))?;
    let bytes = resident()?.saturating_sub(before) / MEMBERS;
    section.row(["memory:, resident bytes a member".into(), bytes.to_string()]);
    drop(client);

    let directory = tempfile::tempdir()?;
    let url = format!("file:{}?sync=never", directory.path().display());
    let client = millpond::connect(&url)?;
    fill(&client.ick("k"))?;
    // Members that are there already and go down: the log grows, the live data does not, and
    // before long a snapshot is taken.
    let mut longest = Duration::ZERO;
    let mut failure = None;
    for n in 0..3 * MEMBERS {
        let pair = (-1.0 - n as f64, member(n % MEMBERS));
        let spent = time(|| failure = client.ick("k").add([pair]).err().or(failure.take()));
        longest = longest.max(spent);
    }
    failure.map_or(Ok(()), Err)?;
    section.row([
        "file:, longest of 3 million adds, snapshots among them, ms".into(),
        number(longest.as_secs_f64() * 1e3),
    ]);
    client.close()?;
    drop(client);
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory.path())? {
        bytes += entry?.metadata()?.len();
    }
    section.row([
        "file:, bytes a member on disk, after 3 million more adds".into(),
        (bytes as usize / MEMBERS).to_string(),
    ]);
    let mut opened = Ok(());
    let open = time(|| opened = millpond::connect(&url).map(drop));
    opened?;
    section.row(["file:, seconds to open".into(), format!("{:.2}", open.as_secs_f64())]);

    let server = millpond_tests::servers::Redis::start();
    let redis = millpond::connect(&server.url())?;
    fill(&redis.ick("k"))?;
    let usage = server.cli(&["MEMORY", "USAGE", "k/ick/{k}/pset", "SAMPLES", "0"]).integer();
    section.row(["Redis, MEMORY USAGE a member".into(), (usage as usize / MEMBERS).to_string()]);
    Ok(())
}

/// This process's resident memory in bytes.
pub(crate) fn resident() -> Outcome<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("statm has a second field")?.parse()?;
    Ok(pages * 4096)
}
