//! Ids of the entries of Redis streams.

use std::fmt;
use std::str::FromStr;

use super::codec::fields;
use crate::error::{Error, Result, invalid};

/// The id of an entry of a Redis stream: the time at which it was written, and a number. Each entry of a stream has a
/// higher id than all entries before it.
///
/// ```
/// let id: millpond::shuffle::MessageId = "1700000000000-3".parse()?;
/// assert_eq!((id.time_ms, id.sequence), (1_700_000_000_000, 3));
/// assert_eq!(id.to_string(), "1700000000000-3");
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The server's time in milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The number among the messages of that time.
    pub sequence: u64,
}

fields!(StreamId: time_ms sequence);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.time_ms, self.sequence)
    }
}

impl FromStr for StreamId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (time_ms, sequence) = text.split_once('-')?;
            Some(Self { time_ms: time_ms.parse().ok()?, sequence: sequence.parse().ok()? })
        };
        read().ok_or_else(|| invalid("an id has the form of 1700000000000-0"))
    }
}
