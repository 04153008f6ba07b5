//! The consumer lease: one consumer at a time, fenced by a token.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::commit::Commit;
use super::{
    Acquire, BATCH_MEMBERS_MAX, Batches, Entry, Exchange, Ick, Name, Release, Renew, Reserve, Token,
};
use crate::client::{Blocking, Mode, WeakClient};
use crate::error::{Result, Retry, invalid};
use crate::runtime::random;
use crate::runtime::sync::lock;
use crate::runtime::timer::{Scheduled, Timer};
use crate::step::limits::first_of;
use crate::worker::term::Term;

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
pub struct ConsumerLease<M: Mode = Blocking> {
    ick: Ick<M>,
    renewal: Arc<Renewal>,
}

struct Renewal {
    token: Token,
    term: Term,
    state: Mutex<RenewalState>,
}

#[derive(Default)]
struct RenewalState {
    /// The lease was released or dropped.
    ended: bool,
    /// The next renewal.
    next: Option<Scheduled>,
}

impl<M: Mode> ConsumerLease<M> {
    pub(super) fn acquire(ick: Ick<M>, ttl: Duration) -> M::Reply<Option<Self>> {
        let token: Token = Arc::from(random::token().as_bytes());
        let step = ick.name().and_then(|name| Acquire::new(name.as_bytes(), token.clone(), ttl));
        let client = ick.client.clone();
        let sent = Instant::now();
        client.run_then(step, move |held| {
            held.then(|| {
                let renewal =
                    Arc::new(Renewal { token, term: Term::of(ttl, sent), state: Mutex::default() });
                if let Ok(name) = ick.name() {
                    renew_later(ick.client.downgrade(), name, &renewal);
                }
                Self { ick, renewal }
            })
        })
    }

    /// Whether the lease is lost, because a renewal was refused or because none has succeeded for
    /// a whole term: stop working on the batch. The next step through the lease would find out as
    /// well.
    pub fn is_lost(&self) -> bool {
        self.renewal.term.is_over()
    }

    /// The token, for steps that are sent by hand.
    pub fn token(&self) -> Token {
        self.renewal.token.clone()
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
        let members = first_of(members, BATCH_MEMBERS_MAX).collect();
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
        let commit = first_of(commit, BATCH_MEMBERS_MAX).collect();
        let step = self.ick.name().and_then(|name| Exchange::of(name, max, commit));
        self.ick.client.run(step.map(|step| step.fenced(self.token())))
    }

    /// [`Ick::batches`] for the holder alone.
    pub fn batches(&self, max: u64) -> Batches<M> {
        self.ick.batches(max).fenced(self.token())
    }

    /// Gives the lease back, so that another consumer can take it at once. Answers false if it
    /// was lost before. A lease that is dropped is given back in the background. The child of a
    /// fork has only a copy: it gives nothing back, and the answer is false.
    ///
    /// # Errors
    /// Only those of the connection; the lease then runs out by itself.
    pub fn release(self) -> M::Reply<bool> {
        let is_own = self.renewal.term.is_own();
        self.renewal.end();
        let steps = match is_own {
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
        if self.renewal.end() {
            // Nobody is left to tell if this fails; the lease then runs out by itself.
            self.ick.client.run_unattended(self.release_step());
        }
    }
}

impl<M: Mode> fmt::Debug for ConsumerLease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerLease")
            .field("ttl", &self.renewal.term.length())
            .finish_non_exhaustive()
    }
}

impl Renewal {
    /// Stops the renewals; answers whether this was the first time. In the child of a fork there are
    /// none, and the lock could be held for ever.
    fn end(&self) -> bool {
        if !self.term.is_own() {
            return false;
        }
        let mut state = lock(&self.state);
        let next = state.next.take();
        let first = !std::mem::replace(&mut state.ended, true);
        drop(state);
        drop(next);
        first
    }

    /// Takes in how a renewal went that was sent at this time; answers whether to go on.
    fn went(&self, sent: Instant, held: Result<bool>) -> bool {
        let goes_on = match held {
            Ok(true) => {
                self.term.renewed(sent);
                true
            }
            Ok(false) => {
                self.term.refused();
                false
            }
            // What could not be sent is sent again: the term may not be over. What would fail for
            // ever, on a client that is closed, is not.
            Err(error) => error.retry() != Retry::Never,
        };
        goes_on && !lock(&self.state).ended
    }

    fn schedule(&self, next: Scheduled) {
        let mut state = lock(&self.state);
        let before = match state.ended {
            true => Some(next),
            false => state.next.replace(next),
        };
        drop(state);
        drop(before);
    }
}

/// Renews the lease after a third of its term, and again, until it is lost or ended. Holds no
/// client: a lease that outlives its client must not keep an engine open.
fn renew_later<M: Mode>(client: WeakClient<M>, name: Name, renewal: &Arc<Renewal>) {
    let own = renewal.clone();
    let next = Timer::after(renewal.term.length() / 3, move || {
        let Some(alive) = client.upgrade() else { return };
        let sent = Instant::now();
        let step = Renew::new(name.as_bytes(), own.token.clone(), own.term.length());
        alive.submit(step, move |held| {
            if own.went(sent, held) {
                renew_later(client, name, &own);
            }
        });
    });
    renewal.schedule(next);
}
