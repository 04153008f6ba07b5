//! Every way to break the files: a torn tail is dropped and counted, all else is reported.

use std::fs;
use std::path::Path;

use super::*;
use crate::embedded::journal::files::Kind;
use crate::embedded::journal::frame::{FrameBuffer, HEADER_BYTES, Header};
use crate::embedded::journal::head::{FRAMES_AT, HEAD_BYTES, Head, STATE_AT, State};

const FRAMES: usize = FRAMES_AT as usize;
const STATE: usize = STATE_AT as usize;

/// A directory whose only log has these bytes.
fn with_log(bytes: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(log_path(dir.path(), 1), bytes).unwrap();
    dir
}

fn record(i: usize) -> Vec<u8> {
    format!("record {i}").into_bytes()
}

/// A log of single-record frames after a crash, and where each frame begins, and the end. Each
/// record was put on disk, if asked, before the next was written.
fn sample(count: usize, synced: bool) -> (Vec<u8>, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open_with(dir.path(), options(SyncMode::Never)).unwrap();
    let mut starts = vec![FRAMES];
    for i in 0..count {
        put(&journal, record(i));
        if synced {
            journal.sync(journal.last()).unwrap();
        }
        starts.push(log_bytes(dir.path(), 1).len());
    }
    (fs::read(log_path(dir.path(), 1)).unwrap(), starts)
}

/// The same log with a state that says nothing.
fn without_state(bytes: &[u8]) -> Vec<u8> {
    let state = State::NONE.encode(bytes[32..40].try_into().unwrap());
    [&bytes[..STATE], &state, &bytes[STATE + state.len()..]].concat()
}

fn expect_corrupt(dir: &Path, offset: usize, what: &str) {
    let before: Vec<_> = files(dir).iter().map(|f| fs::read(dir.join(f)).unwrap()).collect();
    let error = expect_damage(dir, what);
    assert!(error.message().contains(&format!("at byte {offset}:")), "{what}: {error}");
    assert!(error.message().contains(".log at") || error.message().contains(".snapshot at"));
    let after: Vec<_> = files(dir).iter().map(|f| fs::read(dir.join(f)).unwrap()).collect();
    assert!(before == after, "{what}: the files were touched");
}

/// Opens, checks that exactly the first records come back, goes on, and opens again.
fn expect_torn(dir: &Path, records: usize, torn: usize, what: &str) {
    let kept: Vec<_> = (0..records).map(record).collect();
    let never = options(SyncMode::Never);
    let (journal, recovery, found) =
        open_with(dir, never).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(found, log(1, &kept), "{what}");
    assert_eq!(recovery.torn_bytes, torn as u64, "{what}");
    assert_eq!(recovery.suspicion.is_some(), torn > 0, "{what}");
    assert!(recovery.suspicion.iter().all(|told| recovery.warnings.contains(told)), "{what}");
    assert_eq!(put(&journal, "later"), records as u64 + 1);
    // A crash and no close, which would cut the file itself.
    let (_journal, recovery, found) = open_with(crash(dir).path(), never).unwrap();
    assert_eq!(found.len(), records + 1, "{what}: garbage came back");
    assert_eq!(recovery.torn_bytes, 0, "{what}");
}

/// Opens with repair, checks that the first records come back and that it is said, and opens again.
fn expect_repaired(dir: &Path, records: usize, what: &str) {
    let kept: Vec<_> = (0..records).map(record).collect();
    let repair = Options { repair: true, ..options(SyncMode::Never) };
    let (journal, recovery, found) =
        open_with(dir, repair).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(found, log(1, &kept), "{what}");
    let suspicion = recovery.suspicion.expect(what);
    assert!(suspicion.starts_with("repaired, ") && suspicion.contains(".log at byte "), "{what}");
    put(&journal, "later");
    let (_journal, recovery, found) = open(crash(dir).path()).unwrap();
    assert_eq!((found.len(), recovery.suspicion), (records + 1, None), "{what}");
}

/// Log 1 of six records as a process leaves it that closed, or was killed.
fn left_by(sync: SyncMode, closed: bool) -> (Vec<u8>, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    // What was there before an open is as safe as what came after.
    let mut starts = vec![FRAMES];
    for half in [0..3, 3..6] {
        let (journal, _, _) = open_with(dir.path(), options(sync)).unwrap();
        for i in half {
            put(&journal, record(i));
            starts.push(log_bytes(dir.path(), 1).len());
        }
        if closed || starts.len() == 4 {
            journal.close().unwrap();
        } else {
            std::mem::forget(journal);
        }
    }
    (fs::read(log_path(dir.path(), 1)).unwrap(), starts)
}

