//! An Ick and its steps.

use std::time::Duration;

use millpond::ick::{BATCH_MEMBERS_MAX, Set, Stats};
use millpond::{Async, CALL_ITEMS_MAX};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::batches::Batches;
use crate::convert::{self, text_or_bytes};
use crate::errors;
use crate::handle::{Handle, call, derive};
use crate::lease::ConsumerLease;
use crate::to_python::{decoded, plain};

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Ick {
    pub(crate) core: Handle<millpond::ick::Ick, millpond::ick::Ick<Async>>,
    pub(crate) text: bool,
}

#[pymethods]
impl Ick {
    fn add(&self, py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let pairs = convert::pairs(pairs)?;
        call!(py, &self.core, |ick| ick.add(pairs.iter()), plain)
    }

    fn reserve(
        &self,
        py: Python<'_>,
        max: &Bound<'_, PyAny>,
        backwash: bool,
    ) -> PyResult<Py<PyAny>> {
        let (max, text) = (convert::size("max", max)?, self.text);
        match backwash {
            false => call!(py, &self.core, |ick| ick.reserve(max), decoded(text)),
            true => call!(py, &self.core, |ick| ick.reserve_backwash(max), decoded(text)),
        }
    }

    fn commit(&self, py: Python<'_>, members: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let members = convert::members(members, CALL_ITEMS_MAX)?;
        call!(py, &self.core, |ick| ick.commit(members.iter()), plain)
    }

    fn exchange(
        &self,
        py: Python<'_>,
        max: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
        backwash: bool,
    ) -> PyResult<Py<PyAny>> {
        let (max, text) = (convert::size("max", max)?, self.text);
        let members = convert::members(members, BATCH_MEMBERS_MAX)?;
        let members = members.iter();
        match backwash {
            false => call!(py, &self.core, |ick| ick.exchange(max, members), decoded(text)),
            true => call!(py, &self.core, |ick| ick.exchange_backwash(max, members), decoded(text)),
        }
    }

    fn stats(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = self.text;
        call!(py, &self.core, |ick| ick.stats(), move |py, found| stats(py, found, text))
    }

    fn peek(&self, py: Python<'_>, max: &Bound<'_, PyAny>, set: &str) -> PyResult<Py<PyAny>> {
        let (max, text) = (convert::size("max", max)?, self.text);
        let set = match set {
            "producer" => Set::Producer,
            "consumer" => Set::Consumer,
            other => {
                let message =
                    format!("set is {other:?}; it has to be \"producer\" or \"consumer\"");
                return Err(errors::invalid(py, message));
            }
        };
        call!(py, &self.core, |ick| ick.peek(set, max), decoded(text))
    }

    fn delete(&self, py: Python<'_>, unlink: bool) -> PyResult<Py<PyAny>> {
        match unlink {
            false => call!(py, &self.core, |ick| ick.delete(), plain),
            true => call!(py, &self.core, |ick| ick.unlink(), plain),
        }
    }

    fn lease(&self, py: Python<'_>, ttl: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (ttl, text) = (convert::duration("ttl", ttl)?, self.text);
        call!(py, &self.core, |ick| ick.lease(ttl), move |py, lease| {
            convert::plain(py, lease.map(|lease| ConsumerLease::new(lease, text)))
        })
    }

    fn batches(
        &self,
        max: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batches> {
        let max = convert::size("max", max)?;
        let wait = wait_time(wait)?;
        Ok(Batches::new(derive!(&self.core, |ick| ick.batches(max)), wait, self.text))
    }
}

/// How long a loop over batches waits for work.
pub(crate) fn wait_time(wait: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    wait.map(|wait| convert::duration("wait", wait)).transpose()
}

/// The values of the Python class, in its order.
fn stats(py: Python<'_>, stats: Option<Stats>, text: bool) -> PyResult<Py<PyAny>> {
    let Some(stats) = stats else { return Ok(py.None()) };
    let (pset_min, pset_max) = stats.producer_range.unzip();
    let (cset_min, cset_max) = stats.consumer_range.unzip();
    let (total_min, total_max) = stats.total_range().unzip();
    let keys = (
        &stats.version,
        text_or_bytes(py, &stats.key, text)?,
        text_or_bytes(py, &stats.producer_key, text)?,
        text_or_bytes(py, &stats.consumer_key, text)?,
    );
    let sizes = (stats.producer_size, stats.consumer_size, stats.total_size());
    let scores = (pset_min, pset_max, cset_min, cset_max, total_min, total_max);
    (keys, sizes, scores).into_py_any(py)
}
