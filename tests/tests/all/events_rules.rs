//! The rules of events that need the time to the microsecond, or a look at what is stored: each on Redis and on the
//! embedded engine, whose time the test sets. Named after the rules of the specification, which
//! `conformance/cases/events/README.md` lists.

use std::sync::Arc;
use std::time::Duration;

use millpond::events::{
    Cancel, Cancelled, Config, DeadReason, End, Event, EventId, EventQuery, EventState, Fetch,
    HandOn, Held, IfExists, List, NewEvent, Op, Open, Partition, Publish, Published, Purge,
    PurgeFilter, ReadStats, Receipt, Receive, Received, Redrive, Redriven, Renew, Rescheduled,
    Settle, Settled, Settlement, Stats, Status,
};
use millpond::step::{Operation, When};
use millpond::{Client, ErrorKind, ManualClock, Options};
use millpond_tests::servers::{Redis, Reply};

/// Microseconds since the Unix epoch, in 2026.
const BEGAN: u64 = 1_790_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
/// For how long a deduplication id is remembered by default.
const DEDUP_WINDOW: Duration = Duration::from_secs(300);
const MICROSECOND: Duration = Duration::from_micros(1);
const ROOT: &str = "{orders}:events";

type Token = [u8; 8];

/// One partition on an engine whose time stands still.
struct Queue<'a> {
    client: Client,
    server: Option<&'a Redis>,
    clock: Arc<ManualClock>,
    partition: Partition,
    now: u64,
    calls: u64,
    revision: u64,
}

impl<'a> Queue<'a> {
    fn new(server: Option<&'a Redis>) -> Self {
        let clock = Arc::new(ManualClock::at(BEGAN));
        let options = match server {
            Some(server) => Options::parse(&server.url()),
            None => Options::parse("memory:").map(|options| options.clock(clock.clone())),
        };
        let client = options.and_then(|options| options.connect()).expect("it is there");
        let partition = Partition::new("orders", 0, 7).expect("a right name");
        let mut queue =
            Self { client, server, clock, partition, now: BEGAN, calls: 0, revision: 0 };
        queue.configure(|_| {});
        queue
    }

    fn run<O: Operation>(&self, step: millpond::Result<O>) -> millpond::Result<O::Output> {
        if let Some(server) = self.server {
            server.cli(&["HSET", ROOT, "now", &self.now.to_string()]);
        }
        self.client.run(step)
    }

    fn advance(&mut self, time: Duration) {
        self.clock.advance(time);
        self.now += time.as_micros() as u64;
    }

    fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = Config::default();
        change(&mut config);
        self.revision += 1;
        let step = Open::create(self.partition.clone(), self.revision, config);
        self.run(step).expect("it is there");
    }

    fn op(&mut self) -> Op {
        self.calls += 1;
        Op { slot: *b"rules\0\0\0\0\x01", number: self.calls }
    }

    fn try_publish(&mut self, events: Vec<NewEvent>) -> millpond::Result<Vec<Published>> {
        let op = self.op();
        self.run(Publish::new(self.partition.clone(), op, events, 0))
    }

    fn publish(&mut self, event: NewEvent) -> Published {
        self.try_publish(vec![event]).expect("there is room")[0]
    }

    fn receive(&mut self, max: usize) -> (Token, Received) {
        let op = self.op();
        let token = op.number.to_be_bytes();
        let step = Receive::new(self.partition.clone(), op, max, None, token, 1);
        (token, self.run(step).expect("it is there"))
    }

    /// Receives the one event that is ready; what ends it.
    fn take(&mut self) -> (Receipt, Event) {
        let (_, mut received) = self.receive(100);
        assert_eq!(received.events.len(), 1, "{received:?}");
        let event = received.events.remove(0);
        (Receipt::from(&event), event)
    }

    fn payloads(&mut self) -> Vec<String> {
        let text = |event: &Event| String::from_utf8_lossy(&event.payload).into_owned();
        self.receive(100).1.events.iter().map(text).collect()
    }

    fn settle_with(&self, receipt: Receipt, end: End, seed: u32) -> Settled {
        let ends = vec![Settlement { receipt, end }];
        let step = Settle::new(self.partition.clone(), ends, seed);
        self.run(step).expect("it is there")[0]
    }

    fn settle(&self, receipt: Receipt, end: End) -> Settled {
        self.settle_with(receipt, end, 1)
    }

    fn cancel(&self, ids: &[EventId]) -> Vec<Cancelled> {
        ids.chunks(1_000)
            .flat_map(|ids| {
                let step = Cancel::new(self.partition.clone(), ids.to_vec(), false);
                self.run(step).expect("it is there")
            })
            .collect()
    }

    fn renew(&self, receipt: Receipt) -> Held {
        let step = Renew::new(self.partition.clone(), vec![receipt], None);
        self.run(step).expect("it is there").held[0]
    }

    fn fetch(&self, id: EventId) -> Option<Event> {
        self.run(Fetch::new(self.partition.clone(), vec![id])).expect("it is there").remove(0)
    }

    fn stats(&self) -> Stats {
        self.run(ReadStats::new(self.partition.clone())).expect("it is there").0
    }
}

