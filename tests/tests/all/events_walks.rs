//! Calls that go over all partitions of a queue on Redis, with steps of a reshard before them and between any two of
//! their own. `core/src/events/reshard/beside.rs` has more histories of the same on the embedded engine.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use millpond::events::{
    Config, ConfigChange, End, EventId, EventQuery, EventQueue, EventState, NewEvent, PurgeFilter,
    RedriveFilter, Settlement,
};
use millpond::{ErrorKind, Options};
use millpond_tests::servers::Redis;
use millpond_tests::stand_in::{Answer, StandIn};

const HOUR: Duration = Duration::from_secs(3_600);
const STATES: [EventState; 5] = [
    EventState::Scheduled,
    EventState::Leased,
    EventState::Retry,
    EventState::Dead,
    EventState::Done,
];
/// How many events there are of each state.
const COUNT: u64 = 6;

fn is_step(words: &[String]) -> bool {
    words[0].eq_ignore_ascii_case("EVALSHA")
}

/// Lets a client that it stands before do one step after the other.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    permits: usize,
    /// A step waits for a permit.
    waits: bool,
    /// The client has ended its call, or is to.
    is_over: bool,
}

impl Gate {
    fn wait(&self, until: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.state.lock().expect("nobody panics");
        self.changed.wait_while(state, |state| !until(state)).expect("nobody panics")
    }

    /// What becomes of a command of the client.
    fn pass(&self, words: &[String]) -> Answer {
        if is_step(words) {
            self.state.lock().expect("nobody panics").waits = true;
            self.changed.notify_all();
            let mut state = self.wait(|state| state.permits > 0 || state.is_over);
            if state.is_over {
                return Answer::error("NOPERM the caller has died");
            }
            state.permits -= 1;
        }
        Answer::PassOn
    }

    /// Lets the client do a step, and returns when it has, if its call is not over.
    fn go_on(&self) -> bool {
        let mut state = self.wait(|state| state.waits || state.is_over);
        if state.is_over {
            return false;
        }
        (state.permits, state.waits) = (1, false);
        drop(state);
        self.changed.notify_all();
        !self.wait(|state| state.waits || state.is_over).is_over
    }

    fn end(&self) {
        self.state.lock().expect("nobody panics").is_over = true;
        self.changed.notify_all();
    }
}

fn queue(port: u16, name: &str) -> EventQueue {
    millpond::connect(&format!("redis://127.0.0.1:{port}")).expect("it is there").events(name)
}

/// Events of all states, one of each key.
fn fill(queue: &EventQueue) -> [Vec<EventId>; 5] {
    STATES.map(|state| {
        let delay = if state == EventState::Scheduled { HOUR } else { Duration::ZERO };
        let new = |number: u64| {
            let event = NewEvent::new("x").key(format!("{state:?} {number}")).dedup_id("id");
            if delay.is_zero() { event } else { event.delay(delay) }
        };
        let published = queue.publish_many((0..COUNT).map(new)).expect("there is room");
        let events: Vec<_> = (0..2).flat_map(|_| queue.receive(100).expect("received")).collect();
        let end = match state {
            EventState::Retry => Some(End::Failed("why".to_owned(), Some(HOUR))),
            EventState::Dead => Some(End::Dead("why".to_owned())),
            EventState::Done => Some(End::Done),
            _ => None,
        };
        if let Some(end) = end {
            let ends = events.iter().map(|of| Settlement { receipt: of.into(), end: end.clone() });
            queue.settle_many(ends).expect("they are held");
        }
        published.iter().map(|event| event.id).collect()
    })
}

fn list(queue: &EventQueue, state: EventState) -> Vec<EventId> {
    let (mut ids, mut query) = (Vec::new(), EventQuery::new().limit(4));
    loop {
        let page = queue.list(state, query.clone()).expect("a list beside a reshard");
        ids.extend(page.events.iter().map(|event| event.id));
        let Some(next) = page.next else { break };
        query = query.after(next);
    }
    ids.sort_unstable();
    ids
}

