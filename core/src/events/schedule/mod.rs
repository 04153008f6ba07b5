//! Schedules: events that a calendar adds. A schedule is stored in the partition to which its id belongs as a key.
//!
//! Clients compute its ticks in advance, so that any receive turns the due ones into events, in one step and so once.
//! The code outside the feature `schedules` has no calendar.

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
    /// Does nothing without a calendar: clients that have one give schedules more ticks.
    pub(super) async fn refill(&self, _: &[std::sync::Arc<str>]) -> crate::error::Result<bool> {
        Ok(false)
    }
}