/// Holds a rule on Redis and on the embedded engine; returns what it returned on both.
fn on_both<T: std::fmt::Debug + PartialEq>(rule: impl Fn(&mut Queue<'_>) -> T) -> T {
    let server = Redis::start();
    let on_redis = rule(&mut Queue::new(Some(&server)));
    let embedded = rule(&mut Queue::new(None));
    assert_eq!(on_redis, embedded, "Redis and the embedded engine differ");
    embedded
}

fn failed(after: impl Into<Option<Duration>>) -> End {
    End::Failed("broken".to_owned(), after.into())
}

#[test]
fn next_in_exact() {
    on_both(|queue| {
        assert_eq!(queue.receive(1).1.next_in, None, "nothing is there");
        queue.publish(NewEvent::new("due").delay(2 * SECOND));
        assert_eq!(queue.receive(1).1.next_in, Some(2_000_000));
        queue.advance(2 * SECOND - MICROSECOND);
        assert_eq!(queue.receive(1).1.next_in, Some(1));
        queue.advance(MICROSECOND);
        let (token, received) = queue.receive(1);
        assert_eq!((received.events.len(), received.next_in), (1, Some(30_000_000)), "its lease");
        let receipt = Receipt { id: received.events[0].id, token };
        queue.settle(receipt, failed(SECOND));
        assert_eq!(queue.receive(1).1.next_in, Some(1_000_000), "it is tried again");
        queue.publish(NewEvent::new("a"));
        queue.publish(NewEvent::new("b"));
        assert_eq!(queue.receive(1).1.next_in, Some(0), "another one is ready");
    });
}

#[test]
fn more_when_bounded() {
    on_both(|queue| {
        let later = || NewEvent::new("x").delay(SECOND);
        queue.try_publish((0..1_000).map(|_| later()).collect()).expect("there is room");
        queue.publish(later());
        queue.advance(SECOND);
        let (_, received) = queue.receive(1_000);
        assert_eq!((received.events.len(), received.next_in), (1_000, Some(0)));
        assert_eq!(queue.stats().scheduled, 1, "a step promotes 1,000");
        assert_eq!(queue.receive(1).1.events.len(), 1);

        // Of leases that ran out a step looks at 100.
        queue.advance(30 * SECOND);
        queue.receive(1);
        assert_eq!(queue.stats().leased, 901);
    });
}

#[test]
fn promote_in_receive() {
    on_both(|queue| {
        queue.publish(NewEvent::new("due").delay(SECOND));
        queue.advance(SECOND);
        let stats = queue.stats();
        assert_eq!((stats.scheduled, stats.ready), (1, 0), "nobody has looked");
        assert_eq!(queue.payloads(), ["due"]);
        assert_eq!(queue.stats().scheduled, 0);
    });
}

#[test]
fn lease_until_exact() {
    on_both(|queue| {
        queue.configure(|config| (config.backoff_min, config.backoff_max) = Default::default());
        queue.publish(NewEvent::new("a"));
        let (_, received) = queue.receive(1);
        assert_eq!(received.leased_until, BEGAN + 30_000_000);
        queue.advance(30 * SECOND - MICROSECOND);
        assert!(queue.payloads().is_empty());
        queue.advance(MICROSECOND);
        assert_eq!(queue.take().1.crashes, 1);
    });
}

/// What was left twice comes alone, and is left again only once the work on it has begun.
#[test]
fn a_suspect_comes_alone_and_counts_from_its_beginning() {
    on_both(|queue| {
        queue.configure(|config| (config.backoff_min, config.backoff_max) = Default::default());
        for payload in ["a", "b"] {
            queue.publish(NewEvent::new(payload));
        }
        for _ in 0..2 {
            assert_eq!(queue.payloads(), ["a", "b"], "it was left once at most");
            queue.advance(30 * SECOND);
        }
        queue.publish(NewEvent::new("c"));
        queue.advance(MICROSECOND);
        let receive = |queue: &mut Queue<'_>, begins: bool| {
            let op = queue.op();
            let token = op.number.to_be_bytes();
            let step = Receive::new(queue.partition.clone(), op, 100, None, token, 1);
            let received = queue.run(step.map(|step| step.begins(begins))).expect("it is there");
            let counts = |event: &Event| {
                let payload = String::from_utf8_lossy(&event.payload).into_owned();
                (payload, event.attempts, event.crashes)
            };
            let of: Vec<_> = received.events.iter().map(counts).collect();
            (of, received.events.first().map(Receipt::from))
        };
        let of = |payload: &str, attempts, crashes| vec![(payload.to_owned(), attempts, crashes)];
        assert_eq!(receive(queue, true).0, of("c", 1, 0), "it came first");
        let (a, of_a) = receive(queue, true);
        assert_eq!(a, of("a", 3, 2));
        let (b, of_b) = receive(queue, true);
        assert_eq!(b, of("b", 3, 2), "though there was room beside it");
        let (of_a, of_b) = (of_a.expect("received"), of_b.expect("received"));
        let begin = Renew::new(queue.partition.clone(), vec![of_a], None);
        let begun = queue.run(begin.map(|step| step.begins(true))).expect("it is there");
        assert_eq!((begun.held[0], queue.renew(of_b)), (Held::Held, Held::Held));
        queue.advance(30 * SECOND);
        let (again, of_b) = receive(queue, false);
        assert_eq!(again, of("b", 3, 2), "its work had not begun");
        assert_eq!(receive(queue, false).0, of("c", 2, 1));
        let dead = queue.fetch(of_a.id).expect("it is kept");
        assert_eq!((dead.reason, dead.crashes), (Some(DeadReason::Crashed), 3));
        queue.advance(30 * SECOND);
        assert_eq!(receive(queue, false).0, of("c", 3, 2));
        let dead = queue.fetch(of_b.expect("received").id).expect("it is kept");
        assert_eq!(dead.reason, Some(DeadReason::Crashed), "who does not say so has begun");
    });
}

#[test]
fn op_again_publish_same_ids() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let op = queue.op();
    let step = || {
        let events = vec![NewEvent::new("a"), NewEvent::new("b").dedup_id("d")];
        Publish::new(queue.partition.clone(), op, events, 0)
    };
    let first = queue.run(step()).expect("there is room");
    assert_eq!(queue.run(step()).expect("it is known"), first);
    assert_eq!(queue.stats().events, 2);
}

#[test]
fn e10_a_receive_again_returns_what_it_has_leased_still_and_takes_nothing() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let events = ["a", "b", "c"].map(NewEvent::new);
    queue.try_publish(events.into()).expect("there is room");
    let op = queue.op();
    let step = || Receive::new(queue.partition.clone(), op, 2, None, [7; 8], 1);
    let first = queue.run(step()).expect("there are some");
    assert_eq!(
        queue.run(step()).expect("it is known").events,
        first.events,
        "op-again-same-leases"
    );
    queue.settle(Receipt::from(&first.events[0]), End::Done);
    assert_eq!(queue.run(step()).expect("it is known").events, first.events[1..]);
    assert_eq!(queue.stats().ready, 1);
}

#[test]
fn e10_an_end_again_returns_what_follows_and_publishes_nothing() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    queue.publish(NewEvent::new("paid"));
    let (receipt, _) = queue.take();
    let op = queue.op();
    let step = || Publish::done(queue.partition.clone(), op, vec![NewEvent::new("ship")], receipt);
    let first = queue.run(step()).expect("it is held");
    assert_eq!(queue.run(step()).expect("it is known"), first);
    assert_eq!(queue.stats().events, 1);
    let (receipt, _) = queue.take();
    queue.settle(receipt, End::Dead(String::new()));
    let op = queue.op();
    let step = || Redrive::new(queue.partition.clone(), op, vec![receipt.id]);
    assert_eq!(queue.run(step()).expect("it is there"), [Redriven::Redriven]);
    assert_eq!(queue.run(step()).expect("it is known"), [Redriven::Redriven]);
    assert_eq!(queue.fetch(receipt.id).expect("it is there").redriven, 1);
}

