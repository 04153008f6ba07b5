//! The library's results, as an adapter's responses.

use millpond::tasks::{
    Dependency, Doc, DocId, DocPosition, Modified, NamespaceStats, Position, QueueStats, Swept,
    Task, TaskId,
};
use serde_json::{Value, json};

use crate::value::wire_bytes;

pub(super) fn modified(done: &Modified) -> Value {
    json!({
        "inserted": tasks(&done.inserted), "changed": tasks(&done.changed),
        "inserted_docs": docs(&done.inserted_docs), "changed_docs": docs(&done.changed_docs),
    })
}

/// Why a modification was refused, as a response has it.
pub(crate) fn dependency(of: &Dependency) -> Value {
    let tasks = |tasks: &[TaskId]| tasks.iter().map(|of| json!([&*of.id, of.version])).collect();
    let docs = |docs: &[DocId]| -> Value {
        docs.iter().map(|of| json!([&*of.namespace, &*of.id, of.version])).collect()
    };
    let [inserts, changes, deletes, depends, claims]: [Value; 5] =
        [&of.inserts, &of.changes, &of.deletes, &of.depends, &of.claims].map(|list| tasks(list));
    json!({
        "inserts": inserts, "changes": changes, "deletes": deletes, "depends": depends,
        "claims": claims, "doc_inserts": docs(&of.doc_inserts),
        "doc_changes": docs(&of.doc_changes), "doc_deletes": docs(&of.doc_deletes),
        "doc_depends": docs(&of.doc_depends), "doc_claims": docs(&of.doc_claims),
    })
}

pub(super) fn task_id(of: &TaskId) -> Value {
    json!({"id": &*of.id, "version": of.version})
}

pub(super) fn doc_id(of: &DocId) -> Value {
    json!({"namespace": &*of.namespace, "id": &*of.id, "version": of.version})
}

pub(super) fn position(of: &Position) -> Value {
    json!({"at_ms": of.at_ms, "id": &*of.id})
}

pub(super) fn swept(of: &Swept) -> Value {
    json!({"tasks": of.tasks, "next": of.next.as_ref().map(position)})
}

pub(super) fn doc_position(of: &DocPosition) -> Value {
    json!({"key": &*of.key, "secondary_key": &*of.secondary_key, "id": &*of.id})
}

pub(super) fn queue_stats(of: &QueueStats) -> Value {
    json!({
        "queue": &*of.queue, "size": of.size, "available": of.available, "claimed": of.claimed,
        "retrying": of.retrying, "future": of.future, "max_claims": of.max_claims, "paused": of.paused,
        "oldest_available_ms": of.oldest_available_ms, "first_lease_end_ms": of.first_lease_end_ms,
    })
}

pub(super) fn namespace_stats(of: &NamespaceStats) -> Value {
    json!({"namespace": &*of.namespace, "size": of.size, "claimed": of.claimed})
}

pub(super) fn tasks(tasks: &[Task]) -> Value {
    tasks.iter().map(task).collect()
}

pub(super) fn task(of: &Task) -> Value {
    let headers = of.headers.iter().map(|(name, value)| json!([name, wire_bytes(value)]));
    let headers: Value = headers.collect();
    json!({
        "id": &*of.id, "version": of.version, "queue": &*of.queue, "at_ms": of.at_ms,
        "created_ms": of.created_ms, "modified_ms": of.modified_ms, "claimant": &*of.claimant,
        "claims": of.claims, "attempt": of.attempt, "err": &*of.err, "value": of.value.as_deref(),
        "priority": of.priority, "expires_ms": of.expires_ms, "headers": headers,
    })
}

pub(super) fn docs(docs: &[Doc]) -> Value {
    docs.iter().map(doc).collect()
}

pub(super) fn doc(of: &Doc) -> Value {
    json!({
        "namespace": &*of.namespace, "id": &*of.id, "version": of.version, "key": &*of.key,
        "secondary_key": &*of.secondary_key, "content": of.content.as_deref(), "at_ms": of.at_ms,
        "claimant": &*of.claimant, "created_ms": of.created_ms, "modified_ms": of.modified_ms,
    })
}
