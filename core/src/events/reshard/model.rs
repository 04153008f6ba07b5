//! A model of resharding with the real calls and steps: several clients, each with a map that may be old, work on one
//! queue while it is resharded, and configure, pause, list and purge it; in some histories they also delete it, and
//! create it again. A seed determines which call does its next step, which step or reply is lost, which caller dies in
//! the middle, and how the clocks of the partitions differ. A ledger checks the promises from the outside: nothing is
//! lost, or delivered after its end or while the queue is paused; the events of a key are delivered one at a time and
//! in order; a deduplication id is used once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::super::calls::{Calls, is_stale};
use super::super::map::Map;
use super::super::open::Open;
use super::super::{
    Cancelled, Config, EventId, EventQuery, EventQueue, EventState, NewEvent, PurgeFilter, Receipt,
    RedriveFilter, Schedule, Settled,
};
use super::{Remap, plan};
use crate::client::simulated::{Fate, Simulated, decide};
use crate::runtime::clock::{Clock, ManualClock};
use crate::step::Chance;
use crate::{ErrorKind, Options};

/// Microseconds since the Unix epoch, in 2026.
const BEGAN: u64 = 1_790_000_000_000_000;
/// The last one is the key of a schedule's events.
const KEYS: [&str; 6] = ["", "a", "b", "c", "d", SCHEDULE];
const PUBLISHED: u64 = 5;
const SCHEDULE: &str = "s";
/// The key whose waiting events are purged.
const PURGED: usize = 4;
const PARTITIONS_MAX: u64 = 4;
const LEASE: Duration = Duration::from_secs(30);

thread_local! {
    /// The history, printed after a failure: keys are hashed at random, so a seed alone does not reproduce one.
    static TRACE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn note(line: String) {
    TRACE.with_borrow_mut(|trace| {
        trace.push(line);
        assert!(trace.len() < 100_000, "some call does not end");
    });
}

/// The clock of the partition of the current step.
#[derive(Default)]
struct PartitionClock(AtomicU64);

impl Clock for PartitionClock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// It can be delivered, or is held by a consumer that has died.
    Open,
    Held,
    Dead,
    /// Its consumer tried to end it, and does not know whether it has.
    Unsure,
    Ended,
}

#[derive(Clone, Debug)]
struct Known {
    key: usize,
    /// Its place in the order of its key; `None` if it has none any more.
    place: Option<(u64, EventId)>,
    state: State,
    /// A client has tried to cancel it, and does not know yet, or never will, whether it was cancelled.
    is_doubted: bool,
    /// It has a time to live and is not known to have been delivered; once delivered, it does not expire.
    may_expire: bool,
}

#[derive(Default)]
struct Ledger {
    events: BTreeMap<EventId, Known>,
    /// The events that have a deduplication id, by key and id.
    names: BTreeMap<(usize, u64), EventId>,
    /// Events that a client has tried to cancel, whose deduplication ids may be free.
    cancelled: BTreeSet<EventId>,
    /// The ticks of the schedule that were delivered, and their events.
    ticks: BTreeMap<u64, EventId>,
    /// Held deliveries.
    held: Vec<(Receipt, u64)>,
    delivered: u64,
    now: u64,
    /// The current pause, by its number: a receive that began in it delivers nothing.
    paused: Option<u64>,
    /// How many pauses and resumes have begun, and how many resumes are in progress.
    pauses: u64,
    resuming: usize,
    /// How many purges have begun, or ended.
    purges: u64,
    /// How many redrives of all dead letters are in progress.
    redriving: usize,
    /// Rises when a deletion of the queue begins and when it ends; and how many are in progress.
    deletions: u64,
    deleting: usize,
    /// How many ticks there were in deleted queues.
    past_ticks: usize,
}

impl Ledger {
    /// The contents are deleted, or will be.
    fn delete(&mut self) {
        (self.pauses, self.paused) = (self.pauses + 1, None);
        self.deletions += 1;
        self.past_ticks += self.ticks.len();
        self.ticks.clear();
        self.names.clear();
        self.held.clear();
        for known in self.events.values_mut() {
            (known.state, known.place) = (State::Unsure, None);
        }
    }

    /// A dead letter may have been redriven, behind the others of its key.
    fn revive(&mut self) {
        for known in self.events.values_mut() {
            if matches!(known.state, State::Dead | State::Unsure) {
                (known.state, known.place) = (State::Unsure, None);
            }
        }
    }

