//! The run of a worker: its messages, and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::job::{HeldMessage, Holder, JobCore};
use super::worker::Policy;
use super::{
    ACK_MESSAGES_MAX, Batch, Message, READ_MESSAGES_MAX, REASON_BYTES_MAX, Read, Receipt,
    Reclaimed, RemoveIdleConsumers, ShuffleConsumer,
};
use crate::client::Mode;
use crate::error::{Error, ErrorKind, Result, Retry, invalid};
use crate::runtime::backoff::{Backoff, with_jitter};
use crate::step::Operation;
use crate::worker::due::Due;
use crate::worker::end::{self as worker, End, Failed};
use crate::worker::groups::Groups;
use crate::worker::lease::{Lease, check_length};
use crate::worker::machine::{self, Ended, Plan, Sending};
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting};
use crate::worker::queue::{Queue, Room, Sent, Workable};
use crate::worker::report::{Report, ReportKind};

/// How often consumers are removed that are gone for good.
const CLEANING: Duration = Duration::from_secs(600);

/// What the messages of a shuffle queue are to a run.
#[derive(Clone)]
#[doc(hidden)]
pub struct Messages<M: Mode> {
    pub(super) consumer: ShuffleConsumer<M>,
}

/// The end of a message, ready to be sent.
type Ending<M> = worker::Ending<Messages<M>>;

/// What the step of an end does.
pub(crate) enum Act {
    Ack,
    /// Puts the message aside, for this reason.
    Reject(String),
    /// Delivers it again after this time.
    Release {
        delay: Duration,
        is_counted: bool,
    },
    /// Delivers it again immediately, uncounted.
    GiveBack,
}

impl<M: Mode> JobCore<M> {
    /// Whether a failure is the last.
    pub(super) fn is_last(&self) -> bool {
        let most = self.consumer.most_deliveries();
        most != 0 && self.message.deliveries >= most
    }

    /// What becomes of a message whose handler failed.
    fn retry(&self, err: &str, delay: Option<Duration>) -> (ReportKind, String, Act) {
        if self.is_last() {
            let reason = format!("exhausted: {err}");
            return (ReportKind::Dead, reason.clone(), Act::Reject(reason));
        }
        let delay = delay.unwrap_or_else(|| self.delay(self.lease.draw())).min(self.policy.lease);
        (ReportKind::Retried, err.to_owned(), Act::Release { delay, is_counted: true })
    }

    /// How long to put the message off, which was delivered so often.
    fn delay(&self, draw: u64) -> Duration {
        let (Backoff { first, most }, lease) = (self.policy.backoff, self.policy.lease);
        let backoff = Backoff { first: first.min(lease), most: most.max(first).min(lease) };
        let before = self.message.deliveries.saturating_sub(1);
        backoff.delay(before.try_into().unwrap_or(u32::MAX), draw)
    }
}

impl<M: Mode> Workable for Messages<M> {
    type Done = ();
}

impl<M: Mode> Queue for Messages<M> {
    type Mode = M;
    type Options = Policy;
    type Source = Takes<M>;
    type Core = JobCore<M>;
    type Kept = HeldMessage;
    type Step = Act;
    type Settled = ();
    const ENDS_MAX: usize = ACK_MESSAGES_MAX;

    fn lease_length(policy: &Policy) -> Duration {
        policy.lease
    }

    fn takes(&self, policy: &Policy, plan: &Plan) -> PollLoop<Takes<M>> {
        let mut takes = PollLoop::new(Takes::new(self.consumer.clone(), policy.clone()));
        takes.wait((!plan.drains).then_some(Duration::MAX));
        takes
    }

    fn name(job: &JobCore<M>) -> String {
        format!("message {}", job.message.id)
    }

    fn lease(job: &JobCore<M>) -> &Arc<Lease<M, HeldMessage>> {
        &job.lease
    }

    fn is_suspect(job: &JobCore<M>) -> bool {
        job.is_suspect
    }

    fn begin(
        self: &Arc<Self>,
        job: &Arc<JobCore<M>>,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if job.lease.is_lost() {
            return then(Err(taken_over()));
        }
        let step = job.begin_step();
        let job = job.clone();
        self.consumer.client().submit(step, move |count| {
            let begun = count.and_then(|count| held(count == 1));
            job.is_counted.store(begun.is_ok(), Ordering::Release);
            then(begun);
        });
    }

