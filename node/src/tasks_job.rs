//! A task that is being worked on.

use std::cell::RefCell;

use millpond::tasks::{self, Modified};
use millpond::{Async, Error, ErrorKind, Pending, Result};
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::convert::{CallResult, Converted, duration};
use crate::handle::{Handle, lost};
use crate::list::written;
use crate::tasks_entries::Entries;

type Core = tasks::Job<Async>;

/// A job, there until it is left. What is missing here about a method is in the declarations of the
/// package. What ends a job returns what was modified.
#[napi]
pub struct Job(Handle<RefCell<Option<Core>>>);

impl Job {
    pub(crate) fn new(job: Handle<Core>) -> Self {
        let empty = job.with(RefCell::default());
        empty.core.replace(Some(job.core));
        Self(empty)
    }

    fn call<T: Send + 'static>(
        &self,
        number: u32,
        call: impl FnOnce(&Core) -> Pending<T>,
        convert: impl FnOnce(&Env, T) -> Converted + 'static,
    ) -> bool {
        self.0.try_start(number, |job| with(job, call), convert)
    }

    fn end(&self, number: u32, end: impl FnOnce(&Core) -> Pending<Modified>) -> bool {
        self.call(number, end, written)
    }
}

fn with<T>(job: &RefCell<Option<Core>>, call: impl FnOnce(&Core) -> T) -> Result<T> {
    let left = || Error::new(ErrorKind::LeaseLost, "the job was left");
    job.borrow().as_ref().map(call).ok_or_else(left)
}

#[napi]
impl Job {
    /// The task's newest version; null of a job that was left.
    #[napi(getter)]
    pub fn version(&self) -> Option<f64> {
        with(&self.0.core, |job| job.handle().version as f64).ok()
    }

    /// A job that was left is lost as well: stop working.
    #[napi(getter)]
    pub fn is_lost(&self) -> bool {
        with(&self.0.core, Core::is_lost).unwrap_or(true)
    }

    /// Returns whether it was lost, as soon as it is, or has ended otherwise.
    #[napi]
    pub fn lost(&self, number: u32) -> bool {
        let (then, lost) = lost();
        let call = |job: &RefCell<_>| with(job, |job| job.on_lost(then)).map(|()| lost);
        self.0.try_start(number, call, CallResult::bool)
    }

    /// Returns documents.
    #[napi]
    pub fn claim_docs(
        &self,
        number: u32,
        namespace: String,
        key: String,
        wait_ms: Option<f64>,
    ) -> bool {
        let claim = |job: &Core| match wait_ms {
            Some(wait) => job.claim_docs_within(namespace, key, duration(wait)),
            None => job.claim_docs(namespace, key),
        };
        self.call(number, claim, written)
    }

    /// Takes a modification as [`Entries`] reads it.
    #[napi]
    pub fn finish(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let modification = Entries::new(&env, &texts, numbers)?.modification()?;
        Ok(self.end(number, |job| job.finish(modification)))
    }

    /// Deletes the task.
    #[napi]
    pub fn done(&self, number: u32) -> bool {
        self.end(number, Core::done)
    }

    /// What happens to the task when its handler throws an error of this text.
    #[napi]
    pub fn fail(&self, number: u32, err: String) -> bool {
        self.end(number, |job| job.fail(&err))
    }

    /// Schedules another attempt; without a time, after the worker's backoff.
    #[napi]
    pub fn retry(&self, number: u32, err: String, delay_ms: Option<f64>) -> bool {
        self.end(number, |job| match delay_ms {
            Some(delay) => job.retry_after(&err, duration(delay)),
            None => job.retry(&err),
        })
    }

    /// Moves the task to another queue.
    #[napi]
    pub fn move_to(&self, number: u32, queue: String, err: String) -> bool {
        self.end(number, |job| job.move_to(&queue, &err))
    }

    /// Releases the task; without a time, after a short random delay.
    #[napi]
    pub fn release(&self, number: u32, delay_ms: Option<f64>) -> bool {
        self.end(number, |job| match delay_ms {
            Some(delay) => job.release_after(duration(delay)),
            None => job.release(),
        })
    }

    /// Renews it no more.
    #[napi]
    pub fn leave(&self) {
        let job = self.0.core.take();
        drop(job);
    }
}
