//! The jobs of a run and its next actions: a state machine without lock, clock or thread. Its inputs are events and the
//! time. It tells callers what to do next ([`Machine::next`]), and the driver which actions to perform
//! ([`Machine::take_todo`], [`Machine::take_to_send`]) and when to wake it ([`Machine::next_wake`]). The driver around
//! it is in `driver.rs`; the states of a job are on the page of the module `worker`.
//!
//! - One caller at a time takes jobs, as many as there is room for.
//! - An end is sent immediately if none is being sent. Otherwise it waits, and is sent together with all ends gathered
//!   by then, in one step in which each succeeds or fails on its own. If the connection fails, an end is sent again
//!   while the job is held.
//! - No job begins while the number of ends without a result has reached the number of jobs that the run may hold: a
//!   kill repeats the jobs of such ends, and a handler that is faster than the server would increase their number
//!   without limit.
//! - A suspect, which may have ended the processes that held it, runs alone: the run lets its other jobs end first,
//!   takes nothing beside the suspect, and takes more jobs when the suspect has ended.
//! - A handler on a thread cannot be ended from outside. After its timeout the run itself ends its job as a failure, so
//!   that the lease is no longer renewed; the job's place stays taken until the handler returns, and its late end is
//!   refused.
//! - A stopped run takes no more jobs, gives back those that have not begun, waits for those that are running, and
//!   gives these back too after the deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use super::outage::{Outage, Steps};
use super::report::{JobCounts, Report, ReportKind};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::runtime::backoff::{Backoff, Draws};

/// How long to wait before an unreachable server is tried again.
const AWAY: Backoff = Backoff { first: Duration::from_millis(100), most: Duration::from_secs(5) };

/// How long to wait before an end that failed with the connection is sent again, never more than a tenth of the
/// lease: as often as a failed renewal, which it replaces.
const AGAIN: Backoff = Backoff { first: Duration::from_millis(50), most: Duration::from_secs(2) };

/// How long an end is still retried after the deadline of a stop.
const LAST: Duration = Duration::from_secs(2);

/// What a machine has to know about the jobs of a queue.
pub(crate) trait Work: Send + Sync + 'static {
    /// A job that is held; a clone is the same job.
    type Job: Clone + Send + Sync + 'static;
    /// How a job is to end, ready to be sent.
    type Ending: Send + 'static;

    /// The most ends of one step.
    const ENDS_MAX: usize;

    /// Whether the job is a suspect: it may have ended the processes that held it.
    fn is_suspect(job: &Self::Job) -> bool;

    /// Whether its handler ended the job itself.
    fn is_ended(job: &Self::Job) -> bool;

    /// The report on an end that could not be sent before the run was over.
    fn unsent(ending: Self::Ending) -> Report<Self::Job>;

    /// The report on a job whose handler ended after its timeout.
    fn late(job: Self::Job) -> Report<Self::Job>;
}

/// How a run works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// How many jobs run at a time.
    pub(crate) concurrency: usize,
    /// How many more are prefetched.
    pub(crate) prefetch: usize,
    /// How long a job is leased.
    pub(crate) lease: Duration,
    /// The run is over when nothing is available; an error of the connection ends it.
    pub(crate) drains: bool,
    /// When it takes no more jobs.
    pub(crate) until: Option<Instant>,
    /// Jobs that are done, given back or moved are reported too.
    pub(crate) tells_all: bool,
    /// How long a handler may run.
    pub(crate) timeout: Option<Duration>,
}

impl Plan {
    /// The limit on held jobs that have not ended, and on ends without a result when a job begins.
    fn most(&self) -> usize {
        self.concurrency.saturating_add(self.prefetch)
    }
}

/// What a step took.
pub(crate) struct Batch<J> {
    pub(crate) jobs: Vec<J>,
    pub(crate) reports: Vec<Report<J>>,
}

