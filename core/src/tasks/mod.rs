#![doc = include_str!("README.md")]

mod begin;
mod cancel;
#[cfg(test)]
mod cases;
mod claim;
mod claim_docs;
mod claims;
mod conflicts;
mod dependency;
mod doc;
mod embedded;
mod filter;
mod held;
mod job;
mod jobs;
mod json;
mod limits;
mod list;
mod list_docs;
mod list_stores;
mod modification;
mod modify;
mod modify_many;
mod name;
mod pause;
mod renew;
mod run;
#[cfg(feature = "serde")]
mod serde;
mod stats;
mod sweep;
mod task;
mod task_filter;
#[cfg(test)]
mod tests;
mod time;
mod worker;

pub use begin::Begin;
pub use cancel::Cancel;
pub use claim::{CLAIM_QUEUES_MAX, CLAIM_TASKS_MAX, Claim, Claimed};
pub use claim_docs::{CLAIM_KEYS_MAX, ClaimDocs};
pub use claims::Claims;
pub use conflicts::CONFLICTS_MAX;
pub use dependency::Dependency;
pub use doc::{Doc, DocChange, DocId, DocKey, NewDoc};
pub use filter::{FILTER_NAMES_MAX, Filter, STATS_MAX};
pub use job::{DOCS_WAIT_MAX, Job};
pub use jobs::Jobs;
pub use json::JSON_DEPTH_MAX;
pub use limits::{
    DEDUP_IDS_MAX, DELAY_MAX, DOC_ID_CHARS_MAX, ERR_BYTES_MAX, ID_CHARS_MAX, KEY_CHARS_MAX,
    PRIORITY_MAX, TIME_MS_MAX, VALUE_BYTES_MAX,
};
pub use list::{FetchTasks, ListTasks, PAGE_DEFAULT, PAGE_MAX, Position, TaskPage, TaskQuery};
pub use list_docs::{DocPage, DocPosition, DocQuery, FetchDocs, ListDocs};
pub use list_stores::{ListStores, StorePage};
pub use modification::{MODIFICATION_BYTES_MAX, MODIFICATION_ENTRIES_MAX, Modification};
pub use modify::{Modified, Modify};
pub use modify_many::ModifyMany;
pub use pause::Pause;
pub use renew::{Renew, Renewed};
pub(crate) use stats::KIND;
pub use stats::{NamespaceStats, QueueStats, ReadNamespaceStats, ReadQueueStats};
pub use sweep::{Sweep, Swept};
pub use task::{NewTask, Task, TaskChange, TaskId};
pub use task_filter::{SWEEP_TASKS_DEFAULT, SWEEP_TASKS_MAX, TaskFilter};
pub use time::ReadTime;
pub use worker::{
    BACKOFF_DEFAULT, BACKOFF_MAX_DEFAULT, MAX_ATTEMPTS_DEFAULT, MAX_CRASHES_DEFAULT,
    RELEASE_DELAY_DEFAULT, Run, Worker,
};

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use name::Name;
use sweep::End;

use crate::client::{Blocking, Client, FIRST_KEY, Mode, Then};
use crate::error::{Error, ErrorKind, Result, invalid};
pub use crate::step::When;
pub use crate::step::headers::{HEADERS_BYTES_MAX, HEADERS_MAX, Headers, Iter as HeadersIter};
pub use crate::step::limits::DEDUP_WINDOW_MAX;
use crate::step::limits::first_of;
use crate::step::reply::{Replies, Reply};
pub use crate::worker::failure::{Failure, Outcome};
use crate::worker::ids;
pub use crate::worker::report::JobCounts;

/// How long a claim leases a task by default.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);

