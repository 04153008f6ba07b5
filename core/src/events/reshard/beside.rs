//! Calls on all partitions during a reshard: each history does a number of steps of the reshard before the call, and a
//! number between any two steps of the call. `tests/tests/all/events_walks.rs` has the same on Redis.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::super::{
    Config, End, EventId, EventQuery, EventQueue, EventState, NewEvent, PurgeFilter, Receipt,
    RedriveFilter, Settlement,
};
use crate::Options;
use crate::client::simulated::Simulated;
use crate::error::ErrorKind;
use crate::runtime::clock::ManualClock;

const BEGAN: u64 = 1_790_000_000_000_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// The number of partitions before and after.
const CHANGES: [(u16, usize); 3] = [(1, 3), (3, 1), (2, 5)];

/// How many steps of a reshard come between two steps of a call; 0 means that its caller has died.
const PACES: [usize; 3] = [0, 1, 3];

fn poll<T>(future: &mut Pin<Box<impl Future<Output = T> + ?Sized>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn finish<T>(call: impl Future<Output = T>) -> T {
    let mut call = Box::pin(call);
    let mut result = None;
    while result.is_none() {
        result = poll(&mut call);
    }
    result.expect("it has ended")
}

type Driver = Pin<Box<dyn Future<Output = ()>>>;

/// A queue, and a reshard of it that runs beside the calls.
struct World {
    queue: EventQueue<Simulated>,
    clock: Arc<ManualClock>,
    driver: Option<Driver>,
    pace: usize,
    /// A delivery, and the later one that replaced it.
    held: std::cell::Cell<Option<(Receipt, Receipt)>>,
}

impl World {
    fn new(partitions: u16, config: Config) -> Self {
        let clock = Arc::new(ManualClock::at(BEGAN));
        let client = Options::parse("memory:").expect("a URL").clock(clock.clone()).connect();
        let queue = client.expect("an engine").to_simulated().events("orders");
        let world = Self { queue, clock, driver: None, pace: 0, held: std::cell::Cell::default() };
        finish(world.queue.configure(Config { partitions, ..config })).expect("it is made");
        world
    }

    /// Begins a reshard, which does `before` steps now and `pace` steps between any two steps of the calls. Returns
    /// whether it is still running.
    fn reshard(&mut self, partitions: usize, before: usize, pace: usize) -> bool {
        let queue = self.queue.clone();
        let call = async move { queue.reshard(partitions).await.expect("it is resharded") };
        self.driver = Some(Box::pin(call));
        self.pace = pace;
        self.go_on(before);
        self.driver.is_some()
    }

    fn go_on(&mut self, steps: usize) {
        for _ in 0..steps {
            let Some(driver) = &mut self.driver else { return };
            if poll(driver).is_some() {
                self.driver = None;
            }
        }
    }

    /// Runs a call, with steps of the reshard between its own.
    fn run<T>(&mut self, call: impl Future<Output = crate::Result<T>>) -> T {
        let mut call = Box::pin(call);
        for _ in 0..100_000 {
            if let Some(result) = poll(&mut call) {
                return result.expect("a call beside a reshard does not fail");
            }
            self.go_on(self.pace);
        }
        panic!("a call does not end");
    }

    /// Completes the reshard, even if its caller has died.
    fn settle(&mut self, partitions: usize) {
        self.driver = None;
        finish(self.queue.reshard(partitions)).expect("it is resharded");
    }

    /// Publishes events of one key each, and brings them into this state.
    fn fill(&self, state: EventState, count: u32) -> Vec<EventId> {
        let queue = &self.queue;
        let delay = if state == EventState::Scheduled { HOUR } else { Duration::ZERO };
        let new = |number: u32| {
            let event = NewEvent::new("x").key(number.to_be_bytes()).dedup_id("id");
            if delay.is_zero() { event } else { event.delay(delay) }
        };
        let published = finish(queue.publish_many((0..count).map(new))).expect("published");
        let ids = published.iter().map(|published| published.id).collect();
        if matches!(state, EventState::Scheduled | EventState::Ready) {
            return ids;
        }
        loop {
            let events = finish(queue.receive(1_000)).expect("received");
            if events.is_empty() {
                return ids;
            }
            let end = match state {
                EventState::Retry => End::Failed("why".to_owned(), Some(HOUR)),
                EventState::Dead => End::Dead("why".to_owned()),
                EventState::Done => End::Done,
                _ => continue,
            };
            let ends = events.iter().map(|of| Settlement { receipt: of.into(), end: end.clone() });
            finish(queue.settle_many(ends)).expect("they are held");
            self.clock.advance(Duration::from_micros(1));
        }
    }

    fn list(&mut self, state: EventState, limit: usize) -> Vec<EventId> {
        let (mut listed, mut query) = (Vec::new(), EventQuery::new().limit(limit));
        loop {
            let page = self.run(self.queue.list(state, query.clone()));
            listed.extend(page.events.iter().map(|event| event.id));
            let Some(next) = page.next else { return listed };
            query = query.after(next);
        }
    }
}

fn config() -> Config {
    let mut config = Config::default();
    (config.retention, config.lease) = (HOUR * 24, HOUR * 24);
    config
}

/// Runs a history for each number of steps that a reshard does before it, from none to all.
fn histories(check: impl Fn(&mut World, usize), fill: impl Fn(&World)) -> u32 {
    let mut count = 0;
    for (from, to) in CHANGES {
        for pace in PACES {
            for before in 0.. {
                let mut world = World::new(from, config());
                fill(&world);
                let is_under_way = world.reshard(to, before, pace);
                let history = format!("{from} to {to}, {before} steps before, then {pace}");
                let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    check(&mut world, to);
                }));
                assert!(checked.is_ok(), "{history}");
                count += 1;
                if !is_under_way {
                    break;
                }
            }
        }
    }
    count
}

