//! The consumer lease of an Ick.

use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

use millpond::ick::{ConsumerLease, Token};
use millpond::{Error, ErrorKind, Result};

use super::generated_calls::millpond_ick_lease;
use crate::caller::{Caller, invalid};
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

/// What a handle of a lease refers to.
pub(crate) struct Lease {
    /// A thread that makes a step holds this.
    turn: Mutex<()>,
    /// Present until the lease is released. No thread ever waits for these locks: a lock that is
    /// held during a fork stays locked in the child.
    held: RwLock<Option<ConsumerLease>>,
    token: Token,
}

impl From<ConsumerLease> for Lease {
    fn from(lease: ConsumerLease) -> Self {
        let token = lease.token();
        Self { turn: Mutex::new(()), held: RwLock::new(Some(lease)), token }
    }
}

impl Lease {
    fn turn(&self) -> Result<MutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Ok(turn),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(invalid("another thread is making a step through this lease"))
            }
        }
    }

    /// The lease; fails while it is being released and afterwards.
    fn held(&self) -> Option<RwLockReadGuard<'_, Option<ConsumerLease>>> {
        match self.held.try_read() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Makes a step.
    pub(super) fn run<T>(&self, step: impl FnOnce(&ConsumerLease) -> Result<T>) -> Result<T> {
        let _turn = self.turn()?;
        let held = self.held();
        step(held.as_deref().and_then(Option::as_ref).ok_or_else(released)?)
    }

    pub(super) fn is_lost(&self) -> bool {
        let held = self.held();
        held.as_deref().and_then(Option::as_ref).is_none_or(ConsumerLease::is_lost)
    }

    pub(super) fn release(&self) -> Result<bool> {
        let _turn = self.turn()?;
        let taken = self.take().ok_or_else(|| {
            invalid("this lease was in use by another thread when the process forked")
        })?;
        taken.ok_or_else(released)?.release()
    }

    /// Takes the lease out. A thread that is checking whether it is lost finishes immediately; one
    /// that did so during a fork does not exist in the child, and never finishes.
    fn take(&self) -> Option<Option<ConsumerLease>> {
        let deadline = Instant::now() + Duration::from_secs(1);
        loop {
            match self.held.try_write() {
                Ok(mut held) => return Some(held.take()),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner().take()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
    }
}

fn released() -> Error {
    Error::new(ErrorKind::LeaseLost, "the lease was released")
}

/// The token that the lease's steps carry, for steps that you send yourself. Lives until the lease
/// is freed. Any thread may call this at any time.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a lease.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_token(
    lease: *const millpond_ick_lease,
    token: *mut millpond_bytes,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let token = caller.out("token", token, millpond_bytes::NONE)?;
        token.set(millpond_bytes::of(&caller.held("lease", lease)?.token));
        Ok(())
    })
}
