//! A store's records in the journal: what its steps did, and how it comes back from that.
//!
//! A snapshot is one copy after the other, of one queue or one namespace each, while steps go on. The copy
//! says up to which record it reaches, so a record that is replayed later leaves out what it says about a
//! task or a document whose queue or namespace was copied after it was written.

use std::sync::Arc;

use hashbrown::HashMap;

use super::index::Location;
use super::queue::{NOBODY, Queue, Record, Slot, Texts, shared};
use super::{Doc, State};
use crate::error::{Error, ErrorKind, Result};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{Effects, Snapshot};

/// Effects in the journal: a tag and what it needs. They say what changed, not what was asked, so
/// that a later version with other rules still makes the same state of them.
mod tag {
    /// Queue: what the next effects are about.
    pub(super) const QUEUE: u8 = 1;
    /// A task, all of it, new or in the place of one of its id.
    pub(super) const TASK: u8 = 2;
    /// Id, version, at, modified, claimant, claims: what a claim or a renewal changes. What is claimed once
    /// more has one more claim without an end.
    pub(super) const LEASE: u8 = 3;
    /// Id: the task is not in this queue any more.
    pub(super) const TASK_REMOVED: u8 = 4;
    /// Namespace: what the next effects are about.
    pub(super) const NAMESPACE: u8 = 5;
    /// A document, all of it, new or in the place of one of its id.
    pub(super) const DOC: u8 = 6;
    /// Id, version, at, modified, claimant.
    pub(super) const DOC_LEASE: u8 = 7;
    /// Id.
    pub(super) const DOC_REMOVED: u8 = 8;
    /// Sequence: the queue or the namespace that was named last was copied before this record.
    pub(super) const COPIED: u8 = 9;
    /// Id, number: how often the task was claimed since it was inserted, changed or released. 0 for a task of
    /// which nothing else is said.
    pub(super) const UNENDED: u8 = 10;
}

/// Bytes in one snapshot record: large enough to be cheap, small enough to be read in pieces.
const SNAPSHOT_BYTES: usize = 256 * 1024;

/// How many claimants are known at a time while a journal is replayed.
const CLAIMANTS_MAX: usize = 4_096;

/// What a step changed, as its record.
pub(super) struct Changes {
    effects: Effects,
    section: Option<Section>,
}

/// What the copies of a snapshot are of.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Section {
    Queue(Arc<str>),
    Namespace(Arc<str>),
}

impl Changes {
    pub(super) fn new(effects: Effects) -> Self {
        Self { effects, section: None }
    }

    pub(super) fn into_effects(self) -> Effects {
        self.effects
    }

    fn section(&mut self, section: Section) {
        if self.section.as_ref() == Some(&section) {
            return;
        }
        let (tag, name) = match &section {
            Section::Queue(name) => (tag::QUEUE, name),
            Section::Namespace(name) => (tag::NAMESPACE, name),
        };
        self.effects.write(tag, |record| put_bytes(name.as_bytes(), record));
        self.section = Some(section);
    }

    fn in_queue(&mut self, queue: &Arc<str>, tag: u8, rest: impl FnOnce(&mut Vec<u8>)) {
        if self.effects.are_recorded() {
            self.section(Section::Queue(queue.clone()));
            self.effects.write(tag, rest);
        }
    }

    fn in_namespace(&mut self, namespace: &Arc<str>, tag: u8, rest: impl FnOnce(&mut Vec<u8>)) {
        if self.effects.are_recorded() {
            self.section(Section::Namespace(namespace.clone()));
            self.effects.write(tag, rest);
        }
    }

    pub(super) fn task(&mut self, queue: &Arc<str>, task: &Record) {
        self.in_queue(queue, tag::TASK, |record| {
            put_text(&task.id, record);
            put_integer(task.version, record);
            put_integer(task.at_ms, record);
            put_integer(task.created_ms, record);
            put_integer(task.modified_ms, record);
            put_integer(task.expires_ms, record);
            put_text(&task.claimant, record);
            put_integer(task.claims.into(), record);
            put_integer(task.attempt.into(), record);
            record.push(task.priority);
            put_text(&task.err, record);
            put_optional_text(task.value.as_ref(), record);
        });
    }

