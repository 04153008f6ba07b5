//! A clock that tests move.

use std::sync::Arc;
use std::time::Duration;

use millpond::{Clock, ManualClock};

use crate::caller::{self, Caller, invalid};
use crate::error::millpond_error;
use crate::options::NOT_SET;
use crate::status::millpond_status;

/// A clock for tests, which stands still until it is told to move: what is due in an hour becomes due when the clock is
/// advanced by an hour, and callers that wait for it are woken. The `clock` of `millpond_options` opens an embedded
/// engine with it.
///
/// The engine uses it for times, delays and leases. Everything else follows the system's time: how long a call waits, a
/// worker's timeout, and when a lease is renewed. So an advance by more than a lease ends that lease, as if its holder
/// had been stopped for that long.
///
///     millpond_clock *clock;
///     millpond_options options;
///     millpond_options_init(&options, sizeof options);
///     options.url = (millpond_bytes){"memory:", 7};
///     if (millpond_clock_new(MILLPOND_NOT_SET, &clock, &error) == MILLPOND_OK) {
///         options.clock = clock;
///         millpond_status status = millpond_connect_with(&options, &client, &error);
///         millpond_clock_advance(clock, 3600000, &error);
///     }
///
/// Freed with `millpond_clock_free`.
pub struct millpond_clock {
    _private: (),
}

/// Makes a clock that is set to this time, in milliseconds since the Unix epoch, or to the present for
/// `MILLPOND_NOT_SET`. A time after the year 9999 becomes the end of that year.
///
/// `clock` is set to the clock, which the caller frees with `millpond_clock_free`, or on failure to NULL. Sends
/// nothing.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a time before the year 1970.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_clock_new(
    now_ms: i64,
    clock: *mut *mut millpond_clock,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let clock = caller.new_handle("clock", clock)?;
        clock.set(Arc::new(match u64::try_from(now_ms) {
            Ok(now_ms) => ManualClock::at(now_ms.saturating_mul(1_000)),
            Err(_) if now_ms == NOT_SET => ManualClock::new(),
            Err(_) => {
                return Err(invalid(format!(
                    "now_ms is {now_ms}; it has to be 0 or more, or MILLPOND_NOT_SET"
                )));
            }
        }));
        Ok(())
    })
}

/// Moves a clock forward, at most to the end of the year 9999, and wakes callers that wait for what is due then. Sends
/// nothing.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a clock.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_clock_advance(
    clock: *mut millpond_clock,
    time_ms: u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        caller.held("clock", clock)?.advance(Duration::from_millis(time_ms));
        Ok(())
    })
}

/// The time of a clock, in milliseconds since the Unix epoch. Sends nothing.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a clock.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_clock_now(
    clock: *const millpond_clock,
    now_ms: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let out = caller.out("now_ms", now_ms, 0)?;
        out.set(caller.held("clock", clock)?.now() / 1_000);
        Ok(())
    })
}

/// Frees a clock. Engines that were opened with it keep it, and for them it stands still from then on. NULL and a clock
/// that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_clock_free(clock: *mut millpond_clock) {
    caller::free(clock);
}