fn sorted<T: Ord + Debug>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values
}

const STATES: [EventState; 5] = [
    EventState::Scheduled,
    EventState::Leased,
    EventState::Retry,
    EventState::Dead,
    EventState::Done,
];

#[test]
fn a_list_has_each_event_once() {
    for state in STATES {
        let ids = std::cell::RefCell::default();
        let check = |world: &mut World, _| {
            assert_eq!(sorted(world.list(state, 7)), sorted(ids.take()), "{state:?}");
        };
        let count = histories(check, |world| drop(ids.replace(world.fill(state, 40))));
        assert!(count > 100, "{count}");
    }
}

#[test]
fn what_is_ready_is_listed_as_ready_or_as_scheduled() {
    let ids = std::cell::RefCell::default();
    let check = |world: &mut World, _| {
        let listed = [EventState::Ready, EventState::Scheduled].map(|state| world.list(state, 7));
        let mut listed = sorted(listed.concat());
        listed.dedup();
        assert_eq!(listed, sorted(ids.take()));
    };
    histories(check, |world| drop(ids.replace(world.fill(EventState::Ready, 40))));
}

#[test]
fn statistics_count_each_event_once() {
    for state in STATES {
        let check = |world: &mut World, _| {
            let stats = world.run(world.queue.stats());
            let counts =
                [stats.scheduled, stats.leased, stats.retry, stats.dead, stats.done].to_vec();
            let expected = STATES.map(|other| if other == state { 40 } else { 0 }).to_vec();
            let left = if state == EventState::Done { 0 } else { 40 };
            assert_eq!((counts, stats.events, stats.dedup_ids), (expected, left, 40), "{stats:?}");
            assert_eq!((stats.ready, stats.behind), (0, 0), "{stats:?}");
        };
        histories(check, |world| drop(world.fill(state, 40)));
    }
}

#[test]
fn a_purge_leaves_nothing() {
    for state in [EventState::Scheduled, EventState::Retry, EventState::Dead, EventState::Done] {
        let check = |world: &mut World, to| {
            assert_eq!(world.run(world.queue.purge(state, PurgeFilter::new())), 40, "{state:?}");
            world.settle(to);
            let stats = world.run(world.queue.stats());
            assert_eq!((stats.events, stats.done), (0, 0), "{state:?}");
        };
        histories(check, |world| drop(world.fill(state, 40)));
    }
}

#[test]
fn a_purge_of_what_is_ready_and_then_of_what_is_scheduled_leaves_nothing() {
    let check = |world: &mut World, to| {
        let removed = [EventState::Ready, EventState::Scheduled]
            .map(|state| world.run(world.queue.purge(state, PurgeFilter::new())));
        assert_eq!(removed.iter().sum::<u64>(), 40, "{removed:?}");
        world.settle(to);
        assert_eq!(world.run(world.queue.stats()).events, 0);
    };
    histories(check, |world| drop(world.fill(EventState::Ready, 40)));
}

#[test]
fn dead_letters_are_redriven_once() {
    let check = |world: &mut World, to| {
        assert_eq!(world.run(world.queue.redrive_all(RedriveFilter::new())), 40);
        world.settle(to);
        let stats = world.run(world.queue.stats());
        assert_eq!((stats.dead, stats.ready + stats.scheduled), (0, 40), "{stats:?}");
    };
    histories(check, |world| drop(world.fill(EventState::Dead, 40)));
}

