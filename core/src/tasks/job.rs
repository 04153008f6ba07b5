//! A job: a task that is being worked on, and renewed until the job ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::conflicts::Conflicts;
use super::held::HeldTask;
use super::run::Tasks;
use super::worker::{Policy, RELEASE_DELAY_DEFAULT};
use super::{
    Begin, ClaimDocs, Doc, Modification, Modified, Modify, Task, TaskChange, TaskId, TaskStore,
};
use crate::client::{Blocking, Mode, Then};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::backoff::{Backoff, with_jitter};
use crate::worker;
use crate::worker::backoff::Retries;
use crate::worker::lease::Lease;

/// Why a job can no longer do anything.
const LOST: &str = "the lease of the job is lost, and somebody else may have its task";

/// The longest time that a job waits for documents. Each wait ends up to half of this time earlier, at random, so
/// that one of two jobs that wait for each other can proceed.
pub const DOCS_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a wait for documents pauses before it tries again.
const ASK: Backoff = Backoff { first: Duration::from_millis(4), most: Duration::from_millis(64) };

/// A task that is being worked on; made by [`Jobs`](super::Jobs).
///
/// A native thread renews the task, and the documents that the job [claims](Job::claim_docs), three times per lease,
/// so a busy handler keeps them. A job is ended by one of the methods that say what becomes of the task. They wait
/// for a renewal that is in progress, and act on the newest versions. A job that is never ended leaves the task
/// leased until the lease expires. A job belongs to its process: in the child of a fork, the methods that end it fail
/// with `FORKED`.
///
/// The job holds all of this under its own [claimant](TaskStore::claimant), the task's. So no two jobs hold the same
/// task or document, and only the job can change or delete what it holds: end it by its own methods, not by
/// [`TaskStore::modify`], which is refused.
pub type Job<M = Blocking> = worker::job::Job<Tasks<M>>;

/// A task that is held, for a job or for a run that has prefetched it.
pub(crate) struct JobCore<M: Mode> {
    pub(super) store: TaskStore<M>,
    pub(super) task: Task,
    pub(super) policy: Arc<Policy>,
    pub(super) conflicts: Arc<Conflicts>,
    pub(super) lease: Arc<Lease<M, HeldTask>>,
    /// For a suspect, how often it was claimed without an end, once it has begun.
    pub(super) suspect: Option<u32>,
    /// The job no longer has the task: it has said what becomes of it.
    pub(super) is_done: Arc<AtomicBool>,
    /// For how long it gives its task back because of a conflict, in milliseconds.
    postponed_ms: AtomicU64,
}

impl<M: Mode> JobCore<M> {
    /// Holds a task that was claimed by a step sent at this time, maybe as a suspect.
    pub(super) fn new(
        store: TaskStore<M>,
        task: Task,
        policy: Arc<Policy>,
        conflicts: Arc<Conflicts>,
        (claimed_at, suspect): (Instant, Option<u32>),
    ) -> Result<Self> {
        let held = HeldTask::new(store.name()?, &task);
        let lease = Lease::begin(store.client.downgrade(), held, policy.lease, claimed_at);
        let (is_done, postponed_ms) = Default::default();
        Ok(Self { store, task, policy, conflicts, lease, suspect, is_done, postponed_ms })
    }

