//! Claim: lease available tasks.

use std::sync::Arc;
use std::time::Duration;

use super::name::Name;
use super::{Task, embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Chance, Invocation, Operation, StepContext, head};

/// The most tasks of one claim.
pub const CLAIM_TASKS_MAX: usize = 1_000;

/// The most queues of one claim.
pub const CLAIM_QUEUES_MAX: usize = 1_000;

/// Leases available tasks for a claimant: it goes through the queues in an order derived from `seed`, and takes tasks
/// from each until it has enough.
#[derive(Clone, Debug)]
pub struct Claim {
    name: Name,
    claimant: Arc<str>,
    pub(super) queues: Vec<Arc<str>>,
    lease: Duration,
    max: usize,
    seed: u32,
    is_waiting: bool,
    is_each: bool,
    suspects: u32,
}

/// What a [`Claim`] took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The tasks, as they are now, in the order in which they were taken.
    pub tasks: Vec<Task>,
    /// For a claim that [waits](Claim::waiting): for each queue, in the order of the request, in how many
    /// milliseconds its next task becomes available, as far as is known now; 0 if one is available.
    pub next_in_ms: Vec<Option<u64>>,
    /// For each task, how often it was claimed since it was inserted, changed or released, this claim included: 1, or
    /// more if a lease of it has expired since. Claims as a [suspect](Claim::suspects) that were not begun do not count.
    pub unended: Vec<u32>,
}

impl Claim {
    /// Leases up to `max` tasks of these queues for `lease`. From the first tasks of a queue it takes one at random,
    /// derived from `seed`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits, no queue or more than [`CLAIM_QUEUES_MAX`], and
    /// a `max` of 0 or above [`CLAIM_TASKS_MAX`].
    pub fn new<Q: AsRef<str>>(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        queues: impl IntoIterator<Item = Q>,
        lease: Duration,
        max: usize,
        seed: u32,
    ) -> Result<Self> {
        let queues = queues_of(queues)?;
        Self::of(Name::new(name.as_ref())?, claimant.as_ref().into(), queues, lease, max, seed)
    }

    pub(super) fn of(
        name: Name,
        claimant: Arc<str>,
        queues: Vec<Arc<str>>,
        lease: Duration,
        max: usize,
        seed: u32,
    ) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::delay("lease", lease)?;
        let is_allowed = (1..=CLAIM_TASKS_MAX).contains(&max);
        ensure!(is_allowed, "a claim takes 1 to {CLAIM_TASKS_MAX} tasks, not {max}");
        let (is_waiting, is_each, suspects) = (false, false, 0);
        Ok(Self { name, claimant, queues, lease, max, seed, is_waiting, is_each, suspects })
    }

    /// Whether to report when the next task of each queue becomes available.
    #[must_use]
    pub fn waiting(self, is_waiting: bool) -> Self {
        Self { is_waiting, ..self }
    }

    /// Whether each task gets its own claimant: this one, `.` and the number of the task, from 1.
    #[must_use]
    pub fn for_each(self, is_each: bool) -> Self {
        Self { is_each, ..self }
    }

    /// From how many claims without an end on a task is a suspect, which may be what ends the processes that have it; 0,
    /// the default, for never. A suspect is claimed alone, and its claim counts as one without an end only once it has
    /// [begun](super::Begin).
    #[must_use]
    pub fn suspects(self, from: u32) -> Self {
        Self { suspects: from, ..self }
    }
}

/// The queues of a claim, each once.
pub(super) fn queues_of<Q: AsRef<str>>(
    queues: impl IntoIterator<Item = Q>,
) -> Result<Vec<Arc<str>>> {
    names_of(queues, CLAIM_QUEUES_MAX, "queue", limits::queue)
}

