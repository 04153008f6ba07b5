//! An enlistment: its decision, and what comes of it.

use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use millpond::Result;
use millpond::recruiter::{self, Begun, Duty};

use super::{millpond_new_job, millpond_recruiter, millpond_recruiter_slice};
use crate::caller::{Caller, NewHandle, Out};
use crate::error::{Failure, millpond_error};
use crate::exclusive::Own;
use crate::keys::millpond_bytes;
use crate::options::given;
use crate::recruiter::slice::Slice;
use crate::signal_stop::SignalStop;
use crate::status::millpond_status;

/// What a handle of a recruiter refers to.
pub(crate) struct Recruiter {
    recruiter: recruiter::Recruiter,
    signals: ArcSwapOption<Own<SignalStop>>,
}

impl From<recruiter::Recruiter> for Box<Recruiter> {
    fn from(recruiter: recruiter::Recruiter) -> Self {
        Self::new(Recruiter { recruiter, signals: ArcSwapOption::empty() })
    }
}

impl Recruiter {
    /// The loop over slices: a program in C has no hook for errors.
    pub(super) fn slices(&self) -> recruiter::Slices {
        self.recruiter.slices().yield_errors()
    }
}

impl Deref for Recruiter {
    type Target = recruiter::Recruiter;

    fn deref(&self) -> &recruiter::Recruiter {
        &self.recruiter
    }
}

/// What an enlistment did. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_duty {
    /// Whether a slice ran and found something to do. 1: yes, 0: no.
    pub recruited: u64,
    /// The job whose slice ran; lives as long as the slice. NULL if none ran.
    pub job: millpond_bytes,
    /// How long the slice took, in microseconds.
    pub took_us: u64,
    /// What became of the slice, or why none ran: a `millpond_recruiter_why`. 0 while a slice runs.
    pub why: u64,
}

impl millpond_duty {
    pub(crate) const NONE: Self =
        Self { recruited: 0, job: millpond_bytes::NONE, took_us: 0, why: 0 };

    pub(crate) fn new(from: &Duty, job: millpond_bytes) -> Self {
        let took_us = from.took.as_micros() as u64;
        Self { recruited: from.recruited.into(), job, took_us, why: from.why as u64 + 1 }
    }
}

/// Where an enlistment writes what it begins with.
struct Outs {
    duty: Out<millpond_duty>,
    slice: NewHandle<Slice>,
    unavailable: Option<NewHandle<Failure>>,
}

impl Outs {
    fn of(
        caller: &Caller,
        duty: *mut millpond_duty,
        slice: *mut *mut millpond_recruiter_slice,
        unavailable: *mut *mut millpond_error,
    ) -> Result<Self> {
        let unavailable = caller.optional_handle(unavailable);
        let duty = caller.optional_out(duty, millpond_duty::NONE);
        Ok(Self { duty, slice: caller.new_handle("slice", slice)?, unavailable })
    }

    fn set(self, begun: Begun<millpond::Blocking>) {
        match begun {
            Begun::Slice(slice) => self.slice.set(slice.into()),
            Begun::Dismissed(duty, error) => {
                self.duty.set(millpond_duty::new(&duty, millpond_bytes::NONE));
                if let (Some(out), Some(error)) = (self.unavailable, error) {
                    out.set(Failure::new(&error));
                }
            }
        }
    }
}

fn budget(budget_ms: i64) -> Result<Option<Duration>> {
    Ok(given("budget_ms", budget_ms)?.map(Duration::from_millis))
}

/// Installs a job, whose slices the program does itself: `millpond_recruiter_enlist` and
/// `millpond_recruiter_slices_next` hand them out.
///
///     millpond_new_job job;
///     millpond_new_job_init(&job, sizeof job);
///     job.id = (millpond_bytes){"mail", 4};
///     job.per_second = 2;
///     status = millpond_recruiter_install(recruiter, &job, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a job beyond its limits, an id that is installed
/// already, more than 64 jobs, and shares that come to more than 100 %, whose sum it names. Nothing
/// is installed then.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_install(
    recruiter: *mut millpond_recruiter,
    job: *const millpond_new_job,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let recruiter = caller.held("recruiter", recruiter)?;
        let job = caller.structure("job", job)?;
        recruiter.install_job(job.read(&caller, |field| format!("job.{field}"))?)
    })
}

