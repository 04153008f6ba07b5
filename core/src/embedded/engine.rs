//! Runs steps on states in memory, and makes them durable.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use smallvec::SmallVec;

use super::clock_watch::ClockWatch;
use super::journal::{self, Journal, Source, Ticket};
use super::record::{QueueJournal, QueueSnapshot, Replay};
use super::table::{EmptyState, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Options, SyncMode};
use crate::recovery::Recovery;
use crate::runtime::clock::{Clock, SystemClock};
use crate::runtime::fork;
use crate::runtime::sync::lock;
use crate::runtime::waiters::{Audience, Listener, Topic, Waiters};
use crate::step::{self, Finished, Operation, State, StepContext, Timestamp, Wake};

/// What steps work on: a table of states and, for `file:`, the journal that makes them durable.
struct Store {
    table: Table,
    journal: Option<Journal>,
    /// Set when the disk refused a write: memory is ahead of the disk from then on, so nothing is
    /// read from it.
    is_failed: Arc<AtomicBool>,
}

/// An embedded engine.
pub(crate) struct Engine {
    /// Replaced by what the disk has when it refused a write and has room again.
    store: ArcSwap<Store>,
    /// Whether it was closed. Held while the store is replaced, which is not done after that.
    is_closed: Mutex<bool>,
    pub(super) clock: Arc<dyn Clock>,
    /// Whether that is not the system's.
    has_own_clock: bool,
    waiters: Arc<Waiters>,
    clock_watch: Arc<ClockWatch>,
    /// What the clock calls when it was moved.
    _advanced: Arc<dyn Fn() + Send + Sync>,
    /// What opening the journal found.
    recovery: Option<Recovery>,
    pub(super) sync: SyncMode,
    /// Clients that are open.
    clients: AtomicUsize,
    /// A snapshot is taken: no second one begins, and no queue is forgotten.
    is_snapshotting: AtomicBool,
    /// The number of forks before the process that opened it.
    generation: u32,
}

impl Store {
    /// The states that this journal leads to, as `open` replays it.
    fn replayed(
        empty_state: EmptyState,
        open: impl FnOnce(&mut dyn FnMut(Source, &[u8]) -> Result<()>) -> Result<Journal>,
    ) -> Result<Self> {
        let table = Table::new(empty_state);
        let mut replay = Replay::new(&table);
        let journal = open(&mut |source, record| replay.record(source, record))?;
        table.all().iter().for_each(|(_, state)| state.replayed());
        Ok(Self { table, journal: Some(journal), is_failed: Arc::default() })
    }

    fn has_failed(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
    }
}

impl Engine {
    /// An engine that forgets.
    pub(super) fn new(options: &Options, empty_state: EmptyState) -> Self {
        let table = Table::new(empty_state);
        let store = Store { table, journal: None, is_failed: Arc::default() };
        Self::with_store(options, store, None)
    }

