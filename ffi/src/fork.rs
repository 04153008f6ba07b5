//! Fork is normal: Ruby's servers fork, php-fpm forks, and so may a C program.

use std::sync::atomic::{AtomicBool, Ordering};

use millpond::{Error, ErrorKind, Result};

/// Makes sure that the core is notified of forks.
pub(crate) fn watch() -> Result<()> {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if WATCHING.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: the handler counts a number up, which is allowed in the child of a process with
    // threads, and the library is never unloaded (see build.rs).
    let refused = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    if refused != 0 {
        let cause = std::io::Error::from_raw_os_error(refused);
        return Err(
            Error::new(ErrorKind::Internal, "no room for a fork handler").with_source(cause)
        );
    }
    // Two threads at the same time install two handlers, which does no harm; a lock could stay
    // locked in the child of a fork.
    WATCHING.store(true, Ordering::Release);
    Ok(())
}

extern "C" fn forked() {
    millpond::after_fork_in_child();
}
