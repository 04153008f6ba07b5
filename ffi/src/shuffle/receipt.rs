//! Where messages are.

use millpond::Result;
use millpond::shuffle::{MessageId, Receipt, Stream};

use crate::caller::{Caller, invalid};
use crate::options::Element;

/// Where a message is; acknowledging takes this. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct millpond_shuffle_receipt {
    /// The number of the stream, or -1 for the default stream.
    pub stream: i64,
    /// The first half of the message's id, `<time>-<sequence>`: the server's time in milliseconds
    /// since the Unix epoch.
    pub id_time_ms: u64,
    /// The second half of the id: its number among the messages of that time.
    pub id_sequence: u64,
}

impl From<Receipt> for millpond_shuffle_receipt {
    fn from(receipt: Receipt) -> Self {
        let stream = match receipt.stream {
            Stream::Default => -1,
            Stream::Number(number) => number.into(),
        };
        Self { stream, id_time_ms: receipt.id.time_ms, id_sequence: receipt.id.sequence }
    }
}

impl Element for millpond_shuffle_receipt {
    type Core<'c> = Receipt;

    fn read(&self, _: &Caller, of: impl Fn(&str) -> String) -> Result<Receipt> {
        let stream = match self.stream {
            -1 => Stream::Default,
            number => Stream::Number(number.try_into().map_err(|_| {
                invalid(format!(
                    "{} is {number}; it has to be the number of a stream, or -1 for the default stream",
                    of("stream")
                ))
            })?),
        };
        let id = MessageId { time_ms: self.id_time_ms, sequence: self.id_sequence };
        Ok(Receipt { stream, id })
    }
}
