//! What queues of events have beside what follows from the core's methods; see `generated/handles.rs`.

use std::sync::Arc;

use millpond::events::{
    self, Cancelled, DeadReason, EventId, EventState, Held, NewEvent, PutStatus, Receipt, Redriven,
    Rescheduled, Schedule, Settled, Status,
};
use millpond::step::ByteList;
use millpond::{Async, Error, ErrorKind, Result};
use napi_derive::napi;

use crate::convert::unexpected;
use crate::entries::{Entries, Reader};
use crate::handle::Lease;
use crate::handles::EventQueue;
use crate::list::{Done, List, Push, written};
use crate::worker::EventWorker;

#[napi]
impl EventQueue {
    /// A worker, whose options are steps.
    #[napi]
    pub fn worker(&self, options: Entries) -> napi::Result<EventWorker> {
        let worker = options.reader().event_worker(self.0.core.worker())?;
        Ok(EventWorker(self.0.with(worker)))
    }

    /// [`publish_call`](events::EventQueue::publish_call) of one event.
    #[napi]
    pub fn publish_call(&self, number: u32, event: Entries) -> napi::Result<bool> {
        let event = event.reader().events()?.remove(0);
        let call = |core: &events::EventQueue<Async>| Ok(core.publish_call(event));
        Ok(self.0.start(number, call, written))
    }
}

impl Lease for events::Job<Async> {
    const OVER: &'static str = "the job has ended";

    fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.on_lost(then);
    }
}

/// Deliveries, of which each has an id and a token.
pub(crate) fn receipts(parts: &ByteList) -> Result<Vec<Receipt>> {
    let parts: Vec<_> = parts.iter().collect();
    let receipt = |part: &[&[u8]]| {
        let token = part[1].try_into();
        let wrong = |what| Error::new(ErrorKind::InvalidArgument, what);
        let id =
            std::str::from_utf8(part[0]).map_err(|_| wrong("an id of an event is no UTF-8"))?;
        Ok(Receipt { id: id.parse()?, token: token.map_err(|_| wrong("a token has 8 bytes"))? })
    };
    parts.chunks_exact(2).map(receipt).collect()
}

pub(crate) fn event_ids(ids: &[String]) -> Result<Vec<EventId>> {
    ids.iter().map(|id| id.parse()).collect()
}

impl Reader<'_> {
    /// How many events there are, and of each its payload and its options.
    pub(crate) fn events(&mut self) -> napi::Result<Vec<NewEvent>> {
        let count = self.count()?;
        let event = |_| {
            let event = NewEvent::new(self.bytes()?);
            self.new_event(event)
        };
        (0..count).map(event).collect()
    }

    /// How many schedules there are, and of each its id and its options.
    pub(crate) fn schedules(&mut self) -> napi::Result<Vec<Schedule>> {
        let count = self.count()?;
        let schedule = |_| {
            let schedule = Schedule::new(self.text()?);
            self.schedule(schedule)
        };
        (0..count).map(schedule).collect()
    }

    pub(crate) fn event_id(&mut self) -> napi::Result<EventId> {
        self.text()?.parse().map_err(|_| unexpected("an id that is none"))
    }
}

macro_rules! names {
    ($($name:ident),+) => {
        $(impl Push for $name {
            fn push(&self, list: &mut List<'_>) -> Done {
                list.value(self.name())
            }
        })+
    };
}

names!(Cancelled, DeadReason, EventState, Held, PutStatus, Redriven, Rescheduled, Settled, Status);

impl Push for EventId {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.value(self.to_string())
    }
}

impl Push for Arc<[u8]> {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.buffer(self)
    }
}

impl Push for events::Token {
    fn push(&self, list: &mut List<'_>) -> Done {
        list.buffer(self)
    }
}
