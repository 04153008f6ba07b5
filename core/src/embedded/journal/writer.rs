//! Group commit: who writes, who waits, and what is known to be where.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::Thread;
use std::time::Instant;

use super::SyncMode;
use super::directory::Directory;
use super::frame::FrameBuffer;
use super::head::Status;
use super::segment::{NoRoom, Segment, is_no_room};
use crate::error::{Error, ErrorKind, Result};
use crate::recovery::Recovery;
use crate::runtime::sync::{lock, wait_until};

/// A record's place in the order of all records; later records have larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(super) u64);

impl Ticket {
    /// Of a record that a closed or failed journal did not take. It is never reached.
    const REFUSED: Self = Self(u64::MAX);

    /// The record's sequence number, as replay will give it.
    #[cfg(test)]
    pub(crate) fn sequence(self) -> u64 {
        self.0
    }
}

pub(super) type Done = Box<dyn FnOnce(Result<()>) + Send>;

/// The log and everyone who waits for it.
///
/// The first caller that has to wait is the leader: it takes the buffer and writes it for all, and
/// what is appended meanwhile is for the next leader.
pub(super) struct Writer {
    state: Mutex<State>,
    /// There is something for the flusher thread to do.
    flusher: Condvar,
    pub(super) sync: SyncMode,
    log_bytes_min: u64,
}

struct State {
    buffer: FrameBuffer,
    spare: FrameBuffer,
    /// The sequence of the next record.
    next: u64,
    /// All records before this one were given to the operating system.
    written: u64,
    /// All records before this one are on disk.
    durable: u64,
    /// `None` once the journal is closed, and nothing is written any more.
    segment: Option<Segment>,
    /// Somebody writes: nobody else touches the file, and `segment` is as it was before.
    busy: bool,
    /// No record is taken any more.
    closing: bool,
    /// Why nothing is written any more. It stays for good, here: after a failed `fsync` the kernel may
    /// have dropped the pages, and a second one that succeeds proves nothing.
    stopped: Option<Error>,
    /// The log was cut back to what was acknowledged, as there was no room for this many bytes: another
    /// journal can go on with it.
    refused_bytes: Option<u64>,
    /// Threads that wait for the end of the write under way.
    blocked: Vec<Arc<Blocked>>,
    waiting: Vec<(Ticket, Done)>,
    /// When the flusher thread has to put the log on disk.
    sync_due: Option<Instant>,
    /// The flusher thread syncs the log, while others may write.
    is_syncing: bool,
    /// The flusher thread has to end.
    quit: bool,
    /// Bytes of the logs since the snapshot, without the one being written.
    older_bytes: u64,
    snapshot_bytes: u64,
    /// A log of more bytes than this is worth a snapshot.
    worth_bytes: u64,
}

/// A thread that waits for a record to be written, or for its turn to write. Each is woken by itself, and
/// only when it has something to do: a condition variable would wake all for each write, and all would want
/// the lock.
struct Blocked {
    thread: Thread,
    /// What it waits for; `None` for its turn alone.
    record: Option<(Ticket, bool)>,
    /// The result of the wait; `None` if it is the thread's turn.
    woken: OnceLock<Option<Result<()>>>,
}

pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the journal was closed")
}

/// Why nothing is written, until there is room or for good.
fn unwritten(error: &Error, is_for_now: bool) -> Error {
    let until = if is_for_now { "until there is room" } else { "any more" };
    Error::new(error.kind(), format!("{}; nothing is written {until}", error.message()))
}

type Guard<'a> = MutexGuard<'a, State>;

impl Writer {
    pub(super) fn new(
        options: super::Options,
        segment: Segment,
        next: u64,
        recovery: &Recovery,
    ) -> Self {
        let (log_bytes, snapshot_bytes) = (recovery.log_bytes, recovery.snapshot_bytes);
        let state = State {
            buffer: FrameBuffer::default(),
            spare: FrameBuffer::default(),
            next,
            written: next,
            durable: next,
            older_bytes: log_bytes - segment.end,
            segment: Some(segment),
            busy: false,
            closing: false,
            stopped: None,
            refused_bytes: None,
            blocked: Vec::new(),
            waiting: Vec::new(),
            sync_due: None,
            is_syncing: false,
            quit: false,
            snapshot_bytes,
            worth_bytes: snapshot_bytes.max(options.log_bytes_min),
        };
        Self {
            state: Mutex::new(state),
            flusher: Condvar::new(),
            sync: options.sync,
            log_bytes_min: options.log_bytes_min,
        }
    }