/// A named store of tasks and documents; made by [`Client::tasks`]. One modification stays within one store.
///
/// There are two ways to change it: a *claim* leases an available task to one claimant, and a *modification* inserts,
/// changes and deletes tasks and documents, completely or not at all. So a worker can delete the task that it has
/// finished and insert the follow-up work in one step, and nothing is lost or done twice if it crashes before or
/// after.
///
/// Delivery is at least once: a task is available again when its lease expires. Order is not guaranteed; roughly, the
/// oldest tasks of the highest priority come first.
///
/// ```
/// use millpond::tasks::{LEASE_DEFAULT, Modification, NewTask};
///
/// let client = millpond::connect("memory:")?;
/// let store = client.tasks("shop");
/// store.insert("inbox", r#"{"order": 7}"#)?;
///
/// let task = store.claim(["inbox"], LEASE_DEFAULT)?.expect("there is one");
/// // Done with one and on with the next, in one step: both happen or neither does.
/// store.modify(
///     Modification::new()
///         .delete(&task)
///         .insert(NewTask::new("outbox").value(r#"{"invoice": 7}"#)),
/// )?;
/// assert_eq!(store.claim(["inbox"], LEASE_DEFAULT)?, None);
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// Cheap to clone and to create again.
#[derive(Clone, Debug)]
pub struct TaskStore<M: Mode = Blocking> {
    client: Client<M>,
    name: Result<Name, Arc<str>>,
    claimant: Arc<str>,
}

impl<M: Mode> Client<M> {
    /// The task store with this name. Makes no call.
    pub fn tasks(&self, name: impl AsRef<[u8]>) -> TaskStore<M> {
        TaskStore::new(self.clone(), name.as_ref())
    }

    /// The names of all task stores that hold tasks or documents, or that have a paused queue, by name.
    ///
    /// On Redis there is no list of stores, since maintaining one would make every insert more expensive. Instead,
    /// this call scans all keys of the server, or, in a cluster, those of one master after another. A step scans
    /// about 1,000 keys and takes less than a millisecond, so a server with a million keys takes about 1,000 steps. A
    /// store that exists during the whole scan is found, unless its slot moves to another server in that time. A user
    /// sees only the stores that it may access.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// client.tasks("shop").insert("inbox", "1")?;
    /// client.tasks("bank").pause("inbox")?;
    /// assert_eq!(client.task_stores()?, [b"bank", b"shop"]);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UNAVAILABLE` if the cluster changes during the scan, in which case try again; otherwise only those of the
    /// connection.
    pub fn task_stores(&self) -> M::Reply<Vec<Vec<u8>>> {
        let (client, mut names) = (self.clone(), BTreeSet::new());
        let mut step = ListStores::new(FIRST_KEY);
        let first = step.clone();
        let mut go_on = move |page: Result<StorePage>| {
            let page = page?;
            let next = match step.next(&page) {
                None => client.key_of_next_server(&step.key)?.map(ListStores::new),
                next => next,
            };
            names.extend(page.names);
            match next {
                None => Ok(Then::Done(Ok(std::mem::take(&mut names).into_iter().collect()))),
                Some(next) => {
                    step = next.clone();
                    Ok(Then::Run(next, Duration::ZERO))
                }
            }
        };
        let then = move |page| go_on(page).unwrap_or_else(|error| Then::Done(Err(error)));
        self.run_when(move |run| run(Ok(first)), then)
    }
}

impl<M: Mode> TaskStore<M> {
    fn new(client: Client<M>, name: &[u8]) -> Self {
        Self {
            client,
            name: Name::new(name).map_err(|error| error.message().into()),
            claimant: ids::unique_id(),
        }
    }

    /// The name under which this handle claims and holds tasks and documents: 1 to [`ID_CHARS_MAX`] characters. By
    /// default, each new handle gets 16 random hexadecimal digits. The name is not a secret: a program that uses
    /// another claimant's name can do whatever that claimant can.
    ///
    /// The handle's own claims, renewals, inserts and changes are made under this claimant. Each job of a
    /// [`worker`](Self::worker) has its own claimant: this one cut to 47 characters, `/` and 16 random hexadecimal
    /// digits. So two jobs never hold the same task or document, even if they share this handle, and only a job can
    /// change what it holds: use [`Job::finish`], since [`modify`](Self::modify) is refused. If a job ends by
    /// postponing its task, this claimant holds the task until then.
    #[must_use]
    pub fn claimant(self, claimant: impl AsRef<str>) -> Self {
        Self { claimant: claimant.as_ref().into(), ..self }
    }

    /// The claimant of this handle.
    pub fn claimant_id(&self) -> &str {
        &self.claimant
    }

    fn name(&self) -> Result<Name> {
        self.name.clone().map_err(|message| invalid(&*message))
    }