#[test]
fn nack_backoff_range_and_the_same_draw_on_both_engines() {
    let delays = on_both(|queue| {
        queue.configure(|config| {
            (config.backoff_min, config.backoff_max) = (SECOND, 10 * SECOND);
        });
        queue.publish(NewEvent::new("a"));
        let mut delays = Vec::new();
        for seed in 0..8 {
            let (receipt, event) = queue.take();
            queue.settle_with(receipt, failed(None), seed);
            let event = queue.fetch(event.id).expect("it waits");
            let most = (1_000_000 << seed).min(10_000_000);
            let delay = event.state_at_us - queue.now;
            assert!(event.state == EventState::Retry && delay <= most, "{delay} of {most}");
            delays.push(delay);
            queue.advance(Duration::from_micros(delay));
        }
        delays
    });
    assert!(delays.windows(2).any(|pair| pair[0] != pair[1]), "{delays:?}");
}

#[test]
fn nack_after_exact() {
    on_both(|queue| {
        queue.publish(NewEvent::new("a"));
        let (receipt, _) = queue.take();
        assert_eq!(queue.settle(receipt, failed(SECOND)), Settled::Ended);
        queue.advance(SECOND - MICROSECOND);
        assert!(queue.payloads().is_empty());
        queue.advance(MICROSECOND);
        assert_eq!(queue.payloads(), ["a"]);
    });
}

#[test]
fn late_ack_of_dead_counts() {
    on_both(|queue| {
        queue.configure(|config| config.max_crashes = 1);
        queue.publish(NewEvent::new("a"));
        let (receipt, _) = queue.take();
        queue.advance(30 * SECOND);
        assert!(queue.payloads().is_empty());
        assert_eq!(queue.stats().dead, 1);
        assert_eq!(queue.renew(receipt), Held::Lost, "a renewal comes too late");
        assert_eq!(queue.settle(receipt, End::Done), Settled::Ended);
        assert_eq!(queue.stats().events, 0);
    });
}

#[test]
fn e17_renew_counts_where_ack_counts() {
    on_both(|queue| {
        queue.publish(NewEvent::new("a"));
        let (receipt, _) = queue.take();
        queue.advance(31 * SECOND);
        assert_eq!(queue.renew(receipt), Held::Held, "nobody has looked since its lease ran out");
        assert!(queue.payloads().is_empty());
        assert_eq!(queue.fetch(receipt.id).expect("it is there").crashes, 0);
        queue.settle(receipt, End::Released(None));
        assert_eq!(queue.renew(receipt), Held::Lost);
        queue.take();
        assert_eq!(queue.renew(receipt), Held::Lost, "another delivery");
    });
}

#[test]
fn e17_an_event_expires_so_long_after_its_time() {
    on_both(|queue| {
        let event = || NewEvent::new("a").delay(SECOND).ttl(SECOND);
        queue.publish(event());
        queue.advance(2 * SECOND - MICROSECOND);
        assert_eq!(queue.take().1.expires_at_us, Some(BEGAN + 2_000_000));
        queue.publish(event());
        queue.advance(2 * SECOND);
        assert!(queue.payloads().is_empty());
        assert_eq!(queue.stats().events, 1, "the one that is leased");
    });
}

/// What was delivered once does not expire, however that delivery ended: it is not lost without a trace.
#[test]
fn e17_an_event_that_was_delivered_once_does_not_expire() {
    on_both(|queue| {
        let ends = [
            ("it failed", Some(failed(3 * SECOND))),
            ("it failed and takes its turn at once", Some(failed(Duration::ZERO))),
            ("it was released", Some(End::Released(None))),
            ("it was released for later", Some(End::Released(Some(3 * SECOND)))),
            ("its lease ran out", None),
        ];
        for (what, end) in ends {
            queue.publish(NewEvent::new("a").key("k").ttl(SECOND));
            let (receipt, _) = queue.take();
            queue.publish(NewEvent::new("behind").key("k").ttl(SECOND));
            queue.advance(2 * SECOND);
            match end {
                Some(end) => assert_eq!(queue.settle(receipt, end), Settled::Ended),
                None => {
                    queue.advance(30 * SECOND);
                    assert!(queue.payloads().is_empty(), "it fails by that");
                }
            }
            queue.advance(3 * SECOND);
            let (receipt, event) = queue.take();
            assert_eq!(&*event.payload, b"a", "{what}");
            assert_eq!(queue.settle(receipt, End::Done), Settled::Ended);
            assert!(queue.payloads().is_empty(), "the other one was never delivered");
            assert_eq!(queue.stats().events, 0);
        }
    });
}

#[test]
fn dead_after_max_with_each_reason() {
    on_both(|queue| {
        queue.configure(|config| (config.max_attempts, config.max_crashes) = (1, 1));
        let ends: [(Option<End>, DeadReason); 3] = [
            (Some(End::Dead(String::new())), DeadReason::Rejected),
            (Some(failed(SECOND)), DeadReason::Exhausted),
            (None, DeadReason::Crashed),
        ];
        for (end, reason) in ends {
            queue.publish(NewEvent::new("a"));
            let (receipt, _) = queue.take();
            match end {
                Some(end) => _ = queue.settle(receipt, end),
                None => queue.advance(30 * SECOND),
            }
            assert!(queue.payloads().is_empty());
            let event = queue.fetch(receipt.id).expect("it is kept");
            assert_eq!((event.state, event.reason), (EventState::Dead, Some(reason)));
        }
    });
}

#[test]
fn dead_keeps_everything() {
    on_both(|queue| {
        let event = NewEvent::new(vec![b'x'; 300]).key("k").header("h", "v").dedup_id("d");
        let published = queue.publish(event.ttl(60 * SECOND));
        let (receipt, event) = queue.take();
        queue.settle(receipt, End::Dead("no use".to_owned()));
        let dead = queue.fetch(published.id).expect("it is kept");
        assert_eq!(&*dead.err, "no use");
        let mut same = dead;
        (same.err, same.reason) = (event.err.clone(), event.reason);
        (same.state, same.state_at_us) = (event.state, event.state_at_us);
        assert_eq!(same, event);
    });
}

#[test]
fn error_text_cut() {
    on_both(|queue| {
        queue.publish(NewEvent::new("a"));
        let (receipt, event) = queue.take();
        let err = format!("begins {} ends", "é".repeat(1_000));
        queue.settle(receipt, End::Failed(err.clone(), Some(SECOND)));
        let kept = queue.fetch(event.id).expect("it waits").err;
        assert!((1_020..=1_024).contains(&kept.len()) && err.ends_with(&*kept), "{kept}");
    });
}

#[test]
fn error_lists_all() {
    on_both(|queue| {
        let event = |id: &str| NewEvent::new("x").dedup_id(id).if_exists(IfExists::Error);
        let ids = ["a", "c"].map(|id| queue.publish(event(id)).id);
        let refused = queue.try_publish(["a", "b", "c"].map(event).into()).expect_err("taken");
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert_eq!(queue.stats().events, 2, "nothing was added");
        let text = refused.to_string();
        assert!(ids.iter().all(|id| text.contains(&id.to_string())), "{text}");
        text
    });
}

