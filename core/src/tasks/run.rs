//! A run of a worker: its jobs, and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use super::claims::ClaimSource;
use super::held::HeldTask;
use super::job::JobCore;
use super::jobs::Takes;
use super::modify_many::MODIFICATIONS_MAX;
use super::worker::{Options, check_backoff};
use super::{Modification, Modify, ModifyMany, Task, TaskChange, TaskStore};
use crate::client::Mode;
use crate::error::{Error, ErrorKind, Result, Retry, invalid};
use crate::worker::end::{self as worker, End, Failed};
use crate::worker::groups::Groups;
use crate::worker::lease::{Lease, check_length};
use crate::worker::machine::{Ended, Plan, Sending};
use crate::worker::poll_loop::PollLoop;
use crate::worker::queue::{Queue, Sent, Workable};
use crate::worker::report::ReportKind;

/// A modification above this many entries or bytes is sent alone.
const LARGE_ENTRIES: usize = 100;
const LARGE_BYTES: usize = 64 << 10;

/// The jobs of a task store, as a run sees them.
#[derive(Clone)]
#[doc(hidden)]
pub struct Tasks<M: Mode> {
    pub(super) store: TaskStore<M>,
    /// The queues of the worker, or why there are none.
    pub(super) queues: Result<Vec<Arc<str>>, Arc<str>>,
}

impl<M: Mode> Tasks<M> {
    /// Claims as these options say, for a caller that was checked.
    pub(super) fn claims(
        &self,
        Options { policy, .. }: &Options,
        wait: Option<Duration>,
        checked: Result<()>,
    ) -> Takes<M> {
        let queues = self.queues.clone().map_err(|message| invalid(&*message));
        let queues = check_length(policy.lease).and(queues);
        let queues = check_backoff(policy).and(checked).and(queues);
        let claims = ClaimSource::new(self.store.clone(), queues, policy.lease);
        Takes::new(claims, Arc::new(policy.clone()), wait)
    }
}

/// The end of a task, ready to be sent.
type Ending<M> = worker::Ending<Tasks<M>>;

/// What a job ends with.
struct Said {
    modification: Modification,
    told: (ReportKind, String),
    /// Why the job cannot end as its handler said.
    refused: Option<Error>,
}

impl Said {
    fn of<M: Mode>(job: &JobCore<M>, kept: &HeldTask, end: End<Option<Modification>>) -> Self {
        let (task, told) = (&job.task, end.told());
        match end {
            End::Done(modification) => Self::new(told, modification.unwrap_or_default()),
            End::GivenBack => Self::changed(told, task.change()),
            // The job is no longer worked on, and perhaps no other worker has it.
            End::Released(_) if job.lease.is_lost() => {
                Self::changed((ReportKind::Lost, String::new()), task.change())
            }
            _ if kept.is_cancelled => {
                Self::new((ReportKind::Cancelled, String::new()), Modification::new())
            }
            End::Released(delay) => Self::changed(told, task.change().after(delay)),
            End::Moved(queue, err) => Self::changed(told, task.change().retry(&err).queue(&queue)),
            End::Dead(err) => Self::failed(job, job.policy.rejected(task, &err), err),
            End::Failed(Failed { err, is_error: true, .. }) => {
                Self::failed(job, job.failed(&err), err)
            }
            End::Failed(Failed { err, delay, .. }) => {
                Self::failed(job, job.retried(&err, delay), err)
            }
        }
    }

    fn new(told: (ReportKind, String), modification: Modification) -> Self {
        Self { modification, told, refused: None }
    }

    fn changed(told: (ReportKind, String), change: TaskChange) -> Self {
        Self::new(told, Modification::new().change(change))
    }

    /// A failure is tried again or put aside; if documents were held by others, it is not a failure.
    fn failed<M: Mode>(job: &JobCore<M>, change: TaskChange, err: String) -> Self {
        let told = match (change.queue != job.task.queue, change.attempt == job.task.attempt) {
            (true, _) => (ReportKind::Dead, format!("into {}: {}", change.queue, change.err)),
            (_, true) => (ReportKind::Released, err),
            _ => (ReportKind::Retried, err),
        };
        Self::changed(told, change)
    }

    fn refused<M: Mode>(job: &JobCore<M>, refused: Error) -> Self {
        let err = refused.to_string();
        let mut said = Self::failed(job, job.failed(&err), err);
        if said.told.0 == ReportKind::Retried {
            said.told.0 = ReportKind::Refused;
        }
        Self { refused: Some(refused), ..said }
    }

