//! A point in time, possibly relative to the engine's clock.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::{ByteList, Timestamp};
use crate::error::{Result, ensure};

/// The time from which a task is available, until which a document is held, or at which an event fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// The engine's time when the step is done.
    #[default]
    Now,
    /// This time, in milliseconds since the Unix epoch.
    At(u64),
    /// This long after the engine's time when the step is done.
    After(Duration),
}

/// The range in which a time of the years 2001 to 2099 lies if it is given in seconds and read as milliseconds: early
/// 1970, before any queue existed.
const SECONDS: RangeInclusive<u64> = 978_307_200..=4_102_444_800;

impl When {
    /// Refuses a time that was given in seconds by mistake.
    pub(crate) fn check_unit(self) -> Result<()> {
        if let When::At(ms) = self {
            ensure!(
                !SECONDS.contains(&ms),
                "the time {ms} is in seconds; it has to be in milliseconds"
            );
        }
        Ok(())
    }

    /// The time, on a clock that says `now_ms`.
    pub(crate) fn resolve(self, now_ms: u64) -> u64 {
        match self {
            When::Now => now_ms,
            When::At(ms) => ms,
            When::After(delay) => now_ms + delay.as_millis() as u64,
        }
    }

    /// The time in microseconds, on a clock that says `now`.
    pub(crate) fn resolve_micros(self, now: Timestamp) -> Timestamp {
        match self {
            When::Now => now,
            When::At(ms) => ms * 1_000,
            When::After(delay) => now + delay.as_micros() as u64,
        }
    }

    /// As the scripts take it: `+0`, `=<ms>`, `+<ms>`.
    pub(crate) fn push(self, args: &mut ByteList) {
        let (sign, ms) = match self {
            When::Now => (b'+', 0),
            When::At(ms) => (b'=', ms),
            When::After(delay) => (b'+', delay.as_millis() as u64),
        };
        push_signed(sign, ms, args);
    }

    /// As the scripts that use microseconds take it: `+0`, `=<us>`, `+<us>`.
    pub(crate) fn push_micros(self, args: &mut ByteList) {
        let sign = if matches!(self, When::At(_)) { b'=' } else { b'+' };
        push_signed(sign, self.resolve_micros(0), args);
    }
}

fn push_signed(sign: u8, number: u64, args: &mut ByteList) {
    args.push_with(|bytes| {
        bytes.push(sign);
        bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    });
}