#[test]
fn replace_moves_place() {
    on_both(|queue| {
        let event = |payload: &str, delay| {
            let event = NewEvent::new(payload).key("k").delay(delay);
            event.dedup_id("d").if_exists(IfExists::Replace)
        };
        queue.publish(event("first", SECOND));
        queue.publish(NewEvent::new("other").key("k").delay(2 * SECOND));
        assert_eq!(queue.publish(event("later", 3 * SECOND)).status, Status::Replaced);
        queue.advance(3 * SECOND);
        let (receipt, event) = queue.take();
        assert_eq!(&*event.payload, b"other");
        queue.settle(receipt, End::Done);
        assert_eq!(queue.payloads(), ["later"]);
    });
}

#[test]
fn replace_ended() {
    on_both(|queue| {
        let event = || NewEvent::new("a").dedup_id("d").if_exists(IfExists::Replace);
        queue.publish(event());
        let (receipt, _) = queue.take();
        queue.settle(receipt, End::Done);
        assert_eq!(queue.publish(event()).status, Status::Created);
        assert_eq!(queue.payloads(), ["a"]);
    });
}

/// A name whose time is over makes room for another one: also where the maximum is reached.
#[test]
fn names_bounded() {
    on_both(|queue| {
        queue.configure(|config| config.dedup_ids_max = 2);
        let event = |id: &str| NewEvent::new("x").dedup_id(id).dedup_window(SECOND);
        for id in ["a", "b"] {
            queue.publish(event(id));
            let (receipt, _) = queue.take();
            queue.settle(receipt, End::Done);
        }
        let refused = queue.try_publish(vec![event("c")]).expect_err("both are remembered");
        assert_eq!(refused.kind(), ErrorKind::QueueFull);
        queue.publish(NewEvent::new("unnamed"));
        queue.advance(SECOND);
        assert_eq!(queue.publish(event("c")).status, Status::Created);
        assert_eq!(queue.publish(event("d")).status, Status::Created);
        let refused = queue.try_publish(vec![event("e")]).expect_err("both wait");
        assert_eq!(refused.kind(), ErrorKind::QueueFull);
        assert_eq!(queue.stats().dedup_ids, 2);
    });
}

/// A flood of names that are remembered for a short time does not grow without end.
/// A server that has become a replica can forget nobody who is gone: a step that tells those who wait ends even so.
#[test]
fn e6_a_step_on_a_replica_ends() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    queue.publish(NewEvent::new("x"));
    for process in 0..40 {
        let score = process.to_string();
        server.cli(&["ZADD", &format!("{ROOT}:waiting:default"), &score, &format!("s{process}")]);
    }
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let step = HandOn::new(queue.partition.clone(), "s0".into());
    queue.client.run(Ok(step)).expect("there is nothing to write");
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    // A master forgets all of them, as nobody hears for any.
    let step = HandOn::new(queue.partition.clone(), "s0".into());
    queue.client.run(Ok(step)).expect("it is there");
    let left = server.cli(&["ZCARD", &format!("{ROOT}:waiting:default")]);
    assert_eq!(left, Reply::Integer(0));
}

#[test]
fn e9_a_step_forgets_twice_as_many_names_as_it_adds() {
    on_both(|queue| {
        for round in 0..4 {
            let event = |number| {
                let event = NewEvent::new("x").dedup_id(format!("{round}-{number}"));
                event.dedup_window(MICROSECOND)
            };
            queue.try_publish((0..500).map(event).collect()).expect("there is room");
            let (_, received) = queue.receive(500);
            let done = |event| Settlement { receipt: Receipt::from(event), end: End::Done };
            // They end in the microsecond of their publishing, so each is remembered.
            let ends = received.events.iter().map(done).collect();
            queue.run(Settle::new(queue.partition.clone(), ends, 1)).expect("they are held");
            queue.advance(SECOND);
            assert_eq!(queue.stats().dedup_ids, 500);
        }
    });
}

#[test]
fn e9_steps_of_an_earlier_period_are_forgotten() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let steps = || {
        let count = |key: &str| server.cli(&["HLEN", &format!("{ROOT}:{key}")]).integer();
        count("ops:0") + count("ops:1")
    };
    for client in 0..20_u8 {
        let op = Op { slot: [client; 10], number: 1 };
        let step = Publish::new(queue.partition.clone(), op, vec![NewEvent::new("x")], 0);
        queue.run(step).expect("there is room");
    }
    assert_eq!(steps(), 20);
    queue.advance(600 * SECOND);
    queue.publish(NewEvent::new("x"));
    assert_eq!(steps(), 21, "they are known for ten minutes");
    queue.advance(600 * SECOND);
    queue.publish(NewEvent::new("x"));
    assert_eq!(steps(), 2);
    queue.advance(3_600 * SECOND);
    queue.publish(NewEvent::new("x"));
    assert_eq!(steps(), 1);
}

/// The replies that a queue keeps are gone when the period is over in which they may be asked for, if nobody uses it.
#[test]
fn e9_what_an_idle_queue_remembers_expires() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let left_ms = |period: u64| {
        let key = format!("{ROOT}:ops:{}", period % 2);
        u64::try_from(server.cli(&["PTTL", &key]).integer()).expect("it expires")
    };
    for period in BEGAN / 600_000_000..BEGAN / 600_000_000 + 3 {
        queue.publish(NewEvent::new("x"));
        queue.receive(1);
        assert!((1_200_000..=1_260_000).contains(&left_ms(period)), "{}", left_ms(period));
        queue.advance(600 * SECOND);
    }
}

#[test]
fn e9_a_step_skips_1000_that_have_expired() {
    on_both(|queue| {
        let short = || NewEvent::new("short").ttl(SECOND);
        for _ in 0..3 {
            queue.try_publish((0..500).map(|_| short()).collect()).expect("there is room");
        }
        queue.publish(NewEvent::new("long"));
        queue.advance(SECOND);
        let (_, received) = queue.receive(10);
        assert_eq!((received.events.len(), received.next_in), (0, Some(0)));
        assert_eq!(queue.stats().events, 501);
        assert_eq!(queue.payloads(), ["long"]);
    });
}

