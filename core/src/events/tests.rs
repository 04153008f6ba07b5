//! The rules that hold in every step, on the embedded engine, whose clock the test moves. `events_agreement` shows that
//! scripts do the same.

use std::sync::Arc;
use std::time::Duration;

use super::redrive_all::RedriveRange;
use super::*;
use crate::error::{ErrorKind, Result};
use crate::runtime::clock::ManualClock;
use crate::step::When;
use crate::{Client, Options};

const BEGAN: u64 = 1_790_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);

struct Queue {
    client: Client,
    clock: Arc<ManualClock>,
    partition: Partition,
    calls: u64,
}

impl Queue {
    fn new(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(ManualClock::at(BEGAN));
        let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
        let partition = Partition::new("orders", 0, 7).unwrap();
        let queue = Self { client, clock, partition, calls: 0 };
        queue.configure(1, configure);
        queue
    }

    fn configure(&self, revision: u64, configure: impl FnOnce(&mut Config)) {
        let mut config = Config::default();
        configure(&mut config);
        let step = Open::create(self.partition.clone(), revision, config);
        self.client.run(step).unwrap().expect("it is there");
    }

    fn op(&mut self) -> Op {
        self.calls += 1;
        Op { slot: [0; 10], number: self.calls }
    }

    fn try_publish(&mut self, events: Vec<NewEvent>) -> Result<Vec<Published>> {
        let op = self.op();
        self.client.run(Publish::new(self.partition.clone(), op, events, 0))
    }

    fn publish(&mut self, event: NewEvent) -> Published {
        self.try_publish(vec![event]).unwrap()[0]
    }

    fn receive(&mut self, max: usize) -> (Token, Received) {
        let op = self.op();
        let token = op.number.to_be_bytes();
        let step = Receive::new(self.partition.clone(), op, max, None, token, 1);
        (token, self.client.run(step).unwrap())
    }

    /// The payloads of all events that can be received.
    fn payloads(&mut self) -> Vec<String> {
        let text = |event: &Event| String::from_utf8(event.payload.to_vec()).unwrap();
        self.receive(100).1.events.iter().map(text).collect()
    }

    fn settle(&self, id: EventId, token: Token, end: End) -> Settled {
        let ends = vec![Settlement { receipt: Receipt { id, token }, end }];
        self.client.run(Settle::new(self.partition.clone(), ends, 1)).unwrap()[0]
    }

    /// Publishes an event, receives it and makes it a dead letter; returns its id and the token of its delivery.
    fn bury(&mut self, event: NewEvent, reason: &str) -> (EventId, Token) {
        let id = self.publish(event).id;
        let (token, received) = self.receive(1);
        assert_eq!(received.events[0].id, id);
        assert_eq!(self.settle(id, token, End::Dead(reason.to_owned())), Settled::Ended);
        (id, token)
    }

    fn redrive(&mut self, ids: &[EventId]) -> Vec<Redriven> {
        let op = self.op();
        self.client.run(Redrive::new(self.partition.clone(), op, ids.to_vec())).unwrap()
    }

    fn purge(&mut self, state: EventState, filter: &PurgeFilter) -> u64 {
        let op = self.op();
        let step = Purge::new(self.partition.clone(), op, state, filter);
        self.client.run(step).unwrap().removed
    }

    fn fetch(&self, id: EventId) -> Option<Event> {
        self.client.run(Fetch::new(self.partition.clone(), vec![id])).unwrap().remove(0)
    }

    fn list(&self, state: EventState, query: &EventQuery) -> EventPage {
        self.client.run(List::new(self.partition.clone(), state, query)).unwrap()
    }

    fn stats(&self) -> Stats {
        self.client.run(ReadStats::new(self.partition.clone())).unwrap().0
    }
}

fn failed(after: Duration) -> End {
    End::Failed("broken".to_owned(), Some(after))
}

#[test]
fn an_event_fires_at_its_time_and_not_a_microsecond_before() {
    let mut queue = Queue::new(|_| {});
    let published = queue.publish(NewEvent::new("later").delay(SECOND));
    assert_eq!(published.fire_at_us, BEGAN + 1_000_000);
    queue.clock.advance(Duration::from_micros(999_999));
    let (_, nothing) = queue.receive(1);
    assert_eq!((nothing.events.len(), nothing.next_in), (0, Some(1)));
    queue.clock.advance(Duration::from_micros(1));
    assert_eq!(queue.payloads(), ["later"]);
    let past = queue.publish(NewEvent::new("past").at_ms(5));
    assert_eq!(past.fire_at_us, BEGAN + 1_000_000);
    assert_eq!(queue.payloads(), ["past"]);
}

#[test]
fn events_of_equal_times_come_in_the_order_of_publishing() {
    let mut queue = Queue::new(|_| {});
    let at_ms = BEGAN / 1_000 + 5;
    for payload in ["a", "b", "c"] {
        queue.publish(NewEvent::new(payload).at_ms(at_ms));
    }
    queue.publish(NewEvent::new("first").at_ms(at_ms - 1));
    queue.clock.advance(SECOND);
    assert_eq!(queue.payloads(), ["first", "a", "b", "c"]);
}

