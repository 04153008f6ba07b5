//! Messages, where they are and what they are called.

use super::{ACK_MESSAGES_MAX, STREAMS_MAX, StreamNumber};
use crate::error::{Result, invalid};
use crate::step::ByteList;
pub use crate::step::StreamId as MessageId;
use crate::step::reply::{Replies, Reply, malformed};

/// One of the streams of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The stream at the queue's own name, which held the messages before the queue was sharded.
    Default,
    /// The stream with this number, `<queue>:s<number>`.
    Number(StreamNumber),
}

impl Stream {
    /// The number in scripts and journals.
    pub(super) fn to_wire(self) -> i64 {
        match self {
            Self::Default => -1,
            Self::Number(number) => number.into(),
        }
    }

    pub(super) fn from_wire(number: i64) -> Result<Self> {
        match number {
            -1 => Ok(Self::Default),
            _ => match StreamNumber::try_from(number) {
                Ok(number) if number < STREAMS_MAX => Ok(Self::Number(number)),
                _ => Err(malformed()),
            },
        }
    }
}

/// Where a message is, as needed to acknowledge it. A [`Message`] can be used in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// The stream.
    pub stream: Stream,
    /// The message's id in it.
    pub id: MessageId,
}

impl From<&Message> for Receipt {
    fn from(message: &Message) -> Self {
        Self { stream: message.stream, id: message.id }
    }
}

impl From<&Receipt> for Receipt {
    fn from(receipt: &Receipt) -> Self {
        *receipt
    }
}

/// A message that was delivered to a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream that it came from.
    pub stream: Stream,
    /// Its id in that stream.
    pub id: MessageId,
    /// How often it was delivered, including this time: 1 for a read, more for a reclaim.
    pub deliveries: u64,
    /// Its fields and their values, as they were written.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Message {
    /// The value of the first field of this name.
    pub fn field(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let mut fields = self.fields.iter();
        fields.find(|(field, _)| *field == name.as_ref()).map(|(_, value)| &**value)
    }

    /// Reads `stream, {id, {field, value, …}}, …` of messages that are delivered the first time.
    pub(super) fn decode_all(replies: Replies, max: usize) -> Result<Vec<Self>> {
        replies.all(max, |replies| {
            let stream = replies.next()?;
            Self::decode(stream, 1, replies.next()?)
        })
    }

    /// Reads a stream and `{id, {field, value, …}}`.
    pub(super) fn decode(stream: Reply, deliveries: u64, entry: Reply) -> Result<Self> {
        let stream = Stream::from_wire(stream.integer()?)?;
        let mut entry = entry.list()?;
        let (id, strings) = (decode_id(entry.next()?)?, entry.next()?.list()?);
        entry.end()?;
        let fields = strings.all(usize::MAX, |strings| {
            let field = strings.next()?.bytes()?;
            Ok((field, strings.next()?.bytes()?))
        })?;
        Ok(Self { stream, id, deliveries, fields })
    }
}

/// Reads `id, stream, id, stream, …`.
pub(super) fn decode_receipts(reply: Reply) -> Result<Vec<Receipt>> {
    reply.list()?.all(usize::MAX, |replies| {
        let id = decode_id(replies.next()?)?;
        Ok(Receipt { id, stream: Stream::from_wire(replies.next()?.integer()?)? })
    })
}

pub(super) fn decode_id(reply: Reply) -> Result<MessageId> {
    let text = String::from_utf8(reply.bytes()?).map_err(|_| malformed())?;
    text.parse().map_err(|_| malformed())
}

/// The messages of a step, those of a stream together.
pub(super) fn check_receipts(mut receipts: Vec<Receipt>) -> Result<Vec<Receipt>> {
    check_streams(&receipts)?;
    receipts.sort_unstable();
    Ok(receipts)
}

/// Refuses more messages than a step takes, and streams that no queue has.
pub(super) fn check_streams(receipts: &[Receipt]) -> Result<()> {
    if receipts.len() > ACK_MESSAGES_MAX {
        return Err(invalid(format!("a step takes at most {ACK_MESSAGES_MAX} messages")));
    }
    match receipts.iter().map(|receipt| receipt.stream).max() {
        Some(Stream::Number(number)) if number >= STREAMS_MAX => {
            Err(invalid(format!("there is no stream {number}; a queue has at most {STREAMS_MAX}")))
        }
        _ => Ok(()),
    }
}

/// The arguments that name messages: for each stream its number, how many ids, and the ids.
pub(super) fn put_receipts(receipts: &[Receipt], args: &mut ByteList) {
    for part in receipts.chunk_by(|a, b| a.stream == b.stream) {
        args.push(part[0].stream.to_wire().to_string().as_bytes());
        args.push(part.len().to_string().as_bytes());
        for receipt in part {
            args.push(receipt.id.to_string().as_bytes());
        }
    }
}
