//! The bytes that states store, for the tests that compare them with the bytes of earlier versions.

use super::{Snapshot, State};
use crate::error::{ErrorKind, Result};

/// The records of a snapshot.
struct Records(Vec<Vec<u8>>);

impl Snapshot for Records {
    fn begin(&mut self) -> u64 {
        1
    }

    fn record(&mut self, record: &[u8]) {
        self.0.push(record.to_vec());
    }
}

pub(crate) fn snapshot_of(state: &impl State) -> Vec<Vec<u8>> {
    let mut records = Records(Vec::new());
    state.snapshot(&mut records);
    records.0
}

pub(crate) fn replayed<S: State + Default>(records: &[impl AsRef<[u8]>]) -> Result<S> {
    let state = S::default();
    records.iter().try_for_each(|record| state.replay(record.as_ref(), None))?;
    state.replayed();
    Ok(state)
}

/// Checks that records, and the snapshot of the state that they make, are stored as before: `expected` has a line for
/// each, its name and its bytes in hex. They replay to the same state; damaged ones, and those of a later
/// version, are refused.
pub(crate) fn check<S: State + Default>(expected: &str, records: &[(&str, Vec<u8>)]) {
    let bytes: Vec<_> = records.iter().map(|(_, record)| record).collect();
    let snapshot = snapshot_of(&replayed::<S>(&bytes).unwrap());
    let copies = snapshot.iter().map(|record| ("snapshot", record));
    let mut stored = String::new();
    for (name, record) in records.iter().map(|(name, record)| (*name, record)).chain(copies) {
        let hex: String = record.iter().map(|byte| format!("{byte:02x}")).collect();
        stored += format!("{name} {hex}").trim_end();
        stored += "\n";
    }
    assert!(stored == expected, "other bytes than before are stored:\n{stored}");
    assert!(snapshot_of(&replayed::<S>(&snapshot).unwrap()) == snapshot);

    let refusal = |record: &[u8]| replayed::<S>(&[record]).err().map(|error| error.kind());
    let whole = records.iter().flat_map(|(_, record)| record.clone()).collect::<Vec<_>>();
    assert_eq!(refusal(&whole), None);
    let later = refusal(&[&*whole, &[0xee]].concat());
    assert_eq!(later, Some(ErrorKind::IncompatibleVersion), "of a later version");
    let cuts = (0..whole.len()).filter_map(|length| refusal(&whole[..length]));
    let cuts: Vec<_> = cuts.collect();
    assert!(cuts.len() > whole.len() / 2 && cuts.iter().all(|kind| *kind == ErrorKind::Corrupt));
}
