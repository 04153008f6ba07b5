//! Reading the journal back, and telling a torn tail from damage.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::directory::{Access, Directory};
use super::files::{Kind, corrupt, storage};
use super::frame::{self, FrameBuffer, HEADER_BYTES, Header, Mark};
use super::head::{Head, STATE_AT, State, Status};
use super::segment::{Segment, trim};
use super::{Options, SyncMode};
use crate::error::{Error, ErrorKind, Result};
use crate::recovery::Recovery;

const READ_BYTES: usize = 1 << 18;

/// Where a replayed record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The snapshot, in the order in which it was written.
    Snapshot,
    /// The log: the record with this sequence.
    Log(u64),
}

/// What the journal goes on with.
pub(super) struct Recovered {
    pub(super) recovery: Recovery,
    pub(super) segment: Segment,
    /// The sequence of the next record.
    pub(super) next: u64,
    /// Files that a crash left behind and nothing needs.
    pub(super) superseded: Vec<String>,
}

pub(super) type Replay<'a> = &'a mut dyn FnMut(Source, &[u8]) -> Result<()>;

/// Replays everything, and changes the files only after all of it has been found sound.
pub(super) fn recover(dir: &Directory, options: &Options, replay: Replay<'_>) -> Result<Recovered> {
    let ahead = options.sync == SyncMode::Always;
    let listing = dir.list()?;
    let mut found = Found { replay, recovery: Recovery::default(), next: 1, reach: 1 };
    let mut superseded = listing.unfinished;
    // The first log to read.
    let mut number = 1;
    if let Some((&newest, older)) = listing.snapshots.split_last() {
        found.read_snapshot(dir, newest)?;
        number = newest;
        superseded.extend(older.iter().map(|&old| Kind::Snapshot.name(old)));
    }
    let (older, logs) = listing.logs.split_at(listing.logs.partition_point(|&log| log < number));
    superseded.extend(older.iter().map(|&old| Kind::Log.name(old)));
    if logs.is_empty() && older.is_empty() && listing.snapshots.is_empty() {
        let Found { mut recovery, next, .. } = found;
        let segment = Segment::create(dir, number, next, ahead)?;
        recovery.log_bytes = segment.end;
        recovery.closed = true;
        return Ok(Recovered { recovery, segment, next, superseded });
    }

    // There is at least the log that the snapshot names, or the first one.
    let last = logs.last().copied().unwrap_or(number).max(number);
    let mut log = loop {
        if logs.binary_search(&number).is_err() {
            return Err(missing(&dir.path_of(&Kind::Log.name(number))));
        }
        let mut log = Reader::open(dir, Kind::Log, number)?;
        let (first, next) = (log.head.first, found.next);
        if first != next {
            let what = format!("it begins with record {first}, but record {next} is the next");
            return Err(corrupt(&log.path, 0, &what));
        }
        if number == last {
            break log;
        }
        found.read_older(&mut log)?;
        number += 1;
    };
    let damage = found.read_newest(&mut log)?;
    let Found { mut recovery, mut next, reach, .. } = found;
    let end = log.offset;
    if let Some(damage) = damage {
        if !options.repair {
            return Err(damage);
        }
        recovery.suspicion = Some(format!(
            "repaired, and acknowledged steps may be lost: {}; {} records were read, and {} bytes \
             behind them cut off",
            damage.message(),
            recovery.records,
            recovery.torn_bytes,
        ));
    } else if recovery.torn_bytes > 0 {
        recovery.suspicion = Some(format!(
            "{} at byte {end}: {} bytes behind the last whole record were cut off; a crash left a \
             write unfinished, or the end of the file was damaged",
            log.path.display(),
            recovery.torn_bytes,
        ));
    }
    recovery.warnings.extend(recovery.suspicion.clone());
    let mut segment = match log.head.version {
        1 => {
            trim(dir, number, end)?;
            recovery.log_bytes += end;
            Segment::create(dir, number + 1, next, ahead)?
        }
        _ => Segment::reopen(dir, &log.head, end, ahead)?,
    };
    if next < reach {
        // What is appended must not have the numbers of records whose effects the snapshot holds.
        next = reach;
        let mut gap = FrameBuffer::default();
        gap.push_marker(next, &[]);
        segment.append(&mut gap, true)?;
    }
    recovery.log_bytes += segment.end;
    Ok(Recovered { recovery, segment, next, superseded })
}

/// What has been read back so far.
struct Found<'a> {
    replay: Replay<'a>,
    recovery: Recovery,
    /// The sequence of the next record of a log.
    next: u64,
    /// The sequence that the logs have to reach at least.
    reach: u64,
}

