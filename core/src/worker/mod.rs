//! What processing jobs has in common, whatever queue they come from.

pub(crate) mod term;
