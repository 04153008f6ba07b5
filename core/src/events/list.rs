//! List: the events of one state in the order of their times, page by page.

use std::sync::Arc;

use super::event::Event;
use super::id::EventId;
use super::limits::{PAGE_DEFAULT, PAGE_MAX, STEP_BYTES_MAX};
use super::partition::Partition;
use super::state::EventState;
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, Timestamp, head};

/// The position of an event among those in its state: by time, and by id if times are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventPosition {
    /// The event's `state_at_us`, in microseconds since the Unix epoch.
    pub state_at_us: Timestamp,
    /// The event's id.
    pub id: EventId,
}

impl From<&Event> for EventPosition {
    fn from(event: &Event) -> Self {
        Self { state_at_us: event.state_at_us, id: event.id }
    }
}

impl EventPosition {
    /// After all others.
    const LAST: Self = Self { state_at_us: limits::TIME_US_MAX, id: EventId::MAX };

    /// The last position before this time; `None` before 0.
    pub(super) fn before(time: Timestamp) -> Option<Self> {
        let state_at_us = time.min(limits::TIME_US_MAX).checked_sub(1)?;
        Some(Self { state_at_us, ..Self::LAST })
    }

    /// Appends a position as scripts read it: the time and the id, which is empty for `None`.
    pub(super) fn push(position: Option<&Self>, args: &mut ByteList) {
        args.push_number(position.map_or(0, |position| position.state_at_us));
        args.push(position.map_or(b"".as_slice(), |position| position.id.as_bytes()));
    }
}

/// Some events of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events, by time and id; events that are behind another one of their key, in the order in which they will be
    /// delivered.
    pub events: Vec<Event>,
    /// The position that the next page comes after; `None` for the last page.
    pub next: Option<EventPosition>,
}

/// Which events of a state to list.
///
/// ```
/// use millpond::events::{EventQuery, EventState, NewEvent};
///
/// let queue = millpond::connect("memory:")?.events("orders");
/// queue.publish_many((0..3).map(|number| NewEvent::new(number.to_string())))?;
/// let first = queue.list(EventState::Ready, EventQuery::new().limit(2))?;
/// let after = first.next.expect("there are more");
/// let rest = queue.list(EventState::Ready, EventQuery::new().after(after))?;
/// assert_eq!((first.events.len(), rest.events.len(), rest.next), (2, 1, None));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct EventQuery {
    pub(super) key: Option<Arc<[u8]>>,
    since: Option<Timestamp>,
    before: Option<Timestamp>,
    after: Option<EventPosition>,
    limit: Option<usize>,
}

impl EventQuery {
    /// The first page of all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key of the events to list. It is required for events that are [behind](EventState::Behind) another event of
    /// the key, and refused for all others.
    pub fn key(self, key: impl AsRef<[u8]>) -> Self {
        Self { key: Some(key.as_ref().into()), ..self }
    }

    /// Only events whose `state_at_us` is this time or later, in microseconds since the Unix epoch.
    pub fn since_us(self, since_us: Timestamp) -> Self {
        Self { since: Some(since_us), ..self }
    }

    /// Only events whose `state_at_us` is earlier than this time, in microseconds since the Unix epoch.
    pub fn before_us(self, before_us: Timestamp) -> Self {
        Self { before: Some(before_us), ..self }
    }

