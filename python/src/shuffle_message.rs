//! Messages of shuffle queues and where they are.
//!
//! A message keeps what the core read and makes Python's objects when they are read: a batch
//! costs little, and a message that is no text affects only itself.

use std::hash::{Hash, Hasher};

use millpond::shuffle::{self, FIELDS_MAX, MessageId, Stream};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use crate::convert::{self, text_or_bytes};
use crate::errors;
use crate::fields;

/// Where a message is: what acknowledging takes. The message itself is as good.
///
/// ``stream`` is the number of the stream, or None for the default stream, and ``id`` the name of
/// the message in it.
///
/// >>> import millpond
/// >>> queue = millpond.connect("memory:").shuffle_queue("jobs", streams=4, streams_per_shard=1)
/// >>> queue.write("tenant-7", {"image": "a.png"}).stream
/// 2
/// >>> millpond.Receipt(2, "1700000000000-0")
/// Receipt(stream=2, id='1700000000000-0')
#[pyclass(frozen, eq, hash, module = "millpond.shuffle")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Receipt {
    pub(crate) core: shuffle::Receipt,
}

#[pymethods]
impl Receipt {
    #[new]
    fn new(stream: Option<&Bound<'_, PyAny>>, id: &Bound<'_, PyAny>) -> PyResult<Self> {
        let core = shuffle::Receipt { stream: read_stream(stream)?, id: read_id(id)? };
        Ok(Self { core })
    }

    /// The number of the stream, or None for the default stream.
    #[getter]
    fn stream(&self) -> Option<u32> {
        stream_number(self.core.stream)
    }

    /// The name of the message in its stream.
    #[getter]
    fn id(&self) -> String {
        self.core.id.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Receipt({})", shown(&self.core))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Option<u32>, String)) {
        (this.get_type(), (this.get().stream(), this.get().id()))
    }
}

/// A message that was delivered to a consumer.
///
/// Its fields hold bytes, or str if the client has ``decode_responses``. They are read when they
/// are requested, so a message that is not UTF-8 can still be acknowledged.
///
/// >>> import millpond
/// >>> fields = [("task", "resize"), ("image", "a.png")]
/// >>> message = millpond.Message(3, "1700000000000-0", fields)
/// >>> message.field("image")
/// 'a.png'
/// >>> dict(message.fields)
/// {'task': 'resize', 'image': 'a.png'}
/// >>> message.deliveries  # more of a message that was reclaimed
/// 1
#[pyclass(frozen, eq, hash, generic, module = "millpond.shuffle")]
#[derive(PartialEq, Eq)]
pub(crate) struct Message {
    core: shuffle::Message,
    text: bool,
}

impl Hash for Message {
    /// Few messages share an id, so the fields are not compared.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.receipt().hash(state);
    }
}

impl Message {
    pub(crate) fn new(core: shuffle::Message, text: bool) -> Self {
        Self { core, text }
    }

    pub(crate) fn receipt(&self) -> shuffle::Receipt {
        shuffle::Receipt::from(&self.core)
    }

