//! Threads that publish, receive and end deliveries of one queue at once, on the embedded engine and on Redis, and a
//! check of what each of them was told, and when. No lease runs out meanwhile.
//!
//! - Each event is delivered once for each attempt, and ends once.
//! - There is one order of all steps, in which each comes before those that were called after it returned; in which
//!   events are published in the order of their ids; in which an event is published, delivered, tried again, and done,
//!   in this order; in which those of a key come one after the other, and those without a key in the order of
//!   publishing.
//! - A receive that returned less than it asked for left no event that was there all the time.
//! - An end that was refused came after the delivery had ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millpond::Client;
use millpond::events::{
    Config, End, Event, EventId, EventQueue, NewEvent, Receipt, Settled, Settlement,
};
use millpond_tests::history::{self, Disorder};
use millpond_tests::random::{Random, fresh_seed};
use millpond_tests::servers::Redis;

const THREADS: u64 = 16;

const KEYS: [&str; 5] = ["", "", "k", "l", "m"];

/// What a step reported of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    Published,
    /// Its delivery of this number.
    Received(u16),
    /// That delivery failed.
    Failed(u16),
    /// It was done by that delivery.
    Done(u16),
    /// That delivery had ended before.
    Refused(u16),
    /// The event was done before.
    Gone,
}

#[derive(Clone, Debug)]
struct Call {
    called: Duration,
    returned: Duration,
    touches: Vec<(EventId, Touch)>,
    /// It is a receive that returned less than it asked for.
    is_short: bool,
}

/// All that was reported, and the key of each event.
#[derive(Clone, Default)]
struct History {
    calls: Vec<Call>,
    keys: HashMap<EventId, Arc<[u8]>>,
}

struct Actor<'a> {
    queue: EventQueue,
    random: Random,
    /// Deliveries that somebody is to end, some of which have been.
    held: &'a Mutex<Vec<(Receipt, u16)>>,
    began: Instant,
    history: History,
}

impl Actor<'_> {
    fn call<T>(
        &mut self,
        step: impl FnOnce(&EventQueue) -> millpond::Result<T>,
        touches: impl FnOnce(&T) -> Vec<(EventId, Touch)>,
    ) -> T {
        let called = self.began.elapsed();
        let result = step(&self.queue).expect("nothing is refused");
        let returned = self.began.elapsed();
        let touches = touches(&result);
        self.history.calls.push(Call { called, returned, touches, is_short: false });
        result
    }

    fn step(&mut self) {
        match self.random.below(14) {
            0..4 => self.publish(),
            4..8 => {
                let max = 1 + self.random.below(4) as usize;
                self.receive(max);
            }
            _ => self.end(),
        }
    }

    fn publish(&mut self) {
        let keys: Vec<_> = (0..1 + self.random.below(3)).map(|_| self.random.of(&KEYS)).collect();
        let events = keys.iter().map(|key| NewEvent::new("x").key(*key));
        let published = self.call(
            |queue| queue.publish_many(events),
            |published| published.iter().map(|event| (event.id, Touch::Published)).collect(),
        );
        let keys = keys.into_iter().map(|key| Arc::from(key.as_bytes()));
        self.history.keys.extend(published.iter().map(|event| event.id).zip(keys));
    }

    fn receive(&mut self, max: usize) -> usize {
        let touch = |event: &Event| (event.id, Touch::Received(event.attempts));
        let events =
            self.call(|queue| queue.receive(max), |events| events.iter().map(touch).collect());
        if let Some(call) = self.history.calls.last_mut() {
            call.is_short = events.len() < max;
        }
        let held = events.iter().map(|event| (Receipt::from(event), event.attempts));
        self.held.lock().expect("nobody panicked").extend(held);
        events.len()
    }

    /// Ends a delivery, which others may end as well.
    fn end(&mut self) {
        let mut held = self.held.lock().expect("nobody panicked");
        if held.is_empty() {
            return;
        }
        let at = self.random.below(held.len() as u64) as usize;
        let (receipt, attempt) = match self.random.one_in(4) {
            true => held[at],
            false => held.swap_remove(at),
        };
        drop(held);
        let is_done = !self.random.one_in(4);
        self.end_with(receipt, attempt, is_done);
    }

    fn end_with(&mut self, receipt: Receipt, attempt: u16, is_done: bool) {
        let end = match is_done {
            true => End::Done,
            false => End::Failed(String::new(), Some(Duration::ZERO)),
        };
        self.call(
            |queue| queue.settle_many([Settlement { receipt, end }]),
            |settled| {
                let touch = match (settled[0], is_done) {
                    (Settled::Ended, true) => Touch::Done(attempt),
                    (Settled::Ended, false) => Touch::Failed(attempt),
                    (Settled::Lost, _) => Touch::Refused(attempt),
                    (Settled::Gone, _) => Touch::Gone,
                    (other, _) => panic!("{other:?}"),
                };
                vec![(receipt.id, touch)]
            },
        );
    }

    /// Ends all that is held and all that is left.
    fn drain(&mut self) {
        loop {
            let held = std::mem::take(&mut *self.held.lock().expect("nobody panicked"));
            for (receipt, attempt) in held {
                self.end_with(receipt, attempt, true);
            }
            if self.receive(100) == 0 {
                break;
            }
        }
        assert_eq!(self.queue.stats().expect("it is there").events, 0);
    }
}

