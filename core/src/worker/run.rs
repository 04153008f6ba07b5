//! A run of a worker: takes jobs for its callers, up to a limit, and ends them in groups. It never calls a handler:
//! threads, event loops and hosts ask for the next job and say how it ended.
//!
//! What a run holds and does next is decided by its [`Machine`]; here are the lock around it, the calls, the timer and
//! those that wait.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::lease::Contact;
pub(crate) use super::machine::{Batch, Ended, Plan, Sending, Work};
use super::machine::{Machine, Next as Step, Taken, Todo};
use super::poll_loop::{Drive, PollLoop, Source, Watch};
use super::report::{JobCounts, Report};
use super::settings::check_concurrency;
use super::stop::Stoppable;
use crate::client::{Async, Blocking};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync::{lock, wait_until};
use crate::runtime::timer::{Scheduled, Timer};
use crate::runtime::waiters::Handle;
use crate::runtime::{fork, interrupt, random};

/// How often one poll checks for what comes next. Each change asks for another check, and the reply of a step can
/// itself be a change, without end: when the tokio budget of the polling task is used up, the reply is not ready but
/// wakes the task immediately, and the budget is not renewed before that poll returns.
const LOOKS_MAX: usize = 8;

/// The report on an end that could not be sent by the time the worker had to stop.
pub(crate) const UNSENT: &str = "the server did not respond until the worker had to stop; the job comes again, unless it was done";

/// The report on an end of a handler that took longer than its timeout.
pub(crate) const LATE: &str = "its handler ended after the timeout, which had counted as a failure";

/// A queue as a run sees it: where jobs come from, and how they end.
pub(crate) trait Queue: Work {
    /// Takes jobs.
    type Source: Source<Item = Batch<Self::Job>> + Room + Send;

    /// Sends ends, and calls back with the result of each.
    fn send(
        self: &Arc<Self>,
        ends: Vec<Sending<Self::End>>,
        done: impl FnOnce(Vec<(Sending<Self::End>, Result<()>)>) + Send + 'static,
    );

    /// What the result of an end means; if `is_unsure`, the end may have been done before this result.
    fn ended(self: &Arc<Self>, end: Self::End, result: Result<()>, is_unsure: bool) -> Ended<Self>;

    /// How long a handler may work on the job.
    fn timeout(job: &Self::Job) -> Option<Duration>;

