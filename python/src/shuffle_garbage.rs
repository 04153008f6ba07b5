//! The collection of what is recorded of tracked messages.

use std::sync::Arc;

use millpond::{Async, Blocking, Mode, Result, shuffle};
use pyo3::prelude::*;

use crate::convert::{self, text_or_bytes};
use crate::errors;
use crate::handle::{Handle, block};
use crate::loops::{AsyncLoop, Slot, ask};

type Values = Vec<Vec<u8>>;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Garbage {
    core: Handle<Arc<Slot<Collection>>, Arc<Slot<Collection<Async>>>>,
    text: bool,
}

/// The core's collection, until a batch of it cannot be converted: no caller has received that
/// one, so it must not be deleted by asking for the next.
struct Collection<M: Mode = Blocking> {
    garbage: shuffle::Garbage<M>,
    is_over: bool,
}

impl Iterator for Collection {
    type Item = Result<Values>;

    fn next(&mut self) -> Option<Result<Values>> {
        if self.is_over { None } else { self.garbage.next() }
    }
}

impl AsyncLoop for Collection<Async> {
    type Batch = Values;

    async fn next(&mut self) -> Option<Result<Values>> {
        if self.is_over { None } else { self.garbage.next().await }
    }

    /// It never waits.
    fn stop_listening(&mut self) {}
}

fn begin<M: Mode>(garbage: shuffle::Garbage<M>) -> Arc<Slot<Collection<M>>> {
    Slot::new(Collection { garbage, is_over: false })
}

fn list<M: Mode>(
    py: Python<'_>,
    slot: &Slot<Collection<M>>,
    values: Option<Values>,
    text: bool,
) -> PyResult<Py<PyAny>> {
    let Some(values) = values else { return Ok(py.None()) };
    strings(py, values, text).inspect_err(|_| {
        if let Ok(mut collection) = slot.running()
            && let Some(collection) = &mut *collection
        {
            collection.is_over = true;
        }
    })
}

/// A list of values.
pub(crate) fn strings(py: Python<'_>, values: Values, text: bool) -> PyResult<Py<PyAny>> {
    let values = values.iter().map(|value| Ok(text_or_bytes(py, value, text)?.unbind()));
    convert::plain(py, values.collect::<PyResult<Vec<_>>>()?)
}

impl Garbage {
    pub(crate) fn new(core: Handle<shuffle::Garbage, shuffle::Garbage<Async>>, text: bool) -> Self {
        let core = match core {
            Handle::Blocking(garbage) => Handle::Blocking(begin(garbage)),
            Handle::Async(garbage) => Handle::Async(begin(garbage)),
        };
        Self { core, text }
    }
}

#[pymethods]
impl Garbage {
    /// The next batch, or None when all is collected.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = self.text;
        match &self.core {
            Handle::Blocking(slot) => {
                block(py, || slot.next(), |py, batch| list(py, slot, batch, text))
            }
            Handle::Async(slot) => {
                let asked = slot.clone();
                ask(py, slot.clone(), move |py, batch| list(py, &asked, batch, text))
            }
        }
    }

    /// How many entries were scanned and how many records were deleted so far.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        fn read<M: Mode>(slot: &Slot<Collection<M>>) -> Result<(u64, u64)> {
            let collection = slot.running()?;
            let garbage = collection.as_ref().map(|collection| &collection.garbage);
            Ok(garbage.map_or((0, 0), |garbage| (garbage.scanned(), garbage.deleted())))
        }
        let counts = match &self.core {
            Handle::Blocking(slot) => read(slot),
            Handle::Async(slot) => read(slot),
        };
        counts.map_err(|error| errors::exception(py, &error))
    }
}