    /// This end; an invalid modification is a failure of the handler.
    fn ending<M: Mode>(self, job: Arc<JobCore<M>>, kept: HeldTask) -> Ending<M> {
        let Self { modification, told, refused } = self;
        match job.end_step(kept.clone(), modification) {
            Ok(step) => Ending { refused, ..Ending::new(job, step, told) },
            Err(error) if refused.is_none() => Self::refused(&job, error).ending(job, kept),
            // Even the error queue's name is invalid.
            Err(_) => Self { refused, ..Self::changed(told, job.put_off()) }.ending(job, kept),
        }
    }
}

impl<M: Mode> Workable for Tasks<M> {
    type Done = Option<Modification>;
}

impl<M: Mode> Queue for Tasks<M> {
    type Mode = M;
    type Options = Options;
    type Source = Takes<M>;
    type Core = JobCore<M>;
    type Kept = HeldTask;
    type Step = Modify;
    type Settled = ();
    const ENDS_MAX: usize = MODIFICATIONS_MAX;

    fn lease_length(options: &Options) -> Duration {
        options.policy.lease
    }

    fn takes(&self, options: &Options, plan: &Plan) -> PollLoop<Takes<M>> {
        let wait = (!plan.drains).then_some(Duration::MAX);
        self.claims(options, None, Ok(())).waiting(wait)
    }

    fn name(job: &JobCore<M>) -> String {
        let Task { id, queue, .. } = &job.task;
        format!("task {id} of queue {queue}")
    }

    fn lease(job: &JobCore<M>) -> &Arc<Lease<M, HeldTask>> {
        &job.lease
    }

    fn is_suspect(job: &JobCore<M>) -> bool {
        job.suspect.is_some()
    }

    fn begin(
        self: &Arc<Self>,
        job: &Arc<JobCore<M>>,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        job.begin(then);
    }

    fn is_ended(job: &JobCore<M>) -> bool {
        job.is_ended()
    }

    fn ending(job: Arc<JobCore<M>>, kept: HeldTask, end: End<Option<Modification>>) -> Ending<M> {
        Said::of(&job, &kept, end).ending(job, kept)
    }

    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<Ending<M>>>,
        done: impl FnOnce(Vec<Sent<Self>>) + Send + 'static,
    ) {
        let (small, large): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|sending| is_small(&sending.end.step));
        let groups = large.into_iter().map(|end| vec![end]).chain([small]);
        let groups: Vec<_> = groups.filter(|group| !group.is_empty()).collect();
        let all = Groups::new(Vec::new(), groups.len(), done);
        groups.into_iter().for_each(|group| self.send_group(group, all.clone()));
    }

    fn ended(
        self: &Arc<Self>,
        mut ending: Ending<M>,
        result: Result<()>,
        is_unsure: bool,
    ) -> Ended<Self> {
        let job = ending.job.clone();
        job.ended(&result);
        let is_gone = job.lease.is_gone();
        let Err(error) = result else { return ending.done() };
        let is_refusal = matches!(error.kind(), ErrorKind::Dependency | ErrorKind::InvalidArgument);
        let is_taken = job.is_refused(&error);
        if is_unsure && !is_gone && is_taken {
            // No other claimant can have changed it, so it was this end, whose result was lost.
            job.ended(&Ok(()));
            return ending.done();
        }
        // A job that is given back is lost only to its handler, and has not failed.
        let is_final = ending.refused.is_some() || job.lease.is_lost() || is_taken;
        if is_gone || (is_refusal && is_final) {
            let error = ending.refused.take().unwrap_or_else(|| job.lease_lost(error));
            return ending.lost(error);
        }
        if is_refusal {
            // Documents that have changed are a conflict, which `ended` has recorded.
            let kept = job.lease.lock().held.clone();
            return Ended::Instead(Said::refused(&job, error).ending(job, kept));
        }
        match error.retry() {
            Retry::Never => ending.lost(error),
            _ => Ended::Again(ending, error),
        }
    }
}

impl<M: Mode> Tasks<M> {
    /// Sends a group in one step.
    fn send_group(&self, group: Vec<Sending<Ending<M>>>, all: Arc<Groups<Sending<Ending<M>>>>) {
        let mut steps: Vec<_> = group.iter().map(|sending| sending.end.step.clone()).collect();
        match steps.pop() {
            Some(step) if steps.is_empty() => {
                self.store.client.submit(Ok(step), move |result| {
                    all.add_each(group.into_iter().zip([result.map(drop)]));
                });
            }
            last => {
                steps.extend(last);
                self.store.client.submit(ModifyMany::new(steps), move |result| match result {
                    Ok(each) => {
                        let each = each.into_iter().map(|each| each.map(drop));
                        all.add_each(group.into_iter().zip(each));
                    }
                    Err(error) => all.add(group, Err(error)),
                });
            }
        }
    }
}

fn is_small(step: &Modify) -> bool {
    let modification = step.modification();
    modification.len() <= LARGE_ENTRIES && modification.bytes() <= LARGE_BYTES
}
