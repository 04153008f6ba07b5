//! What a queue holds for a group.

use millpond::shuffle;

use crate::options::NOT_SET;
use crate::shuffle::generated::millpond_shuffle_stream_stats;

/// What a handle of stats refers to.
pub(crate) struct Stats {
    pub(crate) list: Box<[millpond_shuffle_stream_stats]>,
    pub(crate) total: millpond_shuffle_stream_stats,
}

impl From<shuffle::Stats> for Stats {
    fn from(stats: shuffle::Stats) -> Self {
        let streams: Box<[_]> =
            stats.streams.iter().map(millpond_shuffle_stream_stats::new).collect();
        let oldest_idle_ms = streams.iter().map(|stream| stream.oldest_idle_ms).max();
        let total = millpond_shuffle_stream_stats {
            len: stats.len(),
            pending: stats.pending(),
            lag: stats.lag(),
            oldest_idle_ms: oldest_idle_ms.unwrap_or(NOT_SET),
        };
        Self { list: streams, total }
    }
}
