//! Every way to break the files: a torn tail is dropped and counted, all else is reported.

use std::fs;
use std::path::Path;

use super::*;
use crate::ErrorKind;
use crate::embedded::journal::frame::{Batch, HEADER_BYTES, Header};
use crate::embedded::journal::segment::{HEAD_BYTES, Head, Kind};

/// A directory whose only log has these bytes.
fn with_log(bytes: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(log_path(dir.path(), 1), bytes).unwrap();
    dir
}

fn record(i: usize) -> Vec<u8> {
    format!("record {i}").into_bytes()
}

/// A log of single-record frames after a crash, and where each frame begins, and the end.
fn sample(count: usize, sync: SyncMode) -> (Vec<u8>, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open_with(dir.path(), options(sync)).unwrap();
    let mut starts = Vec::new();
    for i in 0..count {
        starts.push(log_bytes(dir.path(), 1).len());
        put(&journal, record(i));
    }
    let bytes = log_bytes(dir.path(), 1);
    starts.push(bytes.len());
    (bytes, starts)
}

fn expect_corrupt(dir: &Path, offset: usize, what: &str) {
    let before: Vec<_> = files(dir).iter().map(|f| fs::read(dir.join(f)).unwrap()).collect();
    let error = open(dir).map(|found| found.2).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
    assert!(error.message().contains(&format!("at byte {offset}:")), "{what}: {error}");
    assert!(error.message().contains(".log at") || error.message().contains(".snapshot at"));
    let after: Vec<_> = files(dir).iter().map(|f| fs::read(dir.join(f)).unwrap()).collect();
    assert!(before == after, "{what}: the files were touched");
}

/// Opens, checks that exactly the first records come back, goes on, and opens again.
fn expect_torn(dir: &Path, records: usize, torn: usize, what: &str) {
    let kept: Vec<_> = (0..records).map(record).collect();
    let (journal, recovery, found) = open(dir).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(found, log(1, &kept), "{what}");
    assert_eq!(recovery.torn_bytes, torn as u64, "{what}");
    assert_eq!(put(&journal, "later"), records as u64 + 1);
    // A crash and no close, which would cut the file itself.
    let (_journal, recovery, found) = open(crash(dir).path()).unwrap();
    assert_eq!(found.len(), records + 1, "{what}: garbage came back");
    assert_eq!(recovery.torn_bytes, 0, "{what}");
}

#[test]
fn a_cut_at_any_byte_loses_only_what_lies_behind() {
    let (bytes, starts) = sample(6, SyncMode::Always);
    for cut in starts[3]..=bytes.len() {
        let whole = starts.iter().rposition(|&start| start <= cut).unwrap();
        let dir = with_log(&bytes[..cut]);
        // A cut within zeros leaves them to look like space that was grown ahead.
        let part = &bytes[starts[whole]..cut];
        let torn = part.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        expect_torn(dir.path(), whole, torn, &format!("cut at {cut}"));
    }
}

#[test]
fn a_flipped_byte_anywhere_is_reported_unless_it_is_in_the_last_write() {
    let (bytes, starts) = sample(6, SyncMode::Always);
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let dir = with_log(&damaged);
            let what = format!("byte {at} ^ {flip:#x}");
            if at < HEAD_BYTES as usize {
                expect_corrupt(dir.path(), 0, &what);
            } else if at < starts[5] {
                let frame = starts.iter().rposition(|&start| start <= at).unwrap();
                expect_corrupt(dir.path(), starts[frame], &what);
            } else {
                expect_torn(dir.path(), 5, bytes.len() - starts[5], &what);
            }
        }
    }
}

#[test]
fn after_a_clean_close_not_even_the_last_record_can_be_damaged_unnoticed() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    for i in 0..3 {
        put(&journal, record(i));
    }
    let end = log_bytes(dir.path(), 1).len();
    journal.close().unwrap();
    let bytes = fs::read(log_path(dir.path(), 1)).unwrap();
    assert_eq!(bytes.len(), end + HEADER_BYTES);
    let last = end - HEADER_BYTES - 1 - record(2).len();
    for at in last..end {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        expect_corrupt(with_log(&damaged).path(), last, &format!("byte {at}"));
    }
    // Damage to the marker itself takes nothing with it.
    for at in end..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        expect_torn(with_log(&damaged).path(), 3, HEADER_BYTES, &format!("byte {at}"));
    }
}

#[test]
fn two_bad_frames_in_a_row_are_still_damage() {
    let (bytes, starts) = sample(6, SyncMode::Always);
    let mut damaged = bytes.clone();
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
    let (bytes, starts) = sample(4, SyncMode::Always);
    let without = [&bytes[..starts[1]], &bytes[starts[2]..]].concat();
    expect_corrupt(with_log(&without).path(), starts[1], "removed");
    let twice = [&bytes[..starts[2]], &bytes[starts[1]..]].concat();
    expect_corrupt(with_log(&twice).path(), starts[2], "repeated");
}

#[test]
fn zeros_and_garbage_behind_the_end_are_dropped() {
    let (bytes, _) = sample(3, SyncMode::Always);
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
    let (bytes, starts) = sample(6, SyncMode::Never);
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
    let (copy, _) = sample(5, SyncMode::Always);
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
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
    let (journal, _, _) = open(dir.path()).unwrap();
    put(&journal, "first");
    let start = log_bytes(dir.path(), 1).len();
    // The scan reads 256 KiB at a time, so the next header lies at each place of a border once.
    for length in (1 << 18) - 2 * HEADER_BYTES..1 << 18 {
        let dir = crash(dir.path());
        let (journal, _, _) = open(dir.path()).unwrap();
        put(&journal, vec![7; length]);
        put(&journal, "witness");
        let mut bytes = log_bytes(dir.path(), 1);
        bytes[start] ^= 1;
        expect_corrupt(with_log(&bytes).path(), start, &format!("record of {length}"));
    }
}

#[test]
fn another_format_version_is_not_damage() {
    let (mut bytes, _) = sample(1, SyncMode::Always);
    bytes[8] = 2;
    let crc = crc32c::crc32c(&bytes[..40]);
    bytes[40..44].copy_from_slice(&crc.to_le_bytes());
    let error = open(with_log(&bytes).path()).map(|found| found.2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompatibleVersion, "{error}");
}

#[test]
fn a_header_with_any_bit_flipped_is_refused() {
    let mark = Head::new(Kind::Log, 1, 1).mark;
    let header = Header { first: 7, durable: 1 << 40, length: 99, count: 3, body_crc: 5 };
    let bytes = header.encode(mark);
    assert_eq!(Header::decode(mark, &bytes), Some(header));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Header::decode(mark, &flipped), None, "bit {bit}");
    }
}

#[test]
fn a_torn_batch_of_several_frames_keeps_a_prefix_of_its_records() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    let head = fs::read(log_path(dir.path(), 1)).unwrap()[..HEAD_BYTES as usize].to_vec();
    let records: Vec<_> = (0..5_u8).map(|i| vec![i; 700_000]).collect();
    let mut batch = Batch::default();
    (1..).zip(&records).for_each(|(sequence, record)| batch.push(sequence, record));
    let frames = batch.seal(head[32..40].try_into().unwrap(), HEAD_BYTES);
    for cut in (0..frames.len()).step_by(99_991) {
        let bytes = [&head, &frames[..cut]].concat();
        let (_journal, _, found) = open(with_log(&bytes).path()).unwrap();
        assert_eq!(found, log(1, &records[..found.len()]), "cut at {cut}");
        assert!(found.len() * 700_000 <= cut && found.len() % 2 == 0, "whole frames only");
    }
}
