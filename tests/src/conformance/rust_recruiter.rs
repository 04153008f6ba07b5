//! The adapter for Rust: the calls of a recruiter, and what its handlers do.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use millpond::Client;
use millpond::recruiter::{Duty, Handled, JobStats, NewJob, Recruiter, RecruiterStats, Slice};
use serde_json::{Value, json};

use crate::rust::{self, Failure, list, string, text, unknown, unsupported};
use crate::rust_tasks::{duration, given};
use crate::value::score;

type Result<T> = std::result::Result<T, Failure>;

/// The recruiters of the client that is open, by their names.
static RECRUITERS: Mutex<Option<HashMap<Vec<u8>, Arc<Noted>>>> = Mutex::new(None);

/// A recruiter, and what its handlers and its hook have noted during the calls that are made.
struct Noted {
    recruiter: Recruiter,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Default)]
struct Notes {
    slices: Vec<Value>,
    errors: Vec<Value>,
}

/// Forgets all recruiters, with their client.
pub(crate) fn forget() {
    *lock(&RECRUITERS) = None;
}

/// Makes a call of the recruiter with this name.
pub(crate) fn result(client: &Client, on: &Value, call: &str, request: &Value) -> Result<Value> {
    let name = string(&on["name"])?;
    let noted = lock(&RECRUITERS)
        .get_or_insert_default()
        .entry(name.clone())
        .or_insert_with(|| Arc::new(Noted::new(client.recruiter(name))))
        .clone();
    let recruiter = &noted.recruiter;
    Ok(match call {
        "install" => noted.install(client, request)?,
        "uninstall" => json!(recruiter.uninstall(text(&request["job"])?)),
        "enlist" => noted.enlist(request)?,
        "run" => {
            let begin = noted.count();
            recruiter.run()?;
            noted.taken(json!({}), begin)
        }
        "is_due" => json!(recruiter.is_due()),
        "wake" => done(recruiter.wake(text(&request["job"])?))?,
        "stop" => {
            recruiter.stop();
            Value::Null
        }
        "stats" => stats(&recruiter.stats()?),
        "set_duty_max" => done(recruiter.set_duty_max(number(&request["part"])?))?,
        "set_decision_timeout" => {
            done(recruiter.set_decision_timeout(duration(&request["timeout_ms"])?))?
        }
        other => return Err(unknown(other)),
    })
}

impl Noted {
    fn new(recruiter: Recruiter) -> Self {
        let notes: Arc<Mutex<Notes>> = Arc::default();
        let told = notes.clone();
        recruiter.on_error(move |job, error| lock(&told).errors.push(shown_error(job, error)));
        Self { recruiter, notes }
    }

    fn install(&self, client: &Client, request: &Value) -> Result<Value> {
        let turns: Vec<Value> = list(&request["handler"], checked)?;
        let (slices, client, notes) = (AtomicUsize::new(0), client.clone(), self.notes.clone());
        let handler = move |slice: &Slice| {
            let slices = slices.fetch_add(1, Ordering::Relaxed);
            let turn = turns.get(slices).or(turns.last()).ok_or("a handler has turns")?;
            let (seen, handled) = take_turn(&client, slice, turn);
            lock(&notes).slices.push(seen);
            handled
        };
        done(self.recruiter.install(new_job(request)?, handler))
    }

    fn enlist(&self, request: &Value) -> Result<Value> {
        let times = given(&request["times"]).map_or(Ok(1), whole::<u32>)?;
        let budget = given(&request["budget_ms"]).map(duration).transpose()?;
        let enlist = |_| match budget {
            Some(budget) => self.recruiter.enlist_within(budget),
            None => self.recruiter.enlist(),
        };
        let begin = self.count();
        let duties: Value = (0..times).map(enlist).map(|duty| shown(&duty)).collect();
        Ok(self.taken(json!({"duties": duties}), begin))
    }

    /// How many slices and errors are noted.
    fn count(&self) -> [usize; 2] {
        let notes = lock(&self.notes);
        [notes.slices.len(), notes.errors.len()]
    }

