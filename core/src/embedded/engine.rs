//! Runs steps on states in memory, and makes them durable.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use smallvec::SmallVec;

use super::journal::{self, Journal, SnapshotWriter, Source, Ticket};
use super::table::{EmptyState, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Options;
use crate::options::SyncMode;
use crate::recovery::Recovery;
use crate::runtime::clock::Clock;
use crate::runtime::fork::{self, PerProcess};
use crate::runtime::sync::lock;
use crate::runtime::waiters::{Audience, Listener, Topic, Waiters};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{
    self, Finished, Operation, Snapshot, State, StateEffects, States, StepContext, Wake,
};

/// An embedded engine. The clients of a process that name the same directory, or the same
/// `memory:name`, share one.
pub(crate) struct Engine {
    table: Table,
    clock: Arc<dyn Clock>,
    waiters: Arc<Waiters>,
    journal: Option<Journal>,
    /// What opening the journal found.
    recovery: Option<Recovery>,
    sync: SyncMode,
    /// Clients that are open.
    clients: AtomicUsize,
    /// A snapshot is taken: no second one begins, and no queue is forgotten.
    is_snapshotting: AtomicBool,
    /// Set when the disk refused a write: memory is ahead of the disk from then on, so nothing is
    /// answered from it.
    is_failed: Arc<AtomicBool>,
    /// The number of forks before the process that opened it.
    generation: u32,
}

/// The engines of this process that can be shared.
static SHARED: PerProcess<Mutex<HashMap<Place, Weak<Engine>>>> = PerProcess::new();

#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    Memory(String),
    File(PathBuf),
}

impl Engine {
    pub(crate) fn memory(
        name: Option<&str>,
        options: &Options,
        empty_state: EmptyState,
    ) -> Result<Arc<Self>> {
        let make = || Ok(Arc::new(Self::new(options, Table::new(empty_state), None, None)));
        match name {
            None => make(),
            Some(name) => Self::shared(Place::Memory(name.to_owned()), options, make),
        }
    }

    pub(crate) fn file(
        directory: &Path,
        options: &Options,
        empty_state: EmptyState,
    ) -> Result<Arc<Self>> {
        let place = std::path::absolute(directory).map_err(|error| {
            Error::new(ErrorKind::Storage, format!("no path to {}", directory.display()))
                .with_source(error)
        })?;
        let place = canonical(&place);
        Self::shared(Place::File(place.clone()), options, || {
            Self::open(&place, options, empty_state).map(Arc::new)
        })
    }

    /// The engine of this place, which `make` opens if no client of this process has it open.
    fn shared(
        place: Place,
        options: &Options,
        make: impl FnOnce() -> Result<Arc<Self>>,
    ) -> Result<Arc<Self>> {
        let engines = SHARED.get_or_make(Arc::default, |_| {});
        loop {
            let mut shared = lock(&engines);
            let Some(engine) = shared.get(&place).and_then(Weak::upgrade) else {
                shared.retain(|_, engine| engine.strong_count() > 0);
                let engine = make()?;
                shared.insert(place, Arc::downgrade(&engine));
                return Ok(engine);
            };
            if engine.enter() {
                drop(shared);
                return engine.check_same(options);
            }
            // Its last client is closing it. Closing takes other locks, so not under this one; and
            // it stays in the table until it is closed, so that nobody opens the directory before.
            drop(shared);
            if let Some(journal) = &engine.journal {
                // The client that closes it is told how it went.
                let _ = journal.close();
            }
            let mut shared = lock(&engines);
            if shared.get(&place).is_some_and(|found| found.as_ptr() == Arc::as_ptr(&engine)) {
                shared.remove(&place);
            }
        }
    }

    /// Refuses to share an engine that keeps less of a promise than was asked for.
    fn check_same(self: Arc<Self>, options: &Options) -> Result<Arc<Self>> {
        if self.journal.is_none() || self.sync == options.sync {
            return Ok(self);
        }
        self.leave()?;
        Err(Error::new(
            ErrorKind::InvalidUrl,
            "another client of this process has the directory open with another sync",
        ))
    }

    fn new(
        options: &Options,
        table: Table,
        journal: Option<Journal>,
        recovery: Option<Recovery>,
    ) -> Self {
        Self {
            table,
            clock: options.clock.clone(),
            waiters: Arc::default(),
            journal,
            recovery,
            sync: options.sync,
            clients: AtomicUsize::new(1),
            is_snapshotting: AtomicBool::new(false),
            is_failed: Arc::default(),
            generation: fork::generation(),
        }
    }

