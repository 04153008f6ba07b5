//! A client: access to the queues of one server or embedded engine.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use millpond::{Async, Error, ErrorKind, Options, Result};
use napi::bindgen_prelude::Array;
use napi::{Env, Unknown};
use napi_derive::napi;
use tokio::sync::oneshot;

use crate::calls::CallsOfThread;
use crate::channel::IckChannel;
use crate::convert::{Bytes, CallResult, duration, unexpected};
use crate::errors;
use crate::handle::Handle;
use crate::ick::Ick;
use crate::list::{List, Push};
use crate::shuffle::ShuffleQueue;
use crate::tasks::TaskStore;
use crate::tasks_entries::Entries;

/// What `connect` takes beside the URL.
#[napi(object, object_to_js = false)]
pub struct ConnectOptions {
    /// Whether results hold strings, or else Buffers.
    pub text: bool,
    /// For one call.
    pub timeout_ms: Option<f64>,
    /// For one attempt to connect.
    pub connect_timeout_ms: Option<f64>,
    /// Attempts after the first.
    pub retries: Option<u32>,
    /// Goes with a password.
    pub username: Option<String>,
    /// As it is: nothing is unescaped.
    pub password: Option<String>,
    /// The name in `CLIENT LIST`.
    pub client_name: Option<String>,
}

#[napi]
impl CallsOfThread {
    /// Returns a [`Client`].
    #[napi]
    pub fn connect(&self, number: u32, url: String, options: ConnectOptions) -> bool {
        let text = options.text;
        let calls = self.0.clone();
        // An embedded engine reads its log, and TLS reads its certificates.
        let connect = move || Ok(on_thread("millpond-connect", move || open(&url, options)));
        self.0.start(number, connect, move |env, client| {
            CallResult::value(env, Client(Handle::new(client, calls, text)))
        })
    }
}

fn open(url: &str, given: ConnectOptions) -> Result<millpond::Client<Async>> {
    let mut options = Options::parse(url)?;
    if let Some(timeout) = given.timeout_ms {
        options = options.timeout(duration(timeout));
    }
    if let Some(timeout) = given.connect_timeout_ms {
        options = options.connect_timeout(duration(timeout));
    }
    if let Some(retries) = given.retries {
        options = options.retries(retries);
    }
    if let Some(password) = given.password {
        options = options.credentials(given.username, password);
    }
    if let Some(name) = given.client_name {
        options = options.client_name(name);
    }
    // A process warning reports what the recovery found.
    options = options.on_warning(|_| {});
    Ok(options.connect()?.to_async())
}

/// Runs what may block on a thread of its own.
fn on_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> impl Future<Output = Result<T>> + Unpin {
    let (done, mut result) = oneshot::channel();
    let work = move || {
        // The caller may have stopped waiting.
        let _ = done.send(errors::catch(work));
    };
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    let mut refused = started.err();
    poll_fn(move |context| {
        if let Some(refused) = refused.take() {
            let error = Error::new(ErrorKind::Unavailable, "the system has no thread to spare");
            return Poll::Ready(Err(error.with_source(refused)));
        }
        Pin::new(&mut result).poll(context).map(|result| {
            result.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the thread ended")))
        })
    })
}

/// A client.
#[napi]
pub struct Client(Handle<millpond::Client<Async>>);

#[napi]
impl Client {
    /// The Ick of this name.
    #[napi]
    pub fn ick(&self, env: Env, name: Bytes, text: bool) -> napi::Result<Ick> {
        let ick = errors::catch(|| Ok(self.0.core.ick(&name.0)));
        let ick = ick.map_err(|error| errors::thrown(&env, &error))?;
        Ok(Ick(self.0.with(ick).texts(text)))
    }

    /// The channel of this name.
    #[napi]
    pub fn ick_channel(
        &self,
        env: Env,
        name: Bytes,
        shards: u32,
        text: bool,
    ) -> napi::Result<IckChannel> {
        let channel = errors::catch(|| self.0.core.ick_channel(&name.0, shards));
        let channel = channel.map_err(|error| errors::thrown(&env, &error))?;
        Ok(IckChannel(self.0.with(channel).texts(text)))
    }

    /// The shuffle queue of this name. Options are steps, as [`Entries`] has them.
    #[napi]
    pub fn shuffle_queue(
        &self,
        env: Env,
        name: Bytes,
        text: bool,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<ShuffleQueue> {
        let options = Entries::new(&env, &texts, numbers)?;
        let queue = errors::catch(|| Ok(self.0.core.shuffle_queue(&name.0)));
        let queue = queue.map_err(|error| errors::thrown(&env, &error))?;
        Ok(ShuffleQueue(self.0.with(options.reader().shuffle_queue(queue)?).texts(text)))
    }

    /// The task store of this name.
    #[napi]
    pub fn tasks(
        &self,
        env: Env,
        name: Bytes,
        claimant: Option<String>,
    ) -> napi::Result<TaskStore> {
        let store = errors::catch(|| Ok(self.0.core.tasks(&name.0)));
        let mut store = store.map_err(|error| errors::thrown(&env, &error))?;
        if let Some(claimant) = claimant {
            store = store.claimant(claimant);
        }
        Ok(TaskStore::new(self.0.with(store)))
    }

    /// What opening a directory found, or null.
    #[napi]
    pub fn recovery<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let found = errors::catch(|| Ok(self.0.core.recovery()));
        let found = found.map_err(|error| errors::thrown(env, &error))?;
        let mut list = List::new(env)?;
        found.push(&mut list).map_err(|_| unexpected("a recovery"))?;
        Ok(list.into_unknown())
    }

    /// Closes it. The disk may have to take a last write.
    #[napi]
    pub fn close(&self, number: u32) -> bool {
        let close = |client: &millpond::Client<Async>| {
            let client = client.clone();
            on_thread("millpond-close", move || client.close())
        };
        self.0.start(number, close, CallResult::nothing)
    }
}
