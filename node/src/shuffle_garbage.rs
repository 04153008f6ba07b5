//! The collection of what is recorded of tracked messages. The core does the loop; this asks it
//! for the next batch.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use millpond::{Async, Result, shuffle};
use napi::Env;
use napi_derive::napi;

use crate::convert::Failure;
use crate::handle::Handle;
use crate::shuffle_convert as shuffled;

type Loop = shuffle::Garbage<Async>;

/// A collection. JavaScript asks for one batch at a time.
#[napi]
pub struct Garbage(Rc<Handle<RefCell<State>>>);

struct State {
    garbage: Loop,
    /// What the core has returned and JavaScript has not received yet. The caller may have given
    /// up in between; then it waits here for the next request, since asking the core would delete
    /// it.
    unread: Option<Result<Vec<Vec<u8>>>>,
    /// Set by a batch that cannot be converted: no caller has received it, so it must not be
    /// deleted.
    is_over: bool,
}

impl State {
    /// Asks the core, if there is nothing to read yet; if there is nothing then, the loop is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.unread.is_none() && !self.is_over {
            let polled = pin!(self.garbage.next()).poll(context);
            self.unread = ready!(polled);
        }
        Poll::Ready(Ok(()))
    }
}

impl Garbage {
    pub(crate) fn new(garbage: Handle<Loop>) -> Self {
        let empty = garbage.with(());
        let state = State { garbage: garbage.core, unread: None, is_over: false };
        Self(Rc::new(empty.with(RefCell::new(state))))
    }
}

#[napi]
impl Garbage {
    /// How many entries were scanned.
    #[napi(getter)]
    pub fn scanned(&self) -> f64 {
        self.0.core.borrow().garbage.scanned() as f64
    }

    /// How many records were deleted.
    #[napi(getter)]
    pub fn deleted(&self) -> f64 {
        self.0.core.borrow().garbage.deleted() as f64
    }

    /// Returns values, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        let (text, slot, asking) = (self.0.text, self.0.clone(), self.0.clone());
        let next = poll_fn(move |context| asking.core.borrow_mut().poll(context));
        let values = move |env: &Env, ()| {
            let mut state = slot.core.borrow_mut();
            let Some(batch) = state.unread.take() else { return shuffled::nothing(env) };
            let batch = batch.map_err(Failure::Core)?;
            let list = shuffled::texts(env, &batch, text);
            list.inspect_err(|_| state.is_over = true)
        };
        self.0.start(number, |_| next, values)
    }
}
