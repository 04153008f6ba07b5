//! A job: a task that is being worked on, renewed until it ends.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::conflicts::Conflicts;
use super::held::HeldTask;
use super::run::Tasks;
use super::worker::{Policy, RELEASE_DELAY_DEFAULT};
use super::{ClaimDocs, Doc, Modification, Modified, Modify, Task, TaskChange, TaskId, TaskStore};
use crate::client::{Async, Blocking, Mode, Then};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::backoff::{Backoff, with_jitter};
use crate::worker::backoff::Retries;
use crate::worker::failure::Failure;
use crate::worker::lease::Lease;
use crate::worker::run::Place;
use crate::worker::settings::TimeLimit;

/// Why a job cannot do anything any more.
const LOST: &str = "the lease of the job is lost, and somebody else may have its task";

/// The longest that a job waits for documents. At random each wait ends up to half of it earlier, so that one of two
/// jobs that wait for each other goes on.
pub const DOCS_WAIT_MAX: Duration = Duration::from_secs(30);

/// After how long a wait for documents asks again.
const ASK: Backoff = Backoff { first: Duration::from_millis(4), most: Duration::from_millis(64) };

/// A task that is being worked on; made by [`Jobs`](super::Jobs).
///
/// A native thread renews it, and the documents that it [claims](Self::claim_docs), three times a lease,
/// so a busy handler keeps them. A job ends by one of the methods that say what becomes of the task, which
/// waits for a renewal that is under way and happens to the newest versions. A job that nobody ends
/// leaves the task leased until the lease is over. It belongs to its process: in the child of a fork what
/// ends it fails with `FORKED`.
///
/// It holds all that under a [claimant](TaskStore::claimant) of its own, the task's. So no two jobs hold
/// the same, and nobody but the job can change or delete what it holds: end it by its own methods, not by
/// [`TaskStore::modify`], which is refused.
pub struct Job<M: Mode = Blocking> {
    pub(super) core: Arc<JobCore<M>>,
    /// Its place in a run.
    pub(super) place: Option<Place<Tasks<M>>>,
    limit: TimeLimit,
}

/// A task that is held, for a job or for a run that has it ready.
pub(super) struct JobCore<M: Mode> {
    pub(super) store: TaskStore<M>,
    pub(super) task: Task,
    pub(super) policy: Arc<Policy>,
    pub(super) conflicts: Arc<Conflicts>,
    pub(super) lease: Arc<Lease<M, HeldTask>>,
    /// The task is not the job's any more, as the job said what becomes of it.
    pub(super) is_done: Arc<AtomicBool>,
}

