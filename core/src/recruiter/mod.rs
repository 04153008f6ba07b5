#![doc = include_str!("README.md")]

#[cfg(test)]
mod cases;
mod duty;
mod embedded;
#[cfg(test)]
mod fleet;
mod law;
mod lottery;
mod name;
mod new_job;
mod pacer;
mod recruit;
mod report;
mod slice;
mod slices;
mod stats;
#[cfg(test)]
mod tests;

pub use duty::{Duty, Why};
pub use new_job::{
    BUDGET_DEFAULT, BUDGET_MAX, BURST_MAX, IDLE_MAX, IDLE_MAX_DEFAULT, JOB_BYTES_MAX, JOBS_MAX,
    LEASE_MAX, LEASE_MIN_DEFAULT, NewJob, RATE_MAX, RUNNING_MAX,
};
pub use recruit::{Granted, Recruit, Recruited};
pub use report::{JobReport, Report};
pub use slice::Slice;
pub use slices::Slices;
pub(crate) use stats::KIND;
pub use stats::{JobStats, ReadStats, RecruiterStats};

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::FutureExt;

use crate::client::{Async, Blocking, Client, Mode};
use crate::error::{Error, Result, ensure, invalid};
use crate::runtime::sync::lock;
use crate::runtime::waiters::Handle;
use crate::worker::per_fork::{PerFork, generation};
use crate::worker::report::log;
use lottery::Lottery;
use name::Name;
use pacer::{Pacer, Step};
use report::Ending;
use slice::Place;

/// How long an enlistment waits at most for the server's decision, by default.
pub const DECISION_TIMEOUT_DEFAULT: Duration = Duration::from_millis(20);

/// The longest time that an enlistment can be made to wait for the server's decision.
pub const DECISION_TIMEOUT_MAX: Duration = Duration::from_secs(1);

/// The longest rest after a slice.
const REST_MAX: Duration = Duration::from_secs(3_600);

/// The smallest part of a process's time that slices can take.
const DUTY_MAX_MIN: f64 = 0.001;

/// The part of a process's time that slices take at most, by default.
pub const DUTY_MAX_DEFAULT: f64 = 0.1;

/// Background work in small slices, done by any process that has a moment to spare; made by [`Client::recruiter`].
///
/// Jobs are installed in a handle and its clones. The times at which the process asks the server, and its pending
/// reports, are shared by all recruiters of the same name and servers in the process, so all of them should have the
/// same jobs. A process that lives for less than five seconds rarely or never asks; use jobs by share there.
///
/// ```
/// use std::time::Duration;
/// use millpond::recruiter::{NewJob, Slice};
///
/// let recruiter = millpond::connect("memory:")?.recruiter("site");
/// let mail = NewJob::new("mail").share(1.0).budget(Duration::from_millis(20));
/// recruiter.install(mail, |slice: &Slice| {
///     let mut sent = 0;
///     while !slice.is_over() && sent < 3 {
///         sent += 1; // one mail
///     }
///     Ok(sent) // 0 says that there was nothing to do
/// })?;
/// let duty = recruiter.enlist(); // after a page, or when a queue was empty
/// assert!(duty.recruited);
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct Recruiter<M: Mode = Blocking> {
    client: Client<M>,
    name: std::result::Result<Name, Arc<str>>,
    shared: Arc<PerFork<Shared>>,
    settings: Arc<Settings>,
    installed: Arc<ArcSwap<Installed<M>>>,
}

/// What a handler returns: how many items it worked on, 0 if there was nothing to do, or any error.
pub type Handled = std::result::Result<u64, Box<dyn StdError + Send + Sync>>;

/// The beginning of an enlistment: for hosts, which call handlers themselves.
#[doc(hidden)]
#[derive(Debug)]
pub enum Begun<M: Mode> {
    /// Nothing runs; with the error of the server, if that is the reason.
    Dismissed(Duty, Option<Error>),
    /// A slice to run and to end.
    Slice(Slice<M>),
}

