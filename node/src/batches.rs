//! The loop of a consumer. The core does the loop; this asks it for the next batch.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use millpond::ick::Batch;
use millpond::{Async, Pending, Result, ick};
use napi::Env;
use napi::bindgen_prelude::Null;
use napi_derive::napi;

use crate::convert::{self, CallResult, Failure, duration};
use crate::handle::Handle;

type Loop = ick::Batches<Async>;

/// A loop. JavaScript asks for one batch at a time.
#[napi]
pub struct Batches(Rc<Slot>);

type Slot = Handle<RefCell<State>>;

#[derive(Default)]
struct State {
    /// The core's batches, until one of them cannot be converted: no caller has received that
    /// one, so it must not be committed by asking for the next.
    batches: Option<Loop>,
    /// What the core has returned and JavaScript has not received yet. The caller may have given
    /// up in between; then it waits here for the next request.
    unread: Option<Result<Batch>>,
}

impl State {
    /// Whether there is something to read; if not, the loop is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<bool>> {
        if let (None, Some(batches)) = (&self.unread, &mut self.batches) {
            self.unread = ready!(pin!(batches.next()).poll(context));
        }
        Poll::Ready(Ok(self.unread.is_some()))
    }

    /// Commits the batch that JavaScript received last. If there is an unread one, asking for
    /// that has committed the one before it.
    fn commit(&mut self) -> Option<Pending<u64>> {
        match self.unread {
            Some(Ok(_)) => None,
            _ => self.batches.as_mut().map(Loop::commit),
        }
    }
}

/// A request for a batch. When it is dropped its result is left to the next request.
struct Asking(Rc<Slot>);

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(batches) = &mut self.0.core.borrow_mut().batches {
            batches.stop_listening();
        }
    }
}

impl Batches {
    pub(crate) fn new(batches: Handle<Loop>, wait_ms: Option<f64>) -> Self {
        let empty = batches.with(RefCell::<State>::default());
        empty.core.borrow_mut().batches = Some(match wait_ms {
            Some(wait) => batches.core.wait(duration(wait)),
            None => batches.core,
        });
        Self(Rc::new(empty))
    }
}

#[napi]
impl Batches {
    /// Returns `[member, score, …]`, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        let (text, slot, asking) = (self.0.text, self.0.clone(), Asking(self.0.clone()));
        let next = poll_fn(move |context| asking.0.core.borrow_mut().poll(context));
        let entries = move |env: &Env, _| {
            let mut state = slot.core.borrow_mut();
            let Some(batch) = state.unread.take() else { return CallResult::value(env, Null) };
            let batch = batch.map_err(Failure::Core)?;
            convert::entries(env, &batch, text).inspect_err(|_| state.batches = None)
        };
        self.0.start(number, |_| next, entries)
    }

    /// Commits the last batch, for a loop that is left before its end. Returns a count.
    #[napi]
    pub fn commit(&self, number: u32) -> bool {
        let commit = |state: &RefCell<State>| {
            let mut commit = state.borrow_mut().commit();
            poll_fn(move |context| match &mut commit {
                Some(commit) => Pin::new(commit).poll(context),
                None => Poll::Ready(Result::Ok(0)),
            })
        };
        self.0.start(number, commit, CallResult::count)
    }
}
