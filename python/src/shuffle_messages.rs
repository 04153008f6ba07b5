//! The loop over the messages of a shuffle queue.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use millpond::{Async, Mode, Result, shuffle};
use pyo3::prelude::*;

use crate::handle::{Handle, block};
use crate::loops::{AsyncLoop, Slot, ask};
use crate::to_python::decoded;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Messages {
    core: Handle<Arc<Slot<shuffle::Messages>>, Arc<Slot<shuffle::Messages<Async>>>>,
    text: bool,
}

impl AsyncLoop for shuffle::Messages<Async> {
    type Batch = Vec<shuffle::Message>;

    fn next(&mut self) -> impl Future<Output = Option<Result<Self::Batch>>> {
        shuffle::Messages::next(self)
    }

    fn stop_listening(&mut self) {
        shuffle::Messages::stop_listening(self);
    }
}

fn begin<M: Mode>(
    consumer: &shuffle::ShuffleConsumer<M>,
    max: usize,
    wait: Option<Duration>,
) -> shuffle::Messages<M> {
    match wait {
        Some(wait) => consumer.messages(max).wait(wait),
        None => consumer.messages(max),
    }
}

impl Messages {
    pub(crate) fn new(
        consumer: Handle<shuffle::ShuffleConsumer, shuffle::ShuffleConsumer<Async>>,
        max: usize,
        wait: Option<Duration>,
        text: bool,
    ) -> Self {
        let core = match consumer {
            Handle::Blocking(consumer) => Handle::Blocking(Slot::new(begin(&consumer, max, wait))),
            Handle::Async(consumer) => Handle::Async(Slot::new(begin(&consumer, max, wait))),
        };
        Self { core, text }
    }
}

#[pymethods]
impl Messages {
    /// The next batch, or None when the loop is over.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = self.text;
        match &self.core {
            Handle::Blocking(slot) => block(py, || slot.next(), decoded(text)),
            Handle::Async(slot) => ask(py, slot.clone(), decoded(text)),
        }
    }
}
