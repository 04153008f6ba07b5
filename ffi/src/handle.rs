//! Handles: what C holds instead of a pointer.
//!
//! The value of a handle is not an address: it encodes the number of a slot, the slot's generation
//! and the kind of the object. It is never dereferenced, so a freed handle, one of another kind and
//! an arbitrary number are detected and refused, and an object that is freed during a call lives
//! until the call ends.
//!
//! The slots are shared by all threads without a lock: a lock that is held during a fork would
//! stay locked in the child.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use once_cell::race::OnceBox;

use crate::client::millpond_client;
use crate::clock::millpond_clock;
use crate::error::millpond_error;
use crate::events::*;
use crate::exclusive::{Exclusive, Own};
use crate::ick::*;
use crate::recruiter::*;
use crate::shuffle::*;
use crate::tasks::*;
use crate::tracker::*;
use crate::volatile::*;

/// The lowest bits are the kind. The very lowest is always set, unlike in an aligned pointer.
const KIND_BITS: u32 = 7;
const INDEX_BITS: u32 = if usize::BITS >= 64 { 28 } else { 18 };
const GENERATION_BITS: u32 = usize::BITS - INDEX_BITS - KIND_BITS;

/// A kind of object that has handles.
pub(crate) trait Kind: Send + Sync + Sized + 'static {
    /// The type that C sees, of which there is never a value.
    type C;

    /// Its name.
    const NAME: &'static str;

    fn into_object(self) -> Object;
    fn of(object: &Object) -> Option<&Self>;
}

/// A type that C sees: what its handles refer to.
pub(crate) trait Opaque: Sized {
    type Object: Kind<C = Self>;
}

/// Makes the table of all kinds. A new kind goes to the end.
macro_rules! kinds {
    ($($kind:ident($type:ty) = $c:ty,)*) => {
        /// An object that has a handle.
        pub(crate) enum Object { $($kind($type),)* }

        #[derive(Clone, Copy)]
        enum Tag { $($kind,)* }

        const NAMES: &[&str] = &[$(<$type as Kind>::NAME,)*];

        impl Object {
            fn tag(&self) -> usize {
                match self { $(Object::$kind(_) => Tag::$kind as usize,)* }
            }
        }

        $(impl Opaque for $c {
            type Object = $type;
        }

        impl Kind for $type {
            type C = $c;

            const NAME: &'static str = stringify!($c);

            fn into_object(self) -> Object {
                Object::$kind(self)
            }

            fn of(object: &Object) -> Option<&Self> {
                match object {
                    Object::$kind(it) => Some(it),
                    _ => None,
                }
            }
        })*
    };
}

