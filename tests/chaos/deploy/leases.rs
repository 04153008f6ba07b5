//! How long jobs are held.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use millpond::Client;
use millpond::events::{Event, EventQuery, EventState};
use millpond::tasks::{Position, Task, TaskQuery};
use millpond_tests::servers::{Redis, Reply};

use super::worker::LEASE;
use super::{EVENTS, GROUP, Outcome, QUEUE, STORE, STREAMS};
use crate::said;

/// How much longer than a lease a job may be held without another delivery. One of a worker that was killed is held
/// for a lease; then others look for it twice a lease, later where the server was away, on a machine that is busy.
const MARGIN: Duration = Duration::from_secs(10);

/// A job, and how often it was delivered. It is the same as long as nobody else takes the job, so a lease shows that is
/// renewed though nobody works on its job, and one that is over and nobody takes the job.
type Delivery = (String, i64);

/// The deliveries that are under way.
#[derive(Default)]
pub(super) struct Leases {
    since: HashMap<Delivery, Instant>,
    pub(super) longest: Duration,
}

impl Leases {
    /// Looks at what is held now.
    pub(super) fn look(&mut self, server: &Redis, client: &Client) -> Outcome<()> {
        let held = [leased_tasks(client)?, pending_messages(server)?, leased_events(client)?];
        let (now, held) = (Instant::now(), held.concat());
        let since = |delivery| {
            let since = self.since.get(&delivery).copied().unwrap_or(now);
            (delivery, since)
        };
        self.since = held.into_iter().map(since).collect();
        let Some(((job, deliveries), since)) = self.since.iter().min_by_key(|(_, since)| **since)
        else {
            return Ok(());
        };
        let longest = now - *since;
        self.longest = self.longest.max(longest);
        match longest > LEASE + MARGIN {
            true => {
                Err(format!("{job} is the same for {longest:?}, after {deliveries} deliveries"))
            }
            false => Ok(()),
        }
    }
}

/// The tasks that are leased or put off, and the one that is available the longest: with the backlog gone, one whose
/// lease is over, or that was given back.
fn leased_tasks(client: &Client) -> Outcome<Vec<Delivery>> {
    let store = client.tasks(STORE);
    let now_ms = store.time().map_err(said)?;
    let first = store.list("jobs", TaskQuery::new().limit(1).omit_values()).map_err(said)?.tasks;
    let first = first.into_iter().filter(|task| task.at_ms <= now_ms);
    let first = first.map(|task| (format!("task {}, available,", task.id), task.claims.into()));
    let now = Position { at_ms: now_ms, id: "0".into() };
    let later = TaskQuery::new().after(now).limit(10_000).omit_values();
    let later = store.list("jobs", later).map_err(said)?.tasks;
    // The time of after the list, which may have come late.
    let most_ms = store.time().map_err(said)? + LEASE.as_millis() as u64;
    if let Some(task) = later.iter().find(|task| task.at_ms > most_ms) {
        return Err(format!("{} is leased for longer than a lease: {task:?}", task.id));
    }
    let delivery =
        |task: Task| (format!("task {} of {}", task.id, task.claimant), task.claims.into());
    Ok(first.chain(later.into_iter().map(delivery)).collect())
}

/// The messages that were delivered and are not done.
fn pending_messages(server: &Redis) -> Outcome<Vec<Delivery>> {
    let (mut connection, mut found) =
        (server.connect().map_err(|error| error.to_string())?, Vec::new());
    for stream in 0..STREAMS {
        let key = format!("{QUEUE}:s{stream}");
        let pending = connection.call(&["XPENDING", &key, GROUP, "-", "+", "10000"]);
        let pending = pending.map_err(|error| error.to_string())?;
        // No group has joined before the first read.
        let entries = if pending.error().is_some() { &[] } else { pending.array() };
        found.extend(entries.iter().map(Reply::array).map(|entry| {
            (
                format!("message {} of {key} with {}", entry[0].text(), entry[1].text()),
                entry[3].integer(),
            )
        }));
    }
    Ok(found)
}

/// The events that are leased or put off, and the one that is ready the longest.
fn leased_events(client: &Client) -> Outcome<Vec<Delivery>> {
    let queue = client.events(EVENTS);
    let list = |state, limit| {
        let page = queue.list(state, EventQuery::new().limit(limit));
        page.map(|page| page.events).map_err(said)
    };
    let leased = list(EventState::Leased, 1_000)?;
    let most_us = queue.stats().map_err(said)?.now_us + LEASE.as_micros() as u64;
    if let Some(event) = leased.iter().find(|event| event.state_at_us > most_us) {
        return Err(format!("{} is leased for longer than a lease: {event:?}", event.id));
    }
    let delivery = |event: Event| {
        let Event { id, state, token, attempts, .. } = event;
        (format!("event {id}, {}, of {token:?}", state.name()), attempts.into())
    };
    let events = [leased, list(EventState::Retry, 1_000)?, list(EventState::Ready, 1)?];
    Ok(events.into_iter().flatten().map(delivery).collect())
}
