//! A job: a task that is being worked on, renewed until it ends.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::name::Name;
use super::worker::{Policy, RELEASE_DELAY_DEFAULT};
use super::{
    ClaimDocs, Doc, DocChange, DocId, Failure, FetchTasks, Modification, Modified, Modify, Renew,
    Renewed, Task, TaskChange, TaskId, TaskStore,
};
use crate::client::{Blocking, Mode, Then, WeakClient};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::runtime::sync::lock;
use crate::runtime::timer::{Scheduled, Timer};
use crate::worker::backoff::{Backoff, Contention, with_jitter};
use crate::worker::term::Term;

/// After how long a wait for documents asks again.
const ASK: Backoff = Backoff { first: Duration::from_millis(4), most: Duration::from_millis(64) };

/// A task that is being worked on; made by [`Jobs`](super::Jobs).
///
/// A native thread renews it, and the documents that it [claims](Self::claim_docs), twice a lease, so
/// a busy handler keeps them. A job ends by one of the methods that say what becomes of the task, which
/// waits for a renewal that is under way and happens to the newest versions. A job that is dropped
/// without that leaves the task leased until the lease is over. It belongs to its process: in the child of
/// a fork what ends it answers `FORKED`.
///
/// It holds all that under a [claimant](TaskStore::claimant) of its own, the task's. So no two jobs hold
/// the same, and nobody but the job can change or delete what it holds: end it by its own methods, not by
/// [`TaskStore::modify`], which is refused.
pub struct Job<M: Mode = Blocking> {
    store: TaskStore<M>,
    task: Task,
    policy: Arc<Policy>,
    contention: Arc<Contention>,
    renewal: Arc<Renewal>,
}

struct Renewal {
    term: Term,
    /// How often the task was claimed, this claim included.
    claims: u32,
    /// The task is not the job's any more, as the job said what becomes of it.
    is_done: AtomicBool,
    held: Mutex<Held>,
}

/// What to do after a renewal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Half a lease later.
    Renew,
    /// Sooner, as the last one cannot be relied on.
    RenewSoon,
    /// Its answer says that the task is not as it should be, which may be for an earlier one that was
    /// done and whose answer was lost.
    Look,
    Nothing,
}

/// Is told the newest versions.
type Whenever = Box<dyn FnOnce(TaskId, Vec<DocId>) + Send>;

struct Held {
    task: TaskId,
    docs: Vec<DocId>,
    /// The next renewal.
    next: Option<Scheduled>,
    is_renewing: bool,
    /// Claims of documents that are under way.
    claiming: usize,
    /// Documents were claimed while the renewal was under way.
    is_disturbed: bool,
    /// The answer to a renewal was lost: the versions may be higher than those here.
    is_unsure: bool,
    /// No renewal begins any more.
    is_ended: bool,
    /// What the last claim of documents said that found one taken.
    taken: Option<Arc<str>>,
    /// Who waits for the end of the renewal that is under way.
    waiting: Vec<Whenever>,
}

impl<M: Mode> Job<M> {
    /// The job of a task that was claimed by a step sent at this time.
    pub(super) fn new(
        store: TaskStore<M>,
        task: Task,
        policy: Arc<Policy>,
        contention: Arc<Contention>,
        claimed: Instant,
    ) -> Result<Self> {
        let renewal = Arc::new(Renewal {
            term: Term::of(policy.lease, claimed),
            claims: task.claims,
            is_done: AtomicBool::new(false),
            held: Mutex::new(Held {
                task: task.handle(),
                docs: Vec::new(),
                next: None,
                is_renewing: false,
                claiming: 0,
                is_disturbed: false,
                is_unsure: false,
                is_ended: false,
                taken: None,
                waiting: Vec::new(),
            }),
        });
        Renewer::of(&store, &task, renewal.clone())?.go_on(Next::Renew);
        Ok(Self { store, task, policy, contention, renewal })
    }

