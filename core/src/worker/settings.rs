//! The settings that the workers of all queues share, and the time limit of a handler.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::failure::Failure;
use super::machine::Plan;
use super::report::{Report, log};
use super::stop::Stop;
use crate::error::{Result, invalid};
use crate::runtime::timer::Timer;

/// The settings of a worker whose jobs are `J`.
pub(crate) struct Settings<J> {
    pub(crate) concurrency: usize,
    pub(crate) prefetch: usize,
    /// How long a drain takes jobs.
    pub(crate) budget: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) tell_all: bool,
    pub(crate) on_report: Option<Arc<Hook<J>>>,
    pub(crate) stop: Arc<Stop>,
}

type Hook<J> = dyn Fn(&Report<J>) + Send + Sync;

impl<J> Default for Settings<J> {
    fn default() -> Self {
        let (concurrency, prefetch) = (1, 0);
        let (budget, timeout, tell_all, on_report) = (None, None, false, None);
        Self { concurrency, prefetch, budget, timeout, tell_all, on_report, stop: Arc::default() }
    }
}

impl<J> Clone for Settings<J> {
    fn clone(&self) -> Self {
        Self { on_report: self.on_report.clone(), stop: self.stop.clone(), ..*self }
    }
}

impl<J> Settings<J> {
    pub(crate) fn plan(&self, lease: Duration, drains: bool) -> Plan {
        let Self { concurrency, prefetch, tell_all, timeout, .. } = *self;
        let budget = self.budget.filter(|_| drains);
        let until = budget.and_then(|budget| Instant::now().checked_add(budget));
        let tells_all = tell_all || drains;
        Plan { concurrency, prefetch, lease, drains, until, tells_all, timeout }
    }

    pub(crate) fn report(&self, report: &Report<J>) {
        match &self.on_report {
            Some(hook) => hook(report),
            None => log(format_args!("{}", report.message)),
        }
    }

    /// Passes a report of a drain to the hook; it is not printed.
    pub(crate) fn tell(&self, report: &Report<J>) {
        if let Some(hook) = &self.on_report {
            hook(report);
        }
    }
}

/// Refuses a worker that could never begin a job.
pub(crate) fn check_concurrency(jobs: usize) -> Result<()> {
    match jobs {
        0 => Err(invalid("concurrency is 0; a worker has to work on 1 or more jobs at a time")),
        _ => Ok(()),
    }
}

/// The number of expired leases from which a job is a suspect, given the number after which it is put aside: two, or
/// one if the next expiry would be the last. One is not enough otherwise, as one kill of a whole fleet would make the
/// fleet work on one job at a time.
pub(crate) fn suspects_from(max_crashes: u32) -> u32 {
    if matches!(max_crashes, 1 | 2) { 1 } else { 2 }
}

/// How long a handler may run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit(Option<(Instant, Duration)>);

impl TimeLimit {
    /// A limit that begins now.
    pub(crate) fn begin(timeout: Option<Duration>) -> Self {
        let end = |timeout| Instant::now().checked_add(timeout).map(|end| (end, timeout));
        Self(timeout.and_then(end))
    }

    pub(crate) fn left(self) -> Option<Duration> {
        self.0.map(|(end, _)| end.saturating_duration_since(Instant::now()))
    }

    /// The output of a handler's future, or how its job ends if it took too long or was lost first, in which case the
    /// future is dropped.
    pub(crate) async fn within<T>(
        self,
        handler: impl Future<Output = T>,
        on_lost: impl FnOnce(Box<dyn FnOnce() + Send>),
    ) -> Result<T, Failure> {
        let (lost, is_lost) = oneshot::channel();
        on_lost(Box::new(move || _ = lost.send(())));
        let (late, is_late) = oneshot::channel();
        let _alarm = self.0.map(|(end, _)| Timer::at(end, move || _ = late.send(())));
        let (mut is_lost, mut is_late) = (Some(is_lost), Some(is_late));
        let mut handler = std::pin::pin!(handler);
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = handler.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            if is_sent(&mut is_late, context) {
                let (_, timeout) = self.0.unwrap_or((Instant::now(), Duration::ZERO));
                return Poll::Ready(Err(too_late(timeout)));
            }
            match is_sent(&mut is_lost, context) {
                // The loss is reported elsewhere; perhaps no other worker has the job yet.
                true => Poll::Ready(Err(Failure::ReleaseAfter(Duration::ZERO))),
                false => Poll::Pending,
            }
        })
        .await
    }
}

/// The end of a job whose handler took longer than this.
pub(crate) fn too_late(timeout: Duration) -> Failure {
    Failure::Error(format!("timeout: it took longer than {timeout:?}"))
}

/// Whether the signal was sent; it never is once the sender is dropped.
fn is_sent(receiver: &mut Option<oneshot::Receiver<()>>, context: &mut Context<'_>) -> bool {
    let sent = receiver.as_mut().map(|receiver| Pin::new(receiver).poll(context));
    if let Some(Poll::Ready(_)) = sent {
        *receiver = None;
    }
    matches!(sent, Some(Poll::Ready(Ok(()))))
}
