//! The run of a worker: its events, and what becomes of them.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::job::JobCore;
use super::limits::STEP_EVENTS_MAX;
use super::partition::Partition;
use super::queue::taken_over;
use super::receives::{Received, Receives};
use super::{End, Event, EventQueue, Extend, Held, Job, Receipt, Settle, Settled, Settlement};
use crate::client::{Async, Mode};
use crate::error::{Error, Result, Retry, invalid};
use crate::runtime::backoff::with_jitter;
use crate::worker::failure::Failure;
use crate::worker::lease::Contact;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting};
use crate::worker::report::{Report, ReportKind};
use crate::worker::run::{self, Batch, Ended, Plan, Queue, Room, Sending, Work, runs};
use crate::worker::settings::too_late;
use crate::worker::stop::Stop;

/// How long an event that is given back untried is put off at most.
const RELEASE_DELAY: Duration = Duration::from_millis(100);

runs! {
    /// The jobs of a worker, for a loop of your own in place of [`Worker::run`](super::Worker::run); made by
    /// [`Worker::start`](super::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of
    /// threads or tasks, and reports what became of them.
    ///
    /// ```
    /// use millpond::Event;
    /// use millpond::events::NewEvent;
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// queue.publish(NewEvent::new("paid"))?;
    /// let worker = queue.worker().tell_all(true);
    /// let run = worker.start();
    /// while let Some(event) = run.next()? {
    ///     match event {
    ///         Event::Job(job) => run.end(&job, Ok(()))?,
    ///         Event::Report(report) => {
    ///             assert_eq!(report.kind.name(), "done");
    ///             worker.stop(std::time::Duration::ZERO);
    ///         }
    ///     }
    /// }
    /// # Ok::<(), millpond::Error>(())
    /// ```
    Run of Deliveries, Job
}

impl<M: Mode> Run<M> {
    pub(super) fn begin(takes: Takes<M>, plan: Plan, stop: &Stop) -> Self {
        let deliveries = Deliveries { queue: takes.receives.queue.clone() };
        let takes = Takes { drains_until: plan.drains.then_some(plan.until), ..takes };
        let mut takes = PollLoop::new(takes);
        takes.wait((!plan.drains).then_some(Duration::MAX));
        let run = run::Run::new(Arc::new(deliveries), takes, plan);
        stop.begin(&run);
        Self(run)
    }

    /// Ends a job of this run with the outcome of its handler, and returns immediately; the result is reported. Does
    /// nothing for a job that the run has given back.
    ///
    /// - `Ok(())`: the job is done, and its event is deleted.
    /// - `Err(failure)`: the job ends as the [`Failure`] says. An event that is tried again is delayed by the queue's
    ///   backoff; after its `max_attempts` it becomes a dead letter. An event that was
    ///   [cancelled](super::EventQueue::cancel) is deleted.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a job that is not from this run, and `FORKED` in the child of a fork.
    ///
    /// # Delivery
    /// If the connection fails, the end is sent again while the lease lasts.
    pub fn end(&self, job: &Job<M>, outcome: Result<(), Failure>) -> Result<()> {
        let (number, job) = (self.number_of(job)?, job.core.clone());
        self.0.end(number, |add| {
            let how = How::of(outcome, job.lease.draw());
            job.lease.clone().end(move |_| add(Ending { job, how, settled: None }));
        });
        Ok(())
    }
}

/// What the events of a queue are to a run.
pub(super) struct Deliveries<M: Mode> {
    queue: EventQueue<M>,
}

/// How a job is to end.
pub(super) struct Ending<M: Mode> {
    job: Arc<JobCore<M>>,
    how: How,
    /// What came of it.
    settled: Option<Settled>,
}

struct How {
    kind: ReportKind,
    end: End,
    /// Why the job cannot end as its handler said.
    refused: Option<Error>,
}

impl How {
    fn of(outcome: Result<(), Failure>, draw: u64) -> Self {
        let (kind, end) = match outcome {
            Ok(()) => (ReportKind::Done, End::Done),
            Err(Failure::Error(err) | Failure::Retry(err)) => {
                (ReportKind::Retried, End::Failed(err, None))
            }
            Err(Failure::RetryAfter(err, delay)) => {
                (ReportKind::Retried, End::Failed(err, Some(delay)))
            }
            Err(Failure::Reject(err)) => (ReportKind::Dead, End::Dead(err)),
            Err(Failure::Release) => {
                (ReportKind::Released, End::Released(Some(with_jitter(RELEASE_DELAY, draw))))
            }
            Err(Failure::ReleaseAfter(delay)) => (ReportKind::Released, End::Released(Some(delay))),
            Err(Failure::Move(queue, _)) => {
                let error =
                    invalid(format!("an event cannot be moved to {queue}: publish it there"));
                let end = End::Failed(error.to_string(), None);
                return Self { kind: ReportKind::Refused, end, refused: Some(error) };
            }
        };
        Self { kind, end, refused: None }
    }

