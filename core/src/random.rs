//! Random bits from the system, so that a forked child never repeats its parent's.

/// A number that nobody can guess.
pub(crate) fn number() -> u64 {
    getrandom::u64().expect("the system has a source of random bits")
}

/// 32 hexadecimal digits that no other process has.
pub(crate) fn token() -> String {
    format!("{:016x}{:016x}", number(), number())
}
