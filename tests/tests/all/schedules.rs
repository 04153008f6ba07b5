//! Schedules of queues of events, as programs use them: on a server and on the embedded engine, at times that the test
//! sets.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millpond::events::{
    Config, Event, EventQueue, Missed, NewEvent, Op, Overlap, Partition, PutSchedule, PutStatus,
    ReadSchedules, Receive, Schedule, ScheduleInfo,
};
use millpond::{Client, ErrorKind, ManualClock, Options};
use millpond_tests::block_on;
use millpond_tests::servers::{Cluster, Redis, wait_until};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runner, TestRunner};

/// Seconds since the Unix epoch, in 2026; a minute begins.
const BEGAN: u64 = 1_790_000_040;

const MINUTE: Duration = Duration::from_secs(60);

/// A queue, at a time that the test sets.
struct Engine<'a> {
    client: Client,
    queue: EventQueue,
    name: String,
    server: Option<(&'a Redis, String)>,
    clock: Arc<ManualClock>,
    now_us: u64,
    /// Of an engine whose clock can be set back.
    directory: Option<tempfile::TempDir>,
}

impl<'a> Engine<'a> {
    fn new(name: &str, server: Option<(&'a Redis, &Client)>) -> Self {
        let now_us = BEGAN * 1_000_000;
        let clock = Arc::new(ManualClock::at(now_us));
        let memory = || {
            let options = Options::parse("memory:").expect("a right URL");
            options.clock(clock.clone()).connect().expect("there is room")
        };
        let client = server.map_or_else(memory, |(_, client)| client.clone());
        let server = server.map(|(server, _)| (server, format!("{{{name}}}:events")));
        let queue = client.events(name);
        let name = name.to_owned();
        let mut engine = Self { client, queue, name, server, clock, now_us, directory: None };
        engine.set_up();
        engine
    }

    /// One that keeps what it has when its clock is set back.
    fn durable(name: &str) -> Self {
        let mut engine = Self::new(name, None);
        engine.directory = Some(tempfile::tempdir().expect("there is room"));
        engine.set_back(0);
        engine.set_up();
        engine
    }

    fn set_up(&mut self) {
        self.advance_us(0);
        let mut config = Config::default();
        config.lease = Duration::from_secs(36_000_000);
        self.queue.configure(config).expect("it is new");
    }

    /// The clock is set to this many seconds after the test began.
    fn set_back(&mut self, seconds: u64) -> &mut Self {
        self.now_us = (BEGAN + seconds) * 1_000_000;
        if self.server.is_some() {
            self.advance_us(0);
            return self;
        }
        let directory = self.directory.as_ref().expect("it is a durable one").path();
        // Nobody holds the directory then.
        self.client = millpond::connect("memory:").expect("there is room");
        self.queue = self.client.events(&self.name);
        self.clock = Arc::new(ManualClock::at(self.now_us));
        let options = Options::parse(format!("file:{}", directory.display()).as_str());
        let options = options.expect("a right URL").clock(self.clock.clone());
        self.client = options.connect().expect("nobody holds it");
        self.queue = self.client.events(&self.name);
        self
    }

    fn advance_us(&mut self, time: u64) {
        self.now_us += time;
        self.clock.advance(Duration::from_micros(time));
        if let Some((server, root)) = &self.server {
            server.cli(&["HSET", root, "now", &self.now_us.to_string()]);
        }
    }

    /// It is this many seconds after the test began.
    fn at(&mut self, seconds: u64) -> &mut Self {
        let to = (BEGAN + seconds) * 1_000_000;
        self.advance_us(to - self.now_us);
        self
    }

    fn put(&self, schedule: &Schedule) -> PutStatus {
        self.queue.put_schedule(schedule.clone()).expect("it is right")
    }

    fn info(&self, id: &str) -> ScheduleInfo {
        self.queue.get_schedule(id).expect("nothing is wrong").expect("it is there")
    }

    /// The second of the next tick since the test began.
    fn next(&self, id: &str) -> Option<u64> {
        let info = self.queue.get_schedule(id).expect("nothing is wrong")?;
        info.next_us.map(|next| next / 1_000_000 - BEGAN)
    }

    /// The schedule `a` is as a program has left it that has another version of the data of time zones, by which each tick
    /// is an hour later.
    fn leave_by_other_zones(&self, version: impl Fn(u32) -> u32) {
        let partition = Partition::new("jobs", 0, BEGAN as u32).expect("a right name");
        let read = ReadSchedules::of(partition.clone(), vec!["a".into()]);
        let read = self.client.run(read).expect("nothing is wrong");
        let mut record = read.schedules[0].record.clone();
        record.zones = version(record.zones);
        record.ticks.iter_mut().for_each(|tick| *tick += 3_600_000_000);
        let op = Op { slot: *b"another\0\0\x01", number: record.version };
        let put = PutSchedule::new(partition, op, "a", record.version, record, None);
        assert!(self.client.run(put).expect("nothing is wrong"));
    }

    fn events(&self, max: usize) -> Vec<Event> {
        self.queue.receive(max).expect("nothing is wrong")
    }

    /// The payloads of all events that can be received, and when each was to fire, in seconds since the test began.
    fn fired(&self) -> Vec<(String, u64)> {
        self.events(100).iter().map(fired).collect()
    }

    fn ack_all(&self, events: &[Event]) {
        self.queue.ack_many(events).expect("they are held");
    }
}

fn fired(event: &Event) -> (String, u64) {
    let payload = String::from_utf8(event.payload.to_vec()).expect("a test's payload is text");
    (payload, event.fire_at_us / 1_000_000 - BEGAN)
}

fn of(payload: &str, second: u64) -> (String, u64) {
    (payload.to_owned(), second)
}

/// Runs a test on both engines.
fn on_both(test: impl Fn(&mut Engine<'_>)) {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    test(&mut Engine::new("jobs", None));
    test(&mut Engine::new("jobs", Some((&server, &client))));
}

/// Runs a test on both engines, whose clocks it sets back.
fn on_both_set_back(test: impl Fn(&mut Engine<'_>)) {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    test(&mut Engine::durable("jobs"));
    test(&mut Engine::new("jobs", Some((&server, &client))));
}

fn each_minute(id: &str, payload: &str) -> Schedule {
    Schedule::new(id).every(MINUTE).payload(payload)
}

#[test]
fn put_same_unchanged() {
    on_both(|engine| {
        assert_eq!(engine.at(10).put(&each_minute("a", "x")), PutStatus::Created);
        assert_eq!(engine.next("a"), Some(60));
        assert_eq!(engine.at(59).put(&each_minute("a", "x")), PutStatus::Unchanged);
        assert_eq!(engine.next("a"), Some(60));
        // A deploy when it is due moves nothing either, also with another revision.
        assert_eq!(engine.at(61).put(&each_minute("a", "x")), PutStatus::Unchanged);
        assert_eq!(engine.put(&each_minute("a", "x").revision(1)), PutStatus::Unchanged);
        assert_eq!(engine.fired(), [of("x", 60)]);
        assert_eq!(engine.next("a"), Some(120));
        // Nor when its ticks are used up.
        assert_eq!(engine.at(36_030).put(&each_minute("a", "x").revision(2)), PutStatus::Unchanged);
        let waiting = engine.queue.stats().expect("it is there");
        assert_eq!((waiting.leased, waiting.events), (1, 2));
    });
}

/// Deploys that raise the revision and nothing else, more often than it ticks, and when ticks are due.
#[test]
fn put_same_loses_no_tick() {
    for missed in [Missed::Latest, Missed::Expire] {
        on_both(|engine| {
            let schedule = Schedule::new("a").every(Duration::from_secs(10)).payload("x");
            let schedule = schedule.missed(missed).grace(MINUTE).overlap(Overlap::Allow);
            let mut all = Vec::new();
            for revision in 0..120 {
                let queue = &engine.at(7 * revision).queue;
                let synced = queue.sync_schedules("app", revision, [schedule.clone()]);
                let synced = synced.expect("nothing is wrong");
                assert_eq!((synced.updated, synced.ignored), (0, false));
                all.extend(engine.fired());
            }
            let due: Vec<_> = (1..=83).map(|tick| of("x", 10 * tick)).collect();
            assert_eq!(all, due);
            assert_eq!(engine.info("a").missed, 0);
        });
    }
}

/// A put by a program with newer data of time zones than those that the ticks are of computes them anew; one with older
/// data does not put them back.
#[test]
fn tz_version_newer_wins() {
    on_both(|engine| {
        let daily = Schedule::new("a").cron("0 3 * * *").zone("Europe/Berlin").payload("x");
        assert_eq!(engine.put(&daily), PutStatus::Created);
        let next = engine.next("a").expect("it ticks");
        engine.leave_by_other_zones(|version| version - 1);
        assert_eq!(engine.next("a"), Some(next + 3_600));
        assert_eq!(engine.put(&daily), PutStatus::Unchanged);
        assert_eq!(engine.next("a"), Some(next));

        engine.leave_by_other_zones(|version| version + 1);
        assert_eq!(engine.put(&daily), PutStatus::Unchanged);
        assert_eq!(engine.next("a"), Some(next + 3_600));
        assert_eq!(engine.put(&daily.clone().revision(1)), PutStatus::Unchanged);
        assert_eq!(engine.next("a"), Some(next + 3_600));

        // One that is due has come, and whoever gives a schedule more ticks does the same.
        engine.leave_by_other_zones(|_| 202_501);
        assert_eq!(engine.at(next + 7_200).fired(), [of("x", next + 7_200)]);
        assert_eq!(engine.next("a"), Some(next + 86_400));

        // What is the same at any place has no version.
        let every = each_minute("a", "y").revision(1);
        assert_eq!(engine.put(&every), PutStatus::Updated);
        engine.leave_by_other_zones(|version| version);
        let next = engine.next("a");
        assert_eq!(engine.put(&every), PutStatus::Unchanged);
        assert_eq!(engine.next("a"), next);
    });
}

#[test]
fn put_changed_no_second_fire() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x"));
        let events = engine.at(60).events(10);
        assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", 60)]);
        engine.ack_all(&events);
        assert_eq!(engine.put(&each_minute("a", "y")), PutStatus::Updated);
        assert_eq!(engine.at(119).fired(), []);
        // The tick has come when the schedule changes, so it fires as it was.
        assert_eq!(engine.at(120).put(&each_minute("a", "z")), PutStatus::Updated);
        let events = engine.events(10);
        assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("y", 120)]);
        engine.ack_all(&events);
        assert_eq!(engine.at(180).fired(), [of("z", 180)]);
    });
}