    /// Calls back with the end of a job whose handler has taken too long. The handler is told that the job is lost.
    fn time_out(self: &Arc<Self>, job: Self::Job, then: impl FnOnce(Self::End) + Send + 'static);

    /// Tells how the renewals of the job's lease go.
    fn watch_renewals(job: &Self::Job, contact: Weak<dyn Contact>);

    /// Notes that a suspect begins, and calls back with an error that is retryable, or says that the job is lost. Until
    /// then its lease may expire without being counted as a crash: it was not what ended the process.
    fn begin(self: &Arc<Self>, job: &Self::Job, then: impl FnOnce(Result<()>) + Send + 'static);

    /// The run is over and holds nothing: does what is left to do, then calls back.
    fn depart(&self, done: impl FnOnce() + Send + 'static) {
        done();
    }

    /// Calls back with an end that gives the job back, untried and available immediately. If its handler is running,
    /// it is told that the job is lost.
    fn give_back(self: &Arc<Self>, job: Self::Job, then: impl FnOnce(Self::End) + Send + 'static);
}

/// Takes up to as many jobs as there is room for.
pub(crate) trait Room {
    fn set_room(&mut self, room: usize);
}

/// What a run hands out.
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
    /// Used by one caller at a time: the one that was told to take jobs.
    takes: Mutex<PollLoop<Q::Source>>,
    state: Mutex<State<Q>>,
    changed: Condvar,
    /// Wakes waiting callers; the waker with which the loop waits.
    bell: Waker,
    process: u32,
}

struct State<Q: Queue> {
    machine: Machine<Q>,
    /// Somebody does what the machine says is to be done, one thing after the other.
    is_performing: bool,
    /// What wakes the loop while it waits for work.
    sleeper: Option<Handle>,
    /// Changes whenever waiting callers must check again.
    changes: u64,
    wakers: Vec<Waker>,
    /// When the machine is woken next, or earlier.
    alarm: Option<(Instant, Scheduled)>,
}

/// What is to be woken after a change, with no lock.
struct Woken {
    has_changed: bool,
    wakers: Vec<Waker>,
    sleeper: Option<Handle>,
    /// An alarm that is not needed any more.
    _alarm: Option<(Instant, Scheduled)>,
}

/// The result of a check of the run.
enum Look<J> {
    Next(Result<Option<Next<J>>>),
    /// Nothing to do until a change after this one.
    Wait(u64),
}

struct Bell<Q: Queue>(Weak<Run<Q>>);

impl<Q: Queue> Wake for Bell<Q> {
    fn wake(self: Arc<Self>) {
        if let Some(run) = self.0.upgrade() {
            run.update(Machine::look_again);
        }
    }
}

impl<Q: Queue> Run<Q> {
    pub(crate) fn new(queue: Arc<Q>, mut takes: PollLoop<Q::Source>, plan: Plan) -> Arc<Self> {
        let refused = check_concurrency(plan.concurrency).and_then(|()| Timer::ensure()).err();
        let state = State {
            machine: Machine::new(plan, random::quick(), refused),
            is_performing: false,
            sleeper: None,
            changes: 0,
            wakers: Vec::new(),
            alarm: None,
        };
        let run = Arc::new_cyclic(|run: &Weak<Self>| {
            takes.watch(run.clone());
            Self {
                queue,
                plan,
                takes: Mutex::new(takes),
                state: Mutex::new(state),
                changed: Condvar::new(),
                bell: Arc::new(Bell(run.clone())).into(),
                process: std::process::id(),
            }
        });
        run.update(|_| ());
        run
    }

    pub(crate) fn concurrency(&self) -> usize {
        self.plan.concurrency
    }

    pub(crate) fn counts(&self) -> JobCounts {
        lock(&self.state).machine.counts()
    }

    /// Feeds the machine, and does what is to be done then.
    fn update<T>(self: &Arc<Self>, change: impl FnOnce(&mut Machine<Q>) -> T) -> T {
        let mut state = lock(&self.state);
        let output = change(&mut state.machine);
        self.go_on(state);
        output
    }

    /// Wakes those that wait, and does what the machine says, unless somebody else does it: a call may call back before
    /// it returns.
    fn go_on(self: &Arc<Self>, mut state: MutexGuard<'_, State<Q>>) {
        let woken = self.woken(&mut state);
        let performs = !state.is_performing && state.machine.has_todo();
        state.is_performing |= performs;
        drop(state);
        self.wake(woken);
        if performs {
            self.perform();
        }
    }

    /// What has to be woken by now.
    fn woken(self: &Arc<Self>, state: &mut State<Q>) -> Woken {
        let next = state.machine.next_wake();
        let is_late = |next| state.alarm.as_ref().is_none_or(|(at, _)| next < *at);
        let alarm = next.filter(|next| is_late(*next)).and_then(|next| {
            let run = Arc::downgrade(self);
            let alarm = Timer::at(next, move || {
                if let Some(run) = run.upgrade() {
                    run.ring();
                }
            });
            state.alarm.replace((next, alarm))
        });
        Woken { _alarm: alarm, ..state.woken() }
    }

    fn wake(&self, woken: Woken) {
        if woken.has_changed {
            self.changed.notify_all();
        }
        woken.wakers.into_iter().for_each(Waker::wake);
        if let Some(sleeper) = woken.sleeper {
            sleeper.wake();
        }
    }

    /// The alarm has gone off.
    fn ring(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.alarm = None;
        state.machine.wake(Instant::now());
        self.go_on(state);
    }

    fn perform(self: &Arc<Self>) {
        /// A callback of a user that panics must not end the work of others.
        struct Performing<'a, Q: Queue>(&'a Run<Q>);

        impl<Q: Queue> Drop for Performing<'_, Q> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    lock(&self.0.state).is_performing = false;
                }
            }
        }

        let _performing = Performing(self);
        loop {
            let mut state = lock(&self.state);
            let Some(todo) = state.machine.todo() else {
                state.is_performing = false;
                return;
            };
            drop(state);
            self.perform_one(todo);
        }
    }

    fn perform_one(self: &Arc<Self>, todo: Todo<Q>) {
        let run = self.clone();
        match todo {
            Todo::Send(ends) => self.queue.send(ends, move |results| run.sent(results)),
            Todo::Begin(job) => self.queue.begin(&job.clone(), move |begun| {
                run.update(|machine| machine.begun(Instant::now(), job, begun));
            }),
            Todo::GiveBack(job) => self.queue.give_back(job, move |end| run.add(Sending::new(end))),
            Todo::TimeOut(number, job) => {
                self.queue.time_out(job, move |end| run.add(Sending::overdue(number, end)));
            }
            Todo::Depart => self.queue.depart(move || run.update(Machine::departed)),
        }
    }

    fn add(self: &Arc<Self>, end: Sending<Q::End>) {
        self.update(|machine| machine.add(end));
    }

    fn sent(self: &Arc<Self>, results: Vec<(Sending<Q::End>, Result<()>)>) {
        let ended = results.into_iter().map(|(sending, result)| {
            let is_unsure = sending.is_unsure;
            sending.map(|end| self.queue.ended(end, result, is_unsure))
        });
        let ended = ended.collect();
        self.update(|machine| machine.sent(Instant::now(), ended));
    }

    /// Checks for what comes next, and drives the loop that takes jobs if no other caller does.
    fn look(self: &Arc<Self>, context: &mut Context<'_>) -> Look<Q::Job>
    where
        <Q::Source as Source>::Mode: Drive,
    {
        loop {
            let mut state = lock(&self.state);
            let next = state.machine.next(Instant::now());
            let changes = state.changes;
            self.go_on(state);
            match next {
                Step::Job(number, job) => return Look::Next(Ok(Some(Next::Job(number, job)))),
                Step::Report(report) => return Look::Next(Ok(Some(Next::Report(report)))),
                Step::Over(failed) => {
                    lock(&self.takes).stop_listening();
                    return Look::Next(failed.map_or(Ok(None), Err));
                }
                Step::Wait { is_idle } => {
                    if is_idle {
                        // A listener is woken in place of another one.
                        lock(&self.takes).stop_listening();
                    }
                    return Look::Wait(changes);
                }
                Step::Take(room) => match self.take(room, context) {
                    Ok(true) => {}
                    Ok(false) => return Look::Wait(changes),
                    Err(cancelled) => return Look::Next(Err(cancelled)),
                },
            }
        }
    }

    /// Drives the loop that takes jobs. Returns whether it did something; an interrupt is the caller's.
    fn take(self: &Arc<Self>, room: usize, context: &mut Context<'_>) -> Result<bool>
    where
        <Q::Source as Source>::Mode: Drive,
    {
        let mut takes = lock(&self.takes);
        takes.source.set_room(room);
        let polled = takes.poll(context);
        let (is_asking, is_held_up) = (takes.is_asking(), takes.is_held_up());
        drop(takes);
        let (mut is_ready, mut cancelled) = (true, None);
        let taken = match polled {
            Poll::Pending => {
                is_ready = false;
                Taken::Pending
            }
            Poll::Ready(None) if is_held_up => Taken::HeldUp,
            Poll::Ready(None) => Taken::Nothing,
            Poll::Ready(Some(Ok(batch))) => {
                let contact: Weak<dyn Contact> = Arc::downgrade(self) as Weak<dyn Contact>;
                batch.jobs.iter().for_each(|job| Q::watch_renewals(job, contact.clone()));
                Taken::Batch(batch)
            }
            Poll::Ready(Some(Err(error))) if error.kind() == ErrorKind::Cancelled => {
                cancelled = Some(error);
                Taken::HeldUp
            }
            Poll::Ready(Some(Err(error))) => Taken::Failed(error),
        };
        let mut state = lock(&self.state);
        if is_ready {
            state.sleeper = None;
        }
        state.machine.took(Instant::now(), taken, is_asking);
        self.go_on(state);
        cancelled.map_or(Ok(is_ready), Err)
    }

    /// Ends a job of the run in the way that `prepare` calls back with. Nothing happens to a job that was given back.
    pub(crate) fn end(
        self: &Arc<Self>,
        number: u64,
        prepare: impl FnOnce(Box<dyn FnOnce(Q::End) + Send>),
    ) {
        if self.is_own() && self.update(|machine| machine.end(number, Instant::now())) {
            let run = self.clone();
            prepare(Box::new(move |end| run.add(Sending::new(end))));
        }
    }

    /// A job of the run is over, or is no longer worked on.
    pub(crate) fn leave(self: &Arc<Self>, number: u64) {
        if self.is_own() {
            self.update(|machine| machine.leave(number));
        }
    }

    /// Whether the job has ended by its timeout, though its handler still works.
    pub(crate) fn is_overdue(self: &Arc<Self>, number: u64) -> bool {
        self.is_own() && self.update(|machine| machine.is_overdue(number, Instant::now()))
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

impl<Q: Queue> State<Q> {
    fn woken(&mut self) -> Woken {
        let has_changed = self.machine.take_change();
        let (mut wakers, mut sleeper) = (Vec::new(), None);
        if has_changed {
            self.changes += 1;
            wakers = std::mem::take(&mut self.wakers);
            if !self.machine.may_sleep() {
                // The caller that drives the loop may be the only one.
                sleeper = self.sleeper.take();
            }
        }
        Woken { has_changed, wakers, sleeper, _alarm: None }
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
            let changes = match self.look(&mut Context::from_waker(Waker::noop())) {
                Look::Next(next) => {
                    if let Ok(Some(Next::Job(number, job))) = &next {
                        self.limit(*number, job);
                    }
                    return next;
                }
                Look::Wait(changes) => changes,
            };
            interrupt::wait_in_slices(None, |until| {
                let mut state = lock(&self.state);
                while state.changes == changes && until.is_none_or(|until| until > Instant::now()) {
                    state = wait_until(&self.changed, state, until);
                }
                state.changes != changes
            })?;
        }
    }

    /// Begins the timeout of a job; an async handler is ended by that of its future.
    fn limit(self: &Arc<Self>, number: u64, job: &Q::Job) {
        if let Some(end) = Q::timeout(job).and_then(|timeout| Instant::now().checked_add(timeout)) {
            self.update(|machine| machine.limit(number, end));
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
                Look::Wait(changes) => {
                    let mut state = lock(&self.state);
                    if state.changes == changes {
                        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                            state.wakers.push(context.waker().clone());
                        }
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
        if self.is_own() {
            self.update(|machine| machine.stop(Instant::now(), deadline));
        }
    }
}

impl<Q: Queue> Drop for Run<Q> {
    /// Gives back the jobs that have not begun, when a run is dropped without a stop.
    fn drop(&mut self) {
        if !self.is_own() {
            return;
        }
        let unbegun = lock(&self.state).machine.take_unbegun();
        for job in unbegun {
            let queue = self.queue.clone();
            self.queue.give_back(job, move |end| queue.send(vec![Sending::new(end)], |_| ()));
        }
    }
}

impl<Q: Queue> Contact for Run<Q> {
    fn renewed(&self, error: Option<&Error>) {
        if self.is_own() {
            let mut state = lock(&self.state);
            state.machine.renewed(error);
            let woken = state.woken();
            drop(state);
            self.wake(woken);
        }
    }
}

impl<Q: Queue> Watch for Run<Q> {
    fn may_take(&self) -> bool {
        lock(&self.state).machine.may_take()
    }

    fn may_sleep(&self, sleeper: Handle) -> bool {
        let mut state = lock(&self.state);
        state.machine.reached();
        state.sleeper = Some(sleeper);
        state.machine.may_sleep()
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
                next: $crate::worker::run::Next<<$queue<M> as $crate::worker::run::Work>::Job>,
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