/// The jobs of a handle.
struct Installed<M: Mode> {
    lottery: Lottery,
    /// In the order of the jobs; `None` for a job whose slices a host runs.
    handlers: Vec<Option<Handler<M>>>,
    on_error: Option<Arc<Hook>>,
}

type Handler<M> = Arc<dyn Fn(Slice<M>) -> Work + Send + Sync>;
type Panic = Box<dyn Any + Send>;
type Work = Pin<Box<dyn Future<Output = Handled> + Send>>;
type Hook = dyn Fn(Option<&str>, &(dyn StdError + 'static)) + Send + Sync;

/// The state that all handles of a name share in a process.
struct Shared {
    pacer: Pacer,
}

/// The settings that the clones of a handle share, also with the child of a fork.
struct Settings {
    /// The part of the time for slices, as the bits of a float.
    duty_max: AtomicU64,
    decision_timeout_us: AtomicU64,
    is_stopped: AtomicBool,
    /// The waiting loops, and the fork generation of their process.
    sleepers: Mutex<(u32, Vec<Handle>)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            duty_max: AtomicU64::new(DUTY_MAX_DEFAULT.to_bits()),
            decision_timeout_us: AtomicU64::new(DECISION_TIMEOUT_DEFAULT.as_micros() as u64),
            is_stopped: AtomicBool::new(false),
            sleepers: Mutex::default(),
        }
    }
}

impl Settings {
    /// How long the process rests after a slice that took this long.
    fn rest(&self, took: Duration) -> Duration {
        let duty_max = f64::from_bits(self.duty_max.load(Ordering::Relaxed));
        took.min(REST_MAX).mul_f64(1.0 / duty_max - 1.0).min(REST_MAX)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }
}

impl<M: Mode> Client<M> {
    /// The recruiter with this name. Makes no call.
    pub fn recruiter(&self, name: impl AsRef<[u8]>) -> Recruiter<M> {
        let name = Name::new(name.as_ref()).map_err(|error| error.message().into());
        let installed =
            Installed { lottery: Lottery::default(), handlers: Vec::new(), on_error: None };
        let recruiter = Recruiter {
            client: self.clone(),
            name,
            shared: Arc::default(),
            settings: Arc::default(),
            installed: Arc::new(ArcSwap::from_pointee(installed)),
        };
        // A process begins to count its time with the first recruiter that it makes.
        let _ = recruiter.shared();
        recruiter
    }
}

impl<M: Mode> Recruiter<M> {
    fn name(&self) -> Result<Name> {
        self.name.clone().map_err(|message| invalid(&*message))
    }

    fn shared(&self) -> Arc<Shared> {
        self.shared.get(|| {
            let key = self.name.as_ref().map_or(&b"recruiter"[..], Name::as_bytes);
            let pacer = || Pacer::new(self.client.draw(), self.client.local_time());
            self.client.shared_by_servers(key, || Shared { pacer: pacer() })
        })
    }

    /// Sets the part of the process's time that slices take at most, 0.001 to 1; [`DUTY_MAX_DEFAULT`] by default. After
    /// a slice the process rests until the limit is met again, for at most an hour. The setting belongs to this handle
    /// and its clones, as the jobs do.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for anything else.
    pub fn set_duty_max(&self, part: f64) -> Result<()> {
        let is_allowed = (DUTY_MAX_MIN..=1.0).contains(&part);
        ensure!(is_allowed, "duty_max is {part}, not {DUTY_MAX_MIN} to 1");
        self.settings.duty_max.store(part.to_bits(), Ordering::Relaxed);
        Ok(())
    }

    /// Sets how long an enlistment waits at most for the server's decision, 1 ms to [`DECISION_TIMEOUT_MAX`];
    /// [`DECISION_TIMEOUT_DEFAULT`] by default. Without a decision by then the enlistment does nothing. A connection
    /// that takes longer is available to the next enlistment.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for anything else.
    pub fn set_decision_timeout(&self, timeout: Duration) -> Result<()> {
        let allowed = Duration::from_millis(1)..=DECISION_TIMEOUT_MAX;
        ensure!(allowed.contains(&timeout), "decision_timeout is {timeout:?}, not 1 ms to 1 s");
        let micros = timeout.as_micros() as u64;
        self.settings.decision_timeout_us.store(micros, Ordering::Relaxed);
        Ok(())
    }

