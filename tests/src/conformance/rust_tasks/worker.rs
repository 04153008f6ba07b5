//! The adapter for Rust: the workers of task stores.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

use millpond::Client;
use millpond::tasks::{Failure, Job, Modification, TaskStore, Worker};
use serde_json::{Value, json};

use super::Result;
use super::arguments::{duration, given, modification, number, queues, text};
use super::results::{docs, modified, task};
use crate::rust::{self, list, unsupported};

/// Takes jobs, and does with each as the request says.
pub(super) fn work(client: &Client, store: &TaskStore, request: &Value) -> Result<Value> {
    let mut jobs = worker(store, request)?.jobs();
    let mut seen = Vec::new();
    for said in request["jobs"].as_array().into_iter().flatten() {
        let Some(job) = jobs.next().transpose()? else { break };
        let (mut docs, mut is_lost) = (Vec::new(), false);
        let done = meanwhile(client, &job, said, &mut docs).and_then(|()| {
            is_lost = job.is_lost();
            end(&job, said)
        });
        seen.push(self::seen(&job, docs, is_lost, rust::respond(done)));
    }
    Ok(seen.into())
}

/// The same by a handler.
pub(super) fn run(client: &Client, store: &TaskStore, request: &Value) -> Result<Value> {
    let mut said = request["jobs"].as_array().into_iter().flatten();
    let mut seen = Vec::new();
    let told = Arc::new(Mutex::new(HashMap::new()));
    let tell = told.clone();
    let worker = worker(store, request)?.on_error(move |job, error| {
        let claim = (job.task().id.clone(), job.task().version);
        tell.lock().expect("no handler panics").insert(claim, error.kind().name());
    });
    let mut claims = Vec::new();
    worker.run(|job| {
        let Some(said) = said.next() else { return Err(Failure::Retry("no such job".to_owned())) };
        let (mut docs, mut is_lost) = (Vec::new(), false);
        let outcome = meanwhile(client, job, said, &mut docs).and_then(|()| {
            is_lost = job.is_lost();
            outcome(job, said)
        });
        let (result, outcome) = match outcome {
            Ok(outcome) => (Ok(Value::Null), outcome),
            Err(rust::Failure::Error(error)) => {
                let failure = Failure::from(&error);
                (Err(error.into()), Err(failure))
            }
            Err(unsupported) => (Err(unsupported), Err(Failure::Release)),
        };
        claims.push((job.task().id.clone(), job.task().version));
        seen.push(self::seen(job, docs, is_lost, rust::respond(result)));
        outcome
    })?;
    let told = told.lock().expect("no handler panics");
    for (seen, claim) in seen.iter_mut().zip(claims) {
        seen["told"] = json!(told.get(&claim));
    }
    Ok(seen.into())
}

fn worker(store: &TaskStore, request: &Value) -> Result<Worker> {
    let mut worker = store.worker(queues(request)?);
    if let Some(lease) = given(&request["lease_ms"]) {
        worker = worker.lease(duration(lease)?);
    }
    if let Some(wait) = given(&request["wait_ms"]) {
        worker = worker.wait(duration(wait)?);
    }
    if let Some(attempts) = given(&request["max_attempts"]) {
        worker = worker.max_attempts(number(attempts)?);
    }
    if let Some(claims) = given(&request["max_claims"]) {
        worker = worker.max_claims(number(claims)?);
    }
    if let Some(backoff) = given(&request["backoff_ms"]) {
        worker = worker.backoff(duration(backoff)?, duration(&request["backoff_max_ms"])?);
    }
    Ok(match given(&request["error_queue"]) {
        Some(queue) => worker.error_queue(text(queue)?),
        None => worker,
    })
}

/// What a job does before it ends; notes the documents that it claims.
fn meanwhile(client: &Client, job: &Job, said: &Value, claimed: &mut Vec<Value>) -> Result<()> {
    for pair in said["claim_docs"].as_array().into_iter().flatten() {
        let (namespace, key) = (text(&pair[0])?, text(&pair[1])?);
        let found = match given(&said["claim_wait_ms"]) {
            Some(wait) => job.claim_docs_within(namespace, key, duration(wait)?)?,
            None => job.claim_docs(namespace, key)?,
        };
        let found = docs(&found);
        claimed.extend(found.as_array().into_iter().flatten().cloned());
    }
    for request in list(&said["run"], Ok)? {
        let mut request = request.clone();
        let store = &mut request["calls"][0][1];
        if store["claimant"].is_null() {
            store["claimant"] = (&*job.task().claimant).into();
        }
        // What comes of it shows in the job.
        let _ = rust::perform(client, &request);
    }
    if let Some(ms) = given(&said["sleep_ms"]) {
        thread::sleep(duration(ms)?);
    }
    Ok(())
}

/// Ends a job.
fn end(job: &Job, said: &Value) -> Result<Value> {
    let err = given(&said["err"]).map_or(Ok(""), text)?;
    match then(said)? {
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

/// What a handler returns.
fn outcome(job: &Job, said: &Value) -> Result<std::result::Result<Modification, Failure>> {
    let err = given(&said["err"]).map_or(Ok(""), text)?.to_owned();
    Ok(match then(said)? {
        "done" => Ok(job.delete()),
        "finish" => Ok(modification(&said["modification"])?),
        "retry" => Err(match given(&said["after_ms"]) {
            Some(delay) => Failure::RetryAfter(err, duration(delay)?),
            None => Failure::Retry(err),
        }),
        "move" => Err(Failure::Move(text(&said["queue"])?.to_owned(), err)),
        "release" => Err(match given(&said["after_ms"]) {
            Some(delay) => Failure::ReleaseAfter(duration(delay)?),
            None => Failure::Release,
        }),
        "fail" => Err(std::io::Error::other(err).into()),
        other => return Err(unsupported(&format!("the end {other}"))),
    })
}

fn then(said: &Value) -> Result<&str> {
    text(&said["then"])
}

fn seen(job: &Job, docs: Vec<Value>, is_lost: bool, outcome: Value) -> Value {
    json!({"task": task(job.task()), "docs": docs, "is_lost": is_lost, "answer": outcome})
}
