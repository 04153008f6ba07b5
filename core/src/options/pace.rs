use std::time::Duration;

/// What a client does by time, for the tests of all languages, which must hold on a machine of any speed. A URL sets
/// it by `renew_every=100ms` and `poll=never`, which no page names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// How often a lease is renewed; by default a third of its length. A long lease that is renewed often shows a
    /// renewal without running out where the machine stands still.
    pub(crate) renew_every: Option<Duration>,
    /// No look after queues of a server but on a wake-up: what wakes a waiter then was the wake-up.
    pub(crate) never_polls: bool,
    /// The limit for one call, as the options have it.
    pub(crate) timeout: Duration,
}