    /// Calls the hook with each error of a handler and its job, and with each error of the server, after which the
    /// process does not ask for a while. By default, errors go to standard error, one line each.
    pub fn on_error(
        &self,
        hook: impl Fn(Option<&str>, &(dyn StdError + 'static)) + Send + Sync + 'static,
    ) {
        let hook: Arc<Hook> = Arc::new(hook);
        self.installed.rcu(|installed| Installed {
            on_error: Some(hook.clone()),
            handlers: installed.handlers.clone(),
            lottery: installed.lottery.clone(),
        });
    }

    /// Removes a job from this handle and its clones; returns whether it was installed. A running slice continues.
    pub fn uninstall(&self, job: impl AsRef<str>) -> bool {
        let job = job.as_ref();
        let before = self.installed.rcu(|installed| {
            let without = installed.lottery.without(job);
            let Some((number, lottery)) = without else { return installed.clone() };
            let mut handlers = installed.handlers.clone();
            handlers.remove(number);
            Arc::new(Installed { lottery, handlers, on_error: installed.on_error.clone() })
        });
        before.lottery.without(job).is_some()
    }

    /// Whether an enlistment would ask the server now. Makes no call.
    #[must_use = "it changes nothing"]
    pub fn is_due(&self) -> bool {
        let has_paced = self.installed.load().lottery.has_paced();
        let due = self.shared().pacer.due_in(self.client.local_time());
        has_paced && !self.settings.is_stopped() && due.is_some_and(|due| due.is_zero())
    }

    /// Lets a job that runs less often, because there was little to do, run at its full rate again: for producers of
    /// its work. It changes nothing for a job by share, or for one that has not run yet.
    ///
    /// # Errors
    /// `WRONG_TYPE`, `INCOMPATIBLE_VERSION` or `CORRUPT` if the recruiter's keys cannot be read.
    pub fn wake(&self, job: impl AsRef<str>) -> M::Reply<()> {
        let report = JobReport { job: job.as_ref().into(), bad: 0, has_more: true, backoff_max: 0 };
        let step = self.name().map(|name| {
            let reported = pacer::Reported { reports: vec![report], counters: Vec::new() };
            Report::new(name, None, reported)
        });
        self.client.run_then(step, drop)
    }

    /// Stops this handle and its clones: no slice begins from now on, and loops end. A running slice continues. Pending
    /// reports are sent in the background. A stopped recruiter stays stopped.
    ///
    /// Can be called from any thread.
    ///
    /// # Rust
    /// Do not call it from a signal handler, which must not wait for a lock.
    pub fn stop(&self) {
        self.settings.is_stopped.store(true, Ordering::Release);
        let sleepers = std::mem::take(&mut *lock(&self.settings.sleepers));
        if sleepers.0 == generation() {
            sleepers.1.iter().for_each(Handle::wake);
        }
        let reported = self.shared().pacer.take_reports(self.client.local_time());
        if reported != pacer::Reported::default() {
            self.client.run_unattended(self.name().map(|name| Report::new(name, None, reported)));
        }
    }

    /// Reads what all processes have reported. A process reports when it asks, when it is [stopped](Self::stop), and at
    /// the end of a slice if its last report was five seconds ago, so the counts are a little behind. The granted
    /// slices of a job per second that are in no other count are running, or their process was killed.
    ///
    /// # Errors
    /// `WRONG_TYPE`, `INCOMPATIBLE_VERSION` or `CORRUPT` if the recruiter's keys cannot be read.
    #[must_use = "it changes nothing"]
    pub fn stats(&self) -> M::Reply<RecruiterStats> {
        self.client.run(self.name().map(|name| ReadStats { name }))
    }

    /// Loops over slices, for a program that runs and ends them itself; see [`Slices`].
    pub fn slices(&self) -> Slices<M> {
        Slices::new(self.clone())
    }

    /// Installs a job whose slices the caller runs itself.
    ///
    /// # Errors
    /// As [`install`](Recruiter::install).
    #[doc(hidden)]
    pub fn install_job(&self, job: NewJob) -> Result<()> {
        self.install_with(job, None)
    }

    /// Begins an enlistment: decides it if that needs no server.
    #[doc(hidden)]
    pub fn decide(&self, budget: Option<Duration>) -> Option<Begun<M>> {
        self.decide_as(budget, true)
    }

    /// Continues an undecided enlistment: asks the server.
    #[doc(hidden)]
    pub fn ask(&self, budget: Option<Duration>) -> M::Reply<Begun<M>> {
        self.ask_as(budget, true)
    }

    fn begin_as(&self, budget: Option<Duration>, rests: bool) -> M::Reply<Begun<M>> {
        match self.decide_as(budget, rests) {
            Some(begun) => self.immediately(Ok(begun)),
            None => self.ask_as(budget, rests),
        }
    }

    /// A reply that needs no call.
    fn immediately<T: Send + 'static>(&self, result: Result<T>) -> M::Reply<T> {
        let (none, result) = match result {
            Ok(value) => (Ok(Vec::<Recruit>::new()), Some(value)),
            Err(error) => (Err(error), None),
        };
        self.client.run_all(none, move |_| result.expect("an error is returned before"))
    }

    fn install_with(&self, job: NewJob, handler: Option<Handler<M>>) -> Result<()> {
        self.name()?;
        let mut result = Ok(());
        self.installed.rcu(|installed| match installed.lottery.with(job.clone()) {
            Err(error) => {
                result = Err(error);
                installed.clone()
            }
            Ok(lottery) => {
                result = Ok(());
                let mut handlers = installed.handlers.clone();
                handlers.push(handler.clone());
                Arc::new(Installed { lottery, handlers, on_error: installed.on_error.clone() })
            }
        });
        result?;
        self.shared().pacer.installed(&job, self.client.draw(), self.client.local_time());
        Ok(())
    }

    /// The decision, if it needs no server; otherwise `None`.
    fn decide_as(&self, budget: Option<Duration>, rests: bool) -> Option<Begun<M>> {
        let (shared, installed) = (self.shared(), self.installed.load());
        let step = match self.settings.is_stopped() {
            true => Step::Dismissed(Why::Stopped),
            false => {
                let now = self.client.local_time();
                shared.pacer.enlist(&installed.lottery, self.client.draw(), now)
            }
        };
        match step {
            Step::Ask => None,
            Step::Run(number) => {
                let job = installed.lottery.jobs()[number].clone();
                let place = self.place(shared, rests).expect("nothing is installed without a name");
                Some(Begun::Slice(Slice::begin(place, job, budget, None)))
            }
            Step::Dismissed(why) => Some(dismissed(&shared, why, None)),
        }
    }

    fn place(&self, shared: Arc<Shared>, rests: bool) -> Result<Place<M>> {
        let (client, settings) = (self.client.clone(), self.settings.clone());
        Ok(Place { client, name: self.name()?, shared, settings, rests })
    }

    fn ask_as(&self, budget: Option<Duration>, rests: bool) -> M::Reply<Begun<M>> {
        let (shared, installed) = (self.shared(), self.installed.load());
        let jobs = installed.lottery.jobs().iter();
        let (offers, jobs): (Vec<_>, Vec<_>) =
            jobs.filter_map(|job| Some((job.offer()?, job.clone()))).unzip();
        let place = self.place(shared.clone(), rests);
        let (false, Ok(place)) = (offers.is_empty(), place) else {
            // The last job has been removed since.
            shared.pacer.give_up();
            return self.immediately(Ok(dismissed(&shared, Why::NoJobs, None)));
        };
        let name = place.name.clone();
        let (client, asked) = (self.client.clone(), self.client.local_time());
        let step = Recruit::of(name.clone(), offers, shared.pacer.take_reports(asked));
        let limited: Vec<_> =
            jobs.iter().map(|job| job.is_limited().then(|| job.id().clone())).collect();
        let then = move |result: Result<Recruited>| {
            let now = place.client.local_time();
            let granted = match shared.pacer.answered(&result, place.client.draw(), now) {
                Ok(granted) => granted,
                Err(why) => return dismissed(&shared, why, result.err()),
            };
            let is_stopped = place.settings.is_stopped();
            let job = jobs[granted.index].clone();
            let slice = Slice::begin(place, job, budget, Some((granted, asked)));
            match is_stopped {
                false => Begun::Slice(slice),
                // Dropping the slice aborts it.
                true => Begun::Dismissed(Duty::dismissed(Why::Stopped), None),
            }
        };
        // The enlistment no longer waits; the place of the slice is freed.
        let late = move |recruited: Recruited| {
            let Some(granted) = recruited.granted else { return };
            if let Some(job) = limited[granted.index].clone() {
                let ending = Some(Ending { job, fence: granted.fence });
                let report = Report::new(name, ending, pacer::Reported::default());
                client.run_unattended(Ok(report));
            }
        };
        let timeout = self.settings.decision_timeout_us.load(Ordering::Relaxed);
        M::run_within(&self.client, Ok(step), Duration::from_micros(timeout), then, late)
    }

    /// The handler of the job of a slice, unless it was uninstalled.
    fn handler(&self, slice: &Slice<M>) -> Option<Handler<M>> {
        let installed = self.installed.load();
        let number = installed.lottery.jobs().iter().position(|job| **job.id() == *slice.job());
        installed.handlers[number?].clone()
    }

    /// Ends a slice with the result of its handler; a panic is an error too.
    fn end(&self, slice: &Slice<M>, handled: std::result::Result<Handled, Panic>) -> Duty {
        let error = match handled {
            Ok(Ok(items)) => return slice.end(items),
            Ok(Err(error)) => error,
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                format!("the handler panicked: {}", text.unwrap_or_default()).into()
            }
        };
        let duty = slice.fail();
        self.report(Some(slice.job()), &*error);
        duty
    }