kinds! {
    Error(crate::error::Failure) = millpond_error,
    Client(millpond::Client) = millpond_client,
    Entries(crate::ick::entries::Entries) = millpond_ick_entries,
    Keys(crate::keys::Keys) = millpond_keys,
    Lease(crate::lease::Lease<millpond::ick::ConsumerLease>) = millpond_ick_lease,
    Batches(Exclusive<millpond::ick::Batches>) = millpond_ick_batches,
    IckChannel(millpond::ick::IckChannel) = millpond_ick_channel,
    ShuffleQueue(Box<millpond::shuffle::ShuffleQueue>) = millpond_shuffle_queue,
    ShuffleConsumer(Box<millpond::shuffle::ShuffleConsumer>) = millpond_shuffle_consumer,
    ShuffleBatch(crate::shuffle::batch::Batch) = millpond_shuffle_batch,
    ShuffleMessages(Exclusive<millpond::shuffle::Messages>) = millpond_shuffle_messages,
    ShuffleStats(crate::shuffle::stats::Stats) = millpond_shuffle_stats,
    ShuffleDeadLetters(crate::shuffle::dead_letters::DeadLetters) = millpond_shuffle_dead_letters,
    ShuffleGarbage(Exclusive<millpond::shuffle::Garbage>) = millpond_shuffle_garbage,
    TasksStore(Box<millpond::tasks::TaskStore>) = millpond_tasks_store,
    TasksResult(Box<crate::tasks::result::Parts>) = millpond_tasks_result,
    TasksClaims(Exclusive<millpond::tasks::Claims>) = millpond_tasks_claims,
    TasksJobs(Exclusive<millpond::tasks::Jobs>) = millpond_tasks_jobs,
    TasksJob(crate::tasks::job::Job) = millpond_tasks_job,
    Recovery(crate::recovery::Recovered) = millpond_recovery,
    TasksWorker(Box<crate::tasks::generated_worker::Worker>) = millpond_tasks_worker,
    TasksRun(Own<millpond::tasks::Run>) = millpond_tasks_run,
    TasksReport(Box<crate::report::Report<TasksResult>>) = millpond_tasks_report,
    ShuffleWorker(Box<crate::shuffle::generated_worker::Worker>) = millpond_shuffle_worker,
    ShuffleRun(Own<millpond::shuffle::Run>) = millpond_shuffle_run,
    ShuffleJob(crate::shuffle::job::Job) = millpond_shuffle_job,
    ShuffleReport(Box<crate::report::Report<crate::shuffle::batch::Batch>>) = millpond_shuffle_report,
    Clock(std::sync::Arc<millpond::ManualClock>) = millpond_clock,
    EventsQueue(Box<millpond::events::EventQueue>) = millpond_events_queue,
    EventsResult(Box<crate::events::result::Parts>) = millpond_events_result,
    EventsDeliveries(Exclusive<millpond::events::Deliveries>) = millpond_events_deliveries,
    EventsJob(crate::events::job::Job) = millpond_events_job,
    EventsWorker(Box<crate::events::generated_worker::Worker>) = millpond_events_worker,
    EventsRun(Own<millpond::events::Run>) = millpond_events_run,
    EventsReport(Box<crate::report::Report<EventsResult>>) = millpond_events_report,
    VolatileHash(Box<millpond::volatile::VolatileHash>) = millpond_volatile_hash,
    VolatileResult(Box<crate::volatile::result::Parts>) = millpond_volatile_result,
    VolatileLock(crate::lease::Lease<millpond::volatile::FieldLock>) = millpond_volatile_lock,
    VolatileHashes(Box<millpond::volatile::VolatileHashes>) = millpond_volatile_hashes,
    Recruiter(Box<crate::recruiter::enlist::Recruiter>) = millpond_recruiter,
    RecruiterSlices(Exclusive<millpond::recruiter::Slices>) = millpond_recruiter_slices,
    RecruiterSlice(crate::recruiter::slice::Slice) = millpond_recruiter_slice,
    RecruiterResult(Box<crate::recruiter::result::Parts>) = millpond_recruiter_result,
    Tracker(Box<millpond::tracker::QueueTracker>) = millpond_tracker,
    TrackerResult(Box<crate::tracker::result::Parts>) = millpond_tracker_result,
}

const _: () = assert!(NAMES.len() <= 1 << (KIND_BITS - 1), "the tags have room for all kinds");

/// The object of a handle, kept alive for as long as a call needs it.
pub(crate) struct Held<T> {
    object: Arc<Numbered>,
    kind: PhantomData<T>,
}

impl<T: Kind> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        T::of(&self.object.object).expect("the kind was checked when this was made")
    }
}

/// Makes a handle for an object.
pub(crate) fn make<T: Kind>(object: T) -> usize {
    TABLE.insert(object.into_object())
}

/// Finds the object of a handle, or returns what is wrong with the handle.
pub(crate) fn find<T: Kind>(handle: usize) -> Result<Held<T>, String> {
    let object = TABLE.get(handle).map_err(|wrong| wrong.describe(handle))?;
    match T::of(&object.object) {
        Some(_) => Ok(Held { object, kind: PhantomData }),
        None => Err(format!("is a {}, not a {}", NAMES[object.object.tag()], T::NAME)),
    }
}

/// Frees the handle. Its object is dropped with the last call that uses it. A handle of
/// another kind stays, and one that was freed before is ignored.
pub(crate) fn free<T: Kind>(handle: usize) {
    if find::<T>(handle).is_ok() {
        drop(TABLE.remove(handle));
    }
}

struct Numbered {
    generation: usize,
    object: Object,
}

enum Wrong {
    Null,
    Freed,
    Unknown,
}

