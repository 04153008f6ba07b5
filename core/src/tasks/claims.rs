//! The loop of claims: tasks to work on, and a wait for them when there are none.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;

use super::claim::Claimed;
use super::{Claim, ID_CHARS_MAX, LEASE_DEFAULT, Task, TaskStore, limits};
use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::runtime::random;
use crate::runtime::waiters::{Idle, Listener};

/// The loop of a claimant: batches of leased tasks, of one task if nothing is said. An iterator for a
/// blocking client, a [`Stream`] for an async one; made by [`TaskStore::claims`].
///
/// Asking for the next batch does nothing to the one before: its tasks are leased until they are
/// deleted or changed, or until the lease is over. Without [`wait`](Self::wait) the loop ends when
/// nothing is available, and in any case after an error that trying again cannot mend.
///
/// ```
/// use std::time::Duration;
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// for value in ["1", "2", "3"] {
///     store.insert("inbox", value)?;
/// }
/// for batch in store.claims(["inbox"]).max(2).lease(Duration::from_secs(60)) {
///     for task in batch? {
///         store.modify(millpond::tasks::Modification::new().delete(&task))?;
///     }
/// }
/// assert!(store.queues(Default::default())?.is_empty());
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct Claims<M: Mode = Blocking> {
    store: TaskStore<M>,
    queues: Result<Vec<Arc<str>>, Arc<str>>,
    lease: Duration,
    max: usize,
    wait: Option<Duration>,
    idle: Option<Idle>,
    asked: Option<Pending<Claimed>>,
    /// Each claim is by a claimant of its own, that of the job which it is for.
    is_for_jobs: bool,
    /// When the last step was sent: what it answered is leased since then, or later.
    sent: Instant,
    /// How often the first task of the batch was claimed since its last orderly end.
    unended: u32,
    /// Set by an error that the same call would meet for ever.
    is_over: bool,
}

impl<M: Mode> Claims<M> {
    pub(super) fn new(store: TaskStore<M>, queues: Result<Vec<Arc<str>>>) -> Self {
        Self {
            store,
            queues: queues.map_err(|error| error.message().into()),
            lease: LEASE_DEFAULT,
            max: 1,
            wait: None,
            idle: None,
            asked: None,
            is_for_jobs: false,
            sent: Instant::now(),
            unended: 0,
            is_over: false,
        }
    }

    /// How long tasks are leased; [`LEASE_DEFAULT`] if not said.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Up to so many tasks a batch; one if not said.
    #[must_use]
    pub fn max(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    /// Waits up to `idle` for a task when none is available, in place of ending at once; the time starts
    /// anew with each batch. All that wait in a process share one connection; a task that becomes
    /// available, by a step or as its time comes, wakes one of them.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.wait = Some(idle);
        self
    }

    /// Stops listening for tasks until the next batch is asked for, and the time of
    /// [`wait`](Self::wait) starts anew then. For whoever gives up asking and keeps the loop: a loop
    /// that listens is told of tasks in place of another one that waits.
    pub fn stop_waiting(&mut self) {
        self.idle = None;
    }

    /// Has each task claimed by a claimant of its own.
    pub(super) fn for_jobs(mut self) -> Self {
        self.is_for_jobs = true;
        self
    }

    /// How long to wait for tasks from now on; nothing for not at all.
    pub(super) fn set_wait(&mut self, idle: Option<Duration>) {
        self.wait = idle;
    }

