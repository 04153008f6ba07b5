//! Put: add or change a schedule, or give it more ticks.

use std::sync::Arc;

use super::record::{ScheduleRecord, Template, check_id};
use crate::error::Result;
use crate::events::embedded;
use crate::events::op::Op;
use crate::events::partition::Partition;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Adds or changes a schedule, or gives it more ticks, unless another client has changed it.
#[derive(Clone, Debug)]
pub struct PutSchedule {
    partition: Partition,
    op: Op,
    pub(in crate::events) id: Arc<str>,
    /// The expected version; 0 for none.
    pub(in crate::events) version: u64,
    pub(in crate::events) record: ScheduleRecord,
    /// `None` if it gets more ticks and is otherwise unchanged.
    pub(in crate::events) template: Option<Template>,
}

impl PutSchedule {
    /// Puts a schedule in place of one with this version, or, for version 0, where there is none. Only the flags, the
    /// time to live and the ticks of the record count. Without a template the schedule gets more ticks; with one, due
    /// ticks fire before the change.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long, and for ticks that do not rise or are too many.
    pub fn new(
        partition: Partition,
        op: Op,
        id: &str,
        version: u64,
        record: ScheduleRecord,
        template: Option<Template>,
    ) -> Result<Self> {
        check_id(id)?;
        record.check()?;
        Ok(Self { partition, op, id: id.into(), version, record, template })
    }
}

impl Operation for PutSchedule {
    head!(
        "events.put_schedule",
        embedded::State,
        partition,
        [
            "../../step/commands.lua",
            "../partition.lua",
            "../records.lua",
            "../lanes.lua",
            "../names.lua",
            "../event_end.lua",
            "../withdraw.lua",
            "ticks.lua",
            "../commit.lua",
            "put.lua"
        ]
    );
    /// Whether the schedule had that version.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push(self.id.as_bytes());
            args.push_number(self.version);
            args.push(&self.record.packed(&self.id));
            args.push(&self.template.as_ref().map(Template::packed).unwrap_or_default());
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        is_done(reply)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        let partition = self.partition.clone();
        state.put_schedule(&partition, self, context)
    }
}

/// Whether a step made its change.
pub(super) fn is_done(reply: Reply) -> Result<bool> {
    let mut replies = reply.list()?;
    let done = replies.next()?.count(1)?;
    replies.end()?;
    Ok(done == 1)
}
