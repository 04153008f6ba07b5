//! The loop of a worker's jobs, each with its own claimant.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::claim::Claimed;
use super::claims::ClaimSource;
use super::conflicts::Conflicts;
use super::job::JobCore;
use super::modify_many::MODIFICATIONS_MAX;
use super::run::Tasks;
use super::worker::Policy;
use super::{CLAIM_TASKS_MAX, ID_CHARS_MAX, Job, Modification, Modify, ModifyMany, limits};
use crate::client::{Blocking, Mode};
use crate::error::Result;
use crate::worker::end::report;
use crate::worker::ids;
use crate::worker::machine::Batch;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};
use crate::worker::queue::Room;
use crate::worker::report::ReportKind;

/// The jobs of a [`Worker`](super::Worker). The loop ends as [`Claims`](super::Claims) do, but first processes again
/// the tasks that it gave back because their documents were held by others.
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Jobs<M: Mode = Blocking>(PollLoop<Single<M>>);

iterate! {
    /// The next job, or `None` when the loop is over; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// As [`TaskStore::claim`](super::TaskStore::claim).
    Jobs yields Job, Job<crate::client::Async>
}

impl<M: Mode> Jobs<M> {
    pub(super) fn new(takes: Takes<M>, timeout: Option<Duration>) -> Self {
        let wait = takes.wait;
        // Its caller says when a job begins, and beside which ones.
        let takes = Takes { suspects_from: 0, ..takes };
        let mut jobs = PollLoop::new(Single { takes, timeout });
        jobs.wait(wait);
        Self(jobs)
    }

    /// Stops listening for tasks until the next job is asked for; see
    /// [`Claims::stop_listening`](super::Claims::stop_listening).
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
    }
}

/// Claims of tasks for jobs, each job with its own claimant.
pub(crate) struct Takes<M: Mode> {
    claims: ClaimSource<M>,
    policy: Arc<Policy>,
    wait: Option<Duration>,
    conflicts: Arc<Conflicts>,
    /// From how many claims without an end on a task is a suspect, 0 for never.
    suspects_from: u32,
    /// When the claim in progress was sent: what it returns has been leased since then, or since later.
    claimed_at: Option<Instant>,
    /// The modifications that put aside tasks that were claimed too often, before the next claim.
    put_aside: Vec<Modify>,
}

impl<M: Mode> Takes<M> {
    pub(super) fn new(claims: ClaimSource<M>, policy: Arc<Policy>, wait: Option<Duration>) -> Self {
        let conflicts = Arc::new(Conflicts::new());
        let (suspects_from, claimed_at, put_aside) = (policy.suspects_from(), None, Vec::new());
        Self { claims, policy, wait, conflicts, suspects_from, claimed_at, put_aside }
    }

    /// The loop of these claims, which waits for up to this time whenever nothing is available.
    pub(super) fn waiting(mut self, wait: Option<Duration>) -> PollLoop<Self> {
        self.wait = wait;
        let mut takes = PollLoop::new(self);
        takes.wait(wait);
        takes
    }

    /// The jobs of the claimed tasks; tasks that were claimed too often are put aside.
    fn batch(&mut self, claimed: Claimed, claimed_at: Instant) -> Result<Batch<Arc<JobCore<M>>>> {
        let mut batch =
            Batch { jobs: Vec::with_capacity(claimed.tasks.len()), reports: Vec::new() };
        for (task, unended) in claimed.tasks.into_iter().zip(claimed.unended) {
            let (store, policy) = (self.claims.store.clone(), self.policy.clone());
            let queue = policy.error_queue_of(&task);
            let conflicts = self.conflicts.clone();
            let is_suspect = self.suspects_from > 0 && unended > self.suspects_from;
            let suspect = is_suspect.then_some(unended);
            let job = JobCore::new(store, task, policy, conflicts, (claimed_at, suspect))?;
            // A worker of the error queue itself should see it.
            if self.policy.may_claim(unended) || queue == job.task.queue {
                batch.jobs.push(Arc::new(job));
                continue;
            }
            job.lease.stop();
            let err = format!("crashed: claimed {} times without an end", unended - 1);
            let change = job.task.change().quarantine(&err, &queue);
            let modification = Modification::new().change(change);
            self.put_aside.push(job.store.modify_step_by(&job.task.claimant, modification)?);
            batch.reports.push(report::<Tasks<M>>(ReportKind::Dead, Arc::new(job), &err, None));
        }
        Ok(batch)
    }
}

