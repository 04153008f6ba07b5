//! The run of a worker: its events, and their outcomes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::config::LEASE_DEFAULT;
use super::deliveries::{Received, Receives};
use super::job::{HeldEvent, JobCore};
use super::limits::STEP_EVENTS_MAX;
use super::partition::Partition;
use super::queue::taken_over;
use super::worker::Options;
use super::{End, Event, EventQueue, Held, Receipt, Renew, Settle, Settled, Settlement};
use crate::client::{Async, Mode};
use crate::error::{Result, Retry, invalid};
use crate::step::limits::RELEASE_DELAY;
use crate::worker::end::{self as worker, Failed};
use crate::worker::lease::Lease;
use crate::worker::machine::{Batch, Ended, Plan, Sending};
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting};
use crate::worker::queue::{Queue, Room, Sent, Workable};
use crate::worker::report::ReportKind;

/// The delay of an event that a handler releases, by default, less a random part of up to half.
pub const RELEASE_DELAY_DEFAULT: Duration = RELEASE_DELAY;

/// The events of a queue, as a run sees them.
#[derive(Clone)]
#[doc(hidden)]
pub struct Events<M: Mode> {
    pub(super) queue: EventQueue<M>,
}

impl<M: Mode> Workable for Events<M> {
    type Done = ();
}

impl<M: Mode> Queue for Events<M> {
    type Mode = M;
    type Options = Options;
    type Source = Takes<M>;
    type Core = JobCore<M>;
    type Kept = HeldEvent;
    type Step = End;
    type Settled = Settled;
    const ENDS_MAX: usize = STEP_EVENTS_MAX;

    fn lease_length(options: &Options) -> Duration {
        // By default it is the lease of the queue, which is not known here.
        options.lease.unwrap_or(LEASE_DEFAULT)
    }

    fn takes(&self, options: &Options, plan: &Plan) -> PollLoop<Takes<M>> {
        let mut receives = Receives::new(self.queue.clone());
        (receives.begins, receives.lease) = (true, options.lease);
        receives.key_range.clone_from(&options.key_range);
        let drains_until = plan.drains.then_some(plan.until);
        let mut takes = PollLoop::new(Takes { receives, drains_until });
        takes.wait((!plan.drains).then_some(Duration::MAX));
        takes
    }

    fn name(job: &JobCore<M>) -> String {
        let Event { id, attempts, .. } = &job.event;
        format!("event {id} (attempt {attempts})")
    }

    fn lease(job: &JobCore<M>) -> &Arc<Lease<M, HeldEvent>> {
        &job.lease
    }

    fn is_suspect(job: &JobCore<M>) -> bool {
        job.event.is_unbegun
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
        // It continues without being awaited.
        drop(Async::call(async move {
            let make =
                |partition, _, held| Ok(Renew::new(partition, held, Some(length))?.begins(true));
            let held = match calls {
                Ok(calls) => calls.spread(held, 0, make, |renewed| renewed.held).await,
                Err(error) => Err(error),
            };
            then(held.and_then(|held| match held.contains(&Held::Lost) {
                true => Err(taken_over()),
                false => Ok(()),
            }));
            Ok(())
        }));
    }

