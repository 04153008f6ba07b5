//! The contents of a partition: its events, and the state of each. All changes go through a few methods, each of which
//! records its change for the journal; a replay calls the same methods.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;

use super::bucket::Bucket;
use super::cancelled::Cancelled;
use super::journal::{Changes, Effect};
use crate::events::config::Config;
use crate::events::event::{Head, flag};
use crate::events::id::EventId;
use crate::events::map::Range;
use crate::events::schedule::{ScheduleRecord, Template};
use crate::events::state::{Delivery, EventState, Place};
use crate::step::Timestamp;

/// The contents of a partition.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) root: Root,
    pub(super) events: HashMap<EventId, Stored>,
    pub(super) scheduled: Order,
    pub(super) ready: Order,
    pub(super) leased: Order,
    pub(super) retry: Order,
    pub(super) dead: Order,
    pub(super) done: Order,
    pub(super) lanes: HashMap<Arc<[u8]>, Lane>,
    pub(super) names: HashMap<Arc<[u8]>, NameEntry>,
    /// Names of events that have ended, by the time at which they are forgotten.
    pub(super) forget: BTreeSet<(Timestamp, Arc<[u8]>)>,
    pub(super) cancelled: Cancelled,
    /// The part of the key space that leaves or arrives; until it has, nothing is delivered.
    pub(super) transfer: Option<Transfer>,
    /// The token bucket of the rate; `None`, until tokens are taken, means full.
    pub(super) bucket: Option<Bucket>,
    pub(super) schedules: BTreeMap<Arc<str>, ScheduleRecord>,
    pub(super) templates: HashMap<Arc<str>, Template>,
    /// When schedules are checked: by time, and by schedule.
    pub(super) ticks: BTreeSet<(Timestamp, Arc<str>)>,
    pub(super) looks: HashMap<Arc<str>, Timestamp>,
    pub(super) changes: Changes,
}

/// The progress of a part of the key space that leaves a partition, or arrives.
#[derive(Clone, Debug)]
pub(super) enum Transfer {
    Leaving {
        ranges: Vec<Range>,
        left_at: Timestamp,
        /// The number of the last batch.
        sent: u64,
        /// The batch that the other partition may not have yet.
        out: Option<Outgoing>,
    },
    Arriving {
        /// The number of the last batch that has arrived.
        taken: u64,
    },
}

/// A batch of leaving items.
#[derive(Clone, Debug, Default)]
pub(super) struct Outgoing {
    pub(super) number: u64,
    pub(super) ids: Vec<EventId>,
    /// Names of events that have ended.
    pub(super) names: Vec<Arc<[u8]>>,
    pub(super) schedules: Vec<Arc<str>>,
}

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.names.is_empty() && self.schedules.is_empty()
    }
}

/// Events by a time, and by their ids if times are equal.
pub(super) type Order = BTreeSet<(Timestamp, EventId)>;

/// The partition itself, apart from its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Root {
    /// 0 for a partition that never existed.
    pub(super) generation: u32,
    pub(super) ranges: Vec<Range>,
    /// For partition 0: the ranges of each partition.
    pub(super) map: Arc<str>,
    /// 0 for a partition that does not exist. It has a map if its queue is being deleted; otherwise it has none, but
    /// keeps its generation during the second in which it was created.
    pub(super) revision: u64,
    pub(super) config: Config,
    /// The last time that a step noted.
    pub(super) clock: Timestamp,
    /// The last sequence that an event got.
    pub(super) sequence: u64,
}

/// An event.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) head: Head,
    pub(super) body: Arc<[u8]>,
    pub(super) phase: Phase,
    /// `None` before its first delivery.
    pub(super) delivery: Option<Box<Delivery>>,
}

/// The state of an event, and until or since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Scheduled(Timestamp),
    /// It is in its lane, behind another event.
    Behind,
    Ready(Timestamp),
    Leased(Timestamp),
    Retry(Timestamp),
    Dead(Timestamp),
    /// It is kept for a time.
    Done(Timestamp),
}