fn count(queue: &EventQueue) {
    let stats = queue.stats().expect("statistics beside a reshard");
    let counts = [stats.scheduled, stats.leased, stats.retry, stats.dead, stats.done];
    assert_eq!(counts, [COUNT; 5], "{stats:?}");
    let all = STATES.len() as u64 * COUNT;
    assert_eq!((stats.events, stats.dedup_ids), (all - COUNT, all), "{stats:?}");
    assert_eq!((stats.ready, stats.behind), (0, 0), "{stats:?}");
}

/// What a history does after `before` steps of a reshard, with `pace` steps of it between any two of its own.
fn history(
    server: &Redis,
    number: usize,
    change: (u16, usize),
    before: usize,
    pace: usize,
) -> bool {
    let name = format!("q{number}");
    let direct = queue(server.port(), &name);
    let mut config = Config::default();
    (config.partitions, config.retention, config.lease) = (change.0, HOUR, HOUR);
    direct.configure(config).expect("it is made");
    let mut filled = fill(&direct);
    filled.iter_mut().for_each(|ids| ids.sort_unstable());

    let gate = Arc::new(Gate::default());
    let gated = gate.clone();
    let before_driver = StandIn::start(server.port(), move |words| gated.pass(words));
    let driver = queue(before_driver.port(), &name);
    let (gated, to) = (gate.clone(), change.1);
    let driving = std::thread::spawn(move || {
        let result = driver.reshard(to);
        gated.end();
        result
    });
    let is_under_way = (0..before).all(|_| gate.go_on());
    let stepping = gate.clone();
    let before_calls = StandIn::start(server.port(), move |words| {
        if is_step(words) {
            (0..pace).for_each(|_| _ = stepping.go_on());
        }
        Answer::PassOn
    });
    let calls = queue(before_calls.port(), &name);
    // Another one comes first each time.
    for turn in 0..=STATES.len() {
        match (turn + before) % (STATES.len() + 1) {
            5 => count(&calls),
            state => assert_eq!(list(&calls, STATES[state]), filled[state], "{:?}", STATES[state]),
        }
    }
    match before % 5 {
        0 => assert_eq!(calls.redrive_all(RedriveFilter::new()).expect("redriven"), COUNT),
        state => {
            let state =
                [EventState::Scheduled, EventState::Retry, EventState::Dead, EventState::Done]
                    [state - 1];
            assert_eq!(calls.purge(state, PurgeFilter::new()).expect("purged"), COUNT, "{state:?}");
            assert_eq!(list(&direct, state), []);
        }
    }
    gate.end();
    // Its caller may have died.
    drop(driving.join().expect("it does not panic"));
    direct.reshard(to).expect("it goes on");
    let stats = direct.stats().expect("it is there");
    let left = stats.events + stats.done;
    let expected = STATES.len() as u64 * COUNT - if before.is_multiple_of(5) { 0 } else { COUNT };
    let config = direct.config().expect("the server is there").expect("it is there");
    assert_eq!((left, config.partitions), (expected, to as u16));
    direct.delete().expect("it is there");
    is_under_way
}

#[test]
fn calls_over_all_partitions_beside_a_reshard() {
    let server = Redis::start();
    let mut number = 0;
    for change in [(1, 3), (3, 1)] {
        for pace in [0, 2] {
            for before in 0.. {
                number += 1;
                println!("{change:?}, {before} steps before, then {pace}");
                if !history(&server, number, change, before, pace) {
                    break;
                }
            }
        }
    }
    assert!(number > 60, "{number} histories");
}

/// Of a clock that was ahead, and is no more.
fn dead_letters_of_a_time_to_come(ahead: EventQueue, back: impl FnOnce() -> EventQueue) {
    ahead.publish_many((0..3).map(|number| NewEvent::new("x").key([number]))).expect("published");
    for event in ahead.receive(10).expect("received") {
        ahead.dead_letter(&event, "why").expect("it is held");
    }
    drop(ahead);
    let queue = back();
    let now_us = queue.stats().expect("it is there").now_us;
    let early = RedriveFilter::new().before_us(now_us + 1);
    assert_eq!(queue.redrive_all(early).expect("nothing is early"), 0);
    assert_eq!(queue.redrive_all(RedriveFilter::new().max(1)).expect("there are some"), 1);
    let early = PurgeFilter::new().before_us(now_us + 1);
    assert_eq!(queue.purge(EventState::Dead, early).expect("nothing is early"), 0);
    assert_eq!(queue.purge(EventState::Dead, PurgeFilter::new()).expect("there are some"), 2);
}

