//! The arguments of a request, as the library takes them.

use std::time::Duration;

use millpond::tasks::{
    DocChange, DocId, DocPosition, DocQuery, Filter, Headers, LEASE_DEFAULT, Modification, NewDoc,
    NewTask, Position, Task, TaskChange, TaskFilter, TaskId, TaskQuery,
};
use serde_json::Value;

use super::Result;
use crate::rust::{list, string, unsupported};

/// The modification of a request.
pub(crate) fn modification(request: &Value) -> Result<Modification> {
    let mut all = Modification::new();
    for task in list(&request["inserts"], new_task)? {
        all = all.insert(task);
    }
    for change in list(&request["changes"], change)? {
        all = all.change(change);
    }
    for task in list(&request["deletes"], handle)? {
        all = all.delete(task);
    }
    for task in list(&request["depends"], handle)? {
        all = all.depend(task);
    }
    for doc in list(&request["doc_inserts"], new_doc)? {
        all = all.insert_doc(doc);
    }
    for doc in list(&request["doc_puts"], new_doc)? {
        all = all.put_doc(doc);
    }
    for change in list(&request["doc_changes"], doc_change)? {
        all = all.change_doc(change);
    }
    for doc in list(&request["doc_deletes"], doc_handle)? {
        all = all.delete_doc(doc);
    }
    for doc in list(&request["doc_depends"], doc_handle)? {
        all = all.depend_doc(doc);
    }
    Ok(all)
}

fn new_task(entry: &Value) -> Result<NewTask> {
    let mut task = NewTask::new(text(&entry["queue"])?);
    for (field, value) in fields(entry) {
        task = match field {
            "id" => task.id(text(value)?),
            "at_ms" => task.at_ms(number(value)?),
            "after_ms" => task.after(duration(value)?),
            "value" => task.value(text(value)?),
            "attempt" => task.attempt(number(value)?),
            "err" => task.err(text(value)?),
            "priority" => task.priority(number(value)?),
            "ttl_ms" => task.ttl(duration(value)?),
            "dedup_window_ms" => task.dedup_window(duration(value)?),
            "headers" => task.headers(headers(value)?),
            "skip_colliding" if *value == true => task.skip_colliding(),
            _ => task,
        };
    }
    Ok(task)
}

fn change(entry: &Value) -> Result<TaskChange> {
    let of = &entry["task"];
    let number_or_0 = |name: &str| given(&of[name]).map_or(Ok(0), number);
    let mut change = Task {
        id: text(&of["id"])?.into(),
        version: given(&of["version"]).map_or(Ok(0), number)?,
        queue: given(&of["queue"]).map_or(Ok(""), text)?.into(),
        at_ms: 0,
        created_ms: 0,
        modified_ms: 0,
        claimant: "".into(),
        claims: 0,
        attempt: number_or_0("attempt")?,
        err: given(&of["err"]).map_or(Ok(""), text)?.into(),
        value: given(&of["value"]).map(text).transpose()?.map(Into::into),
        priority: 0,
        expires_ms: None,
        headers: Headers::NONE,
    }
    .change();
    if let Some(err) = given(&entry["retry"]) {
        change = change.retry(text(err)?);
    }
    if let Some(quarantine) = given(&entry["retry_or_quarantine"]) {
        let (err, queue) = (text(&quarantine[0])?, text(&quarantine[1])?);
        change = change.retry_or_quarantine(err, queue, number(&quarantine[2])?);
    }
    if let Some(quarantine) = given(&entry["quarantine"]) {
        change = change.quarantine(text(&quarantine[0])?, text(&quarantine[1])?);
    }
    for (field, value) in fields(&entry["set"]) {
        change = match field {
            "queue" => change.queue(text(value)?),
            "value" => change.value(text(value)?),
            "no_value" if *value == true => change.no_value(),
            "at_ms" => change.at_ms(number(value)?),
            "after_ms" => change.after(duration(value)?),
            "attempt" => change.attempt(number(value)?),
            "err" => change.err(text(value)?),
            "headers" => change.headers(headers(value)?),
            _ => change,
        };
    }
    Ok(change)
}

pub(crate) fn headers(pairs: &Value) -> Result<Vec<(&str, Vec<u8>)>> {
    list(pairs, |pair| Ok((text(&pair[0])?, string(&pair[1])?)))
}

pub(super) fn new_doc(entry: &Value) -> Result<NewDoc> {
    let mut doc = NewDoc::new(text(&entry["namespace"])?, text(&entry["key"])?);
    for (field, value) in fields(entry) {
        doc = match field {
            "id" => doc.id(text(value)?),
            "secondary_key" => doc.secondary_key(text(value)?),
            "content" => doc.content(text(value)?),
            "skip_colliding" if *value == true => doc.skip_colliding(),
            _ => doc,
        };
    }
    Ok(doc)
}

