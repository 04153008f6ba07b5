//! The run of a worker: its messages, and what becomes of them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::job::{Holder, JobCore};
use super::worker::Policy;
use super::{
    ACK_MESSAGES_MAX, Batch, Job, Message, READ_MESSAGES_MAX, REASON_BYTES_MAX, Read, Receipt,
    Reclaimed, RemoveIdleConsumers, ShuffleConsumer,
};
use crate::client::Mode;
use crate::error::{Error, ErrorKind, Result, Retry, invalid};
use crate::runtime::backoff::{Backoff, with_jitter};
use crate::step::Operation;
use crate::worker::due::Due;
use crate::worker::failure::Failure;
use crate::worker::groups::Groups;
use crate::worker::lease::{Contact, check_length};
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting};
use crate::worker::report::{Report, ReportKind};
use crate::worker::run::{self, Ended, Plan, Queue, Room, Sending, Work, runs};
use crate::worker::settings::too_late;
use crate::worker::stop::Stop;

/// How long a message that is given back untried is put off at most.
const RELEASE_DELAY: Duration = Duration::from_millis(100);

/// How often consumers are removed that are gone for good.
const CLEANING: Duration = Duration::from_secs(600);

runs! {
    /// The jobs of a worker, for a loop of your own in place of [`Worker::run`](super::Worker::run); made by
    /// [`Worker::start`](super::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of
    /// threads or tasks, and reports what became of them.
    ///
    /// ```
    /// use millpond::Event;
    ///
    /// let queue = millpond::connect("memory:")?.shuffle_queue("jobs");
    /// queue.write("tenant-7", [("image", "a.png")])?;
    /// let worker = queue.consumer("workers", "worker-1").worker().tell_all(true);
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
    /// assert_eq!(queue.backlog()?, 0);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    Run of Messages, Job
}

impl<M: Mode> Run<M> {
    pub(super) fn begin(takes: Takes<M>, plan: Plan, stop: &Stop) -> Self {
        let messages =
            Messages { consumer: takes.consumer.clone(), reclaims: takes.reclaims.clone() };
        let mut takes = PollLoop::new(takes);
        takes.wait((!plan.drains).then_some(Duration::MAX));
        let run = run::Run::new(Arc::new(messages), takes, plan);
        stop.begin(&run);
        Self(run)
    }

    /// Ends a job of this run with the outcome of its handler, and returns immediately; the result is reported. Does
    /// nothing for a job that the run has given back.
    ///
    /// - `Ok(())`: the job is done. Its message is acknowledged, and deleted if the worker is set to do so.
    /// - `Err(failure)`: the job ends as the [`Failure`] says. A message that is tried again is delivered again; after
    ///   [`max_deliveries`](ShuffleConsumer::max_deliveries) it becomes a dead letter.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a job that is not from this run, and `FORKED` in the child of a fork.
    ///
    /// # Delivery
    /// If the connection fails, the end is sent again while the lease lasts.
    pub fn end(&self, job: &Job<M>, outcome: Result<(), Failure>) -> Result<()> {
        let (number, job) = (self.number_of(job)?, job.core.clone());
        self.0.end(number, |add| {
            let how = How::of(&job, outcome);
            job.lease.clone().end(move |_| add(End { job, how }));
        });
        Ok(())
    }
}

/// What the messages of a shuffle queue are to a run.
pub(super) struct Messages<M: Mode> {
    consumer: ShuffleConsumer<M>,
    reclaims: Arc<Due>,
}

/// How a job is to end.
pub(super) struct End<M: Mode> {
    job: Arc<JobCore<M>>,
    how: How,
}

enum How {
    Done,
    Retry(String, Duration),
    Release(Duration),
    /// The run ends, also if it says that the job is lost.
    GiveBack,
    Reject(String),
    Refused(Error, Duration),
}

impl How {
    fn of<M: Mode>(job: &JobCore<M>, outcome: Result<(), Failure>) -> Self {
        let draw = job.consumer.client().draw();
        let retry = |err: String, delay: Option<Duration>| match job.is_last() {
            true => Self::Reject(format!("exhausted: {err}")),
            false => {
                Self::Retry(err, delay.unwrap_or_else(|| job.delay(draw)).min(job.policy.lease))
            }
        };
        match outcome {
            Ok(()) => Self::Done,
            Err(Failure::Error(err) | Failure::Retry(err)) => retry(err, None),
            Err(Failure::RetryAfter(err, delay)) => retry(err, Some(delay)),
            Err(Failure::Reject(err)) => Self::Reject(format!("rejected: {err}")),
            Err(Failure::Release) => {
                Self::Release(with_jitter(RELEASE_DELAY, draw).min(job.policy.lease))
            }
            Err(Failure::ReleaseAfter(delay)) => Self::Release(delay.min(job.policy.lease)),
            Err(Failure::Move(queue, _)) => {
                let error = invalid(format!(
                    "a message of a shuffle queue cannot be moved to {queue}: write it there"
                ));
                match retry(error.to_string(), None) {
                    Self::Retry(_, delay) => Self::Refused(error, delay),
                    exhausted => exhausted,
                }
            }
        }
    }