    /// An event was delivered.
    fn deliver(&mut self, event: &crate::events::Event) {
        let key = KEYS.iter().position(|key| key.as_bytes() == &*event.key).expect("a key of ours");
        self.delivered += 1;
        let id = event.id;
        if KEYS[key] == SCHEDULE {
            let first = *self.ticks.entry(event.fire_at_us).or_insert(id);
            assert_eq!(first, id, "a tick fires twice");
        }
        // The event of a publish whose reply was lost is not known yet.
        let place = Some((event.fire_at_us, id));
        let known = self.events.entry(id).or_insert(Known {
            key,
            place,
            state: State::Open,
            is_doubted: false,
            may_expire: false,
        });
        note(format!(
            "{} {id} of {key} for {} is delivered until {}, attempt {}",
            self.now, event.fire_at_us, event.state_at_us, event.attempts
        ));
        assert_ne!(known.state, State::Ended, "{id} fires after its end");
        assert_ne!(known.state, State::Dead, "{id} is dead and fires");
        let place = known.place;
        (known.state, known.may_expire) = (State::Held, false);
        for (other, of) in &self.events {
            if key == 0 || of.key != key || *other == id {
                continue;
            }
            let is_sure = !of.is_doubted && !of.may_expire;
            let is_open = matches!(of.state, State::Open | State::Held) && is_sure;
            let is_before = place.zip(of.place).is_some_and(|(place, of)| of < place);
            assert!(!(is_open && is_before), "{id} of {key} is delivered before {other}");
            let is_leased =
                |(receipt, until): &(Receipt, u64)| receipt.id == *other && *until > self.now;
            let is_held = of.state == State::Held && self.held.iter().any(is_leased);
            assert!(!is_held, "{id} of {key} is delivered while {other} is held");
        }
        self.held.retain(|(receipt, _)| receipt.id != id);
        self.held.push((event.into(), self.now + LEASE.as_micros() as u64));
    }

    fn doubt(&mut self, id: EventId, is_doubted: bool) {
        if let Some(known) = self.events.get_mut(&id) {
            known.is_doubted = is_doubted;
        }
    }

    fn set(&mut self, id: EventId, state: State) {
        note(format!("{} {id} is {state:?}", self.now));
        self.held.retain(|(receipt, _)| receipt.id != id);
        if let Some(known) = self.events.get_mut(&id) {
            // The consumer does not know of a purge of its event.
            let is_known = state != State::Open || known.state == State::Held;
            known.state = if is_known { state } else { known.state.clone() };
            if known.state == State::Dead && self.redriving > 0 {
                (known.state, known.place) = (State::Unsure, None);
            }
        }
    }
}

struct Draw(Chance);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0.draw() % end
    }

    fn is_one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    /// Its caller may die.
    is_mortal: bool,
    is_receive: bool,
}

struct World {
    clients: Vec<EventQueue<Simulated>>,
    ledger: Rc<RefCell<Ledger>>,
    tasks: Vec<Task>,
    draw: Draw,
    time: Rc<Cell<u64>>,
    names: u64,
    clock: Arc<PartitionClock>,
    /// Whether nothing is lost and all clocks are the same.
    is_sure: bool,
    /// Whether the queue is sometimes deleted.
    is_deleted: bool,
}

/// One in `lost` steps or replies is lost; clocks differ by up to `skew` microseconds.
#[derive(Clone, Copy)]
struct Faults {
    lost: u64,
    skew: u64,
}

impl World {
    fn new(seed: u32, faults: Faults) -> Self {
        let clock = Arc::new(PartitionClock::default());
        let time = Rc::new(Cell::new(BEGAN));
        let (mut dice, of, skews) =
            (Draw(Chance::new(seed ^ 0x5eed)), time.clone(), RefCell::new(BTreeMap::new()));
        let now = clock.clone();
        decide(move |name, state| {
            let mut skews = skews.borrow_mut();
            let skew = skews.entry(state.to_vec()).or_insert(0);
            if faults.skew > 0 && dice.is_one_in(40) {
                // An embedded engine has one clock, which determines how long it remembers a deleted queue.
                let least = if state == b"{orders}:events" { *skew } else { 0 };
                *skew = dice.below(faults.skew).max(least);
            }
            now.0.store(of.get() + *skew, Ordering::Relaxed);
            let fate = match faults.lost > 0 && dice.is_one_in(faults.lost) {
                true if dice.is_one_in(2) => Fate::IsLost,
                true => Fate::LosesItsReply,
                false => Fate::Runs,
            };
            let state = String::from_utf8_lossy(state);
            note(format!("{} {name} on {state}, {skew} ahead: {fate:?}", of.get()));
            fate
        });
        clock.0.store(BEGAN, Ordering::Relaxed);
        // Tests that run at the same time have separate engines.
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let connect = |_| {
            let url = format!("memory:reshard-{number}");
            let client = Options::parse(&url).expect("a URL").clock(clock.clone()).connect();
            client.expect("an engine").to_simulated().events("orders")
        };
        let clients = (0..4).map(connect).collect();
        let ledger = Rc::new(RefCell::new(Ledger { now: BEGAN, ..Ledger::default() }));
        let (draw, is_sure) = (Draw(Chance::new(seed)), faults.lost == 0 && faults.skew == 0);
        let mut world = Self {
            clients,
            ledger,
            tasks: Vec::new(),
            draw,
            time,
            names: 0,
            clock,
            is_sure,
            is_deleted: seed % 4 == 3,
        };
        let queue = world.clients[0].clone();
        while !world.finish(make(&queue)) {}
        world
    }

    fn client(&mut self) -> EventQueue<Simulated> {
        let number = self.draw.below(self.clients.len() as u64) as usize;
        self.clients[number].clone()
    }