    fn ending(job: Arc<JobCore<M>>, _: HeldEvent, end: worker::End<()>) -> Ending<M> {
        let told = end.told();
        let step = match end {
            worker::End::Done(()) => End::Done,
            worker::End::Failed(Failed { err, delay, .. }) => End::Failed(err, delay),
            worker::End::Dead(err) => End::Dead(err),
            worker::End::Released(delay) => End::Released(Some(delay)),
            worker::End::GivenBack => End::Released(None),
            worker::End::Moved(queue, _) => {
                let what = format!("an event cannot be moved to {queue}: publish it there");
                let refused = Some(invalid(what));
                let err = refused.as_ref().map(ToString::to_string).unwrap_or_default();
                let told = (ReportKind::Refused, err.clone());
                return Ending { refused, ..Ending::new(job, End::Failed(err, None), told) };
            }
        };
        Ending::new(job, step, told)
    }

    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<Ending<M>>>,
        done: impl FnOnce(Vec<Sent<Self>>) + Send + 'static,
    ) {
        let settlement = |Sending { end, .. }: &Sending<Ending<M>>| Settlement {
            receipt: (&end.job.event).into(),
            end: end.step.clone(),
        };
        let settlements = ends.iter().map(settlement).collect();
        let calls = Calls::new(&self.queue.to_async());
        // It continues without being awaited.
        drop(Async::call(async move {
            let settled = match calls {
                Ok(calls) => calls.settle(settlements).await,
                Err(error) => Err(error),
            };
            done(match settled {
                Ok(settled) => ends.into_iter().zip(settled.into_iter().map(Ok)).collect(),
                Err(error) => ends.into_iter().map(|end| (end, Err(error.copy()))).collect(),
            });
            Ok(())
        }));
    }

    fn ended(
        self: &Arc<Self>,
        mut ending: Ending<M>,
        result: Result<Settled>,
        _: bool,
    ) -> Ended<Self> {
        match result {
            Ok(Settled::Lost) => return ending.lost(taken_over()),
            Ok(Settled::Cancelled) => {
                (ending.kind, ending.text) = (ReportKind::Cancelled, String::new());
            }
            // The handler ended the event itself, and then failed.
            Ok(Settled::Gone) if ending.kind != ReportKind::Done => {
                (ending.kind, ending.text) =
                    (ReportKind::Lost, "the event had ended already".into());
            }
            Ok(Settled::Died) => {
                (ending.kind, ending.text) =
                    (ReportKind::Dead, format!("exhausted: {}", ending.text));
            }
            Ok(_) => {}
            Err(error) if error.retry() == Retry::Never || ending.job.lease.is_gone() => {
                return ending.lost(error);
            }
            Err(error) => return Ended::Again(ending, error),
        }
        ending.done()
    }
}

/// The end of an event, ready to be sent.
type Ending<M> = worker::Ending<Events<M>>;

impl<M: Mode> Calls<M> {
    /// Ends deliveries.
    pub(super) async fn settle(&self, ends: Vec<Settlement>) -> Result<Vec<Settled>> {
        let make = |partition, _, ends| Settle::new(partition, ends, self.client.draw() as u32);
        self.spread(ends, 0, make, |settled| settled).await
    }
}

/// Receives of events for jobs.
pub(crate) struct Takes<M: Mode> {
    receives: Receives<M>,
    /// The deadline of a drain, if this is one: a drain waits only for the rate.
    drains_until: Option<Option<Instant>>,
}

impl<M: Mode> Takes<M> {
    /// The jobs of the events that were received by a step sent at this time, or later.
    fn jobs(&self, received: Received, asked_at: Instant) -> Batch<Arc<JobCore<M>>> {
        let Received { events, map, .. } = received;
        let queue = &self.receives.queue;
        let job = |event: Event| {
            let (name, vslot) = (queue.name().ok()?, event.id.vslot());
            let partition = match map.move_of(vslot) {
                // It may be in either partition: the first renewal is refused, and finds it.
                Some(moving) => Partition::new(&name, moving.to as u16, 0).ok()?,
                None => map.partition(&name, map.owner_of(vslot)).ok()?,
            };
            let length = self.receives.lease.unwrap_or(map.config.lease);
            let held = (length, asked_at);
            let is_last = map.config.is_used_up(event.attempts, event.crashes);
            let job = JobCore::new(queue, partition, event, held, is_last);
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
            // Other consumers may take the event for which this is woken, so it waits no longer than the rate does.
            true => Found::Idle(rate_in.filter(|_| self.drains_until.is_some())),
            false => Found::Item(self.jobs(received, asked_at)),
        })
    }
}