    /// Inserts one task with this JSON text as its value, available immediately.
    ///
    /// # Errors
    /// As [`modify`](Self::modify).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the task may have been inserted. Inserted again, it is there twice, unless it
    /// has an explicit [id](NewTask::id): an id is inserted once, until it is free again.
    pub fn insert(&self, queue: impl AsRef<str>, json: impl AsRef<str>) -> M::Reply<Task> {
        let modification = Modification::new().insert(NewTask::new(queue).value(json));
        let operation = modification.operation();
        let reply = self.client.run_then(self.modify_step(modification), |done| {
            done.inserted.into_iter().next().expect("a task that is inserted is returned")
        });
        M::named(reply, operation)
    }

    /// Applies a modification completely or not at all: inserts, changes and deletes of tasks and documents, and
    /// dependencies on tasks and documents that must not have changed.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names, values and times beyond their limits, values that are not JSON texts, and a task
    /// or document that is named twice, before anything is sent; `DEPENDENCY` if something is not in the required
    /// state, with a list of every such problem ([`Error::dependency`](crate::Error::dependency)), in which case
    /// nothing has changed; `WRONG_TYPE` and `INCOMPATIBLE_VERSION` if the keys hold something else.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the modification has been applied completely or not at all;
    /// [`fetch`](Self::fetch) tells which. If it is sent again, what it changed or deleted no longer exists at that
    /// version, so nothing is done twice. The exception is a modification that neither changes nor deletes
    /// anything: give the tasks that it inserts explicit ids. Each is then inserted once, until it has ended and its
    /// [deduplication window](NewTask::dedup_window) is over. A document that it puts replaces what others have put
    /// since.
    pub fn modify(&self, modification: Modification) -> M::Reply<Modified> {
        let operation = modification.operation();
        let steps = match modification.is_empty() {
            true => self.name().map(|_| Vec::new()),
            false => self.modify_step(modification).map(|step| vec![step]),
        };
        let done = |done: Vec<Modified>| done.into_iter().next().unwrap_or_default();
        M::named(self.client.run_all(steps, done), operation)
    }

    fn modify_step(&self, modification: Modification) -> Result<Modify> {
        self.modify_step_by(&self.claimant, modification)
    }

    /// A modification by another claimant; this one holds what it postpones.
    fn modify_step_by(
        &self,
        claimant: &Arc<str>,
        mut modification: Modification,
    ) -> Result<Modify> {
        modification.fill_ids(ids::unique_id);
        Modify::of(self.name()?, claimant.clone(), self.claimant.clone(), modification)
    }

    /// Leases one available task from these queues, or returns `None` if there is none now; see
    /// [`claims`](Self::claims) for several tasks, and for waiting. The task is picked at random from the oldest of
    /// its queue, the oldest with a probability of one half, so that a task that keeps failing does not block the
    /// others. The order of the queues is random too.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no queue and names beyond their limits; `WRONG_TYPE` and
    /// `INCOMPATIBLE_VERSION` if the keys hold something else.
    ///
    /// # Delivery
    /// At least once: the task is available again when the lease expires, unless it was deleted or changed before.
    /// After `CONNECTION_LOST` or `TIMEOUT` a task may have been leased that no caller received.
    pub fn claim<Q: AsRef<str>>(
        &self,
        queues: impl IntoIterator<Item = Q>,
        lease: Duration,
    ) -> M::Reply<Option<Task>> {
        let step = claim::queues_of(queues).and_then(|queues| self.claim_step(queues, lease, 1));
        self.client.run_then(step, |claimed| claimed.tasks.into_iter().next())
    }

    /// Leases up to `max` available tasks in one step, as `max` calls of [`claim`](Self::claim) would.
    ///
    /// # Errors
    /// As [`claim`](Self::claim); also `INVALID_ARGUMENT` for a `max` of 0 or above
    /// [`CLAIM_TASKS_MAX`].
    ///
    /// # Delivery
    /// The same as for [`claim`](Self::claim).
    pub fn claim_many<Q: AsRef<str>>(
        &self,
        queues: impl IntoIterator<Item = Q>,
        lease: Duration,
        max: usize,
    ) -> M::Reply<Vec<Task>> {
        let step = claim::queues_of(queues).and_then(|queues| self.claim_step(queues, lease, max));
        self.client.run_then(step, |claimed| claimed.tasks)
    }

