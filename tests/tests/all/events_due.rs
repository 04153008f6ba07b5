//! What is due is delivered, however a queue came to it: random histories of leases that run out, backoffs, keys,
//! expiry, cancels, schedules and limits, with one consumer that only waits as a worker does. It asks when it is told,
//! and when the time comes that its last receive returned, and at no other time. On Redis and on the embedded engine,
//! whose time the test sets.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use millpond::events::{
    Config, ConfigChange, End, EventId, EventQuery, EventQueue, EventState, List, Missed, NewEvent,
    Op, Open, Overlap, Partition, ReadSchedules, ReadStats, Receipt, Receive, Schedule, Settlement,
};
use millpond::step::Operation;
use millpond::{Client, Clock, Options};
use millpond_tests::random::{Random, fresh_seed};
use millpond_tests::servers::{Connection, Redis};

/// Microseconds since the Unix epoch, in 2026.
const BEGAN: u64 = 1_790_000_000_000_000;
const SECOND: u64 = 1_000_000;
/// The longest time that passes between two looks at what is due.
const STRIDE: u64 = SECOND / 4;

const KEYS: [&str; 4] = ["", "", "k", "l"];
/// The name by which the consumer waits on a server.
const PROCESS: &str = "stest";

/// A clock that wakes nobody when it is moved.
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How the consumer is told of events while it waits.
enum Ear<'a> {
    /// On a server: by what its steps publish.
    Redis { server: &'a Redis, messages: Connection },
    /// In the process, by the wake-up of a loop that waits.
    Memory {
        clock: Arc<Hands>,
        woken: Arc<Woken>,
        waiting: Option<Pin<Box<dyn Future<Output = ()>>>>,
    },
}

struct World<'a> {
    ear: Ear<'a>,
    client: Client,
    queue: EventQueue,
    partition: Partition,
    name: String,
    root: String,
    random: Random,
    now: u64,
    calls: u64,
    /// When the consumer asks next, if it is not told before.
    alarm: Option<u64>,
    /// Since when something is due that the consumer may receive and does not ask for.
    overdue_since: Option<u64>,
    ids: Vec<EventId>,
    held: Vec<Receipt>,
    delivered: u64,
    is_paused: bool,
}

