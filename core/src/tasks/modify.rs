//! Modify: everything that happens to tasks and documents except claims and renewals.

use std::sync::Arc;

use super::dependency::{Dependency, Fault, Problem};
use super::doc::Collision;
use super::modification::Modification;
use super::name::Name;
use super::{Doc, Headers, Task, embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Replies, Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Applies a [`Modification`] completely or not at all.
#[derive(Clone, Debug)]
pub struct Modify {
    pub(super) name: Name,
    pub(super) claimant: Arc<str>,
    /// The claimant that holds what is postponed to a time in the future.
    pub(super) holder: Arc<str>,
    pub(super) modification: Modification,
}

/// What a modification did, each list in the order of the modification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modified {
    /// The tasks that were inserted, without those that were skipped.
    pub inserted: Vec<Task>,
    /// The tasks that were changed, as they are now.
    pub changed: Vec<Task>,
    /// The documents that were inserted or put, as they are now; without those that were skipped.
    pub inserted_docs: Vec<Doc>,
    /// The documents that were changed, as they are now.
    pub changed_docs: Vec<Doc>,
}

impl Modify {
    /// Applies this modification for a claimant. Every task that it inserts needs an id.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names, values and times beyond their limits, values that are not JSON texts, an insert
    /// without an id, a task or document that is named twice, and more than
    /// [`MODIFICATION_ENTRIES_MAX`](super::MODIFICATION_ENTRIES_MAX) entries.
    pub fn new(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        modification: Modification,
    ) -> Result<Self> {
        let claimant: Arc<str> = claimant.as_ref().into();
        Self::of(Name::new(name.as_ref())?, claimant.clone(), claimant, modification)
    }

    pub(super) fn of(
        name: Name,
        claimant: Arc<str>,
        holder: Arc<str>,
        modification: Modification,
    ) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::claimant(&holder)?;
        modification.check()?;
        let have_ids = modification.inserts.iter().all(|task| task.id.is_some());
        ensure!(have_ids, "a task that a step inserts needs an id");
        Ok(Self { name, claimant, holder, modification })
    }
}

impl Operation for Modify {
    head!(
        "tasks.modify",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "modification.lua", "modify.lua"]
    );
    type Output = Modified;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        self.push(&mut args);
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Modified> {
        self.decode_one(reply)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Modified> {
        state.modify(&self, context)
    }
}

impl Modify {
    pub(super) fn modification(&self) -> &Modification {
        &self.modification
    }

    /// The arguments of the script, as `modification.lua` reads them.
    pub(super) fn push(&self, args: &mut ByteList) {
        let of = &self.modification;
        args.push(self.claimant.as_bytes());
        args.push(self.holder.as_bytes());
        of.lengths().into_iter().for_each(|length| args.push_number(length as u64));
        for task in &of.inserts {
            args.push(task.id.as_deref().unwrap_or_default().as_bytes());
            args.push(task.queue.as_bytes());
            task.at.push(args);
            args.push_number(task.attempt.into());
            args.push(task.err.as_bytes());
            args.push_number(task.priority.into());
            match task.ttl {
                Some(ttl) => args.push_number(ttl.as_millis() as u64),
                None => args.push(b""),
            }
            args.push_number(task.dedup_window_ms().into());
            args.push(task.headers.headers().packed());
            push_text(task.value.as_deref(), args);
            args.push(if task.skip_colliding { b"1" } else { b"0" });
        }
        for change in &of.changes {
            change.task.push(args);
            args.push(change.queue.as_bytes());
            change.at.push(args);
            args.push_number(change.attempt.into());
            args.push(change.err.as_bytes());
            args.push(if change.headers.is_some() { b"1" } else { b"0" });
            args.push(change.headers.as_ref().map_or(b"", |given| given.headers().packed()));
            push_text(change.value.as_deref(), args);
        }
        of.deletes.iter().chain(&of.depends).for_each(|task| task.push(args));
        for doc in &of.doc_inserts {
            args.push(doc.namespace.as_bytes());
            args.push(doc.id.as_deref().unwrap_or_default().as_bytes());
            args.push(doc.key.as_bytes());
            args.push(doc.secondary_key.as_bytes());
            push_text(doc.content.as_deref(), args);
            args.push_number(doc.collision as u64);
        }
        for change in &of.doc_changes {
            change.doc.push(args);
            match change.at {
                Some(at) => at.push(args),
                None => args.push(b""),
            }
            push_text(change.content.as_deref(), args);
        }
        of.doc_deletes.iter().chain(&of.doc_depends).for_each(|doc| doc.push(args));
    }

