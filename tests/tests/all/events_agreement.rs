//! Random steps of a partition of events on Redis and on both embedded engines: all return the same, to the byte, and
//! what they return keeps the promises that a ledger knows from the specification alone: nothing fires early or after
//! it has ended, a key's events come one at a time and in order, and nothing is lost. The test sets the time of all
//! three.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use millpond::events::{
    Cancel, Cancelled, Config, DeadReason, Delete, End, Event, EventId, EventPage, EventPosition,
    EventQuery, EventState, Fetch, Held, IfExists, List, NewEvent, Op, Open, Partition, Publish,
    Published, Purge, PurgeFilter, PutSchedule, ReadSchedules, ReadStats, Receipt, Receive,
    Redrive, RedriveAll, RedriveFilter, Redriven, RemoveSchedule, Renew, Renewed, Reschedule,
    Rescheduled, ScheduleRecord, SchedulesRead, Settle, Settled, Settlement, Stats, Status,
    Template, Trigger,
};
use millpond::step::{Operation, When};
use millpond::{Client, ManualClock, Options};
use millpond_tests::servers::{Redis, Reply};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runner, TestCaseError, TestRunner};

/// Microseconds since the Unix epoch, in 2026.
const BEGAN: u64 = 1_790_000_000_000_000;

/// Says what is wrong with a partition on a server.
const DOCTOR: &str = include_str!("../../src/events/doctor.lua");

const KEYS: [&str; 4] = ["", "", "k", "l"];

/// Of redrives, in dead letters a second.
const RATES: &[u64] = &[1, 300, 1_000_000_000];

#[derive(Clone, Debug)]
enum Step {
    /// Time passes, in microseconds.
    Advance(u64),
    Publish(Vec<Wish>),
    /// Ends a delivery, counted from the last, and publishes what follows.
    Follow(usize, Vec<Wish>),
    /// Sends the last publish or receive again.
    Again,
    Receive {
        max: usize,
        lease_ms: Option<u64>,
        seed: u32,
    },
    /// Which deliveries, counted from the last, and how they end.
    Settle(Vec<(usize, End)>, u32),
    Renew(Vec<usize>),
    /// Also those that are running; by force.
    Cancel(Vec<usize>, bool, bool),
    Reschedule(usize, When),
    Configure(Config),
    Stats,
    Fetch(Vec<usize>),
    List(Listing),
    Redrive(Vec<usize>),
    RedriveAll(Option<DeadReason>, Option<u64>, usize, Option<u64>),
    Purge(EventState, usize, Option<u64>),
    Delete,
    /// Of a key.
    Schedule(usize, Plan),
    Schedules,
    Unschedule(usize),
    Trigger(usize),
    /// The durable engine is closed and opened again.
    Reopen,
}

#[derive(Clone, Debug)]
struct Listing {
    state: EventState,
    key: usize,
    limit: usize,
    since: Option<u64>,
    before: Option<u64>,
    /// Goes on where the last page ended.
    goes_on: bool,
}

/// A schedule to put.
#[derive(Clone, Debug)]
struct Plan {
    is_latest: bool,
    is_in_order: bool,
    ends: bool,
    ttl_ms: u64,
    /// The first one half a second ago, in microseconds; then how far each is from the one before.
    ticks: Vec<u64>,
    /// Nothing only for more ticks.
    bytes: Option<usize>,
}

/// What the payloads of events of schedules begin with.
const TICK: &[u8] = b"tick";

impl Plan {
    fn record(&self, now: u64) -> ScheduleRecord {
        let mut record = ScheduleRecord::default();
        (record.is_latest, record.is_in_order) = (self.is_latest, self.is_in_order);
        (record.ends, record.ttl_us) = (self.ends, 1_000 * self.ttl_ms);
        let mut last = now - 500_000;
        let tick = |gap: &u64| {
            last += gap;
            last
        };
        record.ticks = self.ticks.iter().map(tick).collect();
        record.zones = self.ticks.len() as u32;
        record
    }

    fn template(&self) -> Option<Template> {
        let payload = |bytes| [b"\0\0".as_slice(), TICK, &vec![b'x'; bytes]].concat();
        Some(Template::new(*b"rule", payload(self.bytes?)))
    }
}

#[derive(Clone, Debug)]
struct Wish {
    key: usize,
    at: When,
    bytes: usize,
    dedup: Option<(u8, u64, IfExists)>,
    ttl_ms: Option<u64>,
}

impl Wish {
    fn event(&self, number: usize) -> NewEvent {
        let mut payload = number.to_be_bytes().to_vec();
        payload.resize(self.bytes.max(8), b'x');
        let mut event = NewEvent::new(payload).key(KEYS[self.key]).header("h", "v");
        event = match self.at {
            When::Now => event,
            When::At(ms) => event.at_ms(ms),
            When::After(delay) => event.delay(delay),
        };
        if let Some((id, window_ms, if_exists)) = self.dedup {
            let window = Duration::from_millis(window_ms);
            event = event.dedup_id(format!("d{id}")).dedup_window(window).if_exists(if_exists);
        }
        match self.ttl_ms {
            Some(ttl) => event.ttl(Duration::from_millis(ttl)),
            None => event,
        }
    }
}

