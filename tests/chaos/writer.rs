//! The child of the file test: holds the engine and writes until it is killed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use millpond::{Client, Result};

use crate::model::{Model, Step};
use crate::pipe::{READY, say};
use crate::plan::{Plan, WRITERS, ick_name};
use crate::way::{Later, read, send};

/// Threads that add the same members to one Ick, in each round another one.
pub(crate) const SHARERS: usize = 3;

pub(crate) fn shared_name(round: u64) -> String {
    format!("shared/{round}")
}

/// What a sharer adds. Each member gets its lowest score from one sharer, and what the others add
/// changes nothing; but what was acknowledged to them has to be true all the same.
pub(crate) fn shared_pair(sharer: usize, number: u64) -> (f64, Vec<u8>) {
    ((1 + sharer) as f64, format!("shared-{number}").into_bytes())
}

/// Writes on the engine at `url` until this process is killed.
pub(crate) fn write(url: &str, seed: u64, round: u64) -> Result<()> {
    let client = millpond::connect(url)?;
    let models = (0..WRITERS.len())
        .map(|writer| read(&client, &ick_name(writer)))
        .collect::<Result<Vec<_>>>()?;
    say(READY);
    let shared = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (number, model) in models.into_iter().enumerate() {
            let client = &client;
            let plan = Plan::new(number, seed, round);
            scope.spawn(move || match WRITERS[number].window {
                1 => one_by_one(client, number, plan, model),
                window => many_at_once(client, number, window, plan, model),
            });
        }
        for sharer in 0..SHARERS {
            let (client, shared) = (&client, &shared);
            scope.spawn(move || share(client, sharer, round, shared));
        }
    });
    Ok(())
}

fn one_by_one(client: &Client, writer: usize, mut plan: Plan, mut model: Model) {
    let name = ick_name(writer);
    for index in 0_u64.. {
        let step = plan.next(&model);
        let expected = model.run(step.clone());
        say(format_args!("i {writer} {index}"));
        check(writer, index, &expected, send(client, &name, &step));
        say(format_args!("a {writer} {index}"));
    }
}

fn many_at_once(client: &Client, writer: usize, window: u64, mut plan: Plan, mut model: Model) {
    let name = ick_name(writer);
    let (done, results) = mpsc::channel();
    let mut expected = VecDeque::new();
    let mut first = 0;
    for index in 0_u64.. {
        let step: Step = plan.next(&model);
        expected.push_back(Some(model.run(step.clone())));
        say(format_args!("i {writer} {index}"));
        let done = done.clone();
        // The receiver lives as long as this loop, which has no end.
        send(Later(client, move |result| drop(done.send((index, result)))), &name, &step);
        while expected.len() as u64 == window {
            let (index, result) = results.recv().expect("this loop holds a sender");
            let of = usize::try_from(index - first).expect("the window is small");
            let expected_result = expected[of].take().expect("each step returns once");
            check(writer, index, &expected_result, result);
            say(format_args!("a {writer} {index}"));
            while let Some(None) = expected.front() {
                expected.pop_front();
                first += 1;
            }
        }
    }
}

fn check(
    writer: usize,
    index: u64,
    expected: &crate::model::StepResult,
    result: Result<crate::model::StepResult>,
) {
    match result {
        Ok(result) if result == *expected => {}
        other => {
            let text = format!("{other:?}, expected {expected:?}");
            let text: String = text.replace('\n', " ").chars().take(1_000).collect();
            say(format_args!("wrong {writer} {index} {text}"));
            std::process::exit(1);
        }
    }
}

fn share(client: &Client, sharer: usize, round: u64, numbers: &AtomicU64) {
    let ick = client.ick(shared_name(round));
    let writer = WRITERS.len() + sharer;
    for index in 0_u64.. {
        // Each member is added by about three steps that meet.
        let number = numbers.fetch_add(1, Ordering::Relaxed) / 3;
        say(format_args!("i {writer} {index} {number}"));
        if let Err(error) = ick.add([shared_pair(sharer, number)]) {
            say(format_args!("wrong {writer} {index} {error:?}"));
            std::process::exit(1);
        }
        say(format_args!("a {writer} {index}"));
    }
}
