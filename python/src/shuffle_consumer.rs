//! A consumer of a shuffle queue.

use std::time::Duration;

use millpond::{Async, shuffle};
use pyo3::prelude::*;

use crate::convert;
use crate::handle::{Handle, block, call, derive};
use crate::ick::wait_time;
use crate::loops::start_waiting;
use crate::shuffle_message::{self, Message};
use crate::shuffle_messages::Messages;
use crate::to_python::{decoded, plain};

type Core = Handle<shuffle::ShuffleConsumer, shuffle::ShuffleConsumer<Async>>;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct ShuffleConsumer {
    pub(crate) core: Core,
    pub(crate) text: bool,
}

#[pymethods]
impl ShuffleConsumer {
    fn read(&self, py: Python<'_>, wait: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let text = self.text;
        let convert = move |py: Python<'_>, message: Option<_>| {
            convert::plain(py, message.map(|message| Message::new(message, text)))
        };
        match wait_time(wait)? {
            None => call!(py, &self.core, |consumer| consumer.read(), convert),
            Some(wait) => self.wait_for(py, 1, wait, move |py, messages| {
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
        let (max, text) = (convert::count("max", max)?, self.text);
        let convert = move |py: Python<'_>, messages| shuffle_message::list(py, messages, text);
        match wait_time(wait)? {
            None => call!(py, &self.core, |consumer| consumer.read_many(max), convert),
            Some(wait) => self.wait_for(py, max, wait, convert),
        }
    }

    fn messages(
        &self,
        max: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Messages> {
        let (max, wait) = (convert::count("max", max)?, wait_time(wait)?);
        Ok(Messages::new(derive!(&self.core, |consumer| consumer.clone()), max, wait, self.text))
    }

    fn ack(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let receipts = shuffle_message::receipts(messages)?;
        call!(py, &self.core, |consumer| consumer.ack(receipts), plain)
    }

    fn ack_and_delete(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let receipts = shuffle_message::receipts(messages)?;
        call!(py, &self.core, |consumer| consumer.ack_and_delete(receipts), plain)
    }

    fn extend(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let receipts = shuffle_message::receipts(messages)?;
        call!(py, &self.core, |consumer| consumer.extend(receipts), plain)
    }

    fn reclaim(
        &self,
        py: Python<'_>,
        min_idle: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let min_idle = convert::duration("min_idle", min_idle)?;
        let (max, text) = (convert::count("max", max)?, self.text);
        call!(py, &self.core, |consumer| consumer.reclaim(min_idle, max), decoded(text))
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
