//! Delete: remove a partition with all its contents.

use std::sync::Arc;

use super::embedded;
use super::partition::Partition;
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, head};

/// Removes a partition with all its contents: first everything that other steps need, then its lanes, some per step.
#[derive(Clone, Debug)]
pub struct Delete {
    pub(super) partition: Partition,
    /// The position among the lanes to continue from; `None` to leave them.
    cursor: Option<Arc<[u8]>>,
    /// Whether it only continues a deletion that another call has begun.
    pub(super) is_begun: bool,
}

/// A partition that is being removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    pub(super) generation: u32,
    /// For partition 0: the ranges of each partition of the queue.
    pub(super) map: Arc<str>,
    /// The position to continue from; `None` if the partition is gone.
    pub(super) cursor: Option<Arc<[u8]>>,
}

impl Delete {
    /// Begins to remove a partition of any generation: no other step finds it any more, and only [`new`](Self::new)
    /// removes the rest of it.
    pub fn begin(partition: Partition) -> Self {
        Self { partition: partition.of_generation(u32::MAX), cursor: None, is_begun: false }
    }

    /// As [`begin`](Self::begin), but only if a deletion has begun: the queue may already be a new one.
    pub(super) fn go_on(partition: Partition) -> Self {
        Self { is_begun: true, ..Self::begin(partition) }
    }

    /// Removes this partition, unless it has a later generation by now.
    pub fn new(partition: Partition) -> Self {
        Self { partition, cursor: Some(b"0".as_slice().into()), is_begun: false }
    }

    /// The step that continues after this one; `None` if nothing is left.
    #[must_use]
    pub fn next(&self, deleted: Option<Deleted>) -> Option<Self> {
        let cursor = Some(deleted?.cursor?);
        Some(Self { partition: self.partition.clone(), cursor, is_begun: false })
    }

    pub(super) fn is_begin(&self) -> bool {
        self.cursor.is_none()
    }
}

impl Operation for Delete {
    head!(
        "events.delete",
        embedded::State,
        partition,
        ["../step/commands.lua", "partition.lua", "delete.lua"]
    );
    /// `None` if there is no such partition.
    type Output = Option<Deleted>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            let begin: &[u8] = if self.is_begun { b"-" } else { b"" };
            args.push(self.cursor.as_deref().unwrap_or(begin));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Option<Deleted>> {
        let mut replies = reply.list()?;
        let cursor = replies.next()?.bytes()?;
        let generation = replies.next()?.number()?;
        let map = String::from_utf8(replies.next()?.bytes()?).map_err(|_| malformed())?;
        replies.end()?;
        if !cursor.iter().all(u8::is_ascii_digit) {
            return Err(malformed());
        }
        let cursor = Some(cursor.into()).filter(|cursor: &Arc<[u8]>| !cursor.is_empty());
        Ok((generation > 0).then(|| Deleted { generation, map: map.into(), cursor }))
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Deleted>> {
        Ok(state.delete(&self, context))
    }
}