#[test]
fn no_cut_goes_unnoticed_after_a_close_or_with_sync_always() {
    for (sync, closed) in
        [(SyncMode::Always, false), (SyncMode::Always, true), (SyncMode::Never, true)]
    {
        let (bytes, starts) = left_by(sync, closed);
        let end = starts[6];
        assert_eq!(bytes.len(), if closed { end } else { 1 << 20 });
        let dir = with_log(&[]);
        let path = log_path(dir.path(), 1);
        let cut_to = |length: usize| fs::write(&path, &bytes[..length]).unwrap();
        for length in (0..end).chain([end + 1, 4096, (1 << 20) - 1].into_iter().filter(|_| !closed))
        {
            cut_to(length);
            let offset = if length < FRAMES { 0 } else { length };
            expect_corrupt(dir.path(), offset, &format!("{sync:?}, cut to {length}"));
        }
        for length in [FRAMES, starts[3], starts[4] - 1, starts[4], end - 1] {
            cut_to(length);
            let whole = starts.iter().rposition(|&start| start <= length).unwrap();
            expect_repaired(dir.path(), whole, &format!("{sync:?}, cut to {length}"));
        }
        cut_to(bytes.len());
        let (_journal, recovery, found) = open(dir.path()).unwrap();
        assert_eq!((found.len(), recovery.closed, recovery.suspicion), (6, closed, None));
    }
}

#[test]
fn a_cut_of_what_was_not_synced_is_a_torn_tail_unless_it_is_between_two_writes() {
    // The first half was synced by a close.
    let (bytes, starts) = left_by(SyncMode::Never, false);
    for length in 0..bytes.len() {
        let (dir, what) = (with_log(&bytes[..length]), format!("cut to {length}"));
        let whole = starts.iter().rposition(|&start| start <= length);
        match whole {
            Some(whole @ 3..) => {
                let part = &bytes[starts[whole]..length];
                let torn = part.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                expect_torn(dir.path(), whole, torn, &what);
            }
            _ => expect_corrupt(dir.path(), if length < FRAMES { 0 } else { length }, &what),
        }
    }
}

#[test]
fn a_zeroed_end_is_noticed_where_a_close_or_a_later_record_says_what_was_there() {
    let (bytes, starts) = sample(6, true);
    for from in starts[0]..starts[5] {
        let mut zeroed = bytes.clone();
        zeroed[from..].fill(0);
        let frame = starts.iter().rposition(|&start| start <= from).unwrap();
        expect_corrupt(with_log(&zeroed).path(), starts[frame], &format!("zeros from {from}"));
    }
    let (mut closed, starts) = left_by(SyncMode::Never, true);
    closed[starts[5]..].fill(0);
    expect_corrupt(with_log(&closed).path(), starts[5], "zeros after a close");
    expect_repaired(with_log(&closed).path(), 5, "zeros after a close");
}