#[test]
fn e16_put_old_revision_ignored() {
    on_both(|engine| {
        assert_eq!(engine.put(&each_minute("a", "x").revision(5)), PutStatus::Created);
        assert_eq!(engine.put(&each_minute("a", "y").revision(4)), PutStatus::Ignored);
        assert_eq!(engine.put(&each_minute("a", "z").revision(5)), PutStatus::Updated);
        assert_eq!(engine.at(60).fired(), [of("z", 60)]);
        let info = engine.info("a");
        assert_eq!((info.revision, &*info.payload), (5, b"z".as_slice()));
        assert_eq!((info.every, info.cron, info.paused), (Some(MINUTE), None, false));
    });
}

#[test]
fn e16_sync_removes() {
    on_both(|engine| {
        let queue = &engine.queue;
        let ids = || {
            let all = queue.list_schedules().expect("nothing is wrong");
            all.iter().map(|info| info.id.to_string()).collect::<Vec<_>>()
        };
        let sync = |owner, revision, ids: &[&str]| {
            let list = ids.iter().map(|id| each_minute(id, id));
            queue.sync_schedules(owner, revision, list).expect("nothing is wrong")
        };
        engine.put(&each_minute("own", "own"));
        sync("other", 1, &["o"]);
        let synced = sync("app", 1, &["a", "b", "c"]);
        assert_eq!((synced.created, synced.removed), (3, 0));
        assert_eq!(ids(), ["a", "b", "c", "o", "own"]);
        let synced = sync("app", 2, &["b", "d"]);
        assert_eq!((synced.created, synced.unchanged, synced.removed), (1, 1, 2));
        assert_eq!(ids(), ["b", "d", "o", "own"]);
        // An older one changes nothing at all.
        assert!(sync("app", 1, &["a", "b", "c"]).ignored);
        assert_eq!(ids(), ["b", "d", "o", "own"]);
        assert_eq!(sync("app", 3, &[]).removed, 2);
        assert!(sync("app", 2, &["a"]).ignored);
        assert_eq!(ids(), ["o", "own"]);
        assert!(queue.remove_schedule("own").expect("nothing is wrong"));
        assert!(!queue.remove_schedule("own").expect("nothing is wrong"));
        assert!(queue.sync_schedules("", 1, [each_minute("a", "x")]).is_err());
        let twice = [each_minute("a", "x"), each_minute("a", "x")];
        assert!(queue.sync_schedules("x", 1, twice).is_err());
        let mut read = 0;
        let endless = (0..).map(|number: u64| each_minute(&number.to_string(), "x"));
        let refused = queue.sync_schedules("x", 1, endless.inspect(|_| read += 1));
        assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::InvalidArgument));
        assert_eq!(read, 10_001, "what has no end is refused as it is read");
    });
}

