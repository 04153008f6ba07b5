//! A run of a worker: takes jobs for its callers, up to a limit, and ends them in groups. It never calls a handler:
//! threads, event loops and hosts ask for the next job and say how it ended.
//!
//! - One call at a time asks the queue for as much work as there is room for, on the thread or task of a caller that
//!   waits for a job.
//! - An end is sent immediately if none is in progress. Otherwise it is sent together with all ends that gather until
//!   then, in one step in which each succeeds or fails on its own. If the connection fails, an end is sent again
//!   while the job is held.
//! - While as many ends have no result as the run may hold jobs, no job begins: a kill repeats what has ended so, and a
//!   handler that is faster than the server would make that any number.
//! - A suspect, which may be what ended the processes that had it, runs alone: the run takes nothing beside it, lets the
//!   jobs that it holds end first, and takes more when the suspect has ended.
//! - A handler on a thread cannot be ended from outside. After its timeout the run itself ends its job as a failure, so
//!   the lease is renewed no more; the job's place stays taken until the handler returns, and its late end is refused.
//! - A stopped run takes no more jobs, gives back those that have not begun, waits for those that are running, and
//!   gives these back too after the deadline.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::lease::Contact;
use super::outage::{Outage, Steps};
use super::poll_loop::{Drive, PollLoop, Source, Watch};
use super::report::{JobCounts, Report, ReportKind};
use super::settings::check_concurrency;
use super::stop::Stoppable;
use crate::client::{Async, Blocking};
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::runtime::backoff::Backoff;
use crate::runtime::sync::{lock, wait_until};
use crate::runtime::timer::{Scheduled, Timer};
use crate::runtime::waiters::Handle;
use crate::runtime::{fork, interrupt};

/// How long to wait before an unreachable server is tried again.
const AWAY: Backoff = Backoff { first: Duration::from_millis(100), most: Duration::from_secs(5) };

/// How long to wait before an end that failed with the connection is sent again, never more than a tenth of the
/// lease: as often as a failed renewal, which it replaces.
const AGAIN: Backoff = Backoff { first: Duration::from_millis(50), most: Duration::from_secs(2) };

/// How long an end is still retried after the deadline of a stop.
const LAST: Duration = Duration::from_secs(2);

/// How often one poll checks for what comes next. Each change asks for another check, and the reply of a step can
/// itself be a change, without end: when the tokio budget of the polling task is used up, the reply is not ready but
/// wakes the task immediately, and the budget is not renewed before that poll returns.
const LOOKS_MAX: usize = 8;

/// The report on an end that could not be sent by the time the worker had to stop.
pub(crate) const UNSENT: &str = "the server did not respond until the worker had to stop; the job comes again, unless it was done";

/// The report on an end of a handler that took longer than its timeout.
pub(crate) const LATE: &str = "its handler ended after the timeout, which had counted as a failure";