/// What happened to one event, by the numbers of steps.
#[derive(Default)]
struct Life {
    published: Option<usize>,
    received: BTreeMap<u16, usize>,
    failed: BTreeMap<u16, BTreeSet<usize>>,
    done: Option<(u16, usize)>,
    refused: Vec<(u16, usize)>,
    gone: BTreeSet<usize>,
}

impl Life {
    /// Its deliveries and their ends, in their order.
    fn line(&self) -> Vec<BTreeSet<usize>> {
        let mut line = Vec::new();
        for (attempt, receive) in &self.received {
            line.push(BTreeSet::from([*receive]));
            line.extend(self.failed.get(attempt).cloned());
        }
        line.extend(self.done.map(|(_, number)| BTreeSet::from([number])));
        line
    }
}

type Checked<T = ()> = Result<T, String>;

impl History {
    fn lives(&self) -> Checked<BTreeMap<EventId, Life>> {
        let mut lives: BTreeMap<EventId, Life> = BTreeMap::new();
        for (number, call) in self.calls.iter().enumerate() {
            for (id, touch) in &call.touches {
                let life = lives.entry(*id).or_default();
                let before = match *touch {
                    Touch::Published => life.published.replace(number),
                    Touch::Received(attempt) => life.received.insert(attempt, number),
                    Touch::Done(attempt) => life.done.replace((attempt, number)).map(|done| done.1),
                    Touch::Failed(attempt) => {
                        life.failed.entry(attempt).or_default().insert(number);
                        None
                    }
                    Touch::Refused(attempt) => {
                        life.refused.push((attempt, number));
                        None
                    }
                    Touch::Gone => {
                        life.gone.insert(number);
                        None
                    }
                };
                if before.is_some() {
                    return Err(format!("{id} came to {touch:?} twice"));
                }
            }
        }
        Ok(lives)
    }

    fn check(&self) -> Checked {
        let lives = self.lives()?;
        for (id, life) in &lives {
            self.check_life(life).map_err(|wrong| format!("{id}: {wrong}"))?;
        }
        let times: Vec<_> = self.calls.iter().map(|call| (call.called, call.returned)).collect();
        history::order(&times, self.lines(&lives)).map_err(|disorder| match disorder {
            Disorder::Behind(waits, number) => format!(
                "there is no order: {:?}\nreturned before this was called, and comes behind it: {:?}",
                self.calls[waits], self.calls[number]
            ),
            Disorder::Circle(number) => format!("each waits for another: {:?}", self.calls[number]),
        })?;
        self.check_short(&lives)
    }

    fn check_life(&self, life: &Life) -> Checked {
        if life.published.is_none() {
            return Err("nobody published it".to_owned());
        }
        let Some((last, _)) = life.done else { return Err("it was lost".to_owned()) };
        if !life.received.keys().copied().eq(1..=last) {
            return Err(format!("its deliveries are {:?} of {last}", life.received.keys()));
        }
        if !life.failed.keys().copied().eq(1..last) {
            return Err(format!("its failures are {:?} of {last}", life.failed.keys()));
        }
        for (attempt, refused) in &life.refused {
            let ends = life.failed.get(attempt).into_iter().flatten();
            let returned = self.calls[*refused].returned;
            if !ends.into_iter().any(|end| self.calls[*end].called < returned) {
                return Err(format!("delivery {attempt} was refused and had not ended"));
            }
        }
        Ok(())
    }

    fn lines(&self, lives: &BTreeMap<EventId, Life>) -> Vec<Vec<BTreeSet<usize>>> {
        let one = |number| BTreeSet::from([number]);
        let published = lives.values().filter_map(|life| life.published).map(one).collect();
        let has_no_key = |(id, _): &(&EventId, &Life)| self.keys[*id].is_empty();
        let first = |life: &Life| life.received.get(&1).copied();
        let unkeyed = lives.iter().filter(has_no_key).filter_map(|(_, life)| first(life));
        let mut lines: Vec<Vec<_>> = vec![published, unkeyed.map(one).collect()];
        let mut keyed: HashMap<&[u8], Vec<_>> = HashMap::new();
        for (id, life) in lives {
            let line = life.line();
            let begin = life.published.map(one).into_iter().chain(line.first().cloned());
            lines.push(begin.collect());
            let last = life.done.map(|(_, number)| one(number));
            lines.push(last.into_iter().chain([life.gone.clone()]).collect());
            match &*self.keys[id] {
                [] => lines.push(line),
                key => keyed.entry(key).or_default().extend(line),
            }
        }
        lines.extend(keyed.into_values());
        lines
    }

