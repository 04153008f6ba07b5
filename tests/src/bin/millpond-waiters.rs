//! A process of waiters for the tests: `millpond-waiters URL THREADS BLOCK_MS`.

use std::time::Duration;

fn main() -> Result<(), millpond::Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [url, threads, block_ms] = &arguments[..] else { panic!("three arguments") };
    let number = |text: &str| text.parse().expect("a number");
    let block = Duration::from_millis(number(block_ms));
    millpond_tests::waiting::wait(url, number(threads) as usize, block)
}
