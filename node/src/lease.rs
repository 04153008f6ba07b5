//! The consumer lease of an Ick.

use std::cell::RefCell;

use millpond::{Async, Error, ErrorKind, Pending, Result, ick};
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::batches::Batches;
use crate::convert::{self, CallResult, Converted, Size};
use crate::errors;
use crate::handle::{Handle, lost};

type Held = ick::ConsumerLease<Async>;

/// A lease, there until it is released. What is missing here about a method is in the
/// declarations of the package.
#[napi]
pub struct ConsumerLease(Handle<RefCell<Option<Held>>>);

impl ConsumerLease {
    pub(crate) fn new(lease: Handle<Held>) -> Self {
        let empty = lease.with(RefCell::default());
        empty.core.replace(Some(lease.core));
        Self(empty)
    }

    fn call<T: Send + 'static>(
        &self,
        number: u32,
        call: impl FnOnce(&Held) -> Pending<T>,
        convert: impl FnOnce(&Env, T) -> Converted + 'static,
    ) -> bool {
        self.0.try_start(number, |held| with(held, call), convert)
    }
}

fn with<T>(held: &RefCell<Option<Held>>, call: impl FnOnce(&Held) -> T) -> Result<T> {
    let released = || Error::new(ErrorKind::LeaseLost, "the lease was released");
    held.borrow().as_ref().map(call).ok_or_else(released)
}

#[napi]
impl ConsumerLease {
    /// A lease that was released is lost as well: stop working.
    #[napi(getter)]
    pub fn is_lost(&self) -> bool {
        with(&self.0.core, Held::is_lost).unwrap_or(true)
    }

    /// Returns whether it was lost, as soon as it is, or has ended otherwise.
    #[napi]
    pub fn lost(&self, number: u32) -> bool {
        let (then, lost) = lost();
        let call = |lease: &RefCell<_>| with(lease, |lease| lease.on_lost(then)).map(|()| lost);
        self.0.try_start(number, call, CallResult::bool)
    }

    /// Returns `[member, score, …]`.
    #[napi]
    pub fn reserve(&self, number: u32, max: Size) -> bool {
        let text = self.0.text;
        let entries = move |env: &Env, entries: Vec<_>| convert::entries(env, &entries, text);
        self.call(number, |lease| lease.reserve(max.0), entries)
    }

    /// Returns a count.
    #[napi]
    pub fn commit(&self, env: Env, number: u32, members: Array<'_>) -> napi::Result<bool> {
        let members = convert::members(&env, &members)?;
        Ok(self.call(number, |lease| lease.commit(members.iter()), CallResult::count))
    }

    /// Returns `[member, score, …]`.
    #[napi]
    pub fn exchange(
        &self,
        env: Env,
        number: u32,
        max: Size,
        members: Array<'_>,
    ) -> napi::Result<bool> {
        let text = self.0.text;
        let members = convert::members(&env, &members)?;
        let entries = move |env: &Env, entries: Vec<_>| convert::entries(env, &entries, text);
        Ok(self.call(number, |lease| lease.exchange(max.0, members.iter()), entries))
    }

    /// The holder's loop.
    #[napi]
    pub fn batches(&self, env: Env, max: Size, wait_ms: Option<f64>) -> napi::Result<Batches> {
        let batches = with(&self.0.core, |lease| lease.batches(max.0));
        let batches = batches.map_err(|error| errors::thrown(&env, &error))?;
        Ok(Batches::new(self.0.with(batches), wait_ms))
    }

    /// Returns whether it was held until now.
    #[napi]
    pub fn release(&self, number: u32) -> bool {
        match self.0.core.take() {
            Some(lease) => self.0.start(number, |_| lease.release(), CallResult::bool),
            None => self.0.start(number, |_| std::future::ready(Ok(false)), CallResult::bool),
        }
    }
}