    fn claim_step(&self, queues: Vec<Arc<str>>, lease: Duration, max: usize) -> Result<Claim> {
        self.claim_step_by(self.claimant.clone(), queues, lease, max)
    }

    fn claim_step_by(
        &self,
        claimant: Arc<str>,
        queues: Vec<Arc<str>>,
        lease: Duration,
        max: usize,
    ) -> Result<Claim> {
        Claim::of(self.name()?, claimant, queues, lease, max, self.client.draw() as u32)
    }

    /// A loop of claims that yields leased tasks, one at a time or in batches, and can wait for them. See [`Claims`].
    pub fn claims<Q: AsRef<str>>(&self, queues: impl IntoIterator<Item = Q>) -> Claims<M> {
        Claims::new(self.clone(), claim::queues_of(queues))
    }

    /// A worker for these queues, which renews the tasks that it works on, retries those that fail, and moves those
    /// that fail too often to the error queue. See [`Worker`].
    pub fn worker<Q: AsRef<str>>(&self, queues: impl IntoIterator<Item = Q>) -> Worker<M> {
        let queues = claim::queues_of(queues).map_err(|error| error.message().into());
        Worker::new(run::Tasks { store: self.clone(), queues }, Default::default())
    }

    /// Renews the leases of tasks and documents, all of them or none, for `lease` from now, and returns their new
    /// versions and which of the tasks were [cancelled](Self::cancel).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for nothing to renew, more than [`MODIFICATION_ENTRIES_MAX`] entries, and a task or
    /// document that is named twice; `DEPENDENCY` if one of them does not exist at that version or another claimant
    /// holds it, in which case nothing has changed.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` all may have been renewed, at versions that no caller received.
    pub fn renew(
        &self,
        tasks: impl IntoIterator<Item = TaskId>,
        docs: impl IntoIterator<Item = DocId>,
        lease: Duration,
    ) -> M::Reply<Renewed> {
        let tasks = first_of(tasks, MODIFICATION_ENTRIES_MAX).collect();
        let docs = first_of(docs, MODIFICATION_ENTRIES_MAX).collect();
        self.client.run(self.renew_step(tasks, docs, lease))
    }

    fn renew_step(&self, tasks: Vec<TaskId>, docs: Vec<DocId>, lease: Duration) -> Result<Renew> {
        Renew::of(self.name()?, self.claimant.clone(), tasks, docs, lease)
    }

    /// Cancels claimed tasks: the next renewal ([`Renewed::cancelled`]), such as a worker's, tells the claimant to
    /// stop. Returns whether the task of each id is claimed, so that its claimant will be told. A task that is not
    /// claimed is not cancelled; delete it instead. The task itself stays as it is: its claimant can end it in any
    /// way, and is not refused. The next claim of the task and every change remove the cancellation. A claimant that
    /// hangs is not told: with `force` its tasks are deleted immediately. Its next renewal and whatever it does with
    /// them later are refused with `DEPENDENCY`, and a worker's job is lost.
    ///
    /// ```
    /// use millpond::tasks::LEASE_DEFAULT;
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// let id = store.insert("inbox", "1")?.id;
    /// assert_eq!(store.cancel([&id])?, [false]); // nobody has claimed it
    /// let task = store.claim(["inbox"], LEASE_DEFAULT)?.expect("it is available");
    /// assert_eq!(store.cancel([&id])?, [true]);
    /// assert_eq!(store.renew([task.handle()], [], LEASE_DEFAULT)?.cancelled, [id.clone()]);
    ///
    /// assert_eq!(store.cancel_force([&id])?, [true]);
    /// assert!(store.fetch([&id])?.is_empty());
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done; cancelling again is safe. A task that `force` has
    /// deleted is not claimed any more, so repeating the call returns false for it.
    pub fn cancel<I: AsRef<str>>(&self, ids: impl IntoIterator<Item = I>) -> M::Reply<Vec<bool>> {
        self.client.run(self.name().and_then(|name| Cancel::of(name, ids)))
    }

