//! Values of Python as the core takes them, and back. Errors name the argument and the index in
//! it, before anything is sent.

use std::time::Duration;

use millpond::{CALL_BYTES_MAX, CALL_ITEMS_MAX, step::ByteList};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDelta, PyDict, PyFloat, PyInt, PyIterator, PyMemoryView,
    PyString, PyTuple,
};

use crate::errors::invalid;

const BYTES: &str = "str, bytes, bytearray or memoryview";

/// After how many items of an iterable signals are handled and other threads run.
const TURN_ITEMS: usize = 4_096;

/// The scores and members of an add.
#[derive(Default)]
pub(crate) struct Pairs {
    scores: Vec<Option<f64>>,
    members: ByteList,
}

impl Pairs {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<f64>, &[u8])> {
        self.scores.iter().copied().zip(self.members.iter())
    }
}

/// Reads `(score, member)`, `(None, member)` or just a member, of each item.
pub(crate) fn pairs(values: &Bound<'_, PyAny>) -> PyResult<Pairs> {
    if values.is_instance_of::<PyDict>() {
        return Err(PyTypeError::new_err(
            "pairs must be an iterable of (score, member), not dict; for a dict of scores write \
             [(score, member) for member, score in scores.items()]",
        ));
    }
    let mut pairs = Pairs::default();
    for (index, item) in iterable(|| "pairs".to_owned(), values, CALL_ITEMS_MAX)?.enumerate() {
        let item = item?;
        let path = |part: &str| format!("pairs[{index}]{part}");
        let (score, member, part) = match item.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (Some(pair.get_item(0)?), pair.get_item(1)?, "[1]"),
            Ok(tuple) => {
                return Err(PyTypeError::new_err(format!(
                    "{} must be (score, member), not a tuple of {}",
                    path(""),
                    tuple.len()
                )));
            }
            Err(_) => (None, item, ""),
        };
        let score = score.filter(|score| !score.is_none());
        let score = score.map(|score| number(|| path("[0]"), &score)).transpose()?;
        push(&mut pairs.members, || path(part), &member)?;
        pairs.scores.push(score);
    }
    Ok(pairs)
}

/// Reads an iterable of up to `max` members.
pub(crate) fn members(argument: &str, values: &Bound<'_, PyAny>, max: usize) -> PyResult<ByteList> {
    let mut members = ByteList::default();
    for (index, member) in iterable(|| argument.to_owned(), values, max)?.enumerate() {
        push(&mut members, || format!("{argument}[{index}]"), &member?)?;
    }
    Ok(members)
}

/// A name or a member as bytes.
pub(crate) fn bytes(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    with_bytes(|| argument.to_owned(), value, <[u8]>::to_vec)
}

/// A text, of queues that hold no bytes.
pub(crate) fn text(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.cast::<PyString>().map_err(|_| wrong_type(argument, "str", value))?;
    Ok(text.to_cow()?.into_owned())
}

/// A text, or an iterable of up to `max`.
pub(crate) fn texts(
    argument: &str,
    values: &Bound<'_, PyAny>,
    max: usize,
) -> PyResult<Vec<String>> {
    if values.is_instance_of::<PyString>() {
        return Ok(vec![text(argument, values)?]);
    }
    let mut bytes = 0;
    let mut texts = Vec::new();
    for (index, value) in iterable(|| argument.to_owned(), values, max)?.enumerate() {
        let value = value?;
        let text = text(&format!("{argument}[{index}]"), &value)?;
        bytes += text.len();
        check_bytes(value.py(), || argument.to_owned(), bytes)?;
        texts.push(text);
    }
    Ok(texts)
}

pub(crate) fn push(
    list: &mut ByteList,
    path: impl Fn() -> String,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    with_bytes(&path, value, |bytes| list.push(bytes))?;
    check_bytes(value.py(), path, list.total_bytes())
}

/// Refuses the part of an argument with which the strings of a call become too long.
pub(crate) fn check_bytes(
    py: Python<'_>,
    path: impl Fn() -> String,
    total_bytes: usize,
) -> PyResult<()> {
    match total_bytes > CALL_BYTES_MAX {
        true => {
            let path = path();
            let message = format!("up to {path} there are more than {CALL_BYTES_MAX} bytes");
            Err(invalid(py, message))
        }
        false => Ok(()),
    }
}

pub(crate) fn with_bytes<T>(
    path: impl Fn() -> String,
    value: &Bound<'_, PyAny>,
    take: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        Ok(take(bytes.as_bytes()))
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(take(text.encode_utf8()?.as_bytes()))
    } else if let Ok(array) = value.cast::<PyByteArray>() {
        Ok(take(&array.to_vec()))
    } else if value.is_instance_of::<PyMemoryView>() {
        let copy = value.call_method0("tobytes")?;
        Ok(take(copy.cast::<PyBytes>()?.as_bytes()))
    } else {
        Err(wrong_type(&path(), BYTES, value))
    }
}

/// Items of an iterable, which may have no end: more than `max` are refused. Iterators that are not
/// written in Python neither handle signals nor release the interpreter's lock, so this does.
pub(crate) struct Items<'py, P> {
    iterator: Bound<'py, PyIterator>,
    path: P,
    max: usize,
    read: usize,
}

impl<'py, P: Fn() -> String> Items<'py, P> {
    fn take_turn(&self) -> PyResult<()> {
        let py = self.iterator.py();
        if self.read > self.max {
            let message = format!("{} has more than {} items", (self.path)(), self.max);
            return Err(invalid(py, message));
        }
        if self.read.is_multiple_of(TURN_ITEMS) {
            py.check_signals()?;
            py.detach(|| ());
        }
        Ok(())
    }
}

