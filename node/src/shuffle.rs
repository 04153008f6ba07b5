//! A shuffle queue and its steps.

use millpond::shuffle::{self, DeadLetter, Receipt};
use millpond::{Async, step::ByteList};
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::convert::{self, Bytes, CallResult, Converted};
use crate::errors;
use crate::handle::Handle;
use crate::list::written;
use crate::shuffle_consumer::ShuffleConsumer;
use crate::shuffle_convert::{self as shuffled, Texts, message_id};
use crate::tasks_entries::Entries;

pub(crate) type Core = shuffle::ShuffleQueue<Async>;

/// A queue. What is missing here about a method is in the declarations of the package.
#[napi]
pub struct ShuffleQueue(pub(crate) Handle<Core>);

#[napi]
impl ShuffleQueue {
    /// `fields` is `[field, value, …]`; returns `[stream, id]`.
    #[napi]
    pub fn write(
        &self,
        env: Env,
        number: u32,
        shard_key: Bytes,
        fields: Array<'_>,
    ) -> napi::Result<bool> {
        let fields = convert::members(&env, &fields)?;
        let write = |queue: &Core| queue.write(&shard_key.0, pairs(&fields));
        let receipt = |env: &Env, receipt| shuffled::receipts(env, &[receipt]);
        Ok(self.0.start(number, write, receipt))
    }

    /// `strings` is `[shard key, field, value, …, shard key, …]`, `counts` how many fields each
    /// message has; returns `[stream, id, …]`.
    #[napi]
    pub fn write_many(
        &self,
        env: Env,
        number: u32,
        strings: Array<'_>,
        counts: Vec<u32>,
    ) -> napi::Result<bool> {
        let strings = convert::members(&env, &strings)?;
        let write = |queue: &Core| queue.write_many(messages(&strings, counts));
        let receipts = |env: &Env, receipts: Vec<Receipt>| shuffled::receipts(env, &receipts);
        Ok(self.0.start(number, write, receipts))
    }

    /// Returns a count.
    #[napi]
    pub fn resize(&self, number: u32, streams: u32) -> bool {
        let count = |env: &Env, streams: u32| CallResult::count(env, streams.into());
        self.0.start(number, |queue| queue.resize(streams), count)
    }

    /// A consumer of a group. Options are steps, as [`Entries`] has them.
    #[napi]
    pub fn consumer(
        &self,
        env: Env,
        group: Bytes,
        consumer: Bytes,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<ShuffleConsumer> {
        let options = Entries::new(&env, &texts, numbers)?;
        let made = errors::catch(|| Ok(self.0.core.consumer(&group.0, &consumer.0)));
        let made = made.map_err(|error| errors::thrown(&env, &error))?;
        Ok(ShuffleConsumer(self.0.with(options.reader().shuffle_consumer(made)?)))
    }

    /// Returns a count.
    #[napi]
    pub fn len(&self, number: u32) -> bool {
        self.0.start(number, |queue| queue.len(), CallResult::count)
    }

    /// Returns a count.
    #[napi]
    pub fn backlog(&self, number: u32) -> bool {
        self.0.start(number, |queue| queue.backlog(), CallResult::count)
    }

    /// Returns a count.
    #[napi]
    pub fn pending_count(&self, number: u32, group: Bytes) -> bool {
        self.0.start(number, |queue| queue.pending_count(&group.0), CallResult::count)
    }

    /// Returns what each stream holds.
    #[napi]
    pub fn stats(&self, number: u32, group: Bytes) -> bool {
        self.0.start(number, |queue| queue.stats(&group.0), written)
    }

    /// Returns messages, each after its letter's id, group, consumer and deliveries.
    #[napi]
    pub fn dead_letters(&self, number: u32, max: u32) -> bool {
        let text = self.0.text;
        let letters = move |env: &Env, letters| dead_letters(env, letters, text);
        self.0.start(number, |queue| queue.dead_letters(max as usize), letters)
    }

    /// Takes ids; returns a count.
    #[napi]
    pub fn delete_dead_letters(&self, number: u32, ids: Vec<String>) -> bool {
        let delete = |queue: &Core| {
            let ids = ids.iter().map(|id| message_id(id)).collect::<millpond::Result<Vec<_>>>()?;
            Ok(queue.delete_dead_letters(ids))
        };
        self.0.try_start(number, delete, CallResult::count)
    }
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

/// The messages of `[shard key, field, value, …, shard key, …]`.
#[expect(clippy::type_complexity, reason = "an alias cannot hold an impl")]
pub(crate) fn messages(
    strings: &ByteList,
    counts: Vec<u32>,
) -> impl Iterator<Item = (&[u8], Vec<(&[u8], &[u8])>)> {
    let mut rest = strings.iter();
    counts.into_iter().map(move |count| {
        let shard_key = rest.next().unwrap_or_default();
        let fields: Vec<_> = rest.by_ref().take(2 * count as usize).collect();
        (shard_key, fields.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    })
}

/// The fields and values of `[field, value, …]`.
pub(crate) fn pairs(strings: &ByteList) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut strings = strings.iter();
    std::iter::from_fn(move || Some((strings.next()?, strings.next()?)))
}

fn dead_letters(env: &Env, letters: Vec<DeadLetter>, text: bool) -> Converted {
    let mut texts = Texts::new(env, text)?;
    for letter in &letters {
        texts.push(letter.id.to_string())?;
        texts.push_bytes(&letter.group)?;
        texts.push_bytes(&letter.consumer)?;
        texts.push(letter.deliveries as f64)?;
        texts.push_message(&letter.message)?;
    }
    texts.finish()
}
