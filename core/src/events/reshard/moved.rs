//! The items that move from one partition to another, as scripts store them.

use std::sync::Arc;

use super::super::id::EventId;
use super::super::state::EventState;
use crate::error::Result;
use crate::step::reply::{Replies, malformed};
use crate::step::{ByteList, Timestamp};

/// An item that moves from one partition to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The id of the event; for a name, of the event that had it; for a schedule, of its last event.
    pub(in crate::events) id: EventId,
    pub(in crate::events) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::events) enum What {
    Event(MovedEvent),
    /// The name of an event that has ended, and until when it is remembered.
    Name(Vec<u8>, Timestamp),
    Schedule(MovedSchedule),
}

/// A schedule, and when it is checked; 0 for never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::events) struct MovedSchedule {
    pub(in crate::events) id: Arc<str>,
    pub(in crate::events) look_at: Timestamp,
    pub(in crate::events) record: Vec<u8>,
    pub(in crate::events) template: Vec<u8>,
}

/// An event, and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::events) struct MovedEvent {
    pub(in crate::events) state: EventState,
    pub(in crate::events) state_at: Timestamp,
    /// Until when its name is remembered: 0 while the event has it, `None` for an event without a name.
    pub(in crate::events) named_until: Option<Timestamp>,
    /// The record of its deliveries; empty before the first one.
    pub(in crate::events) record: Vec<u8>,
    /// Its head, followed by the body if that is short.
    pub(in crate::events) head: Vec<u8>,
    /// The body if it is long.
    pub(in crate::events) body: Vec<u8>,
}

/// The names of a name and a schedule in scripts.
const NAME: &[u8] = b"name";
const SCHEDULE: &[u8] = b"schedule";

impl Moved {
    pub(super) fn push(&self, args: &mut ByteList) {
        let number = |number: u64| number.to_string().into_bytes();
        let id = self.id.as_bytes().to_vec();
        let strings = match &self.what {
            What::Event(event) => [
                number(event.state as u64 + 1),
                number(event.state_at),
                event.named_until.map_or_else(|| b"-1".to_vec(), number),
                id,
                event.record.clone(),
                event.head.clone(),
                event.body.clone(),
            ],
            What::Name(name, until) => [
                NAME.to_vec(),
                number(*until),
                Vec::new(),
                id,
                name.clone(),
                Vec::new(),
                Vec::new(),
            ],
            What::Schedule(schedule) => [
                SCHEDULE.to_vec(),
                number(schedule.look_at),
                Vec::new(),
                id,
                schedule.id.as_bytes().to_vec(),
                schedule.record.clone(),
                schedule.template.clone(),
            ],
        };
        strings.iter().for_each(|string| args.push(string));
    }

    pub(super) fn decode(replies: &mut Replies) -> Result<Self> {
        let mut text = || {
            let text = String::from_utf8(replies.next()?.bytes()?);
            text.map_err(|_| malformed())
        };
        let time = |text: &str| text.parse::<f64>().map(|time| time as Timestamp);
        let (state, at, until) = (text()?, text()?, text()?);
        let at = time(&at).map_err(|_| malformed())?;
        let id = EventId::of_bytes(&replies.next()?.bytes()?).ok_or_else(malformed)?;
        let mut bytes = || replies.next()?.bytes();
        let (record, head, body) = (bytes()?, bytes()?, bytes()?);
        match state.as_bytes() {
            NAME => return Ok(Self { id, what: What::Name(record, at) }),
            SCHEDULE => {
                let own = std::str::from_utf8(&record).map_err(|_| malformed())?.into();
                let schedule = MovedSchedule { id: own, look_at: at, record: head, template: body };
                return Ok(Self { id, what: What::Schedule(schedule) });
            }
            _ => {}
        }
        let number: usize = state.parse().map_err(|_| malformed())?;
        let state = number.checked_sub(1).and_then(|number| EventState::ALL.get(number));
        let state = *state.ok_or_else(malformed)?;
        let named_until = match until.as_str() {
            "-1" => None,
            until => Some(time(until).map_err(|_| malformed())?),
        };
        let event = MovedEvent { state, state_at: at, named_until, record, head, body };
        Ok(Self { id, what: What::Event(event) })
    }
}