    /// Notes that the work on a suspect begins; calls back with `LEASE_LOST` if somebody else may have it.
    pub(super) fn begin(&self, then: impl FnOnce(Result<()>) + Send + 'static) {
        let lost = || Error::new(ErrorKind::LeaseLost, LOST);
        if self.lease.is_lost() {
            return then(Err(lost()));
        }
        let (claimant, id) = (self.task.claimant.clone(), self.task.id.clone());
        let unended = self.suspect.unwrap_or_default();
        let step = self.store.name().and_then(|name| Begin::of(name, claimant, id, unended));
        self.store.client.submit(step, move |is_held| {
            then(is_held.and_then(|is_held| if is_held { Ok(()) } else { Err(lost()) }));
        });
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// The step that ends the job with a modification, at the newest versions of what is held.
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
                // The time runs from the step, which may be long after it was said.
                match self.postponed_ms.load(Ordering::Relaxed) {
                    0 => {}
                    delay_ms => self.conflicts.postponed(Duration::from_millis(delay_ms)),
                }
                if self.lease.lock().held.outdated.is_none() {
                    self.conflicts.forget(&self.task);
                }
            }
            Err(error) => {
                let Some(refused) = error.dependency() else { return };
                let held = &mut self.lease.lock().held;
                // A later end of the job must not be refused for these documents as well.
                held.docs.retain(|doc| !refused.names_doc(doc));
                held.outdated = refused.only_outdated_docs().then(|| error.message().into());
            }
        }
    }

    /// Whether an end was refused because another claimant has changed the task, or holds it.
    pub(super) fn is_refused(&self, error: &Error) -> bool {
        error.dependency().is_some_and(|refused| refused.names_task(&self.task.id))
    }

    /// Turns a refusal for the version of the task into an error that says that the lease was lost.
    pub(super) fn lease_lost(&self, error: Error) -> Error {
        match self.is_refused(&error) {
            true if self.is_ended() => ended(),
            true => Error::new(ErrorKind::LeaseLost, LOST),
            false => error,
        }
    }

    /// The task unchanged, to be tried again after the worker's backoff.
    pub(super) fn put_off(&self) -> TaskChange {
        self.task.change().after(self.policy.delay(self.task.attempt, self.store.client.draw()))
    }

    /// What becomes of a task whose handler failed.
    pub(super) fn failed(&self, err: &str) -> TaskChange {
        self.put_off_untried(err).unwrap_or_else(|| self.retried(err, None))
    }

    /// What becomes of a task that is tried again, after this time or the worker's backoff.
    pub(super) fn retried(&self, err: &str, delay: Option<Duration>) -> TaskChange {
        self.policy.failed(&self.task, err, delay, self.store.client.draw())
    }

    /// What becomes of a task whose handler failed because documents were held by others, or had changed.
    fn put_off_untried(&self, err: &str) -> Option<TaskChange> {
        if !self.lease.is_own() {
            return None;
        }
        let held = self.lease.lock().held.clone();
        let is_told = |why: &Option<Arc<str>>| why.as_ref().is_some_and(|why| err.contains(&**why));
        let delay = match is_told(&held.taken) {
            true => self.conflicts.taken(),
            false if is_told(&held.outdated) => {
                self.conflicts.outdated(&self.task, self.store.client.draw())?
            }
            false => return None,
        };
        self.postponed_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
        Some(self.task.change().after(delay))
    }
}

impl<M: Mode> Job<M> {
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

    /// A modification that deletes the task, which is the usual end of a job: add entries to it and pass it to
    /// [`finish`](Self::finish).
    pub fn delete(&self) -> Modification {
        Modification::new().delete(self.handle())
    }

    /// Whether this is the last attempt that the worker's `max_attempts` allows: a failure puts the task aside, into the
    /// error queue.
    pub fn is_last_attempt(&self) -> bool {
        self.core.policy.is_last(&self.core.task)
    }

    /// Whether the task was [cancelled](TaskStore::cancel), as of the last renewal. If so, stop working: a handler
    /// that fails now ends the job, and the task is deleted. Always false in the child of a fork.
    pub fn is_cancelled(&self) -> bool {
        self.core.lease.is_own() && self.core.lease.lock().held.is_cancelled
    }

    /// Whether one of the methods that end the job has succeeded. Sends nothing.
    pub fn is_ended(&self) -> bool {
        self.core.is_ended()
    }

    /// Leases all documents with these primary keys until the job ends, or none of them. No other job gets them in
    /// that time. The end of the job releases them, unless its modification deletes them or sets until when they are
    /// held.
    ///
    /// Claim all that a job needs in one call. Jobs that claim one key after another can wait for each other, so
    /// every wait ends after 15 to 30 s, at random, even a wait without a limit: the job whose wait ends first gives
    /// back its task, and with it the documents that it holds.
    ///
    /// # Errors
    /// As [`TaskStore::claim_docs`]; `DEPENDENCY` if another claimant holds one of them, in which case none is
    /// leased: a handler that passes this error on has not failed, and the task is given back, as
    /// [`fail`](Self::fail) says; `LEASE_LOST` if the job has ended, or ends during the call: nothing is held then.
    pub fn claim_docs<K: AsRef<str>>(
        &self,
        namespace: impl AsRef<str>,
        keys: impl IntoIterator<Item = K>,
    ) -> M::Reply<Vec<Doc>> {
        self.claim_docs_within(namespace, keys, Duration::ZERO)
    }