#[test]
fn dead_letters_of_a_time_to_come_are_redriven_and_purged() {
    const NOW: u64 = 1_790_000_000_000_000;
    const AHEAD: u64 = NOW + 86_400_000_000;
    let directory = tempfile::tempdir().expect("there is room");
    let open = |now| {
        let url = format!("file:{}", directory.path().display());
        let clock = Arc::new(millpond::ManualClock::at(now));
        let client = Options::parse(&url).expect("a URL").clock(clock).connect();
        client.expect("nobody holds it").events("orders")
    };
    dead_letters_of_a_time_to_come(open(AHEAD), || open(NOW));
    let server = Redis::start();
    let queue = queue(server.port(), "orders");
    queue.configure(Config::default()).expect("it is made");
    let set = |now: u64| server.cli(&["HSET", "{orders}:events", "now", &now.to_string()]);
    set(AHEAD);
    dead_letters_of_a_time_to_come(queue.clone(), || {
        set(NOW);
        queue
    });
}

/// A delivery that was taken over publishes what follows from it in other partitions; the one that took it over does
/// so again, when these have gone.
fn follow_up_events_of_two_deliveries(queue: &EventQueue) {
    for (before, after) in [(1, 4), (4, 1), (2, 5), (5, 2)] {
        queue.reshard(before).expect("it is there");
        queue.publish(NewEvent::new("paid").key("customer")).expect("there is room");
        let first = queue.receive(1).expect("there is one").remove(0);
        queue.nack(&first, "late", Duration::ZERO).expect("it is held");
        let second = queue.receive(1).expect("there is one").remove(0);
        let following = || (0..6).map(|number| NewEvent::new("ship").key(format!("item-{number}")));
        let refused = queue.ack_with(&first, following()).expect_err("it was taken over");
        assert_eq!(refused.kind(), ErrorKind::LeaseLost);
        queue.reshard(after).expect("it is there");
        assert_eq!(queue.ack_with(&second, following()).expect("it is held").len(), 6);
        let stats = queue.stats().expect("it is there");
        assert_eq!(stats.events, 6, "from {before} to {after} partitions: {stats:?}");
        let mut ended = 0;
        while ended < 6 {
            let events = queue.receive(100).expect("there are some");
            ended += events.len();
            queue.ack_many(&events).expect("they are held");
        }
        assert_eq!(queue.stats().expect("it is there").events, 0);
    }
}

#[test]
fn follow_up_events_are_added_once_whatever_the_number_of_partitions() {
    follow_up_events_of_two_deliveries(&millpond::connect("memory:").unwrap().events("orders"));
    follow_up_events_of_two_deliveries(&queue(Redis::start().port(), "orders"));
}

#[test]
fn an_error_has_the_name_of_the_call() {
    let server = Redis::start();
    server.cli(&["SET", "{orders}:events", "x"]);
    let queue = queue(server.port(), "orders");
    let operation = |result: millpond::Result<()>| {
        let error = result.expect_err("a key holds something else");
        assert_eq!(error.kind(), ErrorKind::WrongType);
        error.operation()
    };
    let dead = EventState::Dead;
    assert_eq!(operation(queue.stats().map(drop)), "events.stats");
    assert_eq!(operation(queue.fetch([EventId::MIN]).map(drop)), "events.fetch");
    assert_eq!(operation(queue.list(dead, EventQuery::new()).map(drop)), "events.list");
    assert_eq!(operation(queue.purge(dead, PurgeFilter::new()).map(drop)), "events.purge");
    let all = RedriveFilter::new();
    assert_eq!(operation(queue.redrive_all(all).map(drop)), "events.redrive_all");
    assert_eq!(operation(queue.publish(NewEvent::new("x")).map(drop)), "events.publish");
    let many = [NewEvent::new("x"), NewEvent::new("y")];
    assert_eq!(operation(queue.publish_many(many).map(drop)), "events.publish_many");
    assert_eq!(operation(queue.pause()), "events.pause");
    assert_eq!(operation(queue.configure(ConfigChange::new()).map(drop)), "events.configure");
    assert_eq!(operation(queue.receive(1).map(drop)), "events.receive");
}