    pub(super) fn lease(&mut self, queue: &Arc<str>, task: &Record) {
        self.in_queue(queue, tag::LEASE, |record| {
            put_text(&task.id, record);
            put_integer(task.version, record);
            put_integer(task.at_ms, record);
            put_integer(task.modified_ms, record);
            put_text(&task.claimant, record);
            put_integer(task.claims.into(), record);
        });
    }

    pub(super) fn unended(&mut self, queue: &Arc<str>, task: &Record) {
        self.in_queue(queue, tag::UNENDED, |record| {
            put_text(&task.id, record);
            put_integer(task.unended.into(), record);
        });
    }

    pub(super) fn task_removed(&mut self, queue: &Arc<str>, id: &Arc<str>) {
        self.in_queue(queue, tag::TASK_REMOVED, |record| put_text(id, record));
    }

    pub(super) fn doc(&mut self, doc: &Doc) {
        self.in_namespace(&doc.namespace, tag::DOC, |record| {
            put_text(&doc.id, record);
            put_integer(doc.version, record);
            put_text(&doc.key, record);
            put_text(&doc.secondary_key, record);
            put_integer(doc.at_ms, record);
            put_text(&doc.claimant, record);
            put_integer(doc.created_ms, record);
            put_integer(doc.modified_ms, record);
            put_optional_text(doc.content.as_ref(), record);
        });
    }

    pub(super) fn doc_lease(&mut self, doc: &Doc) {
        self.in_namespace(&doc.namespace, tag::DOC_LEASE, |record| {
            put_text(&doc.id, record);
            put_integer(doc.version, record);
            put_integer(doc.at_ms, record);
            put_integer(doc.modified_ms, record);
            put_text(&doc.claimant, record);
        });
    }

    pub(super) fn doc_removed(&mut self, namespace: &Arc<str>, id: &Arc<str>) {
        self.in_namespace(namespace, tag::DOC_REMOVED, |record| put_text(id, record));
    }
}

/// What is known while a journal is replayed: up to which record the copies reach.
#[derive(Default)]
pub(super) struct Replayed {
    copied: HashMap<Section, u64>,
    /// Claimants, of which many hold more than one thing, are one text each.
    texts: Texts,
}

impl Replayed {
    /// Whether the copy of this section holds what the record of this sequence says of it.
    fn holds(&self, section: &Section, sequence: Option<u64>) -> bool {
        let copied = || self.copied.get(section).copied();
        sequence.is_some_and(|sequence| copied().is_some_and(|copied| sequence < copied))
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if text.is_empty() {
            return NOBODY.clone();
        }
        // Those of jobs are many, and none of them comes back.
        if self.texts.len() >= CLAIMANTS_MAX {
            self.texts = Texts::default();
        }
        self.texts.copy(text)
    }
}

impl State {
    pub(super) fn replay_record(
        &self,
        replayed: &mut Replayed,
        record: &[u8],
        sequence: Option<u64>,
    ) -> Result<()> {
        let mut record = Reader::new(record);
        let mut section = None;
        while !record.is_empty() {
            let tag = record.byte()?;
            match (tag, &section) {
                (tag::QUEUE, _) => section = Some(Section::Queue(text(&mut record)?.into())),
                (tag::NAMESPACE, _) => {
                    section = Some(Section::Namespace(text(&mut record)?.into()))
                }
                (tag::COPIED, Some(section)) => {
                    replayed.copied.insert(section.clone(), record.integer()?);
                }
                (
                    tag::TASK | tag::LEASE | tag::UNENDED | tag::TASK_REMOVED,
                    Some(Section::Queue(queue)),
                ) => {
                    self.replay_task(replayed, tag, queue, &mut record, sequence)?;
                }
                (tag::DOC | tag::DOC_LEASE | tag::DOC_REMOVED, Some(Section::Namespace(name))) => {
                    self.replay_doc(replayed, tag, name, &mut record, sequence)?;
                }
                _ => return Err(unreadable(&format!("has the tag {tag} where it cannot be"))),
            }
        }
        Ok(())
    }