#[test]
fn missed_latest() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x"));
        let missed = |engine: &Engine<'_>| engine.info("a").missed;
        let events = engine.at(200).events(10);
        assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", 180)]);
        assert_eq!(missed(engine), 2);
        // One that was received is not replaced.
        assert_eq!(engine.at(240).fired(), []);
        engine.ack_all(&events);
        let events = engine.events(10);
        assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", 240)]);
        engine.ack_all(&events);
        assert_eq!(missed(engine), 2);
        // One that is ready is, if nobody received it.
        engine.at(299).queue.publish(NewEvent::new("other")).expect("there is room");
        assert_eq!(
            engine.at(301).events(1).iter().map(fired).collect::<Vec<_>>(),
            [of("other", 299)]
        );
        assert_eq!(engine.queue.stats().expect("it is there").ready, 1);
        assert_eq!(engine.at(361).fired(), [of("x", 360)]);
        assert_eq!(missed(engine), 3);
        engine.queue.remove_schedule("a").expect("it is there");
        // All that is known has passed: of what else has come the last tick is computed.
        engine.put(&each_minute("b", "y"));
        assert_eq!(engine.at(100_000).fired(), [of("y", 99_960)]);
        assert_eq!(engine.at(100_020).fired(), []);
        assert_eq!(engine.next("b"), Some(100_080));
    });
}

