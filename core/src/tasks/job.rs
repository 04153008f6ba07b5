//! A job: a task that is being worked on, renewed until it ends.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::name::Name;
use super::worker::Policy;
use super::{
    Doc, DocChange, DocId, Modification, Modified, Modify, Renew, Renewed, Task, TaskChange,
    TaskId, TaskStore,
};
use crate::client::{Blocking, Mode, WeakClient};
use crate::error::{ErrorKind, Result, Retry};
use crate::sync::lock;
use crate::timer::{Scheduled, Timer};

/// A task that is being worked on; made by [`Jobs`](super::Jobs).
///
/// A native thread renews it, and the documents that it [claims](Self::claim_docs), twice a lease, so
/// a busy handler keeps them. A job ends by one of the methods that say what becomes of the task, which
/// waits for a renewal that is under way and happens to the newest versions. A job that is dropped
/// without that leaves the task leased until the lease is over.
pub struct Job<M: Mode = Blocking> {
    store: TaskStore<M>,
    task: Task,
    policy: Arc<Policy>,
    renewal: Arc<Renewal>,
}

struct Renewal {
    lease: Duration,
    /// When the claim was answered.
    taken: Instant,
    /// When the last renewal that succeeded was sent, in milliseconds from then.
    renewed_ms: AtomicU64,
    /// A renewal was refused.
    is_refused: AtomicBool,
    held: Mutex<Held>,
    /// The process that claimed it. The copy in the child of a fork renews nothing.
    process: u32,
}

/// Is told the newest versions.
type Whenever = Box<dyn FnOnce(TaskId, Vec<DocId>) + Send>;

struct Held {
    task: TaskId,
    docs: Vec<DocId>,
    /// The next renewal.
    next: Option<Scheduled>,
    is_renewing: bool,
    /// No renewal begins any more.
    is_ended: bool,
    /// Who waits for the end of the renewal that is under way.
    waiting: Vec<Whenever>,
}

#[allow(clippy::disallowed_methods, reason = "the part that drives the renewals")]
impl<M: Mode> Job<M> {
    pub(super) fn new(store: TaskStore<M>, task: Task, policy: Arc<Policy>) -> Self {
        let renewal = Arc::new(Renewal {
            lease: policy.lease,
            taken: Instant::now(),
            renewed_ms: AtomicU64::new(0),
            is_refused: AtomicBool::new(false),
            held: Mutex::new(Held {
                task: task.handle(),
                docs: Vec::new(),
                next: None,
                is_renewing: false,
                is_ended: false,
                waiting: Vec::new(),
            }),
            process: std::process::id(),
        });
        if let Ok(name) = store.name() {
            let client = store.client.downgrade();
            let claimant = store.claimant.clone();
            Renewer { client, name, claimant, renewal: renewal.clone() }.renew_later();
        }
        Self { store, task, policy, renewal }
    }

    /// The task, as it was claimed.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task at its newest version.
    pub fn handle(&self) -> TaskId {
        lock(&self.renewal.held).task.clone()
    }

    /// A modification that deletes the task: the usual end of a job, to add to.
    pub fn delete(&self) -> Modification {
        Modification::new().delete(self.handle())
    }

    /// Whether the lease is lost, because a renewal was refused or because none has succeeded for a
    /// whole lease: stop working. What ends the job is refused then.
    pub fn is_lost(&self) -> bool {
        let renewal = &self.renewal;
        let renewed = Duration::from_millis(renewal.renewed_ms.load(Ordering::Acquire));
        renewal.is_refused.load(Ordering::Acquire)
            || renewal.taken.elapsed() >= renewed + renewal.lease
    }

    /// Leases all documents of this primary key for as long as the job goes on. What ends the job
    /// releases them, unless it changes or deletes them.
    ///
    /// # Errors
    /// As [`TaskStore::claim_docs`]: `DEPENDENCY` if another claimant holds one of them.
    pub fn claim_docs(
        &self,
        namespace: impl AsRef<str>,
        key: impl AsRef<str>,
    ) -> M::Reply<Vec<Doc>> {
        let renewal = self.renewal.clone();
        let step = self.store.claim_docs_step(namespace.as_ref(), key.as_ref(), renewal.lease);
        self.store.client.run_then(step, move |docs| {
            let mut held = lock(&renewal.held);
            for doc in &docs {
                held.docs.retain(|known| known.namespace != doc.namespace || known.id != doc.id);
                held.docs.push(doc.handle());
            }
            drop(held);
            docs
        })
    }

    /// Ends the job with a modification, in which the task and the documents that the job holds are
    /// taken at their newest versions.
    ///
    /// # Errors
    /// As [`TaskStore::modify`]; `DEPENDENCY` also if the lease was lost.
    ///
    /// # Delivery
    /// As [`TaskStore::modify`]. After an error it can be tried again while the lease lasts, which is
    /// not renewed any more.
    pub fn finish(&self, modification: Modification) -> M::Reply<Modified> {
        self.end(move |_| modification)
    }