#[test]
fn with_sync_always_the_log_is_known_to_be_longer_than_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut random, mut end) = (1_u64, FRAMES_AT);
    for _ in 0..3 {
        let (journal, _, _) = open(dir.path()).unwrap();
        for _ in 0..12 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Most are small, some as large as the space that is grown ahead, or larger.
            let sizes = [(100, 1), (60_000, 3), (600_000, 3), (3_000_000, 4)];
            let (bytes, prefix) = sizes[(random >> 32 & 3) as usize];
            put(&journal, vec![1; bytes as usize]);
            end += HEADER_BYTES as u64 + prefix + bytes;
            let mut log = fs::File::open(log_path(dir.path(), 1)).unwrap();
            let mut head = [0; FRAMES];
            std::io::Read::read_exact(&mut log, &mut head).unwrap();
            let state = State::decode(head[32..40].try_into().unwrap(), &head[STATE..]).unwrap();
            assert!(state.length >= end, "{} < {end}", state.length);
            assert!(log.metadata().unwrap().len() >= state.length);
            assert!(end - state.durable < (256 << 10) + bytes + 50, "{state:?}, {end}");
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_is_reported_unless_it_is_in_the_last_write() {
    let (bytes, starts) = sample(6, true);
    let bare = without_state(&bytes);
    let places = (0..HEAD_BYTES as usize).chain(STATE..STATE + 32).chain(FRAMES..bytes.len());
    for at in places {
        for flip in [0x01, 0x80, 0xff] {
            // Either of the state and a later frame is witness enough.
            for (bytes, end) in [(&bytes, starts[5]), (&bare, starts[5])] {
                let dir = with_log(&flipped(bytes, at, flip));
                let what = format!("byte {at} ^ {flip:#x}");
                if at < HEAD_BYTES as usize {
                    expect_corrupt(dir.path(), 0, &what);
                } else if at < FRAMES {
                    expect_corrupt(dir.path(), STATE, &what);
                } else if at < end {
                    let frame = starts.iter().rposition(|&start| start <= at).unwrap();
                    expect_corrupt(dir.path(), starts[frame], &what);
                } else {
                    expect_torn(dir.path(), 5, bytes.len() - end, &what);
                }
            }
        }
    }
    // Space that nobody reads.
    let mut padding = bytes.clone();
    padding[HEAD_BYTES as usize..STATE].fill(7);
    padding[STATE + 32..FRAMES].fill(7);
    expect_torn(with_log(&padding).path(), 6, 0, "padding");
}

#[test]
fn a_repair_keeps_what_lies_before_the_damage() {
    let (bytes, starts) = sample(6, true);
    let damaged = |at: usize| with_log(&flipped(&bytes, at, 1));
    expect_repaired(damaged(starts[3]).path(), 3, "a header");
    expect_repaired(damaged(starts[4] - 1).path(), 3, "a body");
    expect_repaired(damaged(STATE).path(), 6, "the state");
    let without = [&bytes[..starts[1]], &bytes[starts[2]..]].concat();
    expect_repaired(with_log(&without).path(), 1, "a frame that is missing");
}

#[test]
fn after_a_clean_close_not_even_the_last_record_can_be_damaged_unnoticed() {
    let (bytes, starts) = left_by(SyncMode::Always, true);
    for at in starts[5]..bytes.len() {
        let damaged = with_log(&flipped(&bytes, at, 0x10));
        expect_corrupt(damaged.path(), starts[5], &format!("byte {at}"));
    }
}

#[test]
fn two_bad_frames_in_a_row_are_still_damage() {
    let (bytes, starts) = sample(6, true);
    let mut damaged = without_state(&bytes);
    damaged[starts[2]..starts[4]].fill(0);
    expect_corrupt(with_log(&damaged).path(), starts[2], "zeros");
    damaged[starts[2]..starts[4]].fill(0x5a);
    expect_corrupt(with_log(&damaged).path(), starts[2], "garbage");
    // The witness behind may have lost its body as well.
    let body = starts[5] + HEADER_BYTES;
    damaged.truncate(body);
    expect_corrupt(with_log(&damaged).path(), starts[2], "garbage and a torn witness");
}

#[test]
fn a_removed_or_repeated_frame_is_damage() {
    let (bytes, starts) = sample(4, true);
    let without = [&bytes[..starts[1]], &bytes[starts[2]..]].concat();
    expect_corrupt(with_log(&without).path(), starts[1], "removed");
    let twice = [&bytes[..starts[2]], &bytes[starts[1]..]].concat();
    expect_corrupt(with_log(&twice).path(), starts[2], "repeated");
}

#[test]
fn zeros_and_garbage_behind_the_end_are_dropped() {
    let (bytes, _) = sample(3, true);
    for length in [1, 43, 44, 45, 4096, 600_000] {
        let zeros = [&bytes[..], &vec![0; length]].concat();
        expect_torn(with_log(&zeros).path(), 3, 0, &format!("{length} zeros"));
        let garbage: Vec<u8> = (0..length).map(|i| (i * 31 % 255) as u8 + 1).collect();
        let longer = [&bytes[..], &garbage].concat();
        expect_torn(with_log(&longer).path(), 3, length, &format!("{length} of garbage"));
    }
}

#[test]
fn a_hole_in_what_was_never_synced_is_a_torn_tail() {
    // A loss of power may keep a later page and lose an earlier one, unless they were synced.
    let (bytes, starts) = sample(6, false);
    let mut hole = bytes.clone();
    hole[starts[3]..starts[4]].fill(0);
    expect_torn(with_log(&hole).path(), 3, bytes.len() - starts[3], "hole");

    // The same hole is damage once a later frame says that it was on disk.
    let dir = with_log(&bytes);
    let (journal, _, _) = open_with(dir.path(), options(SyncMode::Never)).unwrap();
    put(&journal, "after a reopen, which syncs");
    let mut damaged = log_bytes(dir.path(), 1);
    damaged[starts[3]..starts[4]].fill(0);
    expect_corrupt(with_log(&damaged).path(), starts[3], "hole before the durable mark");
}

#[test]
fn a_copy_of_a_journal_in_a_payload_is_no_witness() {
    let (copy, _) = sample(5, true);
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open_with(dir.path(), options(SyncMode::Never)).unwrap();
    put(&journal, record(0));
    let end = log_bytes(dir.path(), 1).len();
    put(&journal, &copy);
    let mut bytes = log_bytes(dir.path(), 1);
    bytes.pop();
    expect_torn(with_log(&bytes).path(), 1, bytes.len() - end, "torn");
}

#[test]
fn a_witness_across_two_reads_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let never = options(SyncMode::Never);
    let (journal, _, _) = open_with(dir.path(), never).unwrap();
    put(&journal, "first");
    let start = log_bytes(dir.path(), 1).len();
    // The scan reads 256 KiB at a time, so the next header lies at each place of a border once.
    for length in (1 << 18) - 2 * HEADER_BYTES..1 << 18 {
        let dir = crash(dir.path());
        let (journal, _, _) = open_with(dir.path(), never).unwrap();
        put(&journal, vec![7; length]);
        journal.sync(journal.last()).unwrap();
        put(&journal, "witness");
        let bytes = flipped(&without_state(&log_bytes(dir.path(), 1)), start, 1);
        expect_corrupt(with_log(&bytes).path(), start, &format!("record of {length}"));
    }
}

