//! What every handle of a queue has beside the core's: where its results go, and what keeps the
//! garbage collector from closing a client on the event loop's thread.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::thread;

use millpond::{Async, Client, Result};
use napi::Env;
use tokio::sync::oneshot;

use crate::calls::Calls;
use crate::convert::Converted;

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

    /// The same with another kind of results.
    pub(crate) fn texts(self, text: bool) -> Self {
        Self { text, ..self }
    }

    /// Starts a call; see [`Calls::start`].
    pub(crate) fn start<A: 'static, F: Future<Output = Result<A>> + Unpin + 'static>(
        &self,
        number: u32,
        call: impl FnOnce(&T) -> F,
        convert: impl FnOnce(&Env, A) -> Converted + 'static,
    ) -> bool {
        self.try_start(number, |core| Ok(call(core)), convert)
    }

    /// Starts a call that may be refused at once.
    pub(crate) fn try_start<A: 'static, F: Future<Output = Result<A>> + Unpin + 'static>(
        &self,
        number: u32,
        call: impl FnOnce(&T) -> Result<F>,
        convert: impl FnOnce(&Env, A) -> Converted + 'static,
    ) -> bool {
        self.calls.start(number, || call(&self.core), convert)
    }
}

/// What a lease calls when it is lost, and the result of a call that waits for that: false once that
/// is dropped without a call.
pub(crate) fn lost() -> (impl FnOnce() + Send, impl Future<Output = Result<bool>> + Unpin) {
    let (sender, mut receiver) = oneshot::channel();
    // Nobody may be left to hear it.
    let then = move || {
        let _ = sender.send(());
    };
    let lost =
        poll_fn(move |context| Pin::new(&mut receiver).poll(context).map(|lost| Ok(lost.is_ok())));
    (then, lost)
}