    /// Ends the job and deletes the task.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn done(&self) -> M::Reply<Modified> {
        self.end(|task| Modification::new().delete(task.clone()))
    }

    /// Ends the job and puts the task off for another attempt, as the [`Worker`](super::Worker) says, or
    /// into its error queue if that was the last.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn retry(&self, err: &str) -> M::Reply<Modified> {
        self.end_by(self.policy.failed(&self.task, err, None))
    }

    /// [`retry`](Self::retry), but after this time.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn retry_after(&self, err: &str, delay: Duration) -> M::Reply<Modified> {
        self.end_by(self.policy.failed(&self.task, err, Some(delay)))
    }

    /// Ends the job and moves the task to this queue, with one more attempt and this reason.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn move_to(&self, queue: &str, err: &str) -> M::Reply<Modified> {
        self.end_by(self.task.change().retry(err).queue(queue))
    }

    /// Ends the job and gives the task back as it was, available at once.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn release(&self) -> M::Reply<Modified> {
        self.end_by(self.task.change())
    }

    fn end_by(&self, change: TaskChange) -> M::Reply<Modified> {
        self.end(|_| Modification::new().change(change))
    }

    fn end(
        &self,
        modification: impl FnOnce(&TaskId) -> Modification + Send + 'static,
    ) -> M::Reply<Modified> {
        let store = self.store.clone();
        let renewal = self.renewal.clone();
        let when = move |run: Box<dyn FnOnce(Result<Modify>) + Send>| {
            renewal.end(Box::new(move |task, docs| {
                let mut modification = modification(&task);
                modification.at_versions(&[task], &docs);
                for doc in docs {
                    if !modification.names_doc(&doc) {
                        modification = modification.change_doc(DocChange::new(doc).release());
                    }
                }
                run(store.modify_step(modification));
            }));
        };
        self.store.client.run_when(when)
    }
}

impl<M: Mode> Drop for Job<M> {
    fn drop(&mut self) {
        // In the child of a fork there is nothing to end, and the lock could be held for ever.
        if self.renewal.process == std::process::id() {
            self.renewal.end(Box::new(|_, _| ()));
        }
    }
}

impl<M: Mode> fmt::Debug for Job<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("task", &self.task.id).finish_non_exhaustive()
    }
}

impl Renewal {
    /// Stops the renewals, and calls back with the newest versions when none is under way.
    fn end(&self, then: Whenever) {
        let mut held = lock(&self.held);
        held.is_ended = true;
        let next = held.next.take();
        let (task, docs) = (held.task.clone(), held.docs.clone());
        if held.is_renewing {
            held.waiting.push(then);
            drop(held);
        } else {
            drop(held);
            then(task, docs);
        }
        drop(next);
    }

    /// What to renew, if anything.
    fn begin(&self) -> Option<(TaskId, Vec<DocId>)> {
        let mut held = lock(&self.held);
        if held.is_ended {
            return None;
        }
        held.is_renewing = true;
        Some((held.task.clone(), held.docs.clone()))
    }

    /// Takes in how a renewal went that was sent at this time; answers whether to go on.
    fn went(&self, sent: Instant, renewed: Result<Renewed>) -> bool {
        let mut held = lock(&self.held);
        held.is_renewing = false;
        let goes_on = match renewed {
            Ok(renewed) => {
                let ms = sent.saturating_duration_since(self.taken).as_millis();
                self.renewed_ms.store(ms as u64, Ordering::Release);
                held.task.version = renewed.tasks.first().map_or(held.task.version, |t| t.version);
                for doc in renewed.docs {
                    let is_same =
                        |known: &&mut DocId| known.namespace == doc.namespace && known.id == doc.id;
                    if let Some(known) = held.docs.iter_mut().find(is_same) {
                        *known = doc;
                    }
                }
                true
            }
            Err(error) if error.kind() == ErrorKind::Dependency => {
                self.is_refused.store(true, Ordering::Release);
                false
            }
            // What could not be sent is sent again: the lease may not be over. What would fail for ever,
            // on a client that is closed, is not.
            Err(error) => error.retry() != Retry::Never,
        };
        let (task, docs) = (held.task.clone(), held.docs.clone());
        let waiting = std::mem::take(&mut held.waiting);
        let is_ended = held.is_ended;
        drop(held);
        for then in waiting {
            then(task.clone(), docs.clone());
        }
        goes_on && !is_ended
    }

    fn schedule(&self, next: Scheduled) {
        let mut held = lock(&self.held);
        let before = match held.is_ended {
            true => Some(next),
            false => held.next.replace(next),
        };
        drop(held);
        drop(before);
    }
}

/// Who renews what.
struct Renewer<M: Mode> {
    client: WeakClient<M>,
    name: Name,
    claimant: Arc<str>,
    renewal: Arc<Renewal>,
}

impl<M: Mode> Renewer<M> {
    /// Renews after half a lease, and again, until the job has ended or is lost. Holds no client: a job
    /// that outlives its client must not keep an engine open.
    #[allow(clippy::disallowed_methods, reason = "the part that drives the renewals")]
    fn renew_later(self) {
        let renewal = self.renewal.clone();
        let next = Timer::after(renewal.lease / 2, move || {
            let Some(client) = self.client.upgrade() else { return };
            let Some((task, docs)) = self.renewal.begin() else { return };
            let (name, claimant) = (self.name.clone(), self.claimant.clone());
            let step = Renew::of(name, claimant, vec![task], docs, self.renewal.lease);
            let sent = Instant::now();
            client.submit(step, move |renewed| {
                if self.renewal.went(sent, renewed) {
                    self.renew_later();
                }
            });
        });
        renewal.schedule(next);
    }
}
