//! Renew: extend leases.

use std::time::Duration;

use super::cancel::results;
use super::config::micros;
use super::partition::Partition;
use super::receive::Receipt;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// Renews leases for a time from now.
#[derive(Clone, Debug)]
pub struct Renew {
    partition: Partition,
    pub(super) held: Vec<Receipt>,
    /// 0 for the lease of the configuration.
    pub(super) lease_us: u64,
    begins: bool,
}

/// The result of a [`Renew`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// Until when the held deliveries are leased, in microseconds since the Unix epoch.
    pub leased_until: Timestamp,
    /// Whether each delivery is still held.
    pub held: Vec<Held>,
}

/// Whether a delivery is still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// It is no longer leased with this token.
    Lost,
    /// It is held.
    Held,
    /// It is held, but the event was cancelled: its holder is to stop.
    Cancelled,
}

impl Held {
    /// Its name in every language, such as `held`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Held => "held",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Renew {
    /// Renews the leases of these deliveries: they last for this time from now, or for the lease of the configuration.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no deliveries or more than [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), and for a lease
    /// below a millisecond or above [`DELAY_MAX`](super::DELAY_MAX).
    pub fn new(partition: Partition, held: Vec<Receipt>, lease: Option<Duration>) -> Result<Self> {
        limits::step(held.len())?;
        lease.map_or(Ok(()), limits::lease)?;
        Ok(Self { partition, held, lease_us: lease.map_or(0, micros), begins: false })
    }

    /// Whether the holder starts them. Until then an expiring lease of a suspect, an event whose leases expired before,
    /// does not count; see [`Receive::begins`](super::Receive::begins).
    #[must_use]
    pub fn begins(self, begins: bool) -> Self {
        Self { begins, ..self }
    }
}

impl Operation for Renew {
    head!(
        "events.renew",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "records.lua",
            "lanes.lua",
            "commit.lua",
            "renew.lua"
        ]
    );
    type Output = Renewed;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push_number(self.lease_us);
            args.push_number(self.begins.into());
            for receipt in &self.held {
                args.push(receipt.id.as_bytes());
                args.push(&receipt.token);
            }
        })
    }

    fn decode(&self, reply: Reply) -> Result<Renewed> {
        let mut replies = reply.list()?;
        let leased_until = replies.next()?.number()?;
        let held = results(replies, self.held.len(), &[Held::Lost, Held::Held, Held::Cancelled])?;
        Ok(Renewed { leased_until, held })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Renewed> {
        state.renew(&self.partition, &self.held, (self.lease_us, self.begins), context)
    }
}