    fn list<'py>(&self, py: Python<'py>, text: bool) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (field, value) in &self.core.fields {
            list.append((text_or_bytes(py, field, text)?, text_or_bytes(py, value, text)?))?;
        }
        Ok(list)
    }
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(
        signature = (stream, id, fields, deliveries = None),
        text_signature = "(stream, id, fields, deliveries=1)"
    )]
    fn of(
        stream: Option<&Bound<'_, PyAny>>,
        id: &Bound<'_, PyAny>,
        fields: &Bound<'_, PyAny>,
        deliveries: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (stream, id) = (read_stream(stream)?, read_id(id)?);
        let fields = fields::read(|| "fields".to_owned(), fields, FIELDS_MAX)?;
        let Some(text) = fields.is_text() else {
            return Err(PyTypeError::new_err("fields must be all str or all bytes"));
        };
        let deliveries = read_deliveries(deliveries)?;
        let fields = fields.into();
        Ok(Self::new(shuffle::Message { stream, id, deliveries, fields }, text))
    }

    /// The number of the stream that it came from, or None for the default stream.
    #[getter]
    fn stream(&self) -> Option<u32> {
        stream_number(self.core.stream)
    }

    /// Its name in that stream: the time at which it was written, in milliseconds, and a number.
    #[getter]
    fn id(&self) -> String {
        self.core.id.to_string()
    }

    /// A new list of its fields and their values, ``(field, value)``, as they were written.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.list(py, self.text)
    }

    /// How often it was delivered, this time included: 1 after a read, more after a reclaim.
    #[getter]
    fn deliveries(&self) -> u64 {
        self.core.deliveries
    }

    /// The value of the first field of this name, or None.
    fn field<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let find = |wanted: &[u8]| self.core.field(wanted);
        let found = convert::with_bytes(|| "name".to_owned(), name, find)?;
        found.map(|value| text_or_bytes(name.py(), value, self.text)).transpose()
    }

    /// Shows bytes where text was requested and there is none.
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = self.list(py, self.text).or_else(|_| self.list(py, false))?.repr()?;
        let deliveries = match self.core.deliveries {
            1 => String::new(),
            n => format!(", deliveries={n}"),
        };
        Ok(format!("Message({}, fields={fields}{deliveries})", shown(&self.receipt())))
    }

    /// Also a message that is not the text that was requested comes back as it was.
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, message) = (this.py(), this.get());
        let (make, fields) = match message.fields(py) {
            Ok(fields) => (this.get_type().into_any(), fields),
            Err(_) => {
                let make = py.import("millpond._native")?.getattr("_undecodable")?;
                (make, message.list(py, false)?)
            }
        };
        let arguments = (message.stream(), message.id(), fields, message.deliveries());
        Ok((make, arguments.into_pyobject(py)?))
    }
}

/// Makes a message of a client that decodes results from bytes that are not UTF-8.
#[pyfunction(name = "_undecodable")]
pub(crate) fn undecodable(
    stream: Option<&Bound<'_, PyAny>>,
    id: &Bound<'_, PyAny>,
    fields: &Bound<'_, PyAny>,
    deliveries: Option<&Bound<'_, PyAny>>,
) -> PyResult<Message> {
    let (stream, id) = (read_stream(stream)?, read_id(id)?);
    let fields = fields::read(|| "fields".to_owned(), fields, FIELDS_MAX)?.into();
    let deliveries = read_deliveries(deliveries)?;
    Ok(Message::new(shuffle::Message { stream, id, deliveries, fields }, true))
}

/// Reads a message or a receipt, or an iterable of them.
pub(crate) fn receipts(messages: &Bound<'_, PyAny>) -> PyResult<Vec<shuffle::Receipt>> {
    if let Some(receipt) = receipt(messages) {
        return Ok(vec![receipt]);
    }
    let read = |(index, item): (usize, PyResult<Bound<'_, PyAny>>)| {
        let item = item?;
        let path = format!("messages[{index}]");
        receipt(&item).ok_or_else(|| convert::wrong_type(&path, "a Message or a Receipt", &item))
    };
    let path = || "messages".to_owned();
    convert::iterable(path, messages, millpond::CALL_ITEMS_MAX)?.enumerate().map(read).collect()
}

fn receipt(value: &Bound<'_, PyAny>) -> Option<shuffle::Receipt> {
    match value.cast::<Message>() {
        Ok(message) => Some(message.get().receipt()),
        Err(_) => value.cast::<Receipt>().ok().map(|receipt| receipt.get().core),
    }
}

pub(crate) fn stream_number(stream: Stream) -> Option<u32> {
    match stream {
        Stream::Default => None,
        Stream::Number(number) => Some(number),
    }
}

fn read_stream(stream: Option<&Bound<'_, PyAny>>) -> PyResult<Stream> {
    Ok(match stream {
        None => Stream::Default,
        Some(number) => Stream::Number(convert::small_size("stream", number)?),
    })
}

pub(crate) fn read_id(id: &Bound<'_, PyAny>) -> PyResult<MessageId> {
    let text = id.cast::<PyString>().map_err(|_| convert::wrong_type("id", "str", id))?;
    // Text that has no UTF-8 has the form of no id either.
    text.to_string_lossy().parse().map_err(|error| errors::exception(id.py(), &error))
}

fn read_deliveries(deliveries: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let Some(count) = deliveries else { return Ok(1) };
    convert::whole("deliveries", count)?.ok_or_else(|| {
        errors::invalid(count.py(), "deliveries does not fit into 64 bits".to_owned())
    })
}

fn shown(receipt: &shuffle::Receipt) -> String {
    let stream = stream_number(receipt.stream);
    let stream = stream.map_or("None".to_owned(), |number| number.to_string());
    format!("stream={stream}, id='{}'", receipt.id)
}