/// What is dropped makes way within the step, at the end of what was ready already.
#[test]
fn e9_a_receive_goes_on_behind_what_it_drops() {
    on_both(|queue| {
        let event = |payload: &str| NewEvent::new(payload);
        for number in 0..3 {
            queue.publish(event("short").key([b'k', number]).ttl(SECOND));
            queue.publish(event("short too").key([b'k', number]).ttl(SECOND));
            for payload in ["first", "second"] {
                queue.publish(event(&format!("{payload} {number}")).key([b'k', number]));
            }
        }
        queue.publish(event("other"));
        queue.advance(SECOND);
        let (_, received) = queue.receive(3);
        let payloads = |events: &[Event]| -> Vec<_> {
            let text = |event: &Event| String::from_utf8_lossy(&event.payload).into_owned();
            events.iter().map(text).collect()
        };
        assert_eq!(payloads(&received.events), ["other", "first 0", "first 1"]);
        assert_eq!((received.ready, received.next_in), (1, Some(0)));
        assert_eq!(queue.payloads(), ["first 2"]);

        // A thousand are dropped, wherever they were, and those behind them are left for the next step.
        for _ in 0..3 {
            let short = (0..500).map(|_| event("short").key("l").ttl(SECOND));
            queue.try_publish(short.collect()).expect("there is room");
        }
        queue.publish(event("long").key("l"));
        queue.advance(SECOND);
        let (_, received) = queue.receive(10);
        assert_eq!((received.events.len(), received.next_in), (0, Some(0)));
        assert_eq!(queue.stats().behind, 3 + 500);
        assert_eq!(queue.payloads(), ["long"]);
    });
}

#[test]
fn e1_long_bodies_lie_apart_and_a_receive_stops_at_8_mib() {
    on_both(|queue| {
        // Two bytes of a body say how long its headers are.
        for (bytes, apart) in [(254, 0), (255, 1)] {
            queue.publish(NewEvent::new(vec![b'x'; bytes]));
            if let Some(server) = queue.server {
                assert_eq!(server.cli(&["HLEN", &format!("{ROOT}:bodies")]).integer(), apart);
            }
        }
        assert_eq!(queue.payloads().iter().map(String::len).collect::<Vec<_>>(), [254, 255]);
        for _ in 0..4 {
            queue.publish(NewEvent::new(vec![b'x'; 5 << 20]));
        }
        queue.publish(NewEvent::new(vec![b'x'; 16 << 20]));
        let counts = [2, 2, 1, 0].map(|_| queue.receive(100).1.events.len());
        assert_eq!(counts, [2, 2, 1, 0], "at least one, and no more once there are 8 MiB");
    });
}

#[test]
fn e2_equal_times_keep_the_order_of_publishing() {
    on_both(|queue| {
        let at_ms = BEGAN / 1_000 + 5;
        let all: Vec<String> = (0..50).map(|number| number.to_string()).collect();
        for payload in &all {
            queue.publish(NewEvent::new(payload.as_bytes()).at_ms(at_ms));
        }
        queue.advance(SECOND);
        assert_eq!(queue.payloads(), all);
    });
}

/// A replica that lags takes over: it knows nothing of the last ids, and gives out others.
#[test]
fn e2_ids_that_a_failover_lost_are_not_given_again() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let before = queue.publish(NewEvent::new("kept")).id;
    let sequence = server.cli(&["HGET", ROOT, "sequence"]).text();
    let lost = queue.publish(NewEvent::new("lost")).id;
    server.cli(&["HSET", ROOT, "sequence", &sequence]);
    // A failover takes longer than it takes to publish that many.
    queue.advance(SECOND);
    let after = queue.publish(NewEvent::new("after")).id;
    assert!(before < lost && lost < after, "{before} {lost} {after}");
}

#[test]
fn e3_a_queue_of_one_partition_lies_under_one_tag() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    for key in ["", "k", "k"] {
        queue.publish(NewEvent::new("a").key(key).dedup_id("d"));
        queue.publish(NewEvent::new("b").key(key).delay(SECOND));
    }
    queue.receive(1);
    let keys = server.cli(&["KEYS", "*"]).array().iter().map(|key| key.text()).collect::<Vec<_>>();
    assert!(keys.len() > 5 && keys.iter().all(|key| key.starts_with(ROOT)), "{keys:?}");
    assert_eq!(server.cli(&["HGET", ROOT, "version"]).text(), "events.v1", "version-mark");
}

#[test]
fn e4_lanes_name_the_open_event_of_a_key() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let lanes = format!("{ROOT}:lanes:default");
    queue.publish(NewEvent::new("a").key("k"));
    queue.publish(NewEvent::new("b").key("k"));
    let (receipt, _) = queue.take();
    let open = server.cli(&["HGET", &lanes, "k"]).bytes().to_vec();
    assert_eq!(open.len(), 12);
    assert!(
        server
            .cli(&[b"ZSCORE".as_slice(), format!("{ROOT}:leased:default").as_bytes(), &open])
            .text()
            != ""
    );
    assert_eq!(server.cli(&["LLEN", &format!("{ROOT}:lane:default:k")]).integer(), 1);
    queue.settle(receipt, End::Done);
    assert_ne!(server.cli(&["HGET", &lanes, "k"]).bytes(), open, "the next one");
}

/// Lanes that are too long to be searched keep the ids of what was cancelled in them; these count for nothing.
#[test]
fn what_is_cancelled_in_a_long_lane_does_not_count() {
    on_both(|queue| {
        queue.configure(|config| config.events_max = 2_000);
        let events = |count| (0..count).map(|_| NewEvent::new("x").key("k")).collect();
        let mut ids = Vec::new();
        for _ in 0..2 {
            ids.extend(queue.try_publish(events(1_000)).expect("there is room"));
        }
        let ids: Vec<_> = ids.iter().map(|published| published.id).collect();
        let (head, _) = queue.receive(1);
        let head = Receipt { id: ids[0], token: head };
        assert_eq!(queue.try_publish(events(1)).unwrap_err().kind(), ErrorKind::QueueFull);
        assert_eq!(queue.cancel(&ids[300..1_800]), [Cancelled::Removed; 1_500]);
        assert_eq!(queue.cancel(&ids[300..310]), [Cancelled::Removed; 10]);
        assert_eq!((queue.stats().events, queue.stats().ready), (500, 0));
        ids_left(queue, &ids[1..300], &ids[1_800..]);
        queue.try_publish(events(1_000)).expect("there is room");
        assert_eq!(queue.cancel(&ids[1..300]), [Cancelled::Removed; 299]);
        assert_eq!(queue.settle(head, End::Done), Settled::Ended);
        // What comes next is ready, and not something that is gone.
        let stats = queue.stats();
        assert_eq!((stats.events, stats.ready), (1_200, 1));
        let (next, _) = queue.take();
        assert_eq!(next.id, ids[1_800]);
        // The last one of a lane is cancelled, and what it had is left without any.
        assert_eq!(queue.cancel(&ids[1_801..]), [Cancelled::Removed; 199]);
        assert_eq!(queue.settle(next, End::Done), Settled::Ended);
        let (last, _) = queue.take();
        let filter = PurgeFilter::new().key("k");
        let op = queue.op();
        let purge = Purge::new(queue.partition.clone(), op, EventState::Behind, &filter);
        assert_eq!(queue.run(purge).expect("it is there").removed, 999);
        assert_eq!(queue.settle(last, End::Done), Settled::Ended);
        let stats = queue.stats();
        assert_eq!((stats.events, stats.ready), (0, 0));
        assert!(queue.payloads().is_empty());
    });
}

