//! What a worker reports, of any queue.

use std::ffi::c_char;

use millpond::ReportKind;
use millpond::tasks::JobCounts;

use crate::caller::Caller;
use crate::error::{self, millpond_error};
use crate::handle;
use crate::keys::millpond_bytes;

pub mod generated;

/// What a worker reports. Everything in it lives until the report is freed.
#[repr(C)]
pub struct millpond_report_data {
    /// What happened: a `millpond_report_kind`.
    pub kind: u32,
    /// Whether it needs attention: it is printed by default.
    pub is_trouble: bool,
    /// The whole report in one line, for logs.
    pub message: millpond_bytes,
    /// The cause; NULL if neither the library nor the store gave one.
    pub error: *const millpond_error,
}

/// How many jobs of a run ended in which way. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct millpond_job_counts {
    /// Jobs that were done.
    pub done: u64,
    /// Jobs that failed and are tried again later, including those whose end was refused.
    pub retried: u64,
    /// Jobs that were put aside because they were rejected, tried too often, or crashed their workers.
    pub dead: u64,
    /// Jobs that were given back untried, moved to another queue, or lost.
    pub others: u64,
}

impl From<JobCounts> for millpond_job_counts {
    fn from(from: JobCounts) -> Self {
        let JobCounts { done, retried, dead, others } = from;
        Self { done, retried, dead, others }
    }
}

/// What a handle of a report refers to: what C sees, and what that points to.
pub(crate) struct Report<T> {
    pub(crate) data: millpond_report_data,
    kind: ReportKind,
    message: String,
    /// The job that it happened to.
    pub(crate) job: Option<T>,
}

// SAFETY: the pointers in it point into its other parts, which are never changed or moved.
unsafe impl<T: Send> Send for Report<T> {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl<T: Sync> Sync for Report<T> {}

impl<T> Report<T> {
    /// `of` makes what is reported on a job.
    pub(crate) fn new<J>(from: millpond::Report<J>, of: impl FnOnce(&J) -> T) -> Box<Self> {
        let is_trouble = from.is_trouble();
        let error = from.error.map_or(0, |error| handle::make(error::Failure::new(&error)));
        let number = generated::ALL.iter().position(|(kind, _)| *kind == from.kind);
        let data = millpond_report_data {
            kind: number.map_or(0, |number| number as u32 + 1),
            is_trouble,
            message: millpond_bytes::of(from.message.as_bytes()),
            error: error as *const millpond_error,
        };
        let job = from.job.as_ref().map(of);
        Box::new(Self { data, kind: from.kind, message: from.message, job })
    }

    /// Prints to standard error what went wrong.
    pub(crate) fn log(&self) {
        if self.data.is_trouble || self.kind == ReportKind::Retried {
            eprintln!("millpond: {}", self.message);
        }
    }
}

impl<T> Drop for Report<T> {
    fn drop(&mut self) {
        handle::free::<error::Failure>(self.data.error as usize);
    }
}

/// The name of a `millpond_report_kind`, the same in every language: `done`, `retried`, `released`,
/// `moved`, `dead`, `cancelled`, `refused`, `lost`, `away` or `back`. Never NULL; lives forever.
/// `unknown` for an unknown number.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_report_kind_name(kind: u32) -> *const c_char {
    // SAFETY: there are no pointers.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(c"unknown".as_ptr(), || {
        let found = (kind as usize).checked_sub(1).and_then(|index| generated::ALL.get(index));
        found.map_or(c"unknown", |(_, name)| name).as_ptr()
    })
}
