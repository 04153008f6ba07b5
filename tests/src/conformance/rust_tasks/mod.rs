//! The adapter for Rust: the calls of task stores.

mod arguments;
mod results;
mod worker;

use millpond::Client;
use millpond::tasks::TaskStore;
use serde_json::{Value, json};

use crate::rust::{Failure, list, unknown};

use arguments::{
    doc_handle, doc_query, filter, handle, lease, new_doc, number, queues, task_filter, task_query,
    text,
};
pub(crate) use arguments::{duration, given, headers, modification};
pub(crate) use results::dependency;
use results::{
    doc, doc_id, doc_position, docs, modified, namespace_stats, position, queue_stats, swept, task,
    task_id, tasks,
};

type Result<T> = std::result::Result<T, Failure>;

/// Makes one call on a store, or on a worker of it.
pub(crate) fn result(client: &Client, on: &Value, call: &str, request: &Value) -> Result<Value> {
    let store = &store(client, on)?;
    Ok(match call {
        "insert" => task(&store.insert(text(&request["queue"])?, text(&request["value"])?)?),
        "modify" => modified(&store.modify(modification(&request["modification"])?)?),
        "claim" => {
            let claimed = store.claim(queues(request)?, lease(request)?)?;
            claimed.as_ref().map_or(Value::Null, task)
        }
        "claim_many" => {
            let max = number(&request["max"])?;
            tasks(&store.claim_many(queues(request)?, lease(request)?, max)?)
        }
        "claims" => claims(store, request)?,
        "renew" => {
            let (tasks, docs) =
                (list(&request["tasks"], handle)?, list(&request["docs"], doc_handle)?);
            let renewed = store.renew(tasks, docs, lease(request)?)?;
            let tasks: Value = renewed.tasks.iter().map(task_id).collect();
            let docs: Value = renewed.docs.iter().map(doc_id).collect();
            let cancelled: Value = renewed.cancelled.iter().map(|id| json!(&**id)).collect();
            json!({"tasks": tasks, "docs": docs, "at_ms": renewed.at_ms, "cancelled": cancelled})
        }
        "cancel" => {
            let ids = list(&request["ids"], text)?;
            json!(match request["force"] == true {
                true => store.cancel_force(ids)?,
                false => store.cancel(ids)?,
            })
        }
        "fetch" => tasks(&store.fetch(list(&request["ids"], text)?)?),
        "list" => {
            let page = store.list(text(&request["queue"])?, task_query(request)?)?;
            json!({"tasks": tasks(&page.tasks), "next": page.next.as_ref().map(position)})
        }
        "queues" => {
            let sizes = store.queues(filter(request)?)?;
            sizes.iter().map(|(queue, size)| json!([&**queue, size])).collect()
        }
        "are_empty" => json!(store.are_empty(filter(request)?)?),
        "queue_stats" => store.queue_stats(filter(request)?)?.iter().map(queue_stats).collect(),
        "pause" => {
            store.pause(text(&request["queue"])?)?;
            Value::Null
        }
        "resume" => {
            store.resume(text(&request["queue"])?)?;
            Value::Null
        }
        "purge" => swept(&store.purge(text(&request["queue"])?, task_filter(request)?)?),
        "move_tasks" | "redrive" => {
            let (queue, to) = (text(&request["queue"])?, text(&request["to"])?);
            let filter = task_filter(request)?;
            swept(&match call {
                "redrive" => store.redrive(queue, to, filter)?,
                _ => store.move_tasks(queue, to, filter)?,
            })
        }
        "claim_docs" => {
            let (namespace, keys) = (text(&request["namespace"])?, list(&request["keys"], text)?);
            docs(&store.claim_docs(namespace, keys, lease(request)?)?)
        }
        "get_doc" => {
            let secondary_key = given(&request["secondary_key"]).map_or(Ok(""), text)?;
            let key = (text(&request["key"])?, secondary_key);
            let found = store.get_doc(text(&request["namespace"])?, key)?;
            found.as_ref().map_or(Value::Null, doc)
        }
        "put_doc" => doc(&store.put_doc(new_doc(request)?)?),
        "fetch_docs" => {
            docs(&store.fetch_docs(text(&request["namespace"])?, list(&request["ids"], text)?)?)
        }
        "list_docs" => {
            let page = store.list_docs(text(&request["namespace"])?, doc_query(request)?)?;
            json!({"docs": docs(&page.docs), "next": page.next.as_ref().map(doc_position)})
        }
        "namespace_stats" => {
            store.namespace_stats(filter(request)?)?.iter().map(namespace_stats).collect()
        }
        "time" => json!(store.time()?),
        "work" => worker::work(client, store, request)?,
        "drain" | "run" => worker::handle(client, store, call, request)?,
        other => return Err(unknown(other)),
    })
}

fn store(client: &Client, request: &Value) -> Result<TaskStore> {
    let store = client.tasks(text(&request["name"])?);
    Ok(match given(&request["claimant"]) {
        Some(claimant) => store.claimant(text(claimant)?),
        None => store,
    })
}

/// The first batch of the loop.
fn claims(store: &TaskStore, request: &Value) -> Result<Value> {
    let mut claims = store.claims(queues(request)?).lease(lease(request)?);
    if let Some(max) = given(&request["max"]) {
        claims = claims.max(number(max)?);
    }
    if let Some(wait) = given(&request["wait_ms"]) {
        claims = claims.wait(duration(wait)?);
    }
    Ok(tasks(&claims.next().transpose()?.unwrap_or_default()))
}