/// Checks that these are what waits behind the first event of `k`, in order, in pages of 100.
fn ids_left(queue: &Queue<'_>, first: &[EventId], then: &[EventId]) {
    let (mut listed, mut query) = (Vec::new(), EventQuery::new().key("k").limit(100));
    loop {
        let list = List::new(queue.partition.clone(), EventState::Behind, &query);
        let page = queue.run(list).expect("it is there");
        listed.extend(page.events.iter().map(|event| event.id));
        let Some(next) = page.next else { break };
        assert_eq!(page.events.len(), 100, "a page is full");
        query = query.after(next);
    }
    assert_eq!(listed, [first, then].concat());
}

#[test]
fn e7_while_paused_the_next_time_is_that_of_a_lease() {
    on_both(|queue| {
        queue.publish(NewEvent::new("a"));
        queue.take();
        queue.publish(NewEvent::new("b").delay(SECOND));
        queue.configure(|config| config.paused = true);
        assert_eq!(queue.receive(1).1.next_in, Some(30_000_000));
        queue.advance(2 * SECOND);
        let (_, received) = queue.receive(1);
        assert_eq!((received.events.len(), received.next_in), (0, Some(28_000_000)));
    });
}

/// A partition whose clock is ahead of the server's, as after a failover to a slower one, waits for the server's.
#[test]
fn e8_the_next_time_is_counted_from_the_clock_that_is_waited_by() {
    let (ahead, delay) = (30 * SECOND, 2 * SECOND);
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("it is there");
    let directory = tempfile::tempdir().expect("there is room");
    let open = |now: u64| {
        let url = format!("file:{}", directory.path().display());
        let options = Options::parse(&url).expect("a right URL");
        options.clock(Arc::new(ManualClock::at(now))).connect().expect("nobody holds it")
    };
    let partition = Partition::new("orders", 0, 7).expect("a right name");
    let op = |number| Op { slot: [1; 10], number };
    let publish = || {
        let event = NewEvent::new("a").delay(delay);
        Publish::new(partition.clone(), op(1), vec![event], 0)
    };
    let receive = || Receive::new(partition.clone(), op(2), 1, None, [1; 8], 1);
    let create = || Open::create(partition.clone(), 1, Config::default());

    client.run(create()).expect("it is new");
    let time = server.cli(&["TIME"]);
    let seconds: u64 = time.array()[0].text().parse().expect("a number");
    let clock = (seconds + ahead.as_secs()) * 1_000_000;
    server.cli(&["HSET", ROOT, "clock", &clock.to_string()]);
    assert_eq!(client.run(publish()).expect("there is room")[0].fire_at_us, clock + 2_000_000);
    let on_redis = client.run(receive()).expect("it is there").next_in.expect("one waits");
    assert!((30_000_000..=32_000_000).contains(&on_redis), "{on_redis}");

    let engine = open(BEGAN + 30_000_000);
    engine.run(create()).expect("it is new");
    engine.run(publish()).expect("there is room");
    drop(engine);
    let embedded = open(BEGAN).run(receive()).expect("it is there").next_in;
    assert_eq!(embedded, Some(32_000_000));
}

#[test]
fn clock_back_keeps_order() {
    let directory = tempfile::tempdir().expect("there is room");
    let queue = |now: u64| {
        let url = format!("file:{}", directory.path().display());
        let options = Options::parse(&url).expect("a right URL");
        let client = options.clock(Arc::new(ManualClock::at(now))).connect();
        client.expect("nobody holds it").events("orders")
    };
    let event = |payload: &str| NewEvent::new(payload).key("k");
    let first = queue(BEGAN + 30_000_000).publish(event("first")).expect("there is room");
    let second = queue(BEGAN).publish(event("second")).expect("there is room");
    assert_eq!(second.fire_at_us, first.fire_at_us);
    let queue = queue(BEGAN);
    let mut seen = Vec::new();
    for event in queue.deliveries().flat_map(|batch| batch.expect("it is there")) {
        seen.push(String::from_utf8_lossy(&event.payload).into_owned());
        queue.ack(&event).expect("it is held");
    }
    assert_eq!(seen, ["first", "second"]);
}

/// A bucket that was emptied while the clock was a day ahead fills from when that is seen.
#[test]
fn a_bucket_fills_once_the_clock_was_set_back() {
    let limit = |config: &mut Config| (config.rate, config.burst) = (2, 3);
    let counts = |queue: &mut dyn FnMut(u64) -> usize| {
        // A day ahead; back; and then on by half a second each.
        [86_400_000, 0, 500, 1_000, 1_200, 3_000, 3_100].map(queue)
    };
    let server = Redis::start();
    let mut on_redis = Queue::new(Some(&server));
    on_redis.configure(limit);
    for _ in 0..20 {
        on_redis.publish(NewEvent::new("a"));
    }
    let on_redis = counts(&mut |ms| {
        on_redis.now = BEGAN + 1_000 * ms;
        on_redis.receive(100).1.events.len()
    });
    assert_eq!(on_redis, [3, 0, 1, 1, 0, 3, 0]);

    let directory = tempfile::tempdir().expect("there is room");
    let open = |now: u64| {
        let url = format!("file:{}", directory.path().display());
        let options = Options::parse(&url).expect("a right URL");
        let client = options.clock(Arc::new(ManualClock::at(now))).connect();
        client.expect("nobody holds it").events("orders")
    };
    let mut config = Config::default();
    limit(&mut config);
    open(BEGAN).configure(config).expect("it is new");
    open(BEGAN).publish_many((0..20).map(|_| NewEvent::new("a"))).expect("there is room");
    let embedded = counts(&mut |ms| {
        let queue = open(BEGAN + 1_000 * ms);
        queue.receive(100).expect("it is there").len()
    });
    assert_eq!(embedded, on_redis);
}

#[test]
fn stats_equal_lists() {
    on_both(|queue| {
        queue.configure(|config| config.max_attempts = 2);
        for payload in ["dead", "retry", "leased"] {
            queue.publish(NewEvent::new(payload));
        }
        let (token, received) = queue.receive(3);
        let receipt = |at: usize| Receipt { id: received.events[at].id, token };
        queue.settle(receipt(0), End::Dead(String::new()));
        queue.settle(receipt(1), failed(SECOND));
        queue.publish(NewEvent::new("scheduled").delay(SECOND));
        for _ in 0..3 {
            queue.publish(NewEvent::new("k").key("k"));
        }
        let behind = EventQuery::new().key("k");
        let listed = |state, query: &EventQuery| {
            let step = List::new(queue.partition.clone(), state, query);
            queue.run(step).expect("it is there").events.len() as u64
        };
        let count = |state| listed(state, &EventQuery::new());
        let stats = queue.stats();
        use EventState::{Behind, Dead, Leased, Ready, Retry, Scheduled};
        assert_eq!(stats.events, 7);
        assert_eq!([stats.scheduled, stats.ready], [Scheduled, Ready].map(count));
        assert_eq!([stats.leased, stats.retry, stats.dead], [Leased, Retry, Dead].map(count));
        assert_eq!(stats.behind, listed(Behind, &behind));
        assert_eq!((stats.behind, stats.ready, stats.dead), (2, 1, 1));
    });
}

