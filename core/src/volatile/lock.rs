//! The lock of a field in the hands of its holder: renewed until it is released.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::name::Name;
use super::{Acquire, Acquired, Release, Renew, Set, VolatileHash};
use crate::client::{Blocking, Mode};
use crate::error::Result;
use crate::worker::ids;
use crate::worker::lease::{Held, Lease};

/// The lock of a field, for as long as it is held; made by [`VolatileHash::lock`].
///
/// A native thread renews it three times per `ttl`, so a busy holder keeps it. A [set](Self::set) through the lock is
/// refused with `LEASE_LOST` once the lock is lost, so a holder that was stopped for too long changes nothing in the
/// hash. For anything else that the lock protects, pass the [fence](Self::fence) along, and refuse a lower one than the
/// last.
///
/// ```
/// use std::time::Duration;
///
/// let hash = millpond::connect("memory:")?.volatile_hash("pages");
/// let lock = hash.lock("/", Duration::from_secs(10))?.expect("nobody else has it");
/// assert!(hash.lock("/", Duration::from_secs(10))?.is_none()); // one holder at a time
/// lock.set("<h1>…", Duration::from_secs(60))?;
/// assert!(lock.release()?);
/// assert!(hash.get("/")?.is_some());
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct FieldLock<M: Mode = Blocking> {
    hash: VolatileHash<M>,
    grip: Grip,
    lease: Arc<Lease<M, Grip>>,
}

/// The arguments of a holder's steps, and its fence.
#[derive(Clone)]
struct Grip {
    name: Name,
    field: Arc<[u8]>,
    token: Arc<[u8]>,
    fence: u64,
}

impl Held for Grip {
    type Renew = Renew;

    fn renew(&self, ttl: Duration) -> Result<Renew> {
        Renew::of(self.name.clone(), &self.field, &self.token, ttl)
    }

    fn renewed(&mut self, is_held: bool) -> bool {
        is_held
    }
}

impl<M: Mode> FieldLock<M> {
    pub(super) fn acquire(
        hash: VolatileHash<M>,
        field: &[u8],
        ttl: Duration,
    ) -> M::Reply<Option<Self>> {
        let (field, token): (Arc<[u8]>, _) = (field.into(), ids::token());
        let (name, step) = match hash.name() {
            Ok(name) => (Some(name.clone()), Acquire::of(name, &field, &token, ttl)),
            Err(error) => (None, Err(error)),
        };
        let held = move |acquired: Acquired| {
            Some(Grip { name: name?, field, token, fence: acquired.fence? })
        };
        let client = hash.client.clone();
        Lease::acquire(&client, step, ttl, held, |lease| {
            let grip = lease.lock().held.clone();
            Self { hash, grip, lease }
        })
    }

    /// The fence: higher than that of every earlier holder of a lock of this hash.
    pub fn fence(&self) -> u64 {
        self.grip.fence
    }

    /// Whether the lock is lost, because a renewal was refused or because none has succeeded for a whole `ttl`. A set
    /// through the lock would detect it as well.
    pub fn is_lost(&self) -> bool {
        self.lease.is_lost()
    }

    /// Calls `then` when the lock is lost, to tell the work to stop; immediately if it is already lost. If the lock is
    /// released before that, `then` is dropped and not called. It is called on a thread that renewals wait for, so it
    /// should only signal and return. In the child of a fork it is never called.
    pub fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.lease.on_lost(then);
    }

    /// Sets the field to a value, which expires after `ttl`, as [`VolatileHash::set_locked`] does.
    ///
    /// # Errors
    /// As [`VolatileHash::set_locked`].
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been set.
    pub fn set(&self, value: impl AsRef<[u8]>, ttl: Duration) -> M::Reply<()> {
        let Grip { name, field, token, .. } = &self.grip;
        let own = self.lease.check_process("take the lock in the child");
        let step = own.and_then(|()| Set::of(name.clone(), [(field, value)], ttl));
        self.hash.client.run_then(step.and_then(|step| step.under_lock(field, token, false)), drop)
    }

    /// Releases the lock, so that another holder can take it immediately. Returns false if it was already lost. The
    /// child of a fork has only a copy: there this releases nothing and returns false.
    ///
    /// # Rust
    /// A lock that is dropped is released in the background.
    ///
    /// # Errors
    /// Only those of the connection; the lock then expires by itself.
    pub fn release(self) -> M::Reply<bool> {
        self.lease.stop();
        let steps = match self.lease.is_own() {
            true => self.release_step().map(|step| vec![step]),
            false => Ok(Vec::new()),
        };
        self.hash.client.run_all(steps, |held: Vec<bool>| held == [true])
    }

    fn release_step(&self) -> Result<Release> {
        let Grip { name, field, token, .. } = &self.grip;
        Release::of(name.clone(), field, token)
    }
}

impl<M: Mode> Drop for FieldLock<M> {
    fn drop(&mut self) {
        if self.lease.stop() {
            // No caller is left to report an error to; the lock then expires by itself.
            self.hash.client.run_unattended(self.release_step());
        }
    }
}

impl<M: Mode> fmt::Debug for FieldLock<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FieldLock").field("ttl", &self.lease.length()).finish_non_exhaustive()
    }
}
