//! The shards of shuffle queues.

use millpond::shuffle;
use pyo3::prelude::*;

use crate::{convert, errors};

/// The streams of a tenant: ``streams_per_shard`` of a queue's ``streams``, drawn from a hash of its
/// ``shard_key``, the same in every language. Makes no call.
///
/// Raises :class:`~millpond.InvalidArgumentError` for an empty key and for sizes that no queue has: a
/// queue has 1 to 65,536 streams, and a shard has at least one of them.
///
/// >>> import millpond
/// >>> millpond.shard(16, 4, "tuna")
/// [15, 13, 2, 12]
#[pyfunction]
pub(crate) fn shard(
    py: Python<'_>,
    streams: &Bound<'_, PyAny>,
    streams_per_shard: &Bound<'_, PyAny>,
    shard_key: &Bound<'_, PyAny>,
) -> PyResult<Vec<u32>> {
    let streams = convert::small_size("streams", streams)?;
    let per_shard = convert::small_size("streams_per_shard", streams_per_shard)?;
    let key = convert::bytes("shard_key", shard_key)?;
    let found = shuffle::shard(streams, per_shard, key);
    found.map_err(|error| errors::exception(py, &error))
}