    fn kind(&self) -> ReportKind {
        match self {
            Self::Done => ReportKind::Done,
            Self::Retry(..) => ReportKind::Retried,
            Self::Release(_) | Self::GiveBack => ReportKind::Released,
            Self::Reject(_) => ReportKind::Dead,
            Self::Refused(..) => ReportKind::Refused,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Done | Self::Release(_) | Self::GiveBack => String::new(),
            Self::Retry(err, _) | Self::Reject(err) => err.clone(),
            Self::Refused(error, _) => error.to_string(),
        }
    }
}

impl<M: Mode> JobCore<M> {
    /// Whether a failure is the last.
    pub(super) fn is_last(&self) -> bool {
        let most = self.consumer.most_deliveries();
        most != 0 && self.message.deliveries >= most
    }

    /// How long to put the message off, which was delivered so often.
    fn delay(&self, draw: u64) -> Duration {
        let (Backoff { first, most }, lease) = (self.policy.backoff, self.policy.lease);
        let backoff = Backoff { first: first.min(lease), most: most.max(first).min(lease) };
        let before = self.message.deliveries.saturating_sub(1);
        backoff.delay(before.try_into().unwrap_or(u32::MAX), draw)
    }
}

impl<M: Mode> Work for Messages<M> {
    type Job = Arc<JobCore<M>>;
    type End = End<M>;
    const ENDS_MAX: usize = ACK_MESSAGES_MAX;

    fn is_suspect(job: &Arc<JobCore<M>>) -> bool {
        job.is_suspect
    }

    fn unsent(end: End<M>) -> Report<Arc<JobCore<M>>> {
        report(ReportKind::Lost, end.job, run::UNSENT, None)
    }

    fn late(job: Arc<JobCore<M>>) -> Report<Arc<JobCore<M>>> {
        report(ReportKind::Lost, job, run::LATE, None)
    }
}

impl<M: Mode> Queue for Messages<M> {
    type Source = Takes<M>;

    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<End<M>>>,
        done: impl FnOnce(Vec<(Sending<End<M>>, Result<()>)>) + Send + 'static,
    ) {
        // Somebody else has what was lost, and an acknowledgement would end it under his hands.
        let (lost, held): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|sending| sending.end.is_lost());
        let (acks, others): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|sending| matches!(sending.end.how, How::Done));
        let lost = lost.into_iter().map(|sending| (sending, Err(taken_over()))).collect();
        let all = Groups::new(lost, others.len() + usize::from(!acks.is_empty()), done);
        for sending in others {
            self.send_one(sending, all.clone());
        }
        if !acks.is_empty() {
            self.send_acks(acks, all);
        }
    }

    fn ended(self: &Arc<Self>, end: End<M>, result: Result<()>, is_unsure: bool) -> Ended<Self> {
        let End { job, how } = end;
        match result {
            Ok(()) => {
                if let How::Retry(_, delay) | How::Release(delay) | How::Refused(_, delay) = &how {
                    self.reclaims.bring_forward(self.consumer.client().time(), *delay);
                    self.consumer.wake_after(*delay);
                }
                let (kind, text) = (how.kind(), how.text());
                let error = if let How::Refused(error, _) = how { Some(error) } else { None };
                Ended::Done(report(kind, job, &text, error))
            }
            // It was this end, whose result was lost.
            Err(error)
                if is_unsure && error.kind() == ErrorKind::LeaseLost && !job.lease.is_gone() =>
            {
                Ended::Done(report(how.kind(), job, &how.text(), None))
            }
            Err(error) if error.retry() == Retry::Never || job.lease.is_gone() => {
                Ended::Done(report(ReportKind::Lost, job, &error.to_string(), Some(error)))
            }
            Err(error) => Ended::Again(End { job, how }, error),
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
        let step = job.begin_step();
        let job = job.clone();
        self.consumer.client().submit(step, move |count| {
            let begun = count.and_then(|count| held(count == 1));
            job.is_counted.store(begun.is_ok(), Ordering::Release);
            then(begun);
        });
    }

    fn timeout(job: &Arc<JobCore<M>>) -> Option<Duration> {
        job.policy.timeout
    }

    fn time_out(
        self: &Arc<Self>,
        job: Arc<JobCore<M>>,
        then: impl FnOnce(End<M>) + Send + 'static,
    ) {
        job.lease.revoke();
        let how = How::of(&job, Err(too_late(job.policy.timeout.unwrap_or_default())));
        job.lease.clone().end(move |_| then(End { job, how }));
    }

    fn watch_renewals(job: &Arc<JobCore<M>>, contact: Weak<dyn Contact>) {
        job.lease.watch_renewals(contact);
    }

    /// Removes the consumer if it holds nothing, so that the server does not keep the names of programs that are
    /// gone. If this fails, other workers of the group do it in time.
    fn depart(&self, done: impl FnOnce() + Send + 'static) {
        let step = self.consumer.leave_step();
        self.consumer.client().submit(step, move |_| done());
    }

    fn give_back(
        self: &Arc<Self>,
        job: Arc<JobCore<M>>,
        then: impl FnOnce(End<M>) + Send + 'static,
    ) {
        job.lease.revoke();
        job.lease.clone().end(move |_| then(End { job, how: How::GiveBack }));
    }
}

