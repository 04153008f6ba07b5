//! The result of a call of a recruiter.

use std::ffi::c_char;

use millpond::recruiter::RecruiterStats;

use super::{millpond_enlistment_stats, millpond_recruiter_job_stats};
use crate::keys::millpond_bytes;

/// What is in a result.
///
/// New versions may add fields to records, so a program must not index an array of them: use
/// `millpond_recruiter_result_job`, or advance by the number of bytes given beside the array.
#[repr(C)]
pub struct millpond_recruiter_data {
    /// What the enlistments came to.
    pub stats: *const millpond_enlistment_stats,
    /// The jobs, by their ids: those per second that a process has offered, and those by share that have run.
    pub jobs: *const millpond_recruiter_job_stats,
    /// How many there are.
    pub job_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub job_size: usize,
    /// All texts, one after another without gaps: the ids of the jobs. For interpreters, which copy them in one go; not
    /// NUL-terminated.
    pub text: *const c_char,
    /// The length of all texts, in bytes.
    pub text_length: usize,
}

/// What a handle of a result refers to. Boxed, because otherwise every handle would take this much memory.
pub(crate) type RecruiterResult = Box<Parts>;

/// The parts of a result, each stored without gaps, and what points to them.
pub(crate) struct Parts {
    pub(crate) data: millpond_recruiter_data,
    pub(crate) jobs: Box<[millpond_recruiter_job_stats]>,
    _stats: Box<millpond_enlistment_stats>,
    _text: Box<[u8]>,
}

// SAFETY: the pointers in it point into its other parts, which are never changed or moved.
unsafe impl Send for Parts {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Parts {}

impl From<RecruiterStats> for RecruiterResult {
    fn from(from: RecruiterStats) -> Self {
        let mut text = Vec::new();
        from.jobs.iter().for_each(|job| millpond_recruiter_job_stats::texts(job, &mut text));
        let text = text.into_boxed_slice();
        let mut rest = &*text;
        let mut cut = |text: Option<&[u8]>| {
            let (own, after) = rest.split_at(text.map_or(0, <[u8]>::len));
            rest = after;
            millpond_bytes::of(own)
        };
        let jobs = from.jobs.iter().map(|job| millpond_recruiter_job_stats::new(job, &mut cut));
        let (jobs, stats): (Box<[_]>, _) =
            (jobs.collect(), Box::new(millpond_enlistment_stats::new(&from)));
        let data = millpond_recruiter_data {
            stats: &raw const *stats,
            jobs: jobs.as_ptr(),
            job_count: jobs.len(),
            job_size: size_of::<millpond_recruiter_job_stats>(),
            text: text.as_ptr().cast(),
            text_length: text.len(),
        };
        Box::new(Parts { data, jobs, _stats: stats, _text: text })
    }
}
