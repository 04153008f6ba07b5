//! An Ick and its steps.

use millpond::Async;
use millpond::ick::{Added, Set, Stats};
use napi::Env;
use napi::bindgen_prelude::{Array, Null};
use napi_derive::napi;

use crate::batches::Batches;
use crate::convert::{self, CallResult, Converted, Failure, Size, duration, text_or_buffer};
use crate::handle::Handle;
use crate::lease::ConsumerLease;

/// An Ick. What is missing here about a method is in the declarations of the package.
#[napi]
pub struct Ick(pub(crate) Handle<millpond::ick::Ick<Async>>);

#[napi]
impl Ick {
    /// `pairs` is `[score, member, …]`; returns how many are new and how many were lowered.
    #[napi]
    pub fn add(&self, env: Env, number: u32, pairs: Array<'_>) -> napi::Result<bool> {
        let pairs = convert::pairs(&env, &pairs)?;
        Ok(self.0.start(number, |ick| ick.add(pairs.iter()), added))
    }

    /// Returns `[member, score, …]`.
    #[napi]
    pub fn reserve(&self, number: u32, max: Size, backwash: bool) -> bool {
        let text = self.0.text;
        let reserve = |ick: &millpond::ick::Ick<Async>| match backwash {
            false => ick.reserve(max.0),
            true => ick.reserve_backwash(max.0),
        };
        let entries = move |env: &Env, entries: Vec<_>| convert::entries(env, &entries, text);
        self.0.start(number, reserve, entries)
    }

    /// Returns a count.
    #[napi]
    pub fn commit(&self, env: Env, number: u32, members: Array<'_>) -> napi::Result<bool> {
        let members = convert::members(&env, &members)?;
        Ok(self.0.start(number, |ick| ick.commit(members.iter()), CallResult::count))
    }

    /// Returns `[member, score, …]`.
    #[napi]
    pub fn exchange(
        &self,
        env: Env,
        number: u32,
        max: Size,
        members: Array<'_>,
        backwash: bool,
    ) -> napi::Result<bool> {
        let text = self.0.text;
        let members = convert::members(&env, &members)?;
        let exchange = |ick: &millpond::ick::Ick<Async>| match backwash {
            false => ick.exchange(max.0, members.iter()),
            true => ick.exchange_backwash(max.0, members.iter()),
        };
        let entries = move |env: &Env, entries: Vec<_>| convert::entries(env, &entries, text);
        Ok(self.0.start(number, exchange, entries))
    }

    /// Returns the values of the JavaScript object in its order, or null.
    #[napi]
    pub fn stats(&self, number: u32) -> bool {
        let text = self.0.text;
        let stats = move |env: &Env, found| stats(env, found, text);
        self.0.start(number, |ick| ick.stats(), stats)
    }

    /// Returns `[member, score, …]`.
    #[napi]
    pub fn peek(&self, number: u32, max: Size, set: String) -> napi::Result<bool> {
        let text = self.0.text;
        let set = match &*set {
            "producer" => Set::Producer,
            "consumer" => Set::Consumer,
            _ => return Err(convert::unexpected("set")),
        };
        let entries = move |env: &Env, entries: Vec<_>| convert::entries(env, &entries, text);
        Ok(self.0.start(number, |ick| ick.peek(set, max.0), entries))
    }

    /// Returns a count.
    #[napi]
    pub fn delete(&self, number: u32) -> bool {
        self.0.start(number, |ick| ick.delete(), CallResult::count)
    }

    /// Returns a count.
    #[napi]
    pub fn unlink(&self, number: u32) -> bool {
        self.0.start(number, |ick| ick.unlink(), CallResult::count)
    }

    /// Returns a lease or null.
    #[napi]
    pub fn lease(&self, number: u32, ttl_ms: f64) -> bool {
        let handle = self.0.with(());
        let lease = move |env: &Env, lease: Option<_>| {
            CallResult::value(env, lease.map(|lease| ConsumerLease::new(handle.with(lease))))
        };
        self.0.start(number, |ick| ick.lease(duration(ttl_ms)), lease)
    }

    /// Waits for nothing without a time.
    #[napi]
    pub fn batches(&self, max: Size, wait_ms: Option<f64>) -> Batches {
        Batches::new(self.0.with(self.0.core.batches(max.0)), wait_ms)
    }
}

pub(crate) fn added(_: &Env, added: Added) -> Converted {
    Ok(CallResult::Numbers(added.new as f64, added.lowered as f64))
}

fn stats(env: &Env, stats: Option<Stats>, text: bool) -> Converted {
    let Some(stats) = stats else { return CallResult::value(env, Null) };
    let (pset_min, pset_max) = stats.producer_range.unzip();
    let (cset_min, cset_max) = stats.consumer_range.unzip();
    let (total_min, total_max) = stats.total_range().unzip();
    let numbers = [
        Some(stats.producer_size as f64),
        Some(stats.consumer_size as f64),
        Some(stats.total_size() as f64),
        pset_min,
        pset_max,
        cset_min,
        cset_max,
        total_min,
        total_max,
    ];
    let keys = [&stats.key, &stats.producer_key, &stats.consumer_key];
    let values = convert::Values::new(env, 1 + keys.len() + numbers.len())?;
    values.set(0, text_or_buffer(env, stats.version.as_bytes(), true)?)?;
    for (index, key) in (1..).zip(keys) {
        values.set(index, text_or_buffer(env, key, text)?)?;
    }
    for (index, number) in (4..).zip(numbers) {
        match CallResult::value(env, number)? {
            CallResult::Value(value) => values.set(index, value)?,
            CallResult::Numbers(..) => return Err(Failure::from(convert::unexpected("a number"))),
        }
    }
    Ok(CallResult::Value(values.array))
}
