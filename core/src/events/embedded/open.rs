//! Opens a partition: creates it, gives it its configuration, and reads it.

use std::sync::{Arc, MutexGuard};

use super::contents::{Contents, Root};
use super::journal::Changes;
use super::{State, WAKE_ALL, stale};
use crate::error::Result;
use crate::events::config::Config;
use crate::events::map::Map;
use crate::events::open::Change;
use crate::events::partition::{Partition, Place};
use crate::step::StepContext;
impl State {
    pub(in crate::events) fn open(
        &self,
        partition: &Partition,
        change: Option<Change>,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Map>> {
        let first = first_of(change.as_ref().and_then(|change| change.place.as_ref()), context)?;
        let owner = first.as_ref().map(|(first, number)| (first.lock(), *number));
        let mut contents = self.lock();
        contents.changes = Changes::of(context);
        let mut root = contents.root.clone();
        if let Some(change) = change {
            if root.is_gone() {
                return Err(stale("the queue is being deleted"));
            }
            // It is not created here.
            if !root.is_there() && change.ranges.is_empty() {
                return Ok(None);
            }
            if !root.is_there() {
                // The partition has given everything away since the map was read.
                if partition.generation != 0 && root.generation >= partition.generation {
                    return Err(stale(&format!("the generation is {}", root.generation)));
                }
                check_owner(owner.as_ref(), partition)?;
                // A queue of the same name may already have existed in this second.
                let second = || ((context.now() / 1_000_000) as u32).max(root.generation + 1);
                root.generation =
                    if partition.generation == 0 { second() } else { partition.generation };
                root.map = change.map_text(&root.generation.to_string()).into();
                root.ranges = change.ranges;
            }
            // The caller has an older map, or that of a deleted queue of this name.
            if ![0, root.generation].contains(&partition.generation) {
                return Err(stale(&format!("the generation is {}", root.generation)));
            }
            if root.revision < change.revision {
                if root.is_there() && !change.config.paused {
                    // All waiting processes check again: they may receive events that the earlier configuration held
                    // back.
                    context.wake(|| partition.topic(), WAKE_ALL);
                }
                (root.revision, root.config) = (change.revision, change.config);
                contents.set_root(root.clone());
            }
        }
        if !root.is_there() {
            // A deleted queue is forgotten when the second in which it was created is over.
            if !root.is_gone() && u64::from(root.generation) < context.now() / 1_000_000 {
                contents.set_root(Root::default());
                context.mark_evictable();
            }
            std::mem::take(&mut contents.changes).record(context);
            return Ok(None);
        }
        std::mem::take(&mut contents.changes).record(context);
        let Root { revision, config, map, .. } = root;
        let empty = Map { revision, config: config.clone(), ..Map::default() };
        Ok(Some(Map::parse(revision, config, &map).unwrap_or(empty)))
    }
}

/// Partition 0 of the queue that has another partition at this place, and the number of that partition.
// Lock order: partition 0 of a queue is locked before another one.
pub(super) fn first_of(
    place: Option<&Place>,
    context: &mut StepContext<'_>,
) -> Result<Option<(Arc<State>, usize)>> {
    let Some(Place { first, number }) = place else { return Ok(None) };
    Ok(Some((context.state(&first.as_bytes().into())?, *number)))
}

/// Refuses to create a partition that is not, or no longer, in the map of its queue.
pub(super) fn check_owner(
    first: Option<&(MutexGuard<'_, Contents>, usize)>,
    partition: &Partition,
) -> Result<()> {
    let Some((first, number)) = first else { return Ok(()) };
    let map = first.root.is_there().then(|| Map::parse(0, Config::default(), &first.root.map));
    let generation = map.flatten().and_then(|map| Some(map.owners.get(*number)?.generation));
    match generation == Some(partition.generation) {
        true => Ok(()),
        false => Err(stale("the queue has no such partition")),
    }
}
