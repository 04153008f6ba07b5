//! Medians, two things measured in turn, and a step as redis-rs sends it.

use std::sync::atomic::{AtomicBool, Ordering};
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

/// Says to threads in the background that they are no longer wanted, when it is dropped: also when what
/// is measured fails. A scope waits for its threads, and so would the benchmark and its servers.
pub(crate) struct Ending<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// A step's call as a command of redis-rs.
pub(crate) fn evalsha(call: &millpond::step::Invocation) -> redis::Cmd {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_does_not_wait_for_what_runs_beside_it() {
        let (is_over, rounds) = (AtomicBool::new(false), AtomicBool::new(false));
        let failed = std::panic::catch_unwind(|| {
            std::thread::scope(|scope| {
                let _ending = Ending(&is_over);
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        rounds.store(true, Ordering::Relaxed);
                        std::thread::yield_now();
                    }
                });
                while !rounds.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                panic!("what is measured fails");
            })
        });
        assert!(failed.is_err());
    }
}
