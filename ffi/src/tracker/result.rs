//! The result of a call of a queue tracker.

use std::ffi::c_char;
use std::ptr;

use millpond::tracker::{Pruned, Sample, Scanned, Tracked, TrackerStats};

use super::{
    millpond_tracked, millpond_tracker_pruned, millpond_tracker_scanned, millpond_tracking_stats,
};
use crate::keys::millpond_bytes;

/// What is in a result. Which fields are set depends on the call; the others are empty.
///
/// New versions may add fields to records, so a program must not index an array of them: use
/// `millpond_tracker_result_entry`, or advance by the number of bytes given beside the array.
#[repr(C)]
pub struct millpond_tracker_data {
    /// Of `millpond_tracker_ids`: the ids, those first that are checked first.
    pub entries: *const millpond_tracked,
    /// How many there are.
    pub entry_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub entry_size: usize,
    /// Of `millpond_tracker_sample`: the ids.
    pub ids: *const millpond_bytes,
    /// How many there are.
    pub id_count: usize,
    /// Of `millpond_tracker_sample`: the stamp of the ids, for `millpond_tracker_remove`.
    pub stamp: u64,
    /// Of `millpond_tracker_stats` and `millpond_tracker_begin_scan`.
    pub stats: *const millpond_tracking_stats,
    /// Of `millpond_tracker_advance`.
    pub scanned: *const millpond_tracker_scanned,
    /// Of `millpond_tracker_remove`.
    pub pruned: *const millpond_tracker_pruned,
    /// All texts, one after another without gaps: those of each entry, of the ids, and of the stats, each in the order
    /// of its fields. For interpreters, which copy them in one go; not NUL-terminated.
    pub text: *const c_char,
    /// The length of all texts, in bytes.
    pub text_length: usize,
}

/// What a handle of a result refers to. Boxed, because otherwise every handle would take this much memory.
pub(crate) type TrackerResult = Box<Parts>;

/// The parts of a result, each stored without gaps, and what points to them.
pub(crate) struct Parts {
    pub(crate) data: millpond_tracker_data,
    pub(crate) entries: Box<[millpond_tracked]>,
    pub(crate) ids: Box<[millpond_bytes]>,
    _one: Box<One>,
    _text: Box<[u8]>,
}

/// The parts of which there is at most one.
#[derive(Default)]
struct One {
    stats: Option<millpond_tracking_stats>,
    scanned: Option<millpond_tracker_scanned>,
    pruned: Option<millpond_tracker_pruned>,
}

// SAFETY: the pointers in it point into its other parts, which are never changed or moved.
unsafe impl Send for Parts {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Parts {}

/// What a call of the core returned.
#[derive(Default)]
struct Content {
    entries: Vec<Tracked>,
    sample: Sample,
    stats: Option<TrackerStats>,
    scanned: Option<Scanned>,
    pruned: Option<Pruned>,
}

/// What is in the result of a call, by what the call returns.
macro_rules! results {
    ($($type:ty, $it:pat => $field:ident: $part:expr;)*) => {$(
        impl From<$type> for TrackerResult {
            fn from($it: $type) -> Self {
                Parts::new(&Content { $field: $part, ..Content::default() })
            }
        }
    )*};
}

results! {
    Vec<Tracked>, entries => entries: entries;
    Sample, sample => sample: sample;
    TrackerStats, stats => stats: Some(stats);
    Scanned, scanned => scanned: Some(scanned);
    Pruned, pruned => pruned: Some(pruned);
}

impl Parts {
    fn new(content: &Content) -> TrackerResult {
        let mut text = Vec::new();
        content.entries.iter().for_each(|entry| millpond_tracked::texts(entry, &mut text));
        content.sample.ids.iter().for_each(|id| text.extend_from_slice(id));
        content.stats.iter().for_each(|stats| millpond_tracking_stats::texts(stats, &mut text));
        let text = text.into_boxed_slice();
        let mut rest = &*text;
        let mut cut = |text: Option<&[u8]>| {
            text.map_or(millpond_bytes::NONE, |text| {
                let (own, after) = rest.split_at(text.len());
                rest = after;
                millpond_bytes::of(own)
            })
        };
        // In the order of the texts.
        let entries = content.entries.iter();
        let entries: Box<[_]> =
            entries.map(|entry| millpond_tracked::new(entry, &mut cut)).collect();
        let ids: Box<[_]> = content.sample.ids.iter().map(|id| cut(Some(id))).collect();
        let stats = content.stats.as_ref();
        let one = Box::new(One {
            stats: stats.map(|stats| millpond_tracking_stats::new(stats, &mut cut)),
            scanned: content.scanned.as_ref().map(millpond_tracker_scanned::new),
            pruned: content.pruned.as_ref().map(millpond_tracker_pruned::new),
        });
        let data = millpond_tracker_data {
            entries: entries.as_ptr(),
            entry_count: entries.len(),
            entry_size: size_of::<millpond_tracked>(),
            ids: ids.as_ptr(),
            id_count: ids.len(),
            stamp: content.sample.stamp,
            stats: one.stats.as_ref().map_or(ptr::null(), ptr::from_ref),
            scanned: one.scanned.as_ref().map_or(ptr::null(), ptr::from_ref),
            pruned: one.pruned.as_ref().map_or(ptr::null(), ptr::from_ref),
            text: text.as_ptr().cast(),
            text_length: text.len(),
        };
        Box::new(Self { data, entries, ids, _one: one, _text: text })
    }
}
