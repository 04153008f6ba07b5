#![doc = include_str!("README.md")]

mod calls;
mod cancel;
#[cfg(test)]
mod cases;
mod config;
mod config_change;
mod delete;
mod embedded;
mod event;
mod extend;
mod fetch;
mod hand_on;
mod id;
mod job;
mod key_range;
mod limits;
mod list;
mod map;
mod op;
mod open;
mod operator;
mod partition;
mod publish;
mod publish_call;
mod purge;
mod queue;
mod receive;
mod receives;
mod redrive;
mod redrive_all;
mod reschedule;
mod reshard;
mod route;
mod run;
mod schedule;
mod settle;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod vslot;
mod walk;
mod worker;

pub use cancel::{Cancel, Cancelled};
pub use config::Config;
pub use config_change::ConfigChange;
pub use delete::{Delete, Deleted};
pub use event::{Event, IfExists, NewEvent};
pub use extend::{Extend, Extended, Held};
pub use fetch::Fetch;
pub use hand_on::HandOn;
pub use id::EventId;
pub use job::Job;
pub use list::{EventPage, EventPosition, EventQuery, List};
pub use map::Map;
pub use op::Op;
pub use open::Open;
pub use partition::Partition;
pub use publish::{Publish, Published, Status};
pub use purge::{Purge, PurgeFilter, PurgeRange, Purged};
pub use queue::EventQueue;
pub use receive::{Receipt, Receive, Received, Token};
pub use receives::Deliveries;
pub use redrive::{Redrive, Redriven};
pub use redrive_all::{RedriveAll, RedriveFilter, RedriveRange, RedrivenAll};
pub use reschedule::{Reschedule, Rescheduled};
pub use reshard::{Arrive, Batch, Export, Import, Imported, Leave, Left, Moved, Remap, Thaw};
pub use run::Run;
#[cfg(feature = "schedules")]
pub use schedule::{
    Missed, Overlap, PutStatus, SYNC_SCHEDULES_MAX, Schedule, ScheduleInfo, SyncedSchedules,
};
pub use schedule::{
    PutSchedule, ReadSchedules, RemoveSchedule, ScheduleRecord, SchedulesRead, StoredSchedule,
    Template, Trigger,
};
pub use settle::{End, Settle, Settled, Settlement};
pub use state::{DeadReason, EventState};
pub(crate) use stats::KIND;
pub use stats::{ReadStats, Stats};
pub use worker::{Outcome, Worker};

pub use crate::worker::failure::Failure;
pub use crate::worker::report::JobCounts;

use crate::step::steps;

steps! {
    [embedded::State]
    Arrive, Cancel, Delete, Export, Extend, Fetch, HandOn, Import, Leave, List, Open, Publish, Purge, PutSchedule, ReadSchedules,
    ReadStats, Receive, Redrive, RedriveAll, Remap, RemoveSchedule, Reschedule, Settle, Thaw, Trigger,
}
