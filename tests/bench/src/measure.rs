//! Medians, two things measured in turn, and a step as redis-rs sends it.

use std::time::{Duration, Instant};

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Ours and theirs, each the median of its rounds, and the median of the rounds' ratios.
pub(crate) struct Pair {
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
    pub(crate) ratio: f64,
}

/// Runs both in turn, round by round; the one that goes first changes each time. The first round
/// warms up and does not count.
pub(crate) fn in_turn<E>(
    rounds: usize,
    mut ours: impl FnMut() -> Result<f64, E>,
    mut theirs: impl FnMut() -> Result<f64, E>,
) -> Result<Pair, E> {
    let (mut first, mut second, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (a, b) = if round % 2 == 0 {
            let a = ours()?;
            (a, theirs()?)
        } else {
            let b = theirs()?;
            (ours()?, b)
        };
        if round > 0 {
            first.push(a);
            second.push(b);
            ratios.push(a / b);
        }
    }
    Ok(Pair { ours: median(first), theirs: median(second), ratio: median(ratios) })
}

pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// A step's call as a command of redis-rs.
pub(crate) fn evalsha(call: &millpond::Invocation) -> redis::Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(call.script.sha1()).arg(call.keys.len());
    for key in &call.keys {
        command.arg(&**key);
    }
    for argument in call.args.iter() {
        command.arg(argument);
    }
    command
}
