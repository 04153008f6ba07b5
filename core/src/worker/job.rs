//! A job: what a handler works on, kept until it ends.

#![allow(
    private_bounds,
    private_interfaces,
    reason = "queues are those of this crate: what they give is not public"
)]

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::driver::Place;
use super::failure::Failure;
use super::queue::Queue;
use super::settings::TimeLimit;
use crate::client::Async;
use crate::error::Result;

/// What a handler works on; made by a [`Run`](super::run::Run), which ends it.
///
/// A native thread renews its lease three times per lease, so a busy handler keeps it. A job belongs to its process: in
/// the child of a fork, [`Run::end`](super::run::Run::end) fails with `FORKED`.
pub struct Job<Q: Queue> {
    pub(crate) core: Arc<Q::Core>,
    /// Its place in a run.
    pub(crate) place: Option<Place<Q>>,
    limit: TimeLimit,
}

impl<Q: Queue> Job<Q> {
    pub(crate) fn new(
        core: Arc<Q::Core>,
        place: Option<Place<Q>>,
        timeout: Option<Duration>,
    ) -> Self {
        Self { core, place, limit: TimeLimit::begin(timeout) }
    }

    /// Whether the lease is lost, because another consumer has the job, because no renewal has succeeded for a whole
    /// lease, or because the job has ended after its `timeout`. If so, stop working: ending the job has no effect.
    pub fn is_lost(&self) -> bool {
        self.place.as_ref().is_some_and(Place::is_overdue) || Q::lease(&self.core).is_lost()
    }

    /// How long the handler may still run, by the worker's `timeout`; `None` if there is no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.limit.left()
    }

    /// Calls `then` when the lease is lost or a renewal has found that the job was cancelled, to tell the work to stop;
    /// immediately if that has already happened. If the job has ended, or is dropped, before that, `then` is dropped
    /// and not called. It is called on a thread that renewals wait for, so it should only signal and return. In the
    /// child of a fork it is never called.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// store.insert("inbox", "7")?;
    /// let job = store.worker(["inbox"]).jobs().next().expect("there is a task")?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let lost = stop.clone();
    /// job.on_lost(move || lost.store(true, Ordering::Release));
    /// job.done()?;
    /// assert!(!stop.load(Ordering::Acquire));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    pub fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        Q::lease(&self.core).on_lost(then);
    }

    /// Refuses the child of a fork: the parent has the job and renews it.
    pub(crate) fn check_process(&self) -> Result<()> {
        let advice = "a job belongs to the process that took it; take one in the child";
        Q::lease(&self.core).check_process(advice)
    }
}

impl<Q: Queue<Mode = Async>> Job<Q> {
    /// The output of the handler's future; or, if it takes too long or the job is lost first, how the job ends. The
    /// future is dropped then.
    pub(super) async fn within<T>(
        &self,
        handler: impl Future<Output = T>,
    ) -> std::result::Result<T, Failure> {
        self.limit.within(handler, |lost| self.on_lost(lost)).await
    }
}

impl<Q: Queue> fmt::Debug for Job<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Job").field(&Q::name(&self.core)).finish()
    }
}
