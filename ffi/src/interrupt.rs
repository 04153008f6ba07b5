//! Calls that wait can be interrupted.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::caller::{Caller, is_inside};

/// The address of the callback, or 0.
static CHECK: AtomicUsize = AtomicUsize::new(0);

type Check = extern "C" fn() -> bool;

/// Installs a callback that tells a waiting call whether to stop. If it returns true, the call
/// returns `MILLPOND_CANCELLED`. For interpreters, which have to run their signal handlers while a
/// call waits.
///
/// It is called on the waiting thread: in a call that waits for work, about every 50 milliseconds
/// and whenever a signal arrives; in a call that waits for a server's reply, whenever a signal
/// arrives. It must return (no longjmp, no exception), and must not call Millpond. A callback that
/// was installed before is replaced; NULL removes it. There is one callback for the whole process.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_on_interrupt(check: Option<extern "C" fn() -> bool>) {
    // SAFETY: there are no pointers.
    let caller = unsafe { Caller::trusted() };
    caller.run_or((), || {
        CHECK.store(check.map_or(0, |check| check as usize), Ordering::Release);
        millpond::on_interrupt(has_check, run_check);
    });
}

/// The core's own threads are never inside a call.
fn has_check() -> bool {
    is_inside() && CHECK.load(Ordering::Acquire) != 0
}

fn run_check() -> bool {
    let address = CHECK.load(Ordering::Acquire);
    if address == 0 {
        return false;
    }
    // SAFETY: only functions of this type are stored, and 0, which means none.
    let check = unsafe { std::mem::transmute::<usize, Check>(address) };
    check()
}
