//! What handles of Icks and shuffle queues have beside what follows from the core's methods; see
//! `generated/handles.rs`.

use std::future::{Future, poll_fn};
use std::pin::pin;

use millpond::ick::Set;
use millpond::shuffle::{self, Message};
use millpond::{Async, Result};
use napi::Env;
use napi_derive::napi;

use crate::convert::{Bytes, Size, duration, entries, unexpected};
use crate::entries::Entries;
use crate::errors;
use crate::handle::Lease;
use crate::handles::{Ick, IckChannel, ShuffleConsumer};
use crate::list::written_bytes;
use crate::worker::ShuffleWorker;

#[napi]
impl Ick {
    /// Returns `[member, score, …]`.
    #[napi]
    pub fn peek(&self, number: u32, max: Size, set: String) -> napi::Result<bool> {
        let set = match &*set {
            "producer" => Set::Producer,
            "consumer" => Set::Consumer,
            _ => return Err(unexpected("set")),
        };
        Ok(self.0.start(number, |ick| Ok(ick.peek(set, max.0)), entries))
    }
}

#[napi]
impl IckChannel {
    /// The same channel, of more Icks to read.
    #[napi]
    pub fn draining(&self, earlier: u32) -> Self {
        Self(self.0.with(self.0.core.clone().draining(earlier)))
    }
}

#[napi]
impl ShuffleConsumer {
    /// Returns messages; waits for them, if there is a time.
    #[napi]
    pub fn read_many(&self, number: u32, max: Size, wait_ms: Option<f64>) -> bool {
        let max = max.0 as usize;
        match wait_ms {
            Some(wait) => self.0.start(number, |core| Ok(waiting(core, max, wait)), written_bytes),
            None => self.0.start(number, |core| Ok(core.read_many(max)), written_bytes),
        }
    }

    /// A worker, whose options are steps.
    #[napi]
    pub fn worker(&self, options: Entries) -> napi::Result<ShuffleWorker> {
        let worker = options.reader().shuffle_worker(self.0.core.worker())?;
        Ok(ShuffleWorker(self.0.with(worker)))
    }
}

impl Lease for shuffle::Job<Async> {
    const OVER: &'static str = "the job has ended";

    fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.on_lost(then);
    }
}

/// Waits for messages; without any when the time is up.
fn waiting(
    core: &shuffle::ShuffleConsumer<Async>,
    max: usize,
    wait_ms: f64,
) -> impl Future<Output = Result<Vec<Message>>> + Unpin + use<> {
    let mut messages = core.messages(max).wait(duration(wait_ms));
    poll_fn(move |context| {
        pin!(messages.next()).poll(context).map(|batch| batch.unwrap_or(Ok(Vec::new())))
    })
}

/// The streams of a tenant.
#[napi]
pub fn shard(
    env: Env,
    streams: u32,
    streams_per_shard: u32,
    shard_key: Bytes,
) -> napi::Result<Vec<u32>> {
    let shard = errors::catch(|| shuffle::shard(streams, streams_per_shard, &shard_key.0));
    shard.map_err(|error| errors::thrown(&env, &error))
}
