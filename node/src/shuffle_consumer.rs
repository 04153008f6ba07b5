//! A consumer of a shuffle queue.

use std::future::{Future, poll_fn};
use std::pin::pin;

use millpond::shuffle::{self, Message, Receipt, Reclaimed};
use millpond::{Async, Pending, Result};
use napi::Env;
use napi_derive::napi;

use crate::convert::{CallResult, Converted, duration};
use crate::handle::Handle;
use crate::shuffle_convert::{self as shuffled, Texts, receipts_of};
use crate::shuffle_messages::Messages;

type Core = shuffle::ShuffleConsumer<Async>;

/// A consumer. What is missing here about a method is in the declarations of the package.
#[napi]
pub struct ShuffleConsumer(pub(crate) Handle<Core>);

impl ShuffleConsumer {
    /// Reads messages at once, or waits for them.
    fn take<T: 'static, F: Future<Output = Result<T>> + Unpin + 'static>(
        &self,
        number: u32,
        read: impl FnOnce(&Core) -> F,
        messages: impl FnOnce(T) -> Vec<Message> + 'static,
    ) -> bool {
        let text = self.0.text;
        let convert = move |env: &Env, taken| shuffled::messages(env, &messages(taken), text);
        self.0.start(number, read, convert)
    }

    fn send(
        &self,
        number: u32,
        streams: &[f64],
        ids: &[String],
        call: impl FnOnce(&Core, Vec<Receipt>) -> Pending<u64>,
    ) -> bool {
        let call = |core: &Core| Ok(call(core, receipts_of(streams, ids)?));
        self.0.try_start(number, call, CallResult::count)
    }
}

#[napi]
impl ShuffleConsumer {
    /// Returns messages, one at most.
    #[napi]
    pub fn read(&self, number: u32, wait_ms: Option<f64>) -> bool {
        match wait_ms {
            Some(wait) => self.take(number, |core| waiting(core, 1, wait), |all| all),
            None => self.take(number, |core| core.read(), Vec::from_iter),
        }
    }

    /// Returns messages.
    #[napi]
    pub fn read_many(&self, number: u32, max: u32, wait_ms: Option<f64>) -> bool {
        let max = max as usize;
        match wait_ms {
            Some(wait) => self.take(number, |core| waiting(core, max, wait), |all| all),
            None => self.take(number, |core| core.read_many(max), |all| all),
        }
    }

    /// Waits for nothing without a time.
    #[napi]
    pub fn messages(&self, max: u32, wait_ms: Option<f64>) -> Messages {
        Messages::new(self.0.with(self.0.core.clone()), max as usize, wait_ms)
    }

    /// Takes streams and ids; returns a count.
    #[napi]
    pub fn ack(&self, number: u32, streams: Vec<f64>, ids: Vec<String>) -> bool {
        self.send(number, &streams, &ids, |core, receipts| core.ack(&receipts))
    }

    /// As [`ack`](Self::ack).
    #[napi]
    pub fn ack_and_delete(&self, number: u32, streams: Vec<f64>, ids: Vec<String>) -> bool {
        self.send(number, &streams, &ids, |core, receipts| core.ack_and_delete(&receipts))
    }

    /// As [`ack`](Self::ack).
    #[napi]
    pub fn extend(&self, number: u32, streams: Vec<f64>, ids: Vec<String>) -> bool {
        self.send(number, &streams, &ids, |core, receipts| core.extend(&receipts))
    }

    /// Returns how many messages are dead letters now, and messages, each after its deliveries.
    #[napi]
    pub fn reclaim(&self, number: u32, min_idle_ms: f64, max: u32) -> bool {
        let text = self.0.text;
        let reclaim = |core: &Core| core.reclaim(duration(min_idle_ms), max as usize);
        self.0.start(number, reclaim, move |env, found| reclaimed(env, found, text))
    }
}

/// Waits for messages; without any when the time is up.
fn waiting(
    core: &Core,
    max: usize,
    wait_ms: f64,
) -> impl Future<Output = Result<Vec<Message>>> + Unpin + use<> {
    let mut messages = core.messages(max).wait(duration(wait_ms));
    poll_fn(move |context| {
        pin!(messages.next()).poll(context).map(|batch| batch.unwrap_or(Ok(Vec::new())))
    })
}

fn reclaimed(env: &Env, reclaimed: Reclaimed, text: bool) -> Converted {
    let mut texts = Texts::new(env, text)?;
    texts.push(reclaimed.dead as f64)?;
    for message in &reclaimed.messages {
        texts.push(message.deliveries as f64)?;
        texts.push_message(message)?;
    }
    texts.finish()
}
