//! The loops of consumers. The core does the loop; this asks it for what is next.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use millpond::{Async, Result, events, ick, recruiter, shuffle, tasks};
use napi::Env;
use napi::bindgen_prelude::Null;
use napi_derive::napi;

use crate::convert::{CallResult, Converted, Failure, entries};
use crate::handle::Handle;
use crate::handles::{Job, Slice};
use crate::list::{List, Push, written, written_bytes, written_text};

/// A loop of the core's.
pub(crate) trait Source: 'static {
    type Item: 'static;
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Self::Item>>>;
    fn stop_listening(&mut self);
}

macro_rules! source {
    ($source:ty, $item:ty, $stop:expr) => {
        impl Source for $source {
            type Item = $item;

            fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Self::Item>>> {
                pin!(self.next()).poll(context)
            }

            fn stop_listening(&mut self) {
                $stop(self)
            }
        }
    };
}

source!(ick::Batches<Async>, ick::Batch, Self::stop_listening);
source!(shuffle::Messages<Async>, Vec<shuffle::Message>, Self::stop_listening);
source!(shuffle::Garbage<Async>, Vec<Vec<u8>>, |_| {});
source!(tasks::Claims<Async>, Vec<tasks::Task>, Self::stop_listening);
source!(events::Deliveries<Async>, Vec<events::Event>, Self::stop_listening);
source!(tasks::Jobs<Async>, tasks::Job<Async>, Self::stop_listening);
source!(recruiter::Slices<Async>, recruiter::Slice<Async>, Self::stop_listening);

/// A loop. JavaScript makes one request at a time.
pub(crate) struct Loop<S: Source>(Rc<Slot<S>>);

type Slot<S> = Handle<RefCell<State<S>>>;

struct State<S: Source> {
    /// Nothing when the loop was left.
    source: Option<S>,
    /// What the core has returned and JavaScript has not received yet. The caller may have given
    /// up in between; then it waits here for the next request.
    unread: Option<Result<S::Item>>,
    /// Set by what cannot be converted: no caller has received it, so it must not be done with by asking for
    /// the next.
    is_over: bool,
}

impl<S: Source> State<S> {
    /// Asks the core, if there is nothing to read yet; if there is nothing then, the loop is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if let (None, false, Some(source)) = (&self.unread, self.is_over, &mut self.source) {
            self.unread = ready!(source.poll(context));
        }
        Poll::Ready(Ok(()))
    }
}

/// A request. When it is dropped its result is left to the next one.
struct Asking<S: Source>(Rc<Slot<S>>);

/// A listening loop may consume the notification that another waiting loop needs.
impl<S: Source> Drop for Asking<S> {
    fn drop(&mut self) {
        if let Some(source) = &mut self.0.core.borrow_mut().source {
            source.stop_listening();
        }
    }
}

impl<S: Source> Loop<S> {
    pub(crate) fn new(source: Handle<S>) -> Self {
        let empty = source.with(());
        let state = State { source: Some(source.core), unread: None, is_over: false };
        Self(Rc::new(empty.with(RefCell::new(state))))
    }

    fn next(
        &self,
        number: u32,
        convert: impl FnOnce(&Env, bool, S::Item) -> Converted + 'static,
    ) -> bool {
        let (slot, asking) = (self.0.clone(), Asking(self.0.clone()));
        let next = poll_fn(move |context| asking.0.core.borrow_mut().poll(context));
        let result = move |env: &Env, text, ()| {
            let unread = slot.core.borrow_mut().unread.take();
            let Some(item) = unread else { return CallResult::value(env, Null) };
            let converted = convert(env, text, item.map_err(Failure::Core)?);
            converted.inspect_err(|_| slot.core.borrow_mut().is_over = true)
        };
        self.0.start(number, |_| Ok(next), result)
    }

    /// Drops everything that no caller has received.
    fn end(&self) {
        let mut state = self.0.core.borrow_mut();
        let left = (state.source.take(), state.unread.take());
        drop(state);
        drop(left);
    }
}

/// The loop of a consumer of Icks.
#[napi]
pub struct Batches(pub(crate) Loop<ick::Batches<Async>>);

#[napi]
impl Batches {
    /// Returns `[member, score, …]`, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        self.0.next(number, entries)
    }

    /// Commits the last batch, for a loop that is left before its end. If there is an unread one, asking for
    /// that has committed the one before it. Returns a count.
    #[napi]
    pub fn commit(&self, number: u32) -> bool {
        let commit = |state: &RefCell<State<ick::Batches<Async>>>| {
            let mut state = state.borrow_mut();
            let is_done = state.is_over || matches!(state.unread, Some(Ok(_)));
            let mut commit = state.source.as_mut().filter(|_| !is_done).map(ick::Batches::commit);
            Ok(poll_fn(move |context| match &mut commit {
                Some(commit) => Pin::new(commit).poll(context),
                None => Poll::Ready(Ok(0_u64)),
            }))
        };
        self.0.0.start(number, commit, CallResult::count)
    }
}

/// The loop of a consumer of a shuffle queue.
#[napi]
pub struct Messages(pub(crate) Loop<shuffle::Messages<Async>>);

#[napi]
impl Messages {
    /// Returns messages, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        self.0.next(number, written_bytes)
    }
}

/// A collection.
#[napi]
pub struct Garbage(pub(crate) Loop<shuffle::Garbage<Async>>);

#[napi]
impl Garbage {
    /// How many entries were scanned.
    #[napi(getter)]
    pub fn scanned(&self) -> f64 {
        self.0.0.core.borrow().source.as_ref().map_or(0, shuffle::Garbage::scanned) as f64
    }

    /// How many records were deleted.
    #[napi(getter)]
    pub fn deleted(&self) -> f64 {
        self.0.0.core.borrow().source.as_ref().map_or(0, shuffle::Garbage::deleted) as f64
    }

    /// Returns values, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        self.0.next(number, written_text)
    }
}

/// The loop of a consumer of events.
#[napi]
pub struct Deliveries(pub(crate) Loop<events::Deliveries<Async>>);

#[napi]
impl Deliveries {
    /// Returns events, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        self.0.next(number, written)
    }

    /// Ends the loop.
    #[napi]
    pub fn end(&self) {
        self.0.end();
    }
}

/// The loop of claims.
#[napi]
pub struct Claims(pub(crate) Loop<tasks::Claims<Async>>);

#[napi]
impl Claims {
    /// Returns tasks, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        self.0.next(number, written)
    }

    /// Ends the loop.
    #[napi]
    pub fn end(&self) {
        self.0.end();
    }
}

/// The jobs of a worker.
#[napi]
pub struct Jobs(pub(crate) Loop<tasks::Jobs<Async>>);

#[napi]
impl Jobs {
    /// Returns a task and its job, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        let handle = self.0.0.with(());
        self.0.next(number, move |env, _, job| {
            let mut list = List::new(env)?;
            job.task().push(&mut list)?;
            list.value(Job::new(handle.with(job)))?;
            list.finish()
        })
    }

    /// Ends the loop.
    #[napi]
    pub fn end(&self) {
        self.0.end();
    }
}

/// The slices of a recruiter that runs.
#[napi]
pub struct Slices(pub(crate) Loop<recruiter::Slices<Async>>);

#[napi]
impl Slices {
    /// Returns a slice, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        let handle = self.0.0.with(());
        let convert =
            move |env: &Env, _, slice| CallResult::value(env, Slice::new(handle.with(slice)));
        self.0.next(number, convert)
    }

    /// Ends the loop.
    #[napi]
    pub fn end(&self) {
        self.0.end();
    }
}