impl<M: Mode> JobCore<M> {
    /// What holds a task that was claimed by a step sent at this time.
    pub(super) fn new(
        store: TaskStore<M>,
        task: Task,
        policy: Arc<Policy>,
        conflicts: Arc<Conflicts>,
        claimed_at: Instant,
    ) -> Result<Self> {
        let held = HeldTask::new(store.name()?, &task);
        let lease = Lease::begin(store.client.downgrade(), held, policy.lease, claimed_at);
        Ok(Self { store, task, policy, conflicts, lease, is_done: Arc::default() })
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// The step that ends the job with a modification, of what is held at the newest versions.
    pub(super) fn end_step(
        &self,
        HeldTask { task, docs, .. }: HeldTask,
        mut modification: Modification,
    ) -> Result<Modify> {
        modification.end(&task);
        modification.at_versions(&[task], &docs);
        modification.release_docs(&docs);
        self.store.modify_step_by(&self.task.claimant, modification)
    }

    /// Handles the result of such a step.
    pub(super) fn ended<T>(&self, result: &Result<T>) {
        match result {
            Ok(_) => {
                self.is_done.store(true, Ordering::Release);
                self.lease.stop();
                if self.lease.lock().held.outdated.is_none() {
                    self.conflicts.forget(&self.task);
                }
            }
            Err(error) => {
                let Some(refused) = error.dependency() else { return };
                let held = &mut self.lease.lock().held;
                // What ends the job after that is not to be refused for these documents as well.
                held.docs.retain(|doc| !refused.names_doc(doc));
                held.outdated = refused.only_outdated_docs().then(|| error.message().into());
            }
        }
    }

    /// Whether an end was refused since somebody else has changed the task, or holds it.
    pub(super) fn is_refused(&self, error: &Error) -> bool {
        error.dependency().is_some_and(|refused| refused.names_task(&self.task.id))
    }

    /// Says that the lease was lost, of an error that says it by the version of the task.
    pub(super) fn lease_lost(&self, error: Error) -> Error {
        match self.is_refused(&error) {
            true if self.is_ended() => ended(),
            true => Error::new(ErrorKind::LeaseLost, LOST),
            false => error,
        }
    }

    /// The task as it is, tried again after the worker's backoff.
    pub(super) fn put_off(&self) -> TaskChange {
        self.task.change().after(self.policy.delay(self.task.attempt))
    }

    /// What becomes of a task whose handler failed.
    pub(super) fn failed(&self, err: &str) -> TaskChange {
        self.put_off_untried(err).unwrap_or_else(|| self.policy.failed(&self.task, err, None))
    }

    /// What becomes of a task whose handler failed for documents that were taken, or had changed.
    fn put_off_untried(&self, err: &str) -> Option<TaskChange> {
        if !self.lease.is_own() {
            return None;
        }
        let held = self.lease.lock().held.clone();
        let is_told = |why: &Option<Arc<str>>| why.as_ref().is_some_and(|why| err.contains(&**why));
        let delay = match is_told(&held.taken) {
            true => self.conflicts.taken(),
            false if is_told(&held.outdated) => self.conflicts.outdated(&self.task)?,
            false => return None,
        };
        Some(self.task.change().after(delay))
    }
}

impl<M: Mode> Job<M> {
    pub(super) fn new(core: Arc<JobCore<M>>, place: Option<Place<Tasks<M>>>) -> Self {
        let limit = TimeLimit::begin(core.policy.timeout);
        Self { core, place, limit }
    }

    /// The task, as it was claimed.
    pub fn task(&self) -> &Task {
        &self.core.task
    }

    /// The task at its newest version; in the child of a fork, as it was claimed.
    pub fn handle(&self) -> TaskId {
        match self.core.lease.is_own() {
            true => self.core.lease.lock().held.task.clone(),
            false => self.core.task.handle(),
        }
    }

    /// A modification that deletes the task: the usual end of a job, to add to and to
    /// [`finish`](Self::finish) with.
    pub fn delete(&self) -> Modification {
        Modification::new().delete(self.handle())
    }

    /// Whether the lease is lost, because a renewal was refused or because none has succeeded for a
    /// whole lease: stop working. What ends the job is refused then.
    pub fn is_lost(&self) -> bool {
        self.core.lease.is_lost()
    }

    /// How long the handler may still work, as the worker's `timeout` says; `None` for ever.
    pub fn time_left(&self) -> Option<Duration> {
        self.limit.left()
    }

    /// Whether somebody has [cancelled](TaskStore::cancel) the task, as far as the last renewal knows: stop working. A
    /// handler that fails now ends the job, and the task is deleted. In the child of a fork it is false.
    pub fn is_cancelled(&self) -> bool {
        self.core.lease.is_own() && self.core.lease.lock().held.is_cancelled
    }

    /// Calls `then` when the lease is lost, or the task was [cancelled](Self::is_cancelled), at once if it is lost already: to tell the work to stop. When the job
    /// has ended, or is dropped, what was not called is dropped. It is called on a thread that renewals wait
    /// for, so it hands over and returns. In the child of a fork it is never called.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// store.insert("inbox", "7")?;
    /// let job = store.worker(["inbox"]).jobs().next().expect("there is a task")?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let lost = stop.clone();
    /// job.on_lost(move || lost.store(true, Ordering::Release));
    /// job.done()?;
    /// assert!(!stop.load(Ordering::Acquire));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    pub fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.core.lease.on_lost(then);
    }

    /// Whether one of the methods that end the job has succeeded. Sends nothing.
    pub fn is_ended(&self) -> bool {
        self.core.is_ended()
    }

