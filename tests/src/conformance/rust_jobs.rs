//! The adapter for Rust: the jobs of workers, and what a request says of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use millpond::tasks::{Failure, JobCounts, Modification};
use millpond::{Client, Report};
use serde_json::{Value, json};

use crate::rust::{self, list, text, unsupported};
use crate::rust_tasks::{duration, given, modification};

type Result<T> = std::result::Result<T, rust::Failure>;

/// How a handler ends its job.
pub(crate) type Outcome = std::result::Result<Option<Modification>, Failure>;

/// For how long a handler waits for others to be at work.
const TOGETHER: Duration = Duration::from_secs(10);

/// A job of either queue.
pub(crate) trait Held {
    /// What it is, by the name that this has in a response.
    fn shown(&self) -> (&'static str, Value);
    fn is_lost(&self) -> bool;
    fn time_left(&self) -> Option<Duration>;
    /// Claims the documents that the request says; notes them.
    fn claim_docs(&self, said: &Value, claimed: &mut Vec<Value>) -> Result<()>;
}

/// A worker with the settings that those of both queues have, which have no type in common.
macro_rules! worker {
    ($worker:expr, $request:expr) => {{
        let mut worker = $worker.tell_all(true);
        if let Some(lease) = given(&$request["lease_ms"]) {
            worker = worker.lease(duration(lease)?);
        }
        if let Some(concurrency) = given(&$request["concurrency"]) {
            worker = worker.concurrency(number(concurrency)?);
        }
        if let Some(prefetch) = given(&$request["prefetch"]) {
            worker = worker.prefetch(number(prefetch)?);
        }
        if let Some(timeout) = given(&$request["timeout_ms"]) {
            worker = worker.timeout(duration(timeout)?);
        }
        if let Some(budget) = given(&$request["budget_ms"]) {
            worker = worker.budget(duration(budget)?);
        }
        worker
    }};
}
pub(crate) use worker;

/// Has a worker do the jobs of a request, until nothing is available or until it is stopped.
macro_rules! handled {
    ($worker:expr, $job:ty, $client:expr, $call:expr, $request:expr, $outcome:expr) => {{
        let handling = $crate::rust_jobs::Handling::begin($request)?;
        let told = handling.told.clone();
        let worker = $worker.on_report(move |report| $crate::rust_jobs::tell(&told, report));
        let stop = |within| worker.stop(within);
        let handle = |job: &$job| $outcome(handling.handle($client, job, &stop));
        match $call {
            "drain" => handling.drained(worker.drain(handle)?),
            _ => {
                worker.run(handle)?;
                handling.seen()
            }
        }
    }};
}
pub(crate) use handled;

/// The kind of what was reported, and the name of its error.
type Told = (&'static str, Option<&'static str>);

/// What the handler of a worker does, and what it sees.
pub(crate) struct Handling {
    said: Mutex<VecDeque<Value>>,
    /// With what each job was taken as.
    seen: Mutex<Vec<(String, Value)>>,
    /// The last report of each.
    pub(crate) told: Arc<Mutex<HashMap<String, Told>>>,
    /// How many handlers are at work, and how many were at most.
    at_work: Mutex<(u64, u64)>,
}

impl Handling {
    pub(crate) fn begin(request: &Value) -> Result<Self> {
        let said: VecDeque<Value> = list(&request["jobs"], Ok)?.into_iter().cloned().collect();
        if said.iter().any(|said| said["then"] == "nearly") {
            return Err(unsupported("what is nearly a modification"));
        }
        let (told, at_work) = (Arc::default(), Mutex::default());
        Ok(Self { said: Mutex::new(said), seen: Mutex::default(), told, at_work })
    }

    pub(crate) fn handle(
        &self,
        client: &Client,
        job: &impl Held,
        stop: &dyn Fn(Duration),
    ) -> Outcome {
        let Some(said) = lock(&self.said).pop_front() else {
            return Err(Failure::Retry("no such job".to_owned()));
        };
        self.begin_work();
        let mut docs = Vec::new();
        if let Some(count) = said["together"].as_u64() {
            wait_until(TOGETHER, || lock(&self.at_work).1 >= count);
        }
        let outcome = meanwhile(client, job, &said, &mut docs)
            .and_then(|()| wait(job, &said, stop))
            .and_then(|()| outcome(&said));
        let (result, outcome) = match outcome {
            Ok(outcome) => (Ok(Value::Null), outcome),
            Err(rust::Failure::Error(error)) => {
                let failure = Failure::from(error.to_string());
                (Err(error.into()), Err(failure))
            }
            Err(unsupported) => (Err(unsupported), Err(Failure::Release)),
        };
        let mut seen = seen(job, docs, job.is_lost(), rust::respond(result));
        seen["is_late"] = json!(is_late(job));
        seen["at_once"] = json!(self.end_work());
        lock(&self.seen).push((key(job), seen));
        outcome
    }

