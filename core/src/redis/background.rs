//! The one background thread of a process: a tokio runtime for the async callers' connections, the
//! subscriber and the stream watcher. It starts on first use, and anew in the child of a fork.

use std::io;
use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle};

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::fork::PerProcess;

static BACKGROUND: PerProcess<Background> = PerProcess::new();

struct Background {
    handle: Handle,
    /// Tells the thread that it is the process's. Of two that are made at once, one is dropped and ends.
    go: mpsc::Sender<()>,
}

/// Where background tasks are spawned.
///
/// # Errors
/// `CONNECTION_FAILED` if the system has no descriptor or no thread left.
pub(super) fn handle() -> Result<Handle> {
    let make = || Background::start().map(Arc::new);
    let start = |background: &Arc<Background>| {
        // It waits for this, so it is there.
        let _ = background.go.send(());
    };
    let background = BACKGROUND.get_or_try_make(make, start).map_err(|error| {
        let message = format!("the background thread cannot be started: {error}");
        Error::new(ErrorKind::ConnectionFailed, message).with_source(error)
    })?;
    Ok(background.handle.clone())
}

impl Background {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (go, may_run) = mpsc::channel();
        let run = move || {
            if may_run.recv().is_ok() {
                runtime.block_on(std::future::pending::<()>());
            }
        };
        std::thread::Builder::new().name("millpond-background".into()).spawn(run)?;
        Ok(Self { handle, go })
    }
}
