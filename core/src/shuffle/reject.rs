//! Reject: give messages up for good.

use std::time::Duration;

use super::message::{Receipt, check_streams, put_receipts};
use super::name::Name;
use super::{check_filled, embedded, expires, head, ttl_ms};
use crate::error::{Result, invalid};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// The longest reason of a dead letter, in bytes.
pub const REASON_BYTES_MAX: usize = 4_096;

/// Makes dead letters of messages that this consumer holds; returns how many of them it held.
#[derive(Clone, Debug)]
pub struct Reject {
    name: Name,
    group: Vec<u8>,
    consumer: Vec<u8>,
    reason: String,
    dead_ttl_ms: u64,
    receipts: Vec<Receipt>,
}

impl Reject {
    /// Makes dead letters of these messages, with this reason.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, an empty group or consumer, a
    /// reason that is empty or above [`REASON_BYTES_MAX`], an invalid stream number, or more than
    /// [`ACK_MESSAGES_MAX`](super::ACK_MESSAGES_MAX) messages.
    pub fn new<R: Into<Receipt>>(
        name: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
        messages: impl IntoIterator<Item = R>,
        reason: impl AsRef<str>,
    ) -> Result<Self> {
        let receipts = messages.into_iter().map(Into::into).collect();
        let name = Name::new(name.as_ref())?;
        Self::of(name, group.as_ref(), consumer.as_ref(), receipts, reason.as_ref())
    }

    pub(super) fn of(
        name: Name,
        group: &[u8],
        consumer: &[u8],
        receipts: Vec<Receipt>,
        reason: &str,
    ) -> Result<Self> {
        check_filled("the group's name", group)?;
        check_filled("the consumer's name", consumer)?;
        check_reason(reason)?;
        // In their order, which is that of the dead letters.
        check_streams(&receipts)?;
        let (group, consumer, reason) = (group.to_vec(), consumer.to_vec(), reason.to_owned());
        Ok(Self { name, group, consumer, reason, dead_ttl_ms: 0, receipts })
    }

    /// How long a dead letter is kept, including existing ones; `None` keeps them forever.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `dead_ttl` under a second or over [`TTL_MAX`](super::TTL_MAX).
    pub fn dead_ttl(mut self, dead_ttl: impl Into<Option<Duration>>) -> Result<Self> {
        self.dead_ttl_ms = ttl_ms(dead_ttl.into())?;
        Ok(self)
    }
}

/// Refuses a reason that is none, and one that is too long.
pub(super) fn check_reason(reason: &str) -> Result<()> {
    check_filled("the reason", reason.as_bytes())?;
    match reason.len() {
        ..=REASON_BYTES_MAX => Ok(()),
        length => {
            Err(invalid(format!("the reason has {length} bytes; {REASON_BYTES_MAX} are allowed")))
        }
    }
}

impl Operation for Reject {
    head!(
        "shuffle.reject",
        embedded::State,
        name,
        ["queue.lua", "ids.lua", "add.lua", "dead.lua", "reject.lua"]
    );
    type Output = u64;
    /// The messages end up the same, but a second run would count none.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.group);
        args.push(&self.consumer);
        args.push(self.reason.as_bytes());
        args.push(self.dead_ttl_ms.to_string().as_bytes());
        put_receipts(&self.receipts, &mut args);
        Invocation { script: Self::script(), keys: self.name.keys_with_dead(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.receipts.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |queue, effects| {
            let taking = embedded::Taking {
                group: &self.group,
                consumer: &self.consumer,
                now,
                expires: expires(now, self.dead_ttl_ms),
            };
            let mut rejected = 0;
            for receipt in &self.receipts {
                rejected += u64::from(queue.reject(&taking, receipt, &self.reason, effects)?);
            }
            queue.keep_dead(now, self.dead_ttl_ms, effects);
            Ok(rejected)
        })
    }
}