#[test]
fn missed_expire_grace() {
    on_both(|engine| {
        let hourly = |id| {
            Schedule::new(id).every(60 * MINUTE).anchor_ms(BEGAN * 1_000).missed(Missed::Expire)
        };
        engine.put(&hourly("a").payload("x"));
        engine.at(3_659).advance_us(999_999);
        let events = engine.events(10);
        assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", 3_600)]);
        assert_eq!(events[0].expires_at_us, Some((BEGAN + 3_660) * 1_000_000));
        engine.ack_all(&events);
        assert_eq!(engine.at(7_260).fired(), []);
        assert_eq!(engine.at(10_800).fired(), [of("x", 10_800)]);
        assert_eq!(engine.next("a"), Some(14_400));
        engine.put(&hourly("b").grace(2 * MINUTE).payload("y"));
        assert_eq!(engine.at(14_519).fired(), [of("y", 14_400)]);
    });
}

/// An event that was received within its grace is not missed, whatever becomes of that delivery.
#[test]
fn missed_expire_once_received() {
    on_both(|engine| {
        let hourly = Schedule::new("a").every(60 * MINUTE).anchor_ms(BEGAN * 1_000);
        engine.put(&hourly.missed(Missed::Expire).payload("x"));
        let received = engine.at(3_600).events(10);
        assert_eq!(received.iter().map(fired).collect::<Vec<_>>(), [of("x", 3_600)]);
        engine.queue.nack(&received[0], "later", 2 * MINUTE).expect("it is leased");
        assert_eq!(engine.at(3_719).fired(), []);
        let again = engine.at(3_720).events(10);
        assert_eq!(again.iter().map(fired).collect::<Vec<_>>(), [of("x", 3_600)]);
        engine.queue.release(&again[0], None).expect("it is leased");
        assert_eq!(engine.at(3_800).fired(), [of("x", 3_600)]);
    });
}

#[test]
fn overlap_wait() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x").missed(Missed::Expire).grace(10 * MINUTE));
        let first = engine.at(60).events(10);
        assert_eq!((first.len(), &*first[0].key), (1, b"a".as_slice()));
        assert_eq!(engine.at(180).fired(), []);
        engine.ack_all(&first);
        let second = engine.events(10);
        assert_eq!(second.iter().map(fired).collect::<Vec<_>>(), [of("x", 120)]);
        engine.ack_all(&second);
        assert_eq!(engine.fired(), [of("x", 180)]);
        // Other events of the key are in order with them.
        engine.at(190).queue.publish(NewEvent::new("own").key("a")).expect("there is room");
        engine.queue.publish(NewEvent::new("now").key("b")).expect("there is room");
        assert_eq!(engine.at(240).fired(), [of("now", 190)]);
    });
}