/// A queue as a run sees it: where jobs come from, and how they end.
pub(crate) trait Queue: Send + Sync + 'static {
    /// Takes jobs.
    type Source: Source<Item = Batch<Self::Job>> + Room + Send;
    /// A job that is held; a clone is the same job.
    type Job: Clone + Send + Sync + 'static;
    /// How a job is to end, ready to be sent.
    type End: Send + 'static;

    /// The most ends of one step.
    const ENDS_MAX: usize;

    /// Sends ends, and calls back with the result of each.
    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<Self::End>>,
        done: impl FnOnce(Vec<(Sending<Self::End>, Result<()>)>) + Send + 'static,
    );

    /// What the result of an end means; if `is_unsure`, the end may have been done before this result.
    fn ended(self: &Arc<Self>, end: Self::End, result: Result<()>, is_unsure: bool) -> Ended<Self>;

    /// The report on an end that could not be sent before the run was over.
    fn unsent(end: Self::End) -> Report<Self::Job>;

    /// The report on a job whose handler ended after its timeout.
    fn late(job: Self::Job) -> Report<Self::Job>;

    /// How long a handler may work on the job.
    fn timeout(job: &Self::Job) -> Option<Duration>;

    /// Calls back with the end of a job whose handler has taken too long. The handler is told that the job is lost.
    fn time_out(self: &Arc<Self>, job: Self::Job, then: impl FnOnce(Self::End) + Send + 'static);

    /// Tells how the renewals of the job's lease go.
    fn watch_renewals(job: &Self::Job, contact: Weak<dyn Contact>);

    /// Whether the job is a suspect.
    fn is_suspect(_: &Self::Job) -> bool {
        false
    }

    /// Notes that a suspect begins, and calls back with an error that is retryable, or says that the job is lost. Until
    /// then its lease may expire without being counted as a crash: it was not what ended the process.
    fn begin(self: &Arc<Self>, _: &Self::Job, then: impl FnOnce(Result<()>) + Send + 'static) {
        then(Ok(()));
    }

    /// Whether its handler ended the job itself.
    fn is_ended(_: &Self::Job) -> bool {
        false
    }

    /// The run is over and holds nothing: does what is left to do, then calls back.
    fn depart(&self, done: impl FnOnce() + Send + 'static) {
        done();
    }

    /// Calls back with an end that gives the job back, untried and available immediately. If its handler is running,
    /// it is told that the job is lost.
    fn give_back(self: &Arc<Self>, job: Self::Job, then: impl FnOnce(Self::End) + Send + 'static);
}

/// What a step took.
pub(crate) struct Batch<J> {
    pub(crate) jobs: Vec<J>,
    pub(crate) reports: Vec<Report<J>>,
}

/// Takes up to as many jobs as there is room for.
pub(crate) trait Room {
    fn set_room(&mut self, room: usize);
}

/// An end that is being sent.
pub(crate) struct Sending<E> {
    pub(crate) end: E,
    /// The number of its job, if that is overdue.
    overdue: Option<u64>,
    /// How often sending it has failed.
    tries: u32,
    /// A result was lost, so it may have been done.
    is_unsure: bool,
}

impl<E> Sending<E> {
    fn new(end: E) -> Self {
        Self { end, overdue: None, tries: 0, is_unsure: false }
    }
}

/// What the result of an end means.
pub(crate) enum Ended<Q: Queue + ?Sized> {
    /// The job is over.
    Done(Report<Q::Job>),
    /// It must end in this way instead.
    Instead(Q::End),
    /// The connection failed, and the same is to be sent again.
    Again(Q::End),
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
    /// What went well is reported too.
    pub(crate) tells_all: bool,
}

impl Plan {
    /// How many jobs it holds at most that have not ended, and how many ends may have no result when a job begins.
    fn most(&self) -> usize {
        self.concurrency.saturating_add(self.prefetch)
    }
}

/// What comes next.
pub(crate) enum Next<J> {
    /// A job to work on, and its number in the run.
    Job(u64, J),
    Report(Report<J>),
}

/// A job's place in a run, which is free for another job once this is dropped.
pub(crate) struct Place<Q: Queue> {
    pub(crate) run: Arc<Run<Q>>,
    pub(crate) number: u64,
}

impl<Q: Queue> Place<Q> {
    /// Whether the run has ended the job, after its timeout.
    pub(crate) fn is_overdue(&self) -> bool {
        self.run.is_overdue(self.number)
    }
}

impl<Q: Queue> Drop for Place<Q> {
    fn drop(&mut self) {
        self.run.leave(self.number);
    }
}

pub(crate) struct Run<Q: Queue> {
    queue: Arc<Q>,
    plan: Plan,
    /// Used by one caller at a time: the one that has set `is_taking`.
    takes: Mutex<PollLoop<Q::Source>>,
    state: Mutex<State<Q>>,
    changed: Condvar,
    /// Wakes waiting callers; the waker with which the loop waits.
    bell: Waker,
    process: u32,
}

struct State<Q: Queue> {
    /// Held, but not begun.
    ready: VecDeque<Q::Job>,
    /// Held, but to be begun when nothing else is.
    suspects: VecDeque<Q::Job>,
    alone: Alone,
    running: HashMap<u64, Running<Q::Job>>,
    /// Jobs that have ended by their timeout, though their handlers still work.
    overdue: HashMap<u64, Overdue<Q::Job>>,
    numbers: u64,
    reports: VecDeque<Report<Q::Job>>,
    /// What became of its jobs.
    counts: JobCounts,
    /// Ends that wait for the step in progress.
    gathered: Vec<Sending<Q::End>>,
    is_sending: bool,
    /// How many ends have no result yet.
    ending: usize,
    /// A caller drives the loop that takes jobs.
    is_taking: bool,
    /// That loop has a step in progress.
    is_asking: bool,
    /// The last step found nothing, and nothing has ended since it was sent.
    is_dry: bool,
    /// Something has ended since the step in progress was sent, so that step may have been too early to find it.
    is_stale: bool,
    /// What wakes the loop while it waits for work.
    sleeper: Option<Handle>,
    /// Jobs cannot be taken because the server is unreachable: how often it was tried, and when to try again.
    away: Option<(u32, Instant)>,
    outage: Outage,
    /// No more jobs are taken, because of a stop or an error that ended the run.
    is_closing: bool,
    /// The deadline of a stop.
    deadline: Option<Scheduled>,
    /// When that deadline passed.
    given_up: Option<Instant>,
    /// What ended the run.
    failed: Option<Error>,
    departure: Departure,
    /// Changes whenever waiting callers must check again.
    changes: u64,
    wakers: Vec<Waker>,
    alarm: Option<Scheduled>,
}

/// A job that is being worked on.
struct Running<J> {
    job: J,
    /// When its timeout is over, and the timer for that.
    limit: Option<(Instant, Scheduled)>,
}

/// A job whose timeout is over.
struct Overdue<J> {
    job: J,
    /// Its handler still works.
    is_working: bool,
    /// Its handler has ended it, after the timeout.
    is_late: bool,
    /// The end that the timeout gave it has a result.
    is_ended: bool,
}

/// Whether what a queue does at the end of a run has been done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departure {
    NotBegun,
    UnderWay,
    Done,
}