    /// Reports an error.
    fn report(&self, job: Option<&str>, error: &(dyn StdError + 'static)) {
        match (&self.installed.load().on_error, job) {
            (Some(hook), _) => hook(job, error),
            (None, Some(job)) => log(format_args!("the job {job} failed: {error}")),
            (None, None) => log(format_args!("no slice: {error}")),
        }
    }
}

/// The beginning of an enlistment that runs nothing.
fn dismissed<M: Mode>(shared: &Shared, why: Why, error: Option<Error>) -> Begun<M> {
    shared.pacer.count(why);
    Begun::Dismissed(Duty::dismissed(why), error)
}

impl Recruiter<Blocking> {
    /// Installs a job with its handler, in this handle and its clones.
    ///
    /// The handler returns how many items it worked on, 0 if there was nothing to do, or any error. An error or a panic
    /// makes the slice fail: it is counted and goes to [`on_error`](Self::on_error), and not to the caller of
    /// [`enlist`](Self::enlist). The slice is not repeated; the next slice of the job does the work.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a job beyond its limits, an id that is installed already, more than [`JOBS_MAX`] jobs,
    /// and shares that add up to more than 100 %, with the sum in the message. Nothing is installed then.
    pub fn install(
        &self,
        job: NewJob,
        handler: impl Fn(&Slice) -> Handled + Send + Sync + 'static,
    ) -> Result<()> {
        let work = move |slice: Slice| Box::pin(std::future::ready(handler(&slice))) as Work;
        self.install_with(job, Some(Arc::new(work)))
    }

