//! Reading the journal back, and telling a torn tail from damage.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::frame::{self, HEADER_BYTES, Header, Mark};
use super::segment::{HEAD_BYTES, Head, Kind, Listing, Segment, corrupt, storage};
use crate::error::{Error, ErrorKind, Result};

const READ_BYTES: usize = 1 << 18;

/// Where a replayed record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The snapshot, in the order in which it was written.
    Snapshot,
    /// The log: the record with this sequence.
    Log(u64),
}

/// What opening found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// Records replayed, of the snapshot and of the log.
    pub(crate) records: u64,
    /// Bytes of an unfinished last write that were cut off. Zeros at the end are not counted:
    /// the file grows ahead of what is written.
    pub(crate) torn_bytes: u64,
    /// Size of the snapshot.
    pub(crate) snapshot_bytes: u64,
    /// Size of the log after it.
    pub(crate) log_bytes: u64,
    /// How long it took, replay included.
    pub(crate) took: Duration,
}

/// What the journal goes on with.
pub(super) struct Recovered {
    pub(super) recovery: Recovery,
    pub(super) segment: Segment,
    /// The sequence of the next record.
    pub(super) next: u64,
    /// Files that a crash left behind and nothing needs.
    pub(super) superseded: Vec<PathBuf>,
}

pub(super) type Replay<'a> = &'a mut dyn FnMut(Source, &[u8]) -> Result<()>;

/// Replays everything, and changes the files only after all of it has been found sound.
pub(super) fn recover(dir: &Path, replay: Replay<'_>) -> Result<Recovered> {
    let started = Instant::now();
    let listing = Listing::of(dir)?;
    let mut recovery = Recovery::default();
    let mut superseded = listing.unfinished;
    // The first log to read, its first sequence, and how far the logs have to reach at least.
    let (mut number, mut next, mut reach) = (1, 1, 1);
    if let Some((&newest, older)) = listing.snapshots.split_last() {
        (next, reach) = read_snapshot(dir, newest, &mut recovery, replay)?;
        number = newest;
        superseded.extend(older.iter().map(|&old| Kind::Snapshot.path(dir, old)));
    }
    let (older, logs) = listing.logs.split_at(listing.logs.partition_point(|&log| log < number));
    superseded.extend(older.iter().map(|&old| Kind::Log.path(dir, old)));
    if logs.is_empty() && older.is_empty() && listing.snapshots.is_empty() {
        let segment = Segment::create(dir, number, next)?;
        recovery.log_bytes = segment.end;
        recovery.took = started.elapsed();
        return Ok(Recovered { recovery, segment, next, superseded });
    }

    // There is at least the log that the snapshot names, or the first one.
    let last = logs.last().copied().unwrap_or(number).max(number);
    let mut newest = None;
    while number <= last {
        if logs.binary_search(&number).is_err() {
            return Err(missing(&Kind::Log.path(dir, number)));
        }
        let mut log = Reader::open(dir, Kind::Log, number)?;
        if log.head.first != next {
            return Err(corrupt(
                &log.path,
                0,
                &format!("it begins with record {}, but record {next} is the next", log.head.first,),
            ));
        }
        next = read_log(&mut log, number == last, &mut recovery, replay)?;
        recovery.log_bytes += log.offset;
        newest = Some((log.head, log.offset, log.path));
        number += 1;
    }
    let (head, end, path) = newest.expect("the last log is not before the first");
    if next < reach {
        return Err(corrupt(
            &path,
            end,
            &format!(
                "it ends before record {next}, but the snapshot was made after record {}",
                reach - 1,
            ),
        ));
    }
    let segment = Segment::reopen(dir, &head, end)?;
    recovery.took = started.elapsed();
    Ok(Recovered { recovery, segment, next, superseded })
}