    /// Leases all documents of these primary keys for as long as the job goes on, or none of them. They are the job's
    /// alone: no other job gets them in that time. What ends the job releases them, unless it deletes them or says
    /// until when they are to be held.
    ///
    /// Claim all that a job needs in one call. Jobs that claim one key after the other can wait for each other, so a
    /// wait ends after 15 to 30 s, at random, even one without a limit: the job whose wait ends first gives back its
    /// task, and with it the documents that it holds.
    ///
    /// # Errors
    /// As [`TaskStore::claim_docs`]; `DEPENDENCY` if somebody else holds one of them, and then none is leased: a
    /// handler that lets this error through has not failed, and the task is given back, as [`fail`](Self::fail)
    /// says; `LEASE_LOST` once the job has ended, also if it ends meanwhile: nothing is held then.
    pub fn claim_docs<K: AsRef<str>>(
        &self,
        namespace: impl AsRef<str>,
        keys: impl IntoIterator<Item = K>,
    ) -> M::Reply<Vec<Doc>> {
        self.claim_docs_within(namespace, keys, Duration::ZERO)
    }

    /// [`claim_docs`](Self::claim_docs), and waits up to this time while somebody else holds one of them. It
    /// asks again after 2 to 4 ms, then half as often each time, up to every 64 ms. The lease is renewed
    /// meanwhile; it asks no more once that is lost, or the job has ended.
    ///
    /// There is no order among those who wait: the first to ask when the documents are free gets them, and
    /// that can be the worker that held them, for its next job. Where they are taken nearly all the time, let
    /// the error of [`claim_docs`](Self::claim_docs) through instead.
    ///
    /// # Errors
    /// As [`claim_docs`](Self::claim_docs), when the time is over.
    pub fn claim_docs_within<K: AsRef<str>>(
        &self,
        namespace: impl AsRef<str>,
        keys: impl IntoIterator<Item = K>,
        wait: Duration,
    ) -> M::Reply<Vec<Doc>> {
        let step = self.claim_docs_step(namespace.as_ref(), keys);
        let claim = step.as_ref().ok().map(|step| (self.core.lease.change(), step.clone()));
        let (lease, conflicts) = (self.core.lease.clone(), self.core.conflicts.clone());
        let mut retries = Retries::within(docs_wait(wait), ASK);
        let then = move |result: Result<Vec<Doc>>| {
            let Some((_change, again)) = &claim else { return Then::Done(result) };
            let mut state = lease.lock();
            match &result {
                Ok(docs) if state.is_ended() => {
                    let release = state.held.release_step(docs);
                    drop(state);
                    // Nobody else would release them.
                    if let Some(client) = lease.client().filter(|_| !docs.is_empty()) {
                        client.run_unattended(release);
                    }
                    return Then::Done(Err(ended()));
                }
                Ok(docs) => {
                    state.held.add_docs(docs);
                    conflicts.were_free();
                }
                Err(error) if error.dependency().is_some() => {
                    if state.is_ended() {
                        return Then::Done(Err(ended()));
                    }
                    if let Some(delay) = retries.next_delay().filter(|_| !lease.is_lost()) {
                        return Then::Run(again.clone(), delay);
                    }
                    state.held.taken = Some(error.message().into());
                }
                Err(_) => {}
            }
            drop(state);
            Then::Done(result)
        };
        self.core.store.client.run_when(move |run| run(step), then)
    }

    fn claim_docs_step<K: AsRef<str>>(
        &self,
        namespace: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<ClaimDocs> {
        self.check_process()?;
        if self.core.lease.lock().is_ended() {
            return Err(ended());
        }
        if self.is_lost() {
            return Err(Error::new(ErrorKind::LeaseLost, LOST));
        }
        let (name, claimant) = (self.core.store.name()?, self.core.task.claimant.clone());
        ClaimDocs::of(name, claimant, namespace, keys, self.core.lease.length())
    }

    /// Ends the job with a modification, in which the task and the documents that the job holds are
    /// taken at their newest versions. The task is deleted unless the modification changes it.
    ///
    /// # Errors
    /// As [`TaskStore::modify`]; `LEASE_LOST` if the lease was lost.
    ///
    /// # Delivery
    /// After an error it is as with [`TaskStore::modify`], and it can be tried again, or ended in another way, while the
    /// lease lasts, which is not renewed any more. `LEASE_LOST` after an error of the connection can be for that call itself,
    /// which was done.
    pub fn finish(&self, modification: Modification) -> M::Reply<Modified> {
        self.end(modification)
    }

    /// Ends the job and deletes the task.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn done(&self) -> M::Reply<Modified> {
        self.finish(Modification::new())
    }

