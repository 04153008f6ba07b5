//! What processing jobs has in common, whatever queue they come from.

pub(crate) mod backoff;
pub(crate) mod ids;
pub(crate) mod poll_loop;
pub(crate) mod term;