    fn ending(job: Arc<JobCore<M>>, _: HeldMessage, end: End<()>) -> Ending<M> {
        let (mut told, mut refused) = (end.told(), None);
        let release = |delay: Duration| Act::Release {
            delay: delay.min(job.policy.lease),
            is_counted: false,
        };
        let step = match end {
            End::Done(()) => Act::Ack,
            End::Failed(Failed { err, delay, .. }) => {
                let (kind, text, step) = job.retry(&err, delay);
                told = (kind, text);
                step
            }
            End::Dead(_) => Act::Reject(told.1.clone()),
            End::Released(delay) => release(delay),
            End::GivenBack => Act::GiveBack,
            End::Moved(queue, _) => {
                let what = "a message of a shuffle queue cannot be moved to";
                let error = invalid(format!("{what} {queue}: write it there"));
                let (kind, text, step) = job.retry(&error.to_string(), None);
                let is_last = kind == ReportKind::Dead;
                told = (if is_last { kind } else { ReportKind::Refused }, text);
                refused = (!is_last).then_some(error);
                step
            }
        };
        Ending { refused, ..Ending::new(job, step, told) }
    }

    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<Ending<M>>>,
        done: impl FnOnce(Vec<Sent<Self>>) + Send + 'static,
    ) {
        // Somebody else has what was lost, and an acknowledgement would end it under his hands.
        let (lost, held): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|sending| is_lost(&sending.end));
        let (acks, others): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|sending| matches!(sending.end.step, Act::Ack));
        let lost = lost.into_iter().map(|sending| (sending, Err(taken_over()))).collect();
        let all = Groups::new(lost, others.len() + usize::from(!acks.is_empty()), done);
        for sending in others {
            self.send_one(sending, all.clone());
        }
        if !acks.is_empty() {
            self.send_acks(acks, all);
        }
    }

    fn ended(
        self: &Arc<Self>,
        ending: Ending<M>,
        result: Result<()>,
        is_unsure: bool,
    ) -> Ended<Self> {
        let is_gone = ending.job.lease.is_gone();
        match result {
            Ok(()) => {
                if let Act::Release { delay, .. } = ending.step {
                    ending.job.reclaims.bring_forward(self.consumer.client().time(), delay);
                    self.consumer.wake_after(delay);
                }
                ending.done()
            }
            // It was this end, whose result was lost.
            Err(error) if is_unsure && error.kind() == ErrorKind::LeaseLost && !is_gone => {
                ending.done()
            }
            Err(error) if error.retry() == Retry::Never || is_gone => ending.lost(error),
            Err(error) => Ended::Again(ending, error),
        }
    }

    /// Removes the consumer if it holds nothing, so that the server does not keep the names of programs that are
    /// gone. If this fails, other workers of the group do it in time.
    fn depart(&self, done: impl FnOnce() + Send + 'static) {
        let step = self.consumer.leave_step();
        self.consumer.client().submit(step, move |_| done());
    }
}

impl<M: Mode> Messages<M> {
    /// Sends acknowledgements in one step.
    fn send_acks(&self, acks: Vec<Sending<Ending<M>>>, all: Arc<Groups<Sending<Ending<M>>>>) {
        let receipts = acks.iter().map(|ack| receipt(&ack.end)).collect();
        let step = self.consumer.ack_each_step(receipts, acks[0].end.job.policy.delete);
        self.consumer.client().submit(step, move |acked| match acked {
            Ok(acked) => all.add_each(acks.into_iter().zip(acked.into_iter().map(held))),
            Err(error) => all.add(acks, Err(error)),
        });
    }

    /// Sends another end.
    fn send_one(&self, sending: Sending<Ending<M>>, all: Arc<Groups<Sending<Ending<M>>>>) {
        let Ending { job, step, .. } = &sending.end;
        let (receipts, lease) = (vec![receipt(&sending.end)], job.policy.lease);
        let (delay, is_counted) = match step {
            Act::Ack => return self.send_acks(vec![sending], all),
            Act::Reject(reason) => {
                let step = self.consumer.reject_step(receipts, shortened(reason));
                return self.submit(step, sending, all);
            }
            Act::Release { delay, is_counted } => (*delay, *is_counted),
            // One that has not begun is not counted yet.
            Act::GiveBack => (Duration::ZERO, !job.is_counted.load(Ordering::Acquire)),
        };
        let step = self.consumer.release_step(receipts, (lease, delay));
        self.submit(step.map(|step| step.counted(is_counted)), sending, all);
    }

    fn submit<O: Operation<Output = u64>>(
        &self,
        step: Result<O>,
        sending: Sending<Ending<M>>,
        all: Arc<Groups<Sending<Ending<M>>>>,
    ) {
        self.consumer.client().submit(step, move |count| {
            all.add_each([(sending, count.and_then(|count| held(count == 1)))]);
        });
    }
}

/// The result of an end of a message that was this consumer's or not.
fn held(is_held: bool) -> Result<()> {
    if is_held { Ok(()) } else { Err(taken_over()) }
}

fn receipt<M: Mode>(ending: &Ending<M>) -> Receipt {
    (&ending.job.message).into()
}

fn is_lost<M: Mode>(ending: &Ending<M>) -> bool {
    ending.job.lease.is_gone() && !matches!(ending.step, Act::GiveBack)
}

fn taken_over() -> Error {
    Error::new(ErrorKind::LeaseLost, "another consumer has the message, or it is gone")
}