    fn spawn(&mut self, future: impl Future<Output = ()> + 'static) {
        self.tasks.push(Task { future: Box::pin(future), is_mortal: false, is_receive: false });
    }

    /// Begins a random call.
    fn begin(&mut self) {
        let (queue, ledger) = (self.client(), self.ledger.clone());
        match self.draw.below(29) {
            20 => self.configure(queue),
            21 => self.pause(queue, ledger),
            22 | 23 => self.resume(queue, ledger),
            24 => {
                let state = EventState::ALL[self.draw.below(7) as usize];
                let query = EventQuery::new();
                let query = if state == EventState::Behind { query.key("a") } else { query };
                let call = queue.list(state, query);
                self.spawn(async move { drop(call.await.map(|page| page.events)) });
            }
            25 => self.purge(queue, ledger),
            26 => self.redrive_all(queue, ledger),
            27 => self.ack_with(queue, ledger),
            28 if self.is_deleted && self.draw.is_one_in(6) => self.delete(queue, ledger),
            0..6 | 28 => self.publish(queue, ledger),
            6..11 => {
                let max = 1 + self.draw.below(3) as usize;
                let call = queue.receive(max);
                let began = |ledger: &Ledger| (ledger.paused, ledger.deletions);
                let (paused, deletions) = began(&ledger.borrow());
                let receive = async move {
                    // Events that are received but not seen are held until their leases are over.
                    let events = call.await.unwrap_or_default();
                    let mut ledger = ledger.borrow_mut();
                    // A configuration of a queue that is deleted and created again during the call applies to the new
                    // one.
                    let is_first = deletions == 0;
                    let is_paused = is_first && paused.is_some() && paused == ledger.paused;
                    let count = events.len();
                    assert!(count == 0 || !is_paused, "{count} events while paused");
                    // After a deletion during the call nothing is known about the queue.
                    if deletions == ledger.deletions && ledger.deleting == 0 {
                        events.iter().for_each(|event| ledger.deliver(event));
                    }
                };
                let future = Box::pin(receive);
                self.tasks.push(Task { future, is_mortal: false, is_receive: true });
            }
            11..16 => self.end(queue, ledger),
            16 => self.cancel(queue, ledger),
            17 => self.redrive(queue, ledger),
            18 => {
                let partitions = 1 + self.draw.below(PARTITIONS_MAX) as usize;
                let future = Box::pin(async move { while !drive(&queue, partitions).await {} });
                self.tasks.push(Task { future, is_mortal: true, is_receive: false });
            }
            _ => {
                let call = queue.stats();
                self.spawn(async move { drop(call.await) });
            }
        }
    }

    fn publish(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        let key = self.draw.below(PUBLISHED) as usize;
        let mut event = NewEvent::new("x".repeat(self.draw.below(300) as usize)).key(KEYS[key]);
        if self.draw.is_one_in(3) {
            event = event.delay(Duration::from_millis(self.draw.below(4_000)));
        }
        let has_ttl = self.draw.is_one_in(4);
        if has_ttl {
            event = event.ttl(Duration::from_millis(1 + self.draw.below(8_000)));
        }
        let name = self.draw.is_one_in(3).then(|| {
            self.names += self.draw.below(2);
            (key, self.names)
        });
        if let Some((_, name)) = name {
            event = event.dedup_id(name.to_string()).dedup_window(Duration::from_secs(600_000));
        }
        let deletions = ledger.borrow().deletions;
        self.spawn(async move {
            let Ok(published) = queue.publish(event).await else { return };
            let mut ledger = ledger.borrow_mut();
            if deletions != ledger.deletions || ledger.deleting > 0 {
                return;
            }
            if let Some(name) = name {
                let id = published.id;
                let first = ledger.names.insert(name, id).unwrap_or(id);
                let may_be_free = [first, id].iter().any(|id| ledger.cancelled.contains(id));
                assert!(first == id || may_be_free, "{name:?} is taken twice");
            }
            note(format!(
                "{} {} of {key} for {} is {:?}, as {name:?}",
                ledger.now, published.id, published.fire_at_us, published.status
            ));
            let place = Some((published.fire_at_us, published.id)).filter(|(at, _)| *at > 0);
            // For a duplicate the first event counts, which may be unknown.
            let may_expire = has_ttl || place.is_none();
            let known = Known { key, place, state: State::Open, is_doubted: false, may_expire };
            ledger.events.entry(published.id).or_insert(known);
        });
    }