    fn open(directory: &Path, options: &Options, empty_state: EmptyState) -> Result<Self> {
        let table = Table::new(empty_state);
        let mut replay = Replay { table: &table, copied: HashMap::new() };
        let journal_options = journal::Options {
            sync: options.sync,
            repair: options.repair,
            ..journal::Options::default()
        };
        let (journal, recovery) =
            Journal::open(directory, journal_options, &mut |source, record| {
                replay.record(source, record)
            })?;
        let engine = Self::new(options, table, Some(journal), Some(recovery));
        engine.table.all().iter().for_each(|(_, state)| state.replayed());
        engine.evict_unused_states();
        Ok(engine)
    }

    pub(crate) fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Counts one more client, unless the engine is closed or belongs to another process.
    fn enter(&self) -> bool {
        let enter = |clients| (clients > 0).then_some(clients + 1);
        self.generation == fork::generation()
            && self.clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).is_ok()
    }

    /// Counts one client less; the last one writes what is left and lets go of the directory.
    pub(crate) fn leave(&self) -> Result<()> {
        match &self.journal {
            Some(journal) if self.clients.fetch_sub(1, Ordering::AcqRel) == 1 => journal.close(),
            _ => Ok(()),
        }
    }

    /// Runs a step and waits until it is as durable as the options ask for; also one that is refused, as
    /// it may be refused for what another one has just done.
    pub(crate) fn run<O: Operation>(self: &Arc<Self>, step: O) -> Result<O::Output> {
        let (output, ticket) = self.apply(step)?;
        if let (Some(ticket), Some(journal)) = (ticket, &self.journal) {
            note_failure(&self.is_failed, journal.wait(ticket))?;
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
        let (output, ticket) = match self.apply(step) {
            Ok(applied) => applied,
            Err(error) => return done(Err(error)),
        };
        match (ticket, &self.journal) {
            (Some(ticket), Some(journal)) => {
                let failed = self.is_failed.clone();
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

    fn apply<O: Operation>(&self, step: O) -> Result<(Result<O::Output>, Option<Ticket>)> {
        if self.generation != fork::generation() {
            return Err(Error::new(
                ErrorKind::Forked,
                "the embedded engine was opened before a fork and belongs to the parent process; \
                 connect in the child",
            ));
        }
        if self.is_failed.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorKind::Storage,
                "the disk refused an earlier write, so memory is ahead of it; open the engine again",
            ));
        }
        let kind = O::State::kind();
        let name: SmallVec<[u8; 48]> = step.queue().into();
        let (state, made) = self.table.state::<O::State>(&name);
        let queue = self.journal.as_ref().map(|journal| QueueJournal {
            journal,
            head: queue_head(kind, &name),
            ticket: Cell::new(None),
        });
        let journal = queue.as_ref().map(|queue| queue as &dyn step::Journal);
        let is_awaited = || self.waiters.is_awaited();
        let mut context = StepContext::new(self.clock.now(), &self.table, journal, &is_awaited);
        let output = step.apply(&state, &mut context);
        drop(state);
        if made || context.is_evictable() {
            self.table.evict_if_unused(kind, &name, &self.is_snapshotting);
        }
        let Finished { wakes, visited } = context.finish();
        for (kind, name) in visited {
            self.table.evict_if_unused(kind, &name, &self.is_snapshotting);
        }
        for wake in wakes {
            match wake {
                Wake::Now(topic, count) => self.waiters.wake(&topic, count),
                Wake::After(topic, delay) => self.waiters.wake_after(&topic, delay),
            }
        }
        // A step that changed nothing answers from what earlier steps did, perhaps from records
        // that are not written yet: an add of what another add has just flagged must not be
        // acknowledged before that one is safe.
        let ticket = queue.map(|queue| queue.ticket.get().unwrap_or_else(|| queue.journal.last()));
        Ok((output, ticket))
    }

    /// Wakes whoever waits, to look whether its client is still open.
    pub(crate) fn wake_everyone(&self) {
        self.waiters.wake_everyone();
    }

    /// Wakes a listener for this topic after this time.
    pub(crate) fn wake_after(&self, topic: &[u8], delay: Duration) {
        self.waiters.wake_after(topic, delay);
    }

    /// Listens for topics. The listener is woken at once, since it listens from now on and
    /// something may have come before.
    pub(crate) fn listen(&self, audience: Audience, topics: Vec<Topic>) -> Listener {
        let listener = self.waiters.listen_as(audience, topics);
        listener.wake();
        listener
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
        let Some(journal) = &self.journal else { return Ok(()) };
        self.is_snapshotting.store(true, Ordering::Release);
        let mut first = Some(first);
        let taken = journal.snapshot(&mut |writer| {
            if let Some(first) = first.take() {
                first();
            }
            for (key, state) in self.table.all() {
                let mut copy = QueueSnapshot {
                    journal,
                    writer: &mut *writer,
                    head: queue_head(key.kind, &key.name),
                    next: None,
                    result: Ok(()),
                };
                state.snapshot(&mut copy);
                copy.result?;
            }
            Ok(())
        });
        self.is_snapshotting.store(false, Ordering::Release);
        self.evict_unused_states();
        taken
    }

    fn evict_unused_states(&self) {
        for (key, state) in self.table.all() {
            if state.is_unused() {
                drop(state);
                self.table.evict_if_unused(key.kind, &key.name, &self.is_snapshotting);
            }
        }
    }
}

