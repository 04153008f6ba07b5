//! Tracked messages of a shuffle queue.

use millpond::shuffle::{Deadline, Receipt};
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::convert::{self, Bytes, Converted, duration};
use crate::shuffle::{Core, ShuffleQueue, messages, pairs};
use crate::shuffle_convert::{self as shuffled, Texts};
use crate::shuffle_garbage::Garbage;

#[napi]
impl ShuffleQueue {
    /// As [`write`](Self::write).
    #[napi]
    pub fn write_tracked(
        &self,
        env: Env,
        number: u32,
        shard_key: Bytes,
        fields: Array<'_>,
        track_field: Bytes,
        deadline: Option<f64>,
    ) -> napi::Result<bool> {
        let fields = convert::members(&env, &fields)?;
        let deadline = deadline.map(|seconds| seconds as Deadline);
        let write = |queue: &Core| {
            queue.write_tracked(&shard_key.0, pairs(&fields), &track_field.0, deadline)
        };
        let receipt = |env: &Env, receipt| shuffled::receipts(env, &[receipt]);
        Ok(self.0.start(number, write, receipt))
    }

    /// As [`write_many`](Self::write_many).
    #[napi]
    pub fn write_tracked_many(
        &self,
        env: Env,
        number: u32,
        strings: Array<'_>,
        counts: Vec<u32>,
        track_field: Bytes,
        deadline: Option<f64>,
    ) -> napi::Result<bool> {
        let strings = convert::members(&env, &strings)?;
        let deadline = deadline.map(|seconds| seconds as Deadline);
        let write = |queue: &Core| {
            queue.write_tracked_many(messages(&strings, counts), &track_field.0, deadline)
        };
        let receipts = |env: &Env, receipts: Vec<Receipt>| shuffled::receipts(env, &receipts);
        Ok(self.0.start(number, write, receipts))
    }

    /// Returns `[stream, id]`, or nothing in it.
    #[napi]
    pub fn delete_tracked(&self, number: u32, value: Bytes) -> bool {
        let receipt = |env: &Env, found: Option<Receipt>| shuffled::receipts(env, found.as_slice());
        self.0.start(number, |queue| queue.delete_tracked(&value.0), receipt)
    }

    /// Returns values.
    #[napi]
    pub fn cordon_deadline_exceeded(&self, number: u32, within_ms: f64) -> bool {
        let text = self.0.text;
        let cordon = |queue: &Core| queue.cordon_deadline_exceeded(duration(within_ms));
        self.0.start(number, cordon, move |env, found: Vec<_>| cordoned(env, &found, text))
    }

    /// The collection, digits of everything.
    #[napi]
    pub fn gc(&self, time_digits: Option<u32>) -> Garbage {
        let digits = time_digits.map(|digits| u8::try_from(digits).unwrap_or(u8::MAX));
        Garbage::new(self.0.with(self.0.core.gc().time_digits(digits)))
    }
}

/// They are not returned again: none may be lost with one that is no text.
fn cordoned(env: &Env, values: &[Vec<u8>], text: bool) -> Converted {
    let mut texts = Texts::new(env, text)?;
    values.iter().try_for_each(|value| texts.push_bytes(value))?;
    texts.finish()
}