/// The result of driving the loop that takes jobs.
pub(super) enum Taken<J> {
    Batch(Batch<J>),
    /// Nothing is available, and the loop does not wait.
    Nothing,
    /// The step has no result yet.
    Pending,
    /// The run stopped it, because there is something else to do.
    HeldUp,
    Failed(Error),
}

/// What a caller does next.
pub(super) enum Next<J> {
    /// A job to work on, and its number in the run.
    Job(u64, J),
    Report(Report<J>),
    /// Take up to this many jobs; then [`Machine::took`].
    Take(usize),
    /// Wait for the next change. If `is_idle`, no more jobs will be taken.
    Wait {
        is_idle: bool,
    },
    /// The run is over, perhaps because of an error.
    Over(Option<Error>),
}

/// An action to perform, other than sending ends.
pub(super) enum Todo<W: Work> {
    /// Record that the work on a suspect begins; then [`Machine::begun`].
    Begin(W::Job),
    /// Make the end that gives the job back; then [`Machine::add`].
    GiveBack(W::Job),
    /// Make the end of the job with this number, whose handler has taken too long; then [`Machine::add`].
    TimeOut(u64, W::Job),
    /// Do the queue's final work, when nothing is held any more; then [`Machine::departed`].
    Depart,
}

/// An end that is being sent.
pub(crate) struct Sending<E> {
    pub(crate) end: E,
    /// The number of its job, if that is overdue.
    overdue: Option<u64>,
    /// How often sending it has failed.
    tries: u32,
    /// A result was lost, so the end may have taken effect.
    pub(super) is_unsure: bool,
}

impl<E> Sending<E> {
    pub(super) fn new(end: E) -> Self {
        Self { end, overdue: None, tries: 0, is_unsure: false }
    }

    /// The end of a job whose handler has taken too long.
    pub(super) fn overdue(number: u64, end: E) -> Self {
        Self { overdue: Some(number), ..Self::new(end) }
    }

    /// Replaces the end, keeping the rest.
    pub(super) fn map<T>(self, end: impl FnOnce(E) -> T) -> Sending<T> {
        let Self { end: of, overdue, tries, is_unsure } = self;
        Sending { end: end(of), overdue, tries, is_unsure }
    }
}

/// What the result of an end means.
pub(crate) enum Ended<W: Work + ?Sized> {
    /// The job is over.
    Done(Report<W::Job>),
    /// It must end in this way instead.
    Instead(W::Ending),
    /// The connection failed with this error, and the same end is to be sent again.
    Again(W::Ending, Error),
}

/// The jobs of a run, the ends in progress, and the known state of the server.
pub(super) struct Machine<W: Work> {
    plan: Plan,
    draws: Draws,
    /// Held, but not begun.
    ready: VecDeque<W::Job>,
    /// Held, but begun only when nothing else is held.
    suspects: VecDeque<W::Job>,
    alone: Alone<W::Job>,
    running: BTreeMap<u64, Running<W::Job>>,
    /// When the timeouts of running jobs pass.
    limits: BTreeSet<(Instant, u64)>,
    /// Jobs that their timeouts have ended while their handlers are still running.
    overdue: BTreeMap<u64, Overdue<W::Job>>,
    numbers: u64,
    reports: VecDeque<Report<W::Job>>,
    counts: JobCounts,
    /// Ends that wait for the step in progress.
    gathered: Vec<Sending<W::Ending>>,
    /// Ends that failed with the connection, and when they are sent again.
    resting: Vec<(Instant, Sending<W::Ending>)>,
    is_sending: bool,
    /// How many ends have no result yet.
    ending: usize,
    takes: Takes,
    outage: Outage,
    /// No more jobs are taken, because of a stop or an error that ended the run.
    is_closing: bool,
    /// The deadline of a stop.
    deadline: Option<Instant>,
    /// When that deadline passed.
    given_up: Option<Instant>,
    /// What ended the run.
    failed: Option<Error>,
    departure: Departure,
    todo: Vec<Todo<W>>,
    /// The ends of the next step.
    to_send: Option<Vec<Sending<W::Ending>>>,
    /// Jobs that are not held any more. They are dropped outside the lock around this, as a user's values in them may
    /// need that lock.
    left: Vec<W::Job>,
    has_changed: bool,
}

