//! Tasks and documents at a version, and positions in listings: tuples, which Python names.

use millpond::tasks::{DocId, DocPosition, MODIFICATION_ENTRIES_MAX, Position, TaskId};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::convert::{self, wrong_type};
use crate::doc::Doc;
use crate::task::Task;

/// Reads a [`Task`] or `(id, version)`.
pub(crate) fn task(path: &str, value: &Bound<'_, PyAny>) -> PyResult<TaskId> {
    if let Ok(task) = value.cast::<Task>() {
        return Ok(task.get().core.handle());
    }
    let [id, version] = parts(path, "a Task or (id, version)", value)?;
    let id = convert::text(&format!("{path}[0]"), &id)?;
    Ok(TaskId::new(id, convert::large_size(&format!("{path}[1]"), &version)?))
}

/// Reads a [`Doc`] or `(namespace, id, version)`.
pub(crate) fn doc(path: &str, value: &Bound<'_, PyAny>) -> PyResult<DocId> {
    if let Ok(doc) = value.cast::<Doc>() {
        return Ok(doc.get().core.handle());
    }
    let [namespace, id, version] = parts(path, "a Doc or (namespace, id, version)", value)?;
    let namespace = convert::text(&format!("{path}[0]"), &namespace)?;
    let id = convert::text(&format!("{path}[1]"), &id)?;
    Ok(DocId::new(namespace, id, convert::large_size(&format!("{path}[2]"), &version)?))
}

/// Reads one or an iterable of several; a tuple of the parts of one is one.
pub(crate) fn many<T>(
    argument: &str,
    values: &Bound<'_, PyAny>,
    read: fn(&str, &Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if let Ok(one) = read(argument, values) {
        return Ok(vec![one]);
    }
    let path = || argument.to_owned();
    let indexed = convert::iterable(path, values, MODIFICATION_ENTRIES_MAX)?.enumerate();
    indexed.map(|(index, value)| read(&format!("{argument}[{index}]"), &value?)).collect()
}

/// Reads a [`Task`] or `(at_ms, id)`.
pub(crate) fn position(value: &Bound<'_, PyAny>) -> PyResult<Position> {
    if let Ok(task) = value.cast::<Task>() {
        return Ok(Position::from(&task.get().core));
    }
    let [at, id] = parts("after", "a Position or a Task", value)?;
    let at_ms = convert::whole("after[0]", &at)?.unwrap_or(u64::MAX);
    Ok(Position { at_ms, id: convert::text("after[1]", &id)?.into() })
}

/// Reads a [`Doc`] or `(key, secondary_key, id)`.
pub(crate) fn doc_position(value: &Bound<'_, PyAny>) -> PyResult<DocPosition> {
    if let Ok(doc) = value.cast::<Doc>() {
        return Ok(DocPosition::from(&doc.get().core));
    }
    let [key, secondary_key, id] = parts("after", "a DocPosition or a Doc", value)?;
    Ok(DocPosition {
        key: convert::text("after[0]", &key)?.into(),
        secondary_key: convert::text("after[1]", &secondary_key)?.into(),
        id: convert::text("after[2]", &id)?.into(),
    })
}

/// The parts of a tuple, or of a list, which is what JSON makes of one.
fn parts<'py, const N: usize>(
    path: &str,
    expected: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<[Bound<'py, PyAny>; N]> {
    let found: Vec<_> = if let Ok(tuple) = value.cast::<PyTuple>() {
        tuple.iter().collect()
    } else if let Ok(list) = value.cast::<PyList>() {
        list.iter().collect()
    } else {
        Vec::new()
    };
    found.try_into().map_err(|_| wrong_type(path, expected, value))
}