    /// What is told of it, which ended so.
    fn told(&self, settled: Settled) -> (ReportKind, String) {
        let (_, _, err) = self.end.parts();
        match (settled, self.kind) {
            (Settled::Cancelled, _) => (ReportKind::Cancelled, String::new()),
            // Its handler ended the event by itself, and then failed.
            (Settled::Gone, kind) if kind != ReportKind::Done => {
                (ReportKind::Lost, "the event had ended already".to_owned())
            }
            (Settled::Died, _) => (ReportKind::Dead, format!("exhausted: {err}")),
            (_, ReportKind::Dead) => (ReportKind::Dead, format!("rejected: {err}")),
            (_, kind) => (kind, err.to_owned()),
        }
    }
}

impl<M: Mode> Work for Deliveries<M> {
    type Job = Arc<JobCore<M>>;
    type End = Ending<M>;
    const ENDS_MAX: usize = STEP_EVENTS_MAX;

    fn is_suspect(job: &Arc<JobCore<M>>) -> bool {
        job.event.is_unbegun
    }

    fn unsent(end: Ending<M>) -> Report<Arc<JobCore<M>>> {
        report(ReportKind::Lost, end.job, run::UNSENT, None)
    }

    fn late(job: Arc<JobCore<M>>) -> Report<Arc<JobCore<M>>> {
        report(ReportKind::Lost, job, run::LATE, None)
    }
}

impl<M: Mode> Queue for Deliveries<M> {
    type Source = Takes<M>;

    fn send(
        self: &Arc<Self>,
        mut ends: Vec<Sending<Ending<M>>>,
        done: impl FnOnce(Vec<(Sending<Ending<M>>, Result<()>)>) + Send + 'static,
    ) {
        let settlements = ends.iter().map(|sending| sending.end.settlement()).collect();
        let calls = Calls::new(&self.queue.to_async());
        // It goes on although nobody waits for it.
        drop(Async::call(async move {
            let settled = match calls {
                Ok(calls) => calls.settle(settlements).await,
                Err(error) => Err(error),
            };
            let results: Vec<_> = match settled {
                Ok(settled) => ends
                    .into_iter()
                    .zip(settled)
                    .map(|(mut sending, settled)| {
                        sending.end.settled = Some(settled);
                        let is_lost = settled == Settled::Lost;
                        (sending, if is_lost { Err(taken_over()) } else { Ok(()) })
                    })
                    .collect(),
                Err(error) => ends.drain(..).map(|sending| (sending, Err(error.copy()))).collect(),
            };
            done(results);
            Ok(())
        }));
    }

    fn ended(self: &Arc<Self>, end: Ending<M>, result: Result<()>, _: bool) -> Ended<Self> {
        let Ending { job, how, settled } = end;
        match result {
            Ok(()) => {
                let (kind, text) = how.told(settled.unwrap_or(Settled::Ended));
                Ended::Done(report(kind, job, &text, how.refused))
            }
            Err(error) if error.retry() == Retry::Never || job.lease.is_gone() => {
                Ended::Done(report(ReportKind::Lost, job, &error.to_string(), Some(error)))
            }
            Err(error) => Ended::Again(Ending { job, how, settled: None }, error),
        }
    }

    fn begin(
        self: &Arc<Self>,
        job: &Arc<JobCore<M>>,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if job.lease.is_lost() {
            return then(Err(taken_over()));
        }
        let (held, length) = (vec![Receipt::from(&job.event)], job.lease.length());
        let calls = Calls::new(&self.queue.to_async());
        // It goes on although nobody waits for it.
        drop(Async::call(async move {
            let make =
                |partition, _, held| Ok(Extend::new(partition, held, Some(length))?.begins(true));
            let held = match calls {
                Ok(calls) => calls.spread(held, 0, make, |extended| extended.held).await,
                Err(error) => Err(error),
            };
            then(held.and_then(|held| match held.contains(&Held::Lost) {
                true => Err(taken_over()),
                false => Ok(()),
            }));
            Ok(())
        }));
    }

    fn timeout(job: &Arc<JobCore<M>>) -> Option<Duration> {
        job.timeout
    }

