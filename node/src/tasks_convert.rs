//! Tasks, documents and what is counted of them as JavaScript has them: flat lists, one value after
//! the other.

use millpond::tasks::{
    Dependency, Doc, DocId, DocPage, Modified, NamespaceStats, QueueStats, Renewed, Task, TaskId,
    TaskPage,
};
use napi::Env;
use napi::bindgen_prelude::{Object, ToNapiValue};

use crate::convert::{CallResult, Converted, Failure, Values, text_or_buffer};

/// A list that grows.
pub(crate) struct List<'env> {
    env: &'env Env,
    list: Values<'env>,
    length: u32,
}

type Done = Result<(), Failure>;

impl<'env> List<'env> {
    pub(crate) fn new(env: &'env Env) -> napi::Result<Self> {
        Ok(Self { env, list: Values::new(env, 0)?, length: 0 })
    }

    pub(crate) fn push(&mut self, value: impl ToNapiValue) -> Done {
        // SAFETY: the environment is the one of the thread this runs on.
        let value = unsafe { ToNapiValue::to_napi_value(self.env.raw(), value) }?;
        self.list.set(self.length, value)?;
        self.length += 1;
        Ok(())
    }

    fn push_text(&mut self, text: &str) -> Done {
        self.list.set(self.length, text_or_buffer(self.env, text.as_bytes(), true)?)?;
        self.length += 1;
        Ok(())
    }

    fn push_optional_text(&mut self, text: Option<&str>) -> Done {
        match text {
            Some(text) => self.push_text(text),
            None => self.push(None::<f64>),
        }
    }

    fn push_number(&mut self, number: u64) -> Done {
        self.push(number as f64)
    }

    fn push_task_id(&mut self, task: &TaskId) -> Done {
        self.push_text(&task.id)?;
        self.push_number(task.version)
    }

    fn push_doc_id(&mut self, doc: &DocId) -> Done {
        self.push_text(&doc.namespace)?;
        self.push_text(&doc.id)?;
        self.push_number(doc.version)
    }

    pub(crate) fn push_task(&mut self, task: &Task) -> Done {
        self.push_text(&task.id)?;
        self.push_number(task.version)?;
        self.push_text(&task.queue)?;
        self.push_number(task.at_ms)?;
        self.push_number(task.created_ms)?;
        self.push_number(task.modified_ms)?;
        self.push_text(&task.claimant)?;
        self.push_number(task.claims.into())?;
        self.push_number(task.attempt.into())?;
        self.push_text(&task.err)?;
        self.push_optional_text(task.value.as_deref())?;
        self.push_number(task.priority.into())?;
        self.push(task.expires_ms.map(|expires| expires as f64))
    }

    fn push_doc(&mut self, doc: &Doc) -> Done {
        self.push_text(&doc.namespace)?;
        self.push_text(&doc.id)?;
        self.push_number(doc.version)?;
        self.push_text(&doc.key)?;
        self.push_text(&doc.secondary_key)?;
        self.push_optional_text(doc.content.as_deref())?;
        self.push_number(doc.at_ms)?;
        self.push_text(&doc.claimant)?;
        self.push_number(doc.created_ms)?;
        self.push_number(doc.modified_ms)
    }

    pub(crate) fn finish(self) -> Converted {
        Ok(CallResult::Value(self.list.array))
    }
}

/// Tasks, one after the other.
pub(crate) fn tasks(env: &Env, tasks: &[Task]) -> Converted {
    let mut list = List::new(env)?;
    tasks.iter().try_for_each(|task| list.push_task(task))?;
    list.finish()
}

/// Documents, one after the other.
pub(crate) fn docs(env: &Env, docs: &[Doc]) -> Converted {
    let mut list = List::new(env)?;
    docs.iter().try_for_each(|doc| list.push_doc(doc))?;
    list.finish()
}

/// Of each of the four kinds how many there are, and those.
pub(crate) fn modified(env: &Env, done: &Modified) -> Converted {
    let mut list = List::new(env)?;
    for tasks in [&done.inserted, &done.changed] {
        list.push_number(tasks.len() as u64)?;
        tasks.iter().try_for_each(|task| list.push_task(task))?;
    }
    for docs in [&done.inserted_docs, &done.changed_docs] {
        list.push_number(docs.len() as u64)?;
        docs.iter().try_for_each(|doc| list.push_doc(doc))?;
    }
    list.finish()
}