impl Found<'_> {
    /// Replays the snapshot, whose records are counted from 0.
    fn read_snapshot(&mut self, dir: &Directory, number: u64) -> Result<()> {
        let mut snapshot = Reader::open(dir, Kind::Snapshot, number)?;
        loop {
            let at = snapshot.offset;
            // It got its name when it was whole and on disk, so nothing in it can be unfinished.
            let Some(header) = snapshot.next_frame()? else {
                return Err(corrupt(&snapshot.path, at, "the snapshot is damaged"));
            };
            if header.first != self.recovery.records {
                return Err(corrupt(&snapshot.path, at, "a part of the snapshot is missing"));
            }
            if header.is_marker() {
                if snapshot.offset != snapshot.length || snapshot.body.len() != 8 {
                    return Err(corrupt(&snapshot.path, at, "the snapshot ends in a wrong place"));
                }
                self.recovery.snapshot_bytes = snapshot.length;
                self.next = snapshot.head.first;
                self.reach = frame::u64_at(&snapshot.body, 0);
                return Ok(());
            }
            let records = frame::records(&header, &snapshot.body).ok_or_else(|| {
                corrupt(&snapshot.path, at, "a frame whose records do not add up")
            })?;
            for record in records {
                (self.replay)(Source::Snapshot, record)?;
                self.recovery.records += 1;
            }
        }
    }

    /// Replays a log that another follows.
    fn read_older(&mut self, log: &mut Reader) -> Result<()> {
        if let Some(damage) = self.read_frames(log)? {
            return Err(damage);
        }
        let end = log.offset;
        self.recovery.log_bytes += end;
        // It was put on disk as a whole before the next one was made, and what it had grown ahead by
        // is cut off after that.
        match log.tail(end)?.end > end {
            true => Err(corrupt(&log.path, end, "damaged, and newer logs follow")),
            false => Ok(()),
        }
    }

    /// Replays the newest log and leaves the reader where its sound part ends; gives what shows that
    /// this part is not all that was on disk.
    fn read_newest(&mut self, log: &mut Reader) -> Result<Option<Error>> {
        let damage = self.read_frames(log)?;
        let end = log.offset;
        let tail = log.tail(end)?;
        self.recovery.torn_bytes = tail.end - end;
        let damaged = |at, what: &str| Ok(Some(corrupt(&log.path, at, what)));
        let Some(state) = log.state else {
            return damaged(STATE_AT, "the state of the log is damaged");
        };
        if log.length < state.length {
            let what = format!("the file ends here, but {} bytes of it were on disk", state.length);
            return damaged(log.length, &what);
        }
        if damage.is_some() {
            return Ok(damage);
        }
        let durable = state.durable.max(tail.durable);
        if durable > end {
            let what = format!("damaged or missing, but records up to byte {durable} were on disk");
            return damaged(end, &what);
        }
        let Self { next, reach, .. } = self;
        if next < reach {
            let last = *reach - 1;
            let what = format!(
                "it ends before record {next}, but the snapshot was made after record {last}"
            );
            return damaged(end, &what);
        }
        self.recovery.closed = match log.head.version {
            1 => log.is_marked,
            _ => state.status != Status::Open,
        };
        match state.status {
            Status::Followed => {
                Ok(Some(missing(&log.path.with_file_name(Kind::Log.name(log.head.number + 1)))))
            }
            Status::Open | Status::Closed => Ok(None),
        }
    }

    /// Replays frames up to the first that is none and leaves the reader there; gives what is wrong
    /// with a frame that is sound in itself.
    fn read_frames(&mut self, log: &mut Reader) -> Result<Option<Error>> {
        loop {
            let (at, next) = (log.offset, self.next);
            let Some(header) = log.next_frame()? else { return Ok(None) };
            // A repair leaves a gap behind a marker.
            let follows = header.first == next || header.is_marker() && header.first > next;
            // The sequences end before the one that stands for a record that was refused.
            let fits = header.first.checked_add(header.count.into()).is_some_and(|n| n < u64::MAX);
            let records = frame::records(&header, &log.body).filter(|_| follows && fits);
            let Some(records) = records else {
                log.offset = at;
                let what = match follows {
                    true => "a frame whose records do not add up".to_owned(),
                    false => format!("record {} follows where record {next} should", header.first),
                };
                return Ok(Some(corrupt(&log.path, at, &what)));
            };
            log.is_marked = header.is_marker();
            self.next = header.first;
            for record in records {
                (self.replay)(Source::Log(self.next), record)?;
                self.next += 1;
                self.recovery.records += 1;
            }
        }
    }
}

