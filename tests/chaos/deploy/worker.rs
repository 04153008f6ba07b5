//! The worker in Rust; those in other languages do the same.

use std::fmt;
use std::time::Duration;

use millpond::events::{self, EventQueue, NewEvent};
use millpond::shuffle::{self, Message};
use millpond::tasks::{self, Failure, Modification, NewTask};
use millpond::{Client, Report};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use super::{EVENTS, FOLLOWS, GROUP, Outcome, QUEUE, STORE};
use crate::pipe::{self, READY};
use crate::{clock, said};

/// Longer than the server is away.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// The shortest and the longest.
pub(super) const BACKOFF: (Duration, Duration) =
    (Duration::from_millis(100), Duration::from_millis(200));

const CONCURRENCY: usize = 4;

/// Longer than a job.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// Works until it is told to stop.
///
/// # Errors
/// What ends a run.
pub(crate) fn work(role: &str, url: &str, life: &str) -> Outcome<()> {
    let client = millpond::connect(url).map_err(said)?;
    match role {
        "tasks" => work_on_tasks(&client),
        "messages" => work_on_messages(&client, life),
        _ => work_on_events(&client),
    }
}

fn work_on_tasks(client: &Client) -> Outcome<()> {
    let worker =
        client.tasks(STORE).worker(["jobs"]).lease(LEASE).backoff(BACKOFF.0).backoff_max(BACKOFF.1);
    let worker = worker.concurrency(CONCURRENCY).prefetch(CONCURRENCY).on_report(tell);
    let stop = worker.clone();
    on_sigterm(move || stop.stop(STOP_WITHIN))?;
    worker.run(do_task).map(drop).map_err(said)
}

fn do_task(job: &tasks::Job) -> Result<Modification, Failure> {
    let said = Said::of(job.task().value.as_deref().unwrap_or("").as_bytes())?;
    work_for(&format!("task-{}", said.n), said.ms, &said.then, job.task().attempt == 0)?;
    let end = job.delete().insert(NewTask::new("out").id(format!("out-{}", said.n)));
    Ok(match said.follows() {
        Some((next, value)) => end.insert(NewTask::new("jobs").id(format!("j{next}")).value(value)),
        None => end,
    })
}

fn work_on_messages(client: &Client, life: &str) -> Outcome<()> {
    let consumer = client.shuffle_queue(QUEUE).consumer(GROUP, life);
    let worker =
        consumer.worker().delete(true).lease(LEASE).backoff(BACKOFF.0).backoff_max(BACKOFF.1);
    let worker = worker.concurrency(CONCURRENCY).prefetch(CONCURRENCY).on_report(tell);
    let stop = worker.clone();
    on_sigterm(move || stop.stop(STOP_WITHIN))?;
    worker.run(|job: &shuffle::Job| do_message(job.message())).map(drop).map_err(said)
}

fn do_message(message: &Message) -> Result<(), Failure> {
    let field = |name| String::from_utf8_lossy(message.field(name).unwrap_or_default());
    let ms = field("ms").parse()?;
    work_for(&format!("message-{}", field("n")), ms, &field("then"), message.deliveries == 1)
}

fn work_on_events(client: &Client) -> Outcome<()> {
    let queue = client.events(EVENTS);
    let worker = queue.worker().lease(LEASE).concurrency(CONCURRENCY).prefetch(CONCURRENCY);
    let worker = worker.on_report(tell);
    let stop = worker.clone();
    on_sigterm(move || stop.stop(STOP_WITHIN))?;
    worker.run(|job: &events::Job| do_event(&queue, job.event())).map(drop).map_err(said)
}

fn do_event(queue: &EventQueue, event: &events::Event) -> Result<(), Failure> {
    let said = Said::of(&event.payload)?;
    work_for(&format!("event-{}", said.n), said.ms, &said.then, event.attempts == 1)?;
    if let Some((_, value)) = said.follows() {
        queue.ack_with(event, [NewEvent::new(value).key(&event.key)])?;
    }
    Ok(())
}

/// What a task or an event says of its job.
struct Said {
    n: u64,
    ms: u64,
    then: String,
}

impl Said {
    fn of(value: &[u8]) -> Result<Self, Failure> {
        let said: serde_json::Value = serde_json::from_slice(value)?;
        let number = |name| said[name].as_u64().unwrap_or_default();
        let then = said["then"].as_str().unwrap_or_default().to_owned();
        Ok(Self { n: number("n"), ms: number("ms"), then })
    }

    /// The number of the job that follows from it, if one does, and what that says.
    fn follows(&self) -> Option<(u64, String)> {
        let (next, ms) = (self.n + FOLLOWS, self.ms);
        let value = format!(r#"{{"n": {next}, "ms": {ms}, "then": "done"}}"#);
        (self.then == "follow").then_some((next, value))
    }
}

/// Does a job, and says so.
fn work_for(name: &str, ms: u64, then: &str, is_first: bool) -> Result<(), Failure> {
    say(format_args!("begin {name}"));
    std::thread::sleep(Duration::from_millis(ms));
    match then {
        "retry" if is_first => {
            say(format_args!("run {name} retry"));
            Err(Failure::Error("it fails the first time".to_owned()))
        }
        "reject" => {
            say(format_args!("run {name} reject"));
            Err(Failure::Reject("it is told so".to_owned()))
        }
        _ => {
            say(format_args!("run {name} done"));
            Ok(())
        }
    }
}

fn say(line: impl fmt::Display) {
    pipe::say(format_args!("{} {line}", clock::now()));
}

fn tell<J>(report: &Report<J>) {
    say(format_args!("told {} {}", report.kind.name(), report.message.replace('\n', " ")));
}

/// From now on a signal stops the worker.
fn on_sigterm(stop: impl Fn() + Send + 'static) -> Outcome<()> {
    let mut signals = Signals::new([SIGTERM]).map_err(|error| error.to_string())?;
    std::thread::spawn(move || signals.forever().for_each(|_| stop()));
    pipe::say(READY);
    Ok(())
}
