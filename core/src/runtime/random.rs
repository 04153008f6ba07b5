//! Random bits from the system, so that a forked child never repeats its parent's.

use std::cell::Cell;

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
    static QUICK: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
}

/// A random number, for what need not be a secret: the generator SplitMix64, seeded from the system
/// in each thread, and anew in the child of a fork.
pub(crate) fn quick() -> u64 {
    let generation = fork::generation();
    let (of, state) = QUICK.get();
    let state = if state == 0 || of != generation { number() | 1 } else { state };
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    QUICK.set((generation, state));
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