    fn replay_task(
        &self,
        replayed: &mut Replayed,
        tag: u8,
        queue: &Arc<str>,
        record: &mut Reader<'_>,
        sequence: Option<u64>,
    ) -> Result<()> {
        let task = match tag {
            tag::TASK => Some(Record {
                id: text(record)?.into(),
                version: record.integer()?,
                at_ms: record.integer()?,
                created_ms: record.integer()?,
                modified_ms: record.integer()?,
                expires_ms: record.integer()?,
                claimant: replayed.text(text(record)?),
                claims: small(record)?,
                attempt: small(record)?,
                unended: 0,
                priority: record.byte()?,
                err: shared(&text(record)?.into()),
                value: optional_text(record)?,
            }),
            _ => None,
        };
        let lease = match tag {
            tag::LEASE => Some(Lease {
                id: text(record)?,
                version: record.integer()?,
                at_ms: record.integer()?,
                modified_ms: record.integer()?,
                claimant: replayed.text(text(record)?),
                claims: small(record)?,
            }),
            _ => None,
        };
        let id = match (&task, &lease) {
            (Some(task), _) => task.id.clone(),
            (None, Some(lease)) => lease.id.into(),
            (None, None) => text(record)?.into(),
        };
        let unended = (tag == tag::UNENDED).then(|| small(record)).transpose()?;
        if replayed.holds(&Section::Queue(queue.clone()), sequence) {
            return Ok(());
        }
        let found = self.index.find(&id);
        // A task is in one queue: where a later copy has it is where it was.
        if found.as_ref().is_some_and(|found| {
            replayed.holds(&Section::Queue(found.queue.name.clone()), sequence)
        }) {
            return Ok(());
        }
        match (task, lease, found) {
            (Some(task), _, found) => {
                if let Some(found) = found {
                    self.replay_on(&found, |queue, slot| drop(queue.remove(slot)))?;
                }
                let queue = self.queues.find_or_make(queue);
                let mut guard = queue.lock().ok_or_else(|| unreadable("is replayed twice"))?;
                let slot = guard.insert(task);
                self.queues.used(&mut guard);
                drop(guard);
                self.index.shard_of(&id).insert(id, Location { queue, slot });
            }
            (None, Some(lease), Some(found)) => self.replay_on(&found, |queue, slot| {
                queue.update(slot, |task| {
                    task.version = lease.version;
                    task.at_ms = lease.at_ms;
                    task.modified_ms = lease.modified_ms;
                    task.claimant = lease.claimant;
                    task.unended += lease.claims.saturating_sub(task.claims);
                    task.claims = lease.claims;
                });
            })?,
            (None, None, Some(found)) if let Some(unended) = unended => {
                self.replay_on(&found, |queue, slot| {
                    queue.update(slot, |task| task.unended = unended);
                })?;
            }
            (None, None, Some(found)) => {
                self.replay_on(&found, |queue, slot| drop(queue.remove(slot)))?;
                self.index.shard_of(&id).remove(&id);
            }
            (None, _, None) => return Err(unreadable("is about a task that is not there")),
        }
        Ok(())
    }

    /// Does something to a task while nobody else is at work.
    fn replay_on(&self, at: &Location, work: impl FnOnce(&mut Queue, Slot)) -> Result<()> {
        let mut guard =
            at.queue.lock().ok_or_else(|| unreadable("is about a queue that is gone"))?;
        work(&mut guard, at.slot);
        self.queues.used(&mut guard);
        Ok(())
    }

