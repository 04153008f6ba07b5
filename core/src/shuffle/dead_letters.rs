//! Dead letters: messages that were given up.

use super::message::{Message, MessageId, Stream};
use super::name::Name;
use super::{check_max, embedded, head};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext};

/// The fields of a dead letter that come before those of the message, in this order; and then the reason, which those
/// from before there were reasons do not have.
pub(super) const HISTORY: [&str; 5] =
    ["dead:stream", "dead:id", "dead:group", "dead:consumer", "dead:deliveries"];
pub(super) const REASON: &str = "dead:reason";

/// The reason of a message that was delivered too often.
pub(super) const EXHAUSTED: &str = "exhausted: max_deliveries";

/// Reads dead letters, the oldest first.
#[derive(Clone, Debug)]
pub struct ReadDeadLetters {
    name: Name,
    max: usize,
    after: Option<MessageId>,
}

/// A message that was delivered too often or [rejected](super::ShuffleConsumer::reject), and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id among the dead letters.
    pub id: MessageId,
    /// The original message; its number of deliveries is that of the letter.
    pub message: Message,
    /// The group that gave it up.
    pub group: Vec<u8>,
    /// The consumer that it was delivered to last.
    pub consumer: Vec<u8>,
    /// How often it was delivered.
    pub deliveries: u64,
    /// The reason: `exhausted: max_deliveries` for a message that was delivered too often, or what its consumer gave as
    /// the reason when it rejected the message.
    pub reason: String,
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
        Ok(Self { name, max, after: None })
    }

    /// Continues after the dead letter with this id, which need not exist any more; `None` begins with the oldest.
    #[must_use]
    pub fn after(mut self, after: impl Into<Option<MessageId>>) -> Self {
        self.after = after.into();
        self
    }
}

impl DeadLetter {
    /// Reads an entry of the stream of dead letters.
    pub(super) fn read(id: MessageId, mut fields: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        if fields.len() <= HISTORY.len() {
            return None;
        }
        let mut rest = fields.split_off(HISTORY.len());
        let is_history =
            fields.iter().zip(HISTORY).all(|((found, _), name)| *found == *name.as_bytes());
        let [stream, own, group, consumer, deliveries] =
            <[_; 5]>::try_from(fields).ok().filter(|_| is_history)?;
        let text = |value: (Vec<u8>, Vec<u8>)| String::from_utf8(value.1).ok();
        let reason = match *rest[0].0 == *REASON.as_bytes() {
            true => String::from_utf8_lossy(&rest.remove(0).1).into_owned(),
            false => String::new(),
        };
        if rest.is_empty() {
            return None;
        }
        let stream = Stream::from_wire(text(stream)?.parse().ok()?).ok()?;
        let deliveries = text(deliveries)?.parse().ok()?;
        let message = Message { stream, id: text(own)?.parse().ok()?, deliveries, fields: rest };
        Some(Self { id, message, group: group.1, consumer: consumer.1, deliveries, reason })
    }

    /// The fields of an entry of that stream, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let Message { stream, id, fields, .. } = &self.message;
        let values = [
            stream.to_wire().to_string().into_bytes(),
            id.to_string().into_bytes(),
            self.group.clone(),
            self.consumer.clone(),
            self.deliveries.to_string().into_bytes(),
            self.reason.clone().into_bytes(),
        ];
        let names = HISTORY.into_iter().chain([REASON]).map(|name| name.as_bytes().to_vec());
        names.zip(values).chain(fields.iter().cloned())
    }
}

impl From<&DeadLetter> for MessageId {
    fn from(letter: &DeadLetter) -> Self {
        letter.id
    }
}

impl Operation for ReadDeadLetters {
    head!(
        "shuffle.dead_letters",
        embedded::State,
        name,
        ["queue.lua", "ids.lua", "dead_letters.lua"]
    );
    type Output = Vec<DeadLetter>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let after = self.after.map(|id| id.to_string()).unwrap_or_default();
        let args = [self.max.to_string(), after].into_iter().collect();
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
        state.step(context, |queue, _| queue.dead_letters(self.after, self.max))
    }
}
