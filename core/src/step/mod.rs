//! The parts of a step: for tools, and for programs that send steps over their own connections.
//!
//! Programs that only use queues do not need this module.

mod byte_list;
#[cfg(test)]
pub(crate) mod cases;
mod chance;
pub(crate) mod codec;
mod context;
mod effects;
pub(crate) mod fnv;
pub(crate) mod headers;
pub(crate) mod limits;
mod name;
mod operation;
pub(crate) mod reply;
pub(crate) mod score;
mod script;
#[cfg(test)]
pub(crate) mod script_header;
mod state;
#[cfg(test)]
pub(crate) mod stored;
mod stream_id;
pub(crate) mod time;
pub(crate) mod timed;
mod when;

pub use byte_list::ByteList;
pub(crate) use chance::Chance;
pub(crate) use context::{Finished, Wake};
pub use context::{StepContext, Timestamp};
pub(crate) use effects::{Effects, SNAPSHOT_BYTES};
pub use name::NAME_BYTES_MAX;
#[cfg(test)]
pub(crate) use name::tests as names;
pub(crate) use name::{
    around_number, check_name, check_name_length, check_not_reserved, has_tag, numbered_name,
    tagged_name, unmarked,
};
pub use operation::Operation;
pub(crate) use operation::{head, sealed, steps};
pub use reply::Reply;
pub use script::{Constants, Invocation, Script};
pub(crate) use script::{constants, script};
pub(crate) use state::{Journal, StateEffects, States};
pub use state::{Snapshot, State};
pub use stream_id::StreamId;
pub use when::When;