    fn begin_work(&self) {
        let mut at_work = lock(&self.at_work);
        at_work.0 += 1;
        at_work.1 = at_work.1.max(at_work.0);
    }

    /// How many were at work at once.
    fn end_work(&self) -> u64 {
        let mut at_work = lock(&self.at_work);
        at_work.0 -= 1;
        at_work.1
    }

    pub(crate) fn seen(&self) -> Value {
        let (told, mut seen) = (lock(&self.told), lock(&self.seen));
        let seen = seen.drain(..).map(|(key, mut seen)| {
            let told = told.get(&key);
            seen["kind"] = json!(told.map(|(kind, _)| kind));
            seen["told"] = json!(told.and_then(|(_, error)| *error));
            seen
        });
        seen.collect()
    }

    pub(crate) fn drained(&self, drained: JobCounts) -> Value {
        let drained = json!({
            "done": drained.done,
            "retried": drained.retried,
            "dead": drained.dead,
            "others": drained.others,
        });
        json!({"jobs": self.seen(), "drained": drained})
    }
}

/// Notes what was reported of a job.
pub(crate) fn tell<J: Held>(told: &Mutex<HashMap<String, Told>>, report: &Report<J>) {
    if let Some(job) = &report.job {
        let error = report.error.as_ref().map(|error| error.kind().name());
        lock(told).insert(key(job), (report.kind.name(), error));
    }
}

/// What a job does before it ends; notes the documents that it claims.
pub(crate) fn meanwhile(
    client: &Client,
    job: &impl Held,
    said: &Value,
    claimed: &mut Vec<Value>,
) -> Result<()> {
    job.claim_docs(said, claimed)?;
    for request in list(&said["run"], Ok)? {
        let mut request = request.clone();
        let on = &mut request["calls"][0];
        if on[0] == "tasks" && on[1]["claimant"].is_null() {
            on[1]["claimant"] = job.shown().1["claimant"].clone();
        }
        // What comes of it shows in the job.
        let _ = rust::perform(client, &request);
    }
    if let Some(ms) = given(&said["sleep_ms"]) {
        thread::sleep(duration(ms)?);
    }
    Ok(())
}

/// What only a handler does: stops its worker, and waits until the job tells it to stop.
fn wait(job: &impl Held, said: &Value, stop: &dyn Fn(Duration)) -> Result<()> {
    if let Some(within) = given(&said["stop_ms"]) {
        stop(duration(within)?);
    }
    if let Some(most) = given(&said["until_told_ms"]) {
        wait_until(duration(most)?, || job.is_lost() || is_late(job));
    }
    Ok(())
}

fn wait_until(most: Duration, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() && begin.elapsed() < most {
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a handler returns.
fn outcome(said: &Value) -> Result<Outcome> {
    let err = given(&said["err"]).map_or(Ok(""), text)?.to_owned();
    Ok(match text(&said["then"])? {
        "done" | "value" => Ok(None),
        "finish" => Ok(Some(modification(&said["modification"])?)),
        "retry" => Err(match given(&said["after_ms"]) {
            Some(delay) => Failure::RetryAfter(err, duration(delay)?),
            None => Failure::Retry(err),
        }),
        "move" => Err(Failure::Move(text(&said["queue"])?.to_owned(), err)),
        "reject" => Err(Failure::Reject(err)),
        "release" => Err(match given(&said["after_ms"]) {
            Some(delay) => Failure::ReleaseAfter(duration(delay)?),
            None => Failure::Release,
        }),
        "fail" => Err(std::io::Error::other(err).into()),
        other => return Err(unsupported(&format!("the end {other}"))),
    })
}

pub(crate) fn seen(job: &impl Held, docs: Vec<Value>, is_lost: bool, outcome: Value) -> Value {
    let (name, shown) = job.shown();
    json!({name: shown, "docs": docs, "is_lost": is_lost, "answer": outcome})
}

fn is_late(job: &impl Held) -> bool {
    job.time_left() == Some(Duration::ZERO)
}

/// What a job was taken as, which its reports have too.
fn key(job: &impl Held) -> String {
    job.shown().1.to_string()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("no handler panics")
}