    /// Offers a moment of this thread's time: runs a slice of one of the jobs, if it is this process's turn. It never
    /// fails, and takes no longer than the server's decision, if it asks for one, and the slice.
    pub fn enlist(&self) -> Duty {
        self.enlist_for(None)
    }

    /// [`enlist`](Self::enlist), for a slice of at most this time.
    pub fn enlist_within(&self, budget: Duration) -> Duty {
        self.enlist_for(Some(budget))
    }

    fn enlist_for(&self, budget: Option<Duration>) -> Duty {
        let begun = self.decide(budget);
        let begun = begun.unwrap_or_else(|| {
            let dismissed =
                |error| Begun::Dismissed(Duty::dismissed(Why::Unavailable), Some(error));
            self.ask(budget).unwrap_or_else(dismissed)
        });
        match begun {
            Begun::Slice(slice) => self.work(&slice),
            Begun::Dismissed(duty, error) => {
                if let Some(error) = error {
                    self.report(None, &error);
                }
                duty
            }
        }
    }

    /// Runs slices as often as they are granted, on this thread, until it is [stopped](Self::stop): for a process with
    /// nothing else to do, so that work is done even if no other process enlists. Any number of processes may do so.
    ///
    /// If the server is unreachable, it keeps trying until it responds.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if no job has a rate per second; a non-retryable error, such as `WRONG_TYPE`.
    pub fn run(&self) -> Result<()> {
        for slice in self.slices().wait(Duration::MAX) {
            self.work(&slice?);
        }
        Ok(())
    }

