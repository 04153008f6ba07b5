//! A store's records in the journal: what its steps did, and how it is recovered from them.
//!
//! A snapshot is a series of copies, each of one queue or one namespace, made while steps continue. Each copy says up
//! to which record it reaches. So when a record is replayed later, its effects on a task or a document are skipped if
//! the queue or namespace was copied after the record was written.

use std::sync::Arc;

use hashbrown::HashMap;

use super::index::Location;
use super::queue::{NOBODY, Notes, Queue, Record, Slot, Texts};
use super::{Doc, State};
use crate::error::{Error, ErrorKind, Result};
use crate::step::codec::{Field, Reader, put_bytes, put_integer, unknown_tag};
use crate::step::{Effects, SNAPSHOT_BYTES, Snapshot};
use crate::tasks::{Headers, NewDoc};

/// Effects in the journal: a tag and its data. They say what changed, not what was requested, so that a later version
/// with other rules still builds the same state from them.
pub(super) mod tag {
    /// Queue: what the next effects are about.
    pub(crate) const QUEUE: u8 = 1;
    /// A whole task, new or replacing the one with its id.
    pub(crate) const TASK: u8 = 2;
    /// What a claim or a renewal changes. A task that is claimed again has one more claim that has not ended.
    pub(crate) const LEASE: u8 = 3;
    /// The task is no longer in this queue.
    pub(crate) const TASK_REMOVED: u8 = 4;
    /// Namespace: what the next effects are about.
    pub(crate) const NAMESPACE: u8 = 5;
    /// A whole document, new or replacing the one with its id.
    pub(crate) const DOC: u8 = 6;
    /// What a claim or a renewal changes.
    pub(crate) const DOC_LEASE: u8 = 7;
    /// The document is no longer in this namespace.
    pub(crate) const DOC_REMOVED: u8 = 8;
    /// Sequence: the queue or the namespace that was named last was copied before this record.
    pub(crate) const COPIED: u8 = 9;
    /// How often the task was claimed since it was inserted, changed or released. 0 for a task without this effect.
    pub(crate) const UNENDED: u8 = 10;
    /// The queue is paused; nothing else.
    pub(crate) const PAUSED: u8 = 11;
    /// The queue is no longer paused; nothing else.
    pub(crate) const RESUMED: u8 = 12;
    /// The task's headers. None for a task without this effect.
    pub(crate) const HEADERS: u8 = 13;
    /// The claim of the task is cancelled, until the next claim or until all its claims have ended.
    pub(crate) const CANCELLED: u8 = 14;
    /// How long the id of the task stays taken after its end. 0 for a task without this effect.
    pub(crate) const DEDUP_WINDOW: u8 = 15;
    /// Id, time: the id of a task that has ended is taken until then. It is in no queue, and may be recorded twice.
    pub(crate) const TAKEN: u8 = 16;
    /// The last tag of this version.
    pub(crate) const LAST: u8 = TAKEN;
}

/// Writes and reads the fields that the effects of each tag hold of a task or a document, in this order.
macro_rules! said {
    ($of:ty { $($tag:ident: $($field:ident)+;)+ }) => {
        impl Said for $of {
            fn put(&self, tag: u8, record: &mut Vec<u8>) {
                match tag {
                    $(tag::$tag => { $(self.$field.put(record);)+ })+
                    _ => unreachable!("no effect of the tag {tag} is about this"),
                }
            }

            fn read(&mut self, tag: u8, record: &mut Reader<'_>) -> Result<()> {
                match tag {
                    $(tag::$tag => { $(self.$field = Field::read(record)?;)+ })+
                    _ => return Err(misplaced(tag)),
                }
                Ok(())
            }
        }
    };
}

said!(Record {
    TASK: id version at_ms created_ms modified_ms expires_ms claimant claims attempt
        priority notes value;
    LEASE: id version at_ms modified_ms claimant claims;
    UNENDED: id unended;
    TASK_REMOVED: id;
    CANCELLED: id;
    DEDUP_WINDOW: id dedup_window_ms;
});

/// The headers of a task.
#[derive(Default)]
struct TaskHeaders {
    id: Arc<str>,
    headers: Headers,
}

said!(TaskHeaders {
    HEADERS: id headers;
});

said!(Doc {
    DOC: id version key secondary_key at_ms claimant created_ms modified_ms content;
    DOC_LEASE: id version at_ms modified_ms claimant;
    DOC_REMOVED: id;
});

/// How many ids of ended tasks are in one snapshot record.
const TAKEN_A_RECORD: usize = 1_024;

