//! The consumer lease: one consumer at a time, fenced by a token.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::commit::Commit;
use super::{
    Acquire, BATCH_MEMBERS_MAX, Batches, Entry, Ick, Name, Release, Renew, Reserve, Token,
};
use crate::client::{Blocking, Mode};
use crate::error::{Result, ensure};
use crate::step::limits::first_of;
use crate::worker::ids;
use crate::worker::lease::{Held, Lease};

/// The longest lease of a consumer: that of a crashed one has to expire while somebody still cares.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn ttl_ms(ttl: Duration) -> Result<u64> {
    ensure!(
        (Duration::from_millis(1)..=LEASE_MAX).contains(&ttl),
        "the lease's term is {ttl:?}; it has to be between a millisecond and a day"
    );
    Ok(ttl.as_millis() as u64)
}

/// The exclusive right to consume an Ick, for as long as it is held; made by [`Ick::lease`].
///
/// A native thread renews it three times per lease, so a busy consumer keeps it. Steps through the lease carry its
/// token: once the lease is lost they fail with `LEASE_LOST` and do nothing, so a consumer that was stopped for too
/// long cannot commit what another one is working on.
///
/// ```
/// use std::time::Duration;
///
/// let client = millpond::connect("memory:")?;
/// let ick = client.ick("files");
/// ick.add([(1.0, "a.txt")])?;
///
/// let lease = ick.lease(Duration::from_secs(30))?.expect("nobody else has it");
/// assert!(ick.lease(Duration::from_secs(30))?.is_none()); // one consumer at a time
/// lease.reserve(10)?;
/// lease.commit(["a.txt"])?;
/// lease.release()?;
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct ConsumerLease<M: Mode = Blocking> {
    ick: Ick<M>,
    token: Token,
    lease: Arc<Lease<M, Fence>>,
}

/// The token of an Ick's consumer.
#[derive(Clone)]
struct Fence(Name, Token);

impl Held for Fence {
    type Renew = Renew;

    fn renew(&self, ttl: Duration) -> Result<Renew> {
        Renew::new(self.0.as_bytes(), self.1.clone(), ttl)
    }

    fn renewed(&mut self, is_held: bool) -> bool {
        is_held
    }
}

impl<M: Mode> ConsumerLease<M> {
    pub(super) fn acquire(ick: Ick<M>, ttl: Duration) -> M::Reply<Option<Self>> {
        let (name, token) = (ick.name(), ids::token());
        let fence = ick.name().ok().map(|name| Fence(name, token.clone()));
        let step = name.and_then(|name| Acquire::new(name.as_bytes(), token.clone(), ttl));
        let held = |is_held| fence.filter(|_| is_held);
        let client = ick.client.clone();
        Lease::acquire(&client, step, ttl, held, |lease| Self { ick, token, lease })
    }

    /// Whether the lease is lost, because a renewal was refused or because none has succeeded for a whole lease. If so,
    /// stop working on the batch. The next step through the lease would detect it as well.
    pub fn is_lost(&self) -> bool {
        self.lease.is_lost()
    }

    /// Calls `then` when the lease is lost, to tell the work to stop; immediately if it is already lost. If the lease
    /// is released before that, `then` is dropped and not called. It is called on a thread that renewals wait for, so
    /// it should hand over and return. In the child of a fork it is never called.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let ick = millpond::connect("memory:")?.ick("files");
    /// let lease = ick.lease(Duration::from_secs(30))?.expect("nobody else has it");
    /// lease.on_lost(|| eprintln!("another consumer may have the batch now"));
    /// assert!(lease.release()?);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    pub fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.lease.on_lost(then);
    }

    /// The token, for steps that you send yourself.
    pub fn token(&self) -> Token {
        self.token.clone()
    }

    /// [`Ick::reserve`] for the holder of the lease only.
    ///
    /// # Errors
    /// As [`Ick::reserve`]; also `LEASE_LOST` if the lease is lost.
    pub fn reserve(&self, max: u64) -> M::Reply<Vec<Entry>> {
        let step = self.ick.name().and_then(|name| Reserve::of(name, max));
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::commit`] for the holder of the lease only; one step.
    ///
    /// # Errors
    /// As [`Ick::commit`]; also `LEASE_LOST` if the lease is lost.
    pub fn commit<B: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = B>) -> M::Reply<u64> {
        let members = first_of(members, BATCH_MEMBERS_MAX).collect();
        let step = self.ick.name().and_then(|name| Commit::of(name, members));
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::exchange`] for the holder of the lease only.
    ///
    /// # Errors
    /// As [`Ick::exchange`]; also `LEASE_LOST` if the lease is lost.
    pub fn exchange<B: AsRef<[u8]>>(
        &self,
        max: u64,
        members: impl IntoIterator<Item = B>,
    ) -> M::Reply<Vec<Entry>> {
        let step = self.ick.exchange_step(max, members);
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::batches`] for the holder of the lease only.
    pub fn batches(&self, max: u64) -> Batches<M> {
        self.ick.batches(max).fenced(self.token())
    }

    /// Releases the lease, so that another consumer can take it immediately. Returns false if it was already lost. The
    /// child of a fork has only a copy: there this releases nothing and returns false.
    ///
    /// # Rust
    /// A lease that is dropped is released in the background.
    ///
    /// # Errors
    /// Only those of the connection; the lease then expires by itself.
    pub fn release(self) -> M::Reply<bool> {
        self.lease.stop();
        let steps = match self.lease.is_own() {
            true => self.release_step().map(|step| vec![step]),
            false => Ok(Vec::new()),
        };
        self.ick.client.run_all(steps, |held: Vec<bool>| held == [true])
    }

    fn release_step(&self) -> Result<Release> {
        self.ick.name().and_then(|name| Release::new(name.as_bytes(), self.token()))
    }
}

impl<M: Mode> Drop for ConsumerLease<M> {
    fn drop(&mut self) {
        if self.lease.stop() {
            // Nobody is left to tell if this fails; the lease then runs out by itself.
            self.ick.client.run_unattended(self.release_step());
        }
    }
}

impl<M: Mode> fmt::Debug for ConsumerLease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerLease").field("ttl", &self.lease.length()).finish_non_exhaustive()
    }
}