    fn time_out(
        self: &Arc<Self>,
        job: Arc<JobCore<M>>,
        then: impl FnOnce(Ending<M>) + Send + 'static,
    ) {
        job.lease.revoke();
        let how = How::of(Err(too_late(job.timeout.unwrap_or_default())), job.lease.draw());
        job.lease.clone().end(move |_| then(Ending { job, how, settled: None }));
    }

    fn watch_renewals(job: &Arc<JobCore<M>>, contact: Weak<dyn Contact>) {
        job.lease.watch_renewals(contact);
    }

    fn give_back(
        self: &Arc<Self>,
        job: Arc<JobCore<M>>,
        then: impl FnOnce(Ending<M>) + Send + 'static,
    ) {
        job.lease.revoke();
        let how = How { kind: ReportKind::Released, end: End::Released(None), refused: None };
        job.lease.clone().end(move |_| then(Ending { job, how, settled: None }));
    }
}

impl<M: Mode> Ending<M> {
    fn settlement(&self) -> Settlement {
        Settlement { receipt: (&self.job.event).into(), end: self.how.end.clone() }
    }
}

impl<M: Mode> Calls<M> {
    /// Ends deliveries.
    pub(super) async fn settle(&self, ends: Vec<Settlement>) -> Result<Vec<Settled>> {
        let make = |partition, _, ends| Settle::new(partition, ends, self.client.draw() as u32);
        self.spread(ends, 0, make, |settled| settled).await
    }
}

/// What is told of a job.
fn report<M: Mode>(
    kind: ReportKind,
    job: Arc<JobCore<M>>,
    text: &str,
    error: Option<Error>,
) -> Report<Arc<JobCore<M>>> {
    let Event { id, attempts, .. } = &job.event;
    Report::of_job(kind, job.clone(), format_args!("event {id} (attempt {attempts})"), text, error)
}

/// Receives of events for jobs.
pub(super) struct Takes<M: Mode> {
    receives: Receives<M>,
    timeout: Option<Duration>,
    /// Until when a drain takes jobs, if this is one: it waits for the rate alone.
    drains_until: Option<Option<Instant>>,
}

impl<M: Mode> Takes<M> {
    pub(super) fn new(mut receives: Receives<M>, timeout: Option<Duration>) -> Self {
        receives.begins = true;
        Self { receives, timeout, drains_until: None }
    }

    /// The jobs of what was received by a step that was sent at this time, or later.
    fn jobs(&self, received: Received, asked_at: Instant) -> Batch<Arc<JobCore<M>>> {
        let Received { events, map, .. } = received;
        let queue = &self.receives.queue;
        let job = |event: Event| {
            let (name, vslot) = (queue.name().ok()?, event.id.vslot());
            let partition = match map.move_of(vslot) {
                // It is in either: the first extension is refused, and looks where it is.
                Some(moving) => Partition::new(&name, moving.to as u16, 0).ok()?,
                None => map.partition(&name, map.owner_of(vslot)).ok()?,
            };
            let length = self.receives.lease.unwrap_or(map.config.lease);
            let held = (length, asked_at);
            let is_last = map.config.is_used_up(event.attempts, event.crashes);
            let job = JobCore::new(queue, partition, event, held, self.timeout, is_last);
            Some(Arc::new(job))
        };
        Batch { jobs: events.into_iter().filter_map(job).collect(), reports: Vec::new() }
    }
}

impl<M: Mode> Room for Takes<M> {
    fn set_room(&mut self, room: usize) {
        self.receives.set_max(room);
    }
}

impl<M: Mode> Source for Takes<M> {
    type Mode = M;
    type Output = (Received, Instant);
    type Item = Batch<Arc<JobCore<M>>>;

    fn ask(&mut self, now: Instant, _: bool) -> M::Reply<(Received, Instant)> {
        self.receives.ask(move |received| (received, now))
    }

    fn handle(
        &mut self,
        result: Result<(Received, Instant)>,
        waiting: &mut Waiting,
    ) -> Result<Found<Self::Item>> {
        let (received, asked_at) = result?;
        let rate_in = received.rate_in.map(Duration::from_micros);
        if let Some(until) = self.drains_until
            && !(rate_in.is_some() && waiting.is_listening())
        {
            let left = |until: Instant| until.saturating_duration_since(asked_at);
            waiting.reset(rate_in.map(|_| until.map_or(Duration::MAX, left)));
        }
        self.receives.announce(&received, waiting)?;
        Ok(match received.events.is_empty() {
            true if received.is_unfinished() => Found::Nothing,
            // Others may take what this is woken for, and it must not wait for longer than the rate does.
            true => Found::Idle(rate_in.filter(|_| self.drains_until.is_some())),
            false => Found::Item(self.jobs(received, asked_at)),
        })
    }
}
