//! Messages on the embedded engine.

use crate::Outcome;
use crate::embedded::resident;
use crate::measure::{median, time};
use crate::report::{Report, number};

use super::{fields, tenant};

/// Messages per second on the embedded engine, and what one costs in memory.
pub(crate) fn measure(report: &mut Report) -> Outcome {
    let section = report.section(
        "Shuffle queues on the embedded engine",
        "Thousands of messages a second on one thread: written, read, acknowledged and deleted, in \
         a queue of 64 streams that holds 100 thousand others. A message has 2 fields with 56 \
         bytes in all.",
        &["engine", "batch", "write", "read", "ack"],
    );
    let directory = tempfile::tempdir()?;
    for (name, url) in [
        ("memory:", "memory:".to_owned()),
        ("file:, sync=never", format!("file:{}?sync=never", directory.path().display())),
    ] {
        let client = millpond::connect(&url)?;
        let queue = client.shuffle_queue("q").streams(64).streams_per_shard(4);
        let write = |from: usize, to: usize| {
            let messages = (from..to).map(|n| (tenant(n), fields(n)));
            queue.write_many(messages)
        };
        write(0, 100_000)?;
        for size in [1, 100] {
            let consumer = queue.consumer("g", "c");
            let (mut rates, mut taken) = ([const { Vec::new() }; 3], Vec::new());
            for round in 0..5 {
                let (mut failure, calls) = (None, 20_000 / size);
                let mut note = |result: Result<(), millpond::Error>| {
                    failure = result.err().or(failure.take());
                };
                let first = 1_000_000 + round * 20_000;
                let spent = [
                    time(|| {
                        (0..calls).for_each(|call| {
                            let from = first + call * size;
                            note(write(from, from + size).map(drop));
                        })
                    }),
                    time(|| {
                        (0..calls).for_each(|_| {
                            note(consumer.read_many(size).map(|batch| taken.push(batch)));
                        })
                    }),
                    time(|| {
                        taken.drain(..).for_each(|batch| {
                            note(consumer.ack_and_delete(&batch).map(drop));
                        })
                    }),
                ];
                failure.map_or(Ok(()), Err)?;
                for (rates, spent) in rates.iter_mut().zip(spent) {
                    rates.push(20.0 / spent.as_secs_f64());
                }
            }
            let [write, read, ack] = rates.map(median).map(number);
            section.row([name.into(), size.to_string(), write, read, ack]);
        }
    }
    let before = resident()?;
    let client = millpond::connect("memory:")?;
    let queue = client.shuffle_queue("q").streams(64).streams_per_shard(4);
    for start in (0..500_000).step_by(10_000) {
        let messages = (start..start + 10_000).map(|n| (tenant(n), fields(n)));
        queue.write_many(messages)?;
    }
    let bytes = resident()?.saturating_sub(before) / 500_000;
    let section = report.section(
        "What a message of a shuffle queue costs",
        "A queue of 64 streams and 500 thousand messages of 2 fields with 56 bytes in all.",
        &["what", "figure"],
    );
    section.row(["memory:, resident bytes a message".into(), bytes.to_string()]);
    Ok(())
}
