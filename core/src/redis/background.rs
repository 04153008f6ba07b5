//! The one background thread of a process: a tokio runtime for the async callers' connections, the
//! subscriber and the stream watcher. It starts on first use, and anew in the child of a fork.

use std::sync::{Arc, Mutex};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::runtime::fork::PerProcess;
use crate::runtime::sync::lock;

static BACKGROUND: PerProcess<Background> = PerProcess::new();

struct Background {
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
}

impl Drop for Background {
    /// Of two threads that make one at once, one loses; its runtime may be dropped on a thread
    /// of another runtime, where waiting for its end is forbidden.
    fn drop(&mut self) {
        if let Some(runtime) = lock(&self.runtime).take() {
            runtime.shutdown_background();
        }
    }
}

/// Where background tasks are spawned.
pub(super) fn handle() -> Handle {
    let make = || {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("the system gives a process at least one more poller");
        let handle = runtime.handle().clone();
        Arc::new(Background { runtime: Mutex::new(Some(runtime)), handle })
    };
    BACKGROUND.get_or_make(make, start).handle.clone()
}

fn start(background: &Arc<Background>) {
    let runtime = lock(&background.runtime).take();
    let run = move || {
        if let Some(runtime) = runtime {
            runtime.block_on(std::future::pending::<()>());
        }
    };
    std::thread::Builder::new()
        .name("millpond-background".into())
        .spawn(run)
        .expect("the system gives a process at least one more thread");
}
