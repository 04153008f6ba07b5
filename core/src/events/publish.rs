//! Publish: add events that fire immediately or at a set time.

use std::collections::HashSet;

use super::config::micros;
use super::event::NewEvent;
use super::id::EventId;
use super::op::Op;
use super::partition::Partition;
use super::receive::Receipt;
use super::{embedded, limits};
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, Timestamp, head};

/// Adds events to a partition, all or none.
#[derive(Clone, Debug)]
pub struct Publish {
    partition: Partition,
    op: Op,
    pub(super) events: Vec<NewEvent>,
    /// The part of the key space of events that have neither a key nor a deduplication id.
    pub(super) drawn: u16,
    /// The delivery that ends with the step.
    pub(super) done: Option<Receipt>,
}

/// The outcome for an event that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The event's id; for a duplicate, the id of the existing event.
    pub id: EventId,
    /// Whether it was added, and whether it replaced another event.
    pub status: Status,
    /// When it fires, in microseconds since the Unix epoch; 0 for a duplicate.
    pub fire_at_us: Timestamp,
}

/// The result of publishing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It was added.
    Created,
    /// It was not added, because its deduplication id was taken.
    Duplicate,
    /// It was added in place of the event with its deduplication id, or beside that event if it is leased.
    Replaced,
}

impl Status {
    /// Its name in every language, such as `created`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Duplicate => "duplicate",
            Self::Replaced => "replaced",
        }
    }
}

impl Publish {
    /// Adds these events.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for events beyond their limits, for no events or more than
    /// [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), and for a deduplication id that is used twice.
    pub fn new(partition: Partition, op: Op, events: Vec<NewEvent>, drawn: u16) -> Result<Self> {
        limits::step(events.len())?;
        Self::of(partition, op, events, drawn, None)
    }

    /// Adds these events, if there are any, and ends a delivery, whose event is done.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn done(
        partition: Partition,
        op: Op,
        events: Vec<NewEvent>,
        done: Receipt,
    ) -> Result<Self> {
        Self::of(partition, op, events, done.id.vslot(), Some(done))
    }

    fn of(
        partition: Partition,
        op: Op,
        events: Vec<NewEvent>,
        drawn: u16,
        done: Option<Receipt>,
    ) -> Result<Self> {
        Self::check(&events)?;
        Ok(Self { partition, op, events, drawn, done })
    }

    /// Refuses events that cannot be in one step.
    pub(super) fn check(events: &[NewEvent]) -> Result<()> {
        let mut names = HashSet::new();
        let mut bytes = 0;
        for event in events {
            event.check()?;
            bytes += event.bytes();
            let is_new = event.dedup_id.is_none() || names.insert(event.name());
            ensure!(is_new, "a deduplication id comes twice in one step");
        }
        let is_alone = events.len() == 1;
        ensure!(
            is_alone || bytes <= limits::STEP_BYTES_MAX,
            "the events of a step have {bytes} bytes; {} are allowed",
            limits::STEP_BYTES_MAX
        );
        Ok(())
    }
}

/// Appends an event as the script reads it.
pub(super) fn push(event: &NewEvent, drawn: u16, args: &mut ByteList) {
    event.at.push_micros(args);
    args.push_with(|head| {
        head.push(event.flags());
        head.push(event.if_exists as u8);
        head.extend(event.vslot(drawn).to_be_bytes());
        head.extend(event.ttl.map_or(0, micros).to_be_bytes());
        head.extend(event.window_us().to_be_bytes());
        head.extend(event.name());
    });
    args.push(&event.body());
}

/// How many of the events whose deduplication ids are taken a message lists.
const LISTED_MAX: usize = 10;

/// The error for events whose deduplication ids are taken: the index of each, and the id of the existing event.
pub(super) fn taken(taken: Vec<(usize, EventId)>) -> Error {
    let listed: Vec<_> = taken.iter().take(LISTED_MAX).map(|(_, id)| id.to_string()).collect();
    let rest = match taken.len() - listed.len() {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let message = format!(
        "the deduplication ids of {} events are taken, by the events {}{rest}",
        taken.len(),
        listed.join(", ")
    );
    Error::new(ErrorKind::AlreadyExists, message).with_details(taken)
}

impl Operation for Publish {
    head!(
        "events.publish",
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
            "publish.lua"
        ]
    );
    type Output = Vec<Published>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push_with(|delivery| {
                if let Some(Receipt { id, token }) = &self.done {
                    delivery.extend(id.as_bytes());
                    delivery.extend(token);
                }
            });
            self.events.iter().for_each(|event| push(event, self.drawn, args));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Published>> {
        let mut replies = reply.list()?;
        let index_of = |reply: Reply| {
            let number = reply.count(self.events.len())? as usize;
            number.checked_sub(1).ok_or_else(malformed)
        };
        let id_of = |reply: Reply| EventId::of_bytes(&reply.bytes()?).ok_or_else(malformed);
        let now = match replies.next()? {
            Reply::Int(0) => {
                let all = replies.all(self.events.len(), |replies| {
                    Ok((index_of(replies.next()?)?, id_of(replies.next()?)?))
                })?;
                return Err(if all.is_empty() { malformed() } else { taken(all) });
            }
            now => now.number()?,
        };
        let first: u64 = replies.next()?.number()?;
        if first + self.events.len() as u64 > EventId::SEQUENCE_MAX {
            return Err(malformed());
        }
        let generation = self.partition.generation;
        let mut published: Vec<_> = self
            .events
            .iter()
            .zip(first..)
            .map(|(event, sequence)| Published {
                id: EventId::new(generation, sequence, event.vslot(self.drawn)),
                status: Status::Created,
                fire_at_us: event.at.resolve_micros(now).max(now),
            })
            .collect();
        replies.all(self.events.len(), |replies| {
            let index = index_of(replies.next()?)?;
            let event = &mut published[index];
            match (replies.next()?.count(2)?, id_of(replies.next()?)?) {
                (1, id) => *event = Published { id, status: Status::Duplicate, fire_at_us: 0 },
                (2, _) => event.status = Status::Replaced,
                _ => return Err(malformed()),
            }
            Ok(())
        })?;
        Ok(published)
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Published>> {
        let (partition, drawn, done) = (self.partition, self.drawn, self.done);
        state.publish(&partition, self.events, drawn, done, context)
    }
}