/// The time, how many tasks, their ids and versions, and so the documents'.
pub(crate) fn renewed(env: &Env, renewed: &Renewed) -> Converted {
    let mut list = List::new(env)?;
    list.push_number(renewed.at_ms)?;
    list.push_number(renewed.tasks.len() as u64)?;
    renewed.tasks.iter().try_for_each(|task| list.push_task_id(task))?;
    renewed.docs.iter().try_for_each(|doc| list.push_doc_id(doc))?;
    list.finish()
}

/// The time and id that the next page comes after, or twice null, and tasks.
pub(crate) fn task_page(env: &Env, page: &TaskPage) -> Converted {
    let mut list = List::new(env)?;
    list.push(page.next.as_ref().map(|next| next.at_ms as f64))?;
    list.push_optional_text(page.next.as_ref().map(|next| &*next.id))?;
    page.tasks.iter().try_for_each(|task| list.push_task(task))?;
    list.finish()
}

/// Both keys and the id that the next page comes after, or three times null, and documents.
pub(crate) fn doc_page(env: &Env, page: &DocPage) -> Converted {
    let mut list = List::new(env)?;
    let next = page.next.as_ref();
    list.push_optional_text(next.map(|next| &*next.key))?;
    list.push_optional_text(next.map(|next| &*next.secondary_key))?;
    list.push_optional_text(next.map(|next| &*next.id))?;
    page.docs.iter().try_for_each(|doc| list.push_doc(doc))?;
    list.finish()
}

/// `[queue, size, …]`.
pub(crate) fn sizes(env: &Env, sizes: &[(std::sync::Arc<str>, u64)]) -> Converted {
    let mut list = List::new(env)?;
    for (queue, size) in sizes {
        list.push_text(queue)?;
        list.push_number(*size)?;
    }
    list.finish()
}

/// `[queue, size, available, claimed, future, most claims, …]`.
pub(crate) fn queue_stats(env: &Env, stats: &[QueueStats]) -> Converted {
    let mut list = List::new(env)?;
    for of in stats {
        list.push_text(&of.queue)?;
        let counts = [of.size, of.available, of.claimed, of.future, of.max_claims.into()];
        counts.into_iter().try_for_each(|count| list.push_number(count))?;
    }
    list.finish()
}

/// `[namespace, size, claimed, …]`.
pub(crate) fn namespace_stats(env: &Env, stats: &[NamespaceStats]) -> Converted {
    let mut list = List::new(env)?;
    for of in stats {
        list.push_text(&of.namespace)?;
        list.push_number(of.size)?;
        list.push_number(of.claimed)?;
    }
    list.finish()
}

/// What a modification met, with the names that JavaScript has.
pub(crate) fn dependency<'env>(env: &'env Env, of: &Dependency) -> napi::Result<Object<'env>> {
    let mut found = Object::new(env)?;
    for (name, tasks) in [
        ("inserts", &of.inserts),
        ("changes", &of.changes),
        ("deletes", &of.deletes),
        ("depends", &of.depends),
        ("claims", &of.claims),
    ] {
        let list = tasks.iter().map(|task| {
            let mut entry = Object::new(env)?;
            entry.set("id", &*task.id)?;
            entry.set("version", task.version as f64)?;
            Ok(entry)
        });
        found.set(name, list.collect::<napi::Result<Vec<_>>>()?)?;
    }
    for (name, docs) in [
        ("docInserts", &of.doc_inserts),
        ("docChanges", &of.doc_changes),
        ("docDeletes", &of.doc_deletes),
        ("docDepends", &of.doc_depends),
        ("docClaims", &of.doc_claims),
    ] {
        let list = docs.iter().map(|doc| {
            let mut entry = Object::new(env)?;
            entry.set("namespace", &*doc.namespace)?;
            entry.set("id", &*doc.id)?;
            entry.set("version", doc.version as f64)?;
            Ok(entry)
        });
        found.set(name, list.collect::<napi::Result<Vec<_>>>()?)?;
    }
    found.set("hasMissing", of.has_missing())?;
    found.set("hasMissingDocs", of.has_missing_docs())?;
    found.set("hasClaims", of.has_claims())?;
    found.set("hasClaimedDocs", of.has_claimed_docs())?;
    found.set("hasCollisions", of.has_collisions())?;
    found.set("onlyClaims", of.only_claims())?;
    Ok(found)
}
