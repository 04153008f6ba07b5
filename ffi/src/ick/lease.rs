//! The consumer lease of an Ick.

use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, TryLockError};
use std::time::{Duration, Instant};

use millpond::ick::{ConsumerLease, Token};
use millpond::{Error, ErrorKind, Result};

use crate::caller::{self, Caller, invalid};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::ick::batches::{Batches, millpond_ick_batches};
use crate::ick::entries::{Entries, millpond_ick_entries};
use crate::keys::millpond_bytes;
use crate::options::wait_time;
use crate::status::millpond_status;

/// The right to consume an Ick, for as long as it is held. A native thread renews it three times a
/// lease, so a busy consumer keeps it. Steps through it carry its token: once it is lost they return
/// `MILLPOND_LEASE_LOST` and do nothing, so a consumer that was paused for too long cannot commit
/// what another one works on. Freed with `millpond_ick_lease_free`.
///
/// One thread at a time: a second one that makes a step through it meanwhile gets
/// `MILLPOND_INVALID_ARGUMENT` at once. `millpond_ick_lease_is_lost` and `millpond_ick_lease_token` are
/// for any thread at any time.
pub struct millpond_ick_lease {
    _private: (),
}

/// What a handle of a lease refers to.
pub(crate) struct Lease {
    /// A thread that makes a step holds this.
    turn: Mutex<()>,
    /// There until it is released. No thread ever waits for these locks: one that is held
    /// during a fork stays locked in the child.
    held: RwLock<Option<ConsumerLease>>,
    token: Token,
}

impl Lease {
    fn new(lease: ConsumerLease) -> Self {
        let token = lease.token();
        Self { turn: Mutex::new(()), held: RwLock::new(Some(lease)), token }
    }

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
    fn step<T>(&self, step: impl FnOnce(&ConsumerLease) -> Result<T>) -> Result<T> {
        let _turn = self.turn()?;
        let held = self.held();
        step(held.as_deref().and_then(Option::as_ref).ok_or_else(released)?)
    }

    fn is_lost(&self) -> bool {
        let held = self.held();
        held.as_deref().and_then(Option::as_ref).is_none_or(ConsumerLease::is_lost)
    }

    fn release(&self) -> Result<bool> {
        let _turn = self.turn()?;
        let taken = self.take().ok_or_else(|| {
            invalid("this lease was in use by another thread when the process forked")
        })?;
        taken.ok_or_else(released)?.release()
    }

    /// Takes the lease out. A thread that checks whether it is lost finishes at once; one that did
    /// so during a fork does not exist in the child, and never finishes.
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

/// Takes the consumer lease of an Ick, which keeps two consumers from working on one batch by
/// mistake. `ttl_ms` is its term in milliseconds, from 1 to a day; it is renewed until it is
/// released or freed, and a consumer that crashed loses it after a term at most.
///
/// `lease` is set to the lease, which the caller frees with `millpond_ick_lease_free`; to NULL on
/// failure, and also on success if another consumer holds it.
///
///     millpond_ick_lease *lease;
///     status = millpond_ick_lease_acquire(client, "files", 5, 30000, &lease, &error);
///     if (status == MILLPOND_OK && lease == NULL)
///         puts("somebody else is at work");
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a term out of range; those of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_acquire(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    ttl_ms: u64,
    lease: *mut *mut millpond_ick_lease,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("lease", lease)?;
        let ick = caller.ick(client, name, name_length)?;
        if let Some(lease) = ick.lease(Duration::from_millis(ttl_ms))? {
            out.set(Lease::new(lease));
        }
        Ok(())
    })
}

/// Whether the lease is lost: because a renewal was refused, because none has succeeded for a
/// whole term, or because it was released. Then stop working on the batch. Sends nothing; any
/// thread may ask at any time.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a lease.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_is_lost(
    lease: *const millpond_ick_lease,
    lost: *mut bool,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        // A caller that ignores the status must not think that it is held.
        let lost = caller.out("lost", lost, true)?;
        lost.set(caller.held::<Lease>("lease", lease)?.is_lost());
        Ok(())
    })
}