    /// As [`cancel`](Self::cancel), and deletes the tasks that are claimed: they are taken away from their claimants.
    pub fn cancel_force<I: AsRef<str>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> M::Reply<Vec<bool>> {
        let step = self.name().and_then(|name| Cancel::of(name, ids)).map(Cancel::force);
        self.client.run(step)
    }

    /// The tasks with these ids, from any queue, in the same order; missing ones are left out.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no id, more than [`PAGE_MAX`] and ids beyond their limits; `WRONG_TYPE` and
    /// `INCOMPATIBLE_VERSION` if the keys hold something else.
    pub fn fetch<I: AsRef<str>>(&self, ids: impl IntoIterator<Item = I>) -> M::Reply<Vec<Task>> {
        self.client.run(self.name().and_then(|name| FetchTasks::of(name, ids)))
    }

    /// A page of a queue's tasks, by time and id. Pages are not one snapshot: a task that is claimed between two
    /// pages may be on both or on neither.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above [`PAGE_MAX`];
    /// `WRONG_TYPE` and `INCOMPATIBLE_VERSION` if the keys hold something else.
    pub fn list(&self, queue: impl AsRef<str>, query: TaskQuery) -> M::Reply<TaskPage> {
        self.client.run(self.name().and_then(|name| ListTasks::of(name, queue.as_ref(), query)))
    }

    /// The queues that hold tasks or are paused, by name, each with its number of tasks: those that the filter
    /// selects, or all.
    ///
    /// # Errors
    /// As [`queue_stats`](Self::queue_stats).
    pub fn queues(&self, filter: Filter) -> M::Reply<Vec<(Arc<str>, u64)>> {
        let step = self.name().and_then(|name| ReadQueueStats::of(name, filter));
        let reply = self.client.run_then(step, |stats| {
            stats.into_iter().map(|stats| (stats.queue, stats.size)).collect()
        });
        M::named(reply, "tasks.queues")
    }

    /// Whether none of these queues holds a task.
    ///
    /// # Errors
    /// As [`queue_stats`](Self::queue_stats); also `INVALID_ARGUMENT` for a filter that names nothing.
    #[must_use = "it changes nothing"]
    pub fn are_empty(&self, filter: Filter) -> M::Reply<bool> {
        let step = self.name().and_then(|name| match filter.names_any() {
            true => ReadQueueStats::of(name, filter.limit(1)).map(ReadQueueStats::only_with_tasks),
            false => Err(invalid("the filter names no queue")),
        });
        let reply = self.client.run_then(step, |stats| stats.is_empty());
        M::named(reply, "tasks.are_empty")
    }

    /// Statistics of the queues that hold tasks or are paused, by name: those that the filter selects, or all. They
    /// are exact at one point in time for each queue, and are computed without reading the tasks.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above [`STATS_MAX`];
    /// `WRONG_TYPE` and `INCOMPATIBLE_VERSION` if the keys hold something else.
    pub fn queue_stats(&self, filter: Filter) -> M::Reply<Vec<QueueStats>> {
        self.client.run(self.name().and_then(|name| ReadQueueStats::of(name, filter)))
    }

    /// Pauses a queue: claims find nothing in it, as if it held no available task, until it is
    /// [resumed](Self::resume). Everything else continues: tasks are inserted, changed and renewed, leases end and
    /// expire, and workers finish the tasks that they hold. The pause is kept in the store, whether the queue holds
    /// tasks or not, and [`queue_stats`](Self::queue_stats) shows it: a queue that is paused exists, even if no task was
    /// ever in it.
    ///
    /// ```
    /// use millpond::tasks::LEASE_DEFAULT;
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// store.pause("inbox")?;
    /// store.insert("inbox", "1")?;
    /// assert_eq!(store.claim(["inbox"], LEASE_DEFAULT)?, None);
    /// assert!(store.queue_stats(Default::default())?[0].paused);
    /// store.resume("inbox")?;
    /// assert!(store.claim(["inbox"], LEASE_DEFAULT)?.is_some());
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits; `WRONG_TYPE` and `INCOMPATIBLE_VERSION` if the keys
    /// hold something else.
    pub fn pause(&self, queue: impl AsRef<str>) -> M::Reply<()> {
        self.client.run(self.name().and_then(|name| Pause::of(name, queue.as_ref(), true)))
    }

