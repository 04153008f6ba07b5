//! The beginning and the end of a client.

use millpond::Options;
use pyo3::prelude::*;

use crate::clock::ManualClock;
use crate::generated::Client;
use crate::handle::{Handle, block};
use crate::to_python::plain;
use crate::{convert, errors};

/// A client for callers that block or, by `is_async`, for those with an event loop.
#[pyfunction]
#[pyo3(signature = (url, *, is_async, decode_responses, timeout, connect_timeout, retries,
    username, password, client_name, clock))]
#[expect(clippy::too_many_arguments, reason = "they are keywords, and one function reads them")]
pub(crate) fn connect(
    py: Python<'_>,
    url: &str,
    is_async: bool,
    decode_responses: bool,
    timeout: Option<&Bound<'_, PyAny>>,
    connect_timeout: Option<&Bound<'_, PyAny>>,
    retries: Option<&Bound<'_, PyAny>>,
    username: Option<String>,
    password: Option<String>,
    client_name: Option<String>,
    clock: Option<&Bound<'_, PyAny>>,
) -> PyResult<Client> {
    let mut options = Options::parse(url).map_err(|error| errors::exception(py, &error))?;
    if let Some(timeout) = timeout {
        options = options.timeout(convert::some_time("timeout", timeout)?);
    }
    if let Some(timeout) = connect_timeout {
        options = options.connect_timeout(convert::some_time("connect_timeout", timeout)?);
    }
    if let Some(retries) = retries {
        options = options.retries(convert::small_size("retries", retries)?);
    }
    match (username, password) {
        (username, Some(password)) => options = options.credentials(username, password),
        (Some(_), None) => {
            return Err(errors::invalid(py, "username goes with a password".to_owned()));
        }
        (None, None) => {}
    }
    if let Some(name) = client_name {
        options = options.client_name(name);
    }
    if let Some(clock) = clock {
        let manual = clock.cast::<ManualClock>();
        let manual = manual.map_err(|_| convert::wrong_type("clock", "a ManualClock", clock))?;
        options = options.clock(manual.get().core.clone());
    }
    // A Python warning reports what the recovery found.
    options = options.on_warning(|_| {});
    let connected = py.detach(|| errors::catch(|| options.connect()));
    let client = errors::answer(py, connected)?;
    let core = match is_async {
        false => Handle::Blocking(client),
        true => Handle::Async(client.to_async()),
    };
    Ok(Client::new(core, decode_responses))
}

#[pymethods]
impl Client {
    /// Blocks also for an event loop: the disk may have to take a last write.
    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let client = match &self.core {
            Handle::Blocking(client) => client.clone(),
            Handle::Async(client) => client.to_blocking(),
        };
        block(py, || client.close(), plain)
    }
}
