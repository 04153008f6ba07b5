//! The adapter for Rust: the calls of events.

use std::time::Duration;

use millpond::Client;
use millpond::events::{
    Config, ConfigChange, DeadReason, Event, EventId, EventPosition, EventQuery, EventQueue,
    EventState, IfExists, Job, Missed, NewEvent, Overlap, Published, PurgeFilter, Receipt,
    RedriveFilter, Schedule, ScheduleInfo, Stats, SyncedSchedules,
};
use serde_json::{Value, json};

use crate::rust::{Failure, list, string, text, unknown, unsupported};
use crate::rust_jobs::{Held, Outcome, handled, worker};
use crate::rust_tasks::{duration, given, headers};
use crate::value::wire_bytes;

type Result<T> = std::result::Result<T, Failure>;

/// Makes one call on a queue, or on a worker of it.
pub(crate) fn result(client: &Client, on: &Value, call: &str, request: &Value) -> Result<Value> {
    let queue = &client.events(string(&on["name"])?);
    Ok(match call {
        "publish" => published(&queue.publish(event(request)?)?),
        "publish_call" => queue.publish_call(event(request)?)?.iter().map(wire_bytes).collect(),
        "publish_many" => {
            let events = list(&request["events"], event)?;
            queue.publish_many(events)?.iter().map(published).collect()
        }
        "receive" => queue.receive(number(&request["max"])?)?.iter().map(shown).collect(),
        "deliveries" => deliveries(queue, request)?,
        "ack" => done(queue.ack(receipt(&request["delivery"])?))?,
        "nack" => {
            let (err, after) = (text(&request["err"])?, length(&request["after_ms"])?);
            done(queue.nack(receipt(&request["delivery"])?, err, after))?
        }
        "release" => {
            let after = length(&request["after_ms"])?;
            done(queue.release(receipt(&request["delivery"])?, after))?
        }
        "dead_letter" => {
            let reason = text(&request["reason"])?;
            done(queue.dead_letter(receipt(&request["delivery"])?, reason))?
        }
        "ack_many" => {
            let settled = queue.ack_many(list(&request["deliveries"], receipt)?)?;
            settled.iter().map(|settled| json!(settled.name())).collect()
        }
        "ack_with" => {
            let (delivery, events) =
                (receipt(&request["delivery"])?, list(&request["events"], event)?);
            queue.ack_with(delivery, events)?.iter().map(published).collect()
        }
        "renew" => {
            let lease = length(&request["lease_ms"])?;
            let held = queue.renew(list(&request["deliveries"], receipt)?, lease)?;
            held.iter().map(|held| json!(held.name())).collect()
        }
        "cancel" => {
            let is_set = |name: &str| request[name] == true;
            let cancelled = queue.cancel(ids(request)?, is_set("also_running"), is_set("force"))?;
            cancelled.iter().map(|cancelled| json!(cancelled.name())).collect()
        }
        "reschedule" | "reschedule_at_ms" => {
            let moved = match call {
                "reschedule" => queue.reschedule(ids(request)?, duration(&request["delay_ms"])?)?,
                _ => queue.reschedule_at_ms(ids(request)?, number(&request["at_ms"])?)?,
            };
            moved.iter().map(|moved| json!(moved.name())).collect()
        }
        "fetch" => {
            let events = queue.fetch(ids(request)?)?;
            events.iter().map(|event| event.as_ref().map_or(Value::Null, shown)).collect()
        }
        "list" => {
            let page = queue.list(state(request)?, query(request)?)?;
            let next = page
                .next
                .map(|next| json!({"state_at_us": next.state_at_us, "id": next.id.to_string()}));
            json!({"events": page.events.iter().map(shown).collect::<Value>(), "next": next})
        }
        "redrive" => {
            let redriven = queue.redrive(ids(request)?)?;
            redriven.iter().map(|redriven| json!(redriven.name())).collect()
        }
        "redrive_all" => json!(queue.redrive_all(redrive_filter(request)?)?),
        "purge" => json!(queue.purge(state(request)?, purge_filter(request)?)?),
        "reshard" => done(queue.reshard(number(&request["partitions"])?))?,
        "reshard_step" => json!(queue.reshard_step(number(&request["partitions"])?)?),
        "put_schedule" => json!(queue.put_schedule(schedule(request)?)?.name()),
        "sync_schedules" => {
            let revision = number(&request["revision"])?;
            let schedules = list(&request["schedules"], schedule)?;
            synced(&queue.sync_schedules(text(&request["owner"])?, revision, schedules)?)
        }
        "remove_schedule" => json!(queue.remove_schedule(text(&request["id"])?)?),
        "get_schedule" => {
            queue.get_schedule(text(&request["id"])?)?.as_ref().map_or(Value::Null, shown_schedule)
        }
        "list_schedules" => queue.list_schedules()?.iter().map(shown_schedule).collect(),
        "pause_schedule" => json!(queue.pause_schedule(text(&request["id"])?)?),
        "resume_schedule" => json!(queue.resume_schedule(text(&request["id"])?)?),
        "trigger_schedule" => {
            let triggered = queue.trigger_schedule(text(&request["id"])?)?;
            triggered.as_ref().map_or(Value::Null, published)
        }
        "delete" => done(queue.delete())?,
        "stats" => stats(&queue.stats()?),
        "configure" => done(queue.configure(config(request)?))?,
        "config" => queue.config()?.as_ref().map_or(Value::Null, shown_config),
        "pause" => done(queue.pause())?,
        "resume" => done(queue.resume())?,
        "drain" | "run" => handle(client, queue, call, request)?,
        other => return Err(unknown(other)),
    })
}