/// The state of taking jobs.
#[derive(Default)]
struct Takes {
    /// A caller drives the loop that takes jobs.
    is_driven: bool,
    /// That loop has a step in progress.
    is_asking: bool,
    /// The last step found nothing, and nothing has ended since it was sent.
    is_dry: bool,
    /// Something has ended since the step in progress was sent, so that step may have been too early to find newly
    /// available work.
    is_stale: bool,
    /// Jobs cannot be taken because the server is unreachable: how often it was tried, and until when to wait.
    away: Option<(u32, Option<Instant>)>,
}

/// A job that is being worked on.
struct Running<J> {
    job: J,
    /// When its timeout passes.
    limit: Option<Instant>,
}

/// A job whose timeout has passed.
struct Overdue<J> {
    job: J,
    /// Its handler is still running.
    is_working: bool,
    /// Its handler has ended it, after the timeout.
    is_late: bool,
    /// The end made by the timeout has a result.
    is_ended: bool,
}

/// The state of a queue's final work at the end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departure {
    NotBegun,
    UnderWay,
    Done,
}

/// Whether a suspect has the run to itself.
enum Alone<J> {
    No,
    /// Its beginning is being recorded, after this many failures.
    Beginning(u32),
    /// Recording it has failed this many times, and is tried again at this time.
    Resting(J, u32, Instant),
    /// It is held, or its end is being sent.
    Yes,
}

impl<W: Work> Machine<W> {
    /// A run that is refused is over before it takes anything.
    pub(super) fn new(plan: Plan, seed: u64, refused: Option<Error>) -> Self {
        Self {
            plan,
            draws: Draws::new(seed),
            ready: VecDeque::new(),
            suspects: VecDeque::new(),
            alone: Alone::No,
            running: BTreeMap::new(),
            limits: BTreeSet::new(),
            overdue: BTreeMap::new(),
            numbers: 0,
            reports: VecDeque::new(),
            counts: JobCounts::default(),
            gathered: Vec::new(),
            resting: Vec::new(),
            is_sending: false,
            ending: 0,
            takes: Takes::default(),
            outage: Outage::default(),
            is_closing: refused.is_some(),
            deadline: None,
            given_up: None,
            failed: refused,
            departure: Departure::NotBegun,
            todo: Vec::new(),
            to_send: None,
            left: Vec::new(),
            has_changed: false,
        }
    }

    pub(super) fn counts(&self) -> JobCounts {
        self.counts
    }

    /// The actions to perform, in this order.
    pub(super) fn take_todo(&mut self) -> Vec<Todo<W>> {
        std::mem::take(&mut self.todo)
    }

    pub(super) fn has_to_send(&self) -> bool {
        self.to_send.is_some()
    }

    /// The ends to be sent in one step; then [`sent`](Self::sent).
    pub(super) fn take_to_send(&mut self) -> Option<Vec<Sending<W::Ending>>> {
        self.to_send.take()
    }

    /// Jobs to be dropped outside the lock.
    pub(super) fn take_left(&mut self) -> Vec<W::Job> {
        std::mem::take(&mut self.left)
    }

    /// Whether there are ends that nothing but [`wake`](Self::wake) will send.
    pub(super) fn has_resting(&self) -> bool {
        !self.resting.is_empty()
    }

    /// Whether something has changed since the last call, so that waiting callers must ask again.
    pub(super) fn take_change(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Makes waiting callers ask again.
    pub(super) fn look_again(&mut self) {
        self.has_changed = true;
    }

    /// When [`wake`](Self::wake) must be called.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let is_open = !self.is_closing;
        let until = self.plan.until.filter(|_| is_open);
        let away = self.takes.away.and_then(|(_, until)| until).filter(|_| is_open);
        let begin = match &self.alone {
            Alone::Resting(.., at) => Some(*at),
            _ => None,
        };
        let limit = self.limits.first().map(|(at, _)| *at);
        let ends = self.resting.iter().map(|(at, _)| *at).min();
        [until, away, begin, limit, ends, self.deadline].into_iter().flatten().min()
    }