    pub(super) fn append(&self, record: &[u8]) -> Ticket {
        let mut state = lock(&self.state);
        if state.closing || state.stopped.is_some() {
            return Ticket::REFUSED;
        }
        let sequence = state.next;
        state.next += 1;
        state.buffer.push(sequence, record);
        Ticket(sequence)
    }

    pub(super) fn next(&self) -> u64 {
        lock(&self.state).next
    }

    /// The last record; one that is always settled while there is none, and never once the journal has
    /// stopped: a record that it refused says nothing of what the queues hold.
    pub(super) fn last(&self) -> Ticket {
        let state = lock(&self.state);
        if state.stopped.is_some() { Ticket::REFUSED } else { Ticket(state.next - 1) }
    }

    /// Blocks until this record and all before it are as safe as the mode promises.
    pub(super) fn wait(&self, ticket: Ticket) -> Result<()> {
        self.wait_for(ticket, self.sync == SyncMode::Always)
    }

    /// Puts this record and all before it on disk, whatever the mode.
    pub(super) fn sync(&self, ticket: Ticket) -> Result<()> {
        self.wait_for(ticket, true)
    }

    fn wait_for(&self, ticket: Ticket, on_disk: bool) -> Result<()> {
        let mut state = lock(&self.state);
        loop {
            if let Some(result) = state.settled(ticket, on_disk) {
                return result;
            }
            state = match state.busy {
                false => self.lead(state, on_disk),
                true => match block(state, Some((ticket, on_disk))) {
                    Some(result) => return result,
                    None => lock(&self.state),
                },
            };
        }
    }

    /// Calls `done` at once if the result is known, and else has the flusher thread call it.
    pub(super) fn wait_later(&self, ticket: Ticket, done: Done) {
        let mut state = lock(&self.state);
        match state.settled(ticket, self.sync == SyncMode::Always) {
            Some(result) => {
                drop(state);
                done(result);
            }
            None => {
                state.waiting.push((ticket, done));
                self.flusher.notify_one();
            }
        }
    }

    /// Writes the buffer.
    fn lead<'a>(&'a self, state: Guard<'a>, sync: bool) -> Guard<'a> {
        self.wake(self.exclusively(state, |segment, buffer| segment.append(buffer, sync)))
    }