impl Wrong {
    fn describe(self, handle: usize) -> String {
        match self {
            Wrong::Null => "is NULL".to_owned(),
            Wrong::Freed => format!("is a {} that was freed", NAMES[Parts::of(handle).tag]),
            Wrong::Unknown => format!("is {handle:#x}, which is not a handle of Millpond"),
        }
    }
}

struct Parts {
    tag: usize,
    index: usize,
    generation: usize,
}

impl Parts {
    fn of(handle: usize) -> Self {
        Self {
            tag: (handle & mask(KIND_BITS)) >> 1,
            index: handle >> KIND_BITS & mask(INDEX_BITS),
            generation: handle >> (KIND_BITS + INDEX_BITS),
        }
    }

    fn value(&self) -> usize {
        self.generation << (KIND_BITS + INDEX_BITS) | self.index << KIND_BITS | self.tag << 1 | 1
    }
}

const fn mask(bits: u32) -> usize {
    (1 << bits) - 1
}

/// Slots are allocated in blocks, each twice as large as the one before, and are never freed.
const FIRST_BLOCK: usize = 64;
const BLOCKS: usize = (INDEX_BITS - FIRST_BLOCK.ilog2()) as usize;
/// Not 0, so that small numbers are not valid handles.
const FIRST_GENERATION: u32 = 1;
/// The end of the list of free slots.
const NONE: u32 = u32::MAX;

static TABLE: Table = Table::new();

struct Table {
    blocks: [OnceBox<Box<[Slot]>>; BLOCKS],
    /// How many slots were ever used.
    used: AtomicU32,
    /// The first free slot, in the lower half; the upper half counts changes, so that a slot that
    /// was freed and reused in the meantime is not mistaken for an unchanged one.
    free: AtomicU64,
}

struct Slot {
    object: ArcSwapOption<Numbered>,
    /// The generation of the next object in it.
    generation: AtomicU32,
    next_free: AtomicU32,
}

impl Table {
    const fn new() -> Self {
        Self {
            blocks: [const { OnceBox::new() }; BLOCKS],
            used: AtomicU32::new(0),
            free: AtomicU64::new(NONE as u64),
        }
    }

    fn insert(&self, object: Object) -> usize {
        let index = self.pop_free().unwrap_or_else(|| {
            let next = |used| ((used as usize) < mask(INDEX_BITS)).then_some(used + 1);
            let used = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
            used.expect("there is room for more handles than a program has that frees some")
        });
        let slot = self.slot(index as usize);
        let generation =
            slot.generation.fetch_add(1, Ordering::Relaxed) as usize & mask(GENERATION_BITS);
        let parts = Parts { tag: object.tag(), index: index as usize, generation };
        slot.object.store(Some(Arc::new(Numbered { generation, object })));
        parts.value()
    }

    fn get(&self, handle: usize) -> Result<Arc<Numbered>, Wrong> {
        if handle == 0 {
            return Err(Wrong::Null);
        }
        let parts = Parts::of(handle);
        let known = handle & 1 == 1
            && parts.tag < NAMES.len()
            && parts.index < self.used.load(Ordering::Acquire) as usize;
        if !known {
            return Err(Wrong::Unknown);
        }
        let slot = self.slot(parts.index);
        match slot.object.load_full() {
            Some(object)
                if object.generation == parts.generation && object.object.tag() == parts.tag =>
            {
                Ok(object)
            }
            _ => {
                // Generations only increase, so those below the slot's existed once.
                let reached = slot.generation.load(Ordering::Relaxed) as usize;
                Err(match (FIRST_GENERATION as usize..reached).contains(&parts.generation) {
                    true => Wrong::Freed,
                    false => Wrong::Unknown,
                })
            }
        }
    }

    /// Of two threads that free one handle, one gets the object.
    fn remove(&self, handle: usize) -> Option<Arc<Numbered>> {
        let object = self.get(handle).ok()?;
        let index = Parts::of(handle).index;
        let slot = self.slot(index);
        let before = slot.object.compare_and_swap(&object, None);
        let is_mine = before.as_ref().is_some_and(|before| Arc::ptr_eq(before, &object));
        is_mine.then(|| {
            self.push_free(index as u32);
            object
        })
    }