impl<M: Mode> Messages<M> {
    /// Sends acknowledgements in one step.
    fn send_acks(&self, acks: Vec<Sending<End<M>>>, all: Arc<Groups<Sending<End<M>>>>) {
        let receipts = acks.iter().map(|ack| ack.end.receipt()).collect();
        let step = self.consumer.ack_each_step(receipts, acks[0].end.job.policy.delete);
        self.consumer.client().submit(step, move |acked| match acked {
            Ok(acked) => all.add_each(acks.into_iter().zip(acked.into_iter().map(held))),
            Err(error) => all.add(acks, Err(error)),
        });
    }

    /// Sends another end.
    fn send_one(&self, sending: Sending<End<M>>, all: Arc<Groups<Sending<End<M>>>>) {
        let End { job, how } = &sending.end;
        let (receipts, lease) = (vec![sending.end.receipt()], job.policy.lease);
        let (delay, is_counted) = match how {
            How::Done => return self.send_acks(vec![sending], all),
            How::Reject(reason) => {
                let step = self.consumer.reject_step(receipts, shortened(reason));
                return self.submit(step, sending, all);
            }
            How::Retry(_, delay) | How::Refused(_, delay) => (*delay, true),
            How::Release(delay) => (*delay, false),
            // One that has not begun is not counted yet.
            How::GiveBack => (Duration::ZERO, !job.is_counted.load(Ordering::Acquire)),
        };
        let step = self.consumer.release_step(receipts, (lease, delay));
        self.submit(step.map(|step| step.counted(is_counted)), sending, all);
    }

    fn submit<O: Operation<Output = u64>>(
        &self,
        step: Result<O>,
        sending: Sending<End<M>>,
        all: Arc<Groups<Sending<End<M>>>>,
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

impl<M: Mode> End<M> {
    fn receipt(&self) -> Receipt {
        (&self.job.message).into()
    }

    fn is_lost(&self) -> bool {
        self.job.lease.is_gone() && !matches!(self.how, How::GiveBack)
    }
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

/// What is told of a job.
fn report<M: Mode>(
    kind: ReportKind,
    job: Arc<JobCore<M>>,
    text: &str,
    error: Option<Error>,
) -> Report<Arc<JobCore<M>>> {
    let id = job.message.id;
    Report::of_job(kind, job, format_args!("message {id}"), text, error)
}

/// Reads and reclaims of messages for jobs.
pub(super) struct Takes<M: Mode> {
    consumer: ShuffleConsumer<M>,
    policy: Arc<Policy>,
    holder: Option<Arc<Holder>>,
    room: usize,
    reclaims: Arc<Due>,
    cleaning: Due,
}

/// What a step did.
pub(super) enum Taken {
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
    ) -> Result<run::Batch<Arc<JobCore<M>>>> {
        let holder = match &self.holder {
            Some(holder) => holder,
            None => self.holder.insert(Arc::new(self.consumer.holder()?)),
        };
        let job = |message| {
            let (consumer, policy) = (self.consumer.clone(), self.policy.clone());
            Arc::new(JobCore::new(consumer, holder, message, policy, taken_at, is_suspect))
        };
        Ok(run::Batch { jobs: messages.into_iter().map(job).collect(), reports: Vec::new() })
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
    type Item = run::Batch<Arc<JobCore<M>>>;

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