fn done(result: millpond::Result<()>) -> Result<Value> {
    result?;
    Ok(Value::Null)
}

fn event(request: &Value) -> Result<NewEvent> {
    let mut event = NewEvent::new(string(&request["payload"])?);
    if let Some(key) = given(&request["key"]) {
        event = event.key(string(key)?);
    }
    if let Some(delay) = given(&request["delay_ms"]) {
        event = event.delay(duration(delay)?);
    }
    if let Some(at_ms) = given(&request["at_ms"]) {
        event = event.at_ms(number(at_ms)?);
    }
    if let Some(ttl) = given(&request["ttl_ms"]) {
        event = event.ttl(duration(ttl)?);
    }
    if let Some(id) = given(&request["dedup_id"]) {
        event = event.dedup_id(text(id)?);
    }
    if let Some(window) = given(&request["dedup_window_ms"]) {
        event = event.dedup_window(duration(window)?);
    }
    event = event.headers(headers(&request["headers"])?);
    Ok(match given(&request["if_exists"]).map(text).transpose()? {
        None => event,
        Some("error") => event.if_exists(IfExists::Error),
        Some("ignore") => event.if_exists(IfExists::Ignore),
        Some("replace") => event.if_exists(IfExists::Replace),
        Some(_) => return Err(unsupported("other words than an enum has")),
    })
}

fn schedule(request: &Value) -> Result<Schedule> {
    let mut schedule = Schedule::new(text(&request["id"])?);
    for (name, value) in request.as_object().into_iter().flatten() {
        schedule = match name.as_str() {
            "id" => schedule,
            "cron" => schedule.cron(text(value)?),
            "zone" => schedule.zone(text(value)?),
            "every_ms" => schedule.every(duration(value)?),
            "anchor_ms" => schedule.anchor_ms(number(value)?),
            "payload" => schedule.payload(string(value)?),
            "headers" => schedule.headers(headers(value)?),
            "ttl_ms" => schedule.ttl(duration(value)?),
            "missed" if value == "latest" => schedule.missed(Missed::Latest),
            "missed" if value == "expire" => schedule.missed(Missed::Expire),
            "grace_ms" => schedule.grace(duration(value)?),
            "overlap" if value == "wait" => schedule.overlap(Overlap::Wait),
            "overlap" if value == "allow" => schedule.overlap(Overlap::Allow),
            "from_ms" => schedule.from_ms(number(value)?),
            "until_ms" => schedule.until_ms(number(value)?),
            "revision" => schedule.revision(number(value)?),
            other => return Err(unknown(other)),
        }
    }
    Ok(schedule)
}

fn shown_schedule(info: &ScheduleInfo) -> Value {
    json!({
        "id": &*info.id, "cron": info.cron.as_deref(), "zone": info.zone.as_deref(),
        "every_ms": info.every.map(|every| every.as_millis() as u64),
        "payload": wire_bytes(&info.payload), "paused": info.paused, "next_us": info.next_us,
        "passed_us": info.passed_us, "missed": info.missed, "revision": info.revision,
        "owner": &*info.owner,
    })
}

