//! The consumer lease: one consumer at a time, fenced by a token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::commit::Commit;
use super::{Acquire, Batches, Entry, Exchange, Ick, Release, Renew, Reserve, Token};
use crate::client::{Blocking, Mode};
use crate::error::{Result, invalid};
use crate::random;
use crate::timer::Timer;

/// A term has to be at least this long.
const TTL_MIN: Duration = Duration::from_millis(1);
/// And at most this: a crashed consumer's lease must run out while somebody still cares.
const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn ttl_ms(ttl: Duration) -> Result<u64> {
    if !(TTL_MIN..=TTL_MAX).contains(&ttl) {
        return Err(invalid(format!(
            "the lease's term is {ttl:?}; it has to be between a millisecond and a day"
        )));
    }
    Ok(ttl.as_millis() as u64)
}

/// The right to consume an Ick, for as long as it is held; made by [`Ick::lease`].
///
/// A native thread renews it three times a term, so a busy handler keeps it. Steps through it
/// carry its token: once it is lost they answer `LEASE_LOST` and do nothing, so a consumer that
/// was stopped for too long cannot commit what another one works on.
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
#[derive(Debug)]
pub struct ConsumerLease<M: Mode = Blocking> {
    ick: Ick<M>,
    renewal: Arc<Renewal>,
}

#[derive(Debug)]
struct Renewal {
    token: Token,
    ttl: Duration,
    /// Set when a renewal was refused; never cleared.
    lost: AtomicBool,
    /// Set by release and drop, so that the thread stops renewing.
    ended: AtomicBool,
    /// The process that took it. The copy in the child of a fork gives nothing back on drop.
    process: u32,
}

impl<M: Mode> ConsumerLease<M> {
    pub(super) fn acquire(ick: Ick<M>, ttl: Duration) -> M::Reply<Option<Self>> {
        let token: Token = Arc::from(random::token().as_bytes());
        let step = ick.name().and_then(|name| Acquire::new(name.as_bytes(), token.clone(), ttl));
        let client = ick.client.clone();
        client.run_then(step, move |held| {
            held.then(|| {
                let renewal = Arc::new(Renewal {
                    token,
                    ttl,
                    lost: AtomicBool::new(false),
                    ended: AtomicBool::new(false),
                    process: std::process::id(),
                });
                renew_later(ick.clone(), renewal.clone());
                Self { ick, renewal }
            })
        })
    }

    /// The token, for steps that are sent by hand.
    pub fn token(&self) -> Token {
        self.renewal.token.clone()
    }

    /// Whether a renewal found the lease lost: stop working on the batch. The next step through
    /// the lease would find out as well.
    pub fn is_lost(&self) -> bool {
        self.renewal.lost.load(Ordering::Acquire)
    }

    /// [`Ick::reserve`] for the holder alone.
    ///
    /// # Errors
    /// `LEASE_LOST`, and those of [`Ick::reserve`].
    pub fn reserve(&self, max: u64) -> M::Reply<Vec<Entry>> {
        let step = self.ick.name().and_then(|name| Reserve::of(name, max));
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::commit`] for the holder alone; one step.
    ///
    /// # Errors
    /// `LEASE_LOST`, and those of [`Ick::commit`].
    pub fn commit<B: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = B>) -> M::Reply<u64> {
        let members = members.into_iter().collect();
        let step = self.ick.name().and_then(|name| Commit::of(name, members));
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::exchange`] for the holder alone.
    ///
    /// # Errors
    /// `LEASE_LOST`, and those of [`Ick::exchange`].
    pub fn exchange<B: AsRef<[u8]>>(
        &self,
        max: u64,
        commit: impl IntoIterator<Item = B>,
    ) -> M::Reply<Vec<Entry>> {
        let commit = commit.into_iter().collect();
        let step = self.ick.name().and_then(|name| Exchange::of(name, max, commit));
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::batches`] for the holder alone.
    pub fn batches(&self, max: u64) -> Batches<M> {
        self.ick.batches(max).fenced(self.token())
    }

    /// Gives the lease back, so that another consumer can take it at once. Answers false if it
    /// was lost before. A lease that is dropped is given back in the background.
    ///
    /// # Errors
    /// Only those of the connection; the lease then runs out by itself.
    pub fn release(self) -> M::Reply<bool> {
        self.renewal.ended.store(true, Ordering::Release);
        self.ick.client.run(self.release_step())
    }

    fn release_step(&self) -> Result<Release> {
        self.ick.name().and_then(|name| Release::new(name.as_bytes(), self.token()))
    }
}

impl<M: Mode> Drop for ConsumerLease<M> {
    fn drop(&mut self) {
        let is_ours = self.renewal.process == std::process::id();
        if !self.renewal.ended.swap(true, Ordering::AcqRel) && is_ours {
            // Nobody is left to tell if this fails; the lease then runs out by itself.
            self.ick.client.submit(self.release_step(), |_| {});
        }
    }
}

/// Renews the lease after a third of its term, and again, until it is lost or ended.
fn renew_later<M: Mode>(ick: Ick<M>, renewal: Arc<Renewal>) {
    Timer::after(renewal.ttl / 3, move || {
        if renewal.ended.load(Ordering::Acquire) {
            return;
        }
        let step = ick
            .name()
            .and_then(|name| Renew::new(name.as_bytes(), renewal.token.clone(), renewal.ttl));
        ick.client.clone().submit(step, move |held| {
            if matches!(held, Ok(false)) && !renewal.ended.load(Ordering::Acquire) {
                renewal.lost.store(true, Ordering::Release);
            } else {
                // A renewal that could not be sent is tried again: the term may not be over.
                renew_later(ick, renewal);
            }
        });
    });
}
