//! The loop of claims: yields tasks to work on, and waits for them when there are none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::claim::Claimed;
use super::{Claim, LEASE_DEFAULT, Task, TaskStore};
use crate::client::{Blocking, Mode};
use crate::error::{Result, invalid};
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};

/// The loop of a claimant: batches of leased tasks, by default of one task. Made by [`TaskStore::claims`].
///
/// Asking for the next batch does not affect the one before: its tasks are leased until they are deleted or changed,
/// or until the lease expires. Without [`wait`](Self::wait) the loop ends when nothing is available. A non-retryable
/// error always ends the loop.
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
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Claims<M: Mode = Blocking>(PollLoop<ClaimSource<M>>);

iterate! {
    /// The next batch, or `None` when the loop is over; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// As [`TaskStore::claim_many`].
    ///
    /// # Delivery
    /// A future that is dropped may have leased tasks that the caller never saw. The next call continues the dropped
    /// one.
    Claims yields Vec<Task>, Vec<Task>
}

impl<M: Mode> Claims<M> {
    pub(super) fn new(store: TaskStore<M>, queues: Result<Vec<Arc<str>>>) -> Self {
        Self(PollLoop::new(ClaimSource::new(store, queues, LEASE_DEFAULT)))
    }

    /// How long tasks are leased; [`LEASE_DEFAULT`] by default.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.0.source.lease = lease;
        self
    }

    /// Up to `max` tasks per batch; one by default.
    #[must_use]
    pub fn max(mut self, max: usize) -> Self {
        self.0.source.max = max;
        self
    }

    /// Waits up to `idle` for a task when none is available, instead of ending immediately; the time starts again
    /// with each batch. All waiting loops of a process share one connection. A task that becomes available, by a step
    /// or because its time has come, wakes one of them.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.0.wait(Some(idle));
        self
    }

    /// Stops listening for tasks until the next batch is asked for; the time of [`wait`](Self::wait) then starts
    /// again. For a caller that stops asking but keeps the loop: a loop that listens takes wake-ups that another
    /// waiting loop would get.
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
    }
}

/// The claims of tasks from some queues.
pub(super) struct ClaimSource<M: Mode> {
    pub(super) store: TaskStore<M>,
    queues: Result<Vec<Arc<str>>, Arc<str>>,
    lease: Duration,
    pub(super) max: usize,
}

impl<M: Mode> ClaimSource<M> {
    pub(super) fn new(store: TaskStore<M>, queues: Result<Vec<Arc<str>>>, lease: Duration) -> Self {
        let queues = queues.map_err(|error| error.message().into());
        Self { store, queues, lease, max: 1 }
    }

    pub(super) fn step(&self, claimant: Arc<str>, waits: bool) -> Result<Claim> {
        let queues = self.queues.clone().map_err(|message| invalid(&*message))?;
        Ok(self.store.claim_step_by(claimant, queues, self.lease, self.max)?.waiting(waits))
    }

    /// Makes sure that a loop is woken when the next tasks are available: this one, if it got nothing, or another one
    /// that waits for the same queues.
    pub(super) fn announce(&self, claimed: &Claimed, waiting: &mut Waiting) -> Result<()> {
        let (Ok(queues), false) = (&self.queues, claimed.next_in_ms.is_empty()) else {
            return Ok(());
        };
        let (client, name) = (&self.store.client, self.store.name()?);
        let topics: Vec<_> = queues.iter().map(|queue| name.topic(queue)).collect();
        if claimed.tasks.is_empty() {
            waiting.listen(|| client.listen(topics.clone()))?;
        }
        for (topic, next_in_ms) in topics.iter().zip(&claimed.next_in_ms) {
            let next = next_in_ms.map(Duration::from_millis);
            if next == Some(Duration::ZERO) {
                // There are more tasks: a wake-up for them is passed on when the listener is dropped.
                continue;
            }
            waiting.used(topic);
            // On a shared server, steps of other processes may go unheard.
            if let Some(delay) = next.into_iter().chain(client.fallback_poll_interval()).min() {
                client.wake_after(topic, delay);
            }
        }
        Ok(())
    }
}

impl<M: Mode> Source for ClaimSource<M> {
    type Mode = M;
    type Output = Claimed;
    type Item = Vec<Task>;

    fn ask(&mut self, _: Instant, waits: bool) -> M::Reply<Claimed> {
        let step = self.step(self.store.claimant.clone(), waits);
        self.store.client.run(step)
    }

    fn handle(
        &mut self,
        result: Result<Claimed>,
        waiting: &mut Waiting,
    ) -> Result<Found<Vec<Task>>> {
        let claimed = result?;
        self.announce(&claimed, waiting)?;
        Ok(match claimed.tasks.is_empty() {
            true => Found::Idle(None),
            false => Found::Item(claimed.tasks),
        })
    }
}