/// How many claimants are kept at a time while a journal is replayed.
const CLAIMANTS_MAX: usize = 4_096;

/// What a step changed, as its record in the journal.
pub(super) struct Changes {
    effects: Effects,
    section: Option<Section>,
}

/// What a copy of a snapshot contains.
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

    /// Records an effect of this tag, which concerns the queue itself.
    pub(super) fn queue(&mut self, tag: u8, queue: &Arc<str>) {
        if self.effects.are_recorded() {
            self.section(Section::Queue(queue.clone()));
            self.effects.write(tag, |_| {});
        }
    }

    /// Records an effect of this tag on a task; for a whole task, also the fields that only some tasks have.
    pub(super) fn task(&mut self, tag: u8, queue: &Arc<str>, task: &Record) {
        let section = || Section::Queue(queue.clone());
        self.note(tag, task, section);
        if tag != tag::TASK || !self.effects.are_recorded() {
            return;
        }
        if task.unended > 0 {
            self.note(tag::UNENDED, task, section);
        }
        if !task.notes.headers().is_empty() {
            let (id, headers) = (task.id.clone(), task.notes.headers().clone());
            self.note(tag::HEADERS, &TaskHeaders { id, headers }, section);
        }
        if task.is_cancelled {
            self.note(tag::CANCELLED, task, section);
        }
        if task.dedup_window_ms > 0 {
            self.note(tag::DEDUP_WINDOW, task, section);
        }
    }

    /// Records until when the id of a task that has ended is taken.
    pub(super) fn taken(&mut self, id: &Arc<str>, until_ms: u64) {
        self.effects.write(tag::TAKEN, |record| {
            id.put(record);
            until_ms.put(record);
        });
    }

    /// Records an effect of this tag on a document.
    pub(super) fn doc(&mut self, tag: u8, doc: &Doc) {
        self.note(tag, doc, || Section::Namespace(doc.namespace.clone()));
    }

    fn note(&mut self, tag: u8, of: &impl Said, section: impl FnOnce() -> Section) {
        if self.effects.are_recorded() {
            self.section(section());
            self.effects.write(tag, |record| of.put(tag, record));
        }
    }
}

/// The state of a replay: up to which record the copies reach.
#[derive(Default)]
pub(super) struct Replayed {
    copied: HashMap<Section, u64>,
    /// Claimants are stored once each, since many hold more than one task or document.
    texts: Texts,
}