#[test]
fn another_format_version_is_not_damage() {
    let (mut bytes, _) = sample(1, true);
    bytes[8] = 3;
    let crc = crc32c::crc32c(&bytes[..40]);
    bytes[40..44].copy_from_slice(&crc.to_le_bytes());
    let error = open_error(with_log(&bytes).path());
    assert_eq!(error.kind(), ErrorKind::IncompatibleVersion, "{error}");
}

#[test]
fn a_header_with_any_bit_flipped_is_refused() {
    let mark = Head::new(Kind::Log, 1, 1).mark;
    let header = Header { first: 7, durable: 1 << 40, length: 99, count: 3, body_crc: 5 };
    let bytes = header.encode(mark);
    assert_eq!(Header::decode(mark, &bytes), Some(header));
    for bit in 0..bytes.len() * 8 {
        let flipped = flipped(&bytes, bit / 8, 1 << (bit % 8));
        assert_eq!(Header::decode(mark, flipped[..].try_into().unwrap()), None, "bit {bit}");
    }
}

/// A frame of this body with right checksums.
fn crafted(file: &[u8], first: u64, count: u32, body: &[u8]) -> Vec<u8> {
    let (length, body_crc) = (body.len() as u64, crate::embedded::journal::frame::body_crc(body));
    let header = Header { first, durable: 0, length, count, body_crc };
    [file, &header.encode(file[32..40].try_into().unwrap()), body].concat()
}

#[test]
fn a_count_or_a_length_is_not_believed_for_a_right_checksum() {
    let empty = Head::new(Kind::Log, 1, 1);
    let log = [&empty.encode()[..], &[0; FRAMES - HEAD_BYTES as usize]].concat();
    let log = [&log[..STATE], &State::NONE.encode(empty.mark), &log[STATE + 32..]].concat();
    let snapshot = Head::new(Kind::Snapshot, 1, 1).encode();
    // The length of 2^64 - 1, in LEB128.
    let endless = [&[0xff; 9][..], &[1]].concat();
    for (count, body) in [
        (1 << 31, &[0; 9][..]),
        (u32::MAX, &[]),
        (u32::MAX, &[0; 9]),
        (1, &endless),
        (2, &endless),
        (1, &[0, 0]),
        (1, &[0x80; 11]),
    ] {
        let dir = with_log(&crafted(&log, 1, count, body));
        expect_corrupt(dir.path(), FRAMES, &format!("{count} records in {body:?}"));
        let dir = with_log(&log);
        fs::write(snapshot_path(dir.path(), 1), crafted(&snapshot, 0, count, body)).unwrap();
        expect_corrupt(dir.path(), HEAD_BYTES as usize, &format!("{count} records in {body:?}"));
    }
    // The last sequences of all are for nobody.
    for first in [u64::MAX, u64::MAX - 1] {
        let dir = with_log(&crafted(&crafted(&log, first, 0, &[]), first, 1, &[0]));
        expect_damage(dir.path(), "sequences that overflow");
    }
}

#[test]
fn a_torn_batch_of_several_frames_keeps_a_prefix_of_its_records() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    let head = fs::read(log_path(dir.path(), 1)).unwrap();
    let records: Vec<_> = (0..5_u8).map(|i| vec![i; 700_000]).collect();
    let mut batch = FrameBuffer::default();
    (1..).zip(&records).for_each(|(sequence, record)| batch.push(sequence, record));
    let frames = batch.seal(head[32..40].try_into().unwrap(), FRAMES_AT);
    for cut in (0..frames.len()).step_by(99_991) {
        let bytes = [&head, &frames[..cut]].concat();
        let (_journal, _, found) =
            open_with(with_log(&bytes).path(), options(SyncMode::Never)).unwrap();
        assert_eq!(found, log(1, &records[..found.len()]), "cut at {cut}");
        assert!(found.len() * 700_000 <= cut && found.len() % 2 == 0, "whole frames only");
    }
}