#[test]
fn events_of_a_key_come_one_at_a_time() {
    let mut queue = Queue::new(|config| config.max_attempts = 2);
    for payload in ["k1", "k2", "k3"] {
        queue.publish(NewEvent::new(payload).key("k"));
    }
    queue.publish(NewEvent::new("other").key("l"));
    let (token, received) = queue.receive(100);
    assert_eq!(received.events.len(), 2);
    assert_eq!(&*received.events[1].payload, b"other");
    assert_eq!(queue.stats().behind, 2);

    // An event that is retried holds up those behind it, until it is a dead letter.
    let first = received.events[0].id;
    assert_eq!(queue.settle(first, token, failed(SECOND)), Settled::Ended);
    assert!(queue.payloads().is_empty());
    queue.clock.advance(SECOND);
    let (token, received) = queue.receive(100);
    assert_eq!((received.events[0].id, received.events[0].attempts), (first, 2));
    assert_eq!(queue.settle(first, token, failed(SECOND)), Settled::Died);
    let (token, received) = queue.receive(100);
    assert_eq!(&*received.events[0].payload, b"k2");
    assert_eq!(queue.settle(received.events[0].id, token, End::Done), Settled::Ended);
    assert_eq!(queue.payloads(), ["k3"]);
    assert_eq!(queue.stats().dead, 1);
}

#[test]
fn what_is_published_now_does_not_pass_what_was_due_before() {
    let mut queue = Queue::new(|_| {});
    queue.publish(NewEvent::new("was due").key("k").delay(SECOND));
    queue.clock.advance(2 * SECOND);
    queue.publish(NewEvent::new("is due").key("k"));
    assert_eq!(queue.payloads(), ["was due"]);
}

#[test]
fn keys_take_turns() {
    let mut queue = Queue::new(|_| {});
    for number in 0..100 {
        queue.publish(NewEvent::new(format!("a{number}")).key("a"));
    }
    queue.publish(NewEvent::new("b").key("b"));
    let (token, received) = queue.receive(1);
    queue.clock.advance(Duration::from_micros(1));
    queue.settle(received.events[0].id, token, End::Done);
    let (_, received) = queue.receive(1);
    assert_eq!(&*received.events[0].payload, b"b");
}

#[test]
fn a_lease_that_runs_out_is_a_failure_and_its_token_counts_until_the_next_delivery() {
    let mut queue = Queue::new(|config| {
        config.lease = SECOND;
        (config.backoff_min, config.backoff_max) = (Duration::ZERO, Duration::ZERO);
        config.max_crashes = 2;
    });
    let id = queue.publish(NewEvent::new("a")).id;
    let (late, _) = queue.receive(1);
    queue.clock.advance(SECOND);
    let (token, again) = queue.receive(1);
    assert_eq!((again.events[0].attempts, again.events[0].crashes), (2, 1));
    assert_eq!(queue.settle(id, late, End::Done), Settled::Lost);

    // The second lease expires too, so the event is dead; but it was not delivered again.
    queue.clock.advance(SECOND);
    assert!(queue.payloads().is_empty());
    assert_eq!(queue.stats().dead, 1);
    assert_eq!(queue.settle(id, token, failed(SECOND)), Settled::Ended);
    assert_eq!(queue.settle(id, token, End::Done), Settled::Ended);
    assert_eq!(queue.settle(id, token, End::Done), Settled::Gone);
    assert_eq!(queue.stats().events, 0);
}

#[test]
fn an_end_that_is_sent_again_changes_nothing() {
    let mut queue = Queue::new(|_| {});
    let id = queue.publish(NewEvent::new("a")).id;
    let (token, _) = queue.receive(1);
    assert_eq!(queue.settle(id, token, failed(SECOND)), Settled::Ended);
    assert_eq!(queue.settle(id, token, failed(2 * SECOND)), Settled::Ended);
    assert_eq!(queue.settle(id, token, End::Done), Settled::Lost);
    queue.clock.advance(SECOND);
    assert_eq!(queue.payloads(), ["a"]);
}

#[test]
fn a_release_is_no_attempt() {
    let mut queue = Queue::new(|config| config.max_attempts = 1);
    let id = queue.publish(NewEvent::new("a")).id;
    for _ in 0..3 {
        let (token, received) = queue.receive(1);
        assert_eq!(received.events[0].attempts, 1);
        assert_eq!(queue.settle(id, token, End::Released(None)), Settled::Ended);
    }
    let (token, _) = queue.receive(1);
    assert_eq!(queue.settle(id, token, End::Dead("no".to_owned())), Settled::Ended);
    assert_eq!(queue.stats().dead, 1);
}

