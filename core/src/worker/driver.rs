//! The driver of a run: takes jobs for its callers, up to a limit, and ends them in groups. It never calls a handler:
//! threads, event loops and hosts ask for the next job and report how it ended.
//!
//! The [`Machine`] decides what the run holds and does next; the driver adds the lock around it, the calls, the alarm
//! and the waiting callers.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Instant;

use super::end::{End, Ending};
use super::failure::Failure;
use super::lease::Contact;
use super::machine::{Machine, Next, Plan, Sending, Taken, Todo};
use super::poll_loop::{Drive, PollLoop, Watch};
use super::queue::{Queue, Room, Sent};
use super::report::{JobCounts, Report};
use super::settings::{check_concurrency, too_late};
use super::stop::Stoppable;
use crate::client::{Async, Blocking};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync::{lock, wait_until};
use crate::runtime::timer::{Scheduled, Timer};
use crate::runtime::waiters::Handle;
use crate::runtime::{fork, interrupt, random};

/// How often one poll checks for the next item. Each change requires another check, and the reply of a step can itself
/// be a change, without end: once the tokio budget of the polling task is used up, the reply is not ready but wakes the
/// task immediately, and the budget is not renewed before that poll returns.
const LOOKS_MAX: usize = 8;

/// An item that a run hands out.
pub(crate) enum Item<Q: Queue> {
    /// A job to work on, and its number in the run.
    Job(u64, Arc<Q::Core>),
    Report(Report<Arc<Q::Core>>),
}

/// A job's place in a run, which is free for another job once this is dropped.
pub(crate) struct Place<Q: Queue> {
    pub(crate) driver: Arc<Driver<Q>>,
    pub(crate) number: u64,
}

impl<Q: Queue> Place<Q> {
    /// Whether the run has ended the job, after its timeout.
    pub(crate) fn is_overdue(&self) -> bool {
        self.driver.is_overdue(self.number)
    }
}

impl<Q: Queue> Drop for Place<Q> {
    fn drop(&mut self) {
        self.driver.leave(self.number);
    }
}

pub(crate) struct Driver<Q: Queue> {
    queue: Arc<Q>,
    plan: Plan,
    /// Used by one caller at a time, the one that takes jobs.
    takes: Mutex<PollLoop<Q::Source>>,
    state: Mutex<State<Q>>,
    changed: Condvar,
    /// Wakes waiting callers; the waker with which the loop waits.
    bell: Waker,
    process: u32,
}

struct State<Q: Queue> {
    machine: Machine<Q>,
    /// A thread is sending ends, one step after the other: without this, a call that calls back before it returns would
    /// recurse.
    is_sending: bool,
    /// The handle that wakes the loop while it waits for work.
    sleeper: Option<Handle>,
    /// Changes whenever waiting callers must check again.
    changes: u64,
    wakers: Vec<Waker>,
    alarm: Option<Alarm>,
}

/// The alarm that wakes the machine when it next needs it, or earlier.
struct Alarm {
    at: Instant,
    /// It keeps the run alive, which has ends that nothing else would send.
    keeps: bool,
    _scheduled: Scheduled,
}

/// The callers to wake and the values to drop after a change, outside the lock.
struct Woken<Q: Queue> {
    has_changed: bool,
    wakers: Vec<Waker>,
    sleeper: Option<Handle>,
    _left: Vec<Arc<Q::Core>>,
    /// An alarm that is not needed any more.
    _alarm: Option<Alarm>,
}

/// The result of a check of the run.
enum Look<Q: Queue> {
    Next(Result<Option<Item<Q>>>),
    /// Nothing to do until a change after this one.
    Wait(u64),
}

struct Bell<Q: Queue>(Weak<Driver<Q>>);

impl<Q: Queue> Wake for Bell<Q> {
    fn wake(self: Arc<Self>) {
        if let Some(driver) = self.0.upgrade() {
            driver.update(Machine::look_again);
        }
    }
}