    fn end(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        let count = ledger.borrow().held.len() as u64;
        if count == 0 {
            return;
        }
        let (receipt, until) = ledger.borrow().held[self.draw.below(count) as usize];
        match self.draw.below(10) {
            // The consumer died while it held the event.
            0 => ledger.borrow_mut().set(receipt.id, State::Open),
            1 => {
                let call = queue.renew([receipt], LEASE);
                self.spawn(async move { drop(call.await) });
            }
            2 | 3 => {
                let after = Duration::from_millis(self.draw.below(3_000));
                let call = queue.nack(receipt, "failed", after);
                ledger.borrow_mut().set(receipt.id, State::Open);
                self.spawn(async move { drop(call.await) });
            }
            4 => {
                ledger.borrow_mut().set(receipt.id, State::Unsure);
                let (is_sure, deletions) = (self.is_sure, ledger.borrow().deletions);
                self.spawn(async move {
                    let ended = queue.dead_letter(receipt, "no such customer").await;
                    if deletions != ledger.borrow().deletions {
                        return;
                    }
                    // After the end of the lease the result tells nothing.
                    let is_held = is_sure && until > ledger.borrow().now;
                    let is_dead = ended.is_ok() && is_held;
                    settle(&ledger, receipt, if is_dead { State::Dead } else { State::Unsure });
                });
            }
            _ => {
                ledger.borrow_mut().set(receipt.id, State::Unsure);
                let is_sure = self.is_sure;
                self.spawn(async move {
                    match queue.ack_many([receipt]).await.map(|settled| settled[0]) {
                        Ok(Settled::Lost) => {
                            let is_held = is_sure && until > ledger.borrow().now;
                            assert!(!is_held, "the end of {receipt:?} is lost");
                        }
                        Ok(_) => settle(&ledger, receipt, State::Ended),
                        Err(_) => {}
                    }
                });
            }
        }
    }

    fn cancel(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        let Some(id) = self.any(|known| known.state == State::Open) else { return };
        ledger.borrow_mut().set(id, State::Unsure);
        ledger.borrow_mut().doubt(id, true);
        ledger.borrow_mut().cancelled.insert(id);
        self.spawn(async move {
            match queue.cancel([id], false, false).await.map(|cancelled| cancelled[0]) {
                Ok(Cancelled::Removed | Cancelled::Gone) => {
                    ledger.borrow_mut().set(id, State::Ended)
                }
                // Its consumer may have tried to end it since.
                Ok(Cancelled::Running) => ledger.borrow_mut().doubt(id, false),
                Err(_) => {}
            }
        });
    }

    /// Sets another limit, which is never reached; the caller may die in the middle.
    fn configure(&mut self, queue: EventQueue<Simulated>) {
        let config = Config { events_max: 1_000_000 + self.draw.below(9), ..config() };
        let future = Box::pin(async move { drop(queue.configure(config).await) });
        self.tasks.push(Task { future, is_mortal: true, is_receive: false });
    }

    fn pause(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        ledger.borrow_mut().pauses += 1;
        let number = ledger.borrow().pauses;
        let is_alone = ledger.borrow().resuming == 0;
        let future = Box::pin(async move {
            let is_paused = queue.pause().await.is_ok();
            let mut ledger = ledger.borrow_mut();
            if is_paused && is_alone && ledger.pauses == number {
                ledger.paused = Some(number);
                note(format!("{} the queue is paused", ledger.now));
            }
        });
        self.tasks.push(Task { future, is_mortal: true, is_receive: false });
    }

    fn resume(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        {
            let mut ledger = ledger.borrow_mut();
            (ledger.pauses, ledger.paused) = (ledger.pauses + 1, None);
            ledger.resuming += 1;
        }
        self.spawn(async move {
            drop(queue.resume().await);
            ledger.borrow_mut().resuming -= 1;
        });
    }

    fn purge(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        let is_dead = self.draw.is_one_in(2);
        let doubt = move |ledger: &RefCell<Ledger>| {
            let mut ledger = ledger.borrow_mut();
            ledger.purges += 1;
            for known in ledger.events.values_mut() {
                let is_behind = known.key == PURGED && known.state != State::Ended;
                if if is_dead { known.state == State::Dead } else { is_behind } {
                    known.state = State::Unsure;
                }
            }
        };
        doubt(&ledger);
        self.spawn(async move {
            let filter = PurgeFilter::new();
            let _ = match is_dead {
                true => queue.purge(EventState::Dead, filter).await,
                false => queue.purge(EventState::Behind, filter.key(KEYS[PURGED])).await,
            };
            doubt(&ledger);
        });
    }

    fn redrive_all(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        ledger.borrow_mut().revive();
        ledger.borrow_mut().redriving += 1;
        self.spawn(async move {
            let _ = queue.redrive_all(RedriveFilter::new()).await;
            let mut ledger = ledger.borrow_mut();
            ledger.revive();
            ledger.redriving -= 1;
        });
    }

    /// Ends an event together with follow-up events.
    fn ack_with(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        let count = ledger.borrow().held.len() as u64;
        if count == 0 {
            return;
        }
        let (receipt, _) = ledger.borrow().held[self.draw.below(count) as usize];
        let keys = [0, 1].map(|_| self.draw.below(PUBLISHED) as usize);
        let follow = keys.map(|key| NewEvent::new("follows").key(KEYS[key]));
        ledger.borrow_mut().set(receipt.id, State::Unsure);
        let (deletions, purges) = (ledger.borrow().deletions, ledger.borrow().purges);
        self.spawn(async move {
            let Ok(published) = queue.ack_with(receipt, follow).await else { return };
            if deletions != ledger.borrow().deletions || ledger.borrow().deleting > 0 {
                return;
            }
            settle(&ledger, receipt, State::Ended);
            for (key, published) in keys.into_iter().zip(published) {
                let place = Some((published.fire_at_us, published.id));
                let place = place.filter(|(at, _)| *at > 0);
                // The call takes several steps.
                let is_purged = key == PURGED && purges != ledger.borrow().purges;
                let state = if is_purged { State::Unsure } else { State::Open };
                let (is_doubted, may_expire) = (false, place.is_none());
                let known = Known { key, place, state, is_doubted, may_expire };
                ledger.borrow_mut().events.entry(published.id).or_insert(known);
            }
        });
    }

