//! The loops of a task store: claims, and jobs. The core does the loop; this asks it for what is
//! next.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use millpond::{Async, Result, tasks};
use napi::Env;
use napi::bindgen_prelude::Null;
use napi_derive::napi;

use crate::convert::{CallResult, Converted, Failure};
use crate::handle::Handle;
use crate::list::{List, Push, written};
use crate::tasks_job::Job;

/// A loop of the core's.
trait Source: 'static {
    type Item: 'static;
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Self::Item>>>;
    fn stop_listening(&mut self);
}

impl Source for tasks::Claims<Async> {
    type Item = Vec<tasks::Task>;

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Self::Item>>> {
        pin!(self.next()).poll(context)
    }

    fn stop_listening(&mut self) {
        self.stop_listening();
    }
}

impl Source for tasks::Jobs<Async> {
    type Item = tasks::Job<Async>;

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Self::Item>>> {
        pin!(self.next()).poll(context)
    }

    fn stop_listening(&mut self) {
        self.stop_listening();
    }
}

/// A loop. JavaScript makes one request at a time.
struct Loop<S: Source>(Rc<Slot<S>>);

type Slot<S> = Handle<RefCell<State<S>>>;

struct State<S: Source> {
    /// Nothing when the loop was left.
    source: Option<S>,
    /// What the core has returned and JavaScript has not received yet. The caller may have given
    /// up in between; then it waits here for the next request.
    unread: Option<Result<S::Item>>,
}

impl<S: Source> State<S> {
    /// Asks the core, if there is nothing to read yet; if there is nothing then, the loop is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if let (None, Some(source)) = (&self.unread, &mut self.source) {
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
    fn new(source: Handle<S>) -> Self {
        let empty = source.with(());
        let state = State { source: Some(source.core), unread: None };
        Self(Rc::new(empty.with(RefCell::new(state))))
    }

    fn next(
        &self,
        number: u32,
        convert: impl FnOnce(&Env, S::Item) -> Converted + 'static,
    ) -> bool {
        let (slot, asking) = (self.0.clone(), Asking(self.0.clone()));
        let next = poll_fn(move |context| asking.0.core.borrow_mut().poll(context));
        let result = move |env: &Env, ()| {
            let unread = slot.core.borrow_mut().unread.take();
            match unread {
                Some(item) => convert(env, item.map_err(Failure::Core)?),
                None => CallResult::value(env, Null),
            }
        };
        self.0.start(number, |_| next, result)
    }

    fn end(&self) {
        let mut state = self.0.core.borrow_mut();
        let left = (state.source.take(), state.unread.take());
        drop(state);
        drop(left);
    }
}

/// The loop of claims.
#[napi]
pub struct Claims(Loop<tasks::Claims<Async>>);

impl Claims {
    pub(crate) fn new(claims: Handle<tasks::Claims<Async>>) -> Self {
        Self(Loop::new(claims))
    }
}

#[napi]
impl Claims {
    /// Returns tasks, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        self.0.next(number, written)
    }

    /// Drops everything that no caller has received.
    #[napi]
    pub fn end(&self) {
        self.0.end();
    }
}

/// The jobs of a worker.
#[napi]
pub struct Jobs(Loop<tasks::Jobs<Async>>);

impl Jobs {
    pub(crate) fn new(jobs: Handle<tasks::Jobs<Async>>) -> Self {
        Self(Loop::new(jobs))
    }
}

#[napi]
impl Jobs {
    /// Returns a task and its job, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        let handle = self.0.0.with(());
        self.0.next(number, move |env, job| {
            let mut list = List::new(env)?;
            job.task().push(&mut list)?;
            list.value(Job::new(handle.with(job)))?;
            list.finish()
        })
    }

    /// Drops everything that no caller has received.
    #[napi]
    pub fn end(&self) {
        self.0.end();
    }
}