    fn with_store(options: &Options, store: Store, recovery: Option<Recovery>) -> Self {
        let has_own_clock = options.clock.is_some();
        let clock = options.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::default()));
        let waiters: Arc<Waiters> = Arc::default();
        let awaiting = waiters.clone();
        let advanced: Arc<dyn Fn() + Send + Sync> = Arc::new(move || awaiting.wake_everyone());
        clock.on_advance(Arc::downgrade(&advanced));
        Self {
            store: ArcSwap::from_pointee(store),
            is_closed: Mutex::default(),
            clock_watch: ClockWatch::new(clock.clone(), waiters.clone()),
            has_own_clock,
            clock,
            waiters,
            _advanced: advanced,
            recovery,
            sync: options.sync,
            clients: AtomicUsize::new(1),
            is_snapshotting: AtomicBool::new(false),
            generation: fork::generation(),
        }
    }

    pub(super) fn open(
        directory: &Path,
        options: &Options,
        empty_state: EmptyState,
    ) -> Result<Self> {
        let Options { sync, repair, .. } = *options;
        let journal_options = journal::Options { sync, repair, ..journal::Options::default() };
        let mut recovery = None;
        let store = Store::replayed(empty_state, |replay| {
            let (journal, found) = Journal::open(directory, journal_options, replay)?;
            recovery = Some(found);
            Ok(journal)
        })?;
        let engine = Self::with_store(options, store, recovery);
        engine.evict_unused_states(&engine.store.load());
        Ok(engine)
    }

    /// Replaces what is in memory by what the disk has, once that has room for what it refused.
    fn resume(&self) -> Result<()> {
        let is_closed = lock(&self.is_closed);
        if *is_closed {
            return Err(Error::new(ErrorKind::Closed, "the engine was closed"));
        }
        let failed = self.store.load();
        let Some(journal) = failed.journal.as_ref().filter(|_| failed.has_failed()) else {
            // Another step has just done it.
            return Ok(());
        };
        let empty_state = failed.table.empty_state();
        let store = Store::replayed(empty_state, |replay| journal.resume(replay))?;
        self.evict_unused_states(&store);
        self.store.store(Arc::new(store));
        drop(is_closed);
        // They wait for what is not so, or not any more.
        self.waiters.wake_everyone();
        Ok(())
    }

    /// Whether its directory is still at the path where it was opened.
    pub(super) fn is_in_place(&self) -> bool {
        self.store.load().journal.as_ref().is_none_or(Journal::is_in_place)
    }

    pub(super) fn is_durable(&self) -> bool {
        self.store.load().journal.is_some()
    }

    /// Closes the journal, which releases the directory. Closing again does nothing.
    pub(super) fn close(&self) -> Result<()> {
        if self.generation != fork::generation() {
            // In a forked child the parent's lock may be held for ever.
            return Ok(());
        }
        // Not held while it closes: that waits for callbacks, which may be steps.
        *lock(&self.is_closed) = true;
        self.store.load().journal.as_ref().map_or(Ok(()), Journal::close)
    }

    pub(crate) fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Counts one more client, unless the engine is closed or belongs to another process.
    pub(super) fn enter(&self) -> bool {
        let enter = |clients| (clients > 0).then_some(clients + 1);
        self.generation == fork::generation()
            && self.clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).is_ok()
    }

    /// Counts one client less; the last one closes the journal, which releases
    /// the directory lock.
    pub(crate) fn leave(&self) -> Result<()> {
        let is_last = self.is_durable() && self.clients.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last { self.close() } else { Ok(()) }
    }

    /// Runs a step and waits until it is as durable as the options ask for; also one that is refused, as
    /// it may be refused for what another one has just done.
    pub(crate) fn run<O: Operation>(self: &Arc<Self>, step: O) -> Result<O::Output> {
        let store = self.store_for::<O>()?;
        let (output, ticket) = self.apply(&store, step);
        if let (Some(ticket), Some(journal)) = (ticket, &store.journal) {
            note_failure(&store.is_failed, journal.wait(ticket))?;
            self.snapshot_if_wanted(journal);
        }
        output
    }

    /// Runs a step at once and calls back when it is durable; at once where there is no disk.
    pub(crate) fn submit<O: Operation>(
        self: &Arc<Self>,
        step: O,
        done: impl FnOnce(Result<O::Output>) + Send + 'static,
    ) {
        let store = match self.store_for::<O>() {
            Ok(store) => store,
            Err(error) => return done(Err(error)),
        };
        let (output, ticket) = self.apply(&store, step);
        match (ticket, &store.journal) {
            (Some(ticket), Some(journal)) => {
                let failed = store.is_failed.clone();
                let done = move |durable| done(note_failure(&failed, durable).and(output));
                match self.sync {
                    SyncMode::Always => journal.when_durable(ticket, Box::new(done)),
                    // One short write into the system's memory; handing it over costs more.
                    SyncMode::Every(_) | SyncMode::Never => done(journal.wait(ticket)),
                }
                self.snapshot_if_wanted(journal);
            }
            _ => done(output),
        }
    }

    /// What a step works on; one that writes nothing does not ask whether the disk has failed.
    fn store_for<O: Operation>(&self) -> Result<Guard<Arc<Store>>> {
        match O::IN_MEMORY {
            true => self.check_process().map(|()| self.store.load()),
            false => self.store(),
        }
    }

    /// What a step works on.
    fn store(&self) -> Result<Guard<Arc<Store>>> {
        self.check_process()?;
        let store = self.store.load();
        if !store.has_failed() {
            return Ok(store);
        }
        drop(store);
        self.resume().map_err(|error| {
            let reason = error.message();
            let message = format!("nothing was done, as an earlier write was refused: {reason}");
            Error::new(error.kind(), message)
        })?;
        Ok(self.store.load())
    }

    fn check_process(&self) -> Result<()> {
        fork::check(
            self.generation == fork::generation(),
            "the embedded engine was opened before a fork and belongs to the parent process; \
             connect in the child",
        )
    }

    fn apply<O: Operation>(&self, store: &Store, step: O) -> (Result<O::Output>, Option<Ticket>) {
        let Store { table, journal, .. } = store;
        let kind = O::State::kind();
        let name: SmallVec<[u8; 48]> = step.queue().into();
        let (state, made) = table.state::<O::State>(&name);
        let queue = journal.as_ref().map(|journal| QueueJournal::new(journal, kind, &name));
        let journal = queue.as_ref().map(|queue| queue as &dyn step::Journal);
        let is_awaited = || self.waiters.is_awaited();
        let mut context = StepContext::new(self.clock.now(), table, journal, &is_awaited);
        let output = step.apply(&state, &mut context);
        drop(state);
        if made || context.is_evictable() {
            table.evict_if_unused(kind, &name, &self.is_snapshotting);
        }
        let Finished { wakes, visited } = context.finish();
        for (kind, name) in visited {
            table.evict_if_unused(kind, &name, &self.is_snapshotting);
        }
        for wake in wakes {
            match wake {
                Wake::Now(topic, count) => self.waiters.wake(&topic, count),
                Wake::After(topic, delay) => self.clock_watch.wake_after(&topic, delay),
            }
        }
        (output, queue.filter(|_| !O::IN_MEMORY).map(|queue| queue.ticket()))
    }

    /// The time of the clock that it was opened with, if it has one of its own.
    pub(crate) fn own_time(&self) -> Option<Timestamp> {
        self.has_own_clock.then(|| self.clock.now())
    }

    /// The time of its clock, in microseconds.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Wakes all who wait, to check whether their client is still open.
    pub(crate) fn wake_everyone(&self) {
        self.waiters.wake_everyone();
    }

    /// Wakes a listener for this topic.
    pub(crate) fn wake_one(&self, topic: &[u8]) {
        self.waiters.wake_one(topic);
    }

    /// Wakes a listener for this topic after this time.
    pub(crate) fn wake_after(&self, topic: &[u8], delay: Duration) {
        self.clock_watch.wake_after(topic, delay);
    }

    /// Listens for topics. The listener is woken at once, since it listens from now on and
    /// something may have come before.
    pub(crate) fn listen(&self, audience: Audience, topics: Vec<Topic>) -> Listener {
        let listener = self.waiters.listen_as(audience, topics);
        listener.wake();
        listener
    }

    /// A listener that nothing wakes but the clock, when it is moved, and the end of a client.
    pub(crate) fn sleeper(&self) -> Listener {
        self.waiters.sleeper()
    }

    fn snapshot_if_wanted(self: &Arc<Self>, journal: &Journal) {
        if !journal.wants_snapshot() || self.is_snapshotting.swap(true, Ordering::AcqRel) {
            return;
        }
        let engine = Arc::downgrade(self);
        let started =
            std::thread::Builder::new().name("millpond-snapshot".into()).spawn(move || {
                if let Some(engine) = engine.upgrade() {
                    // If the disk failed, the next step says so; without a snapshot the log is longer.
                    let _ = engine.snapshot_after(|| {});
                }
            });
        if started.is_err() {
            self.is_snapshotting.store(false, Ordering::Release);
        }
    }

    /// Takes a snapshot. What is done `first` is done when the new log has begun and nothing has
    /// been copied yet, where steps of any queue may come in between.
    ///
    /// No queue is forgotten meanwhile: one that ended before this has its end in an older log,
    /// and one that ends in the new log has to be in the snapshot, as the steps there were done
    /// on what it held.
    fn snapshot_after(&self, first: impl FnOnce()) -> Result<()> {
        let store = self.store.load_full();
        let Some(journal) = &store.journal else { return Ok(()) };
        self.is_snapshotting.store(true, Ordering::Release);
        let mut first = Some(first);
        let taken = journal.snapshot(&mut |writer| {
            if let Some(first) = first.take() {
                first();
            }
            for (key, state) in store.table.all() {
                QueueSnapshot::write(journal, writer, &key, &*state)?;
            }
            Ok(())
        });
        self.is_snapshotting.store(false, Ordering::Release);
        self.evict_unused_states(&store);
        taken
    }

    fn evict_unused_states(&self, store: &Store) {
        for (key, state) in store.table.all() {
            if state.is_unused() {
                drop(state);
                store.table.evict_if_unused(key.kind, &key.name, &self.is_snapshotting);
            }
        }
    }
}