fn synced(synced: &SyncedSchedules) -> Value {
    json!({
        "ignored": synced.ignored, "created": synced.created, "updated": synced.updated,
        "unchanged": synced.unchanged, "removed": synced.removed,
    })
}

fn state(request: &Value) -> Result<EventState> {
    let all = [
        EventState::Scheduled,
        EventState::Behind,
        EventState::Ready,
        EventState::Leased,
        EventState::Retry,
        EventState::Dead,
        EventState::Done,
    ];
    let name = text(&request["state"])?;
    let found = all.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| unsupported("other words than an enum has"))
}

fn query(request: &Value) -> Result<EventQuery> {
    let mut query = EventQuery::new();
    if let Some(key) = given(&request["key"]) {
        query = query.key(string(key)?);
    }
    if let Some(since) = given(&request["since_us"]) {
        query = query.since_us(number(since)?);
    }
    if let Some(before) = given(&request["before_us"]) {
        query = query.before_us(number(before)?);
    }
    if let Some(after) = given(&request["after"]) {
        let state_at_us = number(&after["state_at_us"])?;
        query = query.after(EventPosition { state_at_us, id: text(&after["id"])?.parse()? });
    }
    if let Some(limit) = given(&request["limit"]) {
        query = query.limit(number(limit)?);
    }
    Ok(query)
}

fn redrive_filter(request: &Value) -> Result<RedriveFilter> {
    let mut filter = RedriveFilter::new();
    if let Some(since) = given(&request["since_us"]) {
        filter = filter.since_us(number(since)?);
    }
    if let Some(before) = given(&request["before_us"]) {
        filter = filter.before_us(number(before)?);
    }
    if let Some(max) = given(&request["max"]) {
        filter = filter.max(number(max)?);
    }
    if let Some(rate) = given(&request["per_second"]) {
        filter = filter.per_second(number(rate)?);
    }
    Ok(match given(&request["reason"]).map(text).transpose()? {
        None => filter,
        Some("rejected") => filter.reason(DeadReason::Rejected),
        Some("exhausted") => filter.reason(DeadReason::Exhausted),
        Some("crashed") => filter.reason(DeadReason::Crashed),
        Some(_) => return Err(unsupported("other words than an enum has")),
    })
}

fn purge_filter(request: &Value) -> Result<PurgeFilter> {
    let mut filter = PurgeFilter::new();
    if let Some(key) = given(&request["key"]) {
        filter = filter.key(string(key)?);
    }
    if let Some(before) = given(&request["before_us"]) {
        filter = filter.before_us(number(before)?);
    }
    Ok(filter)
}

fn config(request: &Value) -> Result<ConfigChange> {
    let mut change = ConfigChange::new();
    for (name, value) in request.as_object().into_iter().flatten() {
        match name.as_str() {
            "partitions" => change = change.partitions(number(value)?),
            "lease_ms" => change = change.lease(duration(value)?),
            "max_attempts" => change = change.max_attempts(number(value)?),
            "max_crashes" => change = change.max_crashes(number(value)?),
            "backoff_min_ms" => change = change.backoff_min(duration(value)?),
            "backoff_max_ms" => change = change.backoff_max(duration(value)?),
            "events_max" => change = change.events_max(number(value)?),
            "dedup_ids_max" => change = change.dedup_ids_max(number(value)?),
            "paused" => change = change.paused(*value == true),
            "concurrency" => change = change.concurrency(number(value)?),
            "rate" => change = change.rate(number(value)?),
            "burst" => change = change.burst(number(value)?),
            "retention_ms" => change = change.retention(duration(value)?),
            other => return Err(unknown(other)),
        }
    }
    Ok(change)
}

fn shown_config(config: &Config) -> Value {
    let ms = |time: Duration| time.as_millis() as u64;
    json!({
        "partitions": config.partitions, "lease_ms": ms(config.lease),
        "max_attempts": config.max_attempts, "max_crashes": config.max_crashes,
        "backoff_min_ms": ms(config.backoff_min), "backoff_max_ms": ms(config.backoff_max),
        "events_max": config.events_max, "dedup_ids_max": config.dedup_ids_max,
        "paused": config.paused, "concurrency": config.concurrency, "rate": config.rate,
        "burst": config.burst, "retention_ms": ms(config.retention),
    })
}

