//! The interface of a queue for its workers: how jobs are taken, kept and ended.

use std::sync::Arc;
use std::time::Duration;

use super::end::{End, Ending, report};
use super::lease::{Held, Lease};
use super::machine::{Batch, Ended, Plan, Sending, Work};
use super::poll_loop::{PollLoop, Source};
use super::report::{Report, ReportKind};
use crate::client::Mode;
use crate::error::Result;

/// The report on an end that could not be sent by the time the worker had to stop.
const UNSENT: &str = "no reply arrived before the worker had to stop; the job is delivered again, unless it was done";

/// The report on an end of a handler that took longer than its timeout.
const LATE: &str = "its handler ended after the timeout, which had counted as a failure";

/// What a worker works on: the tasks of some queues, the messages of a consumer, or the events of a queue.
pub trait Workable {
    /// The result of a successful handler: nothing, or for tasks a modification.
    type Done: Send + 'static;
}

/// A queue as a run sees it.
pub(crate) trait Queue: Workable + Clone + Send + Sync + 'static {
    type Mode: Mode;
    /// The settings of a worker of this queue, in addition to those of all workers.
    type Options: Clone + Send + Sync + 'static;
    /// Takes jobs.
    type Source: Source<Mode = Self::Mode, Item = Batch<Arc<Self::Core>>> + Room + Send;
    /// The core of a job: the taken item, and its lease.
    type Core: Send + Sync + 'static;
    /// The leased item, at its newest version.
    type Kept: Held;
    /// The part of a step that ends one job.
    type Step: Send + 'static;
    /// The result of the step for that job.
    type Settled: Send + 'static;

    /// The most ends of one step.
    const ENDS_MAX: usize;

    /// How long a job is leased.
    fn lease_length(options: &Self::Options) -> Duration;

    /// The loop that takes jobs.
    fn takes(&self, options: &Self::Options, plan: &Plan) -> PollLoop<Self::Source>;

    /// The name of the job in a report.
    fn name(job: &Self::Core) -> String;

    fn lease(job: &Self::Core) -> &Arc<Lease<Self::Mode, Self::Kept>>;

    /// Whether the job is a suspect.
    fn is_suspect(job: &Self::Core) -> bool;

    /// Records that a suspect begins, and calls back; an error is retryable, or says that the job is lost. Before that,
    /// the expiry of its lease is not counted as a crash, since the job cannot have ended the process.
    fn begin(
        self: &Arc<Self>,
        job: &Arc<Self::Core>,
        then: impl FnOnce(Result<()>) + Send + 'static,
    );

    /// Whether its handler ended the job itself.
    fn is_ended(_: &Self::Core) -> bool {
        false
    }

    /// The end of a job whose lease is no longer renewed.
    fn ending(job: Arc<Self::Core>, kept: Self::Kept, end: End<Self::Done>) -> Ending<Self>;

    /// Sends ends, and calls back with the result of each.
    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<Ending<Self>>>,
        done: impl FnOnce(Vec<Sent<Self>>) + Send + 'static,
    );

    /// What the result of an end means; if `is_unsure`, the end may have taken effect before this result.
    fn ended(
        self: &Arc<Self>,
        ending: Ending<Self>,
        result: Result<Self::Settled>,
        is_unsure: bool,
    ) -> Ended<Self>;

    /// The run is over and holds nothing: does the final work, then calls back.
    fn depart(&self, done: impl FnOnce() + Send + 'static) {
        done();
    }
}

/// An end that was sent, and its result.
pub(crate) type Sent<Q> = (Sending<Ending<Q>>, Result<<Q as Queue>::Settled>);

/// Takes up to as many jobs as there is room for.
pub(crate) trait Room {
    fn set_room(&mut self, room: usize);
}

impl<Q: Queue> Work for Q {
    type Job = Arc<Q::Core>;
    type Ending = Ending<Q>;
    const ENDS_MAX: usize = Q::ENDS_MAX;

    fn is_suspect(job: &Arc<Q::Core>) -> bool {
        Q::is_suspect(job)
    }

    fn is_ended(job: &Arc<Q::Core>) -> bool {
        Q::is_ended(job)
    }

    fn unsent(ending: Ending<Q>) -> Report<Arc<Q::Core>> {
        report::<Q>(ReportKind::Lost, ending.job, UNSENT, None)
    }

    fn late(job: Arc<Q::Core>) -> Report<Arc<Q::Core>> {
        report::<Q>(ReportKind::Lost, job, LATE, None)
    }
}