/// The token that the lease's steps carry, for steps that are sent by hand. Lives until the lease
/// is freed. Any thread may ask at any time.
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
    caller.run(error, || {
        let token = caller.out("token", token, millpond_bytes::NONE)?;
        token.set(millpond_bytes::of(&caller.held::<Lease>("lease", lease)?.token));
        Ok(())
    })
}

/// `millpond_ick_reserve` for the holder alone.
///
/// Errors: `MILLPOND_LEASE_LOST`, and those of `millpond_ick_reserve`.
///
/// Threads: one at a time; see `millpond_ick_lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_reserve(
    lease: *mut millpond_ick_lease,
    max: u64,
    entries: *mut *mut millpond_ick_entries,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let entries = caller.new_handle("entries", entries)?;
        let lease = caller.held::<Lease>("lease", lease)?;
        entries.set(Entries::new(&lease.step(|lease| lease.reserve(max))?));
        Ok(())
    })
}

/// `millpond_ick_commit` for the holder alone; one step.
///
/// Errors: `MILLPOND_LEASE_LOST`, and those of `millpond_ick_commit`; also
/// `MILLPOND_INVALID_ARGUMENT` for more than 250,000 members.
///
/// Threads: one at a time; see `millpond_ick_lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_commit(
    lease: *mut millpond_ick_lease,
    members: *const millpond_bytes,
    count: usize,
    committed: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let committed = caller.optional_out(committed, 0);
        let lease = caller.held::<Lease>("lease", lease)?;
        let members = caller.byte_strings("members", members, count)?;
        committed.set(lease.step(|lease| lease.commit(members))?);
        Ok(())
    })
}

/// `millpond_ick_exchange` for the holder alone, without backwash.
///
/// Errors: `MILLPOND_LEASE_LOST`, and those of `millpond_ick_exchange`.
///
/// Threads: one at a time; see `millpond_ick_lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_exchange(
    lease: *mut millpond_ick_lease,
    max: u64,
    members: *const millpond_bytes,
    count: usize,
    entries: *mut *mut millpond_ick_entries,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let entries = caller.new_handle("entries", entries)?;
        let lease = caller.held::<Lease>("lease", lease)?;
        let members = caller.byte_strings("members", members, count)?;
        entries.set(Entries::new(&lease.step(|lease| lease.exchange(max, members))?));
        Ok(())
    })
}

/// `millpond_ick_batches_new` for the holder alone: its calls return `MILLPOND_LEASE_LOST` once the
/// lease is lost. The batches do not keep the lease: it has to outlive them.
///
/// Errors: `MILLPOND_LEASE_LOST` if the lease was released; those of `millpond_ick_batches_new`.
///
/// Threads: one at a time; see `millpond_ick_lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_batches(
    lease: *mut millpond_ick_lease,
    max: u64,
    wait_ms: i64,
    batches: *mut *mut millpond_ick_batches,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("batches", batches)?;
        let lease = caller.held::<Lease>("lease", lease)?;
        let wait = wait_time(wait_ms)?;
        out.set(Batches::new(lease.step(|lease| Ok(lease.batches(max)))?, wait));
        Ok(())
    })
}

/// Releases the lease, so that another consumer can take it at once. The handle still has to be
/// freed.
///
/// `was_held` is set to false if it was lost before; it may be NULL.
///
/// Errors: `MILLPOND_LEASE_LOST` if it was released already; those of the connection, and then it
/// expires.
///
/// Threads: one at a time; see `millpond_ick_lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_release(
    lease: *mut millpond_ick_lease,
    was_held: *mut bool,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let was_held = caller.optional_out(was_held, false);
        was_held.set(caller.held::<Lease>("lease", lease)?.release()?);
        Ok(())
    })
}

/// Frees a lease. One that was not released is released in the background, but not by the child
/// of a fork, whose parent may still hold it. NULL and a lease that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_free(lease: *mut millpond_ick_lease) {
    caller::free::<Lease>(lease);
}