/// The one name of a directory that may not be there yet.
fn canonical(place: &Path) -> PathBuf {
    for existing in place.ancestors() {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), place.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    place.to_owned()
}

/// Remembers that the disk failed.
fn note_failure(failed: &AtomicBool, durable: Result<()>) -> Result<()> {
    durable.inspect_err(|error| {
        if error.kind() == ErrorKind::Storage {
            failed.store(true, Ordering::Release);
        }
    })
}

/// What a record about several queues begins with, in place of a kind. After it comes for each its
/// head and, as one string of bytes, the effects on it.
const SEVERAL: u8 = 0;

/// What the records of a queue begin with: its kind and its name.
fn queue_head(kind: u8, name: &[u8]) -> Vec<u8> {
    let mut head = vec![kind];
    put_bytes(name, &mut head);
    head
}

/// The journal as the steps of one queue see it.
struct QueueJournal<'a> {
    journal: &'a Journal,
    head: Vec<u8>,
    /// What to wait for.
    ticket: Cell<Option<Ticket>>,
}

impl step::Journal for QueueJournal<'_> {
    fn append(&self, own: &[u8], others: &[StateEffects]) {
        let record = match others {
            [] => [&self.head, own].concat(),
            _ => {
                let mut record = vec![SEVERAL];
                for part in others {
                    record.extend(queue_head(part.kind, &part.name));
                    put_bytes(&part.effects, &mut record);
                }
                record.extend(&self.head);
                put_bytes(own, &mut record);
                record
            }
        };
        self.ticket.set(Some(self.journal.append(&record)));
    }
}

/// A snapshot as the state of one queue sees it.
struct QueueSnapshot<'a, 'w> {
    journal: &'a Journal,
    writer: &'a mut SnapshotWriter<'w>,
    head: Vec<u8>,
    /// The sequence of the first record of the log that may not be in the copy, as a whole.
    next: Option<u64>,
    result: Result<()>,
}

impl Snapshot for QueueSnapshot<'_, '_> {
    /// Everything that the queue did so far has a lower sequence, and is in the copy: the queue's
    /// lock is held, and records are appended under it.
    fn begin(&mut self) -> u64 {
        let next = self.journal.next_sequence();
        self.next.get_or_insert(next);
        next
    }

    fn record(&mut self, record: &[u8]) {
        if self.result.is_ok() {
            let mut whole = self.head.clone();
            put_integer(self.next.unwrap_or(0), &mut whole);
            whole.extend_from_slice(record);
            self.result = self.writer.record(&whole);
        }
    }
}

/// Puts the states back together from the journal.
struct Replay<'a> {
    table: &'a Table,
    /// Up to which sequence the snapshot's copy of each queue reaches.
    copied: HashMap<(u8, Box<[u8]>), u64>,
}

impl Replay<'_> {
    fn record(&mut self, source: Source, record: &[u8]) -> Result<()> {
        let mut reader = Reader::new(record);
        let kind = reader.byte()?;
        if kind != SEVERAL {
            let name = reader.bytes()?;
            return self.part(source, kind, name, reader);
        }
        while !reader.is_empty() {
            let (kind, name) = (reader.byte()?, reader.bytes()?);
            self.part(source, kind, name, Reader::new(reader.bytes()?))?;
        }
        Ok(())
    }

    /// What a record says about one queue.
    fn part(
        &mut self,
        source: Source,
        kind: u8,
        name: &[u8],
        mut reader: Reader<'_>,
    ) -> Result<()> {
        let sequence = match source {
            Source::Snapshot => {
                let next = reader.integer()?;
                self.copied.insert((kind, name.into()), next);
                None
            }
            Source::Log(sequence) => {
                // Most logs follow no snapshot of the queue, so the key is made only if needed.
                if !self.copied.is_empty()
                    && self.copied.get(&(kind, name.into())).is_some_and(|next| sequence < *next)
                {
                    return Ok(());
                }
                Some(sequence)
            }
        };
        self.table.state_of_kind(kind, name)?.replay(reader.rest(), sequence)
    }
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
        assert_eq!(engine.table.all().len(), 0, "what was kept for the snapshot is forgotten");
        // As a kill leaves it: without the end that a close writes.
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(directory.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        Engine::open(copy.path(), &options, crate::queues::empty_state).unwrap();
    }
}
