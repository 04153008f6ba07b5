//! What the generator writes, from the core's own items: `make bindings`.

mod classes;
#[allow(clippy::too_many_arguments, reason = "they are keywords")]
mod handles;
mod records;

pub(crate) use handles::*;