    /// Stops taking jobs once the budget is used up.
    fn end_budget(&mut self, now: Instant) {
        if !self.is_closing && self.plan.until.is_some_and(|until| until <= now) {
            self.is_closing = true;
            self.changed();
        }
    }

    /// Handles everything that is due by now.
    pub(super) fn wake(&mut self, now: Instant) {
        self.end_budget(now);
        if let Some((_, until)) = &mut self.takes.away
            && until.take_if(|until| *until <= now).is_some()
        {
            self.has_changed = true;
        }
        while let Some(&(limit, number)) = self.limits.first().filter(|(limit, _)| *limit <= now) {
            self.limits.remove(&(limit, number));
            self.time_out(number);
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.give_up(now);
        }
        let due = |(at, _): &mut (Instant, _)| *at <= now;
        self.gathered.extend(self.resting.extract_if(.., due).map(|(_, end)| end));
        if let Alone::Resting(job, tries, at) = &self.alone
            && *at <= now
        {
            self.todo.push(Todo::Begin(job.clone()));
            self.alone = Alone::Beginning(*tries);
        }
        self.go_on();
    }

    /// What a caller does next.
    pub(super) fn next(&mut self, now: Instant) -> Next<W::Job> {
        self.end_budget(now);
        if let Some(report) = self.reports.pop_front() {
            return Next::Report(report);
        }
        if self.may_begin()
            && let Some(job) = self.ready.pop_front()
        {
            self.numbers += 1;
            self.running.insert(self.numbers, Running { job: job.clone(), limit: None });
            return Next::Job(self.numbers, job);
        }
        if self.is_over() {
            // The final work does not wait for an unreachable server.
            let is_reached = self.failed.is_none() && !self.outage.has_begun();
            match self.departure {
                Departure::NotBegun if is_reached => {
                    self.departure = Departure::UnderWay;
                    self.todo.push(Todo::Depart);
                    return Next::Wait { is_idle: true };
                }
                Departure::UnderWay => return Next::Wait { is_idle: true },
                Departure::NotBegun | Departure::Done => {
                    self.departure = Departure::Done;
                    return Next::Over(self.failed.take());
                }
            }
        }
        let is_away = self.takes.away.and_then(|(_, until)| until).is_some_and(|until| until > now);
        let room = if is_away { 0 } else { self.room() };
        if room == 0 || self.takes.is_driven {
            return Next::Wait { is_idle: self.is_closing && !self.takes.is_driven };
        }
        self.takes.is_driven = true;
        self.takes.is_stale &= self.takes.is_asking;
        Next::Take(room)
    }

    /// The loop that takes jobs has returned; `is_asking` if a step is in progress.
    pub(super) fn took(&mut self, now: Instant, taken: Taken<W::Job>, is_asking: bool) {
        (self.takes.is_driven, self.takes.is_asking) = (false, is_asking);
        match taken {
            Taken::Pending => return,
            Taken::HeldUp => {}
            Taken::Nothing => self.takes.is_dry = !self.takes.is_stale,
            Taken::Batch(batch) => {
                self.reached();
                let (suspects, jobs): (Vec<_>, Vec<_>) =
                    batch.jobs.into_iter().partition(W::is_suspect);
                self.ready.extend(jobs);
                self.suspects.extend(suspects);
                self.count(&batch.reports);
                self.reports.extend(batch.reports);
            }
            Taken::Failed(error) if self.plan.drains || error.is_final() => {
                (self.failed, self.is_closing) = (Some(error), true);
            }
            Taken::Failed(error) => {
                let failures = self.takes.away.map_or(0, |(failures, _)| failures);
                let delay = AWAY.delay(failures, self.draws.next());
                self.takes.away = Some((failures + 1, Some(now + delay)));
                self.fails(Steps::Takes, &error);
            }
        }
        self.changed();
    }

