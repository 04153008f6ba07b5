//! Fields with their values, and many messages of them.

use millpond::shuffle::FIELDS_MAX;
use millpond::tasks::Headers;
use millpond::{CALL_ITEMS_MAX, step::ByteList};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::convert::{check_bytes, iterable, push, with_bytes, wrong_type};
use crate::errors::invalid;

/// The fields of a message and their values.
#[derive(Default)]
pub(crate) struct Fields {
    strings: ByteList,
    /// How many of the strings were text.
    texts: usize,
}

impl Fields {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut strings = self.strings.iter();
        std::iter::from_fn(move || Some((strings.next()?, strings.next()?)))
    }

    /// Whether all of it was text; None if only some was.
    pub(crate) fn is_text(&self) -> Option<bool> {
        match self.texts {
            0 => Some(false),
            texts if texts == self.strings.len() => Some(true),
            _ => None,
        }
    }

    fn push(&mut self, path: impl Fn() -> String, string: &Bound<'_, PyAny>) -> PyResult<()> {
        self.texts += usize::from(string.is_instance_of::<PyString>());
        push(&mut self.strings, path, string)
    }
}

impl From<Fields> for Vec<(Vec<u8>, Vec<u8>)> {
    fn from(fields: Fields) -> Self {
        fields.iter().map(|(field, value)| (field.into(), value.into())).collect()
    }
}

/// Reads a mapping, or an iterable of up to `max` pairs of a field and its value.
pub(crate) fn read(
    path: impl Fn() -> String,
    values: &Bound<'_, PyAny>,
    max: usize,
) -> PyResult<Fields> {
    let mut fields = Fields::default();
    if let Ok(dict) = values.cast_exact::<PyDict>() {
        for (field, value) in dict.iter() {
            fields.push(|| format!("the key {field:?} of {}", path()), &field)?;
            fields.push(|| format!("{}[{field:?}]", path()), &value)?;
        }
        return Ok(fields);
    }
    let items = match values.cast::<PyMapping>() {
        Ok(mapping) => mapping.call_method0("items")?,
        Err(_) => values.clone(),
    };
    for (index, item) in iterable(&path, &items, max)?.enumerate() {
        let path = || format!("{}[{index}]", path());
        let (field, value) = pair(path, "(field, value)", &item?)?;
        fields.push(|| format!("{}[0]", path()), &field)?;
        fields.push(|| format!("{}[1]", path()), &value)?;
    }
    Ok(fields)
}

/// Headers of a task, read as fields are.
pub(crate) fn headers(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Headers> {
    let fields = read(|| name.to_owned(), values, FIELDS_MAX)?;
    Headers::new(fields.iter()).map_err(|error| invalid(values.py(), error.message().to_owned()))
}

/// Headers by their names.
pub(crate) fn dict<'py>(py: Python<'py>, headers: &Headers) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    headers.iter().try_for_each(|(name, value)| dict.set_item(name, PyBytes::new(py, value)))?;
    Ok(dict)
}

/// Messages to write: the shard key and the fields of each.
pub(crate) struct Messages(Vec<(Vec<u8>, Fields)>);

impl Messages {
    pub(crate) fn iter(
        &self,
    ) -> impl Iterator<Item = (&[u8], impl Iterator<Item = (&[u8], &[u8])>)> {
        self.0.iter().map(|(key, fields)| (&key[..], fields.iter()))
    }
}

/// Reads an iterable of `(shard_key, fields)`.
pub(crate) fn messages(values: &Bound<'_, PyAny>) -> PyResult<Messages> {
    let items = iterable(|| "messages".to_owned(), values, CALL_ITEMS_MAX)?;
    // No room is made ahead: a length is only a claim of the argument.
    let mut messages = Vec::new();
    let mut bytes = 0;
    for (index, item) in items.enumerate() {
        let path = || format!("messages[{index}]");
        let (shard_key, fields) = pair(path, "(shard_key, fields)", &item?)?;
        let key = with_bytes(|| format!("{}[0]", path()), &shard_key, <[u8]>::to_vec)?;
        let fields = read(|| format!("{}[1]", path()), &fields, FIELDS_MAX)?;
        bytes += key.len() + fields.strings.total_bytes();
        check_bytes(values.py(), path, bytes)?;
        messages.push((key, fields));
    }
    Ok(Messages(messages))
}

/// A tuple of two, or a list, which is what JSON makes of one.
fn pair<'py>(
    path: impl Fn() -> String,
    expected: &str,
    item: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if let Ok(tuple) = item.cast::<PyTuple>()
        && tuple.len() == 2
    {
        Ok((tuple.get_item(0)?, tuple.get_item(1)?))
    } else if let Ok(list) = item.cast::<PyList>()
        && list.len() == 2
    {
        Ok((list.get_item(0)?, list.get_item(1)?))
    } else {
        Err(wrong_type(&path(), expected, item))
    }
}