    /// Whether an error has ended the loop.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn unended(&self) -> u32 {
        self.unended
    }

    pub(super) fn sent(&self) -> Instant {
        self.sent
    }

    fn step(&mut self) -> Result<Claim> {
        self.sent = Instant::now();
        let queues = match &self.queues {
            Ok(queues) => queues.clone(),
            Err(message) => return Err(Error::new(ErrorKind::InvalidArgument, &**message)),
        };
        let claimant = match self.is_for_jobs {
            true => claimant_of_job(&self.store.claimant)?,
            false => self.store.claimant.clone(),
        };
        let step = self.store.claim_step_by(claimant, queues, self.lease, self.max)?;
        Ok(step.waiting(self.wait.is_some()))
    }

    /// Takes in what a claim answered: what the loop yields, or nothing if it has to wait.
    fn took(&mut self, answer: Result<Claimed>) -> Option<Result<Vec<Task>>> {
        match answer {
            Ok(claimed) => {
                self.begin_waiting(&claimed);
                self.unended = claimed.unended.first().copied().unwrap_or(0);
                (!claimed.tasks.is_empty()).then(|| {
                    self.stop_waiting();
                    Ok(claimed.tasks)
                })
            }
            Err(error) => Some(Err(self.failed(error))),
        }
    }

    fn failed(&mut self, error: Error) -> Error {
        self.stop_waiting();
        self.is_over = error.retry() == Retry::Never;
        error
    }

    /// Sees to it that somebody is woken when the next tasks are available: this loop, if it got
    /// nothing, or another one that waits for the same queues.
    fn begin_waiting(&mut self, claimed: &Claimed) {
        let (Some(wait), Ok(queues), Ok(name)) = (self.wait, &self.queues, self.store.name())
        else {
            return;
        };
        let topics: Vec<_> = queues.iter().map(|queue| name.topic(queue)).collect();
        let client = &self.store.client;
        if claimed.tasks.is_empty() && self.idle.is_none() {
            self.idle = Some(Idle::begin(wait, client.listen(topics.clone())));
        }
        for (topic, next_in_ms) in topics.iter().zip(&claimed.next_in_ms) {
            let next = next_in_ms.map(Duration::from_millis);
            if next == Some(Duration::ZERO) {
                // There is more: a wake-up for it is passed on when the listener goes.
                continue;
            }
            if let Some(idle) = &self.idle {
                idle.listener.used(topic);
            }
            // On a server that is shared, steps of others may go unheard.
            let look = client.fallback_poll_interval();
            if let Some(delay) = next.into_iter().chain(look).min() {
                client.wake_after(topic, delay);
            }
        }
    }

    /// The listener to wait on and until when; `None` when the loop is over.
    fn idle(&self) -> Option<(&Listener, Option<Instant>)> {
        let idle = self.idle.as_ref().filter(|idle| !idle.is_over())?;
        Some((&idle.listener, idle.deadline))
    }
}

/// A claimant for one job, unique over processes that share this one: as much of this one as there is room
/// for, and a random number.
fn claimant_of_job(claimant: &str) -> Result<Arc<str>> {
    limits::claimant(claimant)?;
    let number = format!("/{:016x}", random::quick());
    let mut ends = claimant.char_indices().map(|(end, _)| end);
    let kept = ends.nth(ID_CHARS_MAX - number.len()).map_or(claimant, |end| &claimant[..end]);
    Ok(format!("{kept}{number}").into())
}

impl Iterator for Claims<Blocking> {
    type Item = Result<Vec<Task>>;

    fn next(&mut self) -> Option<Result<Vec<Task>>> {
        while !self.is_over {
            let step = self.step();
            let answer = self.store.client.run(step);
            if let Some(taken) = self.took(answer) {
                return Some(taken);
            }
            let Some((listener, until)) = self.idle() else { break };
            if let Err(error) = listener.wait(until) {
                self.stop_waiting();
                return Some(Err(error));
            }
        }
        self.stop_waiting();
        None
    }
}

impl Stream for Claims<Async> {
    type Item = Result<Vec<Task>>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<Task>>>> {
        let this = self.get_mut();
        while !this.is_over {
            if let Some(idle) = &this.idle
                && this.asked.is_none()
                && idle.listener.poll(context).is_pending()
            {
                return Poll::Pending;
            }
            if this.asked.is_none() {
                let step = this.step();
                this.asked = Some(this.store.client.run(step));
            }
            let asked = this.asked.as_mut().expect("it was just asked");
            let answer = std::task::ready!(Pin::new(asked).poll(context));
            this.asked = None;
            if let Some(taken) = this.took(answer) {
                return Poll::Ready(Some(taken));
            }
            let Some((listener, until)) = this.idle() else { break };
            listener.wake_at(until);
        }
        this.stop_waiting();
        Poll::Ready(None)
    }
}

impl Claims<Async> {
    /// The next batch, or `None` when the loop is over; what the [`Stream`] yields.
    ///
    /// # Errors
    /// As [`TaskStore::claim_many`].
    ///
    /// # Delivery
    /// A future that is dropped may have leased tasks that nobody saw. The next call of this goes on with
    /// the one that was dropped.
    pub async fn next(&mut self) -> Option<Result<Vec<Task>>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<M: Mode> fmt::Debug for Claims<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").field("max", &self.max).finish_non_exhaustive()
    }
}
