//! A call of several steps on an async client: its body is polled by whoever brings the result that it waits for.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake};

use crate::runtime::sync::lock;

const WAITS: u8 = 0;
const RUNS: u8 = 1;
/// Woken while it runs.
const RUNS_AGAIN: u8 = 2;

/// The body, until it is done.
type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Task {
    body: Mutex<Option<Body>>,
    state: AtomicU8,
}

impl Task {
    /// Runs this until it waits, on this thread, and then wherever it is woken.
    pub(super) fn spawn(body: impl Future<Output = ()> + Send + 'static) {
        let body = Mutex::new(Some(Box::pin(body) as Body));
        Arc::new(Self { body, state: AtomicU8::new(RUNS) }).run();
    }

    fn run(self: Arc<Self>) {
        let waker = self.clone().into();
        let mut body = lock(&self.body);
        loop {
            let Some(running) = body.as_mut() else { return };
            if running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                *body = None;
                return;
            }
            let waits =
                self.state.compare_exchange(RUNS, WAITS, Ordering::AcqRel, Ordering::Acquire);
            if waits.is_ok() {
                return;
            }
            self.state.store(RUNS, Ordering::Release);
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        loop {
            let state = self.state.load(Ordering::Acquire);
            let next = if state == WAITS { RUNS } else { RUNS_AGAIN };
            let is_set =
                self.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire);
            match is_set {
                Ok(WAITS) => return self.run(),
                Ok(_) => return,
                Err(_) => {}
            }
        }
    }
}
