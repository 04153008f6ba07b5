//! What a queue holds for a group.

use std::ptr;

use millpond::shuffle;

use crate::caller::{self, Caller, at};
use crate::handle::Held;
use crate::options::NOT_SET;
use crate::shuffle::generated::millpond_shuffle_stream_stats;

/// What a queue holds for a group, stream by stream. The caller frees it with
/// `millpond_shuffle_stats_free`. Any thread may read it.
pub struct millpond_shuffle_stats {
    _private: (),
}

/// What a handle of stats refers to.
pub(crate) struct Stats {
    streams: Box<[millpond_shuffle_stream_stats]>,
    total: millpond_shuffle_stream_stats,
}

impl Stats {
    pub(super) fn new(stats: &shuffle::Stats) -> Self {
        let streams: Box<[_]> =
            stats.streams.iter().map(millpond_shuffle_stream_stats::new).collect();
        let oldest_idle_ms = streams.iter().map(|stream| stream.oldest_idle_ms).max();
        let total = millpond_shuffle_stream_stats {
            len: stats.len(),
            pending: stats.pending(),
            lag: stats.lag(),
            oldest_idle_ms: oldest_idle_ms.unwrap_or(NOT_SET),
        };
        Self { streams, total }
    }
}

fn read<T: Copy>(
    stats: *const millpond_shuffle_stats,
    empty: T,
    part: impl FnOnce(Held<Stats>) -> T,
) -> T {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(empty, || caller.held("stats", stats).map_or(empty, part))
}

/// The stream with this number. Lives until the stats are freed. NULL past the end, for NULL and for
/// a handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_stats_at(
    stats: *const millpond_shuffle_stats,
    index: usize,
) -> *const millpond_shuffle_stream_stats {
    read(stats, ptr::null(), |stats| at(&stats.streams, index))
}

/// The first of the streams, `millpond_shuffle_stats_length` of which lie one after the other,
/// `millpond_shuffle_stats_stride` bytes apart. Lives as long as they do. NULL for NULL and for a
/// handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_stats_streams(
    stats: *const millpond_shuffle_stats,
) -> *const millpond_shuffle_stream_stats {
    read(stats, ptr::null(), |stats| stats.streams.as_ptr())
}

/// How many streams there are; 0 where `millpond_shuffle_stats_streams` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_stats_length(
    stats: *const millpond_shuffle_stats,
) -> usize {
    read(stats, 0, |stats| stats.streams.len())
}

/// How many bytes lie between the beginnings of a stream and of the next. Always the same in one
/// library, and not always the size that one has in the program: it can get fields.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_shuffle_stats_stride() -> usize {
    size_of::<millpond_shuffle_stream_stats>()
}

/// All streams together: their sums, and the longest of the idle times. Lives until the stats are
/// freed. NULL as in `millpond_shuffle_stats_streams`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_stats_total(
    stats: *const millpond_shuffle_stats,
) -> *const millpond_shuffle_stream_stats {
    read(stats, ptr::null(), |stats| &raw const stats.total)
}

/// Frees stats. NULL and stats that were freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_stats_free(stats: *mut millpond_shuffle_stats) {
    caller::free::<Stats>(stats);
}