    /// A step that takes jobs was done.
    pub(super) fn reached(&mut self) {
        self.takes.away = None;
        self.succeeds(Steps::Takes);
    }

    /// Begins the timeout of a job that was handed out.
    pub(super) fn limit(&mut self, number: u64, until: Instant) {
        if let Some(running) = self.running.get_mut(&number) {
            running.limit = Some(until);
            self.limits.insert((until, number));
        }
    }

    /// The handler has ended this job. Returns whether to make its end and pass it to [`add`](Self::add): a job that
    /// was given back needs none.
    pub(super) fn end(&mut self, number: u64, now: Instant) -> bool {
        self.check_limit(number, now);
        self.remove(number, true)
    }

    /// The handler of this job has returned.
    pub(super) fn leave(&mut self, number: u64) {
        self.remove(number, false);
    }

    /// Ends the job if its timeout has passed. Returns whether its timeout has ended it while its handler is still
    /// running.
    pub(super) fn check_limit(&mut self, number: u64, now: Instant) -> bool {
        let limit = self.running.get(&number).and_then(|running| running.limit);
        if let Some(limit) = limit.filter(|limit| *limit <= now)
            && self.limits.remove(&(limit, number))
        {
            self.time_out(number);
        }
        self.overdue.contains_key(&number)
    }

    /// Sends an end, immediately or with the next ones.
    pub(super) fn add(&mut self, end: Sending<W::Ending>) {
        self.gathered.push(end);
        self.go_on();
    }

    /// Handles the results of the ends of a step.
    pub(super) fn sent(&mut self, now: Instant, results: Vec<Sending<Ended<W>>>) {
        self.is_sending = false;
        (self.takes.is_dry, self.takes.is_stale) = (false, true);
        let is_last = self.given_up.is_some_and(|since| now >= since + LAST);
        let mut unreached = None;
        for Sending { end, overdue, tries, is_unsure } in results {
            match end {
                Ended::Done(report) => self.ended(report, overdue),
                Ended::Instead(end) => {
                    self.gathered.push(Sending { overdue, ..Sending::new(end) });
                }
                Ended::Again(end, error) if is_last => {
                    self.ended(W::unsent(end), overdue);
                    unreached = Some(error);
                }
                Ended::Again(end, error) => {
                    let is_unsure = is_unsure || error.retry() == Retry::Unknown;
                    let at = now + self.pause(tries);
                    unreached = Some(error);
                    self.resting.push((at, Sending { end, overdue, tries: tries + 1, is_unsure }));
                }
            }
        }
        match unreached {
            Some(error) => self.fails(Steps::Ends, &error),
            None => self.succeeds(Steps::Ends),
        }
        self.changed();
    }

    /// A job is over.
    fn ended(&mut self, mut report: Report<W::Job>, overdue: Option<u64>) {
        self.ending -= 1;
        // No handler has raised an error that would report it.
        if overdue.is_some() && report.kind == ReportKind::Retried {
            report.error = Some(Error::new(ErrorKind::Timeout, &*report.message));
        }
        self.counts.count(report.kind);
        match self.plan.tells_all || report.kind.is_failure() {
            true => self.reports.push_back(report),
            false => self.left.extend(report.job),
        }
        if let Some(number) = overdue
            && let Some(overdue) = self.overdue.get_mut(&number)
        {
            overdue.is_ended = true;
            self.forget_overdue(number);
        }
    }

    /// Handles the result of recording that a suspect begins: success, a retryable error, or a lost job.
    pub(super) fn begun(&mut self, now: Instant, job: W::Job, result: Result<()>) {
        let tries = match self.alone {
            Alone::Beginning(tries) => tries,
            _ => 0,
        };
        match result {
            Ok(()) => {
                self.alone = Alone::Yes;
                self.ready.push_back(job);
            }
            Err(error) if error.retry() != Retry::Never && !self.is_closing => {
                self.alone = Alone::Resting(job, tries + 1, now + self.pause(tries));
            }
            // Its end will report that it is lost.
            Err(_) => {
                self.alone = Alone::Yes;
                self.give_back(job);
            }
        }
        self.changed();
    }