    /// Deletes the queue and creates it again.
    fn delete(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        // Events that have been received may be seen only later.
        while self.tasks.iter().any(|task| task.is_receive) {
            self.go_on();
        }
        ledger.borrow_mut().delete();
        ledger.borrow_mut().deleting += 1;
        let before: Vec<_> = ledger.borrow().events.keys().copied().collect();
        self.spawn(async move {
            while queue.delete().await.is_err() {}
            ledger.borrow_mut().deleting -= 1;
            ledger.borrow_mut().delete();
            for id in before {
                ledger.borrow_mut().set(id, State::Ended);
            }
            while !make(&queue).await {}
        });
    }

    fn redrive(&mut self, queue: EventQueue<Simulated>, ledger: Rc<RefCell<Ledger>>) {
        self.spawn(async move {
            let query = EventQuery::new().limit(1);
            let dead = queue.list(EventState::Dead, query).await.unwrap_or_default();
            let Some(id) = dead.events.first().map(|event| event.id) else { return };
            if let Some(known) = ledger.borrow_mut().events.get_mut(&id) {
                (known.state, known.place) = (State::Unsure, None);
            }
            let _ = queue.redrive([id]).await;
            // It may have died again since.
            if let Some(known) = ledger.borrow_mut().events.get_mut(&id)
                && known.state == State::Dead
            {
                known.state = State::Unsure;
            }
        });
    }

    /// A random event that matches.
    fn any(&mut self, is_so: impl Fn(&Known) -> bool) -> Option<EventId> {
        let ledger = self.ledger.borrow();
        let ids: Vec<_> = ledger.events.iter().filter(|(_, known)| is_so(known)).collect();
        let number = self.draw.below(ids.len().max(1) as u64) as usize;
        ids.get(number).map(|(id, _)| **id)
    }

    /// Lets a random call do its next step, or its caller die.
    fn go_on(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        let number = self.draw.below(self.tasks.len() as u64) as usize;
        if self.tasks[number].is_mortal && self.draw.is_one_in(25) {
            drop(self.tasks.swap_remove(number));
            return;
        }
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(()) = self.tasks[number].future.as_mut().poll(&mut context) {
            drop(self.tasks.swap_remove(number));
        }
    }

    fn pass(&mut self, micros: u64) {
        self.time.set(self.time.get() + micros);
        self.ledger.borrow_mut().now = self.time.get();
    }

    fn run(&mut self, turns: u64) {
        for _ in 0..turns {
            match self.draw.below(12) {
                0..3 if self.tasks.len() < 12 => self.begin(),
                3 => {
                    let micros = self.draw.below(400_000);
                    self.pass(micros);
                }
                _ => self.go_on(),
            }
            if self.draw.is_one_in(400) {
                // Events that the ledger has not seen yet must not be received again.
                while self.tasks.iter().any(|task| task.is_receive) {
                    self.go_on();
                }
                self.pass(2 * LEASE.as_micros() as u64);
            }
        }
    }

    /// Runs a call to its end.
    fn finish<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = Box::pin(call);
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..1_000_000 {
            if let Poll::Ready(output) = call.as_mut().poll(&mut context) {
                return output;
            }
        }
        panic!("a call does not end");
    }

    /// Without further faults, every event that was published and not ended is delivered, once its key's turn comes.
    /// Returns how many deliveries there were, and how many ticks.
    fn drain(&mut self) -> (u64, usize) {
        while !self.tasks.is_empty() {
            self.go_on();
        }
        let (now, time) = (self.clock.clone(), self.time.clone());
        decide(move |_, _| {
            now.0.store(time.get(), Ordering::Relaxed);
            Fate::Runs
        });
        let queue = self.clients[0].clone();
        self.finish(async { queue.resume().await }).expect("it is resumed");
        assert!(!self.is_deleted || self.finish(make(&queue)), "it is made again");
        let partitions = 1 + self.draw.below(PARTITIONS_MAX) as usize;
        self.finish(async { queue.reshard(partitions).await }).expect("it is resharded");
        let is_there = self.finish(async { queue.remove_schedule(SCHEDULE).await });
        assert!(is_there.is_ok_and(|is_there| is_there), "the schedule is lost");
        self.finish(async { queue.redrive_all(RedriveFilter::new()).await }).expect("redriven");
        for known in self.ledger.borrow_mut().events.values_mut() {
            if known.state == State::Dead {
                (known.state, known.place) = (State::Open, None);
            }
        }
        let mut idle = 0;
        while idle < 4 {
            let queue = self.client();
            let events = self.finish(async { queue.receive(100).await }).expect("a receive");
            idle = if events.is_empty() { idle + 1 } else { 0 };
            for event in &events {
                self.ledger.borrow_mut().deliver(event);
            }
            let receipts: Vec<Receipt> = events.iter().map(Into::into).collect();
            for end in self.finish(async { queue.ack_many(&receipts).await }).expect("an end") {
                assert_eq!(end, Settled::Ended);
            }
            receipts.iter().for_each(|of| self.ledger.borrow_mut().set(of.id, State::Ended));
            if events.is_empty() {
                self.pass(100 * LEASE.as_micros() as u64);
            }
        }
        let queue = self.clients[1].clone();
        let stats = self.finish(async { queue.stats().await }).expect("statistics");
        assert_eq!(stats.events, 0, "{stats:?}");
        let config = self.finish(async { queue.config().await }).expect("a configuration");
        let count = config.map(|config: Config| usize::from(config.partitions));
        assert_eq!(count, Some(partitions));
        let open = |(_, known): &(&EventId, &Known)| {
            let is_sure = !known.is_doubted && !known.may_expire;
            matches!(known.state, State::Open | State::Held | State::Dead) && is_sure
        };
        let ledger = self.ledger.borrow();
        let left: Vec<_> = ledger.events.iter().filter(open).collect();
        assert!(left.is_empty(), "lost: {left:?}");
        let ticks = ledger.ticks.len() + ledger.past_ticks;
        (ledger.delivered, ticks)
    }
}

