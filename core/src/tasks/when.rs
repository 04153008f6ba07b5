//! A time that the engine's clock may have to tell.

use std::time::Duration;

use super::limits;
use crate::error::{Result, invalid};

/// From when on a task is available, or until when a document is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// The engine's time when the step is done.
    #[default]
    Now,
    /// This time, in milliseconds since the Unix epoch.
    At(u64),
    /// So long after the engine's time when the step is done.
    After(Duration),
}

impl When {
    pub(super) fn check(self) -> Result<()> {
        match self {
            When::At(ms) if ms > limits::TIME_MS_MAX => {
                Err(invalid(format!("the time {ms} ms is behind the year 9999")))
            }
            When::After(delay) => limits::delay("delay", delay),
            _ => Ok(()),
        }
    }

    /// The time, on a clock that says `now_ms`.
    pub(super) fn resolve(self, now_ms: u64) -> u64 {
        match self {
            When::Now => now_ms,
            When::At(ms) => ms,
            When::After(delay) => now_ms + delay.as_millis() as u64,
        }
    }

    /// As the scripts take it: `+0`, `=<ms>`, `+<ms>`.
    pub(super) fn push(self, args: &mut crate::step::ByteList) {
        let (sign, ms) = match self {
            When::Now => (b'+', 0),
            When::At(ms) => (b'=', ms),
            When::After(delay) => (b'+', delay.as_millis() as u64),
        };
        args.push_with(|bytes| {
            bytes.push(sign);
            bytes.extend_from_slice(itoa::Buffer::new().format(ms).as_bytes());
        });
    }
}