fn missing(path: &Path) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{} is missing", path.display()))
}

/// Reads a file frame by frame.
struct Reader {
    input: BufReader<File>,
    path: PathBuf,
    head: Head,
    /// What a log says of itself; `None` if that is damaged.
    state: Option<State>,
    /// Whether the last frame was a marker, which says in version 1 that the log was closed.
    is_marked: bool,
    length: u64,
    /// Where the next frame begins.
    offset: u64,
    body: Vec<u8>,
}

/// What lies behind the first bad frame.
struct Tail {
    /// The largest number of bytes that a later frame says were on disk.
    durable: u64,
    /// Behind the last byte that is not zero.
    end: u64,
}

impl Reader {
    fn open(dir: &Directory, kind: Kind, number: u64) -> Result<Self> {
        let name = kind.name(number);
        let file = dir.open(&name, Access::Read)?;
        let path = dir.path_of(&name);
        let length = file.metadata().map_err(storage("open", &path))?.len();
        let mut input = BufReader::with_capacity(READ_BYTES, file);
        let head = Head::read(&mut input, &path, kind, number)?;
        let state = match (kind, head.version) {
            (Kind::Snapshot, _) | (Kind::Log, 1) => Some(State::NONE),
            (Kind::Log, _) => State::read(&mut input, &path, &head)?,
        };
        let offset = head.frames_at();
        Ok(Self { input, path, head, state, is_marked: false, length, offset, body: Vec::new() })
    }

    /// Reads the next frame into `body`. `None` at the end of the file, or at what is no frame; the
    /// offset then stays.
    fn next_frame(&mut self) -> Result<Option<Header>> {
        let left = self.length - self.offset;
        let Some(room) = left.checked_sub(HEADER_BYTES as u64) else { return Ok(None) };
        let mut bytes = [0; HEADER_BYTES];
        self.input.read_exact(&mut bytes).map_err(storage("read", &self.path))?;
        let Some(header) = Header::decode(self.head.mark, &bytes) else { return Ok(None) };
        if header.length > room {
            return Ok(None);
        }
        let too_large =
            || corrupt(&self.path, self.offset, "a record is larger than this machine's memory");
        let length = usize::try_from(header.length).map_err(|_| too_large())?;
        self.body.clear();
        self.body.shrink_to(2 * frame::BODY_BYTES);
        self.body.try_reserve_exact(length).map_err(|_| too_large())?;
        self.body.resize(length, 0);
        self.input.read_exact(&mut self.body).map_err(storage("read", &self.path))?;
        if frame::body_crc(&self.body) != header.body_crc {
            return Ok(None);
        }
        self.offset += HEADER_BYTES as u64 + header.length;
        Ok(Some(header))
    }

    /// Looks for frames at every byte behind `at`. A sound header is enough: what it says of the
    /// bytes before it was true when it was written, whatever became of its body.
    fn tail(&mut self, at: u64) -> Result<Tail> {
        let mark = self.head.mark;
        let mut tail = Tail { durable: 0, end: at };
        let mut window = Vec::with_capacity(READ_BYTES + HEADER_BYTES);
        let mut window_at = at;
        self.input.seek(SeekFrom::Start(at)).map_err(storage("seek in", &self.path))?;
        loop {
            let kept = window.len();
            let read = (&mut self.input)
                .take(READ_BYTES as u64)
                .read_to_end(&mut window)
                .map_err(storage("read", &self.path))?;
            if let Some(last) = window[kept..].iter().rposition(|&byte| byte != 0) {
                tail.end = window_at + (kept + last) as u64 + 1;
            }
            tail.durable = tail.durable.max(claims(mark, &window));
            if read == 0 {
                return Ok(tail);
            }
            // A header may lie across the border of two reads.
            let done = window.len().saturating_sub(HEADER_BYTES - 1);
            window.drain(..done);
            window_at += done as u64;
        }
    }
}

/// The largest claim of the headers that lie in the window as a whole.
fn claims(mark: Mark, window: &[u8]) -> u64 {
    let mut durable = 0;
    let mut from = 0;
    while let Some(step) = window[from..].iter().position(|&byte| byte == mark[0]) {
        from += step;
        if let Some(bytes) = window[from..].first_chunk()
            && let Some(header) = Header::decode(mark, bytes)
        {
            durable = durable.max(header.durable);
        }
        from += 1;
    }
    durable
}