    /// Ends the [pause](Self::pause) of a queue, if it is paused, and wakes the claims that wait for its tasks.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn resume(&self, queue: impl AsRef<str>) -> M::Reply<()> {
        let reply =
            self.client.run(self.name().and_then(|name| Pause::of(name, queue.as_ref(), false)));
        M::named(reply, "tasks.resume")
    }

    /// Deletes the tasks of a queue that match a filter, one step per call. A step looks at up to
    /// [`limit`](TaskFilter::limit) tasks by time and id, and returns how many it deleted and the position where the
    /// next step continues. So a caller can watch the progress, stop after any step, and limit the rate by waiting
    /// between steps. Tasks that another claimant holds are kept, unless [`include_held`](TaskFilter::include_held)
    /// is set.
    ///
    /// ```
    /// use millpond::tasks::TaskFilter;
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// for number in ["1", "2", "3"] {
    ///     store.insert("inbox", number)?;
    /// }
    /// let (mut filter, mut deleted) = (TaskFilter::new().limit(2), 0);
    /// loop {
    ///     let swept = store.purge("inbox", filter.clone())?;
    ///     deleted += swept.tasks;
    ///     match swept.next {
    ///         Some(next) => filter = filter.after(next),
    ///         None => break,
    ///     }
    /// }
    /// assert_eq!(deleted, 3);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above [`SWEEP_TASKS_MAX`]; `WRONG_TYPE`
    /// and `INCOMPATIBLE_VERSION` if the keys hold something else.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the step may have been done. It can be repeated: it finds what is left.
    pub fn purge(&self, queue: impl AsRef<str>, filter: TaskFilter) -> M::Reply<Swept> {
        self.sweep("tasks.purge", queue.as_ref(), End::Purge, filter)
    }

    /// Moves tasks that match a filter from one queue to another, one step per call like [`purge`](Self::purge). They
    /// keep everything but their version, including their time, claimant, attempts and err. If a job holds a task
    /// that is moved, the job is lost.
    ///
    /// # Errors
    /// As [`purge`](Self::purge); also `INVALID_ARGUMENT` for a move to the same queue.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the step may have been done. It can be repeated: it finds what is left.
    pub fn move_tasks(
        &self,
        queue: impl AsRef<str>,
        to: impl AsRef<str>,
        filter: TaskFilter,
    ) -> M::Reply<Swept> {
        let end = End::Move(to.as_ref().into());
        self.sweep("tasks.move_tasks", queue.as_ref(), end, filter)
    }

    /// Moves tasks as [`move_tasks`](Self::move_tasks) does, and clears their attempts and err: for tasks of an error
    /// queue, such as `inbox/err`, that should be tried again. They keep their time, so tasks that are available keep
    /// their age.
    ///
    /// One call is one step, which looks at up to the limit of its filter. To redrive at a rate, such as 100 tasks a
    /// second, set that number as the limit and wait a second between calls, until a step returns no next position.
    /// You can stop after any step: each one is atomic, and the remaining tasks stay where they are.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use millpond::tasks::{Modification, NewTask, TaskFilter};
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// for err in ["timeout", "not found"] {
    ///     store.modify(Modification::new().insert(NewTask::new("inbox/err").attempt(3).err(err)))?;
    /// }
    /// let mut filter = TaskFilter::new().err("timeout").limit(100);
    /// while let Some(next) = store.redrive("inbox/err", "inbox", filter.clone())?.next {
    ///     filter = filter.after(next);
    ///     std::thread::sleep(Duration::from_secs(1)); // at most 100 tasks a second
    /// }
    /// let task = store.claim(["inbox"], millpond::tasks::LEASE_DEFAULT)?.expect("it was moved");
    /// assert_eq!((task.attempt, &*task.err), (0, ""));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`move_tasks`](Self::move_tasks).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the step may have been done. It can be repeated: it finds what is left.
    pub fn redrive(
        &self,
        queue: impl AsRef<str>,
        to: impl AsRef<str>,
        filter: TaskFilter,
    ) -> M::Reply<Swept> {
        let end = End::Redrive(to.as_ref().into());
        self.sweep("tasks.redrive", queue.as_ref(), end, filter)
    }

    fn sweep(
        &self,
        operation: &'static str,
        queue: &str,
        end: End,
        filter: TaskFilter,
    ) -> M::Reply<Swept> {
        let name = self.name();
        let step = name.and_then(|name| Sweep::of(name, self.claimant.clone(), queue, end, filter));
        M::named(self.client.run(step), operation)
    }

    /// Leases all documents with these primary keys, or none if another claimant holds one of them. They are in the
    /// order of the given keys, and within one key sorted by secondary key. The claimant that holds them can claim
    /// them again.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty key, no key or more than [`CLAIM_KEYS_MAX`], and names beyond their limits;
    /// `DEPENDENCY` if another claimant holds one of the documents.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` they may have been leased; claiming them again is safe.
    pub fn claim_docs<K: AsRef<str>>(
        &self,
        namespace: impl AsRef<str>,
        keys: impl IntoIterator<Item = K>,
        lease: Duration,
    ) -> M::Reply<Vec<Doc>> {
        self.client.run(self.name().and_then(|name| {
            let claimant = self.claimant.clone();
            ClaimDocs::of(name, claimant, namespace.as_ref(), keys, lease)
        }))
    }

    /// The document with these keys that was inserted without an explicit id, or `None` if there is none. A document
    /// with an explicit id is looked up by that id ([`fetch_docs`](Self::fetch_docs)).
    ///
    /// # Rust
    /// The key is a text, or the primary and the secondary key as a pair.
    ///
    /// ```
    /// use millpond::tasks::NewDoc;
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// store.put_doc(NewDoc::new("rates", "eur").secondary_key("2026").content("1.1"))?;
    /// let rate = store.get_doc("rates", ("eur", "2026"))?.expect("it was put");
    /// assert_eq!(rate.content.as_deref(), Some("1.1"));
    /// assert_eq!(store.get_doc("rates", "eur")?, None);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty key and names beyond their limits; `WRONG_TYPE` and
    /// `INCOMPATIBLE_VERSION` if the keys hold something else.
    pub fn get_doc(
        &self,
        namespace: impl AsRef<str>,
        key: impl Into<DocKey>,
    ) -> M::Reply<Option<Doc>> {
        let key = key.into();
        let step =
            self.name().and_then(|name| FetchDocs::of(name, namespace.as_ref(), [key.id()?]));
        let reply =
            self.client.run_then(step, move |docs| docs.into_iter().find(|doc| key.is_of(doc)));
        M::named(reply, "tasks.get_doc")
    }

    /// Inserts a document, or replaces the content of the document with the same id, in one step, and returns it as
    /// it is now. Without an explicit [id](NewDoc::id), that is the document with the same keys. A claimant that
    /// holds the document keeps holding it.
    ///
    /// ```
    /// use millpond::tasks::NewDoc;
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// for balance in ["100", "70"] {
    ///     store.put_doc(NewDoc::new("accounts", "ann").content(balance))?;
    /// }
    /// let account = store.get_doc("accounts", "ann")?.expect("it was put");
    /// assert_eq!((account.content.as_deref(), account.version), (Some("70"), 1));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`modify`](Self::modify); `INVALID_ARGUMENT` also for a document without a content;
    /// `DEPENDENCY` if another claimant holds the document, or one with other keys has its id.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done; if it is sent again, it overwrites what others
    /// have put since.
    pub fn put_doc(&self, doc: NewDoc) -> M::Reply<Doc> {
        let modification = Modification::new().put_doc(doc);
        let operation = modification.operation();
        let reply = self.client.run_then(self.modify_step(modification), |done| {
            done.inserted_docs.into_iter().next().expect("a document that is put is returned")
        });
        M::named(reply, operation)
    }

    /// The documents with these ids, in the same order; missing ones are left out.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub fn fetch_docs<I: AsRef<str>>(
        &self,
        namespace: impl AsRef<str>,
        ids: impl IntoIterator<Item = I>,
    ) -> M::Reply<Vec<Doc>> {
        self.client.run(self.name().and_then(|name| FetchDocs::of(name, namespace.as_ref(), ids)))
    }

    /// A page of a namespace's documents, by primary key, secondary key and id.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_docs(&self, namespace: impl AsRef<str>, query: DocQuery) -> M::Reply<DocPage> {
        self.client.run(self.name().and_then(|name| ListDocs::of(name, namespace.as_ref(), query)))
    }

    /// Statistics of the namespaces that hold documents, by name.
    ///
    /// # Errors
    /// As [`queue_stats`](Self::queue_stats).
    pub fn namespace_stats(&self, filter: Filter) -> M::Reply<Vec<NamespaceStats>> {
        self.client.run(self.name().and_then(|name| ReadNamespaceStats::of(name, filter)))
    }

    /// The time on the clock that decides when tasks become available and leases expire, in milliseconds since the
    /// Unix epoch.
    ///
    /// # Errors
    /// Only those of the connection.
    #[must_use = "it changes nothing"]
    pub fn time(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(ReadTime::of))
    }
}