/// Events become dead letters only when a handler rejects them.
fn config() -> Config {
    let mut config = Config::default();
    (config.max_attempts, config.max_crashes, config.lease) = (0, 0, LEASE);
    config.backoff_max = config.backoff_min;
    config
}

/// Creates the queue if it does not exist; returns whether it exists.
async fn make(queue: &EventQueue<Simulated>) -> bool {
    let schedule = Schedule::new(SCHEDULE).every(Duration::from_secs(2)).payload("tick");
    queue.configure(config()).await.is_ok() && queue.put_schedule(schedule).await.is_ok()
}

/// Does a part of a reshard; returns whether there is nothing more to do for now.
async fn drive(queue: &EventQueue<Simulated>, partitions: usize) -> bool {
    queue.reshard_step(partitions).await.map_or(true, |moved| moved == 0)
}

/// A requested end takes effect, unless the event has been delivered again since.
fn settle(ledger: &Rc<RefCell<Ledger>>, receipt: Receipt, state: State) {
    let mut ledger = ledger.borrow_mut();
    let is_newest =
        !ledger.held.iter().any(|(of, _)| of.id == receipt.id && of.token != receipt.token);
    if is_newest {
        ledger.set(receipt.id, state);
    }
}

fn simulate(seeds: std::ops::Range<u32>, faults: Faults) -> u64 {
    let histories = seeds.map(|seed| {
        let result = std::panic::catch_unwind(|| {
            TRACE.with_borrow_mut(Vec::clear);
            let mut world = World::new(seed, faults);
            world.run(3_000);
            world.drain()
        });
        result.unwrap_or_else(|_| {
            TRACE.with_borrow(|trace| trace.iter().for_each(|line| eprintln!("{line}")));
            panic!("seed {seed}")
        })
    });
    // In some histories a pause, or a deletion, leaves few ticks.
    let (delivered, ticks): (Vec<u64>, Vec<usize>) = histories.unzip();
    assert!(ticks.iter().filter(|ticks| **ticks > 1).count() > ticks.len() / 2, "{ticks:?}");
    delivered.iter().sum()
}

#[test]
fn nothing_is_lost_or_doubled_while_a_queue_is_resharded() {
    let delivered = simulate(0..100, Faults { lost: 0, skew: 0 });
    assert!(delivered > 10_000, "{delivered}");
}

#[test]
fn neither_with_faults_and_clocks_that_differ() {
    let delivered = simulate(0..100, Faults { lost: 30, skew: 20_000_000 });
    assert!(delivered > 10_000, "{delivered}");
}

