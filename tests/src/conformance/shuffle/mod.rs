//! Cases of shuffle queues.
//!
//! A recording says what the original does. A model that is written from the specification has the
//! original's rules and ours: with the original's it has to give what was recorded, and with ours
//! it says what every language has to return and what a server has to hold.

mod embedded;
mod names;
mod place;
mod plan;
mod planning;
mod play;
mod raw;
mod request;
mod response;
mod result;
mod rules;
mod run;
mod shards;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use place::Kind;
pub(crate) use plan::Plans;
pub(crate) use run::run;
pub(crate) use shards::Shards;

/// The calls of shuffle queues, by which their cases are known.
pub(crate) fn is_call(call: &str) -> bool {
    step::CALLS.contains(&call)
}