fn doc_change(entry: &Value) -> Result<DocChange> {
    let mut change = DocChange::new(doc_handle(&entry["doc"])?);
    for (field, value) in fields(&entry["set"]) {
        change = match field {
            "content" => change.content(text(value)?),
            "at_ms" => change.at_ms(number(value)?),
            "after_ms" => change.after(duration(value)?),
            "release" if *value == true => change.release(),
            _ => change,
        };
    }
    Ok(change)
}

pub(super) fn handle(entry: &Value) -> Result<TaskId> {
    Ok(TaskId::new(text(&entry["id"])?, number(&entry["version"])?))
}

pub(super) fn doc_handle(entry: &Value) -> Result<DocId> {
    let version = number(&entry["version"])?;
    Ok(DocId::new(text(&entry["namespace"])?, text(&entry["id"])?, version))
}

fn after(request: &Value) -> Result<Option<Position>> {
    let position = |after: &Value| {
        Ok(Position { at_ms: number(&after["at_ms"])?, id: text(&after["id"])?.into() })
    };
    given(&request["after"]).map(position).transpose()
}

pub(super) fn task_filter(request: &Value) -> Result<TaskFilter> {
    let mut filter = TaskFilter::new();
    if let Some(after) = after(request)? {
        filter = filter.after(after);
    }
    for (field, value) in fields(request) {
        filter = match field {
            "limit" => filter.limit(number(value)?),
            "available" if *value == true => filter.available(),
            "claimed" if *value == true => filter.claimed(),
            "future" if *value == true => filter.future(),
            "claimant" => filter.claimant(text(value)?),
            "err" => filter.err(text(value)?),
            "include_held" if *value == true => filter.include_held(),
            _ => filter,
        };
    }
    Ok(filter)
}

pub(super) fn task_query(request: &Value) -> Result<TaskQuery> {
    let mut query = TaskQuery::new();
    if let Some(after) = after(request)? {
        query = query.after(after);
    }
    if let Some(limit) = given(&request["limit"]) {
        query = query.limit(number(limit)?);
    }
    if let Some(claimant) = given(&request["claimant"]) {
        query = query.claimant(text(claimant)?);
    }
    Ok(if request["omit_values"] == true { query.omit_values() } else { query })
}

pub(super) fn doc_query(request: &Value) -> Result<DocQuery> {
    let mut query = DocQuery::new();
    if let Some(start) = given(&request["start"]) {
        query = query.start(text(start)?);
    }
    if let Some(end) = given(&request["end"]) {
        query = query.end(text(end)?);
    }
    if let Some(after) = given(&request["after"]) {
        let part = |name: &str| text(&after[name]).map(Into::into);
        let (key, secondary_key, id) = (part("key")?, part("secondary_key")?, part("id")?);
        query = query.after(DocPosition { key, secondary_key, id });
    }
    if let Some(limit) = given(&request["limit"]) {
        query = query.limit(number(limit)?);
    }
    Ok(if request["omit_contents"] == true { query.omit_contents() } else { query })
}

pub(super) fn filter(request: &Value) -> Result<Filter> {
    let mut filter = Filter::new();
    for name in list(&request["exact"], text)? {
        filter = filter.exact(name);
    }
    for prefix in list(&request["prefixes"], text)? {
        filter = filter.prefix(prefix);
    }
    Ok(match given(&request["limit"]) {
        Some(limit) => filter.limit(number(limit)?),
        None => filter,
    })
}

/// An argument, if it is given.
pub(crate) fn given(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

/// The fields of an entry that are given.
fn fields(entry: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = entry.as_object().into_iter().flatten();
    fields.filter(|(_, value)| !value.is_null()).map(|(field, value)| (field.as_str(), value))
}

pub(super) fn queues(request: &Value) -> Result<Vec<&str>> {
    list(&request["queues"], text)
}

pub(super) fn lease(request: &Value) -> Result<Duration> {
    given(&request["lease_ms"]).map_or(Ok(LEASE_DEFAULT), duration)
}

pub(super) fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| unsupported("a text that is no string"))
}

pub(super) fn number<T: TryFrom<u64>>(value: &Value) -> Result<T> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| unsupported("a number of another type"))
}

pub(crate) fn duration(ms: &Value) -> Result<Duration> {
    ms.as_u64().map(Duration::from_millis).ok_or_else(|| unsupported("a time that is no Duration"))
}
