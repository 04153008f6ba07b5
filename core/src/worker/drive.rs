//! Runs a worker's handler in Rust: on threads, or in one future.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::error::Result;

use super::report::{Report, RunEvent};
use super::settings::Settings;

impl<J> Settings<J> {
    /// Works on the jobs from `next` until the run is over, on as many threads as the worker may use.
    pub(crate) fn run(
        &self,
        next: impl Fn() -> Result<Option<RunEvent<J>>> + Sync,
        work: impl Fn(J) + Sync,
    ) -> Result<()> {
        let stop = || self.stop.stop(Duration::ZERO);
        on_threads(self.concurrency, next, work, |report| self.report(&report), stop)
    }

    /// The same, on this thread; prints nothing.
    pub(crate) fn drain(
        &self,
        next: impl Fn() -> Result<Option<RunEvent<J>>>,
        work: impl FnMut(J),
    ) -> Result<()> {
        on_thread(next, work, |report| self.tell(&report))
    }

    /// Works in this future, on many jobs at the same time.
    pub(crate) async fn run_async(
        &self,
        next: impl FnMut(&mut Context<'_>) -> Poll<Result<Option<RunEvent<J>>>>,
        work: impl AsyncFn(J),
    ) -> Result<()> {
        in_future(next, work, |report| self.report(&report)).await
    }

    /// The same; prints nothing.
    pub(crate) async fn drain_async(
        &self,
        next: impl FnMut(&mut Context<'_>) -> Poll<Result<Option<RunEvent<J>>>>,
        work: impl AsyncFn(J),
    ) -> Result<()> {
        in_future(next, work, |report| self.tell(&report)).await
    }
}

/// Runs jobs on this thread and on as many more as needed.
fn on_threads<J>(
    concurrency: usize,
    next: impl Fn() -> Result<Option<RunEvent<J>>> + Sync,
    work: impl Fn(J) + Sync,
    report: impl Fn(Report<J>) + Sync,
    stop: impl Fn() + Sync,
) -> Result<()> {
    /// A handler that panics ends the whole run, not just its thread.
    struct OnPanic<F: Fn()>(F);

    impl<F: Fn()> Drop for OnPanic<F> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                (self.0)();
            }
        }
    }

    let drive = || {
        let _on_panic = OnPanic(&stop);
        on_thread(&next, &work, &report).inspect_err(|_| stop())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..concurrency).map(|_| scope.spawn(drive)).collect();
        let own = drive();
        let others = others.into_iter().map(|other| match other.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        others.fold(own, |first, other| first.and(other))
    })
}

/// Runs jobs on this thread, one at a time.
fn on_thread<J>(
    next: impl Fn() -> Result<Option<RunEvent<J>>>,
    mut work: impl FnMut(J),
    mut report: impl FnMut(Report<J>),
) -> Result<()> {
    while let Some(event) = next()? {
        match event {
            RunEvent::Job(job) => work(job),
            RunEvent::Report(of) => report(of),
        }
    }
    Ok(())
}

/// Runs jobs in this future, many at the same time.
async fn in_future<J>(
    mut next: impl FnMut(&mut Context<'_>) -> Poll<Result<Option<RunEvent<J>>>>,
    work: impl AsyncFn(J),
    mut report: impl FnMut(Report<J>),
) -> Result<()> {
    let mut running = FuturesUnordered::new();
    loop {
        let event = poll_fn(|context| {
            while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
            next(context)
        })
        .await?;
        match event {
            Some(RunEvent::Job(job)) => running.push(work(job)),
            Some(RunEvent::Report(of)) => report(of),
            None => return Ok(()),
        }
    }
}
