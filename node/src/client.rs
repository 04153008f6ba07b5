//! Connecting and closing.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use millpond::{Async, Error, ErrorKind, Options, Result};
use napi::bindgen_prelude::ClassInstance;
use napi::{Env, Unknown};
use napi_derive::napi;
use tokio::sync::oneshot;

use crate::calls::CallsOfThread;
use crate::clock::ManualClock;
use crate::convert::CallResult;
use crate::entries::Entries;
use crate::errors;
use crate::handle::Handle;
use crate::handles::Client;
use crate::list::List;

#[napi]
impl CallsOfThread {
    /// Returns a [`Client`]. Options are steps, as [`Entries`] has them, who connects, and a clock.
    #[napi]
    #[allow(clippy::too_many_arguments, reason = "they are options, and one function reads them")]
    pub fn connect(
        &self,
        number: u32,
        url: String,
        text: bool,
        options: Entries,
        username: Option<String>,
        password: Option<String>,
        clock: Option<ClassInstance<'_, ManualClock>>,
    ) -> bool {
        let calls = self.0.clone();
        let clock = clock.map(|clock| clock.0.clone());
        let open = move || {
            let given = options.reader().options(Options::parse(&url)?);
            let mut given = given.map_err(|error| Error::new(ErrorKind::Internal, error.reason))?;
            if let Some(password) = password {
                given = given.credentials(username, password);
            }
            if let Some(clock) = clock {
                given = given.clock(clock);
            }
            // A process warning reports what the recovery found.
            Ok(given.on_warning(|_| {}).connect()?.to_async())
        };
        // An embedded engine reads its log, and TLS reads its certificates.
        let connect = move || Ok(on_thread("millpond-connect", open));
        self.0.start(number, connect, move |env, client| {
            CallResult::value(env, Client::new(Handle::new(client, calls, text)))
        })
    }
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

#[napi]
impl Client {
    /// What opening a directory found, or null.
    #[napi]
    pub fn recovery<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        let found = self.0.at_once(env, |client| Ok(client.recovery()))?;
        List::of(env, &found)
    }

    /// Closes it. The disk may have to take a last write.
    #[napi]
    pub fn close(&self, number: u32) -> bool {
        let close = |client: &millpond::Client<Async>| {
            let client = client.clone();
            Ok(on_thread("millpond-close", move || client.close()))
        };
        self.0.start(number, close, CallResult::nothing)
    }
}
