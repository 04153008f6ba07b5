//! Advance: add the ids of rows that were scanned, and move the scan past them.

use std::time::Duration;

use super::name::Name;
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// What a scan did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// The rows that it moved past; 0 if another scan did so first, in which case nothing was changed.
    pub rows: u64,
    /// The ids that were not tracked before.
    pub added: u64,
    /// Whether there may be more rows to scan now: the page was full, or another scan was faster.
    pub more: bool,
}

/// Adds the ids of rows that were scanned, and moves the scan past them; changes nothing if another scan has moved it.
#[derive(Clone, Debug)]
pub struct Advance {
    name: Name,
    /// The row at which the scan is expected; empty for the beginning.
    after: Box<str>,
    /// The last row; empty if there is none.
    row: Box<str>,
    rows: usize,
    is_last: bool,
    round_us: u64,
    ids: ByteList,
}

impl Advance {
    /// Advances a scan from `after`, which is empty for the beginning of the table, past these rows, each of which has
    /// an id, or an empty one for none. Fewer rows than `limit` are the last ones of the table: if the last round began
    /// at least `round_min` ago, the next scan starts again at the beginning.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, rows and ids beyond their limits or of different
    /// number, a full page that ends where it began, a limit of 0 or above [`IDS_MAX`](super::IDS_MAX), and a
    /// `round_min` above [`ROUND_MAX`](super::ROUND_MAX).
    pub fn new<R: AsRef<[u8]>, I: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        after: impl AsRef<[u8]>,
        rows: impl IntoIterator<Item = R>,
        ids: impl IntoIterator<Item = I>,
        limit: usize,
        round_min: Duration,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, after.as_ref(), rows, ids, limit, round_min)
    }

    pub(super) fn of<R: AsRef<[u8]>, I: AsRef<[u8]>>(
        name: Name,
        after: &[u8],
        rows: impl IntoIterator<Item = R>,
        ids: impl IntoIterator<Item = I>,
        limit: usize,
        round_min: Duration,
    ) -> Result<Self> {
        let limit = limits::limit(limit)?;
        let round_us = limits::round_us(round_min)?;
        let after = if after.is_empty() { "" } else { limits::row(after)? };
        let (mut count, mut row, mut list) = (0, Box::<str>::default(), ByteList::default());
        let mut ids = ids.into_iter();
        for next in rows {
            let id = ids.next();
            ensure!(id.is_some(), "there are more rows than ids");
            count += 1;
            limits::count(count, "rows")?;
            row = limits::row(next.as_ref())?.into();
            if let Some(id) = id.filter(|id| !id.as_ref().is_empty()) {
                limits::push_id(id.as_ref(), &mut list)?;
            }
        }
        ensure!(ids.next().is_none(), "there are more ids than rows");
        let is_last = count < limit;
        let stands_still = !is_last && *row == *after;
        ensure!(!stands_still, "the rows end where they began: they have to come after that row");
        Ok(Self { name, after: after.into(), row, rows: count, is_last, round_us, ids: list })
    }

    fn scanned(&self, is_done: bool, added: u64) -> Scanned {
        match is_done {
            true => Scanned { rows: self.rows as u64, added, more: !self.is_last },
            false => Scanned { rows: 0, added: 0, more: true },
        }
    }
}

impl Operation for Advance {
    head!(
        "tracker.advance",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "advance.lua"]
    );
    type Output = Scanned;
    /// A second run would find the scan past the rows, and report that no id is new.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.after.as_bytes());
        args.push(self.row.as_bytes());
        args.push(if self.is_last { b"1" } else { b"0" });
        args.push_number(self.round_us);
        args.append(&self.ids);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Scanned> {
        let mut replies = reply.list()?;
        let is_done = replies.next()?.flag()?;
        let added = replies.next()?.count(self.ids.len())?;
        replies.end()?;
        Ok(self.scanned(is_done, added))
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Scanned> {
        let (is_done, added) = state.step(context, |tracker, now, effects| {
            if tracker.row() != &*self.after {
                // An earlier call whose reply was lost may have moved the scan.
                return Ok((!self.row.is_empty() && tracker.row() == &*self.row, 0));
            }
            let row = if self.row.is_empty() { &self.after } else { &self.row };
            tracker.advance(row, self.is_last.then_some(self.round_us), now, effects);
            let added = if self.ids.is_empty() { 0 } else { tracker.add(&self.ids, now, effects) };
            Ok((true, added))
        })?;
        Ok(self.scanned(is_done, added))
    }
}