    /// Does `work` with the log and the buffer, outside the lock but with nobody else writing. The caller
    /// [wakes](Self::wake) those who waited for it when it has done the rest under the lock.
    ///
    /// What the work changes in the segment is kept if it succeeds; its error stops the journal.
    fn exclusively<'a>(
        &'a self,
        mut state: Guard<'a>,
        work: impl FnOnce(&mut Segment, &mut FrameBuffer) -> Result<()>,
    ) -> Guard<'a> {
        debug_assert!(!state.busy, "only one may write");
        state.busy = true;
        let spare = std::mem::take(&mut state.spare);
        let mut buffer = std::mem::replace(&mut state.buffer, spare);
        let next = state.next;
        let mut segment = state.open_segment();
        drop(state);
        let result = work(&mut segment, &mut buffer);
        buffer.reset();
        let mut state = lock(&self.state);
        state.busy = false;
        state.spare = buffer;
        match result {
            Ok(()) => {
                state.written = next;
                if segment.durable == segment.end {
                    state.durable = next;
                    state.sync_due = None;
                } else if let SyncMode::Every(interval) = self.sync {
                    // An interval too long for the clock to hold is never over.
                    state.sync_due =
                        state.sync_due.or_else(|| Instant::now().checked_add(interval));
                }
                // The flusher thread may have put bytes on disk meanwhile.
                if let Some(before) = &state.segment {
                    segment.synced(before);
                }
                state.segment = Some(segment);
            }
            Err(error) => state.stop(&error),
        }
        if !state.waiting.is_empty() || state.sync_due.is_some() {
            self.flusher.notify_one();
        }
        state
    }

    /// Wakes the threads that have something to do after a write, without the lock, for which they would
    /// wait.
    fn wake<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        let woken = state.take_woken();
        if woken.is_empty() {
            return state;
        }
        drop(state);
        woken.iter().for_each(|blocked| blocked.thread.unpark());
        lock(&self.state)
    }

    /// What the flusher thread does until the journal closes: it writes for those who wait
    /// without a thread, calls them back, and puts the log on disk when that is due.
    fn run_flusher(&self) {
        let mut state = lock(&self.state);
        loop {
            let settled = state.take_settled(self.sync == SyncMode::Always);
            state = if !settled.is_empty() {
                drop(state);
                settled.into_iter().for_each(tell);
                lock(&self.state)
            } else if !state.waiting.is_empty() && !state.busy {
                self.lead(state, self.sync == SyncMode::Always)
            } else if state.quit {
                return;
            } else if state.sync_due.is_some_and(|due| due <= Instant::now()) {
                self.sync_beside(state)
            } else {
                let due = state.sync_due;
                wait_until(&self.flusher, state, due)
            };
        }
    }

    /// Puts on disk what was written so far, while others go on writing.
    fn sync_beside<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        state.sync_due = None;
        let written = state.written;
        if state.stopped.is_some() || written == state.durable {
            return state;
        }
        let mut segment = state.open_segment();
        state.is_syncing = true;
        drop(state);
        let synced = segment.sync();
        let mut state = lock(&self.state);
        state.is_syncing = false;
        match synced {
            Ok(()) => {
                state.durable = state.durable.max(written);
                if let Some(written) = &mut state.segment {
                    written.synced(&segment);
                }
            }
            Err(error) => {
                state.stop(&error);
                state = self.wake(state);
            }
        }
        state
    }

    /// Ends the log and begins the next; gives its number and first sequence.
    ///
    /// # Errors
    ///
    /// `Storage`. If the next log cannot be made, such as for want of descriptors or of space, steps go
    /// on in this one. If the directory was replaced by another, the journal stops.
    pub(super) fn rotate(&self, dir: &Directory) -> Result<(u64, u64)> {
        let state = self.wait_until_idle()?;
        let number = state.open_segment().number + 1;
        let next = state.next;
        let (mut ended_bytes, mut put_off) = (0, None);
        let mut state = self.exclusively(state, |segment, buffer| {
            // Recovery counts on every log but the newest being on disk as a whole.
            segment.append(buffer, true)?;
            dir.check_place()?;
            let newer = match Segment::prepare(dir, number, next, self.sync == SyncMode::Always) {
                Ok(newer) => newer,
                Err(error) => {
                    put_off = Some(error);
                    return Ok(());
                }
            };
            // From here on recovery may find the next log, so there is no way back to this one.
            dir.sync()?;
            ended_bytes = segment.end;
            // Before anything is acknowledged from the new log, the old one says that it is there.
            segment.finish(Status::Followed)?;
            *segment = newer;
            Ok(())
        });
        state.older_bytes += ended_bytes;
        self.wake(state).check()?;
        put_off.map_or(Ok((number, next)), Err)
    }

    /// The state, with nobody writing.
    fn wait_until_idle(&self) -> Result<Guard<'_>> {
        let mut state = lock(&self.state);
        loop {
            state.check()?;
            if !state.busy {
                return Ok(state);
            }
            block(state, None);
            state = lock(&self.state);
        }
    }

    pub(super) fn wants_snapshot(&self) -> bool {
        let state = lock(&self.state);
        state.log_bytes() > state.worth_bytes && state.stopped.is_none() && !state.closing
    }

    /// A snapshot of this size took the place of all logs but the one being written.
    pub(super) fn snapshot_done(&self, bytes: u64) {
        let mut state = lock(&self.state);
        state.older_bytes = 0;
        state.snapshot_bytes = bytes;
        state.worth_bytes = bytes.max(self.log_bytes_min);
    }

    /// A snapshot failed. The next is tried when the log has grown by as much again, so that a
    /// full disk is not kept busy with attempts.
    pub(super) fn snapshot_failed(&self) {
        let mut state = lock(&self.state);
        state.worth_bytes = state.log_bytes() + state.snapshot_bytes.max(self.log_bytes_min);
    }

    /// An error once no more records are taken.
    pub(super) fn check_open(&self) -> Result<()> {
        let state = lock(&self.state);
        state.check()?;
        if state.closing { Err(closed()) } else { Ok(()) }
    }

    /// Takes no more records from now on.
    pub(super) fn refuse(&self) {
        lock(&self.state).closing = true;
    }

    /// Writes what is left, puts it on disk and says so in the file.
    pub(super) fn finish(&self) -> Result<()> {
        let state = self.wait_until_idle()?;
        let mut state = self.exclusively(state, |segment, buffer| {
            segment.append(buffer, true)?;
            segment.finish(Status::Closed)
        });
        let finished = state.check();
        if finished.is_ok() {
            state.stop(&closed());
        }
        drop(self.wake(state));
        finished
    }

    /// Finds out whether there is room again for what the disk refused. If so, the log is on disk and ends
    /// with what was acknowledged, and another journal can go on with it; this one stays stopped.
    ///
    /// # Errors
    ///
    /// `Storage` if there is none, or if the journal was stopped for another reason; `Closed`.
    pub(super) fn try_room(&self) -> Result<()> {
        let state = lock(&self.state);
        // A sync that is under way may fail, which is the end.
        let Some(bytes) = state.refused_bytes.filter(|_| !state.is_syncing) else {
            return Err(state.stopped.as_ref().map_or_else(closed, Error::copy));
        };
        let mut segment = state.open_segment();
        drop(state);
        segment.try_room(bytes).map_err(|error| {
            if is_no_room(&error) {
                return unwritten(&error, true);
            }
            lock(&self.state).refused_bytes = None;
            unwritten(&error, false)
        })
    }

    /// Closes the log, which nobody writes any more.
    pub(super) fn release(&self) {
        lock(&self.state).segment = None;
    }

    /// Whether the flusher thread has ended, or is about to.
    pub(super) fn has_quit(&self) -> bool {
        lock(&self.state).quit
    }

    /// Ends the flusher thread once it has called back all who still wait.
    pub(super) fn quit(&self) {
        lock(&self.state).quit = true;
        self.flusher.notify_all();
    }

    #[cfg(test)]
    pub(super) fn durable(&self) -> u64 {
        lock(&self.state).durable
    }
}

