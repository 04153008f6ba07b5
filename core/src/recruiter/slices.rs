//! The loop of a process that has nothing else to do: it waits until it may ask for a slice, and yields the slice.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::{Begun, Duty, Recruiter, Settings, Slice, Why};
use crate::client::{Blocking, Mode};
use crate::error::{Result, invalid};
use crate::runtime::sync::lock;
use crate::runtime::waiters::Handle;
use crate::worker::per_fork::generation;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, Watch, iterate};

/// How long to wait while another thread of the process asks or runs a slice.
const BUSY_INTERVAL: Duration = Duration::from_millis(20);

/// A loop over slices, which the caller runs and ends itself; [`Recruiter::run`] is built on it. The process does not
/// rest between two slices of the loop. A slice has to end before the next one is yielded.
///
/// Without [`wait`](Self::wait) the loop ends when no slice is available, as in the first seconds of a process. It also
/// ends when the recruiter is stopped. If the server is unreachable, a waiting loop keeps trying.
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Slices<M: Mode = Blocking>(PollLoop<Offers<M>>);

iterate! {
    /// The next slice, or `None` when the loop is over; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if no job has a rate per second; a non-retryable error, such as `WRONG_TYPE`.
    Slices yields Slice, Slice<crate::client::Async>
}

impl<M: Mode> Slices<M> {
    pub(super) fn new(recruiter: Recruiter<M>) -> Self {
        let watch: Weak<dyn Watch> = Arc::downgrade(&recruiter.settings) as _;
        let mut slices = PollLoop::new(Offers { recruiter, yields_errors: false });
        slices.watch(watch);
        Self(slices)
    }

    /// Waits up to `idle` for a slice, instead of ending immediately; the time starts again with each slice.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.0.wait(Some(idle));
        self
    }

    /// Also yields the errors after which the loop continues, instead of reporting them: for hosts, which have their
    /// own hooks.
    #[doc(hidden)]
    #[must_use]
    pub fn yield_errors(mut self) -> Self {
        self.0.source.yields_errors = true;
        self
    }

    /// Stops waiting until the next slice is asked for.
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
    }
}

struct Offers<M: Mode> {
    recruiter: Recruiter<M>,
    yields_errors: bool,
}

impl<M: Mode> Source for Offers<M> {
    type Mode = M;
    type Output = Begun<M>;
    type Item = Slice<M>;

    fn ask(&mut self, _: Instant, _: bool) -> M::Reply<Begun<M>> {
        if let Err(closed) = self.recruiter.client.check_open() {
            return self.recruiter.immediately(Err(closed));
        }
        match self.recruiter.installed.load().lottery.has_paced() {
            true => self.recruiter.begin_as(None, false),
            false => {
                let error = invalid("a loop over slices needs a job per second");
                self.recruiter.immediately(Err(error))
            }
        }
    }

    fn handle(
        &mut self,
        begun: Result<Begun<M>>,
        waiting: &mut Waiting,
    ) -> Result<Found<Slice<M>>> {
        let error = match begun? {
            Begun::Slice(slice) => return Ok(Found::Item(slice)),
            Begun::Dismissed(Duty { why: Why::Stopped, .. }, _) => return Ok(Found::Over),
            Begun::Dismissed(_, error) => error,
        };
        if let Some(error) = error {
            if self.yields_errors || error.is_final() {
                return Err(error);
            }
            self.recruiter.report(None, &error);
        }
        let recruiter = &self.recruiter;
        waiting.listen(|| recruiter.client.sleeper())?;
        let due = recruiter.shared().pacer.due_in(recruiter.client.local_time());
        Ok(Found::Idle(Some(due.unwrap_or(BUSY_INTERVAL))))
    }
}

impl Watch for Settings {
    fn may_take(&self) -> bool {
        !self.is_stopped()
    }

    fn may_sleep(&self, sleeper: Handle) -> bool {
        let mut sleepers = lock(&self.sleepers);
        // The sleepers of a fork's parent must not be touched.
        if sleepers.0 != generation() {
            *sleepers = (generation(), Vec::new());
        }
        sleepers.1.retain(|other| other.is_there() && !other.is(&sleeper));
        sleepers.1.push(sleeper);
        // From here on, a stop finds this sleeper.
        !self.is_stopped()
    }
}