#[test]
fn overlap_allow() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x").overlap(Overlap::Allow));
        let first = engine.at(60).events(10);
        assert_eq!((first.len(), &*first[0].key), (1, b"".as_slice()));
        assert_eq!(engine.at(120).fired(), [of("x", 120)]);
        assert_eq!(engine.at(180).fired(), [of("x", 180)]);
    });
}

/// What is published for now comes behind a tick of its key that has come.
#[test]
fn ticks_keep_their_place() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x"));
        engine.at(59).queue.publish(NewEvent::new("before").key("a")).expect("there is room");
        let delay = Duration::from_secs(2);
        engine.queue.publish(NewEvent::new("later").key("a").delay(delay)).expect("there is room");
        engine.at(70).queue.publish(NewEvent::new("after").key("a")).expect("there is room");
        let mut seen = Vec::new();
        while let [event] = engine.events(10).as_slice() {
            seen.push(fired(event));
            engine.queue.ack(event).expect("it is held");
        }
        assert_eq!(seen, [of("before", 59), of("x", 60), of("later", 61), of("after", 70)]);
    });
}

#[test]
fn e16_every_anchor_no_drift() {
    on_both(|engine| {
        let schedule = Schedule::new("a").every(Duration::from_secs(90));
        engine.put(&schedule.anchor_ms((BEGAN + 7) * 1_000).payload("x"));
        for tick in 1..200 {
            let events = engine.at(7 + 90 * tick + tick % 80).events(10);
            assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", 7 + 90 * tick)]);
            engine.ack_all(&events);
        }
    });
}

#[test]
fn pause_passes_ticks() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x").overlap(Overlap::Allow));
        // What has come by then fires.
        assert!(engine.at(70).queue.pause_schedule("a").expect("nothing is wrong"));
        assert_eq!(engine.at(150).fired(), [of("x", 60)]);
        assert_eq!(engine.next("a"), None);
        assert_eq!(engine.put(&each_minute("a", "y").overlap(Overlap::Allow)), PutStatus::Updated);
        assert_eq!(engine.at(300).fired(), []);
        assert!(engine.info("a").paused);
        assert!(engine.queue.resume_schedule("a").expect("nothing is wrong"));
        assert_eq!((engine.next("a"), engine.fired()), (Some(360), vec![]));
        assert_eq!(engine.at(360).fired(), [of("y", 360)]);
        assert_eq!(engine.queue.pause_schedule("none").ok(), Some(false));
        assert_eq!(engine.queue.resume_schedule("none").ok(), Some(false));
    });
}

#[test]
fn trigger_moves_nothing() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x"));
        let trigger =
            |engine: &Engine<'_>, id| engine.queue.trigger_schedule(id).expect("nothing is wrong");
        let published = trigger(engine.at(30), "a").expect("it is there");
        assert_eq!(published.fire_at_us, engine.now_us);
        assert_eq!(engine.next("a"), Some(60));
        let events = engine.events(10);
        assert_eq!((events[0].id, fired(&events[0])), (published.id, of("x", 30)));
        // It is in order with the others, and not replaced by them.
        assert_eq!(engine.at(60).fired(), []);
        engine.ack_all(&events);
        trigger(engine, "a").expect("it is there");
        let events = engine.events(10);
        assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", 60)]);
        engine.ack_all(&events);
        assert_eq!(engine.at(120).fired().len(), 1);
        assert_eq!(trigger(engine, "none"), None);
    });
}

#[test]
fn until_and_from() {
    on_both(|engine| {
        let bounded = each_minute("a", "x").from_ms((BEGAN + 120) * 1_000);
        engine.put(&bounded.until_ms((BEGAN + 240) * 1_000).overlap(Overlap::Allow));
        assert_eq!(engine.at(119).fired(), []);
        assert_eq!(engine.at(120).fired(), [of("x", 120)]);
        // The last of all fires though no other is known.
        assert_eq!(engine.at(9_000).fired(), [of("x", 180)]);
        assert_eq!((engine.next("a"), engine.fired()), (None, vec![]));
    });
}

