//! The records of the journal, as the engine writes and replays them: a queue's kind and name, then
//! what its state wrote.

use std::cell::Cell;
use std::collections::HashMap;

use super::journal::{Journal, SnapshotWriter, Source, Ticket};
use super::table::{Key, Table};
use crate::error::Result;
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{self, Snapshot, State, StateEffects, States};

/// What a record about several queues begins with, in place of a kind. After it comes for each its
/// head and, as one string of bytes, the effects on it.
const SEVERAL: u8 = 0;

/// What the records of a queue begin with: its kind and its name.
fn queue_head(kind: u8, name: &[u8]) -> Vec<u8> {
    let mut head = vec![kind];
    put_bytes(name, &mut head);
    head
}

/// The journal as the steps of one queue see it.
pub(super) struct QueueJournal<'a> {
    journal: &'a Journal,
    head: Vec<u8>,
    /// The record of the step, if it has changed something.
    ticket: Cell<Option<Ticket>>,
}

impl<'a> QueueJournal<'a> {
    pub(super) fn new(journal: &'a Journal, kind: u8, name: &[u8]) -> Self {
        Self { journal, head: queue_head(kind, name), ticket: Cell::new(None) }
    }

    /// What to wait for. A step that changed nothing returns what earlier steps did, perhaps from
    /// records that are not written yet: an add of what another add has just flagged must not be
    /// acknowledged before that one is safe.
    pub(super) fn ticket(&self) -> Ticket {
        self.ticket.get().unwrap_or_else(|| self.journal.last())
    }
}

impl step::Journal for QueueJournal<'_> {
    fn append(&self, own: &[u8], others: &[StateEffects]) {
        let record = match others {
            [] => [&self.head, own].concat(),
            _ => {
                let mut record = vec![SEVERAL];
                for other in others {
                    record.extend(queue_head(other.kind, &other.name));
                    put_bytes(&other.effects, &mut record);
                }
                record.extend(&self.head);
                put_bytes(own, &mut record);
                record
            }
        };
        self.ticket.set(Some(self.journal.append(&record)));
    }
}

/// A snapshot as the state of one queue sees it.
pub(super) struct QueueSnapshot<'a, 'w> {
    journal: &'a Journal,
    writer: &'a mut SnapshotWriter<'w>,
    head: Vec<u8>,
    /// The sequence of the first record of the log that may not be in the copy, as a whole.
    next: Option<u64>,
    result: Result<()>,
}

impl<'a, 'w> QueueSnapshot<'a, 'w> {
    /// Writes a copy of the state.
    pub(super) fn write(
        journal: &'a Journal,
        writer: &'a mut SnapshotWriter<'w>,
        key: &Key,
        state: &dyn State,
    ) -> Result<()> {
        let head = queue_head(key.kind, &key.name);
        let mut copy = Self { journal, writer, head, next: None, result: Ok(()) };
        state.snapshot(&mut copy);
        copy.result
    }
}

impl Snapshot for QueueSnapshot<'_, '_> {
    /// Everything that the queue did so far has a lower sequence, and is in the copy: the queue's
    /// lock is held, and records are appended under it.
    fn begin(&mut self) -> u64 {
        let next = self.journal.next_sequence();
        self.next.get_or_insert(next);
        next
    }

    fn record(&mut self, record: &[u8]) {
        if self.result.is_ok() {
            let mut whole = self.head.clone();
            put_integer(self.next.unwrap_or(0), &mut whole);
            whole.extend_from_slice(record);
            self.result = self.writer.record(&whole);
        }
    }
}

/// Puts the states back together from the journal.
pub(super) struct Replay<'a> {
    table: &'a Table,
    /// Up to which sequence the snapshot's copy of each queue reaches.
    copied: HashMap<(u8, Box<[u8]>), u64>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table, copied: HashMap::new() }
    }

    pub(super) fn record(&mut self, source: Source, record: &[u8]) -> Result<()> {
        let mut reader = Reader::new(record);
        let kind = reader.byte()?;
        if kind != SEVERAL {
            let name = reader.bytes()?;
            return self.queue_record(source, kind, name, reader);
        }
        while !reader.is_empty() {
            let (kind, name) = (reader.byte()?, reader.bytes()?);
            self.queue_record(source, kind, name, Reader::new(reader.bytes()?))?;
        }
        Ok(())
    }

    /// What a record says about one queue.
    fn queue_record(
        &mut self,
        source: Source,
        kind: u8,
        name: &[u8],
        mut reader: Reader<'_>,
    ) -> Result<()> {
        let sequence = match source {
            Source::Snapshot => {
                let next = reader.integer()?;
                self.copied.insert((kind, name.into()), next);
                None
            }
            Source::Log(sequence) => {
                // Most logs follow no snapshot of the queue, so the key is made only if needed.
                if !self.copied.is_empty()
                    && self.copied.get(&(kind, name.into())).is_some_and(|next| sequence < *next)
                {
                    return Ok(());
                }
                Some(sequence)
            }
        };
        self.table.state_of_kind(kind, name)?.replay(reader.rest(), sequence)
    }
}
