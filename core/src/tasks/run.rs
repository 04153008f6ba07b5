//! A run of a worker: its jobs, and what becomes of them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::held::HeldTask;
use super::job::JobCore;
use super::jobs::Takes;
use super::modify_many::MODIFICATIONS_MAX;
use super::worker::RELEASE_DELAY_DEFAULT;
use super::{Job, Modification, Modify, ModifyMany, Task, TaskChange};
use crate::client::{Client, Mode};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::runtime::backoff::with_jitter;
use crate::worker::failure::Failure;
use crate::worker::groups::Groups;
use crate::worker::lease::Contact;
use crate::worker::report::{Report, ReportKind};
use crate::worker::run::{self, Ended, Plan, Queue, Sending, Work, runs};
use crate::worker::settings::too_late;
use crate::worker::stop::Stop;

/// A modification above this many entries or bytes is sent alone.
const LARGE_ENTRIES: usize = 100;
const LARGE_BYTES: usize = 64 << 10;

runs! {
    /// The jobs of a worker, for a loop of your own instead of [`Worker::run`](super::Worker::run); made by
    /// [`Worker::start`](super::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of
    /// threads or tasks, and reports what became of them.
    ///
    /// ```
    /// use millpond::Event;
    /// use millpond::tasks::Failure;
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// store.insert("inbox", "7")?;
    /// let worker = store.worker(["inbox"]).tell_all(true);
    /// let run = worker.start();
    /// while let Some(event) = run.next()? {
    ///     match event {
    ///         Event::Job(job) => run.end(&job, Ok(None))?,
    ///         Event::Report(report) => {
    ///             assert_eq!(report.kind.name(), "done");
    ///             worker.stop(std::time::Duration::ZERO);
    ///         }
    ///     }
    /// }
    /// # Ok::<(), millpond::Error>(())
    /// ```
    Run of Tasks, Job
}

impl<M: Mode> Run<M> {
    pub(super) fn begin(client: Client<M>, takes: Takes<M>, plan: Plan, stop: &Stop) -> Self {
        let takes = takes.waiting((!plan.drains).then_some(Duration::MAX));
        let run = run::Run::new(Arc::new(Tasks { client }), takes, plan);
        stop.begin(&run);
        Self(run)
    }

    /// Ends a job of this run as its handler says, without waiting; the result is reported. Nothing happens to a job
    /// that the handler has already ended, or that the run has given back.
    ///
    /// - `Ok(None)`: the job is done, and its task is deleted.
    /// - `Ok(Some(modification))`: the modification is applied in one step, to the newest versions of the task and
    ///   the documents that the job holds. The task is deleted unless the modification changes it.
    /// - `Err(failure)`: as the [`Failure`] says.
    ///
    /// The task of a job that was [cancelled](super::TaskStore::cancel) is deleted after any failure.
    ///
    /// A modification that is invalid, or refused because something that it depends on has changed, is a failure of
    /// the handler: the task is immediately given back as by [`Job::fail`], which counts no attempt if only documents
    /// had changed.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a job that does not belong to this run, and `FORKED` in the child of a fork.
    ///
    /// # Delivery
    /// If the connection fails, the end is sent again while the lease lasts.
    pub fn end(&self, job: &Job<M>, outcome: Result<Option<Modification>, Failure>) -> Result<()> {
        let (number, core) = (self.number_of(job)?, job.core.clone());
        if core.is_ended() && !self.0.is_overdue(number) {
            self.0.leave(number);
            return Ok(());
        }
        self.0.end(number, |add| {
            let said = Said::of(&core, outcome);
            core.lease.clone().end(move |held| add(End::new(core, held, said)));
        });
        Ok(())
    }
}

/// The jobs of a task store, as a run sees them.
pub(super) struct Tasks<M: Mode> {
    client: Client<M>,
}

/// How a job is to end.
pub(super) struct End<M: Mode> {
    job: Arc<JobCore<M>>,
    step: Modify,
    said: What,
}

/// An end, as it is reported.
struct What {
    kind: ReportKind,
    text: String,
    /// Why the job cannot end as its handler said.
    refused: Option<Error>,
}

struct Said {
    modification: Modification,
    said: What,
}