/// Two clients compute ticks for one that ran out of them: what the slower one brings does not count.
#[test]
fn refill_race_once() {
    on_both(|engine| {
        engine.put(&each_minute("a", "x"));
        engine.at(10_000);
        let partition = Partition::new("jobs", 0, BEGAN as u32).expect("a right name");
        let client = engine.client.clone();
        let op = |number| Op { slot: *b"another\0\0\x01", number };
        let receive = Receive::new(partition.clone(), op(1), 10, None, [1; 8], 1);
        let received = client.run(receive).expect("nothing is wrong");
        assert_eq!((received.events.len(), &*received.refills[0]), (0, "a"));
        let read = ReadSchedules::of(partition.clone(), vec!["a".into()]);
        let read = client.run(read).expect("nothing is wrong");
        let known = &read.schedules[0].record;
        engine.advance_us(5_000_000);
        assert_eq!(engine.fired(), [of("x", 9_960)]);
        let mut record = known.clone();
        record.ticks = vec![(BEGAN + 9_960) * 1_000_000, (BEGAN + 10_020) * 1_000_000];
        let put = PutSchedule::new(partition, op(2), "a", known.version, record, None);
        assert!(!client.run(put).expect("nothing is wrong"));
        assert_eq!((engine.next("a"), engine.fired()), (Some(10_020), vec![]));
    });
}

#[derive(Clone, Debug)]
enum Act {
    Advance(u64),
    /// Receives all that can be.
    Receive,
    /// Ends the oldest delivery.
    Ack,
}

