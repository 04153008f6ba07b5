//! A channel of several Icks.

use millpond::Async;
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::batches::Batches;
use crate::convert::{self, Bytes, Size};
use crate::errors;
use crate::handle::Handle;
use crate::ick::{Ick, added};

/// A channel. What is missing here about a method is in the declarations of the package.
#[napi]
pub struct IckChannel(pub(crate) Handle<millpond::ick::IckChannel<Async>>);

#[napi]
impl IckChannel {
    /// How many Icks members are spread over.
    #[napi(getter)]
    pub fn shards(&self) -> u32 {
        self.0.core.shards()
    }

    /// How many Icks consumers have to read.
    #[napi(getter)]
    pub fn readable(&self) -> u32 {
        self.0.core.readable()
    }

    /// The same channel, of more Icks to read.
    #[napi]
    pub fn draining(&self, earlier: u32) -> Self {
        Self(self.0.with(self.0.core.clone().draining(earlier)))
    }

    /// The Ick with this number.
    #[napi]
    pub fn ick(&self, number: u32) -> Ick {
        Ick(self.0.with(self.0.core.ick(number)))
    }

    /// The number of a member's Ick.
    #[napi]
    pub fn ick_of(&self, member: Bytes) -> u32 {
        self.0.core.ick_of(&member.0)
    }

    /// As [`Ick::add`].
    #[napi]
    pub fn add(&self, env: Env, number: u32, pairs: Array<'_>) -> napi::Result<bool> {
        let pairs = convert::pairs(&env, &pairs)?;
        Ok(self.0.start(number, |channel| channel.add(pairs.iter()), added))
    }

    /// The loop over the Icks with these numbers.
    #[napi]
    pub fn batches(
        &self,
        env: Env,
        numbers: Vec<u32>,
        max: Size,
        wait_ms: Option<f64>,
    ) -> napi::Result<Batches> {
        let batches = errors::catch(|| self.0.core.batches(numbers, max.0));
        let batches = batches.map_err(|error| errors::thrown(&env, &error))?;
        Ok(Batches::new(self.0.with(batches), wait_ms))
    }
}