/// Blocks until this record is settled, with its result, or until it is the thread's turn to write. Called
/// while another thread writes, which wakes it.
fn block(mut state: Guard<'_>, record: Option<(Ticket, bool)>) -> Option<Result<()>> {
    let (thread, woken) = (std::thread::current(), OnceLock::new());
    let blocked = Arc::new(Blocked { thread, record, woken });
    state.blocked.push(blocked.clone());
    drop(state);
    loop {
        match blocked.woken.get() {
            None => std::thread::park(),
            Some(woken) => {
                return woken.as_ref().map(|result| result.as_ref().map_err(Error::copy).copied());
            }
        }
    }
}

impl State {
    /// Takes out the blocked threads whose record is settled and, of the others, the first: it is its turn.
    /// All have their turn where nothing is written any more.
    fn take_woken(&mut self) -> Vec<Arc<Blocked>> {
        let mut has_next = self.stopped.is_some();
        let mut woken = Vec::new();
        for blocked in std::mem::take(&mut self.blocked) {
            let settled = blocked.record.and_then(|(ticket, disk)| self.settled(ticket, disk));
            if settled.is_none() && has_next && self.stopped.is_none() {
                self.blocked.push(blocked);
                continue;
            }
            has_next |= settled.is_none();
            // It is taken out once.
            let _ = blocked.woken.set(settled);
            woken.push(blocked);
        }
        woken
    }

    /// The result of the wait for a record, once it is known.
    fn settled(&self, ticket: Ticket, on_disk: bool) -> Option<Result<()>> {
        if ticket.0 < if on_disk { self.durable } else { self.written } {
            return Some(Ok(()));
        }
        match self.check() {
            Ok(()) => (ticket == Ticket::REFUSED).then(|| Err(closed())),
            stopped => Some(stopped),
        }
    }

    /// An error once nothing is written any more.
    fn check(&self) -> Result<()> {
        self.stopped.as_ref().map_or(Ok(()), |error| Err(error.copy()))
    }

    /// Takes out those who need not wait any more.
    fn take_settled(&mut self, on_disk: bool) -> Vec<(Result<()>, Done)> {
        let mut settled = Vec::new();
        for (ticket, done) in std::mem::take(&mut self.waiting) {
            match self.settled(ticket, on_disk) {
                Some(result) => settled.push((result, done)),
                None => self.waiting.push((ticket, done)),
            }
        }
        settled
    }

    fn stop(&mut self, error: &Error) {
        let no_room = error.details::<NoRoom>().filter(|_| self.stopped.is_none());
        self.refused_bytes = no_room.map(|no_room| no_room.bytes);
        let is_for_now = no_room.is_some();
        self.stopped.get_or_insert_with(|| unwritten(error, is_for_now));
        self.buffer = FrameBuffer::default();
    }

    fn open_segment(&self) -> Segment {
        self.segment.clone().expect("a log that was closed is stopped, and is not written")
    }

    fn log_bytes(&self) -> u64 {
        let end = self.segment.as_ref().map_or(0, |segment| segment.end);
        self.older_bytes + end + self.buffer.len() as u64
    }
}

/// A panic of one caller must not end the thread that everybody relies on.
fn tell((result, done): (Result<()>, Done)) {
    let told = std::panic::AssertUnwindSafe(move || done(result));
    // The panic hook has reported it, and nobody waits for a result from here.
    let _ = std::panic::catch_unwind(told);
}

/// Starts the flusher thread.
pub(super) fn spawn_flusher(writer: &Arc<Writer>) -> std::io::Result<std::thread::JoinHandle<()>> {
    let writer = Arc::clone(writer);
    std::thread::Builder::new()
        .name("millpond-journal".to_owned())
        .spawn(move || writer.run_flusher())
}
