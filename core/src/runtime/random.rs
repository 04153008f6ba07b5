//! Random bits from the system, so that a forked child never repeats its parent's.

use std::cell::Cell;

use crate::runtime::backoff::Draws;
use crate::runtime::fork;

/// A number that nobody can guess.
pub(crate) fn number() -> u64 {
    getrandom::u64().expect("the system has a source of random bits")
}

/// 32 hexadecimal digits that no other process has.
pub(crate) fn token() -> String {
    format!("{:016x}{:016x}", number(), number())
}

thread_local! {
    /// The process's number of forks, and the generator's state in it.
    static QUICK: Cell<Option<(u32, Draws)>> = const { Cell::new(None) };
}

/// A random number, for what need not be a secret: of a generator that is seeded from the system in each thread, and anew
/// in the child of a fork.
pub(crate) fn quick() -> u64 {
    let generation = fork::generation();
    let known = QUICK.get().filter(|(of, _)| *of == generation);
    let (_, mut draws) = known.unwrap_or_else(|| (generation, Draws::new(number())));
    let drawn = draws.next();
    QUICK.set(Some((generation, draws)));
    drawn
}