/// What is received depends on the times of receives and acks, and not on who looked at the queue in between.
#[test]
fn tick_confluence() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let act = prop_oneof![
        4 => (1..200_000_000_u64).prop_map(Act::Advance),
        1 => Just(Act::Advance(9_000_000_000)),
        3 => Just(Act::Receive),
        2 => Just(Act::Ack),
    ];
    let acts = prop::collection::vec((act, any::<bool>()), 1..40);
    let number = Cell::new(0);
    let mut runner =
        TestRunner::new(Runner { cases: 200, failure_persistence: None, ..Runner::default() });
    let outcome = runner.run(&acts, |acts| {
        number.set(number.get() + 1);
        let name = format!("q{}", number.get());
        let run = |name: &str, server, is_touched: bool| {
            let mut engine = Engine::new(name, server);
            let latest =
                |id, seconds| Schedule::new(id).every(Duration::from_secs(seconds)).payload(id);
            engine.put(&latest("a", 7));
            engine.put(&latest("b", 1).overlap(Overlap::Allow));
            engine.put(&Schedule::new("c").cron("*/2 * * * *").payload("c"));
            let skip = latest("d", 61).missed(Missed::Expire).grace(3 * MINUTE);
            engine.put(&skip);
            let (mut held, mut seen) = (Vec::new(), Vec::new());
            for (act, is_looked_at) in &acts {
                match act {
                    Act::Advance(time) => engine.advance_us(*time),
                    Act::Receive => {
                        // What comes behind one that has expired is for the next receive.
                        let mut events = engine.events(1_000);
                        while engine.queue.stats().expect("it is there").ready > 0 {
                            events.extend(engine.events(1_000));
                        }
                        // Of those that are ready the order depends on when they became so.
                        events.sort_by_key(fired);
                        let all: Vec<_> = events.iter().map(fired).collect();
                        seen.push((engine.now_us, all));
                        held.extend(events);
                    }
                    Act::Ack if !held.is_empty() => engine.ack_all(&[held.remove(0)]),
                    Act::Ack => {}
                }
                if is_touched && *is_looked_at {
                    engine.queue.pause().expect("nothing is wrong");
                    assert!(engine.events(1_000).is_empty());
                    engine.queue.resume().expect("nothing is wrong");
                }
            }
            seen
        };
        let expected = run(&name, None, false);
        prop_assert_eq!(&run(&name, None, true), &expected);
        prop_assert_eq!(&run(&name, Some((&server, &client)), true), &expected);
        server.cli(&["FLUSHALL"]);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

const DAY: u64 = 86_400;

/// A clock that was a day ahead for half an hour: each time fires once, those of that day when its clock came to them,
/// but for those that it went over.
#[test]
fn a_clock_that_was_ahead_holds_up_no_tick_and_repeats_none() {
    for missed in [Missed::Latest, Missed::Expire] {
        on_both_set_back(|engine| {
            let each = |id| {
                let each = Schedule::new(id).every(10 * MINUTE).anchor_ms(BEGAN * 1_000);
                each.payload(id).missed(missed).overlap(Overlap::Allow)
            };
            engine.put(&each("a"));
            let mut seen = BTreeMap::<_, usize>::new();
            let mut walk = |engine: &mut Engine<'_>, from: u64, to: u64| {
                for step in from..=to {
                    let events = engine.at(step * 100).events(1_000);
                    events.iter().for_each(|event| *seen.entry(fired(event)).or_default() += 1);
                    engine.ack_all(&events);
                }
            };
            walk(engine, 0, 7);
            walk(engine, DAY / 100, DAY / 100 + 18);
            engine.put(&each("late"));
            engine.set_back(710);
            walk(engine, 8, DAY / 100 + 30);
            let due = |from: u64, to: u64| (from / 600..=to / 600).map(|tick| 600 * tick);
            let mut all: Vec<_> = due(600, DAY + 3_000).map(|at| (of("a", at), 1)).collect();
            all.extend(due(1_200, DAY + 3_000).map(|at| (of("late", at), 1)));
            assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
            assert_eq!(engine.next("a"), Some(DAY + 3_600));
        });
    }
}

/// Neither what puts it again nor what changes it leaves a schedule with the ticks of a clock that was ahead.
#[test]
fn a_schedule_that_is_put_or_resumed_has_no_ticks_of_a_clock_that_was_ahead() {
    let put = |engine: &Engine<'_>| {
        assert_eq!(engine.put(&each_minute("a", "x")), PutStatus::Unchanged);
    };
    let change = |engine: &Engine<'_>| {
        assert_eq!(engine.put(&each_minute("a", "y")), PutStatus::Updated);
    };
    let raise = |engine: &Engine<'_>| {
        assert_eq!(engine.put(&each_minute("a", "x").revision(1)), PutStatus::Unchanged);
    };
    let resume = |engine: &Engine<'_>| {
        assert!(engine.queue.pause_schedule("a").expect("nothing is wrong"));
        assert!(engine.queue.resume_schedule("a").expect("nothing is wrong"));
    };
    let acts: [&dyn Fn(&Engine<'_>); 4] = [&put, &change, &raise, &resume];
    for act in acts {
        on_both_set_back(|engine| {
            engine.put(&each_minute("a", "x"));
            let events = engine.at(DAY).events(10);
            assert_eq!(events.iter().map(fired).collect::<Vec<_>>(), [of("x", DAY)]);
            engine.ack_all(&events);
            engine.set_back(70);
            assert_eq!(engine.next("a"), Some(DAY + 60));
            assert_eq!(engine.info("a").passed_us, None);
            act(engine);
            assert_eq!(engine.next("a"), Some(120));
            assert_eq!(engine.at(120).events(10).len(), 1);
            // What changed it also sees that others look at it again.
            assert_eq!(engine.next("a"), Some(180));
        });
    }
}

/// The schedules that a partition gives away are looked at again where they come to.
#[test]
fn ticks_of_a_clock_that_was_ahead_do_not_move() {
    let mut engine = Engine::durable("jobs");
    for number in 0..20 {
        engine.put(&each_minute(&format!("s{number:02}"), "x"));
    }
    let events = engine.at(DAY).events(100);
    engine.ack_all(&events);
    engine.set_back(70);
    engine.queue.reshard(2).expect("nothing is wrong");
    let events = engine.events(100);
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(engine.at(120).events(100).len(), 20);
}

/// The schedules of a queue lie in several partitions, on several servers.
#[test]
fn many_over_partitions() {
    let (cluster, memory) = (Cluster::start(), "memory:");
    for url in [&cluster.url(), memory] {
        let queue = millpond::connect(url).expect("the server is there").events("jobs");
        let mut config = Config::default();
        config.partitions = 4;
        queue.configure(config).expect("it is new");
        for number in 0..300 {
            let second = Schedule::new(format!("s{number:03}")).every(Duration::from_secs(1));
            queue.put_schedule(second).expect("it is right");
        }
        let all = queue.list_schedules().expect("nothing is wrong");
        assert!(all.len() == 300 && all.is_sorted_by_key(|info| info.id.clone()));
        let mut seen = BTreeMap::new();
        for batch in queue.deliveries().max(100).wait(MINUTE) {
            let batch = batch.expect("the server is there");
            queue.ack_many(&batch).expect("they are held");
            for event in &batch {
                *seen.entry(event.key.to_vec()).or_insert(0) += 1;
            }
            if seen.len() == 300 {
                break;
            }
        }
    }
}

/// A consumer that waits is woken by ticks, and by a schedule that is put while it waits.
#[test]
fn waits_end_when_it_ticks() {
    let server = Redis::start();
    for url in [&server.url(), "memory:"] {
        let client = millpond::connect(url).expect("the server is there");
        let queue = client.events("jobs");
        let (send, received) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let waiting = client.events("jobs");
            scope.spawn(move || {
                for batch in waiting.deliveries().wait(10 * MINUTE).take(3) {
                    waiting.ack_many(&batch.expect("the server is there")).expect("they are held");
                    send.send(Instant::now()).expect("somebody listens");
                }
            });
            std::thread::sleep(Duration::from_millis(200));
            let began = Instant::now();
            let second = Schedule::new("a").every(Duration::from_secs(1));
            queue.put_schedule(second).expect("it is right");
            for number in 1..=3 {
                let at = received.recv_timeout(MINUTE).expect("it comes");
                let took = at - began;
                assert!(took < Duration::from_millis(1_000 * number + 4_000), "{number}: {took:?}");
            }
        });
    }
}

