//! A shuffle queue, as its writers see it.

use millpond::Async;
use millpond::shuffle;
use pyo3::prelude::*;

use crate::convert;
use crate::handle::{Handle, call, derive};
use crate::shuffle_consumer::ShuffleConsumer;
use crate::shuffle_garbage::Garbage;
use crate::shuffle_message::read_id;
use crate::to_python::{decoded, plain};
use crate::{errors, fields};

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct ShuffleQueue {
    pub(crate) core: Handle<shuffle::ShuffleQueue, shuffle::ShuffleQueue<Async>>,
    pub(crate) text: bool,
}

#[pymethods]
impl ShuffleQueue {
    fn write(
        &self,
        py: Python<'_>,
        shard_key: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let key = convert::bytes("shard_key", shard_key)?;
        let fields = fields::read(|| "fields".to_owned(), fields)?;
        call!(py, &self.core, |queue| queue.write(&key, fields.iter()), plain)
    }

    fn write_many(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let messages = fields::messages(messages)?;
        let messages = messages.iter().map(|(key, fields)| (key, fields.iter()));
        call!(py, &self.core, |queue| queue.write_many(messages), plain)
    }

    fn write_tracked(
        &self,
        py: Python<'_>,
        shard_key: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyAny>,
        track_field: &Bound<'_, PyAny>,
        deadline: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let key = convert::bytes("shard_key", shard_key)?;
        let fields = fields::read(|| "fields".to_owned(), fields)?;
        let field = convert::bytes("track_field", track_field)?;
        let deadline = deadline.map(|time| convert::integer("deadline", time)).transpose()?;
        call!(
            py,
            &self.core,
            |queue| queue.write_tracked(&key, fields.iter(), &field, deadline),
            plain
        )
    }

    fn write_tracked_many(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        track_field: &Bound<'_, PyAny>,
        deadline: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let messages = fields::messages(messages)?;
        let messages = messages.iter().map(|(key, fields)| (key, fields.iter()));
        let field = convert::bytes("track_field", track_field)?;
        let deadline = deadline.map(|time| convert::integer("deadline", time)).transpose()?;
        call!(py, &self.core, |queue| queue.write_tracked_many(messages, &field, deadline), plain)
    }

    fn resize(&self, py: Python<'_>, streams: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let streams = convert::small_size("streams", streams)?;
        call!(py, &self.core, |queue| queue.resize(streams), plain)
    }

    fn delete_tracked(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let value = convert::bytes("value", value)?;
        call!(py, &self.core, |queue| queue.delete_tracked(&value), plain)
    }

    fn cordon_deadline_exceeded(
        &self,
        py: Python<'_>,
        within: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (within, text) = (convert::duration("within", within)?, self.text);
        call!(py, &self.core, |queue| queue.cordon_deadline_exceeded(within), decoded(text))
    }

    fn gc(&self, time_digits: Option<&Bound<'_, PyAny>>) -> PyResult<Garbage> {
        let digits = time_digits.map(|digits| convert::count("time_digits", digits)).transpose()?;
        // What does not fit is refused as any other number of digits that no time has.
        let digits = digits.map(|digits| u8::try_from(digits).unwrap_or(u8::MAX));
        Ok(Garbage::new(derive!(&self.core, |queue| queue.gc().time_digits(digits)), self.text))
    }

    fn consumer(
        &self,
        group: &Bound<'_, PyAny>,
        consumer: &Bound<'_, PyAny>,
        prefer_stream: Option<&Bound<'_, PyAny>>,
        default_stream: bool,
        max_deliveries: &Bound<'_, PyAny>,
    ) -> PyResult<ShuffleConsumer> {
        let group = convert::bytes("group", group)?;
        let consumer = convert::bytes("consumer", consumer)?;
        let prefer =
            prefer_stream.map(|stream| convert::small_size("prefer_stream", stream)).transpose()?;
        // What does not fit is refused as any other number that is too large.
        let max_deliveries = convert::whole("max_deliveries", max_deliveries)?.unwrap_or(u64::MAX);
        let core = derive!(&self.core, |queue| queue
            .consumer(group, consumer)
            .prefer_stream(prefer)
            .default_stream(default_stream)
            .max_deliveries(max_deliveries));
        Ok(ShuffleConsumer { core, text: self.text })
    }

    fn len(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        call!(py, &self.core, |queue| queue.len(), plain)
    }

    fn backlog(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        call!(py, &self.core, |queue| queue.backlog(), plain)
    }

    fn pending_count(&self, py: Python<'_>, group: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let group = convert::bytes("group", group)?;
        call!(py, &self.core, |queue| queue.pending_count(&group), plain)
    }

    fn stats(&self, py: Python<'_>, group: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let group = convert::bytes("group", group)?;
        call!(py, &self.core, |queue| queue.stats(&group), plain)
    }

    fn dead_letters(&self, py: Python<'_>, max: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (max, text) = (convert::count("max", max)?, self.text);
        call!(py, &self.core, |queue| queue.dead_letters(max), decoded(text))
    }

    /// Takes the ids of letters.
    fn delete_dead_letters(
        &self,
        py: Python<'_>,
        ids: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let ids = ids.iter().map(read_id).collect::<PyResult<Vec<_>>>()?;
        call!(py, &self.core, |queue| queue.delete_dead_letters(ids), plain)
    }
}

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