    fn work(&self, slice: &Slice) -> Duty {
        let Some(handler) = self.handler(slice) else { return slice.give_up() };
        let handled = catch_unwind(AssertUnwindSafe(|| {
            let handled = handler(slice.clone()).now_or_never();
            handled.expect("a blocking handler does not wait")
        }));
        self.end(slice, handled)
    }
}

impl Recruiter<Async> {
    /// Installs a job with its handler, in this handle and its clones; otherwise like
    /// [`install`](Recruiter::<Blocking>::install) of a blocking recruiter.
    ///
    /// # Errors
    /// As [`install`](Recruiter::<Blocking>::install) of a blocking recruiter.
    pub fn install<F: Future<Output = Handled> + Send + 'static>(
        &self,
        job: NewJob,
        handler: impl Fn(Slice<Async>) -> F + Send + Sync + 'static,
    ) -> Result<()> {
        let work = move |slice: Slice<Async>| Box::pin(handler(slice)) as Work;
        self.install_with(job, Some(Arc::new(work)))
    }

    /// Offers a moment of this task's time; otherwise like [`enlist`](Recruiter::<Blocking>::enlist) of a blocking
    /// recruiter. A slice whose future is dropped is aborted.
    pub async fn enlist(&self) -> Duty {
        self.enlist_for(None).await
    }

    /// [`enlist`](Self::enlist), for a slice of at most this time.
    pub async fn enlist_within(&self, budget: Duration) -> Duty {
        self.enlist_for(Some(budget)).await
    }

    async fn enlist_for(&self, budget: Option<Duration>) -> Duty {
        let begun = match self.decide(budget) {
            Some(begun) => begun,
            None => self.ask(budget).await.unwrap_or_else(|error| {
                Begun::Dismissed(Duty::dismissed(Why::Unavailable), Some(error))
            }),
        };
        match begun {
            Begun::Slice(slice) => self.work(&slice).await,
            Begun::Dismissed(duty, error) => {
                if let Some(error) = error {
                    self.report(None, &error);
                }
                duty
            }
        }
    }

    /// Runs slices as often as they are granted, one at a time, until it is [stopped](Self::stop); otherwise like
    /// [`run`](Recruiter::<Blocking>::run) of a blocking recruiter.
    ///
    /// # Errors
    /// As [`run`](Recruiter::<Blocking>::run) of a blocking recruiter.
    pub async fn run(&self) -> Result<()> {
        let mut slices = self.slices().wait(Duration::MAX);
        while let Some(slice) = slices.next().await {
            self.work(&slice?).await;
        }
        Ok(())
    }

    async fn work(&self, slice: &Slice<Async>) -> Duty {
        let Some(handler) = self.handler(slice) else { return slice.give_up() };
        let handled = AssertUnwindSafe(async { handler(slice.clone()).await }).catch_unwind().await;
        self.end(slice, handled)
    }
}

impl<M: Mode> Clone for Recruiter<M> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: self.name.clone(),
            shared: self.shared.clone(),
            settings: self.settings.clone(),
            installed: self.installed.clone(),
        }
    }
}

impl<M: Mode> fmt::Debug for Recruiter<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recruiter").finish_non_exhaustive()
    }
}

crate::step::steps! {
    [embedded::State]
    ReadStats, Recruit, Report,
}