    /// Ends the job as its handler's error does: as [`retry`](Self::retry), with this text as the reason. If
    /// that has in it what the job's last claim of documents said of one that is taken, nothing has failed:
    /// the task is given back untried for a short random time, of 8 to 16 ms and twice as long each time its
    /// worker finds no document free, up to 128 ms. Nor has it failed if the text has in it why an end of the job was
    /// refused, and that was documents alone, which others had changed: the task is given back untried for 10 to
    /// 100 ms, growing. After [`CONFLICTS_MAX`](super::CONFLICTS_MAX) times in a row in one run that is an attempt.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn fail(&self, err: &str) -> M::Reply<Modified> {
        self.end_by(self.core.failed(err))
    }

    /// Ends the job and puts the task off for another attempt, as the [`Worker`](super::Worker) says, or
    /// into its error queue if that was the last.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn retry(&self, err: &str) -> M::Reply<Modified> {
        self.end_by(self.core.policy.failed(&self.core.task, err, None))
    }

    /// [`retry`](Self::retry), but after this time.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn retry_after(&self, err: &str, delay: Duration) -> M::Reply<Modified> {
        self.end_by(self.core.policy.failed(&self.core.task, err, Some(delay)))
    }

    /// Ends the job and moves the task to this queue, with one more attempt and this reason.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn move_to(&self, queue: &str, err: &str) -> M::Reply<Modified> {
        self.end_by(self.core.task.change().retry(err).queue(queue))
    }

    /// Ends the job and gives the task back untried, available after a random time of
    /// [`RELEASE_DELAY_DEFAULT`] or up to half of it less, so that it is not given and given back all the
    /// time. This is no attempt, and no claim without an end.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn release(&self) -> M::Reply<Modified> {
        self.release_after(with_jitter(RELEASE_DELAY_DEFAULT))
    }

    /// [`release`](Self::release), but after this time; zero for at once.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn release_after(&self, delay: Duration) -> M::Reply<Modified> {
        self.end_by(self.core.task.change().after(delay))
    }

    fn end_by(&self, change: TaskChange) -> M::Reply<Modified> {
        self.end(Modification::new().change(change))
    }

    fn end(&self, modification: Modification) -> M::Reply<Modified> {
        let (core, check, lease) =
            (self.core.clone(), self.check_process(), self.core.lease.clone());
        let then = core.clone();
        let when = move |run: Box<dyn FnOnce(Result<Modify>) + Send>| match check {
            Err(error) => run(Err(error)),
            Ok(()) => lease.end(move |held| run(core.end_step(held, modification))),
        };
        self.core.store.client.run_when(when, move |result| {
            then.ended(&result);
            Then::Done(result.map_err(|error| then.lease_lost(error)))
        })
    }

    /// Refuses the child of a fork: the parent has the job and renews it.
    pub(super) fn check_process(&self) -> Result<()> {
        self.core
            .lease
            .check_process("a job belongs to the process that claimed it; claim in the child")
    }
}

impl Job<Async> {
    /// The output of the handler's future, or how the job ends if it took too long or was lost before, which drops the
    /// future.
    pub(super) async fn within<T>(&self, handler: impl Future<Output = T>) -> Result<T, Failure> {
        self.limit.within(handler, |lost| self.on_lost(lost)).await
    }
}

impl<M: Mode> Drop for JobCore<M> {
    fn drop(&mut self) {
        self.lease.stop();
    }
}

impl<M: Mode> fmt::Debug for Job<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("task", &self.core.task.id).finish_non_exhaustive()
    }
}

/// How long a job waits for documents that is to wait for this time.
pub(super) fn docs_wait(wait: Duration) -> Duration {
    wait.min(with_jitter(DOCS_WAIT_MAX))
}

fn ended() -> Error {
    Error::new(ErrorKind::LeaseLost, "the job has ended, and holds nothing any more")
}
