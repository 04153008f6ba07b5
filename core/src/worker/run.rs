//! The public run of a worker, for a program's own loop.

#![allow(
    private_bounds,
    private_interfaces,
    reason = "queues are those of this crate: what they give is not public"
)]

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::driver::{Driver, Item, Place};
use super::failure::{Failure, Outcome};
use super::job::Job;
use super::machine::Plan;
use super::queue::Queue;
use super::report::{JobCounts, RunEvent};
use super::stop::Stop;
use crate::client::{Async, Blocking, Mode};
use crate::error::{Result, invalid};

/// The jobs of a worker, for a loop of your own in place of [`Worker::run`](super::handle::Worker::run); made by
/// [`Worker::start`](super::handle::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of
/// threads or tasks, and reports their outcomes.
pub struct Run<Q: Queue<Mode = M>, M: Mode>(Arc<Driver<Q>>);

impl<Q: Queue<Mode = M>, M: Mode> Run<Q, M> {
    pub(super) fn begin(queue: Q, options: &Q::Options, plan: Plan, stop: &Stop) -> Self {
        let takes = queue.takes(options, &plan);
        let driver = Driver::new(Arc::new(queue), takes, plan);
        stop.begin(&driver);
        Self(driver)
    }

    /// How many jobs it hands out at a time, as the worker's `concurrency` says.
    pub fn concurrency(&self) -> usize {
        self.0.plan().concurrency
    }

    /// How many of its jobs have ended so far, and how.
    pub fn counts(&self) -> JobCounts {
        self.0.counts()
    }

    /// Ends a job of this run with the outcome of its handler, and returns immediately; the result is reported. Does
    /// nothing for a job that the run has given back, or that the handler has ended itself.
    ///
    /// - `Ok`: the job is done. A task is deleted, and a modification that the handler returned is applied with it in
    ///   one step, to the newest versions of the task and of the documents that the job holds; if it changes the task,
    ///   the task is not deleted. A message is acknowledged, and deleted if the worker is set to do so. An event is
    ///   deleted.
    /// - `Err(failure)`: the job ends as the [`Failure`] says. A job that is tried again is delayed by the backoff, and
    ///   put aside after its last attempt. A task or an event that was cancelled is deleted after any failure.
    ///
    /// A modification that is invalid, or refused because something that it depends on has changed, is a failure of the
    /// handler: the task is given back immediately, and no attempt is counted if only documents had changed.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a job that is not from this run, and `FORKED` in the child of a fork.
    ///
    /// # Delivery
    /// If the connection fails, the end is sent again while the lease lasts.
    pub fn end(&self, job: &Job<Q>, outcome: std::result::Result<Q::Done, Failure>) -> Result<()> {
        job.check_process()?;
        match &job.place {
            Some(place) if Arc::ptr_eq(&place.driver, &self.0) => {
                self.0.end(place.number, &job.core, outcome);
                Ok(())
            }
            _ => Err(invalid("the job is not from this run")),
        }
    }

    fn event(&self, item: Item<Q>) -> RunEvent<Job<Q>> {
        match item {
            Item::Job(number, job) => {
                let place = Place { driver: self.0.clone(), number };
                RunEvent::Job(Job::new(job, Some(place), self.0.plan().timeout))
            }
            Item::Report(report) => RunEvent::Report(report.map(|job| Job::new(job, None, None))),
        }
    }
}

impl<Q: Queue<Mode = Blocking>> Run<Q, Blocking> {
    /// The next job or report; `None` when the run is over. The call waits while there is no job, and while
    /// `concurrency` jobs are running. Any number of threads may wait here.
    ///
    /// # Errors
    /// The non-retryable error that ended the run, for one of the callers; `CANCELLED` for an interrupt, after which
    /// the run continues.
    pub fn next(&self) -> Result<Option<RunEvent<Job<Q>>>> {
        Ok(self.0.next()?.map(|next| self.event(next)))
    }

    /// Ends a job as its handler says.
    pub(super) fn work<R: Outcome<Q::Done>>(
        &self,
        job: Job<Q>,
        handler: impl FnOnce(&Job<Q>) -> R,
    ) {
        // It is a job of this run, so only the child of a fork is refused.
        drop(self.end(&job, handler(&job).outcome()));
    }
}

impl<Q: Queue<Mode = Async>> Run<Q, Async> {
    /// The next job or report; `None` when the run is over. The call is pending while there is no job, and while
    /// `concurrency` jobs are running.
    ///
    /// # Errors
    /// The non-retryable error that ended the run, for one of the callers.
    pub async fn next(&self) -> Result<Option<RunEvent<Job<Q>>>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// [`next`](Self::next) for a future written by hand.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Result<Option<RunEvent<Job<Q>>>>> {
        let next = ready!(self.0.poll_next(context))?;
        Poll::Ready(Ok(next.map(|next| self.event(next))))
    }

    /// Ends a job as the future of its handler says, or as one that took too long or was lost.
    pub(super) async fn work<R: Outcome<Q::Done>>(
        &self,
        job: Job<Q>,
        handler: impl AsyncFnOnce(&Job<Q>) -> R,
    ) {
        let outcome = job.within(handler(&job)).await.and_then(Outcome::outcome);
        drop(self.end(&job, outcome));
    }
}

impl<Q: Queue<Mode = M>, M: Mode> Clone for Run<Q, M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q: Queue<Mode = M>, M: Mode> fmt::Debug for Run<Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}
