//! The loop of a worker: jobs, each by a claimant of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::claim::Claimed;
use super::claims::ClaimSource;
use super::worker::Policy;
use super::{ID_CHARS_MAX, Job, Modification, Modify, limits};
use crate::client::{Blocking, Mode};
use crate::error::{ErrorKind, Result};
use crate::runtime::backoff::Backoff;
use crate::worker::backoff::Contention;
use crate::worker::ids;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};

/// How long a task whose documents are taken is put off.
const TAKEN: Backoff =
    Backoff { first: Duration::from_millis(16), most: Duration::from_millis(128) };

/// By how much later than that it may be available on the clock of a server.
const TAKEN_SLACK: Duration = Duration::from_millis(50);

/// The jobs of a [`Worker`](super::Worker). It ends as [`Claims`](super::Claims) do, but
/// not before it has seen again the tasks that it gave back because their documents were taken.
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Jobs<M: Mode = Blocking>(PollLoop<JobSource<M>>);

iterate! {
    /// The next job, or `None` when the loop is over; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// As [`TaskStore::claim`](super::TaskStore::claim).
    Jobs yields Job, Job<crate::client::Async>
}

impl<M: Mode> Jobs<M> {
    pub(super) fn new(claims: ClaimSource<M>, policy: Arc<Policy>, wait: Option<Duration>) -> Self {
        let contention = Arc::new(Contention::new(TAKEN, TAKEN_SLACK));
        let quarantine = None;
        let source = JobSource { claims, policy, wait, contention, claimed_at: None, quarantine };
        let mut jobs = PollLoop::new(source);
        jobs.wait(wait);
        Self(jobs)
    }

    /// Stops listening for tasks until the next job is asked for; see
    /// [`Claims::stop_listening`](super::Claims::stop_listening).
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
    }
}

/// Claims of one task, each by a claimant of its own.
struct JobSource<M: Mode> {
    claims: ClaimSource<M>,
    policy: Arc<Policy>,
    wait: Option<Duration>,
    contention: Arc<Contention>,
    /// When the claim was sent that is under way: what it returns is leased since then, or later.
    claimed_at: Option<Instant>,
    /// What puts a task aside that was claimed too often, before the next claim.
    quarantine: Option<Result<Modify>>,
}

impl<M: Mode> Source for JobSource<M> {
    type Mode = M;
    type Output = Claimed;
    type Item = Job<M>;

    fn ask(&mut self, now: Instant, waits: bool) -> M::Reply<Claimed> {
        let store = &self.claims.store;
        if let Some(step) = self.quarantine.take() {
            return store.client.run_then(step, |_| Claimed::default());
        }
        self.claimed_at = Some(now);
        let claimant = claimant_of_job(&store.claimant);
        store.client.run(claimant.and_then(|claimant| self.claims.step(claimant, waits)))
    }

    fn handle(&mut self, result: Result<Claimed>, waiting: &mut Waiting) -> Result<Found<Job<M>>> {
        let Some(claimed_at) = self.claimed_at.take() else {
            return match result {
                Err(error) if error.kind() != ErrorKind::Dependency => Err(error),
                // A task that somebody changed meanwhile need not be put aside any more.
                _ => Ok(Found::Nothing),
            };
        };
        let claimed = result?;
        self.claims.announce(&claimed, waiting)?;
        let unended = claimed.unended.first().copied().unwrap_or(0);
        let Some(task) = claimed.tasks.into_iter().next() else {
            if waiting.is_over() {
                // Some tasks may have been given back only for a moment.
                let left = self.contention.left();
                waiting.reset(left.or(self.wait));
                if left.is_some() {
                    return Ok(Found::Nothing);
                }
            }
            return Ok(Found::Idle(None));
        };
        waiting.reset(self.wait);
        let (store, policy) = (&self.claims.store, &self.policy);
        let queue = policy.error_queue_of(&task);
        // A worker of the error queue itself is there to see it.
        if policy.max_claims == 0 || unended <= policy.max_claims || queue == task.queue {
            let (policy, contention) = (policy.clone(), self.contention.clone());
            let job = Job::new(store.clone(), task, policy, contention, claimed_at)?;
            return Ok(Found::Item(job));
        }
        let err = format!("claimed {} times without an end", unended - 1);
        let change = task.change().quarantine(&err, &queue);
        let modification = Modification::new().change(change);
        self.quarantine = Some(store.modify_step_by(&task.claimant, modification));
        Ok(Found::Nothing)
    }
}

/// A claimant for one job, unique over processes that share this one: as much of this one as there is room
/// for, and a random number.
fn claimant_of_job(claimant: &str) -> Result<Arc<str>> {
    limits::claimant(claimant)?;
    let number = format!("/{}", ids::unique_id());
    let mut ends = claimant.char_indices().map(|(end, _)| end);
    let kept = ends.nth(ID_CHARS_MAX - number.len()).map_or(claimant, |end| &claimant[..end]);
    Ok(format!("{kept}{number}").into())
}
