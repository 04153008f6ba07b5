//! Where messages are.

use millpond::Result;
use millpond::shuffle::{MessageId, Receipt, Stream};

use crate::caller::{Caller, invalid};

/// Where a message is: what acknowledging takes. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct millpond_shuffle_receipt {
    /// The number of the stream, or -1 for the default stream.
    pub stream: i64,
    /// The first half of the message's id, `<time>-<sequence>`: the server's time in milliseconds
    /// since the Unix epoch.
    pub id_time_ms: u64,
    /// The second half of the id: which of the messages of that time it is.
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

impl Caller {
    /// The receipts of a call.
    pub(super) fn receipts(
        &self,
        receipts: *const millpond_shuffle_receipt,
        count: usize,
    ) -> Result<Vec<Receipt>> {
        let receipts = self.array(|| "receipts".to_owned(), receipts, count)?;
        let receipts = receipts.iter().enumerate().map(|(index, receipt)| {
            let stream = match receipt.stream {
                -1 => Stream::Default,
                number => Stream::Number(number.try_into().map_err(|_| {
                    invalid(format!(
                        "receipts[{index}].stream is {number}; it has to be the number of a \
                         stream, or -1 for the default stream"
                    ))
                })?),
            };
            let id = MessageId { time_ms: receipt.id_time_ms, sequence: receipt.id_sequence };
            Ok(Receipt { stream, id })
        });
        receipts.collect()
    }
}
