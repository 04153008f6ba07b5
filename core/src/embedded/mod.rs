#![doc = include_str!("README.md")]

mod engine;
mod journal;
mod record;
mod shared;
mod table;

pub(crate) use engine::Engine;