    /// The page after this position.
    pub fn after(self, position: impl Into<EventPosition>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// At most this many events; [`PAGE_DEFAULT`] by default, at most [`PAGE_MAX`].
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The first page of these events, for a step.
    pub(super) fn listing(&self, state: EventState) -> Result<Listing> {
        let limit = self.limit.unwrap_or(PAGE_DEFAULT);
        ensure!((1..=PAGE_MAX).contains(&limit), "a page has 1 to {PAGE_MAX} events, not {limit}");
        lane_key(state, self.key.as_deref())?;
        let is_timed = self.since.is_some() || self.before.is_some();
        ensure!(
            state != EventState::Behind || !is_timed,
            "events that are behind another one have no time"
        );
        let since = self.since.and_then(EventPosition::before);
        let before = self.before.map(|before| EventPosition::before(before.max(1)));
        Ok(Listing {
            state,
            key: self.key.clone().unwrap_or_default(),
            limit,
            after: self.after.max(since),
            upto: before.flatten(),
        })
    }
}

/// Refuses a key unless the events are behind another one, and such events without a key.
pub(super) fn lane_key(state: EventState, key: Option<&[u8]>) -> Result<()> {
    let is_behind = state == EventState::Behind;
    ensure!(
        !is_behind || key.is_some(),
        "events that are behind another one are selected by its key"
    );
    ensure!(
        is_behind || key.is_none(),
        "events in the state {} cannot be selected by key",
        state.name()
    );
    let key = key.unwrap_or_default();
    ensure!(!is_behind || !key.is_empty(), "events without a key are never behind another one");
    limits::key(key)
}

/// A range of the events of a state.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub(super) state: EventState,
    /// The key of events that are behind another one; otherwise empty.
    pub(super) key: Arc<[u8]>,
    pub(super) limit: usize,
    pub(super) after: Option<EventPosition>,
    pub(super) upto: Option<EventPosition>,
}

impl Listing {
    /// Adds the page of another partition. Each of the two pages is complete up to its end.
    pub(super) fn merge(&mut self, page: &mut EventPage, other: EventPage) {
        page.events.extend(other.events);
        page.events.sort_unstable_by_key(|event| EventPosition::from(event));
        page.next = [page.next, other.next].into_iter().flatten().min();
        if let Some(next) = page.next {
            page.events.retain(|event| EventPosition::from(event) <= next);
        }
        let mut bytes = 0;
        let is_over = |event: &Event| {
            let is_over = bytes > STEP_BYTES_MAX;
            bytes += event.payload.len();
            is_over
        };
        let kept = page.events.iter().position(is_over).unwrap_or(usize::MAX).min(self.limit);
        if page.events.len() > kept {
            page.events.truncate(kept);
            page.next = page.events.last().map(EventPosition::from);
        }
        // The following partitions need not return anything after that.
        self.upto = page.next.or(self.upto);
    }
}

/// Lists events of a partition that are in one state.
#[derive(Clone, Debug)]
pub struct List {
    partition: Partition,
    pub(super) listing: Listing,
}

impl List {
    /// Lists a page of this partition, of its generation or an earlier one; of any if that is 0.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`PAGE_MAX`]; for events that are behind another one without its
    /// key or with time limits, and for others with a key.
    pub fn new(partition: Partition, state: EventState, query: &EventQuery) -> Result<Self> {
        Ok(Self::of(partition, query.listing(state)?))
    }

    pub(super) fn of(partition: Partition, listing: Listing) -> Self {
        Self { partition, listing }
    }
}

impl Operation for List {
    head!(
        "events.list",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "look.lua",
            "records.lua",
            "page.lua",
            "list.lua"
        ]
    );
    type Output = EventPage;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let Listing { state, key, limit, after, upto } = &self.listing;
        self.partition.call(Self::script(), |args| {
            args.push(state.name().as_bytes());
            args.push(key);
            args.push_number(*limit as u64);
            EventPosition::push(after.as_ref(), args);
            EventPosition::push(Some(upto.as_ref().unwrap_or(&EventPosition::LAST)), args);
        })
    }

    fn decode(&self, reply: Reply) -> Result<EventPage> {
        let Listing { state, limit, .. } = self.listing;
        let mut replies = reply.list()?;
        let (state_at_us, id) = (replies.next()?.number()?, replies.next()?.bytes()?);
        let next = match id.is_empty() {
            true => None,
            false => Some(EventPosition {
                state_at_us,
                id: EventId::of_bytes(&id).ok_or_else(malformed)?,
            }),
        };
        let events = replies.all(limit, |replies| {
            let since = replies.next()?.number()?;
            Event::decode(replies, (state, since))
        })?;
        Ok(EventPage { events, next })
    }

    fn apply(self, state: &embedded::State, _: &mut StepContext<'_>) -> Result<EventPage> {
        state.list(&self.partition, &self.listing)
    }
}