impl Replayed {
    /// Whether the copy of this section already contains the effects of the record with this sequence.
    fn holds(&self, section: &Section, sequence: Option<u64>) -> bool {
        let copied = || self.copied.get(section).copied();
        sequence.is_some_and(|sequence| copied().is_some_and(|copied| sequence < copied))
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if text.is_empty() {
            return NOBODY.clone();
        }
        // Those of jobs are many, and none of them occurs again.
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
                (unknown, _) if !(tag::QUEUE..=tag::LAST).contains(&unknown) => {
                    return Err(unknown_tag("a task store", unknown));
                }
                (tag::QUEUE, _) => section = Some(Section::Queue(Field::read(&mut record)?)),
                (tag::NAMESPACE, _) => {
                    section = Some(Section::Namespace(Field::read(&mut record)?))
                }
                (tag::COPIED, Some(section)) => {
                    replayed.copied.insert(section.clone(), record.integer()?);
                }
                (tag::TAKEN, _) => {
                    self.taken.add(Field::read(&mut record)?, Field::read(&mut record)?);
                }
                (tag::PAUSED | tag::RESUMED, Some(Section::Queue(queue))) => {
                    self.replay_pause(replayed, tag, queue, sequence)?;
                }
                (_, Some(Section::Queue(queue))) => {
                    self.replay_task(replayed, tag, queue, &mut record, sequence)?;
                }
                (_, Some(Section::Namespace(name))) => {
                    self.replay_doc(replayed, tag, name, &mut record, sequence)?;
                }
                (_, None) => return Err(misplaced(tag)),
            }
        }
        Ok(())
    }

    fn replay_pause(
        &self,
        replayed: &Replayed,
        tag: u8,
        queue: &Arc<str>,
        sequence: Option<u64>,
    ) -> Result<()> {
        if replayed.holds(&Section::Queue(queue.clone()), sequence) {
            return Ok(());
        }
        let queue = self.queues.find_or_make(queue);
        let mut guard = queue.lock().ok_or_else(|| unreadable("is replayed twice"))?;
        guard.is_paused = tag == tag::PAUSED;
        self.queues.used(&mut guard);
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
        let mut said = Record::default();
        if tag == tag::HEADERS {
            let mut of = TaskHeaders::default();
            of.read(tag, record)?;
            (said.id, said.notes) = (of.id, Notes::new(&NOBODY, &of.headers));
        } else {
            said.read(tag, record)?;
        }
        said.claimant = replayed.text(&said.claimant);
        let found = self.index.find(&said.id);
        // A task is in one queue only: if a later copy has it, that is where it was.
        let is_copied = |queue: &Arc<str>| replayed.holds(&Section::Queue(queue.clone()), sequence);
        if is_copied(queue) || found.as_ref().is_some_and(|found| is_copied(&found.queue.name)) {
            return Ok(());
        }
        match (tag, found) {
            (tag::TASK, found) => {
                if let Some(found) = found {
                    self.replay_on(&found, |queue, slot| drop(queue.remove(slot)))?;
                }
                let id = said.id.clone();
                let queue = self.queues.find_or_make(queue);
                let mut guard = queue.lock().ok_or_else(|| unreadable("is replayed twice"))?;
                let slot = guard.insert(said);
                self.queues.used(&mut guard);
                drop(guard);
                self.index.shard_of(&id).insert(id, Location { queue, slot });
            }
            (tag::TASK_REMOVED, Some(found)) => {
                self.replay_on(&found, |queue, slot| drop(queue.remove(slot)))?;
                self.index.shard_of(&said.id).remove(&said.id);
            }
            (_, Some(found)) => self.replay_on(&found, |queue, slot| {
                queue.update(slot, |task| match tag {
                    tag::UNENDED if said.unended == 0 => task.end_claims(),
                    tag::UNENDED => task.unended = said.unended,
                    tag::HEADERS => {
                        task.notes = Notes::new(task.notes.err(), said.notes.headers());
                    }
                    tag::CANCELLED => task.is_cancelled = true,
                    tag::DEDUP_WINDOW => task.dedup_window_ms = said.dedup_window_ms,
                    _ => {
                        task.version = said.version;
                        task.at_ms = said.at_ms;
                        task.modified_ms = said.modified_ms;
                        task.claimant = said.claimant;
                        task.unended += said.claims.saturating_sub(task.claims);
                        task.is_cancelled &= said.claims == task.claims;
                        task.claims = said.claims;
                    }
                });
            })?,
            (_, None) => return Err(unreadable("is about a task that is not there")),
        }
        Ok(())
    }

    /// Changes a task while nothing else runs.
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
        let nothing = NewDoc::new("", "").inserted(0);
        let mut said = Doc { namespace: namespace.clone(), ..nothing };
        said.read(tag, record)?;
        said.claimant = replayed.text(&said.claimant);
        if replayed.holds(&Section::Namespace(namespace.clone()), sequence) {
            return Ok(());
        }
        let found = self.namespaces.find_or_make(namespace);
        let mut guard = found.lock().ok_or_else(|| unreadable("is replayed twice"))?;
        match (tag, guard.remove(&said.id)) {
            (tag::DOC, _) => guard.put(said),
            (tag::DOC_REMOVED, Some(_)) => {}
            (_, Some(doc)) => {
                let Doc { version, at_ms, modified_ms, claimant, .. } = said;
                guard.put(Doc { version, at_ms, modified_ms, claimant, ..doc });
            }
            (_, None) => return Err(unreadable("is about a document that is not there")),
        }
        self.namespaces.used(&mut guard);
        Ok(())
    }

    pub(super) fn write_snapshot(&self, out: &mut dyn Snapshot) {
        // Entries that become empty in the meantime stay, so that their copies can say up to which record they reach.
        self.queues.keep(true);
        self.namespaces.keep(true);
        // Everything recorded up to here is in the copies, since they are made after it.
        out.begin();
        for queue in self.queues.all() {
            let Some(guard) = queue.lock() else { continue };
            let next = out.begin();
            let (tasks, is_paused) = (guard.all(), guard.is_paused);
            drop(guard);
            let mut copy = Copy::new(Section::Queue(queue.name.clone()), next, out);
            if is_paused {
                copy.write(|changes| changes.queue(tag::PAUSED, &queue.name));
            }
            for record in tasks.records() {
                copy.write(|changes| changes.task(tag::TASK, &queue.name, record));
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
                copy.write(|changes| changes.doc(tag::DOC, doc));
            }
            copy.end();
        }
        self.queues.keep(false);
        self.namespaces.keep(false);
        let mut after = None;
        loop {
            let page = self.taken.page(after.as_ref(), TAKEN_A_RECORD);
            let mut changes = Changes::new(Effects::after(Vec::new()));
            page.iter().for_each(|(until_ms, id)| changes.taken(id, *until_ms));
            after = page.last().cloned();
            if after.is_none() {
                return;
            }
            out.record(&changes.into_effects().into_record());
        }
    }
}

