//! A channel of several Icks.

use millpond::Async;
use millpond::ick::SHARDS_MAX;
use pyo3::prelude::*;

use crate::batches::Batches;
use crate::convert;
use crate::errors;
use crate::handle::{Handle, call, derive};
use crate::ick::{Ick, wait_time};
use crate::to_python::plain;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct IckChannel {
    pub(crate) core: Handle<millpond::ick::IckChannel, millpond::ick::IckChannel<Async>>,
    pub(crate) text: bool,
}

#[pymethods]
impl IckChannel {
    #[getter]
    fn shards(&self) -> u32 {
        match &self.core {
            Handle::Blocking(channel) => channel.shards(),
            Handle::Async(channel) => channel.shards(),
        }
    }

    #[getter]
    fn readable(&self) -> u32 {
        match &self.core {
            Handle::Blocking(channel) => channel.readable(),
            Handle::Async(channel) => channel.readable(),
        }
    }

    fn draining(&self, earlier: &Bound<'_, PyAny>) -> PyResult<Self> {
        let earlier = convert::small_size("earlier", earlier)?;
        let core = derive!(&self.core, |channel| channel.clone().draining(earlier));
        Ok(Self { core, text: self.text })
    }

    fn ick(&self, number: &Bound<'_, PyAny>) -> PyResult<Ick> {
        let number = convert::small_size("number", number)?;
        Ok(Ick { core: derive!(&self.core, |channel| channel.ick(number)), text: self.text })
    }

    fn ick_of(&self, member: &Bound<'_, PyAny>) -> PyResult<u32> {
        let member = convert::bytes("member", member)?;
        Ok(match &self.core {
            Handle::Blocking(channel) => channel.ick_of(member),
            Handle::Async(channel) => channel.ick_of(member),
        })
    }

    fn add(&self, py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let pairs = convert::pairs(pairs)?;
        call!(py, &self.core, |channel| channel.add(pairs.iter()), plain)
    }

    fn batches(
        &self,
        py: Python<'_>,
        numbers: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batches> {
        let numbers = convert::small_sizes("numbers", numbers, SHARDS_MAX as usize)?;
        let max = convert::size("max", max)?;
        let wait = wait_time(wait)?;
        let core =
            derive!(&self.core, |channel| errors::answer(py, channel.batches(numbers, max))?);
        Ok(Batches::new(core, wait, self.text))
    }
}
