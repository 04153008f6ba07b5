//! The parts of job processing that all queues share: the loop that asks for work and waits for it, and the renewal
//! of leases. Queues use no other clock, random source or timer.

pub(crate) mod backoff;
pub(crate) mod drive;
pub(crate) mod due;
pub(crate) mod failure;
pub(crate) mod groups;
pub(crate) mod ids;
pub(crate) mod lease;
mod machine;
mod outage;
pub(crate) mod per_fork;
pub(crate) mod poll_loop;
mod renewal;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod stop;
mod term;
