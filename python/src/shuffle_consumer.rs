//! Reading of a shuffle queue, which may wait.

use std::time::Duration;

use millpond::shuffle;
use pyo3::prelude::*;

use crate::generated::ShuffleConsumer;
use crate::given::{amount, required};
use crate::handle::{Handle, block, call};
use crate::loops::start_waiting;
use crate::to_python::decoded;

#[pymethods]
impl ShuffleConsumer {
    fn read(&self, py: Python<'_>, wait: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let convert = decoded(self.text);
        match wait {
            None => call!(py, &self.core, |consumer| consumer.read(), convert),
            Some(wait) => self.wait_for(py, 1, required("wait", wait)?, move |py, messages| {
                convert(py, messages.into_iter().next())
            }),
        }
    }

    fn read_many(
        &self,
        py: Python<'_>,
        max: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (max, convert) = (amount("max", max)?, decoded(self.text));
        match wait {
            None => call!(py, &self.core, |consumer| consumer.read_many(max), convert),
            Some(wait) => self.wait_for(py, max, required("wait", wait)?, convert),
        }
    }
}

impl ShuffleConsumer {
    /// The first batch that comes in this time: none, if none comes.
    fn wait_for(
        &self,
        py: Python<'_>,
        max: usize,
        wait: Duration,
        convert: impl FnOnce(Python<'_>, Vec<shuffle::Message>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        match &self.core {
            Handle::Blocking(consumer) => {
                let read = || consumer.messages(max).wait(wait).next().unwrap_or(Ok(Vec::new()));
                block(py, read, convert)
            }
            Handle::Async(consumer) => {
                let mut messages = consumer.messages(max).wait(wait);
                let read = async move { messages.next().await.unwrap_or(Ok(Vec::new())) };
                start_waiting(py, || Box::pin(read), convert)
            }
        }
    }
}