/// As much of a reason as a dead letter has room for.
fn shortened(reason: &str) -> &str {
    let most = REASON_BYTES_MAX.min(reason.len());
    let end = (0..=most).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or_default()]
}

/// Reads and reclaims of messages for jobs.
pub(crate) struct Takes<M: Mode> {
    consumer: ShuffleConsumer<M>,
    policy: Arc<Policy>,
    holder: Option<Arc<Holder>>,
    room: usize,
    reclaims: Arc<Due>,
    cleaning: Due,
}

/// What a step did.
pub(crate) enum Taken {
    /// With when the step was sent: what it returns is held since then, or later.
    Read(Batch, Instant),
    Reclaimed(Reclaimed, Instant),
    Cleaned,
}

impl<M: Mode> Takes<M> {
    pub(super) fn new(consumer: ShuffleConsumer<M>, policy: Policy) -> Self {
        let (holder, policy) = (None, Arc::new(policy));
        let (reclaims, cleaning) = Default::default();
        Self { consumer, policy, holder, room: 1, reclaims, cleaning }
    }

    fn batch(
        &mut self,
        messages: Vec<Message>,
        taken_at: Instant,
        is_suspect: bool,
    ) -> Result<machine::Batch<Arc<JobCore<M>>>> {
        let holder = match &self.holder {
            Some(holder) => holder,
            None => self.holder.insert(Arc::new(self.consumer.holder()?)),
        };
        let job = |message| {
            let (consumer, policy) = (self.consumer.clone(), self.policy.clone());
            let reclaims = self.reclaims.clone();
            Arc::new(JobCore::new(
                consumer,
                holder,
                message,
                policy,
                reclaims,
                (taken_at, is_suspect),
            ))
        };
        Ok(machine::Batch { jobs: messages.into_iter().map(job).collect(), reports: Vec::new() })
    }
}

impl<M: Mode> Room for Takes<M> {
    fn set_room(&mut self, room: usize) {
        self.room = room.min(READ_MESSAGES_MAX);
    }
}

impl<M: Mode> Source for Takes<M> {
    type Mode = M;
    type Output = Taken;
    type Item = machine::Batch<Arc<JobCore<M>>>;

    fn ask(&mut self, now: Instant, _: bool) -> M::Reply<Taken> {
        let (consumer, policy) = (&self.consumer, &self.policy);
        let client = consumer.client();
        if let Err(error) = check_length(policy.lease) {
            return client.run_then(Err::<Read, _>(error), |_| Taken::Cleaned);
        }
        let time = client.time();
        if self.reclaims.is_due(time) {
            // All workers of a group would look at the same time.
            self.reclaims.put_off(time, with_jitter(policy.lease / 2, client.draw()));
            let step = consumer.reclaim_step(policy.lease, self.room);
            let step = step.map(|step| step.begins(true));
            return client.run_then(step, move |reclaimed| Taken::Reclaimed(reclaimed, now));
        }
        if self.cleaning.is_due(time) {
            self.cleaning.put_off(time, CLEANING);
            let step = consumer
                .name()
                .and_then(|name| RemoveIdleConsumers::of(name, policy.keep_consumers));
            return client.run_then(step, |_| Taken::Cleaned);
        }
        client.run_then(consumer.read_step(self.room), move |batch| Taken::Read(batch, now))
    }

    fn handle(
        &mut self,
        result: Result<Taken>,
        waiting: &mut Waiting,
    ) -> Result<Found<Self::Item>> {
        match result? {
            Taken::Reclaimed(Reclaimed { messages, dead, is_suspect }, at) => {
                if is_suspect || messages.len() + dead as usize == self.room {
                    // There may be more.
                    self.reclaims.bring_forward(self.consumer.client().time(), Duration::ZERO);
                }
                match messages.is_empty() && dead == 0 {
                    true => Ok(Found::Nothing),
                    false => {
                        let mut batch = self.batch(messages, at, is_suspect)?;
                        batch.reports.extend((dead > 0).then(|| exhausted(dead)));
                        Ok(Found::Item(batch))
                    }
                }
            }
            Taken::Cleaned => Ok(Found::Nothing),
            Taken::Read(batch, _) if batch.messages.is_empty() => {
                waiting.listen(|| self.consumer.listen(&batch))?;
                Ok(Found::Idle(Some(self.reclaims.left(self.consumer.client().time()))))
            }
            Taken::Read(batch, at) => self.batch(batch.messages, at, false).map(Found::Item),
        }
    }
}

/// What is told of messages that ended their consumers.
fn exhausted<J>(count: u64) -> Report<J> {
    let (count, have) = if count == 1 {
        ("a message".into(), "was")
    } else {
        (format!("{count} messages"), "were")
    };
    let message =
        format!("{count} {have} put aside: exhausted: delivered too often without an end");
    let error = Error::new(ErrorKind::DeadLetter, &*message);
    Report::of_run(ReportKind::Dead, message, error)
}