/// The names in a claim, each once: up to `max` of `what`, all of which pass a check.
pub(super) fn names_of<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
    max: usize,
    what: &str,
    check: impl Fn(&str) -> Result<()>,
) -> Result<Vec<Arc<str>>> {
    let mut all: Vec<Arc<str>> = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        ensure!(index < max, "a claim names at most {max} {what}s");
        check(name.as_ref())?;
        if !all.iter().any(|known| **known == *name.as_ref()) {
            all.push(name.as_ref().into());
        }
    }
    ensure!(!all.is_empty(), "a claim names at least one {what}");
    Ok(all)
}

impl Operation for Claim {
    head!("tasks.claim", embedded::State, name, ["../step/commands.lua", "store.lua", "claim.lua"]);
    type Output = Claimed;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.claimant.as_bytes());
        args.push_number(self.lease.as_millis() as u64);
        args.push_number(self.max as u64);
        args.push_number(self.seed.into());
        args.push(if self.is_waiting { b"1" } else { b"0" });
        args.push(if self.is_each { b"1" } else { b"0" });
        args.push_number(self.suspects.into());
        self.queues.iter().for_each(|queue| args.push(queue.as_bytes()));
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Claimed> {
        let mut parts = reply.list()?;
        let tasks = Task::decode_each(parts.next()?.list()?, self.max)?;
        let next_in = parts.next()?.list()?;
        let unended = parts.next()?.list()?;
        parts.end()?;
        let awaited = if self.is_waiting { self.queues.len() } else { 0 };
        if next_in.len() != awaited || unended.len() != tasks.len() {
            return Err(malformed());
        }
        let next_in_ms = next_in.all(self.queues.len(), |replies| match replies.next()? {
            Reply::Int(-1) => Ok(None),
            next_in => next_in.number().map(Some),
        })?;
        let unended: Vec<u32> = unended.all(self.max, |replies| replies.next()?.number())?;
        // A task whose value is damaged stays leased and goes to no caller; the others go to the caller.
        let (tasks, unended) = tasks
            .into_iter()
            .zip(unended)
            .filter_map(|(task, unended)| Some((task.ok()?, unended)))
            .unzip();
        Ok(Claimed { tasks, next_in_ms, unended })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Claimed> {
        let mut chance = Chance::new(self.seed);
        let mut order: Vec<usize> = (0..self.queues.len()).collect();
        chance.shuffle(&mut order);
        let lease_ms = self.lease.as_millis() as u64;
        let mut claimed = Claimed::default();
        for index in order {
            let left = self.max - claimed.tasks.len();
            if left == 0 {
                break;
            }
            let (claimant, is_each, suspects) = (&self.claimant, self.is_each, self.suspects);
            let taking = embedded::Taking { claimant, is_each, lease_ms, max: left, suspects };
            let queue = &self.queues[index];
            if state.claim(&self.name, queue, &taking, &mut chance, &mut claimed, context) {
                break;
            }
        }
        if self.is_waiting {
            let next = self.queues.iter().map(|queue| state.next_in_ms(queue, context));
            claimed.next_in_ms = next.collect();
        }
        Ok(claimed)
    }
}

/// How many of the first available tasks of a queue a claim picks from.
pub(super) const PICK_WINDOW: usize = 8;

/// Which of the first `available` tasks of a queue to take, by age: the oldest with a probability of one half, each
/// younger one with half the probability of the one before, up to [`PICK_WINDOW`].
pub(super) fn pick(chance: &mut Chance, available: usize) -> usize {
    let last = available.min(PICK_WINDOW) - 1;
    let mut picked = 0;
    while picked < last && chance.draw() < Chance::MODULUS / 2 {
        picked += 1;
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_half_the_time() {
        let mut counts = [0_u32; PICK_WINDOW];
        for seed in 0..100_000 {
            counts[pick(&mut Chance::new(seed * 7_919), 1_000)] += 1;
        }
        for (index, count) in counts.iter().enumerate() {
            let expected = 100_000.0 / 2_f64.powi((index + 1).min(PICK_WINDOW - 1) as i32);
            let off = (f64::from(*count) - expected).abs();
            assert!(off < 5.0 * expected.sqrt(), "{index}: {count}, not {expected}");
        }
        assert_eq!(pick(&mut Chance::new(1), 1), 0);
    }
}