/// Whether a suspect has the run for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    No,
    /// It is noted that it begins.
    Beginning,
    /// It is held, or its end is being sent.
    Yes,
}

/// The result of a check of the run.
enum Look<J> {
    Next(Result<Option<Next<J>>>),
    /// Nothing to do until a change after this one, or until this time.
    Wait(u64, Option<Instant>),
}

struct Bell<Q: Queue>(Weak<Run<Q>>);

impl<Q: Queue> Wake for Bell<Q> {
    fn wake(self: Arc<Self>) {
        if let Some(run) = self.0.upgrade() {
            run.notify(lock(&run.state));
        }
    }
}

impl<Q: Queue> Run<Q> {
    pub(crate) fn new(queue: Arc<Q>, mut takes: PollLoop<Q::Source>, plan: Plan) -> Arc<Self> {
        let refused = check_concurrency(plan.concurrency).and_then(|()| Timer::ensure()).err();
        Arc::new_cyclic(|run: &Weak<Self>| {
            takes.watch(run.clone());
            Self {
                queue,
                plan,
                takes: Mutex::new(takes),
                state: Mutex::new(State::new(refused)),
                changed: Condvar::new(),
                bell: Arc::new(Bell(run.clone())).into(),
                process: std::process::id(),
            }
        })
    }

    pub(crate) fn concurrency(&self) -> usize {
        self.plan.concurrency
    }

    pub(crate) fn counts(&self) -> JobCounts {
        lock(&self.state).counts
    }

    /// Wakes waiting callers, so that they check again, and the loop that waits for work if there is something else to
    /// do: the caller that drives it may be the only one.
    fn notify(&self, mut state: MutexGuard<'_, State<Q>>) {
        state.changes += 1;
        let wakers = std::mem::take(&mut state.wakers);
        let alarm = state.alarm.take();
        let sleeper = match state.may_sleep(&self.plan) {
            true => None,
            false => state.sleeper.take(),
        };
        drop(state);
        drop(alarm);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }

