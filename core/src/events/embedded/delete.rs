//! How a partition is deleted.

use super::State;
use super::contents::Root;
use super::journal::Changes;
use crate::events::delete::{Delete, Deleted};
use crate::events::map::last_generation;
use crate::step::StepContext;
impl State {
    /// Removes a partition in one step; a deletion that only begins (`begin`) keeps the map of the queue.
    pub(in crate::events) fn delete(
        &self,
        step: &Delete,
        context: &mut StepContext<'_>,
    ) -> Option<Deleted> {
        let mut contents = self.lock();
        let Root { generation, map, .. } = contents.root.clone();
        let is_any = contents.root.is_there() && !step.is_begun || contents.root.is_gone();
        let begin = step.is_begin();
        if !is_any || generation > step.partition.generation {
            return None;
        }
        contents.changes = Changes::of(context);
        let cleared = contents.clear();
        let last = generation.max(last_generation(&map));
        let is_own_second = u64::from(last) >= context.now() / 1_000_000;
        contents.set_root(match begin {
            true => Root { generation, map: map.clone(), ..Root::default() },
            // The next queue of this name gets a later generation than any partition of this one, even if it is created
            // in the same second as this one, or soon after.
            false if is_own_second && !map.is_empty() => {
                Root { generation: last, ..Root::default() }
            }
            false => Root::default(),
        });
        std::mem::take(&mut contents.changes).record(context);
        context.mark_evictable();
        drop(contents);
        drop(cleared);
        let cursor = begin.then(|| b"0".as_slice().into());
        Some(Deleted { generation, map, cursor })
    }
}
