//! What a process knows about a queue: its map, and which slots its calls use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::map::Map;
use super::op::Op;
use crate::runtime::sync::lock;
use crate::worker::ids;

/// What a process knows about a queue; all handles of a client share it.
pub(super) struct Route {
    map: Mutex<Option<Arc<Map>>>,
    slots: Mutex<Slots>,
    turn: AtomicUsize,
    /// The name under which this process waits; `None` on the embedded engine, which has only one process.
    pub(super) process: Option<Arc<str>>,
    /// The move that was last seen in progress: its generation and the number of its batch.
    seen: Mutex<(u32, u64)>,
}

/// The slots of the calls in progress.
struct Slots {
    /// Bytes that no other process has.
    client: [u8; 8],
    free: Vec<u16>,
    made: u16,
    calls: u64,
}

/// The slot of a call; no other call uses it until it is dropped.
pub(super) struct Slot {
    route: Arc<Route>,
    bytes: [u8; 10],
}

impl Route {
    /// The route of a process whose name for waiting begins with this letter, which scripts read: `c` on a cluster,
    /// whose servers do not know whether a message has a listener. `None` for the embedded engine.
    pub(super) fn new(letter: Option<char>) -> Self {
        let slots = Slots { client: ids::unique_bytes(), free: Vec::new(), made: 0, calls: 0 };
        let name = |letter| format!("{letter}{:016x}", u64::from_be_bytes(slots.client)).into();
        let process = letter.map(name);
        Self {
            map: Mutex::default(),
            slots: Mutex::new(slots),
            turn: AtomicUsize::new(0),
            process,
            seen: Mutex::default(),
        }
    }

    pub(super) fn map(&self) -> Option<Arc<Map>> {
        lock(&self.map).clone()
    }

    pub(super) fn set_map(&self, map: Option<Map>) -> Option<Arc<Map>> {
        let map = map.map(Arc::new);
        lock(&self.map).clone_from(&map);
        map
    }

    /// The turn that determines which partition a call reads first.
    pub(super) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether a move is still where it was at the last call of this.
    pub(super) fn has_stood_still(&self, at: (u32, u64)) -> bool {
        std::mem::replace(&mut *lock(&self.seen), at) == at
    }

    /// A slot for a call.
    pub(super) fn slot(self: &Arc<Self>) -> Slot {
        let mut slots = lock(&self.slots);
        let number = slots.free.pop().unwrap_or_else(|| {
            if slots.made == u16::MAX {
                (slots.client, slots.made) = (ids::unique_bytes(), 0);
            }
            slots.made += 1;
            slots.made
        });
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&slots.client);
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        Slot { route: self.clone(), bytes }
    }
}

impl Slot {
    /// The next step of the call.
    pub(super) fn op(&self) -> Op {
        let mut slots = lock(&self.route.slots);
        slots.calls += 1;
        Op { slot: self.bytes, number: slots.calls }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut slots = lock(&self.route.slots);
        if self.bytes[..8] == slots.client {
            slots.free.push(u16::from_be_bytes([self.bytes[8], self.bytes[9]]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_under_way_have_slots_of_their_own() {
        let route = Arc::new(Route::new(None));
        let (first, second) = (route.slot(), route.slot());
        assert_ne!(first.op().slot, second.op().slot);
        let before = first.op();
        drop(first);
        let again = route.slot().op();
        assert_eq!(again.slot, before.slot);
        assert!(again.number > before.number);
    }
}
