//! What tasks and documents have in common: a version, and a claimant who holds them until a time.

use std::sync::Arc;

use super::queue::{NOBODY, Record};
use crate::tasks::Doc;

/// A task or a document.
pub(super) trait Leased {
    fn version(&self) -> u64;

    /// Whether another claimant holds it.
    fn is_held_against(&self, claimant: &str, now_ms: u64) -> bool;

    /// Makes its next version, which is held until `at_ms`.
    fn lease(&mut self, at_ms: u64, holder: &Arc<str>, now_ms: u64);
}

macro_rules! leased {
    ($($of:ty),+) => {
        $(impl Leased for $of {
            fn version(&self) -> u64 {
                self.version
            }

            fn is_held_against(&self, claimant: &str, now_ms: u64) -> bool {
                let holder = &*self.claimant;
                self.at_ms > now_ms && !holder.is_empty() && holder != claimant
            }

            fn lease(&mut self, at_ms: u64, holder: &Arc<str>, now_ms: u64) {
                self.version += 1;
                self.at_ms = at_ms;
                self.modified_ms = now_ms;
                self.claimant = holder.clone();
            }
        })+
    };
}

leased!(Record, Doc);

/// What is wrong with a task or document that was looked up: it is `missing` at its version, or `held` by another
/// claimant.
pub(super) fn fault<F>(
    found: Option<&impl Leased>,
    version: u64,
    claimant: Option<&str>,
    now_ms: u64,
    missing: F,
    held: F,
) -> Option<F> {
    match found.filter(|found| found.version() == version) {
        None => Some(missing),
        Some(found) => claimant.filter(|c| found.is_held_against(c, now_ms)).map(|_| held),
    }
}

/// The claimant that holds something until this time after a change.
pub(super) fn holder(claimant: &Arc<str>, at_ms: u64, now_ms: u64) -> &Arc<str> {
    if at_ms > now_ms { claimant } else { &NOBODY }
}