impl Phase {
    /// The state and time that callers see.
    pub(super) fn place(self) -> Place {
        match self {
            Self::Scheduled(at) => (EventState::Scheduled, at),
            Self::Behind => (EventState::Behind, 0),
            Self::Ready(at) => (EventState::Ready, at),
            Self::Leased(at) => (EventState::Leased, at),
            Self::Retry(at) => (EventState::Retry, at),
            Self::Dead(at) => (EventState::Dead, at),
            Self::Done(at) => (EventState::Done, at),
        }
    }

    /// Whether an event in this phase is the head of its lane.
    fn is_open(self) -> bool {
        matches!(self, Phase::Ready(_) | Phase::Leased(_) | Phase::Retry(_))
    }
}

/// The events of a key that are due.
#[derive(Default)]
pub(super) struct Lane {
    /// The only event of the lane that may be delivered.
    pub(super) head: Option<EventId>,
    pub(super) behind: VecDeque<EventId>,
}

/// The event that has a name, or had it last.
#[derive(Clone, Copy)]
pub(super) struct NameEntry {
    pub(super) id: EventId,
    /// When the name is forgotten; set when the event has ended.
    pub(super) until: Option<Timestamp>,
}

impl Root {
    pub(super) fn is_there(&self) -> bool {
        self.revision > 0
    }

    /// Whether the queue is being deleted.
    pub(super) fn is_gone(&self) -> bool {
        !self.is_there() && !self.map.is_empty()
    }
}

impl Contents {
    pub(super) fn set_root(&mut self, root: Root) {
        self.changes.note(Effect::Root { root: Cow::Borrowed(&root) });
        self.root = root;
    }

    pub(super) fn set_transfer(&mut self, transfer: Option<Transfer>) {
        let noted = transfer.as_ref().map(Cow::Borrowed);
        self.changes.note(Effect::Transfer { transfer: noted });
        self.transfer = transfer;
    }

    /// Whether nothing is delivered.
    pub(super) fn is_paused(&self) -> bool {
        self.root.config.paused || self.transfer.is_some()
    }

    /// Stores the time, and the last sequence that an event got.
    pub(super) fn tick(&mut self, clock: Timestamp, sequence: u64) {
        if (clock, sequence) != (self.root.clock, self.root.sequence) {
            self.changes.note(Effect::Tick { clock, sequence });
            (self.root.clock, self.root.sequence) = (clock, sequence);
        }
    }

    /// How many events there are that are not done.
    pub(super) fn events_left(&self) -> usize {
        self.events.len() - self.done.len()
    }

    /// The event, unless it is done.
    pub(super) fn open_event(&self, id: EventId) -> Option<&Stored> {
        self.events.get(&id).filter(|stored| !matches!(stored.phase, Phase::Done(_)))
    }

    /// Adds an event.
    pub(super) fn add(&mut self, id: EventId, head: Head, body: Arc<[u8]>, phase: Phase) {
        self.changes.note(Effect::Event { id, head: Cow::Borrowed(&head), body: &body });
        self.changes.note(Effect::Phase { id, phase });
        self.events.insert(id, Stored { head, body, phase, delivery: None });
        self.enter(id, phase);
    }

    /// Moves an event to another phase.
    pub(super) fn put(&mut self, id: EventId, phase: Phase) {
        self.changes.note(Effect::Phase { id, phase });
        self.leave(id);
        self.enter(id, phase);
    }

    /// Removes the contents of the partition, and returns them.
    pub(super) fn clear(&mut self) -> Self {
        self.changes.note(Effect::Cleared);
        let (root, changes) = (self.root.clone(), std::mem::take(&mut self.changes));
        std::mem::replace(self, Self { root, changes, ..Self::default() })
    }