impl<'py, P: Fn() -> String> Iterator for Items<'py, P> {
    type Item = PyResult<Bound<'py, PyAny>>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.iterator.next()?;
        self.read += 1;
        Some(item.and_then(|item| self.take_turn().map(|()| item)))
    }
}

/// An iterable of up to `max` items. A string is iterable too, by its letters, which is never
/// intended.
pub(crate) fn iterable<'py, P: Fn() -> String>(
    path: P,
    values: &Bound<'py, PyAny>,
    max: usize,
) -> PyResult<Items<'py, P>> {
    let is_one = values.is_instance_of::<PyString>()
        || values.is_instance_of::<PyBytes>()
        || values.is_instance_of::<PyByteArray>()
        || values.is_instance_of::<PyMemoryView>();
    match values.try_iter() {
        Ok(iterator) if !is_one => Ok(Items { iterator, path, max, read: 0 }),
        Err(failure) if !failure.is_instance_of::<PyTypeError>(values.py()) => Err(failure),
        _ => Err(wrong_type(&path(), "an iterable, such as a list", values)),
    }
}

/// A float or an int; a bool is an int too, which is never intended.
pub(crate) fn number(path: impl Fn() -> String, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    if !is_number || value.is_instance_of::<PyBool>() {
        return Err(wrong_type(&path(), "float or int", value));
    }
    value.extract().map_err(|failure: PyErr| {
        match failure.is_instance_of::<PyOverflowError>(value.py()) {
            true => invalid(value.py(), format!("{} is beyond the range of a float", path())),
            false => failure,
        }
    })
}

/// A whole number from 0 on; None if it does not fit.
pub(crate) fn whole(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(argument, "int", value));
    }
    value.extract().map(Some).or_else(|failure: PyErr| {
        let py = value.py();
        if failure.is_instance_of::<PyTypeError>(py) {
            Err(wrong_type(argument, "int", value))
        } else if !failure.is_instance_of::<PyOverflowError>(py) {
            Err(failure)
        } else if let Ok(true) = value.lt(0) {
            Err(invalid(py, format!("{argument} is negative; it has to be 0 or more")))
        } else {
            Ok(None)
        }
    })
}

/// A whole number, which may be negative.
pub(crate) fn integer(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(argument, "int", value));
    }
    value.extract().map_err(|failure: PyErr| {
        match failure.is_instance_of::<PyTypeError>(value.py()) {
            true => wrong_type(argument, "int", value),
            false => invalid(value.py(), format!("{argument} does not fit into 64 bits")),
        }
    })
}

/// A size or a count of a smaller kind.
pub(crate) fn small_size(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let size = whole(argument, value)?.and_then(|size| u32::try_from(size).ok());
    size.ok_or_else(|| invalid(value.py(), format!("{argument} is too large")))
}

/// A size, a version or a time of 64 bits.
pub(crate) fn large_size(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let too_large = || format!("{argument} does not fit into 64 bits");
    whole(argument, value)?.ok_or_else(|| invalid(value.py(), too_large()))
}

/// An iterable of up to `max` sizes.
pub(crate) fn small_sizes(
    argument: &str,
    values: &Bound<'_, PyAny>,
    max: usize,
) -> PyResult<Vec<u32>> {
    let indexed = iterable(|| argument.to_owned(), values, max)?.enumerate();
    indexed.map(|(index, value)| small_size(&format!("{argument}[{index}]"), &value?)).collect()
}

/// A time in seconds or a timedelta; infinity is forever.
pub(crate) fn duration(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds: f64 = match value.cast::<PyDelta>() {
        Ok(delta) => delta.call_method0("total_seconds")?.extract()?,
        Err(_) if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() => {
            number(|| argument.to_owned(), value)?
        }
        Err(_) => return Err(wrong_type(argument, "a number of seconds or a timedelta", value)),
    };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(invalid(
            value.py(),
            format!("{argument} is {seconds}; a time has to be 0 or more seconds"),
        ));
    }
    // What does not fit into a Duration means without limit.
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// A time that may not be zero.
pub(crate) fn some_time(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    match duration(argument, value)? {
        Duration::ZERO => {
            Err(invalid(value.py(), format!("{argument} has to be longer than 0 seconds")))
        }
        time => Ok(time),
    }
}

/// The two parts of a tuple, or of what has them by these names.
pub(crate) fn parts<'py>(
    path: &str,
    expected: &str,
    names: [&str; 2],
    value: &Bound<'py, PyAny>,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    if let Ok(tuple) = value.cast::<PyTuple>()
        && tuple.len() == 2
    {
        return Ok([tuple.get_item(0)?, tuple.get_item(1)?]);
    }
    let [one, other] = names.map(|name| value.getattr(name));
    let wrong = |_| wrong_type(path, expected, value);
    Ok([one.map_err(wrong)?, other.map_err(wrong)?])
}

pub(crate) fn wrong_type(path: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let found = value.get_type().name();
    let found = found.map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{path} must be {expected}, not {found}"))
}

/// Bytes as the client's option wants them: bytes, or str from UTF-8.
pub(crate) fn text_or_bytes<'py>(
    py: Python<'py>,
    bytes: &[u8],
    text: bool,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match text {
        true => PyString::from_bytes(py, bytes)?.into_any(),
        false => PyBytes::new(py, bytes).into_any(),
    })
}