impl<Q: Queue> Driver<Q> {
    pub(crate) fn new(queue: Arc<Q>, mut takes: PollLoop<Q::Source>, plan: Plan) -> Arc<Self> {
        let refused = check_concurrency(plan.concurrency).and_then(|()| Timer::ensure()).err();
        let state = State {
            machine: Machine::new(plan, random::quick(), refused),
            is_sending: false,
            sleeper: None,
            changes: 0,
            wakers: Vec::new(),
            alarm: None,
        };
        let driver = Arc::new_cyclic(|driver: &Weak<Self>| {
            takes.watch(driver.clone());
            Self {
                queue,
                plan,
                takes: Mutex::new(takes),
                state: Mutex::new(state),
                changed: Condvar::new(),
                bell: Arc::new(Bell(driver.clone())).into(),
                process: std::process::id(),
            }
        });
        driver.update(|_| ());
        driver
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn counts(&self) -> JobCounts {
        lock(&self.state).machine.counts()
    }

    /// Feeds the machine, and performs the resulting actions.
    fn update<T>(self: &Arc<Self>, change: impl FnOnce(&mut Machine<Q>) -> T) -> T {
        let mut state = lock(&self.state);
        let output = change(&mut state.machine);
        self.go_on(state);
        output
    }

    /// Wakes the waiting callers, and performs the machine's actions.
    fn go_on(self: &Arc<Self>, mut state: MutexGuard<'_, State<Q>>) {
        let woken = self.woken(&mut state);
        let todo = state.machine.take_todo();
        let sends = !state.is_sending && state.machine.has_to_send();
        state.is_sending |= sends;
        drop(state);
        let sender = sends.then(|| Sender { driver: self, is_done: false });
        self.wake(woken);
        let panicked = todo.into_iter().filter_map(|todo| self.perform(todo).err()).last();
        if let Some(sender) = sender {
            sender.send_all();
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }

    /// Sets the alarm; returns the callers to wake now.
    fn woken(self: &Arc<Self>, state: &mut State<Q>) -> Woken<Q> {
        let keeps = state.machine.has_resting();
        let is_late = |at: Instant| match &state.alarm {
            Some(alarm) => at < alarm.at || keeps && !alarm.keeps,
            None => true,
        };
        let next = state.machine.next_wake().filter(|at| is_late(*at));
        let before = next.and_then(|at| {
            let (driver, kept) = (Arc::downgrade(self), keeps.then(|| self.clone()));
            let scheduled = Timer::at(at, move || {
                if let Some(driver) = kept.or_else(|| driver.upgrade()) {
                    driver.ring();
                }
            });
            state.alarm.replace(Alarm { at, keeps, _scheduled: scheduled })
        });
        Woken { _alarm: before, ..state.woken() }
    }

    fn wake(&self, woken: Woken<Q>) {
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

    /// Performs an action. Returns the panic of a user's callback, after which the run continues.
    fn perform(self: &Arc<Self>, todo: Todo<Q>) -> thread::Result<()> {
        let driver = self.clone();
        match todo {
            Todo::Begin(job) => self.queue.begin(&job.clone(), move |begun| {
                driver.update(|machine| machine.begun(Instant::now(), job, begun));
            }),
            Todo::GiveBack(job) => {
                return revoke(job, End::GivenBack, move |ending| driver.add(Sending::new(ending)));
            }
            Todo::TimeOut(number, job) => {
                let late = Err(too_late(self.plan.timeout.unwrap_or_default()));
                let end = End::of(late, 0);
                return revoke(job, end, move |ending| {
                    driver.add(Sending::overdue(number, ending))
                });
            }
            Todo::Depart => self.queue.depart(move || driver.update(Machine::departed)),
        }
        Ok(())
    }

    fn add(self: &Arc<Self>, ending: Sending<Ending<Q>>) {
        self.update(|machine| machine.add(ending));
    }

    fn sent(self: &Arc<Self>, results: Vec<Sent<Q>>) {
        let ended = results.into_iter().map(|(sending, result)| {
            let is_unsure = sending.is_unsure;
            sending.map(|ending| self.queue.ended(ending, result, is_unsure))
        });
        let ended = ended.collect();
        self.update(|machine| machine.sent(Instant::now(), ended));
    }

    /// Checks for the next item, and drives the loop that takes jobs if no other caller does.
    fn look(self: &Arc<Self>, context: &mut Context<'_>) -> Look<Q>
    where
        Q::Mode: Drive,
    {
        loop {
            let mut state = lock(&self.state);
            let next = state.machine.next(Instant::now());
            let changes = state.changes;
            self.go_on(state);
            match next {
                Next::Job(number, job) => return Look::Next(Ok(Some(Item::Job(number, job)))),
                Next::Report(report) => return Look::Next(Ok(Some(Item::Report(report)))),
                Next::Over(failed) => {
                    lock(&self.takes).stop_listening();
                    return Look::Next(failed.map_or(Ok(None), Err));
                }
                Next::Wait { is_idle } => {
                    if is_idle {
                        // A wake-up reaches one listener only; this one would take it from another.
                        lock(&self.takes).stop_listening();
                    }
                    return Look::Wait(changes);
                }
                Next::Take(room) => match self.take(room, context) {
                    Ok(true) => {}
                    Ok(false) => return Look::Wait(changes),
                    Err(cancelled) => return Look::Next(Err(cancelled)),
                },
            }
        }
    }

    /// Drives the loop that takes jobs. Returns whether it did something, or an interrupt as an error.
    fn take(self: &Arc<Self>, room: usize, context: &mut Context<'_>) -> Result<bool>
    where
        Q::Mode: Drive,
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
                batch.jobs.iter().for_each(|job| Q::lease(job).watch_renewals(contact.clone()));
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

    /// Ends a job of the run as its handler says. Does nothing for a job that was given back, or that its handler has
    /// ended itself.
    pub(crate) fn end(
        self: &Arc<Self>,
        number: u64,
        job: &Arc<Q::Core>,
        outcome: std::result::Result<Q::Done, Failure>,
    ) {
        if Q::is_ended(job) && !self.is_overdue(number) {
            return self.leave(number);
        }
        if self.is_own() && self.update(|machine| machine.end(number, Instant::now())) {
            let lease = Q::lease(job);
            let (driver, job, end) = (self.clone(), job.clone(), End::of(outcome, lease.draw()));
            lease.end(move |kept| driver.add(Sending::new(Q::ending(job, kept, end))));
        }
    }

    /// A job of the run is over, or is no longer worked on.
    pub(crate) fn leave(self: &Arc<Self>, number: u64) {
        if self.is_own() {
            self.update(|machine| machine.leave(number));
        }
    }

    /// Whether the timeout has ended the job while its handler is still running.
    pub(crate) fn is_overdue(self: &Arc<Self>, number: u64) -> bool {
        self.is_own() && self.update(|machine| machine.check_limit(number, Instant::now()))
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
    fn woken(&mut self) -> Woken<Q> {
        let _left = self.machine.take_left();
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
        Woken { has_changed, wakers, sleeper, _left, _alarm: None }
    }
}

impl<Q: Queue<Mode = Blocking>> Driver<Q> {
    /// The next item, or `None` when the run is over. Any number of threads may wait here.
    pub(crate) fn next(self: &Arc<Self>) -> Result<Option<Item<Q>>> {
        self.check_process()?;
        loop {
            let changes = match self.look(&mut Context::from_waker(Waker::noop())) {
                Look::Next(next) => {
                    if let Ok(Some(Item::Job(number, _))) = &next {
                        self.limit(*number);
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

    /// Begins the timeout of a job. An async handler has the timeout of its future instead.
    fn limit(self: &Arc<Self>, number: u64) {
        if let Some(end) = self.plan.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
        {
            self.update(|machine| machine.limit(number, end));
        }
    }
}

impl<Q: Queue<Mode = Async>> Driver<Q> {
    /// The next item, or `None` when the run is over.
    pub(crate) fn poll_next(
        self: &Arc<Self>,
        context: &Context<'_>,
    ) -> Poll<Result<Option<Item<Q>>>> {
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

impl<Q: Queue> Stoppable for Driver<Q> {
    fn stop(self: Arc<Self>, deadline: Option<Instant>) {
        if self.is_own() {
            self.update(|machine| machine.stop(Instant::now(), deadline));
        }
    }
}

impl<Q: Queue> Drop for Driver<Q> {
    /// Gives back the jobs that have not begun, when a run is dropped without a stop.
    fn drop(&mut self) {
        if !self.is_own() {
            return;
        }
        let unbegun = lock(&self.state).machine.take_unbegun();
        for job in unbegun {
            let queue = self.queue.clone();
            // No handler has received it, and nothing is reported.
            drop(revoke(job, End::GivenBack, move |end: Ending<Q>| {
                queue.send(vec![Sending::new(end)], |_| ());
            }));
        }
    }
}

/// The thread that sends the ends of a run.
struct Sender<'a, Q: Queue> {
    driver: &'a Arc<Driver<Q>>,
    is_done: bool,
}

impl<Q: Queue> Sender<'_, Q> {
    fn send_all(mut self) {
        loop {
            let mut state = lock(&self.driver.state);
            let Some(ends) = state.machine.take_to_send() else {
                (state.is_sending, self.is_done) = (false, true);
                return;
            };
            drop(state);
            let driver = self.driver.clone();
            self.driver.queue.send(ends, move |results| driver.sent(results));
        }
    }
}

impl<Q: Queue> Drop for Sender<'_, Q> {
    /// After a panic, another thread continues to send.
    fn drop(&mut self) {
        if !self.is_done {
            lock(&self.driver.state).is_sending = false;
        }
    }
}

/// Tells a running handler that its job is lost, and calls back with the end of the job. Returns the panic of a user's
/// callback, which must not prevent the end.
fn revoke<Q: Queue>(
    job: Arc<Q::Core>,
    end: End<Q::Done>,
    then: impl FnOnce(Ending<Q>) + Send + 'static,
) -> thread::Result<()> {
    let lease = Q::lease(&job).clone();
    let told = catch_unwind(AssertUnwindSafe(|| lease.revoke()));
    lease.end(move |kept| then(Q::ending(job, kept, end)));
    told
}

impl<Q: Queue> Contact for Driver<Q> {
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

impl<Q: Queue> Watch for Driver<Q> {
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
