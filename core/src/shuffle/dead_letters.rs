//! Dead letters: messages that were delivered too often.

use super::message::{Message, MessageId, Stream};
use super::name::Name;
use super::{check_max, embedded, head};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext};

/// The fields of a dead letter that come before those of the message, in this order.
pub(super) const HISTORY: [&str; 5] =
    ["dead:stream", "dead:id", "dead:group", "dead:consumer", "dead:deliveries"];

/// Reads dead letters, the oldest first.
#[derive(Clone, Debug)]
pub struct ReadDeadLetters {
    name: Name,
    max: usize,
}

/// A message that was delivered too often without being acknowledged, and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id among the dead letters.
    pub id: MessageId,
    /// The message as it was; its deliveries are the letter's.
    pub message: Message,
    /// The group that gave it up.
    pub group: Vec<u8>,
    /// The consumer that it was delivered to last.
    pub consumer: Vec<u8>,
    /// How often it was delivered.
    pub deliveries: u64,
}

impl ReadDeadLetters {
    /// Reads up to `max` dead letters.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and a `max` of 0 or above
    /// [`READ_MESSAGES_MAX`](super::READ_MESSAGES_MAX).
    pub fn new(name: impl AsRef<[u8]>, max: usize) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, max)
    }

    pub(super) fn of(name: Name, max: usize) -> Result<Self> {
        check_max("a read", max, "dead letters")?;
        Ok(Self { name, max })
    }
}

impl DeadLetter {
    /// Reads an entry of the stream of dead letters.
    pub(super) fn read(id: MessageId, mut fields: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        if fields.len() < HISTORY.len() {
            return None;
        }
        let rest = fields.split_off(HISTORY.len());
        let is_history =
            fields.iter().zip(HISTORY).all(|((found, _), name)| *found == *name.as_bytes());
        let [stream, own, group, consumer, deliveries] =
            <[_; 5]>::try_from(fields).ok().filter(|_| is_history)?;
        let text = |value: (Vec<u8>, Vec<u8>)| String::from_utf8(value.1).ok();
        let stream = Stream::from_wire(text(stream)?.parse().ok()?).ok()?;
        let deliveries = text(deliveries)?.parse().ok()?;
        let message = Message { stream, id: text(own)?.parse().ok()?, deliveries, fields: rest };
        Some(Self { id, message, group: group.1, consumer: consumer.1, deliveries })
    }
}

impl From<&DeadLetter> for MessageId {
    fn from(letter: &DeadLetter) -> Self {
        letter.id
    }
}

impl Operation for ReadDeadLetters {
    head!("shuffle.dead_letters", embedded::State, name, ["queue.lua", "dead_letters.lua"]);
    type Output = Vec<DeadLetter>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let args = [self.max.to_string()].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.keys_with_dead(), args }
    }

    /// Entries that another program added to the dead letters are left out.
    fn decode(&self, reply: Reply) -> Result<Vec<DeadLetter>> {
        let entries = reply
            .list()?
            .all(self.max, |replies| Message::decode(Reply::Int(-1), 0, replies.next()?))?;
        let letter = |entry: Message| DeadLetter::read(entry.id, entry.fields);
        Ok(entries.into_iter().filter_map(letter).collect())
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<DeadLetter>> {
        context.mark_evictable();
        state.step(context, |queue, _| queue.dead_letters(self.max))
    }
}