#[test]
fn a_deduplication_id_is_remembered_to_the_microsecond() {
    let mut queue = Queue::new(|_| {});
    let event = || NewEvent::new("a").dedup_id("d").dedup_window(SECOND);
    let first = queue.publish(event());
    assert_eq!(first.status, Status::Created);
    let again = queue.publish(event());
    assert_eq!((again.status, again.id), (Status::Duplicate, first.id));
    assert_eq!(queue.publish(event().key("k")).status, Status::Created, "the id of another key");
    let refused = queue.try_publish(vec![event().if_exists(IfExists::Error)]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);

    let (token, received) = queue.receive(1);
    queue.settle(received.events[0].id, token, End::Done);
    queue.clock.advance(Duration::from_micros(999_999));
    assert_eq!(queue.publish(event()).status, Status::Duplicate, "it has ended, but is remembered");
    queue.clock.advance(Duration::from_micros(1));
    assert_eq!(queue.publish(event()).status, Status::Created);

    // A waiting event is replaced, and a leased one gets a new one beside it.
    let replace = || event().if_exists(IfExists::Replace);
    assert_eq!(queue.publish(replace()).status, Status::Replaced);
    assert_eq!(queue.receive(10).1.events.len(), 2);
    assert_eq!(queue.publish(replace()).status, Status::Replaced);
    assert_eq!(queue.payloads().len(), 1);
}

#[test]
fn an_event_that_expires_is_not_delivered() {
    let mut queue = Queue::new(|_| {});
    queue.publish(NewEvent::new("short").key("k").delay(SECOND).ttl(SECOND));
    queue.publish(NewEvent::new("long").key("k").delay(SECOND));
    queue.clock.advance(2 * SECOND);
    assert_eq!(queue.payloads(), ["long"], "the other one is dropped, and makes way");
}

#[test]
fn what_is_cancelled_is_gone_or_told_to_stop() {
    let mut queue = Queue::new(|_| {});
    let [head, behind, later] = [
        NewEvent::new("head").key("k"),
        NewEvent::new("behind").key("k"),
        NewEvent::new("later").delay(SECOND),
    ]
    .map(|event| queue.publish(event).id);
    let (token, _) = queue.receive(1);
    let cancel = |ids| queue.client.run(Cancel::new(queue.partition.clone(), ids, true)).unwrap();
    assert_eq!(
        cancel(vec![head, behind, later, EventId::MIN]),
        [Cancelled::Running, Cancelled::Removed, Cancelled::Removed, Cancelled::Gone]
    );
    let step = Renew::new(
        queue.partition.clone(),
        vec![Receipt { id: head, token }, Receipt { id: head, token: [9; 8] }],
        None,
    );
    assert_eq!(queue.client.run(step).unwrap().held, [Held::Cancelled, Held::Lost]);
    assert_eq!(queue.settle(head, token, failed(SECOND)), Settled::Cancelled);
    assert_eq!(queue.stats().events, 0);
}

#[test]
fn an_event_gets_another_time_while_it_waits() {
    let mut queue = Queue::new(|_| {});
    let id = queue.publish(NewEvent::new("a").delay(10 * SECOND)).id;
    let partition = queue.partition.clone();
    let move_to = |queue: &Queue, at| {
        let step = Reschedule::new(partition.clone(), vec![id], at);
        queue.client.run(step).unwrap()[0]
    };
    assert_eq!(move_to(&queue, When::After(SECOND)), Rescheduled::Rescheduled);
    queue.clock.advance(SECOND);
    let (_, received) = queue.receive(1);
    assert_eq!(received.events[0].fire_at_us, BEGAN + 1_000_000);
    assert_eq!(move_to(&queue, When::Now), Rescheduled::TooLate);
}

#[test]
fn a_queue_that_is_paused_delivers_nothing_and_keeps_leases() {
    let mut queue = Queue::new(|_| {});
    let id = queue.publish(NewEvent::new("a")).id;
    let (token, _) = queue.receive(1);
    queue.publish(NewEvent::new("b"));
    queue.configure(2, |config| config.paused = true);
    assert!(queue.payloads().is_empty());
    assert_eq!(queue.settle(id, token, End::Done), Settled::Ended);
    queue.configure(1, |_| {}); // an older configuration does not count
    assert!(queue.payloads().is_empty());
    queue.configure(3, |_| {});
    assert_eq!(queue.payloads(), ["b"]);
}

#[test]
fn a_queue_that_is_full_takes_nothing() {
    let mut queue = Queue::new(|config| (config.events_max, config.dedup_ids_max) = (2, 1));
    queue.publish(NewEvent::new("a").dedup_id("a"));
    let names = queue.try_publish(vec![NewEvent::new("b").dedup_id("b")]).unwrap_err();
    assert_eq!(names.kind(), ErrorKind::QueueFull);
    let events = vec![NewEvent::new("b"), NewEvent::new("c")];
    assert_eq!(queue.try_publish(events).unwrap_err().kind(), ErrorKind::QueueFull);
    assert_eq!(queue.stats().events, 1);
}

