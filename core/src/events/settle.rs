//! Settle: end deliveries.

use std::time::Duration;

use super::cancel::results;
use super::config::micros;
use super::partition::Partition;
use super::receive::Receipt;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Ends deliveries, each independently of the others.
#[derive(Clone, Debug)]
pub struct Settle {
    partition: Partition,
    pub(super) seed: u32,
    pub(super) ends: Vec<Settlement>,
}

/// A delivery, and how to end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The delivery.
    pub receipt: Receipt,
    /// How it ends.
    pub end: End,
}

/// How a delivery ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The event is done, and it is deleted or kept for the `retention` of the queue.
    Done,
    /// The event is retried, after the backoff of the configuration or after this time; or it becomes a dead letter if
    /// it was tried too often.
    Failed(String, Option<Duration>),
    /// The event is delivered again, immediately or after this time, as if it had not been delivered.
    Released(Option<Duration>),
    /// The event becomes a dead letter.
    Dead(String),
}

/// The result of ending a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settled {
    /// Nothing was done: the event has been delivered again, or the delivery has ended in another way.
    Lost,
    /// The delivery ended as requested.
    Ended,
    /// Nothing was done: the event had already ended.
    Gone,
    /// The event failed too often, and is a dead letter.
    Died,
    /// The event had been cancelled, and is deleted.
    Cancelled,
}

impl Settled {
    /// Its name in every language, such as `ended`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Ended => "ended",
            Self::Gone => "gone",
            Self::Died => "died",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Settle {
    /// Ends these deliveries; `seed` determines the backoff of those that failed.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no deliveries or more than [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), for an event that
    /// is listed twice, and for delays that are too long.
    pub fn new(partition: Partition, ends: Vec<Settlement>, seed: u32) -> Result<Self> {
        limits::step(ends.len())?;
        limits::distinct(ends.iter().map(|end| &end.receipt.id))?;
        ends.iter().try_for_each(|end| end.end.check())?;
        Ok(Self { partition, seed, ends })
    }
}

impl End {
    pub(super) fn check(&self) -> Result<()> {
        match self {
            End::Failed(_, Some(delay)) | End::Released(Some(delay)) => {
                limits::delay("delay", *delay)
            }
            _ => Ok(()),
        }
    }

    /// Its name in the script, after how many microseconds the event is retried, and what went wrong.
    pub(super) fn parts(&self) -> (&'static str, Option<u64>, &str) {
        match self {
            End::Done => ("done", None, ""),
            End::Failed(err, delay) => ("failed", delay.map(micros), limits::end_of(err)),
            End::Released(delay) => ("released", delay.map(micros), ""),
            End::Dead(err) => ("dead", None, limits::end_of(err)),
        }
    }
}

impl Operation for Settle {
    head!(
        "events.settle",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "cancelled.lua",
            "records.lua",
            "lanes.lua",
            "names.lua",
            "event_end.lua",
            "retry.lua",
            "withdraw.lua",
            "delivery_end.lua",
            "commit.lua",
            "settle.lua"
        ]
    );
    type Output = Vec<Settled>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push_number(self.seed.into());
            for Settlement { receipt, end } in &self.ends {
                let (how, delay, err) = end.parts();
                args.push(receipt.id.as_bytes());
                args.push(&receipt.token);
                args.push(how.as_bytes());
                match delay {
                    Some(delay) => args.push_number(delay),
                    None => args.push(b""),
                }
                args.push(err.as_bytes());
            }
        })
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Settled>> {
        let all = [Settled::Lost, Settled::Ended, Settled::Gone, Settled::Died, Settled::Cancelled];
        results(reply.list()?, self.ends.len(), &all)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Settled>> {
        state.settle(&self.partition, self.ends, self.seed, context)
    }
}