    /// Removes an event.
    pub(super) fn remove(&mut self, id: EventId) {
        self.changes.note(Effect::Removed { id });
        self.leave(id);
        self.events.remove(&id);
    }

    /// Changes the stored times of an event after a reschedule.
    pub(super) fn set_times(
        &mut self,
        id: EventId,
        fire_at_us: Timestamp,
        expires_at_us: Timestamp,
    ) {
        self.changes.note(Effect::Times { id, fire_at_us, expires_at_us });
        if let Some(stored) = self.events.get_mut(&id) {
            (stored.head.fire_at_us, stored.head.expires_at_us) = (fire_at_us, expires_at_us);
        }
    }

    pub(super) fn set_delivery(&mut self, id: EventId, delivery: Delivery) {
        self.changes.note(Effect::Delivery { id, delivery: Cow::Borrowed(&delivery) });
        if let Some(stored) = self.events.get_mut(&id) {
            stored.delivery = Some(Box::new(delivery));
        }
    }

    /// Assigns a name to an event, until it has ended or for a time after that; `None` frees the name.
    pub(super) fn set_name(&mut self, name: &[u8], named: Option<NameEntry>) {
        self.changes.note(Effect::Name { name, named });
        let name: Arc<[u8]> = name.into();
        let before = match named {
            Some(named) => self.names.insert(name.clone(), named),
            None => self.names.remove(&name),
        };
        if let Some(until) = before.and_then(|before| before.until) {
            self.forget.remove(&(until, name.clone()));
        }
        if let Some(until) = named.and_then(|named| named.until) {
            self.forget.insert((until, name));
        }
    }

    /// Remembers that an event was cancelled, and whether its delivery was removed.
    pub(super) fn set_cancelled(&mut self, id: EventId, at: Timestamp, is_taken: bool) {
        if self.cancelled.add(id, at, is_taken) {
            self.changes.note(Effect::Cancelled { id, at, is_taken });
        }
    }

    fn order(&mut self, phase: Phase) -> Option<(&mut Order, Timestamp)> {
        Some(match phase {
            Phase::Scheduled(at) => (&mut self.scheduled, at),
            Phase::Behind => return None,
            Phase::Ready(at) => (&mut self.ready, at),
            Phase::Leased(at) => (&mut self.leased, at),
            Phase::Retry(at) => (&mut self.retry, at),
            Phase::Dead(at) => (&mut self.dead, at),
            Phase::Done(at) => (&mut self.done, at),
        })
    }

    fn leave(&mut self, id: EventId) {
        let Some(stored) = self.events.get(&id) else { return };
        let phase = stored.phase;
        if stored.head.is(flag::KEYED) && (phase == Phase::Behind || phase.is_open()) {
            let key = stored.head.key.clone();
            if let Some(lane) = self.lanes.get_mut(&key) {
                match phase {
                    // Most leave from the front, because the events before them have ended.
                    Phase::Behind if lane.behind.front() == Some(&id) => {
                        _ = lane.behind.pop_front()
                    }
                    Phase::Behind => lane.behind.retain(|other| *other != id),
                    _ => lane.head = None,
                }
                if lane.head.is_none() && lane.behind.is_empty() {
                    self.lanes.remove(&key);
                }
            }
        }
        if let Some((order, at)) = self.order(phase) {
            order.remove(&(at, id));
        }
    }

    fn enter(&mut self, id: EventId, phase: Phase) {
        let Some(stored) = self.events.get_mut(&id) else { return };
        stored.phase = phase;
        if stored.head.is(flag::KEYED) && (phase == Phase::Behind || phase.is_open()) {
            let lane = self.lanes.entry(stored.head.key.clone()).or_default();
            match phase {
                Phase::Behind => lane.behind.push_back(id),
                _ => lane.head = Some(id),
            }
        }
        if let Some((order, at)) = self.order(phase) {
            order.insert((at, id));
        }
    }
}