#[test]
fn a_step_of_another_generation_does_nothing() {
    let queue = Queue::new(|_| {});
    let partition = Partition::new("orders", 0, 8).unwrap();
    let op = Op { slot: [0; 10], number: 1 };
    let step = Publish::new(partition, op, vec![NewEvent::new("a")], 0);
    assert_eq!(queue.client.run(step).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(queue.stats().events, 0);
}

#[test]
fn what_is_beyond_its_limits_is_refused_before_anything_is_sent() {
    let mut queue = Queue::new(|_| {});
    for event in [
        NewEvent::new("a").key([b'k'; 257]),
        NewEvent::new("a").dedup_id(""),
        NewEvent::new("a").dedup_id("d".repeat(129)),
        NewEvent::new("a").dedup_id("d").dedup_window(DEDUP_WINDOW_MAX + SECOND),
        NewEvent::new("a").at_ms(u64::MAX),
        NewEvent::new("a").delay(DELAY_MAX + SECOND),
        NewEvent::new("a").ttl(Duration::ZERO),
        NewEvent::new("a").header("", "v"),
        NewEvent::new(vec![0; PAYLOAD_BYTES_MAX + 1]),
    ] {
        let refused = queue.try_publish(vec![event]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    }
    for many in [0, STEP_EVENTS_MAX + 1] {
        let refused = queue.try_publish(vec![NewEvent::new("a"); many]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
    let id = EventId::MIN;
    let cancel = Cancel::new(queue.partition.clone(), vec![id; 2], false).unwrap_err();
    let end = Settlement { receipt: Receipt { id, token: [0; 8] }, end: End::Done };
    let settle = Settle::new(queue.partition.clone(), vec![end; 2], 1).unwrap_err();
    for refused in [cancel, settle] {
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
    let twice = vec![NewEvent::new("a").dedup_id("d"); 2];
    assert_eq!(queue.try_publish(twice).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(queue.stats().events, 0);
}

#[test]
fn an_event_is_read_in_each_state() {
    let mut queue = Queue::new(|config| config.lease = SECOND);
    let (dead, _) = queue.bury(NewEvent::new("dead"), "no use");
    let mut ids = vec![queue.publish(NewEvent::new("leased").key("k")).id];
    let (token, _) = queue.receive(1);
    ids.push(queue.publish(NewEvent::new("behind").key("k")).id);
    ids.push(queue.publish(NewEvent::new("scheduled").delay(SECOND)).id);
    ids.push(queue.publish(NewEvent::new("ready").header("h", "v")).id);
    use EventState::{Behind, Dead, Leased, Ready, Retry, Scheduled};
    let later = BEGAN + 1_000_000;
    for (id, place) in
        ids.iter().zip([(Leased, later), (Behind, 0), (Scheduled, later), (Ready, BEGAN)])
    {
        let event = queue.fetch(*id).unwrap();
        assert_eq!((event.state, event.state_at_us), place);
        assert_eq!(&*event.payload, place.0.name().as_bytes());
        let query = EventQuery::new();
        let query = if place.0 == Behind { query.key("k") } else { query };
        assert_eq!(queue.list(place.0, &query).events, [event]);
    }
    queue.settle(ids[0], token, failed(2 * SECOND));
    let event = queue.fetch(ids[0]).unwrap();
    assert_eq!((event.state, event.state_at_us, &*event.err), (Retry, later + 1_000_000, "broken"));
    let event = queue.fetch(dead).unwrap();
    assert_eq!((event.state, event.state_at_us), (Dead, BEGAN));
    assert_eq!((event.reason, &*event.err), (Some(DeadReason::Rejected), "no use"));
    assert_eq!(queue.fetch(EventId::MIN), None);
}

#[test]
fn pages_go_on_where_they_ended_whatever_becomes_of_their_events() {
    let mut queue = Queue::new(|_| {});
    let at_ms = BEGAN / 1_000 + 5;
    let events = ["c", "d", "a", "b", "e"].map(|payload| {
        let before = u64::from(["a", "b"].contains(&payload));
        queue.publish(NewEvent::new(payload).at_ms(at_ms - before)).id
    });
    let names = |page: &EventPage| {
        let text = |event: &Event| String::from_utf8(event.payload.to_vec()).unwrap();
        page.events.iter().map(text).collect::<String>()
    };
    let first = queue.list(EventState::Scheduled, &EventQuery::new().limit(3));
    assert_eq!((names(&first).as_str(), first.next.unwrap().id), ("abc", events[0]));
    let cancel = Cancel::new(queue.partition.clone(), vec![events[0], events[1]], false);
    queue.client.run(cancel).unwrap();
    let after = EventQuery::new().limit(1).after(first.next.unwrap());
    let last = queue.list(EventState::Scheduled, &after);
    assert_eq!((names(&last).as_str(), last.next), ("e", None));
    let time = 1_000 * at_ms;
    for (query, right) in [
        (EventQuery::new().since_us(time), "e"),
        (EventQuery::new().before_us(time), "ab"),
        (EventQuery::new().since_us(time + 1), ""),
        (EventQuery::new().since_us(time).before_us(time), ""),
        (EventQuery::new().before_us(u64::MAX).since_us(0), "abe"),
        (EventQuery::new().before_us(0), ""),
    ] {
        assert_eq!(names(&queue.list(EventState::Scheduled, &query)), right, "{query:?}");
    }
}

#[test]
fn a_dead_letter_that_is_redriven_begins_anew() {
    let mut queue = Queue::new(|config| config.max_attempts = 1);
    let event = NewEvent::new("a").ttl(SECOND).dedup_id("d").dedup_window(Duration::ZERO);
    let (id, token) = queue.bury(event, "no use");
    queue.clock.advance(2 * SECOND);
    let other = queue.publish(NewEvent::new("b").dedup_id("d"));
    assert_eq!(other.status, Status::Created, "the name was free, and stays another event's");
    queue.clock.advance(SECOND);
    assert_eq!(
        queue.redrive(&[id, other.id, EventId::MIN]),
        [Redriven::Redriven, Redriven::NotDead, Redriven::Gone]
    );
    assert_eq!(queue.publish(NewEvent::new("c").dedup_id("d")).id, other.id);
    let event = queue.fetch(id).unwrap();
    assert_eq!((event.attempts, event.redriven, event.reason), (0, 1, None));
    assert_eq!((&*event.err, event.expires_at_us), ("no use", None));
    assert_eq!(queue.settle(id, token, End::Done), Settled::Lost, "another attempt");
    let (token, received) = queue.receive(10);
    assert_eq!(received.events.iter().map(|event| event.id).collect::<Vec<_>>(), [other.id, id]);
    assert_eq!(received.events[1].attempts, 1);
    assert_eq!(queue.settle(id, token, failed(SECOND)), Settled::Died);
    assert_eq!(queue.redrive(&[id]), [Redriven::Redriven]);
    assert_eq!(queue.fetch(id).unwrap().redriven, 2);
}

#[test]
fn a_dead_letter_comes_behind_the_others_of_its_key() {
    let mut queue = Queue::new(|_| {});
    let (id, _) = queue.bury(NewEvent::new("dead").key("k"), "");
    for payload in ["k1", "k2"] {
        queue.publish(NewEvent::new(payload).key("k"));
    }
    assert_eq!(queue.redrive(&[id]), [Redriven::Redriven]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (token, received) = queue.receive(10);
        let [event] = received.events.as_slice() else { panic!("{received:?}") };
        seen.push(String::from_utf8(event.payload.to_vec()).unwrap());
        queue.settle(event.id, token, End::Done);
    }
    assert_eq!(seen, ["k1", "k2", "dead"]);
}

#[test]
fn dead_letters_are_redriven_by_why_and_when_they_died() {
    let mut queue = Queue::new(|config| (config.max_crashes, config.lease) = (1, SECOND));
    let rejected: Vec<_> = (0..3).map(|_| queue.bury(NewEvent::new("a"), "").0).collect();
    queue.publish(NewEvent::new("crashes"));
    queue.receive(1);
    queue.clock.advance(SECOND);
    queue.receive(1);
    let mut redrive = |filter: &RedriveFilter, max| {
        queue.calls += 1;
        let op = Op { slot: [0; 10], number: queue.calls };
        let step = RedriveAll::new(queue.partition.clone(), op, filter, max);
        queue.client.run(step).unwrap()
    };
    let all = RedriveFilter::new;
    assert_eq!(redrive(&all().reason(DeadReason::Exhausted), 9).redriven, 0);
    assert_eq!(redrive(&all().before_us(BEGAN), 9).redriven, 0);
    let some = redrive(&all().reason(DeadReason::Rejected), 2);
    assert_eq!((some.redriven, some.left.is_some()), (2, true));
    assert_eq!(redrive(&all().since_us(BEGAN + 1), 9).redriven, 1, "the one that crashed");
    assert_eq!(redrive(&all().before_us(BEGAN + 1), 9).redriven, 1);
    assert_eq!((queue.stats().dead, queue.stats().ready), (0, 4));
    assert!(rejected.iter().all(|id| queue.fetch(*id).unwrap().redriven == 1));
}

#[test]
fn redrive_rate() {
    let mut queue = Queue::new(|_| {});
    let dead: Vec<_> = (0..5).map(|_| queue.bury(NewEvent::new("a").key("k"), "").0).collect();
    let filter = RedriveFilter::new().per_second(3);
    let mut redrive = |range: RedriveRange, max| {
        queue.calls += 1;
        let op = Op { slot: [0; 10], number: queue.calls };
        queue.client.run(RedriveAll::of(queue.partition.clone(), op, range, max)).unwrap()
    };
    // In two steps, after one of another partition.
    let mut range = filter.range();
    range.turns.next = 1;
    let some = redrive(range, 2);
    let rest = redrive(some.left.unwrap(), 9);
    assert_eq!((some.redriven, rest.redriven, rest.left), (2, 3, None));
    let times = [333_333, 666_666, 1_000_000, 1_333_333, 1_666_666];
    for (id, time) in dead.iter().zip(times) {
        let event = queue.fetch(*id).unwrap();
        assert_eq!((event.state, event.state_at_us), (EventState::Scheduled, BEGAN + time));
        assert_eq!((event.fire_at_us, event.redriven, event.attempts), (BEGAN + time, 1, 0));
    }
    queue.clock.advance(Duration::from_micros(333_332));
    assert_eq!(queue.receive(10).1.next_in, Some(1));
    queue.clock.advance(Duration::from_micros(1));
    assert_eq!(queue.receive(10).1.events.len(), 1);
    for rate in [0, RATE_MAX + 1] {
        let refused = RedriveFilter::new().per_second(rate).check().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_purge_removes_what_is_in_a_state_and_never_what_is_leased() {
    let mut queue = Queue::new(|_| {});
    let leased = queue.publish(NewEvent::new("leased")).id;
    let (token, _) = queue.receive(1);
    for payload in ["k1", "k2", "k3"] {
        queue.publish(NewEvent::new(payload).key("k"));
    }
    let named = || NewEvent::new("named").dedup_id("d").dedup_window(SECOND);
    let first = queue.publish(named());
    let all = PurgeFilter::new;
    assert_eq!(queue.purge(EventState::Ready, &all().before_us(BEGAN)), 0);
    assert_eq!(queue.purge(EventState::Ready, &all()), 2);
    assert_eq!(queue.publish(named()).id, first.id, "its name is remembered");
    assert_eq!((queue.stats().ready, queue.stats().behind), (1, 1), "the next one of the key");
    assert_eq!(queue.purge(EventState::Behind, &all().key("k")), 1);
    assert_eq!(queue.purge(EventState::Behind, &all().key("l")), 0);
    assert_eq!(queue.payloads(), ["k2"]);

    queue.publish(NewEvent::new("soon").delay(SECOND));
    queue.publish(NewEvent::new("later").delay(2 * SECOND));
    assert_eq!(queue.purge(EventState::Scheduled, &all().before_us(BEGAN + 2_000_000)), 1);
    assert_eq!(queue.purge(EventState::Scheduled, &all()), 1);
    assert_eq!(queue.settle(leased, token, failed(SECOND)), Settled::Ended);
    assert_eq!(queue.purge(EventState::Retry, &all()), 1);
    queue.bury(NewEvent::new("dead"), "");
    assert_eq!(queue.purge(EventState::Dead, &all()), 1);
    assert_eq!((queue.stats().events, queue.stats().leased), (1, 1));
}

#[test]
fn a_queue_that_is_deleted_comes_again_with_a_later_generation() {
    let clock = Arc::new(ManualClock::at(BEGAN));
    let client = Options::parse("memory:").unwrap().clock(clock).connect().unwrap();
    let queue = client.events("orders");
    let mut last = EventId::MIN;
    for _ in 0..3 {
        let id = queue.publish(NewEvent::new("a")).unwrap().id;
        assert!(id > last && (id.as_bytes()[..4] > last.as_bytes()[..4]), "{id}");
        last = id;
        let held = queue.receive(1).unwrap();
        queue.delete().unwrap();
        queue.delete().unwrap();
        assert_eq!((queue.config().unwrap(), queue.stats().unwrap().events), (None, 0));
        assert_eq!(queue.fetch([id]).unwrap(), [None]);
        assert_eq!(
            queue.list(EventState::Leased, EventQuery::new()).unwrap(),
            EventPage::default()
        );
        assert_eq!(queue.ack_many(&held).unwrap(), [Settled::Gone]);
    }
}

#[test]
fn e12_whoever_needs_a_queue_that_is_half_deleted_deletes_the_rest() {
    let queue = Queue::new(|_| {});
    let begin = Delete::begin(queue.partition.clone());
    let begun = queue.client.run(Ok(begin.clone())).unwrap().unwrap();
    assert_eq!((begun.generation, &*begun.map), (7, "7:0000-ffff"));
    let orders = queue.client.events("orders");
    assert_eq!(orders.config().unwrap(), None, "a look leaves it as it is");
    assert_eq!(queue.client.run(Ok(begin)).unwrap(), Some(begun), "it goes on");
    orders.publish(NewEvent::new("a")).unwrap();
    assert_eq!(orders.stats().unwrap().events, 1);
    orders.delete().unwrap();
    assert_eq!(orders.config().unwrap(), None);
}

#[test]
fn what_operators_ask_for_has_limits() {
    let queue = Queue::new(|_| {});
    let orders = queue.client.events("orders");
    let id = EventId::MIN;
    let list = |state, query| orders.list(state, query).unwrap_err();
    let purge = |state, filter| orders.purge(state, filter).unwrap_err();
    for refused in [
        list(EventState::Ready, EventQuery::new().limit(0)),
        list(EventState::Ready, EventQuery::new().limit(1_001)),
        list(EventState::Ready, EventQuery::new().key("k")),
        list(EventState::Behind, EventQuery::new()),
        list(EventState::Behind, EventQuery::new().key("")),
        list(EventState::Behind, EventQuery::new().key("k").since_us(1)),
        list(EventState::Behind, EventQuery::new().key([b'k'; 257])),
        purge(EventState::Leased, PurgeFilter::new()),
        purge(EventState::Dead, PurgeFilter::new().key("k")),
        purge(EventState::Behind, PurgeFilter::new()),
        purge(EventState::Behind, PurgeFilter::new().key("k").before_us(1)),
        orders.redrive([id, id]).unwrap_err(),
        orders.redrive_all(RedriveFilter::new().max(0)).unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    }
    assert_eq!(orders.fetch([id, id]).unwrap(), [None, None]);
    assert_eq!(orders.fetch([id; 0]).unwrap(), []);
}

#[test]
fn a_rate_lets_events_through_to_the_microsecond() {
    let mut queue = Queue::new(|config| (config.rate, config.burst) = (3, 2));
    queue.try_publish((0..7).map(|number| NewEvent::new(number.to_string())).collect()).unwrap();
    assert_eq!((queue.stats().rate, queue.stats().rate_left), (3, 2));
    // A burst, and then one event every third of a second.
    assert_eq!(queue.payloads(), ["0", "1"]);
    let (_, nothing) = queue.receive(10);
    assert_eq!((nothing.events.len(), nothing.ready), (0, 5));
    assert_eq!(nothing.next_in, Some(333_334));
    queue.clock.advance(Duration::from_micros(333_333));
    assert_eq!(queue.receive(10).1.next_in, Some(1));
    queue.clock.advance(Duration::from_micros(1));
    assert_eq!(queue.payloads(), ["2"]);
    // The fraction that the event did not need is kept: three events take a second.
    queue.clock.advance(Duration::from_micros(333_333));
    assert_eq!(queue.payloads(), ["3"]);
    queue.clock.advance(Duration::from_micros(333_333));
    assert_eq!(queue.payloads(), ["4"]);
    // No more than one burst is kept.
    queue.clock.advance(10 * SECOND);
    assert_eq!((queue.stats().rate_left, queue.payloads().len()), (2, 2));
}

#[test]
fn what_is_delivered_again_counts_in_the_rate() {
    let mut queue = Queue::new(|config| (config.rate, config.burst) = (1, 1));
    let id = queue.publish(NewEvent::new("a")).id;
    let (token, _) = queue.receive(1);
    queue.settle(id, token, End::Released(None));
    let (_, nothing) = queue.receive(1);
    assert_eq!((nothing.events.len(), nothing.next_in), (0, Some(1_000_000)));
    // For an event that is due before the rate lets it through, the wait is until the rate does.
    queue.clock.advance(SECOND);
    let (token, _) = queue.receive(1);
    queue.settle(id, token, failed(SECOND / 4));
    assert_eq!(queue.receive(1).1.next_in, Some(1_000_000));
}

#[test]
fn no_more_events_are_leased_than_may_be() {
    let mut queue = Queue::new(|config| config.concurrency = 2);
    let ids: Vec<_> =
        (0..4).map(|number| queue.publish(NewEvent::new(number.to_string())).id).collect();
    queue.publish(NewEvent::new("later").delay(SECOND));
    let (token, received) = queue.receive(10);
    // The next check is for the leases: an event that is due before could not be delivered.
    assert_eq!((received.events.len(), received.ready, received.next_in), (2, 2, Some(30_000_000)));
    assert_eq!((queue.stats().concurrency, queue.stats().leased), (2, 2));
    assert_eq!(queue.settle(ids[0], token, End::Done), Settled::Ended);
    assert_eq!(queue.payloads(), ["2"]);
    // An expired lease makes room.
    queue.clock.advance(29 * SECOND);
    assert_eq!(queue.receive(10).1.next_in, Some(1_000_000));
    queue.clock.advance(SECOND);
    assert_eq!(queue.payloads().len(), 2);
}

#[test]
fn limits_change_at_run_time() {
    let mut queue = Queue::new(|config| config.concurrency = 3);
    queue.try_publish((0..6).map(|number| NewEvent::new(number.to_string())).collect()).unwrap();
    let (token, received) = queue.receive(3);
    queue.configure(2, |config| config.concurrency = 2);
    for event in &received.events[..2] {
        assert_eq!(queue.payloads().len(), 0);
        queue.settle(event.id, token, End::Done);
    }
    assert_eq!(queue.payloads(), ["3"]);
    queue.configure(3, |config| (config.rate, config.burst) = (1, 1));
    assert_eq!(queue.payloads(), ["4"]);
    assert_eq!(queue.payloads().len(), 0);
    queue.configure(4, |_| {});
    assert_eq!(queue.payloads(), ["5"]);
}

#[test]
fn e15_each_partition_has_its_part_of_a_limit() {
    let mut queue = Queue::new(|config| {
        config.partitions = 4;
        (config.concurrency, config.rate) = (10, 1);
    });
    queue.try_publish((0..3).map(|number| NewEvent::new(number.to_string())).collect()).unwrap();
    // At least one event is let through immediately, and then one every four seconds.
    assert_eq!((queue.stats().concurrency, queue.stats().rate_left), (2, 1));
    assert_eq!(queue.payloads().len(), 1);
    assert_eq!(queue.receive(1).1.next_in, Some(4_000_000));
    queue.clock.advance(4 * SECOND);
    assert_eq!(queue.payloads().len(), 1);
    for refused in [
        Config { partitions: 4, concurrency: 3, ..Config::default() },
        Config { burst: 1, ..Config::default() },
        Config { rate: 1_000_000_001, ..Config::default() },
    ] {
        let error = queue.client.events("orders").configure(refused).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[test]
fn what_is_done_is_kept_for_a_time() {
    let mut queue = Queue::new(|config| {
        config.retention = 10 * SECOND;
        config.events_max = 2;
    });
    let id = queue.publish(NewEvent::new("a").key("k").dedup_id("d").dedup_window(SECOND)).id;
    queue.publish(NewEvent::new("b").key("k"));
    let (token, _) = queue.receive(1);
    assert_eq!(queue.settle(id, token, End::Done), Settled::Ended);
    let done = queue.fetch(id).unwrap();
    assert_eq!((done.state, done.state_at_us, done.attempts), (EventState::Done, BEGAN, 1));
    assert_eq!((queue.stats().done, queue.stats().events), (1, 1));
    assert_eq!(queue.list(EventState::Done, &EventQuery::new()).events, [done]);
    // For other calls it has ended, and takes up no room.
    assert_eq!(queue.settle(id, token, End::Done), Settled::Gone);
    assert_eq!(queue.settle(id, token, failed(SECOND)), Settled::Gone);
    let cancel = Cancel::new(queue.partition.clone(), vec![id], true);
    assert_eq!(queue.client.run(cancel).unwrap(), [Cancelled::Gone]);
    let reschedule = Reschedule::new(queue.partition.clone(), vec![id], When::Now);
    assert_eq!(queue.client.run(reschedule).unwrap(), [Rescheduled::Gone]);
    assert_eq!(queue.redrive(&[id]), [Redriven::Gone]);
    assert_eq!(queue.payloads(), ["b"]);
    queue.publish(NewEvent::new("c"));
    // Its deduplication id is free when its window is over, even if the event is kept.
    queue.clock.advance(SECOND);
    queue.purge(EventState::Ready, &PurgeFilter::new());
    let again = queue.publish(NewEvent::new("d").key("k").dedup_id("d"));
    assert_eq!(again.status, Status::Created);
    queue.clock.advance(9 * SECOND - Duration::from_micros(1));
    queue.receive(1);
    assert!(queue.fetch(id).is_some());
    queue.clock.advance(Duration::from_micros(1));
    queue.receive(1);
    assert!(queue.fetch(id).is_none());
    assert_eq!(queue.fetch(again.id).unwrap().dedup_id.as_deref(), Some("d"));
}

#[test]
fn what_is_done_is_purged_and_removed_in_bounded_steps() {
    let mut queue = Queue::new(|config| config.retention = SECOND);
    let done = |queue: &mut Queue, count: usize| {
        let events = (0..count).map(|_| NewEvent::new("a")).collect();
        queue.try_publish(events).unwrap();
        let (token, received) = queue.receive(count);
        let end =
            |event: &Event| Settlement { receipt: Receipt { id: event.id, token }, end: End::Done };
        let ends = received.events.iter().map(end).collect();
        queue.client.run(Settle::new(queue.partition.clone(), ends, 1)).unwrap();
    };
    done(&mut queue, 250);
    assert_eq!(queue.purge(EventState::Done, &PurgeFilter::new().before_us(BEGAN)), 0);
    queue.clock.advance(SECOND);
    queue.receive(1);
    assert_eq!(queue.stats().done, 150);
    // A receive removes 100, and a step that ends `n` events up to 2 * n.
    done(&mut queue, 20);
    assert_eq!(queue.stats().done, 20);
    assert_eq!(queue.purge(EventState::Done, &PurgeFilter::new()), 20);
    // Events whose retention is over are removed.
    done(&mut queue, 1);
    queue.configure(2, |_| {});
    queue.receive(1);
    assert_eq!((queue.stats().done, queue.stats().events), (0, 0));
}