impl<M: Mode> Room for Takes<M> {
    fn set_room(&mut self, room: usize) {
        self.claims.max = room.min(CLAIM_TASKS_MAX);
    }
}

impl<M: Mode> Source for Takes<M> {
    type Mode = M;
    type Output = Claimed;
    type Item = Batch<Arc<JobCore<M>>>;

    fn ask(&mut self, now: Instant, waits: bool) -> M::Reply<Claimed> {
        let store = &self.claims.store;
        if !self.put_aside.is_empty() {
            let count = self.put_aside.len().min(MODIFICATIONS_MAX);
            let step = ModifyMany::new(self.put_aside.drain(..count).collect());
            // A task that has changed in the meantime need no longer be put aside.
            return store.client.run_then(step, |_| Claimed::default());
        }
        self.claimed_at = Some(now);
        let claimant = claimant_of_jobs(&store.claimant);
        let is_each = self.claims.max > 1;
        let step = claimant.and_then(|claimant| self.claims.step(claimant, waits));
        store.client.run(step.map(|step| step.for_each(is_each).suspects(self.suspects_from)))
    }

    fn handle(
        &mut self,
        result: Result<Claimed>,
        waiting: &mut Waiting,
    ) -> Result<Found<Self::Item>> {
        let claimed = result?;
        let Some(claimed_at) = self.claimed_at.take() else { return Ok(Found::Nothing) };
        self.claims.announce(&claimed, waiting)?;
        if claimed.tasks.is_empty() {
            if waiting.is_over() {
                // Some tasks may have been given back only for a moment.
                let left = self.conflicts.left(claimed_at);
                waiting.reset(left.or(self.wait));
                if left.is_some() {
                    return Ok(Found::Nothing);
                }
            }
            return Ok(Found::Idle(None));
        }
        waiting.reset(self.wait);
        self.batch(claimed, claimed_at).map(Found::Item)
    }
}

/// Claims of one task.
struct Single<M: Mode> {
    takes: Takes<M>,
    /// How long the caller may work on each.
    timeout: Option<Duration>,
}

impl<M: Mode> Source for Single<M> {
    type Mode = M;
    type Output = Claimed;
    type Item = Job<M>;

    fn ask(&mut self, now: Instant, waits: bool) -> M::Reply<Claimed> {
        self.takes.ask(now, waits)
    }

    fn handle(&mut self, result: Result<Claimed>, waiting: &mut Waiting) -> Result<Found<Job<M>>> {
        Ok(match self.takes.handle(result, waiting)? {
            Found::Item(mut batch) => {
                let job = batch.jobs.pop();
                job.map_or(Found::Nothing, |job| Found::Item(Job::new(job, None, self.timeout)))
            }
            Found::Nothing => Found::Nothing,
            Found::Idle(check) => Found::Idle(check),
            Found::Over => Found::Over,
        })
    }
}

/// A claimant for the jobs of one claim, unique across processes that share this claimant: as much of this claimant
/// as there is room for, and a random number. A claim of several tasks adds the number of each.
fn claimant_of_jobs(claimant: &str) -> Result<Arc<str>> {
    limits::claimant(claimant)?;
    let number = format!("/{}", ids::unique_id());
    let mut ends = claimant.char_indices().map(|(end, _)| end);
    let most = ID_CHARS_MAX - number.len() - ".1000".len();
    let kept = ends.nth(most).map_or(claimant, |end| &claimant[..end]);
    Ok(format!("{kept}{number}").into())
}
