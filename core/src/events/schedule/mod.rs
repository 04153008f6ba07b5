//! Schedules: events that a calendar adds. A schedule lies in the partition of its id as a key.
//!
//! Its ticks are computed ahead by clients, so that whoever receives makes events of those that have come, in one step
//! and so once. What is here and not behind the feature `schedules` knows of no calendar.

#[cfg(feature = "schedules")]
mod calendar;
#[cfg(feature = "schedules")]
mod cron;
#[cfg(feature = "schedules")]
mod handle;
#[cfg(feature = "schedules")]
mod plan;
mod put;
mod read;
mod record;
mod remove;
mod trigger;

#[cfg(feature = "schedules")]
pub use cron::CRON_BYTES_MAX;
#[cfg(feature = "schedules")]
pub use handle::{OWNER_BYTES_MAX, PutStatus, SYNC_SCHEDULES_MAX, SyncedSchedules};
#[cfg(feature = "schedules")]
pub use plan::{
    GRACE_DEFAULT, Missed, Overlap, Schedule, ScheduleInfo, ZONE_BYTES_MAX, ZONE_DEFAULT,
};
pub use put::PutSchedule;
pub use read::{ReadSchedules, SCHEDULE_IDS_MAX, SchedulesRead};
pub(super) use record::flag;
pub use record::{
    SCHEDULE_ID_BYTES_MAX, SCHEDULE_TICKS_MAX, ScheduleRecord, StoredSchedule, Template,
};
pub use remove::RemoveSchedule;
pub use trigger::Trigger;

#[cfg(not(feature = "schedules"))]
impl<M: crate::client::Mode> super::calls::Calls<M> {
    /// Knows of no calendar: clients that do give schedules more ticks.
    pub(super) async fn refill(&self, _: &[std::sync::Arc<str>]) -> crate::error::Result<bool> {
        Ok(false)
    }
}