impl Said {
    fn of<M: Mode>(job: &JobCore<M>, outcome: Result<Option<Modification>, Failure>) -> Self {
        let task = &job.task;
        let failure = match outcome {
            Ok(modification) => {
                return Self::new(ReportKind::Done, modification.unwrap_or_default());
            }
            Err(failure) => failure,
        };
        let policy = &job.policy;
        // The job is no longer worked on, and perhaps no other worker has it.
        if job.lease.is_lost()
            && let Failure::Release | Failure::ReleaseAfter(_) = failure
        {
            return Self::changed(ReportKind::Lost, task.change(), String::new());
        }
        if job.lease.lock().held.is_cancelled {
            return Self::new(ReportKind::Cancelled, Modification::new());
        }
        let (change, err) = match failure {
            Failure::Error(err) => (job.failed(&err), err),
            Failure::Retry(err) => (job.retried(&err, None), err),
            Failure::RetryAfter(err, delay) => (job.retried(&err, Some(delay)), err),
            Failure::Move(queue, err) => {
                let change = task.change().retry(&err).queue(&queue);
                return Self::changed(ReportKind::Moved, change, format!("{queue}: {err}"));
            }
            Failure::Reject(err) => (policy.rejected(task, &err), err),
            Failure::Release => {
                let change = task
                    .change()
                    .after(with_jitter(RELEASE_DELAY_DEFAULT, job.store.client.draw()));
                return Self::changed(ReportKind::Released, change, String::new());
            }
            Failure::ReleaseAfter(delay) => {
                return Self::changed(
                    ReportKind::Released,
                    task.change().after(delay),
                    String::new(),
                );
            }
        };
        Self::failed(job, change, err)
    }

    fn new(kind: ReportKind, modification: Modification) -> Self {
        Self { modification, said: What { kind, text: String::new(), refused: None } }
    }

    fn changed(kind: ReportKind, change: TaskChange, text: String) -> Self {
        let modification = Modification::new().change(change);
        Self { modification, said: What { kind, text, refused: None } }
    }

    /// A failure is tried again or put aside; if documents were held by others, it is not a failure.
    fn failed<M: Mode>(job: &JobCore<M>, change: TaskChange, err: String) -> Self {
        match (change.queue != job.task.queue, change.attempt == job.task.attempt) {
            (true, _) => {
                let text = format!("into {}: {}", change.queue, change.err);
                Self::changed(ReportKind::Dead, change, text)
            }
            (_, true) => Self::changed(ReportKind::Released, change, err),
            _ => Self::changed(ReportKind::Retried, change, err),
        }
    }

    fn refused<M: Mode>(job: &JobCore<M>, refused: Error) -> Self {
        let err = refused.to_string();
        let mut said = Self::failed(job, job.failed(&err), err);
        if said.said.kind == ReportKind::Retried {
            said.said.kind = ReportKind::Refused;
        }
        said.said.refused = Some(refused);
        said
    }
}

impl<M: Mode> Work for Tasks<M> {
    type Job = Arc<JobCore<M>>;
    type End = End<M>;
    const ENDS_MAX: usize = MODIFICATIONS_MAX;

    fn is_suspect(job: &Arc<JobCore<M>>) -> bool {
        job.suspect.is_some()
    }

    fn is_ended(job: &Arc<JobCore<M>>) -> bool {
        job.is_ended()
    }

    fn unsent(end: End<M>) -> Report<Arc<JobCore<M>>> {
        report(ReportKind::Lost, end.job, run::UNSENT, None)
    }

    fn late(job: Arc<JobCore<M>>) -> Report<Arc<JobCore<M>>> {
        report(ReportKind::Lost, job, run::LATE, None)
    }
}