/// The same verbs on an async client.
#[test]
fn async_clients_have_schedules() {
    let server = Redis::start();
    for url in [&server.url(), "memory:"] {
        block_on(async {
            let client = millpond::aio::connect(url).expect("the server is there");
            let queue = client.events("jobs");
            let status = queue.put_schedule(each_minute("a", "x")).await.expect("it is right");
            assert_eq!(status, PutStatus::Created);
            let published = queue.trigger_schedule("a").await.expect("nothing is wrong");
            let published = published.expect("it is there");
            let events = queue.receive(10).await.expect("nothing is wrong");
            assert!(events.iter().any(|event| event.id == published.id), "{events:?}");
            assert_eq!(queue.list_schedules().await.expect("nothing is wrong").len(), 1);
            assert!(queue.remove_schedule("a").await.expect("nothing is wrong"));
            assert_eq!(queue.get_schedule("a").await.expect("nothing is wrong"), None);
        });
    }
}

/// Where the processes of the next test find the server.
const URL: &str = "MILLPOND_TEST_SCHEDULES_URL";
const PROCESSES: usize = 8;
const SCHEDULES: usize = 5;

/// More than a schedule has at a time, so that processes compute new ones.
const TICKS: u64 = 100;

/// Eight processes receive, and the next tick comes when what came before has been worked on.
#[test]
fn one_fire_per_tick() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let mut engine = Engine::new("jobs", Some((&server, &client)));
    put_all(&engine.queue);
    let program = std::env::current_exe().expect("a test has a program");
    let start = |_| {
        let mut command = Command::new(&program);
        command.args(["--exact", "schedules::one_of_the_processes", "--ignored", "--nocapture"]);
        command.env(URL, server.url()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("it is this program")
    };
    let processes: Vec<_> = (0..PROCESSES).map(start).collect();
    for second in 1..=TICKS {
        engine.at(second);
        let passed_us = Some(engine.now_us);
        wait_until("the ticks are worked on", || {
            let schedules = engine.queue.list_schedules().expect("nothing is wrong");
            let events = engine.queue.stats().expect("it is there").events;
            events == 0 && schedules.iter().all(|info| info.passed_us == passed_us)
        });
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for process in processes {
        // Its standard input ends, and with it its work.
        let output = process.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("it writes text");
        for line in text.lines().filter_map(|line| line.strip_prefix("tick ")) {
            *seen.entry(line.to_owned()).or_default() += 1;
        }
    }
    let ticks = |number| (1..=TICKS).map(move |second| format!("s{number} {}", BEGAN + second));
    let all: BTreeMap<_, _> = (0..SCHEDULES).flat_map(ticks).map(|tick| (tick, 1)).collect();
    assert_eq!(seen, all);
}

fn put_all(queue: &EventQueue) {
    for number in 0..SCHEDULES {
        let second = Schedule::new(format!("s{number}")).every(Duration::from_secs(1));
        queue.put_schedule(second.payload("x")).expect("it is right");
    }
}

/// Puts the schedules as a deploy does, again and again, and receives.
#[test]
#[ignore = "a process of the test above"]
fn one_of_the_processes() {
    let url = std::env::var(URL).expect("the test above sets it");
    let queue = millpond::connect(&url).expect("the server is there").events("jobs");
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = is_over.clone();
    std::thread::spawn(move || {
        _ = std::io::stdin().read_line(&mut String::new());
        ends.store(true, Ordering::Relaxed);
    });
    while !is_over.load(Ordering::Relaxed) {
        put_all(&queue);
        for event in queue.receive(100).expect("the server is there") {
            let key = String::from_utf8_lossy(&event.key).into_owned();
            println!("tick {key} {}", event.fire_at_us / 1_000_000);
            queue.ack(&event).expect("it is held");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
