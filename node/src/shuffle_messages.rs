//! The loop of a consumer of a shuffle queue. The core does the loop; this asks it for the next
//! batch.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use millpond::shuffle::{self, Message, ShuffleConsumer};
use millpond::{Async, Result};
use napi::Env;
use napi_derive::napi;

use crate::convert::{Failure, duration};
use crate::handle::Handle;
use crate::shuffle_convert as shuffled;

/// A loop. JavaScript asks for one batch at a time.
#[napi]
pub struct Messages(Rc<Slot>);

type Slot = Handle<RefCell<State>>;
type Loop = shuffle::Messages<Async>;

struct State {
    messages: Loop,
    /// What the core has returned and JavaScript has not received yet. The caller may have given
    /// up in between; then it waits here for the next request.
    unread: Option<Result<Vec<Message>>>,
}

impl State {
    /// Asks the core, if there is nothing to read yet; if there is nothing then, the loop is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.unread.is_none() {
            self.unread = ready!(pin!(self.messages.next()).poll(context));
        }
        Poll::Ready(Ok(()))
    }
}

/// A request for a batch. When it is dropped its result is left to the next request.
struct Asking(Rc<Slot>);

/// A listening loop may consume the notification that another waiting loop needs.
impl Drop for Asking {
    fn drop(&mut self) {
        self.0.core.borrow_mut().messages.stop_listening();
    }
}

impl Messages {
    pub(crate) fn new(
        consumer: Handle<ShuffleConsumer<Async>>,
        max: usize,
        wait_ms: Option<f64>,
    ) -> Self {
        let messages = match wait_ms {
            Some(wait) => consumer.core.messages(max).wait(duration(wait)),
            None => consumer.core.messages(max),
        };
        Self(Rc::new(consumer.with(RefCell::new(State { messages, unread: None }))))
    }
}

#[napi]
impl Messages {
    /// Returns messages, or null when the loop is over.
    #[napi]
    pub fn next(&self, number: u32) -> bool {
        let (text, slot, asking) = (self.0.text, self.0.clone(), Asking(self.0.clone()));
        let next = poll_fn(move |context| asking.0.core.borrow_mut().poll(context));
        let messages = move |env: &Env, ()| {
            let Some(batch) = slot.core.borrow_mut().unread.take() else {
                return shuffled::nothing(env);
            };
            shuffled::messages(env, &batch.map_err(Failure::Core)?, text)
        };
        self.0.start(number, |_| next, messages)
    }
}
