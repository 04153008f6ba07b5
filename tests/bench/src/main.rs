//! Millpond benchmarks.
fn main() {}
