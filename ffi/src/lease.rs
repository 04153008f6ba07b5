//! What is held under a lease that the core renews: the consumer lease of an Ick, and the lock of a field.

use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

use millpond::{Error, ErrorKind, Result};

use crate::caller::invalid;

/// What the core holds under a lease.
pub(crate) trait Holder: Sized {
    /// What errors call it.
    const NAME: &'static str;

    /// What identifies it to others, which a program may also read after the release.
    type Id;

    fn id(&self) -> Self::Id;
    fn is_lost(&self) -> bool;
    fn release(self) -> Result<bool>;
}

/// What a handle of a holder refers to.
pub(crate) struct Lease<H: Holder> {
    /// A thread that makes a step holds this.
    turn: Mutex<()>,
    /// Present until the lease is released. No thread ever waits for these locks: a lock that is
    /// held during a fork stays locked in the child. Boxed, because otherwise every handle of any
    /// kind would take this much memory.
    held: RwLock<Option<Box<H>>>,
    pub(crate) id: H::Id,
}

impl<H: Holder> From<H> for Lease<H> {
    fn from(holder: H) -> Self {
        let id = holder.id();
        Self { turn: Mutex::new(()), held: RwLock::new(Some(Box::new(holder))), id }
    }
}

impl<H: Holder> Lease<H> {
    fn turn(&self) -> Result<MutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Ok(turn),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(invalid(format!("another thread is making a step through this {}", H::NAME)))
            }
        }
    }

    /// The holder; fails while it is being released and afterwards.
    fn held(&self) -> Option<RwLockReadGuard<'_, Option<Box<H>>>> {
        match self.held.try_read() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Makes a step.
    pub(crate) fn run<T>(&self, step: impl FnOnce(&H) -> Result<T>) -> Result<T> {
        let _turn = self.turn()?;
        let held = self.held();
        step(held.as_deref().and_then(Option::as_deref).ok_or_else(released::<H>)?)
    }

    pub(crate) fn is_lost(&self) -> bool {
        let held = self.held();
        held.as_deref().and_then(Option::as_deref).is_none_or(H::is_lost)
    }

    pub(crate) fn release(&self) -> Result<bool> {
        let _turn = self.turn()?;
        let taken = self.take().ok_or_else(|| {
            let name = H::NAME;
            invalid(format!("this {name} was in use by another thread when the process forked"))
        })?;
        taken.ok_or_else(released::<H>)?.release()
    }

    /// Takes the holder out. A thread that is checking whether it is lost finishes immediately; one
    /// that did so during a fork does not exist in the child, and never finishes.
    fn take(&self) -> Option<Option<Box<H>>> {
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

fn released<H: Holder>() -> Error {
    Error::new(ErrorKind::LeaseLost, format!("the {} was released", H::NAME))
}