    /// A result, with what was noted since then: a call in a slice leaves what was noted before it.
    fn taken(&self, mut result: Value, begin: [usize; 2]) -> Value {
        let mut notes = lock(&self.notes);
        result["slices"] = notes.slices.split_off(begin[0]).into();
        result["errors"] = notes.errors.split_off(begin[1]).into();
        result
    }
}

fn new_job(request: &Value) -> Result<NewJob> {
    let mut job = NewJob::new(text(&request["id"])?);
    for (field, value) in request.as_object().into_iter().flatten() {
        job = match field.as_str() {
            "share" => job.share(number(value)?),
            "per_second" => job.per_second(number(value)?),
            "burst" => job.burst(whole(value)?),
            "budget_ms" => job.budget(duration(value)?),
            "max_running" => job.max_running(whole(value)?),
            "lease_ms" => job.lease(duration(value)?),
            "idle_max_ms" => job.idle_max(duration(value)?),
            _ => job,
        };
    }
    Ok(job)
}

/// A turn of a handler, if it ends in a way that a handler has in Rust.
fn checked(turn: &Value) -> Result<Value> {
    match turn["raises"].is_string() || turn["returns"].is_u64() {
        true => Ok(turn.clone()),
        false => Err(unsupported("what is no number of items")),
    }
}

/// Does a slice; returns what is seen of it as well.
fn take_turn(client: &Client, slice: &Slice, turn: &Value) -> (Value, Handled) {
    if let Some(ms) = turn["sleep_ms"].as_u64() {
        thread::sleep(Duration::from_millis(ms));
    }
    let requests = turn["run"].as_array().into_iter().flatten();
    let ran: Value =
        requests.map(|request| rust::respond(rust::perform(client, request))).collect();
    if turn["more"] == true {
        slice.more();
    }
    if turn["abort"] == true {
        slice.abort();
    }
    let seen = json!({
        "job": slice.job(), "budget_ms": ms(slice.budget()), "remaining_ms": ms(slice.remaining()),
        "is_over": slice.is_over(), "fence": slice.fence(), "is_lost": slice.is_lost(), "ran": ran,
    });
    let handled = match turn["raises"].as_str() {
        Some(error) => Err(error.into()),
        None => turn["returns"].as_u64().ok_or_else(|| "a turn has an end".into()),
    };
    (seen, handled)
}

fn shown(duty: &Duty) -> Value {
    json!({
        "recruited": duty.recruited, "job": duty.job, "took_ms": ms(duty.took),
        "why": duty.why.name(),
    })
}

fn shown_error(job: Option<&str>, error: &(dyn StdError + 'static)) -> Value {
    let name = error.downcast_ref::<millpond::Error>().map(|error| error.kind().name());
    json!({"job": job, "name": name, "message": error.to_string()})
}

fn stats(stats: &RecruiterStats) -> Value {
    let jobs: Value = stats.jobs.iter().map(job_stats).collect();
    json!({
        "enlisted": stats.enlisted, "not_drawn": stats.not_drawn, "not_due": stats.not_due,
        "denied": stats.denied, "busy": stats.busy, "in_slice": stats.in_slice,
        "over_duty": stats.over_duty, "no_jobs": stats.no_jobs,
        "unavailable": stats.unavailable, "jobs": jobs,
    })
}

fn job_stats(job: &JobStats) -> Value {
    json!({
        "job": job.job, "backoff": job.backoff, "last_granted_us": job.last_granted_us,
        "granted": job.granted, "worked": job.worked, "nothing": job.nothing,
        "aborted": job.aborted, "failed": job.failed, "overran": job.overran, "items": job.items,
        "busy_us": job.busy_us, "lost": job.lost, "late": job.late,
    })
}

fn done(result: millpond::Result<()>) -> Result<Value> {
    result?;
    Ok(Value::Null)
}

fn number(value: &Value) -> Result<f64> {
    score(value).map_err(|_| unsupported("a rate that is no f64"))
}

fn whole<T: TryFrom<u64>>(value: &Value) -> Result<T> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| unsupported("a number of another type"))
}

fn ms(time: Duration) -> f64 {
    time.as_micros() as f64 / 1_000.0
}

/// Locks also after a handler has panicked, which says nothing about the rest.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