    /// [`claim_docs`](Self::claim_docs), but waits up to this time while another claimant holds one of them. It tries
    /// again after 2 to 4 ms, then doubles the delay each time, up to 64 ms. The lease is renewed during the wait.
    /// The wait ends early if the lease is lost or the job has ended.
    ///
    /// There is no order among waiting jobs: the first to try when the documents are free gets them, which can be the
    /// worker that held them before, for its next job. If the documents are held nearly all the time, pass on the
    /// error of [`claim_docs`](Self::claim_docs) instead of waiting.
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
        let mut retries = Retries::within(docs_wait(wait, self.core.store.client.draw()), ASK);
        let then = move |result: Result<Vec<Doc>>| {
            let Some((_change, again)) = &claim else { return Then::Done(result) };
            let mut state = lease.lock();
            match &result {
                Ok(docs) if state.is_ended() => {
                    let release = state.held.release_step(docs);
                    drop(state);
                    // Nothing else would release them.
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

    /// Ends the job with a modification, which applies to the newest versions of the task and the documents that the
    /// job holds. The task is deleted unless the modification changes it.
    ///
    /// # Errors
    /// As [`TaskStore::modify`]; `LEASE_LOST` if the lease was lost.
    ///
    /// # Delivery
    /// After an error it is as with [`TaskStore::modify`]. The call can be repeated, or the job ended in another way,
    /// while the lease lasts; the lease is no longer renewed. `LEASE_LOST` after a connection error can mean that the
    /// earlier call was in fact done.
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

    /// Ends the job as an error of its handler does: as [`retry`](Self::retry), with this text as the reason. There
    /// are two exceptions, in which the job has not failed. If the text contains the error of the job's last claim of
    /// documents, because another claimant held one, the task is given back untried for a short random time: 8 to 16
    /// ms, doubled each time its worker finds no document free, up to 128 ms. If the text contains the error that
    /// refused an end of the job, and the only reason was documents that others had changed, the task is given back
    /// untried for 10 to 100 ms, with a growing delay. If this happens [`CONFLICTS_MAX`](super::CONFLICTS_MAX) times
    /// in a row in one run, the last time is an attempt.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn fail(&self, err: &str) -> M::Reply<Modified> {
        self.end_by(self.core.failed(err))
    }

    /// Ends the job and postpones the task for another attempt, as set on the [`Worker`](super::Worker), or moves it
    /// to the error queue if that was the last.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn retry(&self, err: &str) -> M::Reply<Modified> {
        self.end_by(self.core.retried(err, None))
    }

    /// [`retry`](Self::retry), but after this time.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn retry_after(&self, err: &str, delay: Duration) -> M::Reply<Modified> {
        self.end_by(self.core.retried(err, Some(delay)))
    }

    /// Ends the job and moves the task to this queue, with one more attempt and this reason.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn move_to(&self, queue: &str, err: &str) -> M::Reply<Modified> {
        self.end_by(self.core.task.change().retry(err).queue(queue))
    }

    /// Ends the job and gives the task back untried. It is available again after [`RELEASE_DELAY_DEFAULT`], shortened
    /// at random by up to half, so that it is not handed out and given back in a tight loop. This counts neither as
    /// an attempt nor as an expired lease.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn release(&self) -> M::Reply<Modified> {
        self.release_after(with_jitter(RELEASE_DELAY_DEFAULT, self.core.store.client.draw()))
    }

    /// [`release`](Self::release), but after this time; zero is immediately.
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
}

impl<M: Mode> Drop for JobCore<M> {
    fn drop(&mut self) {
        self.lease.stop();
    }
}

/// How long a job that asks to wait for this time waits for documents.
pub(super) fn docs_wait(wait: Duration, draw: u64) -> Duration {
    wait.min(with_jitter(DOCS_WAIT_MAX, draw))
}

fn ended() -> Error {
    Error::new(ErrorKind::LeaseLost, "the job has ended, and holds nothing any more")
}