/// The same with more events than a step or a batch takes, some of which die again while the call runs.
#[test]
fn many_dead_letters_are_redriven_once_although_some_die_again() {
    const COUNT: usize = 2_100;
    for (from, to, pace) in [(1, 2, 1), (1, 3, 3), (3, 1, 2)] {
        for before in (0..30).step_by(3) {
            let mut world = World::new(from, config());
            let ids = world.fill(EventState::Dead, COUNT as u32);
            world.reshard(to, before, pace);
            let mut call = Box::pin(world.queue.redrive_all(RedriveFilter::new()));
            let redriven = loop {
                if let Some(redriven) = poll(&mut call) {
                    break redriven.expect("it is redriven");
                }
                world.go_on(pace);
                world.clock.advance(Duration::from_micros(5));
                for event in finish(world.queue.receive(3)).expect("received") {
                    finish(world.queue.dead_letter(&event, "again")).expect("it is held");
                }
            };
            let history = format!("{from} to {to}, {before} steps before, then {pace}");
            assert_eq!(redriven, COUNT as u64, "{history}");
            world.settle(to);
            let events = finish(world.queue.fetch(&ids)).expect("they are there");
            let mut counts = BTreeMap::new();
            for event in events.into_iter().flatten() {
                *counts.entry(event.redriven).or_insert(0) += 1;
            }
            assert_eq!(counts, BTreeMap::from([(1, COUNT)]), "{history}");
        }
    }
}

#[test]
fn many_events_are_listed_counted_and_purged() {
    const COUNT: usize = 2_100;
    for (from, to, pace) in [(1, 2, 1), (1, 3, 2), (3, 1, 1)] {
        for before in (0..40).step_by(4) {
            let history = format!("{from} to {to}, {before} steps before, then {pace}");
            let filled = |world: &mut World| {
                let ids = world.fill(EventState::Scheduled, COUNT as u32);
                world.reshard(to, before, pace);
                sorted(ids)
            };
            let mut world = World::new(from, config());
            let ids = filled(&mut world);
            assert!(sorted(world.list(EventState::Scheduled, 300)) == ids, "{history}");
            let mut world = World::new(from, config());
            filled(&mut world);
            assert_eq!(world.run(world.queue.stats()).scheduled, COUNT as u64, "{history}");
            let mut world = World::new(from, config());
            filled(&mut world);
            let purge = world.queue.purge(EventState::Scheduled, PurgeFilter::new());
            assert_eq!(world.run(purge), COUNT as u64, "{history}");
            world.settle(to);
            assert_eq!(world.run(world.queue.stats()).events, 0, "{history}");
        }
    }
}

#[cfg(feature = "schedules")]
#[test]
fn schedules_are_listed_once_and_synced() {
    use crate::events::Schedule;
    let schedules =
        |count: u32| (0..count).map(|number| Schedule::new(format!("s-{number}")).every(HOUR));
    let sync = |world: &mut World, revision, count| {
        world.run(world.queue.sync_schedules("program", revision, schedules(count)))
    };
    let check = |world: &mut World, to| {
        assert_eq!(world.run(world.queue.list_schedules()).len(), 40);
        assert_eq!(sync(world, 2, 10).removed, 30);
        world.settle(to);
        assert_eq!(world.run(world.queue.list_schedules()).len(), 10);
    };
    histories(check, |world| {
        let put = world.queue.sync_schedules("program", 1, schedules(40));
        assert_eq!(finish(put).expect("they are right").created, 40);
    });
}

/// A delivery that has been replaced publishes follow-up events in other partitions; the one that replaced it does so
/// too while these move.
#[test]
fn follow_up_events_are_added_once() {
    let check = |world: &mut World, to| {
        let (_, second) = world.held.take().expect("it was taken over");
        world.run(world.queue.ack_with(second, following()));
        world.settle(to);
        let stats = world.run(world.queue.stats());
        assert_eq!((stats.events, stats.leased), (12, 0), "{stats:?}");
    };
    histories(check, |world| {
        let event = NewEvent::new("paid").key("customer");
        finish(world.queue.publish(event)).expect("published");
        let take = || Receipt::from(&finish(world.queue.receive(10)).expect("received")[0]);
        let first = take();
        finish(world.queue.nack(first, "late", Duration::ZERO)).expect("it is held");
        let second = take();
        let refused = finish(world.queue.ack_with(first, following()));
        assert_eq!(refused.expect_err("it was taken over").kind(), ErrorKind::LeaseLost);
        world.held.set(Some((first, second)));
    });
}

fn following() -> Vec<NewEvent> {
    (0..12).map(|number| NewEvent::new("ship").key(format!("item-{number}"))).collect()
}