/// The copy of one queue or one namespace while it is written to a snapshot.
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
        if self.changes.effects.flush(SNAPSHOT_BYTES, self.out) {
            self.changes.section = None;
            self.changes.section(self.section.clone());
        }
    }

    fn end(self) {
        self.out.record(&self.changes.effects.into_record());
    }
}

/// What effects can be about.
trait Said {
    fn put(&self, tag: u8, record: &mut Vec<u8>);

    /// Reads the fields that effects of this tag hold, and leaves the rest unchanged.
    fn read(&mut self, tag: u8, record: &mut Reader<'_>) -> Result<()>;
}

/// The `err`; the headers have their own effect.
impl Field<'_> for Notes {
    fn put(&self, record: &mut Vec<u8>) {
        self.err().put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Field::read(record).map(Self::Err)
    }
}

impl Field<'_> for Headers {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(self.packed(), record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Self::of_stored(record.bytes()?)
    }
}

impl Field<'_> for Option<Arc<str>> {
    fn put(&self, record: &mut Vec<u8>) {
        record.push(self.is_some().into());
        self.iter().for_each(|text| text.put(record));
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        (record.byte()? != 0).then(|| Field::read(record)).transpose()
    }
}

fn misplaced(tag: u8) -> Error {
    unreadable(&format!("has the tag {tag} where it cannot be"))
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record of a task store {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::stored;

    fn task(id: &str) -> Record {
        let headers = Headers::new([("name", [0, 0xff])]).unwrap();
        Record {
            id: id.into(),
            value: Some(r#"{"a":"é"}"#.into()),
            claimant: "claimant".into(),
            notes: Notes::new(&"it failed".into(), &headers),
            at_ms: 1_763_691_473_123,
            created_ms: 128,
            modified_ms: 127,
            expires_ms: 0,
            version: 300,
            claims: 2,
            attempt: u32::MAX,
            unended: 1,
            dedup_window_ms: 60_000,
            priority: 7,
            is_cancelled: true,
        }
    }

    fn doc(id: &str) -> Doc {
        Doc {
            namespace: "space".into(),
            id: id.into(),
            version: 300,
            key: "k\0".into(),
            secondary_key: "\u{e9}".into(),
            at_ms: 1_763_691_473_123,
            claimant: "claimant".into(),
            created_ms: 128,
            modified_ms: 127,
            content: Some("1".into()),
        }
    }

    #[test]
    fn records_are_stored_as_before() {
        let (queue, all) = ("queue".into(), task("all"));
        let plain = Record { id: "plain".into(), value: None, ..Record::default() };
        let note = |name, write: &dyn Fn(&mut Changes)| {
            let mut changes = Changes::new(Effects::after(Vec::new()));
            write(&mut changes);
            (name, changes.into_effects().into_record())
        };
        let of_task = |name, tag| note(name, &|changes| changes.task(tag, &queue, &all));
        let of_doc = |name, tag| note(name, &|changes| changes.doc(tag, &doc("d")));
        let records = [
            note("plain task", &|changes| changes.task(tag::TASK, &queue, &plain)),
            of_task("task", tag::TASK),
            of_task("lease", tag::LEASE),
            of_task("unended", tag::UNENDED),
            of_task("cancelled", tag::CANCELLED),
            of_task("dedup window", tag::DEDUP_WINDOW),
            note("paused", &|changes| changes.queue(tag::PAUSED, &queue)),
            note("resumed", &|changes| changes.queue(tag::RESUMED, &queue)),
            of_task("removed", tag::TASK_REMOVED),
            note("taken", &|changes| changes.taken(&"ended".into(), 1_763_691_473_123)),
            of_doc("doc", tag::DOC),
            of_doc("doc's lease", tag::DOC_LEASE),
            of_doc("doc removed", tag::DOC_REMOVED),
            note("rest", &|changes| {
                changes.queue(tag::PAUSED, &queue);
                changes.task(tag::TASK, &queue, &all);
                changes.doc(tag::DOC, &doc("d"));
                changes.doc(tag::DOC, &Doc { content: None, ..doc("e") });
            }),
        ];
        stored::check::<State>(include_str!("journal.hex"), &records);
    }
}
