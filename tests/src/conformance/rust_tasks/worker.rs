//! The adapter for Rust: the workers of task stores.

use std::time::Duration;

use millpond::Client;
use millpond::tasks::{Job, TaskStore, Worker};
use serde_json::Value;

use super::Result;
use super::arguments::{duration, given, modification, number, queues, text};
use super::results::{docs, modified, task};
use crate::rust::{self, list, unsupported};
use crate::rust_jobs::{Held, handled, meanwhile, seen, worker};

impl Held for Job {
    fn shown(&self) -> (&'static str, Value) {
        ("task", task(self.task()))
    }

    fn is_lost(&self) -> bool {
        Job::is_lost(self)
    }

    fn time_left(&self) -> Option<Duration> {
        Job::time_left(self)
    }

    fn claim_docs(&self, said: &Value, claimed: &mut Vec<Value>) -> Result<()> {
        for pair in said["claim_docs"].as_array().into_iter().flatten() {
            let namespace = text(&pair[0])?;
            let keys = match &pair[1] {
                Value::Array(_) => list(&pair[1], text)?,
                key => vec![text(key)?],
            };
            let found = match given(&said["claim_wait_ms"]) {
                Some(wait) => self.claim_docs_within(namespace, keys, duration(wait)?)?,
                None => Job::claim_docs(self, namespace, keys)?,
            };
            let found = docs(&found);
            claimed.extend(found.as_array().into_iter().flatten().cloned());
        }
        Ok(())
    }
}

/// Takes jobs, and does with each as the request says.
pub(super) fn work(client: &Client, store: &TaskStore, request: &Value) -> Result<Value> {
    let mut jobs = worker(store, request)?.jobs();
    let mut all = Vec::new();
    for said in request["jobs"].as_array().into_iter().flatten() {
        let Some(job) = jobs.next().transpose()? else { break };
        let (mut docs, mut is_lost) = (Vec::new(), false);
        let done = meanwhile(client, &job, said, &mut docs).and_then(|()| {
            is_lost = job.is_lost();
            end(&job, said)
        });
        all.push(seen(&job, docs, is_lost, rust::respond(done)));
    }
    Ok(all.into())
}

/// The same by a handler, until nothing is available or until the worker is stopped.
pub(super) fn handle(
    client: &Client,
    store: &TaskStore,
    call: &str,
    request: &Value,
) -> Result<Value> {
    let worker = worker(store, request)?;
    Ok(handled!(worker, Job, client, call, request, |outcome| outcome))
}

fn worker(store: &TaskStore, request: &Value) -> Result<Worker> {
    let mut worker = worker!(store.worker(queues(request)?), request);
    if let Some(backoff) = given(&request["backoff_ms"]) {
        worker = worker.backoff(duration(backoff)?);
    }
    if let Some(most) = given(&request["backoff_max_ms"]) {
        worker = worker.backoff_max(duration(most)?);
    }
    if let Some(wait) = given(&request["wait_ms"]) {
        worker = worker.wait(duration(wait)?);
    }
    if let Some(attempts) = given(&request["max_attempts"]) {
        worker = worker.max_attempts(number(attempts)?);
    }
    if let Some(claims) = given(&request["max_crashes"]) {
        worker = worker.max_crashes(number(claims)?);
    }
    Ok(match given(&request["error_queue"]) {
        Some(queue) => worker.error_queue(text(queue)?),
        None => worker,
    })
}

/// Ends a job.
fn end(job: &Job, said: &Value) -> Result<Value> {
    let err = given(&said["err"]).map_or(Ok(""), text)?;
    match text(&said["then"])? {
        "done" => job.done()?,
        "finish" => return Ok(modified(&job.finish(modification(&said["modification"])?)?)),
        "retry" => match given(&said["after_ms"]) {
            Some(delay) => job.retry_after(err, duration(delay)?)?,
            None => job.retry(err)?,
        },
        "move" => job.move_to(text(&said["queue"])?, err)?,
        "release" => match given(&said["after_ms"]) {
            Some(delay) => job.release_after(duration(delay)?)?,
            None => job.release()?,
        },
        "leave" => return Ok(Value::Null),
        other => return Err(unsupported(&format!("the end {other}"))),
    };
    Ok(Value::Null)
}