    /// The task, as it was claimed.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The task at its newest version; in the child of a fork, as it was claimed.
    pub fn handle(&self) -> TaskId {
        match self.renewal.check_process() {
            Ok(()) => lock(&self.renewal.held).task.clone(),
            Err(_) => self.task.handle(),
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
        self.renewal.term.is_over()
    }

    /// Whether one of the methods that end the job has succeeded. Sends nothing.
    pub fn is_ended(&self) -> bool {
        self.renewal.is_done.load(Ordering::Acquire)
    }

    /// Leases all documents of this primary key, by secondary key, for as long as the job goes on. They are
    /// the job's alone: no other job gets them meanwhile. What ends the job releases them, unless it deletes
    /// them or says until when they are to be held.
    ///
    /// # Errors
    /// As [`TaskStore::claim_docs`]: `DEPENDENCY` if somebody else holds one of them. A handler that lets this
    /// error through has not failed: the task is given back, as [`fail`](Self::fail) says. `LEASE_LOST` once the
    /// job has ended, also if it ends meanwhile: nothing is held then.
    pub fn claim_docs(
        &self,
        namespace: impl AsRef<str>,
        key: impl AsRef<str>,
    ) -> M::Reply<Vec<Doc>> {
        self.claim_docs_within(namespace, key, Duration::ZERO)
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
    pub fn claim_docs_within(
        &self,
        namespace: impl AsRef<str>,
        key: impl AsRef<str>,
        wait: Duration,
    ) -> M::Reply<Vec<Doc>> {
        let contention = self.contention.clone();
        let (step, claim) = match self.claim_docs_step(namespace.as_ref(), key.as_ref()) {
            Ok((step, renewer)) => {
                let claiming = Claiming::begin(self.renewal.clone());
                (Ok(step.clone()), Some((claiming, renewer, step)))
            }
            Err(error) => (Err(error), None),
        };
        // Of a wait without an end there is none.
        let until = Instant::now().checked_add(wait);
        let mut asked = 0;
        let then = move |answer: Result<Vec<Doc>>| {
            let Some((Claiming(renewal), renewer, again)) = &claim else {
                return Then::Done(answer);
            };
            let mut held = lock(&renewal.held);
            match &answer {
                Ok(docs) if held.is_ended => {
                    drop(held);
                    renewer.give_back(docs);
                    return Then::Done(Err(ended()));
                }
                Ok(docs) => {
                    for doc in docs {
                        held.docs.retain(|known| !known.is_same(&doc.handle()));
                        held.docs.push(doc.handle());
                    }
                    contention.is_over();
                }
                Err(error) if error.dependency().is_some() => {
                    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                    let is_over = left == Some(Duration::ZERO);
                    if !is_over && !held.is_ended && !renewal.term.is_over() {
                        let delay = ASK.delay(asked);
                        asked += 1;
                        return Then::Run(
                            again.clone(),
                            left.map_or(delay, |left| delay.min(left)),
                        );
                    }
                    held.taken = Some(error.message().into());
                }
                Err(_) => {}
            }
            drop(held);
            Then::Done(answer)
        };
        self.store.client.run_when(move |run| run(step), then)
    }

    fn claim_docs_step(&self, namespace: &str, key: &str) -> Result<(ClaimDocs, Renewer<M>)> {
        self.renewal.check_process()?;
        if lock(&self.renewal.held).is_ended {
            return Err(ended());
        }
        let renewer = Renewer::of(&self.store, &self.task, self.renewal.clone())?;
        let (name, claimant) = (renewer.name.clone(), renewer.claimant.clone());
        let step = ClaimDocs::of(name, claimant, namespace, key, self.renewal.term.length())?;
        Ok((step, renewer))
    }

    /// Ends the job with a modification, in which the task and the documents that the job holds are
    /// taken at their newest versions.
    ///
    /// # Errors
    /// As [`TaskStore::modify`]; `DEPENDENCY` also if the lease was lost.
    ///
    /// # Delivery
    /// As [`TaskStore::modify`]. After an error it can be tried again, or ended in another way, while the
    /// lease lasts, which is not renewed any more.
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

    /// Ends the job as its handler's error does: as [`retry`](Self::retry), with this text as the reason. If
    /// that has in it what the job's last claim of documents said of one that is taken, nothing has failed:
    /// the task is given back untried for a short random time, of 8 to 16 ms and twice as long each time its
    /// worker finds no document free, up to 128 ms.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn fail(&self, err: &str) -> M::Reply<Modified> {
        let is_taken = self.renewal.check_process().is_ok()
            && lock(&self.renewal.held).taken.as_ref().is_some_and(|taken| err.contains(&**taken));
        match is_taken {
            true => self.end_by(self.task.change().after(self.contention.delay())),
            false => self.retry(err),
        }
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
        self.end_by(self.task.change().after(delay))
    }

    fn end_by(&self, change: TaskChange) -> M::Reply<Modified> {
        self.end(|_| Modification::new().change(change))
    }

    fn end(
        &self,
        modification: impl FnOnce(&TaskId) -> Modification + Send + 'static,
    ) -> M::Reply<Modified> {
        let (store, task) = (self.store.clone(), self.task.clone());
        let (renewal, ended) = (self.renewal.clone(), self.renewal.clone());
        let when = move |run: Box<dyn FnOnce(Result<Modify>) + Send>| {
            let own = renewal.check_process();
            let renewer = match own.and_then(|()| Renewer::of(&store, &task, renewal.clone())) {
                Ok(renewer) => renewer,
                Err(error) => return run(Err(error)),
            };
            let claimant = task.claimant;
            let has_to_look = renewal.end(Box::new(move |task, docs| {
                let mut modification = modification(&task);
                modification.at_versions(&[task], &docs);
                modification.release_docs(&docs);
                for doc in docs {
                    if !modification.names_doc(&doc) {
                        modification = modification.change_doc(DocChange::new(doc).release());
                    }
                }
                run(store.modify_step_by(&claimant, modification));
            }));
            if has_to_look {
                renewer.look();
            }
        };
        self.store.client.run_when(when, move |answer| {
            match &answer {
                Ok(_) => ended.is_done.store(true, Ordering::Release),
                Err(error) => {
                    // What ends the job after that is not to be refused for these documents as well.
                    if let Some(refused) = error.dependency() {
                        lock(&ended.held).docs.retain(|doc| !refused.names_doc(doc));
                    }
                }
            }
            Then::Done(answer)
        })
    }
}

impl Job {
    /// Ends the job as a handler of [`Worker::run`](super::Worker::run) says, unless the handler has ended it.
    /// Returns why that was refused, if it was: the task has been given back then, as [`fail`](Self::fail)
    /// does, unless its lease was lost.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn settle(&self, outcome: Result<Modification, Failure>) -> Result<Option<Error>> {
        if self.is_ended() {
            return Ok(None);
        }
        let ended = match outcome {
            Ok(modification) => self.finish(modification),
            Err(Failure::Error(err)) => self.fail(&err),
            Err(Failure::Retry(err)) => self.retry(&err),
            Err(Failure::RetryAfter(err, delay)) => self.retry_after(&err, delay),
            Err(Failure::Move(queue, err)) => self.move_to(&queue, &err),
            Err(Failure::Release) => self.release(),
            Err(Failure::ReleaseAfter(delay)) => self.release_after(delay),
        };
        let Err(refused) = ended else { return Ok(None) };
        if !matches!(refused.kind(), ErrorKind::Dependency | ErrorKind::InvalidArgument) {
            return Err(refused);
        }
        match self.fail(&refused.to_string()) {
            // Somebody else has the task now.
            Err(lost) if lost.kind() == ErrorKind::Dependency => Ok(Some(refused)),
            ended => ended.map(|_| Some(refused)),
        }
    }
}

