//! Stops a worker on SIGTERM and SIGINT, from a native thread: a stop takes locks, which a signal handler must not.
//!
//! signal-hook calls the handlers that were installed before, and leaves its own installed when there is no listener
//! left. In that case this module does what the signal did by default, and so it does in the child of a fork, which
//! does not have the thread.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use libc::c_int;
use millpond::{Error, ErrorKind, Result};
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, register, unregister};

const SIGNALS: [c_int; 2] = [SIGTERM, SIGINT];

/// What goes through the pipe.
const SIGNAL: u8 = 0;
const END: u8 = 1;

/// Stops a worker on the first two signals, until it is dropped.
pub(crate) struct SignalStop {
    actions: Vec<Action>,
    thread: Option<JoinHandle<()>>,
    wake: UnixStream,
    /// Closed after the actions are removed: if they write without a reader, that is a SIGPIPE.
    _read: Arc<UnixStream>,
}

impl SignalStop {
    /// The first signal stops within this time, the second immediately, and a third does what it did before.
    pub(crate) fn begin(
        within: Duration,
        stop: impl Fn(Duration) + Send + 'static,
    ) -> Result<Self> {
        Self::listen(within, stop).map_err(|cause| {
            let message = format!("the system cannot wait for signals: {cause}");
            Error::new(ErrorKind::Internal, message).with_source(cause)
        })
    }

    fn listen(within: Duration, stop: impl Fn(Duration) + Send + 'static) -> io::Result<Self> {
        SIGNALS.into_iter().try_for_each(keep_default)?;
        let (read, wake) = UnixStream::pair()?;
        let read = Arc::new(read);
        let mut actions = Vec::new();
        for signal in SIGNALS {
            actions.push(Action::write_to(wake.try_clone()?, signal)?);
        }
        let (reader, listening) = (read.clone(), Listening::begin());
        let thread = Builder::new().name("millpond-signals".into()).spawn(move || {
            stop_twice(&reader, within, stop);
            drop(listening);
        })?;
        Ok(Self { actions, thread: Some(thread), wake, _read: read })
    }
}

impl Drop for SignalStop {
    fn drop(&mut self) {
        // There is room: the pipe holds more than the two signals that the thread waits for.
        let _ = self.wake.write_all(&[END]);
        let _ = self.thread.take().map(JoinHandle::join);
        // Only now do signals do what they did before, so that none is without effect.
        self.actions.clear();
    }
}

fn stop_twice(mut read: &UnixStream, within: Duration, stop: impl Fn(Duration)) {
    let mut byte = [SIGNAL];
    for within in [within, Duration::ZERO] {
        match read.read_exact(&mut byte) {
            Ok(()) if byte == [SIGNAL] => stop(within),
            _ => return,
        }
    }
}

/// An action of a signal, beside others, until it is dropped.
struct Action(SigId);

impl Action {
    fn write_to(wake: UnixStream, signal: c_int) -> io::Result<Self> {
        let process = process::id();
        let write = move || {
            // The child of a fork has the same pipe, and its signals are not the parent's.
            if process::id() == process {
                let (data, flags) = ([SIGNAL], libc::MSG_DONTWAIT);
                // SAFETY: there is one byte, and the socket is open for as long as this closure exists.
                unsafe { libc::send(wake.as_raw_fd(), data.as_ptr().cast(), data.len(), flags) };
            }
        };
        // SAFETY: getpid and send are async-signal-safe, and the closure calls nothing else.
        unsafe { register(signal, write) }.map(Self)
    }
}

impl Drop for Action {
    fn drop(&mut self) {
        unregister(self.0);
    }
}

/// Makes a signal do what it does by default whenever there is no listener, if that is what it does now.
fn keep_default(signal: c_int) -> io::Result<()> {
    // SAFETY: any bytes are a value of it.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: it can be written, and the signal's action is only read.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if now.sa_sigaction == libc::SIG_DFL {
        let default = move || {
            if Listening::count(LISTENING.load(Ordering::SeqCst)) == 0 {
                let _ = emulate_default_handler(signal);
            }
        };
        // SAFETY: what it does is async-signal-safe, as signal-hook says of its own part.
        unsafe { register(signal, default) }?;
    }
    Ok(())
}

/// How many listeners there are; the upper half is the id of their process, as the child of a fork has none.
static LISTENING: AtomicU64 = AtomicU64::new(0);

/// A listener.
struct Listening;

impl Listening {
    fn begin() -> Self {
        Self::change(|count| count + 1);
        Self
    }

    fn change(change: impl Fn(u32) -> u32) {
        let changed =
            |now| Some(u64::from(process::id()) << 32 | u64::from(change(Self::count(now))));
        let _ = LISTENING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed);
    }

    fn count(now: u64) -> u32 {
        if (now >> 32) as u32 == process::id() { now as u32 } else { 0 }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        Self::change(|count| count - 1);
    }
}