    /// `{1, now, inserted 0 or 1…, changed…}` as `modification.lua` says, or `{0, fault, index, version, …}`.
    pub(super) fn decode_one(&self, reply: Reply) -> Result<Modified> {
        let mut replies = reply.list()?;
        if !replies.next()?.flag()? {
            let mut dependency = Dependency::default();
            replies.all(usize::MAX, |replies| {
                let fault = Fault::of(replies.next()?.integer()?).ok_or_else(malformed)?;
                let (index, version) = (replies.next()?.number()?, replies.next()?.number()?);
                let problem = Problem { fault, index, version };
                dependency.note(&self.modification, problem).ok_or_else(malformed)
            })?;
            dependency.into_result()?;
            return Err(malformed());
        }
        let now_ms = replies.next()?.number()?;
        let mut part = || replies.next()?.list();
        let done = self.modified(now_ms, part()?, part()?, part()?, part()?)?;
        replies.end()?;
        Ok(done)
    }

    /// What the script did, assembled from the request and the parts that only the script knows.
    fn modified(
        &self,
        now_ms: u64,
        mut inserted: Replies,
        mut changed: Replies,
        mut inserted_docs: Replies,
        changed_docs: Replies,
    ) -> Result<Modified> {
        let of = &self.modification;
        let mut done = Modified::default();
        for task in &of.inserts {
            match inserted.next()?.flag()? {
                true => done.inserted.push(task.inserted(&self.holder, now_ms)),
                false if task.skip_colliding => {}
                false => return Err(malformed()),
            }
        }
        inserted.end()?;
        for change in &of.changes {
            let at_ms = change.at.resolve(now_ms);
            done.changed.push(Task {
                id: change.task.id.clone(),
                version: change.task.version + 1,
                queue: change.queue.clone(),
                at_ms,
                created_ms: changed.next()?.number()?,
                modified_ms: now_ms,
                claimant: if at_ms > now_ms { self.holder.clone() } else { "".into() },
                claims: changed.next()?.number()?,
                attempt: change.attempt,
                err: change.err.clone(),
                value: change.value.clone(),
                priority: changed.next()?.number()?,
                expires_ms: Some(changed.next()?.number()?).filter(|expires| *expires > 0),
                headers: Headers::of_stored(&changed.next()?.bytes()?)?,
            });
        }
        changed.end()?;
        for doc in &of.doc_inserts {
            match inserted_docs.next()?.count(2)? {
                0 if doc.collision == Collision::Skip => {}
                1 => done.inserted_docs.push(doc.inserted(now_ms)),
                2 if doc.collision == Collision::Replace => {
                    let version = inserted_docs.next()?.number()?;
                    let at_ms = inserted_docs.next()?.number()?;
                    let created_ms = inserted_docs.next()?.number()?;
                    let claimant = if at_ms > now_ms { self.claimant.clone() } else { "".into() };
                    let new = doc.inserted(now_ms);
                    done.inserted_docs.push(Doc { version, at_ms, claimant, created_ms, ..new });
                }
                _ => return Err(malformed()),
            }
        }
        inserted_docs.end()?;
        done.changed_docs = Doc::decode_all(changed_docs, of.doc_changes.len())?;
        match done.changed_docs.len() == of.doc_changes.len() {
            true => Ok(done),
            false => Err(malformed()),
        }
    }
}

impl super::NewTask {
    /// The task that an insert creates.
    pub(super) fn inserted(&self, claimant: &Arc<str>, now_ms: u64) -> Task {
        Task {
            id: self.id.clone().unwrap_or_default(),
            version: 0,
            queue: self.queue.clone(),
            at_ms: self.at.resolve(now_ms),
            created_ms: now_ms,
            modified_ms: now_ms,
            claimant: claimant.clone(),
            claims: 0,
            attempt: self.attempt,
            err: self.err.clone(),
            value: self.value.clone(),
            priority: self.priority,
            expires_ms: self.ttl.map(|ttl| now_ms + ttl.as_millis() as u64),
            headers: self.headers.headers().clone(),
        }
    }
}

impl super::NewDoc {
    /// The document that an insert creates.
    pub(super) fn inserted(&self, now_ms: u64) -> Doc {
        Doc {
            namespace: self.namespace.clone(),
            id: self.id.clone().unwrap_or_default(),
            version: 0,
            key: self.key.clone(),
            secondary_key: self.secondary_key.clone(),
            content: self.content.clone(),
            at_ms: 0,
            claimant: "".into(),
            created_ms: now_ms,
            modified_ms: now_ms,
        }
    }
}

/// A text that may be absent, as two arguments: whether it is present, and the text.
fn push_text(text: Option<&str>, args: &mut ByteList) {
    args.push(if text.is_some() { b"1" } else { b"0" });
    args.push(text.unwrap_or_default().as_bytes());
}
