//! Read: schedules, by their ids or page by page.

use std::sync::Arc;

use super::record::{ScheduleRecord, StoredSchedule, Template, check_id};
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::events::embedded;
use crate::events::partition::Partition;
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// The most schedules that a step reads by their ids.
pub const SCHEDULE_IDS_MAX: usize = 100;

/// The most schedules that a server may return for a page, which has about 100.
const PAGE_SCHEDULES_MAX: usize = 1 << 16;

/// Reads schedules of a partition.
#[derive(Clone, Debug)]
pub struct ReadSchedules {
    partition: Partition,
    which: Which,
}

#[derive(Clone, Debug)]
enum Which {
    Ids(Vec<Arc<str>>),
    /// A page, after a position.
    Page(Arc<[u8]>),
}

/// The result of a [`ReadSchedules`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulesRead {
    /// The time, in microseconds since the Unix epoch.
    pub now_us: Timestamp,
    /// The schedules; some of a page may already have been returned.
    pub schedules: Vec<StoredSchedule>,
    /// The position that the next page comes after, if there is one.
    pub next: Option<Arc<[u8]>>,
}

impl ReadSchedules {
    /// Reads the schedules with these ids that exist.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no ids or more than [`SCHEDULE_IDS_MAX`], and for one that is empty or too long.
    pub fn of(partition: Partition, ids: Vec<Arc<str>>) -> Result<Self> {
        let is_allowed = (1..=SCHEDULE_IDS_MAX).contains(&ids.len());
        ensure!(is_allowed, "1 to {SCHEDULE_IDS_MAX} schedules are read, not {}", ids.len());
        ids.iter().try_for_each(|id| check_id(id))?;
        Ok(Self { partition, which: Which::Ids(ids) })
    }

    /// Reads the first page, or the one after a position.
    pub fn page(partition: Partition, after: Option<Arc<[u8]>>) -> Self {
        let which = Which::Page(after.unwrap_or_else(|| b"0".as_slice().into()));
        Self { partition, which }
    }
}

impl Operation for ReadSchedules {
    head!(
        "events.read_schedules",
        embedded::State,
        partition,
        ["../../step/commands.lua", "../partition.lua", "../records.lua", "read.lua"]
    );
    type Output = SchedulesRead;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| match &self.which {
            Which::Ids(ids) => {
                args.push(b"");
                ids.iter().for_each(|id| args.push(id.as_bytes()));
            }
            Which::Page(after) => args.push(after),
        })
    }

    fn decode(&self, reply: Reply) -> Result<SchedulesRead> {
        let corrupt = || Error::new(ErrorKind::Corrupt, "a schedule does not decode");
        let mut replies = reply.list()?;
        let now_us = replies.next()?.number()?;
        let next = replies.next()?.bytes()?;
        let next = (!next.is_empty()).then(|| next.into());
        let most = match &self.which {
            Which::Ids(ids) => ids.len(),
            Which::Page(_) => PAGE_SCHEDULES_MAX,
        };
        let schedules = replies.all(most, |replies| {
            let id = replies.next()?.bytes()?;
            let id = std::str::from_utf8(&id).map_err(|_| malformed())?.into();
            let record = ScheduleRecord::unpack(&replies.next()?.bytes()?).ok_or_else(corrupt)?;
            let template = Template::unpack(&replies.next()?.bytes()?).ok_or_else(corrupt)?;
            Ok(StoredSchedule { id, record: record.at(now_us), template })
        })?;
        Ok(SchedulesRead { now_us, schedules, next })
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<SchedulesRead> {
        match self.which {
            Which::Ids(ids) => state.schedules_of(&self.partition, &ids, context),
            Which::Page(after) => state.schedules_after(&self.partition, &after, context),
        }
    }
}