/// Remembers that the disk failed.
fn note_failure(failed: &AtomicBool, durable: Result<()>) -> Result<()> {
    durable.inspect_err(|error| {
        if error.kind() == ErrorKind::Storage {
            failed.store(true, Ordering::Release);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ick::{Add, Delete, Reserve};

    /// A queue can end while a snapshot is taken: its last steps are in the new log, and what
    /// they were done on has to be in the snapshot or in that log.
    #[test]
    fn a_queue_that_is_deleted_as_a_snapshot_begins_can_be_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::parse("memory:").unwrap();
        let engine =
            Arc::new(Engine::open(directory.path(), &options, crate::queues::empty_state).unwrap());
        engine.run(Add::new("files", [(1.0, "a.txt")]).unwrap()).unwrap();
        engine
            .snapshot_after(|| {
                assert_eq!(engine.run(Reserve::new("files", 1).unwrap()).unwrap().len(), 1);
                assert_eq!(engine.run(Delete::new("files").unwrap()).unwrap(), 2);
            })
            .unwrap();
        let kept = engine.store.load().table.all();
        assert_eq!(kept.len(), 0, "what was kept for the snapshot is forgotten");
        // As a kill leaves it: without the end that a close writes.
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(directory.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        Engine::open(copy.path(), &options, crate::queues::empty_state).unwrap();
    }
}
