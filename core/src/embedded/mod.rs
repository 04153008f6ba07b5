#![doc = include_str!("README.md")]

mod engine;
mod journal;
mod table;

pub(crate) use engine::Engine;
