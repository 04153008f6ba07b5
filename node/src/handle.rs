//! What every handle of a queue has beside the core's: where its results go, and what keeps the
//! garbage collector from closing a client on the event loop's thread.

use std::cell::RefCell;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::thread;

use millpond::{Async, Client, Error, ErrorKind, Result};
use napi::Env;
use tokio::sync::oneshot;

use crate::calls::Calls;
use crate::convert::{CallResult, Converted};
use crate::errors;

/// A handle of the core's, as JavaScript holds it.
pub(crate) struct Handle<T> {
    // The fields are dropped in this order: the client must not be the core handle's to close.
    pub(crate) core: T,
    open: Rc<Open>,
    calls: Rc<Calls>,
    /// Whether results hold strings, or else Buffers.
    pub(crate) text: bool,
}

/// A client that some handle has. The last one may be dropped by the garbage collector, and to
/// close an embedded engine can mean to write to the disk, so another thread does that.
struct Open(Option<Client<Async>>);

impl Drop for Open {
    fn drop(&mut self) {
        let client = self.0.take();
        // If no other thread can be started, this one has to do it.
        let _ = thread::Builder::new().name("millpond-close".into()).spawn(|| drop(client));
    }
}

impl Handle<Client<Async>> {
    pub(crate) fn new(client: Client<Async>, calls: Rc<Calls>, text: bool) -> Self {
        let open = Rc::new(Open(Some(client.clone())));
        Self { core: client, open, calls, text }
    }
}

impl<T> Handle<T> {
    /// A handle on something else of the same client.
    pub(crate) fn with<U>(&self, core: U) -> Handle<U> {
        let (open, calls) = (self.open.clone(), self.calls.clone());
        Handle { core, open, calls, text: self.text }
    }

    /// The same with Buffers or strings in results, if that is said.
    pub(crate) fn buffers(self, buffers: Option<bool>) -> Self {
        Self { text: buffers.map_or(self.text, |buffers| !buffers), ..self }
    }

    /// Starts a call; see [`Calls::start`].
    pub(crate) fn start<A: 'static, F: Future<Output = Result<A>> + Unpin + 'static>(
        &self,
        number: u32,
        call: impl FnOnce(&T) -> Result<F>,
        convert: impl FnOnce(&Env, bool, A) -> Converted + 'static,
    ) -> bool {
        let text = self.text;
        self.calls.start(number, || call(&self.core), move |env, result| convert(env, text, result))
    }

    /// What a call returns that does not wait; an error is thrown.
    pub(crate) fn at_once<U>(
        &self,
        env: &Env,
        call: impl FnOnce(&T) -> Result<U>,
    ) -> napi::Result<U> {
        errors::catch(|| call(&self.core)).map_err(|error| errors::thrown(env, &error))
    }
}

/// What holds something for a time.
pub(crate) trait Lease {
    /// Why a call is refused after it was given up.
    const OVER: &'static str;
    fn on_lost(&self, then: impl FnOnce() + Send + 'static);
}

/// A lease, there until it is given up.
pub(crate) struct Held<T>(Handle<RefCell<Option<T>>>);

impl<T: Lease> Held<T> {
    pub(crate) fn new(lease: Handle<T>) -> Self {
        let empty = lease.with(RefCell::default());
        empty.core.replace(Some(lease.core));
        Self(empty)
    }

    /// As [`Handle::with`].
    pub(crate) fn with<U>(&self, core: U) -> Handle<U> {
        self.0.with(core)
    }

    /// What there is to say of it, unless it was given up.
    pub(crate) fn get<U>(&self, get: impl FnOnce(&T) -> U) -> Option<U> {
        self.0.core.borrow().as_ref().map(get)
    }

    /// As [`Handle::start`].
    pub(crate) fn start<A: 'static, F: Future<Output = Result<A>> + Unpin + 'static>(
        &self,
        number: u32,
        call: impl FnOnce(&T) -> Result<F>,
        convert: impl FnOnce(&Env, bool, A) -> Converted + 'static,
    ) -> bool {
        self.0.start(number, |held| Self::call(held, call), convert)
    }

    /// As [`Handle::at_once`].
    pub(crate) fn at_once<U>(
        &self,
        env: &Env,
        call: impl FnOnce(&T) -> Result<U>,
    ) -> napi::Result<U> {
        self.0.at_once(env, |held| Self::call(held, call))
    }

    fn call<U>(held: &RefCell<Option<T>>, call: impl FnOnce(&T) -> Result<U>) -> Result<U> {
        let over = || Err(Error::new(ErrorKind::LeaseLost, T::OVER));
        held.borrow().as_ref().map_or_else(over, call)
    }

    /// Begins the call that returns whether it was lost, as soon as it is, or has ended otherwise.
    pub(crate) fn lost(&self, number: u32) -> bool {
        let (sender, mut receiver) = oneshot::channel();
        // Nobody may be left to hear it; the sender is dropped unused where it ends otherwise.
        let then = move || _ = sender.send(());
        let lost = poll_fn(move |context| {
            Pin::new(&mut receiver).poll(context).map(|lost| Ok(lost.is_ok()))
        });
        let call = |held: &T| {
            held.on_lost(then);
            Ok(lost)
        };
        self.start(number, call, CallResult::bool)
    }

    /// Begins its last call, which returns whether it was held until then; after that, it was not.
    pub(crate) fn release<F: Future<Output = Result<bool>> + Unpin + 'static>(
        &self,
        number: u32,
        release: impl FnOnce(T) -> F,
    ) -> bool {
        let handle = self.0.with(());
        match self.take() {
            Some(lease) => handle.start(number, |()| Ok(release(lease)), CallResult::bool),
            None => handle.start(number, |()| Ok(ready(Ok(false))), CallResult::bool),
        }
    }

    /// Takes it from JavaScript, with a handle for a last call.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.core.take()
    }
}