    pub(super) fn departed(&mut self) {
        self.departure = Departure::Done;
        self.has_changed = true;
    }

    /// Takes no more jobs, and gives back those that are still running at the deadline.
    pub(super) fn stop(&mut self, now: Instant, deadline: Option<Instant>) {
        self.is_closing = true;
        self.deadline = deadline.filter(|deadline| *deadline > now);
        if deadline.is_some() && self.deadline.is_none() {
            self.give_up(now);
        }
        self.changed();
    }

    /// Handles the result of a lease's renewal.
    pub(super) fn renewed(&mut self, error: Option<&Error>) {
        let before = self.reports.len();
        match error {
            Some(error) => self.fails(Steps::Renewals, error),
            None => self.succeeds(Steps::Renewals),
        }
        self.has_changed |= self.reports.len() > before;
    }

    /// Takes all jobs that have not begun.
    pub(super) fn take_unbegun(&mut self) -> VecDeque<W::Job> {
        let mut unbegun = std::mem::take(&mut self.ready);
        unbegun.append(&mut self.suspects);
        if matches!(self.alone, Alone::Resting(..))
            && let Alone::Resting(job, ..) = std::mem::replace(&mut self.alone, Alone::Yes)
        {
            unbegun.push_back(job);
        }
        unbegun
    }

    /// Whether the loop that takes jobs may send a step.
    pub(super) fn may_take(&self) -> bool {
        self.may_sleep() && !self.has_suspects()
    }

    /// Whether the caller that takes jobs may wait for work, as there is nothing else to do.
    pub(super) fn may_sleep(&self) -> bool {
        let has_job = !self.ready.is_empty() && self.may_begin();
        !self.is_closing && self.reports.is_empty() && !has_job
    }

    fn changed(&mut self) {
        self.has_changed = true;
        self.go_on();
    }

    /// Adds the actions that are due now.
    fn go_on(&mut self) {
        if self.is_closing {
            for job in self.take_unbegun() {
                self.give_back(job);
                self.has_changed = true;
            }
        }
        if !self.is_sending && !self.gathered.is_empty() {
            self.is_sending = true;
            let count = self.gathered.len().min(W::ENDS_MAX);
            self.to_send = Some(self.gathered.drain(..count).collect());
        }
        if self.is_idle() {
            if matches!(self.alone, Alone::Yes) {
                (self.alone, self.has_changed) = (Alone::No, true);
            }
            if matches!(self.alone, Alone::No)
                && !self.takes.is_asking
                && !self.is_closing
                && let Some(suspect) = self.suspects.pop_front()
            {
                self.alone = Alone::Beginning(0);
                self.todo.push(Todo::Begin(suspect));
            }
        }
    }

    fn give_back(&mut self, job: W::Job) {
        self.ending += 1;
        self.todo.push(Todo::GiveBack(job));
    }

    /// Gives back the jobs that are running.
    fn give_up(&mut self, now: Instant) {
        self.given_up.get_or_insert(now);
        self.limits.clear();
        for (_, Running { job, .. }) in std::mem::take(&mut self.running) {
            match W::is_ended(&job) {
                true => self.left.push(job),
                false => self.give_back(job),
            }
        }
        self.has_changed = true;
    }

    /// Ends a job whose handler has taken too long.
    fn time_out(&mut self, number: u64) {
        let Some(Running { job, limit }) = self.running.remove(&number) else { return };
        if W::is_ended(&job) {
            // Its handler ended it itself, and may still run.
            self.running.insert(number, Running { job, limit });
            return;
        }
        let held = job.clone();
        let overdue = Overdue { job: held, is_working: true, is_late: false, is_ended: false };
        self.overdue.insert(number, overdue);
        self.ending += 1;
        (self.takes.is_dry, self.takes.is_stale) = (false, true);
        self.todo.push(Todo::TimeOut(number, job));
        self.has_changed = true;
    }