    fn slot(&self, index: usize) -> &Slot {
        // Block n begins at FIRST_BLOCK * (2^n - 1).
        let block = (index / FIRST_BLOCK + 1).ilog2();
        let begin = FIRST_BLOCK * ((1 << block) - 1);
        let slots = self.blocks[block as usize].get_or_init(|| {
            let slots = (0..FIRST_BLOCK << block).map(|_| Slot::new()).collect();
            Box::new(slots)
        });
        &slots[index - begin]
    }

    fn pop_free(&self) -> Option<u32> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = head as u32;
            if index == NONE {
                return None;
            }
            let next = self.slot(index as usize).next_free.load(Ordering::Relaxed);
            match self.swap_free(head, next) {
                Ok(()) => return Some(index),
                Err(now) => head = now,
            }
        }
    }

    fn push_free(&self, index: u32) {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            self.slot(index as usize).next_free.store(head as u32, Ordering::Relaxed);
            match self.swap_free(head, index) {
                Ok(()) => return,
                Err(now) => head = now,
            }
        }
    }

    fn swap_free(&self, head: u64, index: u32) -> Result<(), u64> {
        let changes = (head >> 32).wrapping_add(1) << 32;
        self.free
            .compare_exchange_weak(
                head,
                changes | u64::from(index),
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .map(drop)
    }
}

impl Slot {
    const fn new() -> Self {
        Self {
            object: ArcSwapOption::const_empty(),
            generation: AtomicU32::new(FIRST_GENERATION),
            next_free: AtomicU32::new(NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::error::Failure;
    use crate::keys::Keys;

    fn keys(name: &str) -> usize {
        make(Keys::from_iter([name]))
    }

    fn wrong<T: Kind>(handle: usize) -> String {
        find::<T>(handle).err().unwrap()
    }

    #[test]
    fn a_handle_is_for_its_own_thing() {
        let handle = keys("a");
        assert!(find::<Keys>(handle).is_ok());
        assert_eq!(wrong::<Failure>(handle), "is a millpond_keys, not a millpond_error");
        free::<Failure>(handle);
        assert!(find::<Keys>(handle).is_ok());
        let held = find::<Keys>(handle).unwrap();
        free::<Keys>(handle);
        drop(held);
        assert_eq!(wrong::<Keys>(handle), "is a millpond_keys that was freed");
        free::<Keys>(handle);
    }

    #[test]
    fn what_was_never_a_handle_is_none() {
        assert_eq!(wrong::<Keys>(0), "is NULL");
        for number in [1, 3, 0xff, 4096, usize::MAX, &raw const TABLE as usize] {
            assert!(wrong::<Keys>(number).ends_with("not a handle of Millpond"), "{number:#x}");
        }
        // One that only comes later.
        let handle = keys("a");
        let later = handle + (1 << (KIND_BITS + INDEX_BITS));
        assert!(wrong::<Keys>(later).ends_with("not a handle of Millpond"));
        free::<Keys>(handle);
    }

    #[test]
    fn no_value_comes_twice() {
        let mut seen = HashSet::new();
        for _ in 0..10_000 {
            let handle = keys("a");
            assert!(seen.insert(handle));
            free::<Keys>(handle);
        }
        let many: Vec<usize> = (0..1_000).map(|_| keys("a")).collect();
        assert!(many.iter().all(|handle| seen.insert(*handle)));
        for handle in many {
            assert!(find::<Keys>(handle).is_ok());
            free::<Keys>(handle);
        }
    }

    #[test]
    fn threads_share_the_slots() {
        let work = || {
            for round in 0..5_000 {
                let handles = [(); 3].map(|()| keys("a"));
                for handle in handles {
                    assert!(find::<Keys>(handle).is_ok(), "{round}");
                    free::<Keys>(handle);
                    assert!(find::<Keys>(handle).is_err());
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(work);
            }
        });
    }

    /// Of all that free one handle, one does.
    #[test]
    fn is_freed_once() {
        for _ in 0..1_000 {
            let handle = keys("a");
            let freed = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        freed.fetch_add(TABLE.remove(handle).is_some() as u32, Ordering::Relaxed)
                    });
                }
            });
            assert_eq!(freed.into_inner(), 1);
        }
    }
}