fn at() -> impl Strategy<Value = When> {
    prop_oneof![
        3 => Just(When::Now),
        2 => (0..3_000_u64).prop_map(|ms| When::After(Duration::from_millis(ms))),
        1 => (-2_000..5_000_i64).prop_map(|ms| When::At((BEGAN / 1_000).saturating_add_signed(ms))),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    let if_exists =
        prop_oneof![Just(IfExists::Error), Just(IfExists::Ignore), Just(IfExists::Replace)];
    let dedup = prop::option::weighted(0.3, (0..3_u8, 0..4_000_u64, if_exists));
    let bytes = prop_oneof![4 => 8..40_usize, 1 => 250..300_usize];
    let ttl_ms = prop::option::weighted(0.2, 1..2_000_u64);
    (0..KEYS.len(), at(), bytes, dedup, ttl_ms).prop_map(|(key, at, bytes, dedup, ttl_ms)| Wish {
        key,
        at,
        bytes,
        dedup,
        ttl_ms,
    })
}

fn end() -> impl Strategy<Value = End> {
    let delay = || prop::option::of((0..2_000_u64).prop_map(Duration::from_millis));
    prop_oneof![
        4 => Just(End::Done),
        3 => ("[a-c]{0,3}", delay()).prop_map(|(err, delay)| End::Failed(err, delay)),
        1 => delay().prop_map(End::Released),
        1 => "[a-c]{0,3}".prop_map(End::Dead),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let backoff_ms = prop_oneof![Just((0, 0)), Just((500, 900))];
    let concurrency = prop_oneof![2 => Just(0), 1 => 1..4_u64];
    let rate = prop_oneof![2 => Just((0, 0)), 1 => (1..5_u64, 0..4_u64)];
    let retention = prop_oneof![1 => Just(0), 1 => 1..3_000_u64];
    let limits = (concurrency, rate, retention);
    (0..4_u16, 0..3_u16, 0..3_u64, prop::bool::weighted(0.2), backoff_ms, limits).prop_map(
        |(attempts, crashes, events, paused, (backoff_min, backoff_max), limits)| {
            let mut config = Config::default();
            config.lease = Duration::from_millis(1_500);
            (config.max_attempts, config.max_crashes) = (attempts, crashes);
            config.backoff_min = Duration::from_millis(backoff_min);
            config.backoff_max = Duration::from_millis(backoff_max);
            config.events_max = 10 * events;
            config.dedup_ids_max = 3;
            config.paused = paused;
            let (concurrency, rate, retention) = limits;
            config.concurrency = concurrency;
            (config.rate, config.burst) = rate;
            config.retention = Duration::from_millis(retention);
            config
        },
    )
}

fn state() -> impl Strategy<Value = EventState> {
    use EventState::{Behind, Dead, Done, Leased, Ready, Retry, Scheduled};
    prop::sample::select(vec![Scheduled, Behind, Ready, Leased, Retry, Dead, Dead, Done])
}

/// A time that bounds a listing.
fn time() -> impl Strategy<Value = Option<u64>> {
    prop::option::weighted(0.2, (0..3_000_000_u64).prop_map(|time| BEGAN + time))
}

fn listing() -> impl Strategy<Value = Step> {
    (state(), 2..KEYS.len(), 1..4_usize, time(), time(), any::<bool>()).prop_map(
        |(state, key, limit, since, before, goes_on)| {
            Step::List(Listing { state, key, limit, since, before, goes_on })
        },
    )
}

fn schedule() -> impl Strategy<Value = Step> {
    let gap = prop_oneof![1..1_000_u64, 1..1_000_000_u64];
    let ticks = prop::collection::vec(gap, 0..6);
    let bytes = prop::option::weighted(0.7, prop_oneof![4 => 0..20_usize, 1 => 250..300_usize]);
    let ttl_ms = prop_oneof![2 => Just(0), 1 => 1..1_000_u64];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let plan = (flags, ttl_ms, ticks, bytes).prop_map(|(flags, ttl_ms, ticks, bytes)| {
        let (is_latest, is_in_order, ends) = flags;
        Plan { is_latest, is_in_order, ends, ttl_ms, ticks, bytes }
    });
    let key = || 2..KEYS.len();
    prop_oneof![
        6 => (key(), plan).prop_map(|(key, plan)| Step::Schedule(key, plan)),
        1 => Just(Step::Schedules),
        1 => key().prop_map(Step::Unschedule),
        1 => key().prop_map(Step::Trigger),
    ]
}

fn operator() -> impl Strategy<Value = Step> {
    use DeadReason::{Crashed, Exhausted, Rejected};
    let which = || prop::collection::vec(0..8_usize, 1..4);
    let reason = prop::option::of(prop::sample::select(vec![Crashed, Exhausted, Rejected]));
    let purge = (state(), 2..KEYS.len(), time());
    prop_oneof![
        6 => which().prop_map(Step::Fetch),
        8 => listing(),
        4 => which().prop_map(Step::Redrive),
        4 => (reason, time(), 1..4_usize, prop::option::of(prop::sample::select(RATES)))
            .prop_map(|(reason, before, max, rate)| Step::RedriveAll(reason, before, max, rate)),
        4 => purge
            .prop_filter("it is refused", |(state, ..)| *state != EventState::Leased)
            .prop_map(|(state, key, before)| Step::Purge(state, key, before)),
        1 => Just(Step::Delete),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let which = || prop::collection::vec(0..8_usize, 1..4);
    prop_oneof![
        8 => operator(),
        5 => schedule(),
        6 => prop_oneof![1..1_000_u64, 1_000..2_500_000_u64].prop_map(Step::Advance),
        6 => prop::collection::vec(wish(), 1..6).prop_map(Step::Publish),
        2 => (0..4_usize, prop::collection::vec(wish(), 0..3))
            .prop_map(|(back, wishes)| Step::Follow(back, wishes)),
        2 => Just(Step::Again),
        6 => (1..5_usize, prop::option::of(1..3_000_u64), any::<u32>())
            .prop_map(|(max, lease_ms, seed)| Step::Receive { max, lease_ms, seed }),
        6 => (prop::collection::vec((0..8_usize, end()), 1..4), any::<u32>())
            .prop_map(|(ends, seed)| Step::Settle(ends, seed)),
        2 => which().prop_map(Step::Renew),
        2 => (which(), any::<bool>(), any::<bool>())
            .prop_map(|(which, running, force)| Step::Cancel(which, running, force)),
        2 => (0..8_usize, at()).prop_map(|(which, at)| Step::Reschedule(which, at)),
        2 => config().prop_map(Step::Configure),
        2 => Just(Step::Stats),
        1 => Just(Step::Reopen),
    ]
}

/// What all engines have seen so far.
struct Known {
    name: String,
    generation: u32,
    partition: Partition,
    revision: u64,
    calls: u64,
    events: usize,
    ids: Vec<EventId>,
    deliveries: Vec<Receipt>,
    last: Option<Call>,
    /// What the last publish asked for.
    wishes: Vec<Wish>,
    /// What ended with that.
    following: Option<EventId>,
    /// What the last settle, renew, cancel or reschedule was about.
    settling: Vec<(EventId, End)>,
    renewing: Vec<Receipt>,
    moving: Vec<EventId>,
    moving_to: When,
    /// Which events the last redrive or purge is to find, and how many of them it may take.
    matching: Vec<EventId>,
    /// The rate of the last redrive.
    rate: Option<u64>,
    /// Whether the last purge was of events that are done.
    purges_done: bool,
    /// Where the last page ended.
    next: Option<EventPosition>,
    /// The time, and the schedules, when they were read last.
    schedules: SchedulesRead,
    /// What the last call returned.
    returned: Option<String>,
    /// The configuration that counts.
    config: Config,
}

/// A step, ready to be sent to each engine.
#[derive(Clone, Debug)]
enum Call {
    Publish(Publish),
    Receive(Receive),
    Settle(Settle),
    Renew(Renew),
    Cancel(Cancel),
    Reschedule(Reschedule),
    Open(Open),
    Stats(ReadStats),
    Fetch(Fetch),
    List(List),
    Redrive(Redrive),
    RedriveAll(RedriveAll),
    Purge(Purge),
    Put(PutSchedule),
    Schedules(ReadSchedules),
    Unschedule(RemoveSchedule),
    Trigger(Trigger),
}

/// The element that is counted from the last, round and round.
fn from_last<T: Copy>(all: &[T], back: usize) -> Option<T> {
    let count = all.len();
    (count > 0).then(|| all[count - 1 - back % count])
}

impl Known {
    fn of(name: String, generation: u32) -> Self {
        let partition = Partition::new(&name, 0, generation).expect("a right name");
        Self {
            name,
            generation,
            partition,
            revision: 0,
            calls: 0,
            events: 0,
            ids: Vec::new(),
            deliveries: Vec::new(),
            last: None,
            wishes: Vec::new(),
            following: None,
            settling: Vec::new(),
            renewing: Vec::new(),
            moving: Vec::new(),
            moving_to: When::Now,
            matching: Vec::new(),
            rate: None,
            purges_done: false,
            next: None,
            schedules: SchedulesRead::default(),
            returned: None,
            config: Config::default(),
        }
    }

    fn op(&mut self) -> Op {
        self.calls += 1;
        Op { slot: *b"client\0\0\0\x01", number: self.calls }
    }

    fn call(&mut self, step: &Step) -> Option<Call> {
        self.following = None;
        let partition = self.partition.clone();
        let call = match step {
            Step::Publish(wishes) | Step::Follow(_, wishes) => {
                let mut events: Vec<NewEvent> = Vec::new();
                let mut names = Vec::new();
                self.wishes.clear();
                for wish in wishes {
                    let name = (wish.key, wish.dedup.map(|(id, ..)| id));
                    if name.1.is_none() || !names.contains(&(KEYS[name.0], name.1)) {
                        names.push((KEYS[name.0], name.1));
                        self.events += 1;
                        self.wishes.push(wish.clone());
                        events.push(wish.event(self.events));
                    }
                }
                let op = self.op();
                let publish = match step {
                    Step::Follow(back, _) => {
                        let done = from_last(&self.deliveries, *back)?;
                        self.following = Some(done.id);
                        Publish::done(partition, op, events, done)
                    }
                    _ => Publish::new(partition, op, events, 9),
                };
                Call::Publish(publish.expect("within limits"))
            }
            Step::Again => return self.last.clone(),
            Step::Receive { max, lease_ms, seed } => {
                let op = self.op();
                let lease = lease_ms.map(Duration::from_millis);
                let token = op.number.to_be_bytes();
                let step = Receive::new(partition, op, *max, lease, token, *seed);
                Call::Receive(step.expect("within limits").begins(seed % 2 == 0))
            }
            Step::Settle(ends, seed) => {
                let settlement = |(back, end): &(usize, End)| {
                    let receipt = from_last(&self.deliveries, *back)?;
                    Some(Settlement { receipt, end: end.clone() })
                };
                let mut ends: Vec<_> = ends.iter().map(settlement).collect::<Option<_>>()?;
                ends.sort_by_key(|end| end.receipt.id);
                ends.dedup_by_key(|end| end.receipt.id);
                if ends.is_empty() {
                    return None;
                }
                self.settling = ends.iter().map(|end| (end.receipt.id, end.end.clone())).collect();
                Call::Settle(Settle::new(partition, ends, *seed).expect("within limits"))
            }
            Step::Renew(which) => {
                let held = which.iter().map(|back| from_last(&self.deliveries, *back));
                let mut held: Vec<_> = held.collect::<Option<_>>()?;
                held.sort_unstable();
                held.dedup();
                self.renewing.clone_from(&held);
                let begins = held.len() % 2 == 1;
                let step = Renew::new(partition, held, None).expect("within limits");
                Call::Renew(step.begins(begins))
            }
            Step::Cancel(which, running, force) => {
                let ids = which.iter().map(|back| from_last(&self.ids, *back));
                let mut ids: Vec<_> = ids.collect::<Option<_>>()?;
                ids.sort_unstable();
                ids.dedup();
                self.moving.clone_from(&ids);
                let step = Cancel::new(partition, ids, *running).expect("within limits");
                Call::Cancel(step.force(*force))
            }
            Step::Reschedule(back, at) => {
                let ids = vec![from_last(&self.ids, *back)?];
                (self.moving, self.moving_to) = (ids.clone(), *at);
                Call::Reschedule(Reschedule::new(partition, ids, *at).expect("within limits"))
            }
            Step::Configure(config) => {
                self.revision += 1;
                self.config = config.clone();
                let step = Open::create(partition, self.revision, config.clone());
                Call::Open(step.expect("within limits"))
            }
            Step::Stats => Call::Stats(ReadStats::new(partition).expect("there is nothing wrong")),
            Step::Fetch(which) => {
                let ids = which.iter().map(|back| from_last(&self.ids, *back));
                let mut ids: Vec<_> = ids.collect::<Option<_>>()?;
                ids.push(EventId::MIN);
                Call::Fetch(Fetch::new(partition, ids).expect("within limits"))
            }
            Step::List(listing) => {
                let mut query = listing.query();
                if let (true, Some(next)) = (listing.goes_on, self.next) {
                    query = query.after(next);
                }
                Call::List(List::new(partition, listing.state, &query).expect("within limits"))
            }
            Step::Redrive(which) => {
                let ids = which.iter().map(|back| from_last(&self.ids, *back));
                let mut ids: Vec<_> = ids.collect::<Option<_>>()?;
                ids.sort_unstable();
                ids.dedup();
                self.moving.clone_from(&ids);
                let op = self.op();
                Call::Redrive(Redrive::new(partition, op, ids).expect("within limits"))
            }
            Step::RedriveAll(reason, before, max, rate) => {
                self.rate = *rate;
                let mut filter = RedriveFilter::new();
                if let Some(rate) = rate {
                    filter = filter.per_second(*rate);
                }
                if let Some(reason) = reason {
                    filter = filter.reason(*reason);
                }
                if let Some(before) = before {
                    filter = filter.before_us(*before);
                }
                let op = self.op();
                let step = RedriveAll::new(partition, op, &filter, *max);
                Call::RedriveAll(step.expect("within limits"))
            }
            Step::Purge(state, key, before) => {
                self.purges_done = *state == EventState::Done;
                let mut filter = PurgeFilter::new();
                if *state == EventState::Behind {
                    filter = filter.key(KEYS[*key]);
                } else if let Some(before) = before {
                    filter = filter.before_us(*before);
                }
                let op = self.op();
                Call::Purge(Purge::new(partition, op, *state, &filter).expect("within limits"))
            }
            Step::Schedule(key, plan) => {
                let (op, id) = (self.op(), KEYS[*key]);
                let known = self.schedules.schedules.iter().find(|known| &*known.id == id);
                let version = known.map_or(0, |known| known.record.version);
                let template = match plan.template() {
                    None if known.is_none() => return None,
                    template => template,
                };
                let record = plan.record(self.schedules.now_us);
                let step = PutSchedule::new(partition, op, id, version, record, template);
                Call::Put(step.expect("within limits"))
            }
            Step::Schedules => Call::Schedules(ReadSchedules::page(partition, None)),
            Step::Unschedule(key) => {
                let op = self.op();
                let step = RemoveSchedule::new(partition, op, KEYS[*key], 0);
                Call::Unschedule(step.expect("within limits"))
            }
            Step::Trigger(key) => {
                let op = self.op();
                Call::Trigger(Trigger::new(partition, op, KEYS[*key]).expect("within limits"))
            }
            Step::Advance(_) | Step::Reopen | Step::Delete => return None,
        };
        // The others are not sent again when a reply is lost, or do the same again.
        self.last = match call {
            Call::Publish(_) | Call::Receive(_) | Call::Settle(_) => Some(call.clone()),
            Call::Redrive(_) | Call::RedriveAll(_) | Call::Purge(_) => Some(call.clone()),
            Call::Put(_) | Call::Unschedule(_) | Call::Trigger(_) => Some(call.clone()),
            _ => None,
        };
        Some(call)
    }
}

impl Listing {
    fn query(&self) -> EventQuery {
        let mut query = EventQuery::new().limit(self.limit);
        if self.state == EventState::Behind {
            return query.key(KEYS[self.key]);
        }
        if let Some(since) = self.since {
            query = query.since_us(since);
        }
        match self.before {
            Some(before) => query.before_us(before),
            None => query,
        }
    }
}

/// What a step returned, as far as the ledger and later steps need it.
#[derive(Default)]
struct Seen {
    text: String,
    published: Vec<Published>,
    is_published: bool,
    received: Vec<Event>,
    /// How many more are ready, and in how many microseconds there may be more.
    ready: u64,
    next_in: Option<u64>,
    settled: Vec<Settled>,
    renewed: Option<Renewed>,
    cancelled: Vec<Cancelled>,
    rescheduled: Vec<Rescheduled>,
    leased_until: u64,
    stats: Option<Stats>,
    page: Option<EventPage>,
    schedules: Option<SchedulesRead>,
    redriven: Vec<Redriven>,
    /// How many events a redrive or purge by filter took.
    taken: Option<u64>,
}

fn run<O: Operation<Output: std::fmt::Debug> + Clone>(
    client: &Client,
    step: &O,
    keep: impl FnOnce(&mut Seen, O::Output),
) -> Seen {
    let mut seen = Seen::default();
    match client.run(Ok(step.clone())) {
        Ok(output) => {
            seen.text = format!("{output:?}");
            keep(&mut seen, output);
        }
        Err(error) => seen.text = format!("{error:?}"),
    }
    seen
}

fn see(client: &Client, call: &Call) -> Seen {
    match call {
        Call::Publish(step) => run(client, step, |seen, output| {
            (seen.published, seen.is_published) = (output, true);
        }),
        Call::Receive(step) => run(client, step, |seen, output| {
            (seen.leased_until, seen.received) = (output.leased_until, output.events);
            (seen.ready, seen.next_in) = (output.ready, output.next_in);
        }),
        Call::Settle(step) => run(client, step, |seen, output| seen.settled = output),
        Call::Renew(step) => run(client, step, |seen, output| seen.renewed = Some(output)),
        Call::Cancel(step) => run(client, step, |seen, output| seen.cancelled = output),
        Call::Reschedule(step) => run(client, step, |seen, output| seen.rescheduled = output),
        Call::Open(step) => run(client, step, |_, _| {}),
        Call::Stats(step) => run(client, step, |seen, output| seen.stats = Some(output.0)),
        Call::Fetch(step) => run(client, step, |_, _| {}),
        Call::List(step) => run(client, step, |seen, output| seen.page = Some(output)),
        Call::Redrive(step) => run(client, step, |seen, output| seen.redriven = output),
        Call::RedriveAll(step) => {
            run(client, step, |seen, output| seen.taken = Some(output.redriven))
        }
        Call::Purge(step) => run(client, step, |seen, output| seen.taken = Some(output.removed)),
        Call::Put(step) => run(client, step, |_, _| {}),
        Call::Schedules(step) => run(client, step, |seen, mut output| {
            output.schedules.sort_by_key(|schedule| schedule.id.clone());
            seen.text = format!("{output:?}");
            seen.schedules = Some(output);
        }),
        Call::Unschedule(step) => run(client, step, |_, _| {}),
        Call::Trigger(step) => run(client, step, |_, _| {}),
    }
}

/// What is known of the events from what was asked and returned.
#[derive(Default)]
struct Ledger {
    lives: BTreeMap<EventId, Life>,
    /// By key and deduplication id, who has it.
    named: BTreeMap<(&'static str, u8), EventId>,
    /// When how many events were delivered, since the limits were set.
    deliveries: Vec<(u64, u64)>,
    /// Events that were cancelled.
    cancelled: BTreeSet<EventId>,
    /// Events of schedules that there were.
    ticked: BTreeSet<EventId>,
}

#[derive(Clone, Debug)]
struct Life {
    key: &'static str,
    fire_at_us: u64,
    expires_at_us: Option<u64>,
    leased_until: Option<u64>,
    /// It is a dead letter, or its last lease ran out, so that it may be one.
    may_be_dead: bool,
    /// It was given another time, and comes behind what was due at that time already.
    is_moved: bool,
    /// Its order is over.
    is_redriven: bool,
    /// It was received, and not redriven since.
    is_received: bool,
    /// It is of a schedule.
    is_tick: bool,
}

impl Life {
    fn is_leased(&self, now: u64) -> bool {
        self.leased_until.is_some_and(|until| until > now)
    }

    /// Whether it has to be delivered before what comes after it.
    fn is_due_before(&self, now: u64) -> bool {
        let has_run_out = self.leased_until.is_some_and(|until| until <= now);
        !self.may_be_dead && !has_run_out && self.expires_at_us.is_none_or(|at| at > now)
    }
}

impl Ledger {
    /// Events of schedules are as they are found; that each tick has its event is for other tests.
    fn adopt(&mut self, events: &[Event]) -> Result<(), String> {
        for event in events.iter().filter(|event| event.payload.starts_with(TICK)) {
            if self.ticked.contains(&event.id) && !self.lives.contains_key(&event.id) {
                return Err(format!("{} had ended, and came again", event.id));
            }
            self.ticked.insert(event.id);
            let key = KEYS.iter().find(|key| key.as_bytes() == &*event.key).copied();
            self.lives.entry(event.id).or_insert(Life {
                key: key.unwrap_or_default(),
                fire_at_us: event.fire_at_us,
                expires_at_us: event.expires_at_us,
                leased_until: None,
                may_be_dead: false,
                is_moved: false,
                // A tick may come to be known later than what was published for a later time.
                is_redriven: true,
                is_received: false,
                is_tick: true,
            });
        }
        Ok(())
    }

    /// Those are gone that later ticks replaced.
    fn disown(&mut self, events: &[Event]) {
        let left: BTreeSet<_> = events.iter().map(|event| event.id).collect();
        self.lives.retain(|id, life| !life.is_tick || left.contains(id));
    }

    fn check(&mut self, now: u64, known: &Known, call: &Call, seen: &Seen) -> Result<(), String> {
        if let (Some(done), true) = (known.following, seen.is_published) {
            self.settled(now, done, &End::Done, Settled::Ended)?;
        }
        for (wish, published) in known.wishes.iter().zip(&seen.published) {
            self.published(now, wish, published);
        }
        for event in &seen.received {
            self.received(now, event, seen.leased_until)?;
        }
        match call {
            Call::Open(_) => self.deliveries.clear(),
            Call::Receive(_) => self.check_limits(now, &known.config, seen)?,
            Call::Settle(_) => {
                for ((id, end), settled) in known.settling.iter().zip(&seen.settled) {
                    self.settled(now, *id, end, *settled)?;
                }
            }
            Call::Renew(_) => {
                let Some(renewed) = &seen.renewed else { return Ok(()) };
                for (Receipt { id, .. }, held) in known.renewing.iter().zip(&renewed.held) {
                    if let (Some(life), true) = (self.lives.get_mut(id), *held != Held::Lost) {
                        life.leased_until = Some(renewed.leased_until);
                    }
                }
            }
            Call::Cancel(_) => {
                for (id, cancelled) in known.moving.iter().zip(&seen.cancelled) {
                    let is_new = *cancelled == Cancelled::Removed && self.cancelled.insert(*id);
                    if is_new && self.lives.remove(id).is_none() {
                        return Err(format!("{id} had ended, and was cancelled"));
                    }
                }
            }
            Call::Reschedule(_) => {
                for (id, rescheduled) in known.moving.iter().zip(&seen.rescheduled) {
                    // Where one waits to be tried again says nothing of its order.
                    if let (Some(life), Rescheduled::Rescheduled) =
                        (self.lives.get_mut(id).filter(|life| !life.is_received), rescheduled)
                    {
                        let fire_at_us = time_of(known.moving_to, now);
                        life.expires_at_us =
                            life.expires_at_us.map(|at| at - life.fire_at_us + fire_at_us);
                        (life.fire_at_us, life.is_moved) = (fire_at_us, true);
                    }
                }
            }
            Call::Redrive(_) => {
                for (id, redriven) in known.moving.iter().zip(&seen.redriven) {
                    if *redriven == Redriven::Redriven {
                        self.redriven(now, *id)?;
                    }
                }
            }
            Call::RedriveAll(_) | Call::Purge(_) => {
                let is_right = seen.taken.is_none_or(|taken| taken == known.matching.len() as u64);
                if !is_right {
                    return Err(format!("{:?} of {:?}", seen.taken, known.matching));
                }
                let matching = known.matching.iter().filter(|_| seen.taken.is_some());
                for (turn, id) in (0..).zip(matching) {
                    match call {
                        Call::Purge(_) if known.purges_done => {
                            if self.lives.contains_key(id) {
                                return Err(format!("{id} had not ended, and was done"));
                            }
                        }
                        Call::Purge(_) if self.lives.remove(id).is_none() => {
                            return Err(format!("{id} had ended, and was purged"));
                        }
                        Call::Purge(_) => {}
                        _ => {
                            self.redriven(now, *id)?;
                            let life = self.lives.get_mut(id).expect("it was there");
                            if let Some(rate) = known.rate {
                                life.fire_at_us = now + turn * 1_000_000 / rate;
                            }
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// No more are leased than may be, and in no time more were delivered than the rate lets through; a step that left
    /// something says when to come again.
    fn check_limits(&mut self, now: u64, config: &Config, seen: &Seen) -> Result<(), String> {
        let leased = self.lives.values().filter(|life| life.is_leased(now)).count() as u64;
        let received = seen.received.len() as u64;
        if config.concurrency > 0 && received > 0 && leased > config.concurrency {
            return Err(format!("{leased} events are leased of at most {}", config.concurrency));
        }
        self.deliveries.push((now, received));
        let burst = if config.burst > 0 { config.burst } else { config.rate };
        let mut delivered = 0;
        for (since, events) in self.deliveries.iter().rev().filter(|_| config.rate > 0) {
            delivered += events;
            if delivered * 1_000_000 > burst * 1_000_000 + config.rate * (now - since) {
                return Err(format!("{delivered} events were delivered since {since}: {config:?}"));
            }
        }
        let is_told = config.paused || seen.ready == 0 || seen.next_in.is_some();
        is_told.then_some(()).ok_or_else(|| format!("{} are ready, and nobody comes", seen.ready))
    }

    fn redriven(&mut self, now: u64, id: EventId) -> Result<(), String> {
        let has_run_out = |life: &Life| life.leased_until.is_some_and(|until| until <= now);
        let was_dead = |life: &&mut Life| life.may_be_dead || has_run_out(life);
        let life = self.lives.get_mut(&id).filter(was_dead);
        let life = life.ok_or_else(|| format!("{id} was no dead letter, and was redriven"))?;
        life.leased_until = None;
        (life.may_be_dead, life.is_redriven, life.is_received) = (false, true, false);
        Ok(())
    }

    fn published(&mut self, now: u64, wish: &Wish, published: &Published) {
        let key = KEYS[wish.key];
        if published.status == Status::Duplicate {
            return;
        }
        if let Some((id, ..)) = wish.dedup {
            let before = self.named.insert((key, id), published.id);
            let before = before.filter(|_| published.status == Status::Replaced);
            if let Some((before, life)) = before.and_then(|id| Some((id, self.lives.get_mut(&id)?)))
            {
                match life.leased_until {
                    None => _ = self.lives.remove(&before),
                    // Whether it is gone depends on whether a step has looked since its lease ran out.
                    Some(until) => life.may_be_dead |= until <= now,
                }
            }
        }
        let fire_at_us = time_of(wish.at, now);
        let expires_at_us = wish.ttl_ms.map(|ttl| fire_at_us + 1_000 * ttl);
        let life = Life {
            key,
            fire_at_us,
            expires_at_us,
            leased_until: None,
            may_be_dead: false,
            is_moved: false,
            is_redriven: false,
            is_received: false,
            is_tick: false,
        };
        self.lives.insert(published.id, life);
    }

    fn received(&mut self, now: u64, event: &Event, leased_until: u64) -> Result<(), String> {
        let id = event.id;
        let life = self.lives.get(&id).ok_or_else(|| format!("{id} had ended, and came again"))?;
        if life.fire_at_us > now || life.expires_at_us.is_some_and(|at| at <= now) {
            return Err(format!("{id} came at {now}: {life:?}"));
        }
        let same_key = |(other, of): &(&EventId, &Life)| {
            **other != id && !life.key.is_empty() && of.key == life.key
        };
        for (other, of) in self.lives.iter().filter(same_key) {
            if of.is_leased(now) {
                return Err(format!("{id} came while {other} of its key was leased"));
            }
            let is_before = match of.is_moved {
                _ if of.is_redriven || life.is_redriven => false,
                true => of.fire_at_us < life.fire_at_us,
                false => (of.fire_at_us, *other) < (life.fire_at_us, id),
            };
            if is_before && of.is_due_before(now) {
                return Err(format!("{id} came before {other} of its key: {of:?}, {life:?}"));
            }
        }
        if let Some(life) = self.lives.get_mut(&id) {
            (life.leased_until, life.may_be_dead) = (Some(leased_until), false);
            // What was delivered once does not expire.
            life.expires_at_us = None;
            life.is_received = true;
        }
        Ok(())
    }

    fn settled(
        &mut self,
        now: u64,
        id: EventId,
        end: &End,
        settled: Settled,
    ) -> Result<(), String> {
        match (settled, end) {
            (Settled::Lost | Settled::Gone, _) => {}
            (Settled::Ended, End::Done) | (Settled::Cancelled, _) => {
                if settled == Settled::Cancelled {
                    self.cancelled.insert(id);
                }
                if self.lives.remove(&id).is_none() {
                    return Err(format!("{id} ended twice"));
                }
            }
            (Settled::Ended | Settled::Died, _) => {
                if let Some(life) = self.lives.get_mut(&id) {
                    // One whose lease had run out has failed by that, and may have been given up.
                    life.may_be_dead |= settled == Settled::Died
                        || matches!(end, End::Dead(_))
                        || life.leased_until.is_some_and(|until| until <= now);
                    life.leased_until = None;
                }
            }
        }
        Ok(())
    }
}

fn time_of(at: When, now: u64) -> u64 {
    match at {
        When::Now => now,
        When::At(ms) => now.max(1_000 * ms),
        When::After(delay) => now + delay.as_micros() as u64,
    }
}

/// The three engines, which share a time.
struct Engines<'a> {
    server: &'a Redis,
    redis: &'a Client,
    memory: Client,
    file: Option<Client>,
    url: String,
    root: String,
    clock: Arc<ManualClock>,
    now: u64,
}

impl Engines<'_> {
    fn open(&self, url: &str) -> Client {
        let options = Options::parse(url).expect("a right URL");
        options.clock(self.clock.clone()).connect().expect("nobody else holds it")
    }

    fn reopen(&mut self) {
        self.file = None;
        self.file = Some(self.open(&self.url));
    }

    fn advance(&mut self, time: u64) {
        self.now += time;
        self.clock.advance(Duration::from_micros(time));
    }

    /// Which events a redrive or purge by filter is to find, those first that come first.
    fn matching(&self, known: &Known, step: &Step) -> Vec<EventId> {
        let (state, key, before) = match step {
            Step::RedriveAll(_, before, ..) => (EventState::Dead, 0, *before),
            Step::Purge(state, key, before) => (*state, *key, *before),
            _ => return Vec::new(),
        };
        let mut query = EventQuery::new().limit(1_000);
        if state == EventState::Behind {
            query = query.key(KEYS[key]);
        }
        let step_of = List::new(known.partition.clone(), state, &query);
        let page = self.memory.run(step_of).expect("nothing is wrong");
        let is_meant = |event: &&Event| {
            let is_since = matches!(state, EventState::Ready | EventState::Dead | EventState::Done);
            let is_early = before.is_none_or(|before| event.state_at_us < before);
            let fits = match step {
                Step::RedriveAll(Some(reason), ..) => event.reason == Some(*reason),
                _ => true,
            };
            // What is later than now was ahead of the clock, but for what a purge has made ready.
            let is_new = is_since && event.state_at_us == self.now + 1;
            fits && (state == EventState::Behind || is_early && !is_new)
        };
        let most = if let Step::RedriveAll(_, _, max, _) = step { *max } else { 1_000 };
        page.events.iter().filter(is_meant).take(most).map(|event| event.id).collect()
    }

    /// All events, but for those that cannot be listed.
    fn events(&self, known: &Known) -> Vec<Event> {
        use EventState::{Behind, Dead, Leased, Ready, Retry, Scheduled};
        let in_state = |state| (state, EventQuery::new().limit(1_000));
        let mut queries = vec![in_state(Scheduled), in_state(Ready), in_state(Leased)];
        queries.extend([in_state(Retry), in_state(Dead)]);
        queries
            .extend(KEYS[2..].iter().map(|key| (Behind, EventQuery::new().limit(1_000).key(key))));
        let list = |(state, query)| {
            let step = List::new(known.partition.clone(), state, &query);
            self.memory.run(step).expect("nothing is wrong").events
        };
        queries.into_iter().flat_map(list).collect()
    }

    /// Deletes the partition and makes another one.
    fn delete(&mut self, known: &mut Known, ledger: &mut Ledger) -> Result<(), TestCaseError> {
        let begin = Delete::begin(known.partition.clone());
        let look = Open::look(known.partition.clone());
        for step in [begin, Delete::new(known.partition.clone())] {
            self.set_time();
            let expected = run(self.redis, &step, |_, _| {}).text;
            let after = run(self.redis, &look, |_, _| {}).text;
            prop_assert_eq!(&after, "None");
            for client in [&self.memory, self.file.as_ref().expect("it is open")] {
                prop_assert_eq!(run(client, &step, |_, _| {}).text, expected.clone());
                prop_assert_eq!(run(client, &look, |_, _| {}).text, "None");
            }
            self.reopen();
        }
        let left = self.server.cli(&["KEYS", &format!("{}*", self.root)]);
        prop_assert_eq!(left.array().len(), 1, "{:?}", left);
        prop_assert_eq!(self.server.cli(&["HLEN", &self.root]).integer(), 1, "its generation");
        known.generation += 1;
        known.partition = Partition::new(&known.name, 0, known.generation).expect("a right name");
        *ledger = Ledger::default();
        self.perform(known, ledger, &Step::Configure(Config::default()))?;
        Ok(())
    }

    /// Tells the server the time.
    fn set_time(&self) {
        self.server.cli(&["HSET", &self.root, "now", &self.now.to_string()]);
    }

    fn perform(
        &mut self,
        known: &mut Known,
        ledger: &mut Ledger,
        step: &Step,
    ) -> Result<Seen, TestCaseError> {
        match step {
            Step::Advance(time) => {
                // One that found nothing is not remembered, and may find something later.
                known.last = None;
                self.advance(*time);
            }
            Step::Reopen => self.reopen(),
            Step::Delete => {
                known.last = None;
                self.delete(known, ledger)?;
            }
            Step::Schedule(..) => _ = self.perform(known, ledger, &Step::Schedules)?,
            _ => {}
        }
        let Some(call) = known.call(step) else { return Ok(Seen::default()) };
        if !matches!(step, Step::Again) {
            known.matching = self.matching(known, step);
        }
        self.set_time();
        let expected = see(self.redis, &call);
        let problems = match known.calls % 3 {
            0 => self.server.cli(&["EVAL", DOCTOR, "1", &self.root]),
            _ => Reply::Array(Vec::new()),
        };
        prop_assert_eq!(problems.array().len(), 0, "{:?} after {:?}", problems, step);
        if matches!(step, Step::Again) {
            // An embedded engine has no replies to lose, so nothing is sent to it again.
            let before = known.returned.replace(expected.text.clone());
            // The others say what is so now: what is leased still, and that the end has been.
            let is_remembered = !matches!(call, Call::Receive(_) | Call::Settle(_));
            prop_assert!(
                !is_remembered || before == known.returned,
                "another result of {:?}",
                call
            );
            return Ok(expected);
        }
        for (engine, client) in
            [("memory", &self.memory), ("file", self.file.as_ref().expect("it is open"))]
        {
            let seen = see(client, &call);
            prop_assert_eq!(&seen.text, &expected.text, "{} after {:?}", engine, step);
        }
        let events = self.events(known);
        ledger.adopt(&events).map_err(TestCaseError::fail)?;
        ledger.check(self.now, known, &call, &expected).map_err(TestCaseError::fail)?;
        ledger.disown(&events);
        known.returned = Some(expected.text.clone());
        if let Some(schedules) = &expected.schedules {
            known.schedules.clone_from(schedules);
        }
        if let Some(page) = &expected.page {
            known.next = page.next;
        }
        known.ids.extend(expected.published.iter().map(|event| event.id));
        known.deliveries.extend(expected.received.iter().map(Receipt::from));
        Ok(expected)
    }

    /// Ends all that there is, and checks that nothing was lost.
    fn end(&mut self, known: &mut Known, ledger: &mut Ledger) -> Result<(), TestCaseError> {
        let mut config = Config::default();
        (config.max_attempts, config.max_crashes) = (0, 0);
        self.perform(known, ledger, &Step::Configure(config))?;
        // One by one they take long.
        let stats = self.perform(known, ledger, &Step::Stats)?.stats.expect("it was read");
        if stats.events > 200 {
            self.perform(known, ledger, &Step::Purge(EventState::Behind, 2, None))?;
        }
        loop {
            self.advance(3_600_000_000);
            let receive = Step::Receive { max: 100, lease_ms: None, seed: 1 };
            let first = known.deliveries.len();
            let received = self.perform(known, ledger, &receive)?.received.len();
            let stats = self.perform(known, ledger, &Step::Stats)?.stats.expect("it was read");
            if received == 0 && stats.ready + stats.leased + stats.retry + stats.scheduled == 0 {
                prop_assert_eq!((stats.events, stats.done), (stats.dead, 0), "{:?}", stats);
                let left = ledger.lives.values().filter(|life| life.is_due_before(self.now));
                prop_assert_eq!(left.count(), 0, "they were lost: {:?}", ledger.lives);
                return Ok(());
            }
            let ends = (0..known.deliveries.len() - first).map(|back| (back, End::Done));
            self.perform(known, ledger, &Step::Settle(ends.collect(), 1))?;
        }
    }
}

/// Runs random steps on a partition that `begin` has prepared.
fn agree(
    cases: u32,
    steps: impl Strategy<Value = Step>,
    begin: impl Fn(&mut Engines<'_>, &mut Known, &mut Ledger) -> Result<(), TestCaseError>,
) {
    let server = Redis::start();
    let redis = millpond::connect(&server.url()).expect("the server is there");
    let directory = tempfile::tempdir().expect("there is room");
    let (sequences, number) = (prop::collection::vec(steps, 5..60), Cell::new(0));
    let mut runner =
        TestRunner::new(Runner { cases, failure_persistence: None, ..Runner::default() });
    let outcome = runner.run(&sequences, |steps| {
        number.set(number.get() + 1);
        let name = format!("q{}", number.get());
        let clock = Arc::new(ManualClock::at(BEGAN));
        let memory = Options::parse("memory:").expect("a right URL").clock(clock.clone());
        let mut engines = Engines {
            server: &server,
            redis: &redis,
            memory: memory.connect().expect("there is room"),
            file: None,
            url: format!("file:{}?sync=never", directory.path().join(&name).display()),
            root: format!("{{{name}}}:events"),
            clock,
            now: BEGAN,
        };
        engines.reopen();
        let (mut known, mut ledger) = (Known::of(name.clone(), 7), Ledger::default());
        engines.perform(&mut known, &mut ledger, &Step::Configure(Config::default()))?;
        begin(&mut engines, &mut known, &mut ledger)?;
        for step in &steps {
            engines.perform(&mut known, &mut ledger, step)?;
        }
        engines.end(&mut known, &mut ledger)?;
        drop(engines);
        server.cli(&["FLUSHALL"]);
        std::fs::remove_dir_all(directory.path().join(&name)).expect("it is there");
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn all_engines_agree() {
    agree(2_000, step(), |_, _, _| Ok(()));
}

/// How many events are behind the first one of a key: more than are searched for one that is cancelled.
const LANE: usize = 1_040;

/// A step on a long lane, and what operators do deep in it.
fn deep_step() -> impl Strategy<Value = Step> {
    let which = |most| prop::collection::vec(0..LANE, 1..most);
    let replaced = (0..3_u8, 0..4_000_u64).prop_map(|(id, window)| {
        let dedup = Some((id, window, IfExists::Replace));
        vec![Wish { key: 2, at: When::Now, bytes: 8, dedup, ttl_ms: None }]
    });
    let page = (1..1_000_usize, any::<bool>()).prop_map(|(limit, goes_on)| Listing {
        state: EventState::Behind,
        key: 2,
        limit,
        since: None,
        before: None,
        goes_on,
    });
    let ends = prop::collection::vec((0..3_usize, end()), 1..2);
    let purged = prop::sample::select(vec![EventState::Ready, EventState::Retry, EventState::Dead]);
    // Some are just enough for what is there, and for one that is published then.
    let most = (LANE as u64 - 60..LANE as u64 + 3).prop_map(|events_max| {
        let mut config = Config::default();
        config.events_max = events_max;
        config
    });
    prop_oneof![
        6 => (which(60), any::<bool>(), any::<bool>())
            .prop_map(|(which, running, force)| Step::Cancel(which, running, force)),
        // From the first one on, so that what comes next is gone.
        4 => (0..40_usize, any::<bool>(), any::<bool>()).prop_map(|(gone, running, force)| {
            Step::Cancel((LANE - gone..LANE + 1).collect(), running, force)
        }),
        4 => (1..3_usize, any::<u32>())
            .prop_map(|(max, seed)| Step::Receive { max, lease_ms: None, seed }),
        4 => (ends, any::<u32>()).prop_map(|(ends, seed)| Step::Settle(ends, seed)),
        2 => replaced.prop_map(Step::Publish),
        2 => prop::collection::vec(wish(), 1..4).prop_map(Step::Publish),
        2 => (0..LANE, at()).prop_map(|(which, at)| Step::Reschedule(which, at)),
        2 => page.prop_map(Step::List),
        2 => which(40).prop_map(Step::Fetch),
        2 => which(40).prop_map(Step::Redrive),
        2 => purged.prop_map(|state| Step::Purge(state, 2, None)),
        1 => most.prop_map(Step::Configure),
        1 => (1_000..2_500_000_u64).prop_map(Step::Advance),
        4 => Just(Step::Stats),
    ]
}

#[test]
fn all_engines_agree_on_long_lanes() {
    agree(20, deep_step(), |engines, known, ledger| {
        let wish = Wish { key: 2, at: When::Now, bytes: 8, dedup: None, ttl_ms: None };
        for _ in 0..2 {
            let wishes = vec![wish.clone(); LANE / 2];
            engines.perform(known, ledger, &Step::Publish(wishes))?;
        }
        let first = Step::Receive { max: 1, lease_ms: None, seed: 1 };
        engines.perform(known, ledger, &first)?;
        Ok(())
    });
}
