//! The consumer lease of an Ick.

use millpond::Result;
use millpond::ick::{ConsumerLease, Token};

use super::generated_calls::millpond_ick_lease;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::lease::Holder;
use crate::status::millpond_status;

impl Holder for ConsumerLease {
    const NAME: &'static str = "lease";

    type Id = Token;

    fn id(&self) -> Token {
        self.token()
    }

    fn is_lost(&self) -> bool {
        ConsumerLease::is_lost(self)
    }

    fn release(self) -> Result<bool> {
        ConsumerLease::release(self)
    }
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
        token.set(millpond_bytes::of(&caller.held("lease", lease)?.id));
        Ok(())
    })
}
