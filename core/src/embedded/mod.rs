#![doc = include_str!("README.md")]

mod clock_watch;
mod engine;
mod journal;
mod record;
mod shared;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use engine::Engine;