/// Replays the snapshot; gives the first sequence of the log after it, and the sequence that
/// the log has to reach.
fn read_snapshot(
    dir: &Path,
    number: u64,
    recovery: &mut Recovery,
    replay: Replay<'_>,
) -> Result<(u64, u64)> {
    let mut snapshot = Reader::open(dir, Kind::Snapshot, number)?;
    let mut next = 0;
    loop {
        let at = snapshot.offset;
        // It got its name when it was whole and on disk, so nothing in it can be unfinished.
        let Step::Frame(header) = snapshot.step()? else {
            return Err(corrupt(&snapshot.path, at, "the snapshot is damaged"));
        };
        if header.first != next {
            return Err(corrupt(&snapshot.path, at, "a part of the snapshot is missing"));
        }
        if header.is_marker() {
            if snapshot.offset != snapshot.length || snapshot.body.len() != 8 {
                return Err(corrupt(&snapshot.path, at, "the snapshot ends in a wrong place"));
            }
            recovery.snapshot_bytes = snapshot.length;
            return Ok((snapshot.head.first, frame::u64_at(&snapshot.body, 0)));
        }
        for record in snapshot.records(&header, at)? {
            replay(Source::Snapshot, &snapshot.body[record])?;
            next += 1;
            recovery.records += 1;
        }
    }
}

/// Replays one log and leaves the reader where its sound part ends; gives the next sequence.
fn read_log(
    log: &mut Reader,
    newest: bool,
    recovery: &mut Recovery,
    replay: Replay<'_>,
) -> Result<u64> {
    let mut next = log.head.first;
    loop {
        let at = log.offset;
        match log.step()? {
            Step::Frame(header) => {
                if header.first != next {
                    return Err(corrupt(
                        &log.path,
                        at,
                        &format!("record {} follows where record {next} should", header.first,),
                    ));
                }
                for record in log.records(&header, at)? {
                    replay(Source::Log(next), &log.body[record])?;
                    next += 1;
                    recovery.records += 1;
                }
            }
            Step::End => return Ok(next),
            Step::Bad => {
                // An older log was put on disk as a whole before the next one was made.
                if !newest {
                    return Err(corrupt(&log.path, at, "damaged, and newer logs follow"));
                }
                let tail = log.tail(at)?;
                if tail.durable > at {
                    return Err(corrupt(
                        &log.path,
                        at,
                        "damaged; later records prove that this one was on disk",
                    ));
                }
                recovery.torn_bytes = tail.end - at;
                return Ok(next);
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
    length: u64,
    /// Where the next frame begins.
    offset: u64,
    body: Vec<u8>,
}

enum Step {
    Frame(Header),
    End,
    Bad,
}

/// What lies behind the first bad frame.
struct Tail {
    /// The largest number of bytes that a later frame says were on disk.
    durable: u64,
    /// Behind the last byte that is not zero.
    end: u64,
}

impl Reader {
    fn open(dir: &Path, kind: Kind, number: u64) -> Result<Self> {
        let path = kind.path(dir, number);
        let file = File::open(&path).map_err(storage("open", &path))?;
        let length = file.metadata().map_err(storage("open", &path))?.len();
        let mut input = BufReader::with_capacity(READ_BYTES, file);
        let head = Head::read(&mut input, &path, kind, number)?;
        Ok(Self { input, path, head, length, offset: HEAD_BYTES, body: Vec::new() })
    }

    /// Reads the next frame into `body`; a bad one leaves the offset at its beginning.
    fn step(&mut self) -> Result<Step> {
        let left = self.length - self.offset;
        if left == 0 {
            return Ok(Step::End);
        }
        let Some(room) = left.checked_sub(HEADER_BYTES as u64) else { return Ok(Step::Bad) };
        let mut bytes = [0; HEADER_BYTES];
        self.input.read_exact(&mut bytes).map_err(storage("read", &self.path))?;
        let Some(header) = Header::decode(self.head.mark, &bytes) else { return Ok(Step::Bad) };
        if header.length > room {
            return Ok(Step::Bad);
        }
        let length = usize::try_from(header.length).map_err(|_| {
            corrupt(&self.path, self.offset, "a record is larger than this machine can address")
        })?;
        self.body.clear();
        self.body.shrink_to(2 * frame::BODY_BYTES);
        self.body.resize(length, 0);
        self.input.read_exact(&mut self.body).map_err(storage("read", &self.path))?;
        if frame::body_crc(&self.body) != header.body_crc {
            return Ok(Step::Bad);
        }
        self.offset += HEADER_BYTES as u64 + header.length;
        Ok(Step::Frame(header))
    }

    fn records(&self, header: &Header, at: u64) -> Result<Vec<std::ops::Range<usize>>> {
        if header.is_marker() {
            return Ok(Vec::new());
        }
        frame::records(header, &self.body)
            .ok_or_else(|| corrupt(&self.path, at, "a frame whose records do not add up"))
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