    /// An event without a key is ready from its publishing on.
    fn check_short(&self, lives: &BTreeMap<EventId, Life>) -> Checked {
        for short in self.calls.iter().filter(|call| call.is_short) {
            for (id, life) in lives.iter().filter(|(id, _)| self.keys[*id].is_empty()) {
                let (Some(published), Some(received)) = (life.published, life.received.get(&1))
                else {
                    continue;
                };
                if self.calls[published].returned < short.called
                    && self.calls[*received].called > short.returned
                {
                    return Err(format!("{id} was ready all the time: {short:?}"));
                }
            }
        }
        Ok(())
    }
}

fn play(client: &Client, seed: u64, steps: u64) -> History {
    let queue = client.events("orders");
    let mut config = Config::default();
    config.max_attempts = 0;
    queue.configure(config).expect("it is new");
    let (held, began) = (Mutex::default(), Instant::now());
    let actor = |number| Actor {
        queue: queue.clone(),
        random: Random::named(seed, &[number]),
        held: &held,
        began,
        history: History::default(),
    };
    let mut all = History::default();
    let mut take = |history: History| {
        all.calls.extend(history.calls);
        all.keys.extend(history.keys);
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let mut actor = actor(number);
                scope.spawn(move || {
                    (0..steps).for_each(|_| actor.step());
                    actor.history
                })
            })
            .collect();
        for thread in threads {
            take(thread.join().expect("no step fails"));
        }
    });
    let mut last = actor(THREADS);
    last.drain();
    take(last.history);
    all
}

fn play_and_check(client: &Client, what: &str, steps: u64) {
    let seed = fresh_seed();
    let history = play(client, seed, steps);
    let touches = || history.calls.iter().flat_map(|call| &call.touches);
    let count = |is: fn(&Touch) -> bool| touches().filter(|(_, touch)| is(touch)).count();
    let received = count(|touch| matches!(touch, Touch::Received(_)));
    let failed = count(|touch| matches!(touch, Touch::Failed(_)));
    let refused = count(|touch| matches!(touch, Touch::Refused(_) | Touch::Gone));
    let short = history.calls.iter().filter(|call| call.is_short).count();
    println!(
        "{what}: seed {seed}, {} calls, {} events, {received} deliveries, {failed} failed, {refused} ends refused, \
         {short} short receives",
        history.calls.len(),
        history.keys.len()
    );
    assert!(received > 100 && failed > 50 && refused > 50 && short > 5, "nothing to check");
    if let Err(wrong) = history.check() {
        panic!("{what}, seed {seed}: {wrong}");
    }
}

#[test]
fn steps_on_memory_have_one_order() {
    play_and_check(&millpond::connect("memory:").expect("it opens"), "memory", 1_000);
}

#[test]
fn steps_on_redis_have_one_order() {
    let server = Redis::start();
    play_and_check(&millpond::connect(&server.unix_url()).expect("it is there"), "redis", 300);
}

/// The check finds what it is for: a true history, with one thing wrong at a time.
#[test]
fn an_inconsistent_history_is_found() {
    let history = play(&millpond::connect("memory:").expect("it opens"), 7, 100);
    history.check().expect("nothing is wrong yet");
    let is_wrong = |change: &dyn Fn(&mut Vec<Call>)| {
        let mut wrong = history.clone();
        change(&mut wrong.calls);
        wrong.check().expect_err("something is wrong now")
    };
    let position = |is: &dyn Fn(&Touch) -> bool| {
        let has = |call: &Call| call.touches.iter().any(|(_, touch)| is(touch));
        history.calls.iter().position(has).expect("there is one")
    };
    let received = position(&|touch| matches!(touch, Touch::Received(_)));
    let done = position(&|touch| matches!(touch, Touch::Done(_)));
    let later = Duration::from_secs(3_600);
    // Two got the same event; nobody got it; it was never done; it ended twice.
    is_wrong(&|calls| calls.push(calls[received].clone()));
    is_wrong(&|calls| calls[received].touches.clear());
    is_wrong(&|calls| calls[done].touches.clear());
    is_wrong(&|calls| calls.push(calls[done].clone()));
    // It was delivered when it had been done, and done before it was delivered.
    is_wrong(&|calls| {
        (calls[received].called, calls[received].returned) = (later, 2 * later);
    });
    is_wrong(&|calls| {
        (calls[done].called, calls[done].returned) = (Duration::ZERO, Duration::ZERO);
    });
    // A receive found nothing between an event's publishing and its delivery.
    let lives = history.lives().expect("nothing is wrong yet");
    let waits = |(id, life): (&EventId, &Life)| {
        let published = history.calls[life.published?].returned + Duration::from_nanos(1);
        let received = history.calls[*life.received.get(&1)?].called;
        (history.keys[id].is_empty() && published < received).then_some(published)
    };
    let meanwhile = lives.iter().find_map(waits).expect("one waited");
    let (called, returned) = (meanwhile, meanwhile);
    is_wrong(&|calls| {
        calls.push(Call { called, returned, touches: Vec::new(), is_short: true });
    });
}