impl<'a> World<'a> {
    fn new(server: Option<(&'a Redis, &Client)>, seed: u64) -> Self {
        let (name, now) = (format!("q{seed}"), BEGAN);
        let root = format!("{{{name}}}:events");
        let (ear, client) = match server {
            Some((server, client)) => {
                let mut messages = server.connect().expect("it is there");
                let all = format!("{root}:at:default");
                let own = format!("{all}:{PROCESS}");
                messages.call(&["SUBSCRIBE", &all]).expect("it is there");
                messages.call(&["SUBSCRIBE", &own]).expect("it is there");
                (Ear::Redis { server, messages }, client.clone())
            }
            None => {
                let clock = Arc::new(Hands(AtomicU64::new(now)));
                let options = Options::parse("memory:").expect("a right URL").clock(clock.clone());
                let client = options.connect().expect("there is room");
                (Ear::Memory { clock, woken: Arc::default(), waiting: None }, client)
            }
        };
        let partition = Partition::new(&name, 0, 7).expect("a right name");
        let open = Open::create(partition.clone(), 1, Config::default());
        client.run(open).expect("it is there");
        let mut world = Self {
            ear,
            queue: client.events(&name),
            client,
            partition,
            name,
            root,
            random: Random::new(seed),
            now,
            calls: 0,
            alarm: None,
            overdue_since: None,
            ids: Vec::new(),
            held: Vec::new(),
            delivered: 0,
            is_paused: false,
        };
        world.set_time(now);
        world.configure();
        world.ask();
        world
    }

    fn run<O: Operation>(&self, step: millpond::Result<O>) -> O::Output {
        self.client.run(step).expect("it is there")
    }

    fn set_time(&mut self, now: u64) {
        self.now = now;
        match &self.ear {
            Ear::Redis { server, .. } => {
                _ = server.cli(&["HSET", &self.root, "now", &now.to_string()]);
            }
            Ear::Memory { clock, .. } => clock.0.store(now, Ordering::Relaxed),
        }
    }

    fn ms(&mut self, below: u64) -> Duration {
        Duration::from_millis(self.random.below(below))
    }

    /// Takes all that there is, as a worker does, until it would wait.
    fn ask(&mut self) {
        match &mut self.ear {
            Ear::Redis { server, .. } => {
                server.cli(&["DEL", &format!("{}:waiting:default", self.root)]);
            }
            Ear::Memory { waiting, .. } => *waiting = None,
        }
        let max = self.random.of(&[1, 3, 50]);
        let queue = self.queue.clone();
        for batch in self.queue.deliveries().max(max) {
            let batch = batch.expect("it is there");
            self.delivered += batch.len() as u64;
            for event in &batch {
                match self.random.below(20) {
                    0..12 => queue.ack(event).expect("it is held"),
                    12..15 => queue.nack(event, "no", None).expect("it is held"),
                    15 => queue.nack(event, "no", self.ms(3_000)).expect("it is held"),
                    16 => {
                        let after = Duration::from_millis(1) + self.ms(1_000);
                        queue.release(event, after).expect("it is held");
                    }
                    // It is ended later.
                    17 | 18 => self.held.push(event.into()),
                    // Its consumer has died.
                    _ => {}
                }
            }
        }
        // What a worker knows that begins to wait.
        self.calls += 1;
        let op = Op { slot: *b"test\0\0\0\0\0\x01", number: self.calls };
        let token = self.calls.to_be_bytes();
        let peek = Receive::new(self.partition.clone(), op, 1, None, token, 1);
        let peek = self.run(peek);
        assert!(peek.events.is_empty(), "it waits, and there is {:?}", peek.events);
        assert_ne!(peek.next_in, Some(0), "it waits, and there is more to do");
        self.alarm = peek.next_in.map(|next_in| self.now + next_in);
        self.overdue_since = None;
        self.hear();
        match &mut self.ear {
            Ear::Redis { server, .. } => {
                let key = format!("{}:waiting:default", self.root);
                server.cli(&["ZADD", &key, &self.now.to_string(), PROCESS]);
            }
            Ear::Memory { woken, waiting, .. } => {
                let queue = self.client.to_async().events(&self.name);
                let mut future: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
                    let found = queue.deliveries().wait(Duration::MAX).next().await;
                    panic!("it waits, and there is {found:?}");
                });
                let waker = Waker::from(woken.clone());
                loop {
                    woken.0.store(false, Ordering::Relaxed);
                    let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                    assert_eq!(polled, Poll::Pending);
                    if !woken.0.load(Ordering::Relaxed) {
                        break;
                    }
                }
                *waiting = Some(future);
            }
        }
    }

    /// Whether the consumer was told to ask, by a step of somebody else; it may have been told to ask later.
    fn hear(&mut self) -> bool {
        let now = self.now;
        match &mut self.ear {
            Ear::Memory { woken, .. } => woken.0.swap(false, Ordering::Relaxed),
            Ear::Redis { messages, .. } => {
                let mut is_told = false;
                let mut reply = messages.call(&["PING"]).expect("it is there");
                while reply.array()[0].text() != "pong" {
                    let message = reply.array()[2].text();
                    match message.strip_prefix('+') {
                        Some(ms) => {
                            let ms: u64 = ms.parse().expect("milliseconds");
                            let at = now + 1_000 * ms;
                            self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
                        }
                        None => is_told = true,
                    }
                    reply = messages.read().expect("it is there");
                }
                is_told
            }
        }
    }

    /// A process that shares the engine's memory is told to ask later by a timer, which goes by the system's time.
    fn due_at(&mut self, at: u64) {
        if let Ear::Memory { .. } = self.ear {
            self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
        }
    }

    /// Whether something is due that may be received now.
    fn is_overdue(&self) -> bool {
        let (stats, _) = self.run(ReadStats::new(self.partition.clone()));
        if self.is_paused || stats.rate > 0 && stats.rate_left == 0 {
            return false;
        }
        let has_room = stats.concurrency == 0 || stats.leased < stats.concurrency;
        let query = EventQuery::new().limit(1);
        let leased = self.run(List::new(self.partition.clone(), EventState::Leased, &query));
        let is_late = leased.events.first().is_some_and(|event| event.state_at_us <= self.now);
        let has_ticked = self.first_tick().is_some_and(|tick| tick <= self.now);
        is_late || has_ticked || has_room && stats.ready_since_us.is_some()
    }

    fn first_tick(&self) -> Option<u64> {
        let read = self.run(Ok(ReadSchedules::page(self.partition.clone(), None)));
        read.schedules.iter().filter_map(|of| of.record.ticks.first().copied()).min()
    }

    /// Looks at what is due, after a step of somebody else or when time has passed.
    fn check(&mut self) {
        if self.hear() {
            self.ask();
        }
        self.overdue_since = match self.is_overdue() {
            true => self.overdue_since.or(Some(self.now)),
            false => None,
        };
        let since = self.overdue_since.unwrap_or(self.now);
        assert!(self.now <= since + SECOND, "something is due since {} us", self.now - since);
    }

    fn advance(&mut self, time: u64) {
        let until = self.now + time;
        while self.now < until {
            let alarm = self.alarm.filter(|alarm| *alarm > self.now).unwrap_or(until);
            self.set_time(until.min(self.now + STRIDE).min(alarm));
            if self.alarm.is_some_and(|alarm| alarm <= self.now) {
                self.ask();
            }
            self.check();
        }
    }

    fn configure(&mut self) {
        let mut config = Config::default();
        config.lease = Duration::from_millis(1_500);
        config.max_attempts = self.random.of(&[2, 5]);
        config.max_crashes = self.random.of(&[0, 1, 3]);
        let backoff = Duration::from_millis(self.random.of(&[0, 300]));
        (config.backoff_min, config.backoff_max) = (backoff, backoff);
        config.concurrency = self.random.of(&[0, 0, 0, 2, 5]);
        config.rate = self.random.of(&[0, 0, 0, 3, 50]);
        config.retention = self.ms(2) * 1_000;
        self.is_paused = self.random.one_in(12);
        let change = ConfigChange::from(config).paused(self.is_paused);
        self.queue.configure(change).expect("it is there");
    }

    fn publish(&mut self) {
        let count = self.random.of(&[1, 1, 2, 5, 5, 150, 1_100]);
        let delay = Duration::from_millis(self.random.of(&[0, 0, 1, 400, 2_500]));
        let key = self.random.of(&KEYS);
        let ttl = self.random.one_in(4).then(|| Duration::from_millis(1) + self.ms(2_000));
        let event = |number: u64| {
            let key = if number % 7 == 3 { KEYS[number as usize % KEYS.len()] } else { key };
            let event = NewEvent::new("x").key(key).delay(delay);
            match ttl {
                Some(ttl) if number % 5 != 4 => event.ttl(ttl),
                _ => event,
            }
        };
        let published = self.queue.publish_many((0..count).map(event)).expect("there is room");
        self.due_at(published[0].fire_at_us);
        self.ids.extend(published.iter().map(|event| event.id));
    }

    /// Somebody receives events, and dies.
    fn take_away(&mut self) {
        let max = self.random.of(&[1, 10, 250]);
        let taken = self.queue.receive(max).expect("it is there");
        self.due_at(self.now + 1_500_000);
        if self.random.one_in(3) {
            self.held.extend(taken.iter().map(Receipt::from));
        }
    }

    fn settle(&mut self) {
        let count = self.held.len().min(1 + self.random.below(5) as usize);
        let mut ends: Vec<_> = self.held.drain(..count).collect();
        ends.sort_by_key(|receipt| receipt.id);
        ends.dedup_by_key(|receipt| receipt.id);
        let ends = ends.into_iter().map(|receipt| {
            let end = match self.random.below(6) {
                0..3 => End::Done,
                3 => End::Failed("no".to_owned(), None),
                4 => End::Failed("no".to_owned(), Some(self.ms(2_000))),
                _ => End::Released(Some(self.ms(2_000))),
            };
            Settlement { receipt, end }
        });
        let ends: Vec<_> = ends.collect();
        self.queue.settle_many(ends).expect("it is there");
        let query = EventQuery::new().limit(1);
        let retry = self.run(List::new(self.partition.clone(), EventState::Retry, &query));
        if let Some(first) = retry.events.first() {
            self.due_at(first.state_at_us);
        }
    }

    fn some_ids(&mut self) -> Vec<EventId> {
        let most = self.random.of(&[1, 3, 200]);
        let from = self.random.below(1 + self.ids.len() as u64) as usize;
        self.ids.iter().skip(from).take(most).copied().collect()
    }

    fn put_schedule(&mut self) {
        let id = self.random.of(&KEYS[2..]);
        let every = Duration::from_millis(self.random.of(&[1_000, 1_000, 2_000, 5_000]));
        let mut schedule = Schedule::new(id).every(every).payload("tick");
        if self.random.one_in(2) {
            schedule = schedule.missed(Missed::Expire).grace(Duration::from_secs(1));
        }
        if self.random.one_in(2) {
            schedule = schedule.overlap(Overlap::Allow);
        }
        self.queue.put_schedule(schedule).expect("it is there");
        if let Some(tick) = self.first_tick() {
            self.due_at(tick);
        }
    }

    /// Something happens.
    fn step(&mut self) {
        match self.random.below(24) {
            0..5 => self.publish(),
            5..8 => self.take_away(),
            8..11 => self.settle(),
            11 => {
                let (ids, also_running) = (self.some_ids(), self.random.one_in(2));
                let force = self.random.one_in(4);
                self.queue.cancel(ids, also_running, force).expect("it is there");
            }
            12 => {
                let (ids, delay) = (self.some_ids(), self.ms(2_000));
                self.queue.reschedule(ids, delay).expect("it is there");
                self.due_at(self.now + delay.as_micros() as u64);
            }
            13 => self.configure(),
            14 => self.put_schedule(),
            15 => {
                let id = self.random.of(&KEYS[2..]);
                self.queue.remove_schedule(id).expect("it is there");
            }
            16 => {
                let id = self.random.of(&KEYS[2..]);
                self.queue.trigger_schedule(id).expect("it is there");
            }
            _ => {
                let time = self.random.of(&[1, 300, 30_000, SECOND / 2, 2 * SECOND, 4 * SECOND]);
                self.advance(time);
            }
        }
        self.check();
    }
}

/// Names the history that failed.
struct History(&'static str, u64);

impl Drop for History {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("MILLPOND_TEST_SEED={} on {}", self.1, self.0);
        }
    }
}

/// Plays histories on an engine; returns how many events were delivered.
fn play(engine: &'static str, server: Option<(&Redis, &Client)>, histories: u64) -> u64 {
    let first = fresh_seed();
    let play = |seed| {
        let _history = History(engine, seed);
        let mut world = World::new(server, seed);
        (0..60).for_each(|_| world.step());
        if let Some((server, _)) = server {
            server.cli(&["FLUSHALL"]);
        }
        world.delivered
    };
    (first..first + histories).map(play).sum()
}

#[test]
fn nothing_that_is_due_is_left_on_the_embedded_engine() {
    assert!(play("the embedded engine", None, 100) > 10_000);
}

#[test]
fn nothing_that_is_due_is_left_on_redis() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    assert!(play("Redis", Some((&server, &client)), 40) > 2_000);
}
