//! The native half of the Python package `millpond`: converts arguments, releases the
//! interpreter's lock, calls the core and converts the result. What people import is written by
//! hand in Python above it; there is no queue logic here.

#[cfg(windows)]
compile_error!("Millpond for Python runs on Linux and macOS; on Windows use WSL");

mod client;
mod clock;
mod completions;
mod convert;
mod doc;
mod errors;
mod events;
mod fields;
mod generated;
mod given;
mod handle;
mod held;
mod ick;
mod json;
mod loops;
mod modification;
mod process;
mod recruiter;
mod runs;
mod shuffle;
mod shuffle_consumer;
mod shuffle_message;
mod task;
mod task_handles;
mod to_python;
mod volatile;
mod wakeup;
mod when;

use pyo3::prelude::*;

/// The private half of the package `millpond`.
#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::client::connect;
    #[pymodule_export]
    use super::clock::ManualClock;
    #[pymodule_export]
    use super::doc::{Doc, DocChange};
    #[pymodule_export]
    use super::generated::{
        Client, EventJob, EventQueue, EventWorker, Ick, IckChannel, Job, QueueTracker, Recruiter,
        ShuffleConsumer, ShuffleJob, ShuffleQueue, ShuffleWorker, Slice, TaskStore, VolatileHash,
        VolatileHashes, Worker,
    };
    #[pymodule_export]
    use super::handle::panic;
    #[pymodule_export]
    use super::held::{ConsumerLease, FieldLock};
    #[pymodule_export]
    use super::loops::{Batches, Claims, Deliveries, Garbage, Jobs, Messages, Slices};
    #[pymodule_export]
    use super::modification::Modification;
    #[pymodule_export]
    use super::runs::{EventRun, Run, ShuffleRun};
    #[pymodule_export]
    use super::shuffle::shard;
    #[pymodule_export]
    use super::shuffle_message::{Message, Receipt, undecodable};
    #[pymodule_export]
    use super::task::{Task, TaskChange};
    #[pymodule_export]
    use super::when::fixed;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        process::watch(module.py())?;
        module.add("ERROR_KINDS", errors::table())?;
        module.add("VERSION", millpond::VERSION)
    }
}
