#![doc = include_str!("README.md")]

mod calls;
mod cancel;
#[cfg(test)]
mod cases;
mod config;
mod config_change;
mod delete;
mod deliveries;
mod embedded;
mod event;
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
mod redrive;
mod redrive_all;
mod renew;
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
pub use config::{
    BACKOFF_MAX_DEFAULT, BACKOFF_MIN_DEFAULT, BURST_DEFAULT, CONCURRENCY_DEFAULT, Config,
    DEDUP_IDS_MAX_DEFAULT, EVENTS_MAX_DEFAULT, LEASE_DEFAULT, MAX_ATTEMPTS_DEFAULT,
    MAX_CRASHES_DEFAULT, PARTITIONS_DEFAULT, RATE_DEFAULT, RETENTION_DEFAULT,
};
pub use config_change::ConfigChange;
pub use delete::{Delete, Deleted};
pub use deliveries::Deliveries;
pub use event::{DEDUP_WINDOW_DEFAULT, Event, IfExists, NewEvent};
pub use fetch::Fetch;
pub use hand_on::HandOn;
pub use id::EventId;
pub use job::Job;
pub use limits::{
    CANCELLED_MAX, COUNT_MAX, DEDUP_ID_BYTES_MAX, DELAY_MAX, ERR_BYTES_MAX, FOLLOWING_EVENTS_MAX,
    KEY_BYTES_MAX, PAGE_DEFAULT, PAGE_MAX, PARTITIONS_MAX, PAYLOAD_BYTES_MAX, RATE_MAX,
    RECEIVE_EVENTS_MAX, STEP_BYTES_MAX, STEP_EVENTS_MAX, TIME_MS_MAX,
};
pub use list::{EventPage, EventPosition, EventQuery, List};
pub use map::Map;
pub use op::Op;
pub use open::Open;
pub use partition::Partition;
pub use publish::{Publish, Published, Status};
pub use purge::{Purge, PurgeFilter, PurgeRange, Purged};
pub use queue::EventQueue;
pub use receive::{Receipt, Receive, Received};
pub use redrive::{Redrive, Redriven};
pub use redrive_all::{RedriveAll, RedriveFilter, RedriveRange, RedrivenAll};
pub use renew::{Held, Renew, Renewed};
pub use reschedule::{Reschedule, Rescheduled};
pub use reshard::{Arrive, Batch, Export, Import, Imported, Leave, Left, Moved, Remap, Thaw};
pub use run::RELEASE_DELAY_DEFAULT;
#[cfg(feature = "schedules")]
pub use schedule::{
    CRON_BYTES_MAX, GRACE_DEFAULT, Missed, OWNER_BYTES_MAX, Overlap, PutStatus, SYNC_SCHEDULES_MAX,
    Schedule, ScheduleInfo, SyncedSchedules, ZONE_BYTES_MAX, ZONE_DEFAULT,
};
pub use schedule::{
    PutSchedule, ReadSchedules, RemoveSchedule, SCHEDULE_ID_BYTES_MAX, SCHEDULE_IDS_MAX,
    SCHEDULE_TICKS_MAX, ScheduleRecord, SchedulesRead, StoredSchedule, Template, Trigger,
};
pub use settle::{End, Settle, Settled, Settlement};
pub use state::{DeadReason, EventState, Token};
pub(crate) use stats::KIND;
pub use stats::{ReadStats, Stats};
pub use worker::{Run, Worker};

pub use crate::step::headers::{HEADERS_BYTES_MAX, HEADERS_MAX};
pub use crate::step::limits::DEDUP_WINDOW_MAX;
pub use crate::worker::failure::{Failure, Outcome};
pub use crate::worker::report::JobCounts;

use crate::step::steps;

steps! {
    [embedded::State]
    Arrive, Cancel, Delete, Export, Fetch, HandOn, Import, Leave, List, Open, Publish, Purge, PutSchedule, ReadSchedules,
    ReadStats, Receive, Redrive, RedriveAll, Remap, RemoveSchedule, Renew, Reschedule, Settle, Thaw, Trigger,
}