crate::step::steps! {
    [embedded::State]
    Begin, Cancel, Claim, ClaimDocs, FetchDocs, FetchTasks, ListDocs, ListStores, ListTasks, Modify, ModifyMany, Pause,
    ReadNamespaceStats, ReadQueueStats, ReadTime, Renew, Sweep,
}

impl Task {
    /// Tasks as the scripts return them, each in fourteen elements.
    fn decode_all(replies: Replies, max: usize) -> Result<Vec<Task>> {
        Self::decode_each(replies, max)?.into_iter().collect()
    }

    /// The same, with `CORRUPT` in place of each task that no step can have written.
    fn decode_each(replies: Replies, max: usize) -> Result<Vec<Result<Task>>> {
        replies.all(max, |replies| {
            let behind = replies.len().saturating_sub(14);
            match Self::decode(replies) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    while replies.len() > behind {
                        replies.next()?;
                    }
                    Ok(Err(error))
                }
                task => task.map(Ok),
            }
        })
    }

    fn decode(replies: &mut Replies) -> Result<Task> {
        let id = decode_text(replies.next()?)?;
        let version = replies.next()?.number()?;
        let queue = decode_text(replies.next()?)?;
        let mut rest = || {
            Ok(Task {
                id: id.clone(),
                version,
                queue: queue.clone(),
                at_ms: replies.next()?.number()?,
                created_ms: replies.next()?.number()?,
                modified_ms: replies.next()?.number()?,
                claimant: decode_text(replies.next()?)?,
                claims: replies.next()?.number()?,
                attempt: replies.next()?.number()?,
                err: decode_text(replies.next()?)?,
                value: decode_optional_text(replies.next()?)?,
                priority: replies.next()?.number()?,
                expires_ms: Some(replies.next()?.number()?).filter(|expires| *expires > 0),
                headers: Headers::of_stored(&replies.next()?.bytes()?)?,
            })
        };
        rest().map_err(|error: Error| match error.kind() {
            ErrorKind::Corrupt => {
                let what = format!("the task {id} of the queue {queue} cannot be read");
                Error::new(ErrorKind::Corrupt, format!("{what}: {}", error.message()))
            }
            _ => error,
        })
    }
}

impl Doc {
    /// Documents as the scripts return them, each in ten elements.
    fn decode_all(replies: Replies, max: usize) -> Result<Vec<Doc>> {
        replies.all(max, |replies| {
            Ok(Doc {
                namespace: decode_text(replies.next()?)?,
                id: decode_text(replies.next()?)?,
                version: replies.next()?.number()?,
                key: decode_text(replies.next()?)?,
                secondary_key: decode_text(replies.next()?)?,
                content: decode_optional_text(replies.next()?)?,
                at_ms: replies.next()?.number()?,
                claimant: decode_text(replies.next()?)?,
                created_ms: replies.next()?.number()?,
                modified_ms: replies.next()?.number()?,
            })
        })
    }
}

fn decode_text(reply: Reply) -> Result<Arc<str>> {
    match String::from_utf8(reply.bytes()?) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(Error::new(ErrorKind::Corrupt, "the store holds a text that is not UTF-8")),
    }
}

fn decode_optional_text(reply: Reply) -> Result<Option<Arc<str>>> {
    match reply.ok()? {
        Reply::Nil => Ok(None),
        text => decode_text(text).map(Some),
    }
}