#[test]
fn key_cancel_head() {
    on_both(|queue| {
        let ids = ["a", "b", "c"].map(|payload| queue.publish(NewEvent::new(payload).key("k")).id);
        let cancel = |queue: &Queue<'_>, id| {
            queue.run(Cancel::new(queue.partition.clone(), vec![id], false)).expect("it is there")
        };
        cancel(queue, ids[0]);
        assert_eq!(queue.payloads(), ["b"]);
        cancel(queue, ids[2]);
        assert_eq!(queue.stats().events, 1);
    });
}

#[test]
fn reschedule_later() {
    on_both(|queue| {
        let id = queue.publish(NewEvent::new("a").delay(SECOND)).id;
        let at = When::After(3 * SECOND);
        let step = millpond::events::Reschedule::new(queue.partition.clone(), vec![id], at);
        queue.run(step).expect("it waits");
        queue.advance(3 * SECOND - MICROSECOND);
        assert!(queue.payloads().is_empty());
        queue.advance(MICROSECOND);
        assert_eq!(queue.payloads(), ["a"]);
    });
}

#[test]
fn reschedule_retry() {
    on_both(|queue| {
        let minute = 60 * SECOND;
        let retried = |queue: &mut Queue<'_>| {
            let id = queue.publish(NewEvent::new("first").key("k").ttl(SECOND)).id;
            let next = queue.publish(NewEvent::new("next").key("k")).id;
            let (receipt, _) = queue.take();
            assert_eq!(queue.settle(receipt, failed(minute)), Settled::Ended);
            (id, next)
        };
        let move_to = |queue: &Queue<'_>, ids: &[EventId], at| {
            let step = millpond::events::Reschedule::new(queue.partition.clone(), ids.into(), at);
            queue.run(step).expect("it is there")
        };
        // Forward, back and now; what waits behind it goes on waiting.
        let (id, next) = retried(queue);
        assert_eq!(
            move_to(queue, &[id, next], When::After(SECOND)),
            [Rescheduled::Rescheduled, Rescheduled::TooLate]
        );
        let (_, nothing) = queue.receive(1);
        assert_eq!((nothing.events.len(), nothing.next_in), (0, Some(1_000_000)));
        assert_eq!(move_to(queue, &[id], When::After(2 * minute)), [Rescheduled::Rescheduled]);
        queue.advance(minute);
        assert!(queue.payloads().is_empty());
        assert_eq!(queue.stats().retry, 1);
        assert_eq!(move_to(queue, &[id], When::Now), [Rescheduled::Rescheduled]);
        assert_eq!(move_to(queue, &[id], When::Now), [Rescheduled::TooLate]);
        let event = queue.fetch(id).expect("it is ready");
        assert_eq!((event.state, event.attempts, event.fire_at_us), (EventState::Ready, 1, BEGAN));
        assert_eq!(queue.stats().ready, 1);
    });
}

/// Whatever an event waits for, and however long the lane is that it is cancelled in.
#[test]
fn cancel_frees_name() {
    on_both(|queue| {
        let reminder = || NewEvent::new("reminder").key("k").dedup_id("d");
        let cancel = |queue: &Queue<'_>, id, also_running| {
            let step = Cancel::new(queue.partition.clone(), vec![id], also_running);
            queue.run(step).expect("it is there")[0]
        };
        let is_free = |queue: &mut Queue<'_>| {
            assert_eq!(queue.stats().dedup_ids, 0);
            let again = queue.publish(reminder());
            assert_eq!(again.status, Status::Created);
            again.id
        };
        let scheduled = queue.publish(reminder().delay(SECOND)).id;
        assert_eq!(cancel(queue, scheduled, false), Cancelled::Removed);
        let ready = is_free(queue);
        assert_eq!(cancel(queue, ready, false), Cancelled::Removed);
        // It waits for its retry, and is a dead letter.
        for end in [failed(SECOND), End::Dead(String::new())] {
            let id = is_free(queue);
            let (receipt, _) = queue.take();
            queue.settle(receipt, end);
            assert_eq!(cancel(queue, id, false), Cancelled::Removed);
        }
        // It is leased: once its delivery ends, unless it was done.
        for end in [failed(SECOND), End::Done] {
            let id = is_free(queue);
            let (receipt, _) = queue.take();
            assert_eq!(cancel(queue, id, true), Cancelled::Running);
            assert_eq!(queue.publish(reminder()).status, Status::Duplicate);
            let is_done = end == End::Done;
            queue.settle(receipt, end);
            assert_eq!(queue.stats().dedup_ids, u64::from(is_done));
        }
        queue.advance(DEDUP_WINDOW);
        for _ in 0..1_001 {
            queue.publish(NewEvent::new("before").key("k"));
        }
        let deep = queue.publish(reminder()).id;
        queue.publish(NewEvent::new("behind").key("k"));
        assert_eq!(cancel(queue, deep, false), Cancelled::Removed);
        is_free(queue);
    });
}

/// A delivery that hangs is taken away, and its key goes on; what its holder does later is refused.
#[test]
fn cancel_force() {
    on_both(|queue| {
        queue.configure(|config| config.concurrency = 1);
        let hangs = || NewEvent::new("hangs").key("k").dedup_id("d");
        for end in [End::Done, failed(None), End::Released(None), End::Dead(String::new())] {
            let id = queue.publish(hangs()).id;
            queue.publish(NewEvent::new("next").key("k"));
            let (receipt, _) = queue.take();
            let cancel = |queue: &Queue<'_>, also_running, force| {
                let step = Cancel::new(queue.partition.clone(), vec![id], also_running);
                queue.run(step.map(|step| step.force(force))).expect("it is there")[0]
            };
            assert_eq!(cancel(queue, true, false), Cancelled::Running);
            assert_eq!(cancel(queue, false, true), Cancelled::Removed);
            assert_eq!((queue.stats().leased, queue.stats().dedup_ids), (0, 0));
            assert_eq!(queue.settle(receipt, end), Settled::Lost);
            assert_eq!(queue.renew(receipt), Held::Lost);
            let follow = queue.op();
            let follow = Publish::done(queue.partition.clone(), follow, Vec::new(), receipt);
            assert_eq!(queue.run(follow).unwrap_err().kind(), ErrorKind::LeaseLost);
            let (next, event) = queue.take();
            assert_eq!(&*event.payload, b"next");
            queue.settle(next, End::Done);
            assert_eq!(queue.stats().events, 0);
        }
    });
}

