//! An Ick and its steps.

use std::ffi::c_char;

use millpond::Result;
use millpond::ick::{Added, Ick, Stats};

use crate::caller::Caller;
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::options::{Element, c_bool, growing};
use crate::status::millpond_status;

/// A member to flag, and its score. Its layout is fixed.
#[repr(C)]
pub struct millpond_ick_pair {
    /// The member: any bytes. May be NULL if the length is 0.
    pub member: *const c_char,
    /// How many bytes it has.
    pub member_length: usize,
    /// The score: any number but NaN. Lower scores come first.
    pub score: f64,
    /// Whether the score is the server's time in seconds, instead of `score`.
    pub score_is_now: c_bool,
}

/// What an add changed. A member that is passed twice can count in both. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct millpond_ick_added {
    /// Members that were not in the producer set.
    pub new_members: u64,
    /// Members that were in it, and whose score was lowered.
    pub lowered_members: u64,
}

/// The sizes and score ranges of an Ick. Scores are exact. For an empty set, the minimum and the
/// maximum are 0 and mean nothing.
///
/// `millpond_ick_stats_init` prepares it; after that, each read fills it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_ick_stats {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// Whether the Ick exists. If not, everything else is 0.
    pub exists: c_bool,
    /// Members that are flagged and not reserved.
    pub pset_size: u64,
    /// Members that are reserved and not committed.
    pub cset_size: u64,
    /// The sum of both; a member that is in both counts twice.
    pub total_size: u64,
    /// The lowest score in the producer set.
    pub pset_min: f64,
    /// The highest score in the producer set.
    pub pset_max: f64,
    /// The lowest score in the consumer set.
    pub cset_min: f64,
    /// The highest score in the consumer set.
    pub cset_max: f64,
    /// The lowest score in both sets.
    pub total_min: f64,
    /// The highest score in both sets.
    pub total_max: f64,
}

growing! { millpond_ick_stats {} }

impl Caller {
    /// The Ick of a call.
    pub(crate) fn ick(
        &self,
        client: *const millpond_client,
        name: *const c_char,
        name_length: usize,
    ) -> Result<Ick> {
        let client = self.held("client", client)?;
        Ok(client.ick(self.name(name, name_length)?))
    }
}

impl Element for millpond_ick_pair {
    type Core<'c> = (Option<f64>, &'c [u8]);

    fn read<'c>(
        &self,
        caller: &'c Caller,
        of: impl Fn(&str) -> String,
    ) -> Result<(Option<f64>, &'c [u8])> {
        let member = caller.bytes(|| of("member"), self.member, self.member_length)?;
        Ok(((!self.score_is_now.is_true()).then_some(self.score), member))
    }
}

impl From<Added> for millpond_ick_added {
    fn from(added: Added) -> Self {
        Self { new_members: added.new, lowered_members: added.lowered }
    }
}

impl From<Stats> for millpond_ick_stats {
    fn from(stats: Stats) -> Self {
        let (pset_min, pset_max) = stats.producer_range.unwrap_or_default();
        let (cset_min, cset_max) = stats.consumer_range.unwrap_or_default();
        let (total_min, total_max) = stats.total_range().unwrap_or_default();
        Self {
            size: size_of::<Self>(),
            exists: true.into(),
            pset_size: stats.producer_size,
            cset_size: stats.consumer_size,
            total_size: stats.total_size(),
            pset_min,
            pset_max,
            cset_min,
            cset_max,
            total_min,
            total_max,
        }
    }
}

/// Prepares a structure for `millpond_ick_stats_read`. Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_stats_init(stats: *mut millpond_ick_stats, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(stats, size);
}

/// Reads the sizes and score ranges of both sets. It is not an error if the Ick does not exist: see
/// `exists`.
///
///     millpond_ick_stats stats;
///     millpond_ick_stats_init(&stats, sizeof stats);
///     status = millpond_ick_stats_read(client, "files", 5, &stats, &error);
///
/// Errors: `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
/// else; those of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_stats_read(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    stats: *mut millpond_ick_stats,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let size = caller.structure_size(|| "stats".to_owned(), stats)?;
        caller.init(stats, size);
        if let Some(found) = caller.ick(client, name, name_length)?.stats()? {
            caller.fill(stats, size, found.into());
        }
        Ok(())
    })
}

/// The version flag of every Ick, `ick.v1`; lives forever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_ick_version() -> *const c_char {
    const VERSION: &std::ffi::CStr = c"ick.v1";
    VERSION.as_ptr()
}