/// Offers a moment of this thread's time, after a page or when a queue was empty: begins a slice of one of the jobs,
/// if it is its turn. It takes no longer than the decision of the server, if it asks; most enlistments do not, and
/// take a fraction of a microsecond.
///
/// `slice` is set to the slice, which the caller ends with `millpond_recruiter_slice_end` or
/// `millpond_recruiter_slice_fail` and frees with `millpond_recruiter_slice_free`. It is set to NULL on failure, and also
/// on success if nothing is to be done; `duty` then says why. `budget_ms`: the most time for the slice;
/// `MILLPOND_NOT_SET`: as the job says. A server that does not respond is no failure: `unavailable` is then set to its
/// error, for a log, which the caller frees with `millpond_error_free`, and otherwise to NULL. `duty` and `unavailable` may
/// be NULL.
///
///     millpond_recruiter_slice *slice;
///     status = millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, NULL, &slice, NULL, &error);
///     if (slice != NULL) {
///         uint64_t sent = 0;
///         bool is_over = false;
///         while (!is_over && send_a_mail()) {
///             sent++;
///             millpond_recruiter_slice_is_over(slice, &is_over, NULL);
///         }
///         status = millpond_recruiter_slice_end(slice, sent, NULL, &error);
///         millpond_recruiter_slice_free(slice);
///     }
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `budget_ms` below 0.
///
/// Threads: any; while one asks or has a slice, the others get `MILLPOND_WHY_NOT_DUE` or
/// `MILLPOND_WHY_IN_SLICE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_enlist(
    recruiter: *mut millpond_recruiter,
    budget_ms: i64,
    duty: *mut millpond_duty,
    slice: *mut *mut millpond_recruiter_slice,
    unavailable: *mut *mut millpond_error,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let outs = Outs::of(&caller, duty, slice, unavailable)?;
        let recruiter = caller.held("recruiter", recruiter)?;
        let budget = budget(budget_ms)?;
        let begun = recruiter.decide(budget).map_or_else(|| recruiter.ask(budget), Ok)?;
        outs.set(begun);
        Ok(())
    })
}

/// Begins an enlistment as `millpond_recruiter_enlist` does, but waits for nothing: for interpreters, which keep their
/// lock during such a call. Where the server has to be asked, `asks` is set to true and nothing else happens;
/// `millpond_recruiter_ask` has to follow, as no other enlistment of the process asks before it.
///
/// `slice` and `duty` are set as by `millpond_recruiter_enlist`. `duty` may be NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `budget_ms` below 0.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_decide(
    recruiter: *mut millpond_recruiter,
    budget_ms: i64,
    duty: *mut millpond_duty,
    slice: *mut *mut millpond_recruiter_slice,
    asks: *mut bool,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let outs = Outs::of(&caller, duty, slice, ptr::null_mut())?;
        let asks = caller.out("asks", asks, false)?;
        let recruiter = caller.held("recruiter", recruiter)?;
        match recruiter.decide(budget(budget_ms)?) {
            Some(begun) => outs.set(begun),
            None => asks.set(true),
        }
        Ok(())
    })
}

/// Goes on with an enlistment for which `millpond_recruiter_decide` said that the server has to be asked.
///
/// `slice`, `duty` and `unavailable` are set as by `millpond_recruiter_enlist`. `duty` and `unavailable` may be NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `budget_ms` below 0.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_ask(
    recruiter: *mut millpond_recruiter,
    budget_ms: i64,
    duty: *mut millpond_duty,
    slice: *mut *mut millpond_recruiter_slice,
    unavailable: *mut *mut millpond_error,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let outs = Outs::of(&caller, duty, slice, unavailable)?;
        let recruiter = caller.held("recruiter", recruiter)?;
        outs.set(recruiter.ask(budget(budget_ms)?)?);
        Ok(())
    })
}

/// Makes SIGTERM and SIGINT stop the recruiter, as `millpond_recruiter_stop` does. A second signal changes nothing, and
/// a third one does what signals did before. All of this ends when the recruiter is freed.
///
/// From this call on, a native thread waits for the signals. Handlers that are already installed are called as well; a
/// handler that the program installs later replaces this one. In the child of a fork, signals do what they did before.
///
/// Errors: `MILLPOND_INTERNAL` if the system has no room for a pipe or a thread.
///
/// Threads: any; not from a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_stop_on_signals(
    recruiter: *mut millpond_recruiter,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let held = caller.held("recruiter", recruiter)?;
        let recruiter = held.recruiter.clone();
        let signals = SignalStop::begin(Duration::ZERO, move |_| recruiter.stop())?;
        held.signals.store(Some(Arc::new(signals.into())));
        Ok(())
    })
}
