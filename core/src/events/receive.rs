//! Receive: lease events that are ready.

use std::sync::Arc;
use std::time::Duration;

use super::config::micros;
use super::event::Event;
use super::id::EventId;
use super::limits::RECEIVE_EVENTS_MAX;
use super::op::Op;
use super::partition::Partition;
use super::state::{EventState, Token};
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// A delivery of an event, as needed to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// The event.
    pub id: EventId,
    /// The token of the delivery.
    pub token: Token,
}

impl From<&Event> for Receipt {
    fn from(event: &Event) -> Self {
        Self { id: event.id, token: event.token }
    }
}

impl From<&Receipt> for Receipt {
    fn from(receipt: &Receipt) -> Self {
        *receipt
    }
}

/// Leases ready events of a partition, after it has made due events ready.
#[derive(Clone, Debug)]
pub struct Receive {
    pub(super) partition: Partition,
    op: Op,
    pub(super) max: usize,
    /// 0 for the lease of the configuration.
    pub(super) lease_us: u64,
    pub(super) token: Token,
    pub(super) seed: u32,
    waits: Option<Waits>,
    pub(super) suspects: Suspects,
}

/// What a receive does with a suspect: an event that may have crashed the processes that held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspects {
    /// It leaves the suspect, and the events behind it, for the next receive.
    Leave,
    /// It takes the suspect, and nothing else.
    Take,
    /// As `Take`, and the receiver reports later that it starts the suspect.
    Begin,
}

/// A process that listens for the events of a partition.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    /// Its name, by which a step notifies it.
    pub(super) process: Arc<str>,
    /// Whether it keeps waiting if this takes nothing.
    pub(super) if_empty: bool,
    /// Whether it keeps waiting if this takes something, because other loops in it listen too.
    pub(super) if_taken: bool,
}

/// How many of the waiting processes watch for the next due time.
pub(super) const WAITING_PLACES: u32 = 3;

/// The result of a [`Receive`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The events, those that have been ready for longest first.
    pub events: Vec<Event>,
    /// Until when they are leased, in microseconds since the Unix epoch.
    pub leased_until: Timestamp,
    /// How many more are ready.
    pub ready: u64,
    /// In how many microseconds there may be more; 0 if there is something to do now.
    pub next_in: Option<u64>,
    /// The rank of the process among the waiting ones, if it waits; 3 for all but the first three.
    pub place: Option<u32>,
    /// The schedules that need more ticks.
    pub refills: Vec<Arc<str>>,
    /// Whether ready events are held up only by the rate.
    pub waits_for_rate: bool,
}

impl Receive {
    /// Leases up to `max` events for `lease`, or for the time that the configuration sets. `seed` determines the
    /// backoff of events whose lease has expired.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `max` of 0 or above [`RECEIVE_EVENTS_MAX`], and a lease below a millisecond or above
    /// [`DELAY_MAX`](super::DELAY_MAX).
    pub fn new(
        partition: Partition,
        op: Op,
        max: usize,
        lease: Option<Duration>,
        token: Token,
        seed: u32,
    ) -> Result<Self> {
        Self::check(max, lease)?;
        let lease_us = lease.map_or(0, micros);
        let (waits, suspects) = (None, Suspects::Take);
        Ok(Self { partition, op, max, lease_us, token, seed, waits, suspects })
    }

    /// Whether the receiver reports that it starts a suspect, by a [`Renew`](super::Renew). A suspect is an event of
    /// which two leases expired, or one if the next expiry would be the last: it is received alone.
    #[must_use]
    pub fn begins(self, begins: bool) -> Self {
        self.with(if begins { Suspects::Begin } else { Suspects::Take })
    }

    pub(super) fn with(self, suspects: Suspects) -> Self {
        Self { suspects, ..self }
    }

    /// Sets the listening process.
    pub(super) fn waits(self, waits: Option<Waits>) -> Self {
        Self { waits, ..self }
    }

    /// Refuses arguments beyond their limits.
    pub(super) fn check(max: usize, lease: Option<Duration>) -> Result<()> {
        let is_allowed = (1..=RECEIVE_EVENTS_MAX).contains(&max);
        ensure!(is_allowed, "a receive takes 1 to {RECEIVE_EVENTS_MAX} events, not {max}");
        lease.map_or(Ok(()), limits::lease)
    }
}

impl Operation for Receive {
    head!(
        "events.receive",
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
            "schedule/ticks.lua",
            "commit.lua",
            "alarm.lua",
            "receive.lua"
        ]
    );
    type Output = Received;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push_number(self.max as u64);
            args.push_number(self.lease_us);
            args.push(&self.token);
            args.push_number(self.seed.into());
            let (process, waits) = self.waits.as_ref().map_or(("", 0), |waits| {
                let if_taken = if waits.if_taken { 2 } else { 0 };
                (&*waits.process, u64::from(waits.if_empty) + if_taken)
            });
            args.push(process.as_bytes());
            args.push_number(waits);
            args.push_number(self.suspects as u64);
        })
    }

    fn decode(&self, reply: Reply) -> Result<Received> {
        let mut replies = reply.list()?;
        let leased_until = replies.next()?.number()?;
        let ready = replies.next()?.number()?;
        let next_in = match replies.next()? {
            Reply::Int(-1) => None,
            next_in => Some(next_in.number()?),
        };
        let place = match replies.next()? {
            Reply::Int(-1) => None,
            place => Some(place.number()?),
        };
        let refills = replies.next()?.count(replies.len())?;
        let waits_for_rate = replies.next()?.number::<u64>()? == 1;
        let id_of = |reply: Reply| String::from_utf8(reply.bytes()?).map_err(|_| malformed());
        let refills = (0..refills).map(|_| id_of(replies.next()?).map(Into::into));
        let refills = refills.collect::<Result<_>>()?;
        let state = (EventState::Leased, leased_until);
        let events = replies.all(self.max, |replies| Event::decode(replies, state))?;
        Ok(Received { events, leased_until, ready, next_in, place, refills, waits_for_rate })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Received> {
        state.receive(&self, context)
    }
}