#[test]
fn a_listing_and_dead_letters_move_too() {
    let mut world = World::new(7, Faults { lost: 0, skew: 0 });
    let queue = world.clients[0].clone();
    let all = (0..20).map(|number| NewEvent::new("x").key([b'k', number]));
    world.finish(async { queue.publish_many(all).await }).expect("published");
    for event in world.finish(async { queue.receive(10).await }).expect("received") {
        world.finish(async { queue.dead_letter(&event, "why").await }).expect("dead");
    }
    world.finish(async { queue.reshard(4).await }).expect("resharded");
    let list = |state| {
        let queue = queue.clone();
        async move { queue.list(state, EventQuery::new()).await.expect("a page").events }
    };
    let dead = world.finish(list(EventState::Dead));
    assert!(dead.len() == 10 && dead.iter().all(|event| &*event.err == "why"));
    let waiting =
        [EventState::Ready, EventState::Scheduled].map(|state| world.finish(list(state)).len());
    assert!(waiting.iter().sum::<usize>() == 10 && waiting[1] > 0, "{waiting:?}");
    let error = world.finish(async { queue.reshard(0).await }).expect_err("there is no such queue");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// Does up to this many steps of a call, after which its caller dies; `None` if the call has not ended.
fn steps<T>(call: impl Future<Output = T>, count: usize) -> Option<T> {
    let mut call = std::pin::pin!(call);
    let mut context = Context::from_waker(Waker::noop());
    // A call that has done its steps waits before the next one.
    for _ in 0..=count {
        if let Poll::Ready(output) = call.as_mut().poll(&mut context) {
            return Some(output);
        }
    }
    None
}

/// Runs a call to its end.
fn whole<T>(call: impl Future<Output = T>) -> T {
    steps(call, 1_000_000).expect("a call does not end")
}

fn connected(url: &str) -> EventQueue<Simulated> {
    decide(|_, _| Fate::Runs);
    crate::connect(url).expect("an engine").to_simulated().events("orders")
}

fn payloads(queue: &EventQueue<Simulated>) -> usize {
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let events = whole(queue.receive(1_000)).expect("a receive");
        if events.is_empty() {
            return seen.len();
        }
        seen.extend(events.into_iter().map(|event| event.payload.to_vec()));
    }
}

/// An action of an operator during a reshard.
type Beside = fn(&EventQueue<Simulated>) -> crate::Result<()>;

const BESIDE: [Beside; 3] = [
    |queue| whole(queue.configure(Config { events_max: 1_000_000, ..config() })),
    |queue| {
        whole(queue.pause())?;
        assert_eq!(whole(queue.receive(10))?.len(), 0, "nothing is received while it is paused");
        whole(queue.resume())
    },
    |queue| whole(queue.publish(NewEvent::new("one more").key("k"))).map(drop),
];

/// A driver dies after each number of steps in turn, an operator acts, and another driver continues.
fn die_after_any_step(url: impl Fn(usize) -> String) {
    for beside in BESIDE {
        for count in 1.. {
            let queue = connected(&url(count));
            let all =
                (0..200).map(|number| NewEvent::new(number.to_string()).key(number.to_string()));
            whole(queue.publish_many(all)).expect("published");
            let is_over = steps(queue.reshard(2), count).is_some();
            beside(&queue).expect("it is done");
            whole(queue.reshard(2)).expect("it is resharded");
            assert!(payloads(&queue) >= 200, "the driver died after {count} steps");
            whole(queue.delete()).expect("it is deleted");
            if is_over {
                assert!(count > 8, "{count}");
                break;
            }
        }
    }
}

#[test]
fn a_configuration_after_a_driver_died_loses_nothing() {
    die_after_any_step(|_| "memory:".to_owned());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    die_after_any_step(|count| format!("file:{path}/{count}?sync=never"));
}

#[test]
fn what_a_partition_does_not_take_stays_where_it_is() {
    let queue = connected("memory:");
    let all = (0..200).map(|number| NewEvent::new(number.to_string()).key(number.to_string()));
    whole(queue.publish_many(all)).expect("published");
    // The map says that a part is in transit, but the partition that is to get it exists and does not expect it.
    let calls = Calls::new(&queue).expect("a right name");
    let map = whole(calls.map()).expect("it is there");
    let next = plan::next(&map, 2).expect("another number");
    let root = calls.numbered(0).expect("a right name");
    let remap = Remap::new(root, map.text(), next.text());
    assert!(whole(calls.step(Ok(remap))).expect("nobody else changes it"));
    let wrong = Map { moving: None, ..next };
    whole(calls.step(Open::part(&calls.name, &wrong, 1))).expect("it is made");
    let error = whole(queue.reshard(2)).expect_err("nothing is taken");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(whole(queue.stats()).expect("it is there").events, 200);
}

#[test]
fn a_partition_of_a_deleted_queue_is_not_made_again() {
    let queue = connected("memory:");
    let config = Config { partitions: 2, ..config() };
    whole(queue.configure(config)).expect("it is new");
    let calls = Calls::new(&queue).expect("a right name");
    let map = whole(calls.map()).expect("it is there");
    whole(queue.delete()).expect("it is deleted");
    // As by a call that read the map before the deletion; also when there is a new queue of this name.
    for _ in 0..2 {
        let part = Open::part(&calls.name, &map, 1);
        let error = whole(calls.step(part)).expect_err("it is not made");
        assert!(is_stale(&error), "{error}");
        whole(queue.publish(NewEvent::new("new"))).expect("it is a new one");
    }
}

