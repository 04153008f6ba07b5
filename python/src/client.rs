//! A client: access to the queues of one server or embedded engine.

use millpond::shuffle::TrackKeys;
use millpond::{Async, Options};
use pyo3::prelude::*;

use crate::channel::IckChannel;
use crate::handle::{Handle, block, derive};
use crate::ick::Ick;
use crate::shuffle::ShuffleQueue;
use crate::tasks::TaskStore;
use crate::to_python::plain;
use crate::{convert, errors};

/// A client for callers that block or, by `is_async`, for those with an event loop.
#[pyfunction]
#[pyo3(signature = (url, *, is_async, decode_responses, timeout, connect_timeout, retries,
    username, password, client_name))]
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
    // A Python warning reports what the recovery found.
    options = options.on_warning(|_| {});
    let connected = py.detach(|| errors::catch(|| options.connect()));
    let client = errors::answer(py, connected)?;
    let core = match is_async {
        false => Handle::Blocking(client),
        true => Handle::Async(client.to_async()),
    };
    Ok(Client { core, text: decode_responses })
}

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Client {
    core: Handle<millpond::Client, millpond::Client<Async>>,
    text: bool,
}

#[pymethods]
impl Client {
    fn ick(&self, name: &Bound<'_, PyAny>) -> PyResult<Ick> {
        let name = convert::bytes("name", name)?;
        Ok(Ick { core: derive!(&self.core, |client| client.ick(&name)), text: self.text })
    }

    fn ick_channel(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        shards: &Bound<'_, PyAny>,
    ) -> PyResult<IckChannel> {
        let name = convert::bytes("name", name)?;
        let shards = convert::small_size("shards", shards)?;
        let core = derive!(&self.core, |client| {
            errors::answer(py, client.ick_channel(&name, shards))?
        });
        Ok(IckChannel { core, text: self.text })
    }

    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn shuffle_queue(
        &self,
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        streams: Option<&Bound<'_, PyAny>>,
        streams_per_shard: Option<&Bound<'_, PyAny>>,
        ttl: Option<&Bound<'_, PyAny>>,
        dead_ttl: Option<&Bound<'_, PyAny>>,
        track_keys: &str,
    ) -> PyResult<ShuffleQueue> {
        let name = convert::bytes("name", name)?;
        let track_keys = match track_keys {
            "global" => TrackKeys::Global,
            "queue" => TrackKeys::Queue,
            other => {
                let message =
                    format!("track_keys is {other:?}; it has to be \"global\" or \"queue\"");
                return Err(errors::invalid(py, message));
            }
        };
        let mut core =
            derive!(&self.core, |client| client.shuffle_queue(&name).track_keys(track_keys));
        if let Some(streams) = streams {
            let streams = convert::small_size("streams", streams)?;
            core = derive!(core, |queue| queue.streams(streams));
        }
        if let Some(ttl) = ttl {
            let ttl = convert::duration("ttl", ttl)?;
            core = derive!(core, |queue| queue.ttl(ttl));
        }
        if let Some(dead_ttl) = dead_ttl {
            let dead_ttl = convert::duration("dead_ttl", dead_ttl)?;
            core = derive!(core, |queue| queue.dead_ttl(dead_ttl));
        }
        if let Some(per_shard) = streams_per_shard {
            let per_shard = convert::small_size("streams_per_shard", per_shard)?;
            core = derive!(core, |queue| queue.streams_per_shard(per_shard));
        }
        Ok(ShuffleQueue { core, text: self.text })
    }

    fn tasks(
        &self,
        name: &Bound<'_, PyAny>,
        claimant: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TaskStore> {
        let name = convert::bytes("name", name)?;
        let core = derive!(&self.core, |client| client.tasks(&name));
        Ok(TaskStore {
            core: match convert::some_text("claimant", claimant)? {
                Some(claimant) => derive!(core, |store| store.claimant(claimant)),
                None => core,
            },
        })
    }

    /// What opening a `file:` found.
    fn recovery(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let found = match &self.core {
            Handle::Blocking(client) => client.recovery(),
            Handle::Async(client) => client.recovery(),
        };
        plain(py, found)
    }

    /// Blocks also for an event loop: the disk may have to take a last write.
    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let client = match &self.core {
            Handle::Blocking(client) => client.clone(),
            Handle::Async(client) => client.to_blocking(),
        };
        block(py, || client.close(), plain)
    }
}