fn published(published: &Published) -> Value {
    json!({
        "id": published.id.to_string(), "status": published.status.name(),
        "fire_at_us": published.fire_at_us,
    })
}

fn shown(event: &Event) -> Value {
    let header = |(name, value): (&str, &[u8])| json!([name, wire_bytes(value)]);
    json!({
        "id": event.id.to_string(), "key": wire_bytes(&event.key),
        "payload": wire_bytes(&event.payload),
        "headers": event.headers.iter().map(header).collect::<Value>(),
        "fire_at_us": event.fire_at_us, "published_at_us": event.published_at_us,
        "expires_at_us": event.expires_at_us, "dedup_id": event.dedup_id.as_deref(),
        "attempts": event.attempts, "crashes": event.crashes, "redriven": event.redriven,
        "err": &*event.err, "reason": event.reason.map(|reason| reason.name()),
        "state": event.state.name(), "state_at_us": event.state_at_us,
        "token": wire_bytes(event.token),
    })
}

fn stats(stats: &Stats) -> Value {
    json!({
        "events": stats.events, "scheduled": stats.scheduled, "ready": stats.ready,
        "leased": stats.leased, "retry": stats.retry, "dead": stats.dead, "behind": stats.behind,
        "dedup_ids": stats.dedup_ids, "ready_since_us": stats.ready_since_us, "now_us": stats.now_us,
        "concurrency": stats.concurrency, "rate": stats.rate, "rate_left": stats.rate_left,
        "done": stats.done, "schedules": stats.schedules,
        "largest_partition": stats.largest_partition,
    })
}

/// The first batch of the loop.
fn deliveries(queue: &EventQueue, request: &Value) -> Result<Value> {
    let mut deliveries = queue.deliveries();
    if let Some(max) = given(&request["max"]) {
        deliveries = deliveries.max(number(max)?);
    }
    if let Some(lease) = length(&request["lease_ms"])? {
        deliveries = deliveries.lease(lease);
    }
    if let Some(wait) = length(&request["wait_ms"])? {
        deliveries = deliveries.wait(wait);
    }
    if let Some(range) = given(&request["key_range"]) {
        deliveries = deliveries.key_range(text(range)?);
    }
    let batch = deliveries.next().transpose()?.unwrap_or_default();
    Ok(batch.iter().map(shown).collect())
}

impl Held for Job {
    fn shown(&self) -> (&'static str, Value) {
        ("event", shown(self.event()))
    }

    fn is_lost(&self) -> bool {
        Job::is_lost(self)
    }

    fn time_left(&self) -> Option<Duration> {
        Job::time_left(self)
    }

    fn claim_docs(&self, _: &Value, _: &mut Vec<Value>) -> Result<()> {
        Ok(())
    }
}

/// Has a worker do the jobs of a request by a handler, until nothing is available or until it is stopped.
fn handle(client: &Client, queue: &EventQueue, call: &str, request: &Value) -> Result<Value> {
    if list(&request["jobs"], Ok)?.iter().any(|said| said["then"] == "finish") {
        return Err(unsupported("a modification as the end of an event"));
    }
    let mut worker = worker!(queue.worker(), request);
    if let Some(range) = given(&request["key_range"]) {
        worker = worker.key_range(text(range)?);
    }
    Ok(handled!(worker, Job, client, call, request, |outcome: Outcome| outcome.map(drop)))
}

fn receipt(delivery: &Value) -> Result<Receipt> {
    let token = string(&delivery["token"])?;
    let token = token.try_into().map_err(|_| unsupported("a token that is none"))?;
    Ok(Receipt { id: text(&delivery["id"])?.parse()?, token })
}

fn ids(request: &Value) -> Result<Vec<EventId>> {
    list(&request["ids"], |id| Ok(text(id)?.parse()?))
}

fn length(ms: &Value) -> Result<Option<Duration>> {
    given(ms).map(duration).transpose()
}

fn number<T: TryFrom<u64>>(value: &Value) -> Result<T> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| unsupported("a number of another type"))
}
