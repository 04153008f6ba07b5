//! A clock that tests move.

use std::sync::Arc;

use millpond::Clock;
use napi_derive::napi;

use crate::convert::duration;

#[napi]
pub struct ManualClock(pub(crate) Arc<millpond::ManualClock>);

#[napi]
impl ManualClock {
    /// Without a time it stands at the present.
    #[napi(constructor)]
    pub fn new(now_ms: Option<f64>) -> Self {
        let clock = now_ms.map(|now_ms| millpond::ManualClock::at((now_ms * 1_000.0) as u64));
        Self(Arc::new(clock.unwrap_or_else(millpond::ManualClock::new)))
    }

    #[napi(getter)]
    pub fn now_ms(&self) -> f64 {
        (self.0.now() / 1_000) as f64
    }

    #[napi]
    pub fn advance(&self, time_ms: f64) {
        self.0.advance(duration(time_ms));
    }
}
