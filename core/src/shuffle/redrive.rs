//! Redrive: put dead letters back into their queue, when what killed them is mended.

use std::time::Duration;

use super::message::{MessageId, Receipt, Stream, decode_id};
use super::name::Name;
use super::shard::check_sizes;
use super::{BATCH_MESSAGES_MAX, StreamNumber, embedded, expires, head, ttl_ms};
use crate::error::{Result, invalid};
use crate::step::reply::malformed;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// Puts dead letters back into their queue, each as a new message of the stream that it came from.
#[derive(Clone, Debug)]
pub struct Redrive {
    name: Name,
    ids: Vec<MessageId>,
    streams: u32,
    ttl_ms: u64,
}

impl Redrive {
    /// Puts these dead letters back. A queue that has no streams, or no longer has any, gets this number of streams.
    /// What is written lives for `ttl`, or forever.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, for zero streams or more than
    /// [`STREAMS_MAX`](super::STREAMS_MAX), for a `ttl` under a second or over [`TTL_MAX`](super::TTL_MAX), and for
    /// more than [`BATCH_MESSAGES_MAX`] letters.
    pub fn new<I: Into<MessageId>>(
        name: impl AsRef<[u8]>,
        letters: impl IntoIterator<Item = I>,
        streams: u32,
        ttl: impl Into<Option<Duration>>,
    ) -> Result<Self> {
        let ids = letters.into_iter().map(Into::into).collect();
        Self::of(Name::new(name.as_ref())?, ids, streams, ttl.into())
    }

    pub(super) fn of(
        name: Name,
        ids: Vec<MessageId>,
        streams: u32,
        ttl: Option<Duration>,
    ) -> Result<Self> {
        check_sizes(streams, 1)?;
        if ids.len() > BATCH_MESSAGES_MAX {
            return Err(invalid(format!("a step redrives at most {BATCH_MESSAGES_MAX} letters")));
        }
        Ok(Self { name, ids, streams, ttl_ms: ttl_ms(ttl)? })
    }
}

impl Operation for Redrive {
    head!(
        "shuffle.redrive",
        embedded::State,
        name,
        ["queue.lua", "ids.lua", "add.lua", "dead.lua", "shape.lua", "redrive.lua"]
    );
    /// Where each is now, in the order of the letters; `None` for one that did not exist.
    type Output = Vec<Option<Receipt>>;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.ttl_ms.to_string().as_bytes());
        args.push(self.streams.to_string().as_bytes());
        for id in &self.ids {
            args.push(id.to_string().as_bytes());
        }
        Invocation { script: Self::script(), keys: self.name.keys_with_dead(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Option<Receipt>>> {
        let receipts = reply.list()?.all(self.ids.len(), |replies| {
            let (id, stream) = (replies.next()?, replies.next()?.integer()?);
            let stream = Stream::from_wire(stream)?;
            match id {
                Reply::Nil => Ok(None),
                id => Ok(Some(Receipt { stream, id: decode_id(id)? })),
            }
        })?;
        match receipts.len() == self.ids.len() {
            true => Ok(receipts),
            false => Err(malformed()),
        }
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Option<Receipt>>> {
        let now = context.now();
        context.mark_evictable();
        let expires = expires(now, self.ttl_ms);
        let receipts = state.step(context, |queue, effects| {
            queue.redrive(&self.ids, self.streams, now, expires, effects)
        })?;
        for _ in receipts.iter().flatten() {
            context.wake(|| self.name.notifications_key(), 1);
        }
        Ok(receipts)
    }
}

/// The stream that a message goes back to which came from this one, in a queue of `streams` streams. Writers may
/// spread over fewer by now; and what came from the default stream, which is another program's, goes to the first.
pub(super) fn target_of(origin: Stream, streams: u32) -> StreamNumber {
    match origin {
        Stream::Default => 0,
        Stream::Number(number) => number % streams,
    }
}
