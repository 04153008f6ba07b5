//! Sweeps: find some tasks of a queue at a time, then lock them and check them again.

use std::sync::Arc;

use super::lease::Leased;
use super::modify::{LockSet, Locked};
use super::queue::{NOBODY, Notes, Record};
use super::{State, TASKS_A_HOLD};
use crate::step::StepContext;
use crate::tasks::sweep::{End, Sweep, Swept};
use crate::tasks::task_filter::Seen;
use crate::tasks::{Position, VALUE_BYTES_MAX};

impl Sweep {
    fn lets(&self, task: &Record, now_ms: u64) -> bool {
        let seen = Seen {
            at_ms: task.at_ms,
            claims: task.claims,
            claimant: &task.claimant,
            err: task.notes.err(),
            is_held: task.is_held_against(&self.claimant, now_ms),
        };
        self.filter.lets(&seen, now_ms)
    }
}

impl State {
    pub(in crate::tasks) fn sweep(&self, step: &Sweep, context: &mut StepContext<'_>) -> Swept {
        let now_ms = context.now() / 1_000;
        let mut swept = Swept { tasks: 0, next: step.filter.after.clone() };
        let mut left = step.filter.limit_or_default();
        loop {
            let part = left.min(TASKS_A_HOLD);
            let found = self.with_queue(&step.queue, context, |guard, _| {
                guard.page(swept.next.as_ref(), part + 1)
            });
            let Some(found) = found else { return Swept { next: None, ..swept } };
            let mut records = found.records();
            let (mut ids, mut last, mut looked_at, mut bytes) = (Vec::new(), None, 0, 0);
            // A moved task is recorded with its value and headers.
            while looked_at < part
                && bytes < VALUE_BYTES_MAX
                && let Some(record) = records.next()
            {
                (last, looked_at) = (Some(record), looked_at + 1);
                if step.lets(record, now_ms) {
                    ids.push(record.id.clone());
                    bytes += record.value.as_ref().map_or(0, |value| value.len());
                    bytes += record.notes.headers().packed().len();
                }
            }
            let Some(count) = self.sweep_some(step, &ids, context) else { continue };
            let last = last.filter(|_| records.next().is_some());
            swept.next = last.map(|last| Position { at_ms: last.at_ms, id: last.id.clone() });
            swept.tasks += count;
            left -= looked_at;
            if left == 0 || swept.next.is_none() {
                return swept;
            }
        }
    }

    /// Deletes or moves those of these tasks that still match; returns nothing if they must be looked up again.
    fn sweep_some(
        &self,
        step: &Sweep,
        ids: &[Arc<str>],
        context: &mut StepContext<'_>,
    ) -> Option<u64> {
        let mut lock_set = LockSet::of(&self.index, ids.iter());
        for queue in step.end.to().into_iter().chain([&step.queue]) {
            lock_set.queue(&self.queues, queue);
        }
        lock_set.sort();
        let mut locked = self.lock(&step.name, &lock_set, ids.iter(), context)?;
        let count = ids.iter().filter(|id| locked.sweep(step, id)).count();
        self.unlock(locked, context);
        Some(count as u64)
    }
}

impl Locked<'_> {
    /// Deletes or moves a task; returns whether it matches.
    fn sweep(&mut self, step: &Sweep, id: &Arc<str>) -> bool {
        let now_ms = self.now_ms;
        let Some((queue, slot)) = self.find(id) else { return false };
        let from = &self.queues[queue];
        if *from.name() != step.queue || !step.lets(from.record(slot), now_ms) {
            return false;
        }
        let Some(to) = step.end.to() else {
            self.end(queue, slot);
            return true;
        };
        let mut record = self.remove(queue, slot);
        record.version += 1;
        record.modified_ms = now_ms;
        record.end_claims();
        if let End::Redrive(_) = step.end {
            record.attempt = 0;
            record.notes = Notes::new(&NOBODY, record.notes.headers());
        }
        let to = self.queue(to).expect("the queues of a step are locked");
        self.insert(to, record);
        true
    }
}
