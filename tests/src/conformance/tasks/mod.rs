//! Cases in patterns: of task stores, of events, of volatile hashes, of recruiters, of queue trackers, and of the workers of shuffle queues.
//!
//! They are written by hand from the specification and say what every language has to return, in
//! patterns: times and random choices are ranges there. On a server the kit reads the whole
//! store without the library after each step and checks the layout.

mod invariants;
mod names;
mod pattern;
mod plan;
mod raw;
mod record;
mod recruiter;
mod refusal;
mod run;
mod store;
#[cfg(test)]
mod tests;
mod tracker;
mod view;
mod volatile;

pub(crate) use plan::Plan;
pub(crate) use run::run;

/// Whether only cases in patterns have this call.
pub(crate) fn is_call(call: &str) -> bool {
    let queues = ["task", "shuffle_", "events_", "vhash_", "steal_", "tracker_"];
    queues.iter().any(|of| call.starts_with(of)) || call == "repeat"
}