/// For ten minutes it is known that an event was cancelled, and that another one has ended by itself.
#[test]
fn cancel_twice() {
    on_both(|queue| {
        let cancel = |queue: &Queue<'_>, id: EventId, also_running, force| {
            let step = Cancel::new(queue.partition.clone(), vec![id], also_running);
            queue.run(step.map(|step| step.force(force))).expect("it is there")[0]
        };
        let publish = |queue: &mut Queue<'_>| queue.publish(NewEvent::new("a").key("k")).id;
        let ready = publish(queue);
        assert_eq!(cancel(queue, ready, false, false), Cancelled::Removed);
        // Its holder is told to stop, and does; or does not come back.
        let stopped = publish(queue);
        let (receipt, _) = queue.take();
        assert_eq!(cancel(queue, stopped, true, false), Cancelled::Running);
        assert_eq!(queue.settle(receipt, failed(None)), Settled::Cancelled);
        assert_eq!(queue.settle(receipt, failed(None)), Settled::Gone, "the same end, sent again");
        let crashed = publish(queue);
        queue.take();
        assert_eq!(cancel(queue, crashed, true, false), Cancelled::Running);
        queue.advance(30 * SECOND);
        assert!(queue.payloads().is_empty());
        let forced = publish(queue);
        queue.take();
        assert_eq!(cancel(queue, forced, false, true), Cancelled::Removed);
        let done = publish(queue);
        let (receipt, _) = queue.take();
        assert_eq!(cancel(queue, done, true, false), Cancelled::Running);
        assert_eq!(queue.settle(receipt, End::Done), Settled::Ended);
        let again = |queue: &Queue<'_>| {
            [stopped, crashed, forced, done].map(|id| cancel(queue, id, false, false))
        };
        use Cancelled::{Gone, Removed};
        assert_eq!(again(queue), [Removed, Removed, Removed, Gone]);
        // Another period begins, and a step in it is remembered.
        for _ in 0..2 {
            queue.advance(300 * SECOND - MICROSECOND);
            publish(queue);
            assert_eq!(again(queue)[1..], [Removed, Removed, Gone]);
        }
        queue.advance(2 * MICROSECOND);
        assert_eq!(again(queue), [Gone; 4]);
        assert_eq!(cancel(queue, ready, false, false), Gone);
    });
}

/// What is there can be worked on, and what is new is refused.
#[test]
fn e10_a_full_server_refuses_events_and_takes_their_ends() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    let events = ["a", "b", "c", "d"].map(NewEvent::new);
    queue.try_publish(events.into()).expect("there is room");
    let later = queue.publish(NewEvent::new("later").delay(SECOND)).id;
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let op = queue.op();
    let token = op.number.to_be_bytes();
    // Setting the time would be refused.
    let receive = Receive::new(queue.partition.clone(), op, 3, None, token, 1);
    let held = queue.client.run(receive).expect("it makes room first").events;
    assert_eq!(held.len(), 3);
    let ends = [End::Done, failed(SECOND), End::Dead(String::new())];
    let end = |(event, end)| Settlement { receipt: Receipt::from(event), end };
    let ends = held.iter().zip(ends).map(end).collect();
    let renew = Renew::new(queue.partition.clone(), vec![Receipt::from(&held[0])], None);
    assert_eq!(queue.client.run(renew).expect("it makes room first").held, [Held::Held]);
    let settled = queue.client.run(Settle::new(queue.partition.clone(), ends, 1));
    assert_eq!(settled.expect("it makes room first"), [Settled::Ended; 3]);
    let cancel = Cancel::new(queue.partition.clone(), vec![later], false);
    queue.client.run(cancel).expect("it makes room first");
    let op = queue.op();
    let publish = Publish::new(queue.partition.clone(), op, vec![NewEvent::new("e")], 0);
    let refused = queue.client.run(publish).expect_err("the server is full");
    assert_eq!(refused.kind(), ErrorKind::OutOfMemory, "{refused}");
    let read = ReadStats::new(queue.partition.clone());
    let (stats, _) = queue.client.run(read).expect("it reads");
    assert_eq!((stats.events, stats.ready, stats.retry, stats.dead), (3, 1, 1, 1));
}

#[test]
fn e17_a_server_without_replicas_delivers_nothing() {
    let server = Redis::start();
    let mut queue = Queue::new(Some(&server));
    queue.publish(NewEvent::new("a"));
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let op = queue.op();
    let receive = Receive::new(queue.partition.clone(), op, 1, None, [1; 8], 1);
    let refused = queue.client.run(receive).expect_err("there are none");
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert_eq!(queue.payloads(), ["a"]);
}

/// The tables of the rules name cases and tests that are there.
#[test]
fn each_rule_is_held_by_what_the_table_says() {
    let root = env!("CARGO_MANIFEST_DIR");
    let read = |path: String| std::fs::read_to_string(&path).unwrap_or_default();
    for (queue, least) in [("events", 100), ("volatile", 50), ("recruiter", 70), ("tracker", 30)] {
        let folder = format!("{root}/conformance/cases/{queue}");
        let table = read(format!("{folder}/README.md"));
        let rows = table.lines().skip_while(|line| *line != "| rule | held by |").skip(2);
        let mut count = 0;
        for row in rows.map_while(|row| row.strip_prefix("| ")?.strip_suffix(" |")) {
            let (rule, held_by) = row.split_once(" | ").expect("a row has two cells");
            for place in held_by.split("; ") {
                let (file, name) = place.split_once(": ").expect("a place is a file and a name");
                let case = format!("{{\"name\": \"{name}\",");
                let is_case = read(format!("{folder}/{file}.json")).contains(&case);
                let test = format!("#[test]\nfn {name}() {{");
                let source = match file {
                    "core" => format!("../core/src/{queue}/tests.rs"),
                    "model" => format!("../core/src/{queue}/reshard/model.rs"),
                    "schedules" => "tests/all/schedules.rs".to_owned(),
                    "calendar" => "tests/all/schedules_calendar.rs".to_owned(),
                    "full_memory" => "tests/all/full_memory.rs".to_owned(),
                    "lottery" | "new_job" | "pacer" | "fleet" | "embedded" => {
                        format!("../core/src/{queue}/{file}.rs")
                    }
                    file => format!("tests/all/{queue}_{file}.rs"),
                };
                let source = read(format!("{root}/{source}"));
                let source: Vec<_> = source.lines().map(str::trim_start).collect();
                let source = source.join("\n");
                assert!(is_case || source.contains(&test), "{rule}: {place} is not there");
                count += 1;
            }
        }
        assert!(count > least, "{queue}: {count}");
    }
}