    /// Removes a job, which makes room for another one. Returns whether it was running.
    fn remove(&mut self, number: u64, is_ending: bool) -> bool {
        if let Some(overdue) = self.overdue.get_mut(&number) {
            overdue.is_working = false;
            overdue.is_late |= is_ending;
            self.forget_overdue(number);
            self.changed();
            return false;
        }
        let Some(running) = self.running.remove(&number) else { return false };
        if let Some(limit) = running.limit {
            self.limits.remove(&(limit, number));
        }
        self.left.push(running.job);
        self.ending += usize::from(is_ending);
        (self.takes.is_dry, self.takes.is_stale) = (false, true);
        self.changed();
        true
    }

    /// Forgets an overdue job that neither its handler nor its end needs any more. If its handler ended it, that is
    /// reported, after the outcome of the job.
    fn forget_overdue(&mut self, number: u64) {
        let is_over = |overdue: &Overdue<_>| overdue.is_ended && !overdue.is_working;
        if self.overdue.get(&number).is_some_and(is_over)
            && let Some(Overdue { job, is_late, .. }) = self.overdue.remove(&number)
        {
            match is_late {
                true => self.reports.push_back(W::late(job)),
                false => self.left.push(job),
            }
        }
    }

    /// Whether one more job may begin.
    fn may_begin(&self) -> bool {
        self.places() < self.plan.concurrency && self.ending < self.plan.most()
    }

    /// How many handlers are running.
    fn places(&self) -> usize {
        self.running.len() + self.overdue.values().filter(|overdue| overdue.is_working).count()
    }

    /// Whether it holds nothing but suspects.
    fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.running.is_empty() && self.ending == 0
    }

    fn has_suspects(&self) -> bool {
        !matches!(self.alone, Alone::No) || !self.suspects.is_empty()
    }

    fn is_over(&self) -> bool {
        let is_idle = self.is_idle() && !self.has_suspects();
        let is_quiet = !self.takes.is_driven && !self.takes.is_asking;
        (self.is_closing || self.takes.is_dry) && is_idle && is_quiet
    }

    /// How many jobs to take now.
    fn room(&self) -> usize {
        if self.is_closing || self.takes.is_dry || self.has_suspects() {
            // A step in progress may still return some.
            return usize::from(self.takes.is_asking);
        }
        let Plan { concurrency, prefetch, .. } = self.plan;
        // If jobs run one at a time, the end of one has its result before the next is taken, which may need the same
        // documents.
        if concurrency == 1 && prefetch == 0 && self.ending > 0 {
            return 0;
        }
        match self.ready.len() * 2 > prefetch && !self.ready.is_empty() {
            true => 0,
            false => self.plan.most().saturating_sub(self.places() + self.ready.len()),
        }
    }

    /// How long to wait before a step on a job is sent again, after this many failures of the connection.
    fn pause(&mut self, tries: u32) -> Duration {
        let backoff = Backoff { most: AGAIN.most.min(self.plan.lease / 10), ..AGAIN };
        backoff.delay(tries, self.draws.next())
    }

    fn count(&mut self, reports: &[Report<W::Job>]) {
        reports.iter().for_each(|report| self.counts.count(report.kind));
    }

    fn succeeds(&mut self, steps: Steps) {
        let back = self.outage.reached(steps);
        self.reports.extend(back);
        if steps != Steps::Renewals && self.is_idle() {
            // No lease is left to renew.
            let back = self.outage.reached(Steps::Renewals);
            self.reports.extend(back);
        }
    }

    fn fails(&mut self, steps: Steps, error: &Error) {
        let away = self.outage.failed(steps, error);
        self.reports.extend(away);
    }
}

#[cfg(test)]
mod tests;