    /// Checks for what comes next, and drives the loop that takes jobs if no other caller does.
    fn look(self: &Arc<Self>, context: &mut Context<'_>) -> Look<Q::Job>
    where
        <Q::Source as Source>::Mode: Drive,
    {
        loop {
            let mut state = lock(&self.state);
            if !state.is_closing && self.plan.until.is_some_and(|until| until <= Instant::now()) {
                state.is_closing = true;
                self.give_back_unbegun(state);
                continue;
            }
            if let Some(suspect) = state.next_suspect() {
                drop(state);
                self.begin(suspect, 0);
                continue;
            }
            let changes = state.changes;
            if let Some(next) = state.next(&self.plan) {
                return Look::Next(Ok(Some(next)));
            }
            if state.is_over() {
                // An unreachable server is not waited for.
                let is_reached = state.failed.is_none() && !state.outage.has_begun();
                match state.departure {
                    Departure::NotBegun if is_reached => {
                        state.departure = Departure::UnderWay;
                        drop(state);
                        self.depart();
                        continue;
                    }
                    Departure::UnderWay => return Look::Wait(changes, None),
                    Departure::NotBegun | Departure::Done => {}
                }
                let failed = state.failed.take();
                drop(state);
                lock(&self.takes).stop_listening();
                return Look::Next(failed.map_or(Ok(None), Err));
            }
            let now = Instant::now();
            let again = state.away.map(|(_, until)| until).filter(|until| *until > now);
            let room = match again {
                Some(_) => 0,
                None => state.room(&self.plan),
            };
            if room == 0 || state.is_taking {
                let is_idle = state.is_closing && !state.is_taking;
                drop(state);
                if is_idle {
                    // A listener is woken in place of another one.
                    lock(&self.takes).stop_listening();
                }
                return Look::Wait(changes, again);
            }
            state.is_taking = true;
            state.is_stale &= state.is_asking;
            drop(state);
            let mut takes = lock(&self.takes);
            takes.source.set_room(room);
            let taken = takes.poll(context);
            let (is_asking, is_held_up) = (takes.is_asking(), takes.is_held_up());
            drop(takes);
            let mut state = lock(&self.state);
            (state.is_taking, state.is_asking) = (false, is_asking);
            if taken.is_ready() {
                state.sleeper = None;
            }
            match taken {
                Poll::Pending => return Look::Wait(changes, None),
                Poll::Ready(Some(Err(error))) if error.kind() == ErrorKind::Cancelled => {
                    self.notify(state);
                    return Look::Next(Err(error));
                }
                Poll::Ready(None) if is_held_up => self.notify(state),
                Poll::Ready(taken) => self.take_in(state, taken),
            }
        }
    }

    fn depart(self: &Arc<Self>) {
        let run = self.clone();
        self.queue.depart(move || {
            let mut state = lock(&run.state);
            state.departure = Departure::Done;
            run.notify(state);
        });
    }

    fn take_in(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State<Q>>,
        taken: Option<Result<Batch<Q::Job>>>,
    ) {
        match taken {
            None => state.is_dry = !state.is_stale,
            Some(Ok(batch)) => {
                state.taken();
                let contact: Weak<dyn Contact> = Arc::downgrade(self) as Weak<dyn Contact>;
                batch.jobs.iter().for_each(|job| Q::watch_renewals(job, contact.clone()));
                let (suspects, jobs): (Vec<_>, Vec<_>) =
                    batch.jobs.into_iter().partition(Q::is_suspect);
                state.ready.extend(jobs);
                state.suspects.extend(suspects);
                state.count(&batch.reports);
                state.reports.extend(batch.reports);
            }
            Some(Err(error)) if self.plan.drains || error.is_final() => {
                (state.failed, state.is_closing) = (Some(error), true);
            }
            Some(Err(error)) => {
                let failures = state.away.map_or(0, |(failures, _)| failures);
                state.away = Some((failures + 1, Instant::now() + AWAY.delay(failures)));
                state.fails(Steps::Takes, &error);
            }
        }
        self.give_back_unbegun(state);
    }

    /// Gives back jobs that have not begun, if the run must not begin them any more.
    fn give_back_unbegun(self: &Arc<Self>, mut state: MutexGuard<'_, State<Q>>) {
        let unbegun = match state.is_closing {
            true => state.take_unbegun(),
            false => VecDeque::new(),
        };
        state.ending += unbegun.len();
        self.notify(state);
        self.give_back(unbegun);
    }

    /// Hands a suspect out once it is noted that it begins.
    fn begin(self: &Arc<Self>, job: Q::Job, tries: u32) {
        let (run, suspect) = (self.clone(), job.clone());
        self.queue.begin(&job, move |begun| {
            let mut state = lock(&run.state);
            let is_lost = match begun {
                Err(error) if error.retry() != Retry::Never && !state.is_closing => {
                    drop(state);
                    let delay = run.pause().delay(tries);
                    return Timer::detached(delay, move || run.begin(suspect, tries + 1));
                }
                begun => begun.is_err(),
            };
            state.alone = Alone::Yes;
            let lost = match is_lost {
                // Its end says so.
                true => Some(suspect),
                false => {
                    state.ready.push_back(suspect);
                    None
                }
            };
            state.ending += usize::from(is_lost);
            run.give_back_unbegun(state);
            run.give_back(lost);
        });
    }

    fn give_back(self: &Arc<Self>, jobs: impl IntoIterator<Item = Q::Job>) {
        for job in jobs {
            let run = self.clone();
            self.queue.give_back(job, move |end| run.add(Sending::new(end)));
        }
    }

    /// Ends a job of the run in the way that `prepare` calls back with. Nothing happens to a job that was given back.
    pub(crate) fn end(
        self: &Arc<Self>,
        number: u64,
        prepare: impl FnOnce(Box<dyn FnOnce(Q::End) + Send>),
    ) {
        if !self.is_own() {
            return;
        }
        self.is_overdue(number);
        if self.remove(number, true) {
            let run = self.clone();
            prepare(Box::new(move |end| run.add(Sending::new(end))));
        }
    }

    /// A job of the run is over, or is no longer worked on.
    pub(crate) fn leave(&self, number: u64) {
        if self.is_own() {
            self.remove(number, false);
        }
    }

    /// Whether the job was running. Makes room for another one.
    fn remove(&self, number: u64, is_ending: bool) -> bool {
        let mut state = lock(&self.state);
        if let Some(overdue) = state.overdue.get_mut(&number) {
            overdue.is_working = false;
            overdue.is_late |= is_ending;
            let left = state.take_overdue(number);
            self.notify(state);
            drop(left);
            return false;
        }
        let Some(job) = state.running.remove(&number) else { return false };
        state.ending += usize::from(is_ending);
        (state.is_dry, state.is_stale) = (false, true);
        self.notify(state);
        drop(job);
        true
    }

    /// Whether the job has ended by its timeout, though its handler still works.
    pub(crate) fn is_overdue(self: &Arc<Self>, number: u64) -> bool {
        if !self.is_own() {
            return false;
        }
        let is_over = |running: &Running<Q::Job>| {
            running.limit.as_ref().is_some_and(|(until, _)| *until <= Instant::now())
        };
        let is_late = lock(&self.state).running.get(&number).is_some_and(is_over);
        if is_late {
            // Its timer is just about to say so.
            self.time_out(number);
        }
        lock(&self.state).overdue.contains_key(&number)
    }

    /// Ends a job whose handler has taken too long.
    fn time_out(self: &Arc<Self>, number: u64) {
        let mut state = lock(&self.state);
        let Some(Running { job, limit }) = state.running.remove(&number) else { return };
        if Q::is_ended(&job) {
            // Its handler ended it by itself, and may go on.
            state.running.insert(number, Running { job, limit });
            return;
        }
        let held = job.clone();
        let overdue = Overdue { job: held, is_working: true, is_late: false, is_ended: false };
        state.overdue.insert(number, overdue);
        state.ending += 1;
        (state.is_dry, state.is_stale) = (false, true);
        self.notify(state);
        drop(limit);
        let run = self.clone();
        self.queue.time_out(job, move |end| {
            run.add(Sending { overdue: Some(number), ..Sending::new(end) });
        });
    }

    fn add(self: &Arc<Self>, end: Sending<Q::End>) {
        lock(&self.state).gathered.push(end);
        self.send();
    }

    /// Sends the ends that have gathered, unless others are being sent.
    fn send(self: &Arc<Self>) {
        loop {
            let mut state = lock(&self.state);
            if state.is_sending || state.gathered.is_empty() {
                return;
            }
            state.is_sending = true;
            let count = state.gathered.len().min(Q::ENDS_MAX);
            let ends = state.gathered.drain(..count).collect();
            drop(state);
            // The later of the two continues the loop: an embedded engine calls back before this returns.
            let is_second = Arc::new(AtomicBool::new(false));
            let (run, first) = (self.clone(), is_second.clone());
            self.queue.send(ends, move |results| {
                run.sent(results);
                if first.swap(true, Ordering::AcqRel) {
                    run.send();
                }
            });
            if !is_second.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }

    fn sent(self: &Arc<Self>, results: Vec<(Sending<Q::End>, Result<()>)>) {
        let (mut reports, mut again, mut unreached) = (Vec::new(), Vec::new(), None);
        let mut ended = Vec::new();
        let pause = self.pause();
        let is_late = lock(&self.state).given_up.is_some_and(|since| since.elapsed() >= LAST);
        for (Sending { end, overdue, tries, is_unsure }, result) in results {
            let error = result.as_ref().err().map(Error::copy);
            match self.queue.ended(end, result, is_unsure) {
                Ended::Done(mut report) => {
                    // No handler has raised anything that would tell of it.
                    if overdue.is_some() && report.kind == ReportKind::Retried {
                        let late = Error::new(ErrorKind::Timeout, &*report.message);
                        report.error = Some(late);
                    }
                    reports.push(report);
                    ended.extend(overdue);
                }
                Ended::Instead(end) => again.push(Sending { overdue, ..Sending::new(end) }),
                Ended::Again(end) if is_late => {
                    reports.push(Q::unsent(end));
                    ended.extend(overdue);
                }
                Ended::Again(end) => {
                    let is_lost = error.as_ref().is_some_and(|e| e.retry() == Retry::Unknown);
                    let is_unsure = is_unsure || is_lost;
                    unreached = error;
                    let end = Sending { end, overdue, tries: tries + 1, is_unsure };
                    let run = self.clone();
                    Timer::detached(pause.delay(tries), move || run.add(end));
                }
            }
        }
        let mut state = lock(&self.state);
        state.is_sending = false;
        state.ending -= reports.len();
        (state.is_dry, state.is_stale) = (false, true);
        state.gathered.append(&mut again);
        state.count(&reports);
        reports.retain(|report| self.plan.tells_all || report.kind.is_failure());
        state.reports.extend(reports);
        let mut left = Vec::new();
        for number in ended {
            if let Some(overdue) = state.overdue.get_mut(&number) {
                overdue.is_ended = true;
                left.extend(state.take_overdue(number));
            }
        }
        match unreached {
            Some(error) => state.fails(Steps::Ends, &error),
            None => state.succeeds(Steps::Ends),
        }
        self.notify(state);
        drop(left);
    }

    /// How long to wait before a step on a job that failed with the connection is sent again.
    fn pause(&self) -> Backoff {
        Backoff { most: AGAIN.most.min(self.plan.lease / 10), ..AGAIN }
    }

    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    fn check_process(&self) -> Result<()> {
        fork::check(
            self.is_own(),
            "a run belongs to the process that began it; begin one in the child",
        )
    }
}

impl<Q: Queue> Run<Q>
where
    Q::Source: Source<Mode = Blocking>,
{
    /// What comes next, or `None` when the run is over. Any number of threads may wait here.
    pub(crate) fn next(self: &Arc<Self>) -> Result<Option<Next<Q::Job>>> {
        self.check_process()?;
        loop {
            let (changes, until) = match self.look(&mut Context::from_waker(Waker::noop())) {
                Look::Next(next) => {
                    if let Ok(Some(Next::Job(number, job))) = &next {
                        self.limit(*number, job);
                    }
                    return next;
                }
                Look::Wait(changes, until) => (changes, until),
            };
            interrupt::wait_in_slices(until, |until| {
                let mut state = lock(&self.state);
                while state.changes == changes && until.is_none_or(|until| until > Instant::now()) {
                    state = wait_until(&self.changed, state, until);
                }
                state.changes != changes
            })?;
        }
    }
}

impl<Q: Queue> Run<Q> {
    /// Sets the timer of a job's timeout.
    fn limit(self: &Arc<Self>, number: u64, job: &Q::Job) {
        let Some(end) = Q::timeout(job).and_then(|timeout| Instant::now().checked_add(timeout))
        else {
            return;
        };
        let run = Arc::downgrade(self);
        let mut state = lock(&self.state);
        if let Some(running) = state.running.get_mut(&number) {
            let alarm = Timer::at(end, move || {
                if let Some(run) = run.upgrade() {
                    run.time_out(number);
                }
            });
            running.limit = Some((end, alarm));
        }
    }
}

impl<Q: Queue> Run<Q>
where
    Q::Source: Source<Mode = Async>,
{
    /// What comes next, or `None` when the run is over.
    pub(crate) fn poll_next(
        self: &Arc<Self>,
        context: &Context<'_>,
    ) -> Poll<Result<Option<Next<Q::Job>>>> {
        self.check_process()?;
        for _ in 0..LOOKS_MAX {
            match self.look(&mut Context::from_waker(&self.bell)) {
                Look::Next(next) => return Poll::Ready(next),
                Look::Wait(changes, until) => {
                    let mut state = lock(&self.state);
                    if state.changes == changes {
                        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                            state.wakers.push(context.waker().clone());
                        }
                        let bell = self.bell.clone();
                        let alarm = until.map(|until| Timer::at(until, move || bell.wake()));
                        let before = std::mem::replace(&mut state.alarm, alarm);
                        drop(state);
                        drop(before);
                        return Poll::Pending;
                    }
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<Q: Queue> Stoppable for Run<Q> {
    fn stop(self: Arc<Self>, deadline: Option<Instant>) {
        if !self.is_own() {
            return;
        }
        let mut state = lock(&self.state);
        state.is_closing = true;
        let before = state.deadline.take();
        let is_now = deadline.is_some_and(|deadline| deadline <= Instant::now());
        if let (Some(deadline), false) = (deadline, is_now) {
            let run = self.clone();
            state.deadline = Some(Timer::at(deadline, move || run.give_up()));
        }
        self.give_back_unbegun(state);
        drop(before);
        if is_now {
            self.give_up();
        }
    }
}

impl<Q: Queue> Run<Q> {
    /// Gives back the jobs that are running.
    fn give_up(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.given_up.get_or_insert_with(Instant::now);
        let mut running = std::mem::take(&mut state.running);
        running.retain(|_, running| !Q::is_ended(&running.job));
        state.ending += running.len();
        self.notify(state);
        self.give_back(running.into_values().map(|running| running.job));
    }
}

impl<Q: Queue> Drop for Run<Q> {
    /// Gives back the jobs that have not begun, when a run is dropped without a stop.
    fn drop(&mut self) {
        if !self.is_own() {
            return;
        }
        let unbegun = lock(&self.state).take_unbegun();
        for job in unbegun {
            let queue = self.queue.clone();
            self.queue.give_back(job, move |end| queue.send(vec![Sending::new(end)], |_| ()));
        }
    }
}

impl<Q: Queue> Contact for Run<Q> {
    fn renewed(&self, error: Option<&Error>) {
        if !self.is_own() {
            return;
        }
        let mut state = lock(&self.state);
        let before = state.reports.len();
        match error {
            Some(error) => state.fails(Steps::Renewals, error),
            None => state.succeeds(Steps::Renewals),
        }
        if state.reports.len() > before {
            self.notify(state);
        }
    }
}

impl<Q: Queue> Watch for Run<Q> {
    fn may_take(&self) -> bool {
        let state = lock(&self.state);
        state.may_sleep(&self.plan) && !state.has_suspects()
    }

    fn may_sleep(&self, sleeper: Handle) -> bool {
        let mut state = lock(&self.state);
        state.taken();
        state.sleeper = Some(sleeper);
        state.may_sleep(&self.plan)
    }
}

/// Defines the public run of the jobs of a queue. The docs are those of the type.
macro_rules! runs {
    ($(#[$docs:meta])+ $run:ident of $queue:ident, $job:ident) => {
        $(#[$docs])+
        pub struct $run<M: $crate::client::Mode = $crate::client::Blocking>(
            std::sync::Arc<$crate::worker::run::Run<$queue<M>>>,
        );

        impl<M: $crate::client::Mode> $run<M> {
            /// How many jobs it hands out at a time, as the worker's `concurrency` says.
            pub fn concurrency(&self) -> usize {
                self.0.concurrency()
            }

            /// What has become of its jobs so far.
            pub fn counts(&self) -> $crate::worker::report::JobCounts {
                self.0.counts()
            }

            /// The number of a job of this run.
            fn number_of(&self, job: &$job<M>) -> $crate::error::Result<u64> {
                job.check_process()?;
                match &job.place {
                    Some(place) if std::sync::Arc::ptr_eq(&place.run, &self.0) => Ok(place.number),
                    _ => Err($crate::error::invalid("the job is none of this run")),
                }
            }

            fn event(
                &self,
                next: $crate::worker::run::Next<<$queue<M> as $crate::worker::run::Queue>::Job>,
            ) -> $crate::worker::report::Event<$job<M>> {
                match next {
                    $crate::worker::run::Next::Job(number, job) => {
                        let place = Some($crate::worker::run::Place { run: self.0.clone(), number });
                        $crate::worker::report::Event::Job($job::new(job, place))
                    }
                    $crate::worker::run::Next::Report(report) => {
                        $crate::worker::report::Event::Report(report.map(|job| $job::new(job, None)))
                    }
                }
            }
        }

        impl $run<$crate::client::Blocking> {
            /// The next job, or what became of one; `None` when the run is over. The call waits while there is no
            /// job, and while `concurrency` jobs are running. Any number of threads may wait here.
            ///
            /// # Errors
            /// The non-retryable error that ended the run, for one of the callers; `CANCELLED` for an interrupt,
            /// after which the run continues.
            pub fn next(&self) -> $crate::error::Result<Option<$crate::worker::report::Event<$job>>> {
                Ok(self.0.next()?.map(|next| self.event(next)))
            }
        }

        impl $run<$crate::client::Async> {
            /// The next job, or what became of one; `None` when the run is over. The call is pending while there is
            /// no job, and while `concurrency` jobs are running.
            ///
            /// # Errors
            /// The non-retryable error that ended the run, for one of the callers.
            pub async fn next(
                &self,
            ) -> $crate::error::Result<Option<$crate::worker::report::Event<$job<$crate::client::Async>>>> {
                std::future::poll_fn(|context| self.poll_next(context)).await
            }

            /// [`next`](Self::next) for a future written by hand.
            pub fn poll_next(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<
                $crate::error::Result<Option<$crate::worker::report::Event<$job<$crate::client::Async>>>>,
            > {
                let next = std::task::ready!(self.0.poll_next(context))?;
                std::task::Poll::Ready(Ok(next.map(|next| self.event(next))))
            }
        }

        impl $run<$crate::client::Blocking> {
            /// Ends a job as its handler says.
            pub(super) fn work<R: super::Outcome>(
                &self,
                job: $job,
                handler: impl FnOnce(&$job) -> R,
            ) {
                // It is a job of this run, so that only the child of a fork is refused.
                drop(self.end(&job, handler(&job).outcome()));
            }
        }

        impl $run<$crate::client::Async> {
            /// Ends a job as the future of its handler says, or as one that took too long or was lost.
            pub(super) async fn work<R: super::Outcome>(
                &self,
                job: $job<$crate::client::Async>,
                handler: impl AsyncFnOnce(&$job<$crate::client::Async>) -> R,
            ) {
                let outcome = job.within(handler(&job)).await.and_then(super::Outcome::outcome);
                drop(self.end(&job, outcome));
            }
        }

        impl<M: $crate::client::Mode> Clone for $run<M> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<M: $crate::client::Mode> std::fmt::Debug for $run<M> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($run)).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use runs;

impl<Q: Queue> State<Q> {
    /// A run that is refused is over before it takes anything.
    fn new(refused: Option<Error>) -> Self {
        Self {
            ready: VecDeque::new(),
            suspects: VecDeque::new(),
            alone: Alone::No,
            running: HashMap::new(),
            overdue: HashMap::new(),
            numbers: 0,
            reports: VecDeque::new(),
            counts: JobCounts::default(),
            gathered: Vec::new(),
            is_sending: false,
            ending: 0,
            is_taking: false,
            is_asking: false,
            is_dry: false,
            is_stale: false,
            sleeper: None,
            away: None,
            outage: Outage::default(),
            is_closing: refused.is_some(),
            deadline: None,
            given_up: None,
            failed: refused,
            departure: Departure::NotBegun,
            changes: 0,
            wakers: Vec::new(),
            alarm: None,
        }
    }

    fn next(&mut self, plan: &Plan) -> Option<Next<Q::Job>> {
        if let Some(report) = self.reports.pop_front() {
            return Some(Next::Report(report));
        }
        if !self.may_begin(plan) {
            return None;
        }
        let job = self.ready.pop_front()?;
        self.numbers += 1;
        self.running.insert(self.numbers, Running { job: job.clone(), limit: None });
        Some(Next::Job(self.numbers, job))
    }

    /// Whether one more job may begin.
    fn may_begin(&self, plan: &Plan) -> bool {
        self.places() < plan.concurrency && self.ending < plan.most()
    }

    /// Whether the caller that takes jobs may wait for work, as nothing else is to be done.
    fn may_sleep(&self, plan: &Plan) -> bool {
        let has_job = !self.ready.is_empty() && self.may_begin(plan);
        !self.is_closing && self.reports.is_empty() && !has_job
    }

    /// The suspect to begin now, as the run holds nothing else.
    fn next_suspect(&mut self) -> Option<Q::Job> {
        if !self.is_idle() {
            return None;
        }
        if self.alone == Alone::Yes {
            self.alone = Alone::No;
        }
        if self.alone == Alone::Beginning || self.is_asking || self.is_closing {
            return None;
        }
        let suspect = self.suspects.pop_front()?;
        self.alone = Alone::Beginning;
        Some(suspect)
    }

    fn take_unbegun(&mut self) -> VecDeque<Q::Job> {
        let mut unbegun = std::mem::take(&mut self.ready);
        unbegun.append(&mut self.suspects);
        unbegun
    }

    /// Whether it holds nothing but suspects.
    fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.running.is_empty() && self.ending == 0
    }

    fn has_suspects(&self) -> bool {
        self.alone != Alone::No || !self.suspects.is_empty()
    }

    fn count(&mut self, reports: &[Report<Q::Job>]) {
        reports.iter().for_each(|report| self.counts.count(report.kind));
    }

    fn is_over(&self) -> bool {
        let is_idle = self.is_idle() && !self.has_suspects();
        let is_quiet = !self.is_taking && !self.is_asking;
        (self.is_closing || self.is_dry) && is_idle && is_quiet
    }

    /// How many jobs to take now.
    fn room(&self, plan: &Plan) -> usize {
        if self.is_closing || self.is_dry || self.has_suspects() {
            // A step in progress may still bring some.
            return usize::from(self.is_asking);
        }
        // If jobs run one at a time, an end comes before the next job, which may need the same documents.
        if plan.concurrency == 1 && plan.prefetch == 0 && self.ending > 0 {
            return 0;
        }
        match self.ready.len() * 2 > plan.prefetch && !self.ready.is_empty() {
            true => 0,
            false => {
                let held = self.places() + self.ready.len();
                plan.most().saturating_sub(held)
            }
        }
    }

    /// How many handlers are at work.
    fn places(&self) -> usize {
        self.running.len() + self.overdue.values().filter(|overdue| overdue.is_working).count()
    }

    /// Takes an overdue job that neither its handler nor its end needs any more. If its handler ended it, that is
    /// reported, after the outcome of the job.
    fn take_overdue(&mut self, number: u64) -> Option<Q::Job> {
        let is_over = |overdue: &&Overdue<_>| overdue.is_ended && !overdue.is_working;
        self.overdue.get(&number).filter(is_over)?;
        let Overdue { job, is_late, .. } = self.overdue.remove(&number)?;
        if is_late {
            self.reports.push_back(Q::late(job.clone()));
        }
        Some(job)
    }

    /// A step that takes jobs was done.
    fn taken(&mut self) {
        self.away = None;
        self.succeeds(Steps::Takes);
    }

    fn succeeds(&mut self, steps: Steps) {
        let back = self.outage.reached(steps);
        self.reports.extend(back);
        if steps != Steps::Renewals && self.is_idle() {
            // Nothing is left that is renewed.
            let back = self.outage.reached(Steps::Renewals);
            self.reports.extend(back);
        }
    }

    fn fails(&mut self, steps: Steps, error: &Error) {
        let away = self.outage.failed(steps, error);
        self.reports.extend(away);
    }
}