#[test]
fn a_map_that_is_damaged_ends_every_call() {
    for damaged in ["", "7", "7:0000-7fff", "7:0000-ffff 0>3:8000-ffff"] {
        let queue = connected("memory:");
        whole(queue.publish_many([NewEvent::new("a"), NewEvent::new("b").key("k")]))
            .expect("there");
        let calls = Calls::new(&queue).expect("a right name");
        let map = whole(calls.map()).expect("it is there");
        let root = calls.numbered(0).expect("a right name");
        whole(calls.step(Ok(Remap::new(root, map.text(), damaged.into())))).expect("it is damaged");
        // As in another process.
        calls.route.set_map(None);
        let id = EventId::MIN;
        let ends = [
            whole(queue.publish(NewEvent::new("c"))).map(drop),
            whole(queue.receive(1)).map(drop),
            whole(queue.cancel([id], false, false)).map(drop),
            whole(queue.config()).map(drop),
            whole(queue.configure(config())),
            whole(queue.pause()),
            whole(queue.list(EventState::Ready, EventQuery::new())).map(drop),
            whole(queue.purge(EventState::Ready, PurgeFilter::new())).map(drop),
            whole(queue.redrive_all(RedriveFilter::new())).map(drop),
            whole(queue.put_schedule(Schedule::new("s").every(LEASE))).map(drop),
            whole(queue.reshard(2)),
            whole(queue.stats()).map(drop),
        ];
        for (number, end) in ends.into_iter().enumerate() {
            let error = end.expect_err("its map is damaged");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{number} of {damaged:?}: {error}");
        }
        whole(queue.delete()).expect("it is deleted");
        whole(queue.publish(NewEvent::new("new"))).expect("it is a new one");
        assert_eq!(whole(queue.receive(9)).expect("it is there").len(), 1);
    }
}

/// A queue with these limits, and the clock of its engine.
fn limited(change: impl FnOnce(&mut Config)) -> (EventQueue<Simulated>, Arc<ManualClock>) {
    decide(|_, _| Fate::Runs);
    let clock = Arc::new(ManualClock::at(BEGAN));
    let client = Options::parse("memory:").expect("a URL").clock(clock.clone()).connect();
    let queue = client.expect("an engine").to_simulated().events("orders");
    let mut config = config();
    change(&mut config);
    whole(queue.configure(config)).expect("it is new");
    let all = (0..2_000).map(|number| NewEvent::new("x").key(number.to_string()));
    whole(queue.publish_many(all)).expect("published");
    (queue, clock)
}

#[test]
fn a_rate_holds_while_the_number_of_partitions_changes() {
    const SECOND: u64 = 1_000_000;
    let (rate, burst) = (40, 32);
    let (queue, clock) = limited(|config| (config.rate, config.burst) = (rate, burst));
    let mut taken = Vec::new();
    let mut driver = None;
    let mut wanted = [4, 2, 8, 1].into_iter();
    for turn in 0..600 {
        let events = whole(queue.receive(1_000)).expect("a receive");
        whole(queue.ack_many(&events)).expect("an end");
        taken.push((turn * SECOND / 50, events.len() as u64));
        // A reshard begins every two seconds, if the one before has ended.
        let next = |wanted: &mut std::array::IntoIter<usize, 4>| {
            let (queue, partitions) = (queue.clone(), wanted.next()?);
            Some(Box::pin(async move { queue.reshard(partitions).await }))
        };
        if driver.is_none() && turn % 100 == 0 {
            driver = next(&mut wanted);
        }
        let mut context = Context::from_waker(Waker::noop());
        if let Some(call) = &mut driver
            && let Poll::Ready(result) = call.as_mut().poll(&mut context)
        {
            result.expect("it is resharded");
            driver = None;
        }
        clock.advance(Duration::from_micros(SECOND / 50));
    }
    assert!(driver.is_none() && wanted.next().is_none());
    for (from, _) in &taken {
        let within = taken.iter().filter(|(at, _)| (*from..*from + SECOND).contains(at));
        let count: u64 = within.map(|(_, count)| count).sum();
        assert!(count <= rate + burst, "{count} events in the second from {from}");
    }
    let all: u64 = taken.iter().map(|(_, count)| count).sum();
    assert!(all > 6 * rate, "{all}");
}

#[test]
fn no_more_is_leased_while_the_number_of_partitions_changes() {
    let (queue, clock) = limited(|config| config.concurrency = 8);
    let (mut held, mut draw) = (Vec::new(), Draw(Chance::new(1)));
    let mut before = 1;
    for partitions in [4, 2, 8, 1, 3] {
        held.drain(..).for_each(|receipt: Receipt| {
            whole(queue.ack_many([receipt])).expect("an end");
        });
        let mut call = Box::pin(queue.reshard(partitions));
        let mut context = Context::from_waker(Waker::noop());
        // Leases beyond a smaller share stay: so lease nothing before each partition has its new share.
        let mut steps = 0..before + 1;
        loop {
            if let Poll::Ready(result) = call.as_mut().poll(&mut context) {
                result.expect("it is resharded");
                break;
            }
            if steps.next().is_some() {
                continue;
            }
            let events = whole(queue.receive(2)).expect("a receive");
            held.extend(events.iter().map(Receipt::from));
            let leased = whole(queue.stats()).expect("it is there").leased;
            assert!(leased <= 8, "{leased} are leased");
            while !held.is_empty() && draw.is_one_in(2) {
                let receipt = held.swap_remove(draw.below(held.len() as u64) as usize);
                whole(queue.ack_many([receipt])).expect("an end");
            }
            clock.advance(Duration::from_millis(1));
        }
        before = partitions;
    }
    assert!(whole(queue.stats()).expect("it is there").events < 1_950);
}