impl<M: Mode> Drop for Job<M> {
    fn drop(&mut self) {
        if self.renewal.check_process().is_ok() {
            self.renewal.stop();
        }
    }
}

impl<M: Mode> fmt::Debug for Job<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("task", &self.task.id).finish_non_exhaustive()
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::LeaseLost, "the job has ended, and holds no documents any more")
}

/// A claim of documents that is under way; until this is dropped, as it is with the answer, or without
/// one.
struct Claiming(Arc<Renewal>);

impl Claiming {
    fn begin(renewal: Arc<Renewal>) -> Self {
        let mut held = lock(&renewal.held);
        held.claiming += 1;
        held.is_disturbed = true;
        drop(held);
        Self(renewal)
    }
}

impl Drop for Claiming {
    fn drop(&mut self) {
        lock(&self.0.held).claiming -= 1;
    }
}

impl Renewal {
    /// Refuses the child of a fork: the parent has the job and renews it, and in the child the locks could
    /// be held for ever.
    fn check_process(&self) -> Result<()> {
        match self.term.is_own() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Forked,
                "a job belongs to the process that claimed it; claim in the child",
            )),
        }
    }

    /// Begins no renewal any more.
    fn stop(&self) {
        let mut held = lock(&self.held);
        held.is_ended = true;
        let next = held.next.take();
        drop(held);
        drop(next);
    }

    /// Stops the renewals, and calls back with the newest versions when none is under way. Answers whether
    /// somebody has to look for the versions, as the answer to the last renewal was lost.
    fn end(&self, then: Whenever) -> bool {
        self.stop();
        let mut held = lock(&self.held);
        let has_to_look = held.is_unsure && !held.is_renewing;
        if held.is_renewing || has_to_look {
            held.is_renewing = true;
            held.waiting.push(then);
        } else {
            let (task, docs) = (held.task.clone(), held.docs.clone());
            drop(held);
            then(task, docs);
        }
        has_to_look
    }

    /// What to renew, if anything.
    fn begin(&self) -> Option<(TaskId, Vec<DocId>)> {
        let mut held = lock(&self.held);
        if held.is_ended {
            return None;
        }
        held.is_renewing = true;
        held.is_disturbed = held.claiming > 0;
        Some((held.task.clone(), held.docs.clone()))
    }

    /// Takes in how a renewal went that was sent at this time; answers what to do next.
    fn went(&self, sent: Instant, renewed: Result<Renewed>) -> Next {
        let mut held = lock(&self.held);
        let next = match renewed {
            Ok(renewed) => {
                self.term.renewed(sent);
                held.is_unsure = false;
                held.task.version = renewed.tasks.first().map_or(held.task.version, |t| t.version);
                for doc in renewed.docs {
                    // It may have been claimed again since, and then it is newer.
                    let known = held.docs.iter_mut().find(|known| known.is_same(&doc));
                    if let Some(known) = known {
                        known.version = known.version.max(doc.version);
                    }
                }
                Next::Renew
            }
            Err(error) if error.kind() == ErrorKind::Dependency && held.is_unsure => Next::Look,
            // The documents may have been newer than the renewal knew.
            Err(error) if error.kind() == ErrorKind::Dependency && held.is_disturbed => {
                Next::RenewSoon
            }
            Err(error) if error.kind() == ErrorKind::Dependency => {
                self.term.refused();
                Next::Nothing
            }
            // What could not be sent is sent again: the lease may not be over. What would fail for ever,
            // on a client that is closed, is not.
            Err(error) => {
                held.is_unsure |= error.retry() == Retry::Unknown;
                match error.retry() {
                    Retry::Never => Next::Nothing,
                    // Whoever ends the job waits for the versions.
                    _ if held.is_unsure && held.is_ended => Next::Look,
                    _ => Next::RenewSoon,
                }
            }
        };
        if next == Next::Look { next } else { self.settle(held, next) }
    }

    /// Takes in what the task is after a renewal whose answer was lost: nobody else has claimed it, and
    /// its version says how often it was renewed, and the documents with it.
    fn looked(&self, claimant: &str, found: Result<Vec<Task>>) -> Next {
        let mut held = lock(&self.held);
        let next = match found {
            Ok(tasks) => {
                let is_ours =
                    |task: &&Task| *task.claimant == *claimant && task.claims == self.claims;
                match tasks.first().filter(is_ours) {
                    // Where the job ends, its end says whether they are right.
                    Some(task) if task.version > held.task.version || held.is_ended => {
                        let more = task.version - held.task.version;
                        held.task.version = task.version;
                        held.docs.iter_mut().for_each(|doc| doc.version += more);
                        held.is_unsure = false;
                        Next::RenewSoon
                    }
                    _ => {
                        self.term.refused();
                        Next::Nothing
                    }
                }
            }
            Err(error) if error.retry() == Retry::Never => Next::Nothing,
            Err(_) => Next::RenewSoon,
        };
        self.settle(held, next)
    }

    /// Says the versions to those that wait for the end of a renewal.
    fn settle(&self, mut held: MutexGuard<'_, Held>, next: Next) -> Next {
        held.is_renewing = false;
        let (task, docs) = (held.task.clone(), held.docs.clone());
        let waiting = std::mem::take(&mut held.waiting);
        let is_ended = held.is_ended;
        drop(held);
        for then in waiting {
            then(task.clone(), docs.clone());
        }
        if is_ended { Next::Nothing } else { next }
    }

    /// Schedules the next renewal, unless the job has ended. The lock is held meanwhile, so that a renewal
    /// that is run at once does not schedule the one after it before this one is noted.
    fn schedule(&self, next: impl FnOnce() -> Scheduled) {
        let mut held = lock(&self.held);
        if !held.is_ended {
            let before = held.next.replace(next());
            drop(held);
            drop(before);
        }
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
    fn of(store: &TaskStore<M>, task: &Task, renewal: Arc<Renewal>) -> Result<Self> {
        let (client, claimant) = (store.client.downgrade(), task.claimant.clone());
        Ok(Self { client, name: store.name()?, claimant, renewal })
    }

    /// Renews after this time, and again, until the job has ended or is lost. Holds no client: a job
    /// that outlives its client must not keep an engine open.
    fn renew_after(self, delay: Duration) {
        let renewal = self.renewal.clone();
        let next = move || {
            Timer::after(delay, move || {
                let Some(client) = self.client.upgrade() else { return };
                let Some((task, docs)) = self.renewal.begin() else { return };
                let (name, claimant) = (self.name.clone(), self.claimant.clone());
                let lease = self.renewal.term.length();
                let step = Renew::of(name, claimant, vec![task], docs, lease);
                let sent = Instant::now();
                client.submit(step, move |renewed| {
                    let next = self.renewal.went(sent, renewed);
                    self.go_on(next);
                });
            })
        };
        renewal.schedule(next);
    }

    /// Releases documents that were claimed for the job when it had ended: nobody else would.
    fn give_back(&self, docs: &[Doc]) {
        let Some(client) = self.client.upgrade().filter(|_| !docs.is_empty()) else { return };
        let release = |modification: Modification, doc: &Doc| {
            modification.change_doc(DocChange::new(doc.handle()).release())
        };
        let modification = docs.iter().fold(Modification::new(), release);
        let (name, claimant) = (self.name.clone(), self.claimant.clone());
        client.run_unattended(Modify::of(name, claimant.clone(), claimant, modification));
    }

    fn go_on(self, next: Next) {
        let lease = self.renewal.term.length();
        match next {
            Next::Renew => self.renew_after(lease / 2),
            Next::RenewSoon => self.renew_after(lease / 10),
            Next::Look => self.look(),
            Next::Nothing => {}
        }
    }

    /// Looks what became of a renewal whose answer was lost.
    fn look(self) {
        let Some(client) = self.client.upgrade() else { return };
        let id = lock(&self.renewal.held).task.id.clone();
        let step = FetchTasks::of(self.name.clone(), [id]).map(|step| step.omit_values(true));
        client.submit(step, move |found| {
            let next = self.renewal.looked(&self.claimant, found);
            self.go_on(next);
        });
    }
}