impl<M: Mode> Queue for Tasks<M> {
    type Source = Takes<M>;

    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<End<M>>>,
        done: impl FnOnce(Vec<(Sending<End<M>>, Result<()>)>) + Send + 'static,
    ) {
        let (small, large): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|sending| sending.end.is_small());
        let groups = large.into_iter().map(|end| vec![end]).chain([small]);
        let groups: Vec<_> = groups.filter(|group| !group.is_empty()).collect();
        let all = Groups::new(Vec::new(), groups.len(), done);
        groups.into_iter().for_each(|group| self.send_group(group, all.clone()));
    }

    fn ended(self: &Arc<Self>, end: End<M>, result: Result<()>, is_unsure: bool) -> Ended<Self> {
        let End { job, step, said } = end;
        job.ended(&result);
        let is_gone = job.lease.is_gone();
        let Err(error) = result else { return Ended::Done(said.report(job)) };
        let is_refusal = matches!(error.kind(), ErrorKind::Dependency | ErrorKind::InvalidArgument);
        let is_taken = job.is_refused(&error);
        if is_unsure && !is_gone && is_taken {
            // No other claimant can have changed it, so it was this end, whose result was lost.
            job.ended(&Ok(()));
            return Ended::Done(said.report(job));
        }
        // A job that is given back is lost only to its handler, and has not failed.
        let is_final = said.refused.is_some() || job.lease.is_lost() || is_taken;
        if is_gone || (is_refusal && is_final) {
            let error = said.refused.unwrap_or_else(|| job.lease_lost(error));
            return Ended::Done(report(ReportKind::Lost, job, &error.to_string(), Some(error)));
        }
        if is_refusal {
            // Documents that have changed are a conflict, which `ended` has recorded.
            let held = job.lease.lock().held.clone();
            let said = Said::refused(&job, error);
            return Ended::Instead(End::new(job, held, said));
        }
        match error.retry() {
            Retry::Never => {
                Ended::Done(report(ReportKind::Lost, job, &error.to_string(), Some(error)))
            }
            _ => Ended::Again(End { job, step, said }, error),
        }
    }

    fn timeout(job: &Arc<JobCore<M>>) -> Option<Duration> {
        job.policy.timeout
    }

    fn time_out(
        self: &Arc<Self>,
        job: Arc<JobCore<M>>,
        then: impl FnOnce(End<M>) + Send + 'static,
    ) {
        job.lease.revoke();
        let said = Said::of(&job, Err(too_late(job.policy.timeout.unwrap_or_default())));
        job.lease.clone().end(move |held| then(End::new(job, held, said)));
    }

    fn watch_renewals(job: &Arc<JobCore<M>>, contact: Weak<dyn Contact>) {
        job.lease.watch_renewals(contact);
    }

    fn begin(
        self: &Arc<Self>,
        job: &Arc<JobCore<M>>,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        job.begin(then);
    }

    fn give_back(
        self: &Arc<Self>,
        job: Arc<JobCore<M>>,
        then: impl FnOnce(End<M>) + Send + 'static,
    ) {
        job.lease.revoke();
        job.lease.clone().end(move |held| {
            let said = Said::changed(ReportKind::Released, job.task.change(), String::new());
            then(End::new(job, held, said));
        });
    }
}

impl<M: Mode> Tasks<M> {
    /// Sends a group in one step.
    fn send_group(&self, group: Vec<Sending<End<M>>>, all: Arc<Groups<Sending<End<M>>>>) {
        let mut steps: Vec<_> = group.iter().map(|sending| sending.end.step.clone()).collect();
        match steps.pop() {
            Some(step) if steps.is_empty() => {
                self.client.submit(Ok(step), move |result| {
                    all.add_each(group.into_iter().zip([result.map(drop)]));
                });
            }
            last => {
                steps.extend(last);
                self.client.submit(ModifyMany::new(steps), move |result| match result {
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

impl<M: Mode> End<M> {
    /// This end; an invalid modification is a failure of the handler.
    fn new(job: Arc<JobCore<M>>, held: HeldTask, said: Said) -> Self {
        let Said { modification, said } = said;
        match job.end_step(held.clone(), modification) {
            Ok(step) => Self { job, step, said },
            Err(error) if said.refused.is_none() => {
                let said = Said::refused(&job, error);
                Self::new(job, held, said)
            }
            // Even the error queue's name is invalid.
            Err(_) => {
                let mut again = Said::changed(said.kind, job.put_off(), said.text);
                again.said.refused = said.refused;
                Self::new(job, held, again)
            }
        }
    }

    fn is_small(&self) -> bool {
        let modification = self.step.modification();
        modification.len() <= LARGE_ENTRIES && modification.bytes() <= LARGE_BYTES
    }
}

impl What {
    fn report<M: Mode>(self, job: Arc<JobCore<M>>) -> Report<Arc<JobCore<M>>> {
        report(self.kind, job, &self.text, self.refused)
    }
}

/// The report on a job.
pub(super) fn report<M: Mode>(
    kind: ReportKind,
    job: Arc<JobCore<M>>,
    text: &str,
    error: Option<Error>,
) -> Report<Arc<JobCore<M>>> {
    let Task { id, queue, .. } = &job.task;
    Report::of_job(kind, job.clone(), format_args!("task {id} of queue {queue}"), text, error)
}