    fn replay_doc(
        &self,
        replayed: &mut Replayed,
        tag: u8,
        namespace: &Arc<str>,
        record: &mut Reader<'_>,
        sequence: Option<u64>,
    ) -> Result<()> {
        let id: Arc<str> = text(record)?.into();
        let found = self.namespaces.find_or_make(namespace);
        let mut guard = found.lock().ok_or_else(|| unreadable("is replayed twice"))?;
        let doc = match tag {
            tag::DOC => Some(Doc {
                namespace: namespace.clone(),
                id: id.clone(),
                version: record.integer()?,
                key: text(record)?.into(),
                secondary_key: shared(&text(record)?.into()),
                at_ms: record.integer()?,
                claimant: replayed.text(text(record)?),
                created_ms: record.integer()?,
                modified_ms: record.integer()?,
                content: optional_text(record)?,
            }),
            tag::DOC_LEASE => {
                let (version, at_ms, modified_ms) =
                    (record.integer()?, record.integer()?, record.integer()?);
                let claimant = replayed.text(text(record)?);
                guard.get(&id).cloned().map(|doc| Doc {
                    version,
                    at_ms,
                    modified_ms,
                    claimant,
                    ..doc
                })
            }
            _ => None,
        };
        if !replayed.holds(&Section::Namespace(namespace.clone()), sequence) {
            match doc {
                Some(doc) => guard.put(doc),
                None if guard.remove(&id).is_some() && tag == tag::DOC_REMOVED => {}
                None => return Err(unreadable("is about a document that is not there")),
            }
        }
        self.namespaces.used(&mut guard);
        Ok(())
    }

    pub(super) fn write_snapshot(&self, out: &mut dyn Snapshot) {
        // What is emptied meanwhile stays, so that its copy can say up to when that is known.
        self.queues.keep(true);
        self.namespaces.keep(true);
        // What was recorded up to here is in the copies, as they are made after it.
        out.begin();
        for queue in self.queues.all() {
            let Some(guard) = queue.lock() else { continue };
            let next = out.begin();
            let tasks = guard.all();
            drop(guard);
            let mut copy = Copy::new(Section::Queue(queue.name.clone()), next, out);
            for record in tasks.records() {
                copy.write(|changes| {
                    changes.task(&queue.name, record);
                    if record.unended > 0 {
                        changes.unended(&queue.name, record);
                    }
                });
            }
            copy.end();
        }
        for namespace in self.namespaces.all() {
            let Some(guard) = namespace.lock() else { continue };
            let next = out.begin();
            let docs: Vec<Doc> = guard.docs().cloned().collect();
            drop(guard);
            let mut copy = Copy::new(Section::Namespace(namespace.name.clone()), next, out);
            for doc in &docs {
                copy.write(|changes| changes.doc(doc));
            }
            copy.end();
        }
        self.queues.keep(false);
        self.namespaces.keep(false);
    }
}

struct Lease<'a> {
    id: &'a str,
    version: u64,
    at_ms: u64,
    modified_ms: u64,
    claimant: Arc<str>,
    claims: u32,
}

/// The copy of one queue or one namespace on its way into a snapshot.
struct Copy<'a> {
    section: Section,
    changes: Changes,
    out: &'a mut dyn Snapshot,
}

impl<'a> Copy<'a> {
    fn new(section: Section, next: u64, out: &'a mut dyn Snapshot) -> Self {
        let mut changes = Changes::new(Effects::after(Vec::new()));
        changes.section(section.clone());
        changes.effects.write(tag::COPIED, |record| put_integer(next, record));
        Self { section, changes, out }
    }

    fn write(&mut self, write: impl FnOnce(&mut Changes)) {
        write(&mut self.changes);
        if self.changes.effects.len() >= SNAPSHOT_BYTES {
            let next = Changes::new(Effects::after(Vec::new()));
            let full = std::mem::replace(&mut self.changes, next);
            self.changes.section(self.section.clone());
            self.out.record(&full.effects.into_record());
        }
    }

    fn end(self) {
        self.out.record(&self.changes.effects.into_record());
    }
}

fn put_text(text: &str, record: &mut Vec<u8>) {
    put_bytes(text.as_bytes(), record);
}

fn put_optional_text(text: Option<&Arc<str>>, record: &mut Vec<u8>) {
    record.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(text, record);
    }
}

fn text<'a>(record: &mut Reader<'a>) -> Result<&'a str> {
    std::str::from_utf8(record.bytes()?).map_err(|_| unreadable("holds a text that is not UTF-8"))
}

fn optional_text(record: &mut Reader<'_>) -> Result<Option<Arc<str>>> {
    match record.byte()? {
        0 => Ok(None),
        _ => Ok(Some(text(record)?.into())),
    }
}

fn small(record: &mut Reader<'_>) -> Result<u32> {
    u32::try_from(record.integer()?).map_err(|_| unreadable("holds a count that is too large"))
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record of a task store {what}"))
}
