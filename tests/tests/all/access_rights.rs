//! The rights that the documentation says a program needs are enough, and none of them is too much.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use millpond::events::{self, EventQuery, EventState, NewEvent, PurgeFilter, RedriveFilter};
use millpond::ick;
use millpond::recruiter::{NewJob, Recruit, Report};
use millpond::shuffle::{self, Stream, TrackKeys};
use millpond::tasks::{
    self, DocChange, DocQuery, Filter, Modification, NewDoc, NewTask, TaskFilter, TaskQuery,
    TaskStore,
};
use millpond::volatile::{FieldQuery, VolatileHash};
use millpond::{Client, ErrorKind, Result};
use millpond_tests::servers::Redis;

use super::recruiter_on_redis::set_clock_back;

/// What the core's documentation says.
const DOCS: &str = include_str!("../../../core/src/README.md");

const MINUTE: Duration = Duration::from_secs(60);
const MILLISECOND: Duration = Duration::from_millis(1);

/// How soon a waiter is woken at the latest, on a machine of any speed: users here never poll.
const WOKEN: Duration = Duration::from_secs(45);

/// The same of a shuffle queue, whose waiter tries again every five seconds where it may not block.
const WOKEN_FROM_XREAD: Duration = Duration::from_millis(4_500);

/// A user of the documentation, on a server of its own.
struct User {
    name: &'static str,
    rules: Vec<&'static str>,
    server: Redis,
}

impl User {
    fn of_docs(name: &'static str) -> Self {
        let line = DOCS.lines().find(|line| line.starts_with(&format!("user {name} ")));
        let rules: Vec<_> = line.unwrap().split_whitespace().skip(2).collect();
        let user = Self { name, rules, server: Redis::start() };
        user.set(&user.rules);
        user
    }

    fn set(&self, rules: &[&str]) {
        let words = [&["ACL", "SETUSER", self.name, "reset"], rules].concat();
        let reply = self.server.cli(&words);
        assert!(reply.is_ok(), "{rules:?}: {reply:?}");
    }

    /// A connection with these rights.
    fn connect(&self) -> Client {
        let port = self.server.port();
        let url = format!("redis://{}:secret@127.0.0.1:{port}?poll=never", self.name);
        millpond::connect(&url).unwrap()
    }

    /// A connection with all rights.
    fn admin(&self) -> Client {
        millpond::connect(&self.server.url()).unwrap()
    }

    /// Checks that a walk needs each command and each key that the user has a right to, but for
    /// these, which are for waiting.
    fn assert_smallest(&self, for_waiting: &[&str], walk: impl Fn(&User) -> Result<()>) {
        walk(self).unwrap();
        let is_right = |rule: &&&str| rule.starts_with(['+', '~']) && !for_waiting.contains(rule);
        for right in self.rules.iter().filter(is_right) {
            let fewer: Vec<_> = self.rules.iter().copied().filter(|rule| rule != right).collect();
            self.server.cli(&["FLUSHALL"]);
            self.server.cli(&["SCRIPT", "FLUSH"]);
            self.set(&fewer);
            // A walk that panics found something missing: a script without the right works without it.
            match catch_unwind(AssertUnwindSafe(|| walk(self))) {
                Ok(done) => {
                    let error = done.expect_err(right);
                    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{right}: {error:?}");
                }
                Err(_) => eprintln!("{}: that is what happens without {right}", self.name),
            }
        }
        self.set(&self.rules);
        self.server.cli(&["FLUSHALL"]);
    }
}

#[test]
fn an_ick_that_is_produced_for() {
    User::of_docs("ick-producer").assert_smallest(&["+publish"], |user| {
        let ick = user.connect().ick("files");
        ick.add([(Some(1.0), "a"), (None, "b")])?;
        assert!(ick.stats()?.is_some());
        Ok(())
    });
}

#[test]
fn an_ick_that_is_consumed() {
    let user = User::of_docs("ick-consumer");
    user.assert_smallest(&["+subscribe", "+unsubscribe"], |user| {
        user.admin().ick("files").add((1..5).map(|i| (f64::from(i), i.to_string())))?;
        let ick = user.connect().ick("files");
        assert_eq!(ick.reserve(1)?.len(), 1);
        assert_eq!(ick.exchange(1, ["1"])?.len(), 1);
        assert_eq!(ick.exchange_backwash(1, ["2"])?.len(), 1);
        assert_eq!(ick.commit(["3"])?, 1);
        let lease = ick.lease(MINUTE)?.unwrap();
        assert!(user.connect().run(ick::Renew::new("files", lease.token(), MINUTE))?);
        assert_eq!(lease.reserve(1)?.len(), 1);
        assert!(lease.release()?);
        assert_eq!(ick.peek(ick::Set::Consumer, 5)?.len(), 1);
        assert!(ick.stats()?.is_some());
        Ok(())
    });
    let producer = user.admin().ick("files");
    let mut batches = user.connect().ick("files").batches(1).wait(MINUTE);
    assert_woken(
        WOKEN,
        move || batches.next().unwrap().unwrap().len(),
        move || {
            producer.add([(1.0, "a")]).unwrap();
        },
    );
}

#[test]
fn a_queue_of_events() {
    let user = User::of_docs("orders");
    // What is left of a queue that is deleted expires with the second in which it was made, if that is not over.
    let for_waiting = ["+publish", "+subscribe", "+unsubscribe", "+pexpire", "+persist"];
    user.assert_smallest(&for_waiting, |user| {
        let queue = user.connect().events("orders");
        let mut config = events::Config::default();
        config.partitions = 2;
        queue.configure(config.clone())?;
        let published = queue.publish_many((0..9).map(|number| {
            let event = NewEvent::new(number.to_string()).dedup_id(number.to_string());
            if number < 6 { event.key("k") } else { event.delay(number * MINUTE) }
        }))?;
        let ids: Vec<_> = published.iter().map(|event| event.id).collect();
        let behind = EventQuery::new().key("k").limit(1);
        let page = queue.list(EventState::Behind, behind.clone())?;
        queue.list(EventState::Behind, behind.after(page.next.unwrap()))?;
        let scheduled = EventQuery::new().limit(1);
        let page = queue.list(EventState::Scheduled, scheduled.clone())?;
        queue.list(EventState::Scheduled, scheduled.after(page.next.unwrap()))?;
        queue.reschedule([ids[8]], MINUTE)?;
        queue.cancel([ids[3]], false, false)?;
        let held = queue.receive(9)?;
        queue.renew(&held, MINUTE)?;
        queue.dead_letter(&held[0], "never")?;
        let held = queue.receive(9)?;
        queue.ack_with(&held[0], [NewEvent::new("follows")])?;
        assert!(queue.fetch(&ids)?[0].is_some());
        assert_eq!(queue.redrive_all(RedriveFilter::new())?, 1);
        assert_eq!(queue.purge(EventState::Scheduled, PurgeFilter::new())?, 3);
        assert!(queue.stats()?.events > 0);
        queue.delete()?;
        queue.configure(config)
    });
    let queue = user.admin().events("orders");
    let mut deliveries = user.connect().events("orders").deliveries().wait(MINUTE);
    assert_woken(
        WOKEN,
        move || deliveries.next().unwrap().unwrap().len(),
        move || {
            queue.publish(NewEvent::new("now")).unwrap();
        },
    );
}

/// A call that finds a queue half deleted deletes the rest, for which it needs rights that it does not need otherwise.
#[test]
fn a_call_that_finishes_a_deletion_needs_the_rights_to_delete() {
    let user = User::of_docs("orders");
    let admin = user.admin();
    for right in ["+hscan", "+pexpire", "+persist"] {
        // The second in which it was made is far from over, so something is left of it.
        let root = events::Partition::new("orders", 0, 4_000_000_000).unwrap();
        let open = events::Open::create(root.clone(), 1, events::Config::default());
        admin.run(open).unwrap();
        let fewer: Vec<_> = user.rules.iter().copied().filter(|rule| *rule != right).collect();
        user.set(&fewer);
        let queue = || user.connect().events("orders");
        queue().publish(NewEvent::new("a").key("k")).unwrap();
        admin.run(Ok(events::Delete::begin(root))).unwrap();
        let refused = queue().publish(NewEvent::new("b")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{right}: {refused}");
        user.set(&user.rules);
        queue().publish(NewEvent::new("b")).unwrap();
        assert_eq!(queue().stats().unwrap().events, 1, "{right}");
        user.server.cli(&["FLUSHALL"]);
    }
}

/// No other name gives a key that the rights reach, and no partition of it.
#[test]
fn the_rights_of_a_queue_of_events_reach_no_other_queue() {
    let user = User::of_docs("orders");
    let mut config = events::Config::default();
    config.partitions = 12;
    let names =
        ["orders/x", "orders/1", "orders/0001", "{orders}", "{orders/0001}", "{orders}:events"];
    let names =
        names.into_iter().chain(["{orders/0001}:events-part", "{orders}:events:lane:default:k"]);
    for name in names {
        user.admin().events(name).configure(config.clone()).unwrap();
        let published = user.connect().events(name).publish(NewEvent::new("mine"));
        assert_eq!(published.unwrap_err().kind(), ErrorKind::PermissionDenied, "{name}");
        for key in user.server.cli(&["KEYS", "*"]).array() {
            let key = key.text();
            let get = ["ACL", "DRYRUN", user.name, "HGET", &key, "x"];
            assert!(!user.server.cli(&get).is_ok(), "{key} of {name}");
        }
        user.server.cli(&["FLUSHALL"]);
    }
    // Those of its own are within them, and apart from those of a queue with a name that looks like one.
    let (orders, other) = (user.connect().events("orders"), user.admin().events("orders/1"));
    orders.configure(config.clone()).unwrap();
    other.configure(config).unwrap();
    orders
        .publish_many((0..40).map(|number| NewEvent::new("mine").key(number.to_string())))
        .unwrap();
    other.publish(NewEvent::new("theirs")).unwrap();
    other.delete().unwrap();
    assert_eq!(orders.stats().unwrap().events, 40);
}

#[test]
fn a_volatile_hash() {
    User::of_docs("pages").assert_smallest(&[], |user| {
        let hash = user.connect().volatile_hash("pages");
        steps_of_a_hash(user, &hash, ["vhash-zset:{pages}", "vhash-lockz:{pages}"])
    });
}

#[test]
fn a_recruiter() {
    User::of_docs("site").assert_smallest(&[], |user| {
        let client = user.connect();
        let offer = |max_running, lease| {
            let job = NewJob::new("mail").per_second(1_000.0).max_running(max_running);
            Recruit::new("site", [job.budget(MILLISECOND).lease(lease)])
        };
        client.run(offer(2, MILLISECOND))?;
        std::thread::sleep(MILLISECOND * 3);
        // The lease of the first is over, so its place is free.
        let granted = client.run(offer(1, MINUTE))?.granted.unwrap();
        client.run(offer(1, MINUTE))?;
        client.run(Report::end("site", "mail", granted.fence))?;
        // Ended already.
        client.run(Report::end("site", "mail", granted.fence))?;
        let recruiter = client.recruiter("site");
        recruiter.wake("mail")?;
        assert_eq!(recruiter.stats()?.jobs[0].late, 1);
        // As if the clock had been set back.
        user.admin().run(offer(1, MINUTE))?;
        set_clock_back(&user.server, "{site}:steal", "mail");
        client.run(offer(1, MINUTE)).map(drop)
    });
}

#[test]
fn a_queue_tracker() {
    User::of_docs("ids").assert_smallest(&[], |user| {
        let tracker = user.connect().queue_tracker("ids");
        tracker.add(["a", "b", "c"])?;
        tracker.advance("", ["1"], ["d"], 1, MINUTE)?;
        tracker.advance("1", [""; 0], [""; 0], 1, Duration::ZERO)?;
        assert!(tracker.is_queued("d")?);
        let sample = tracker.sample(2)?;
        assert_eq!(tracker.remove(&sample.ids, &sample.ids, sample.stamp)?.removed, 2);
        assert_eq!(tracker.ids(0, 1)?.len(), 1);
        assert_eq!(tracker.stats()?.rounds, 1);
        tracker.clear().map(drop)
    });
}

#[test]
fn a_family_of_volatile_hashes() {
    User::of_docs("carts").assert_smallest(&[], |user| {
        let carts = user.connect().volatile_hashes("carts", 1);
        let sorted =
            ["zset", "lockz"].map(|kind| format!("vhashes:{{carts/0000}}:shard:{kind}:ann"));
        steps_of_a_hash(user, &carts.hash("ann"), [&sorted[0], &sorted[1]])?;
        carts.hash("bob").set("a", "1", Duration::from_millis(1))?;
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(carts.reap(5)?.fields, 1);
        Ok(())
    });
}

/// All steps of a hash with these keys of expiries.
fn steps_of_a_hash(user: &User, hash: &VolatileHash, [zset, lockz]: [&str; 2]) -> Result<()> {
    let millisecond = Duration::from_millis(1);
    hash.set_many([("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")], MINUTE)?;
    assert!(hash.set_if_present("a", "2", MINUTE)? && hash.touch("b", MINUTE)?);
    let page = hash.fields(FieldQuery::new().limit(1))?;
    let next = page.next.unwrap();
    hash.fields(FieldQuery::new().after(next.clone()).omit_values())?;
    hash.delete([&next.field])?;
    hash.fields(FieldQuery::new().after(next))?;
    assert!(hash.acquire("a", "me", MINUTE)?.fence.is_some());
    hash.set_locked("a", "me", "3", MINUTE)?;
    assert!(hash.get("a")?.is_some() && hash.holder("a")?.is_some());
    hash.set("e", "5", millisecond)?;
    // What a server has evicted.
    user.server.cli(&["ZREM", zset, "b"]);
    user.server.cli(&["DEL", lockz]);
    std::thread::sleep(millisecond * 2);
    let reaped = hash.reap(5)?;
    assert_eq!((reaped.fields, reaped.orphans), (1, 1));
    assert_eq!(hash.stats()?.locks, 1);
    std::thread::sleep(millisecond);
    assert!(hash.release("a", "me")?);
    assert!(hash.clear()? > 0);
    Ok(())
}

#[test]
fn a_shuffle_queue_that_is_written_to() {
    User::of_docs("jobs-producer").assert_smallest(&[], |user| {
        let queue = user.connect().shuffle_queue("jobs").streams(2).streams_per_shard(1);
        let receipts = queue.write_many((0..3).map(|i| ("t", [("n", i.to_string())])))?;
        user.admin().shuffle_queue("jobs").consumer("g", "c").read()?.unwrap();
        // Where an entry is deleted that was not delivered, the server does not know the lag.
        let Stream::Number(number) = receipts[1].stream else { panic!("{receipts:?}") };
        let id = receipts[1].id.to_string();
        user.server.cli(&["XDEL", &format!("jobs:s{number}"), &id]);
        queue.write("t", [("n", "3")])?;
        queue.clone().ttl(MINUTE).write("t", [("n", "4")])?;
        queue.resize(3)?;
        queue.backlog().map(drop)
    });
}

#[test]
fn a_shuffle_queue_that_is_read() {
    let user = User::of_docs("jobs-consumer");
    let waiting = ["+xinfo|stream", "+xread", "+client|id", "+client|unblock"];
    user.assert_smallest(&waiting, |user| {
        let producer = user.admin().shuffle_queue("jobs");
        producer.write_many((0..9).map(|i| ("t", [("n", i.to_string())])))?;
        let queue = user.connect().shuffle_queue("jobs");
        let consumer = queue.consumer("g", "c");
        let first = consumer.read()?.unwrap();
        let messages = consumer.read_many(4)?;
        assert_eq!(consumer.renew(&messages)?, 4);
        assert_eq!(consumer.ack([&first])?, 1);
        assert!(queue.len()? > 0 && queue.backlog()? > 0);
        assert!(!queue.stats("g")?.streams.is_empty());
        let other = queue.consumer("g", "d");
        assert_eq!(other.reclaim(Duration::ZERO, 9)?.messages.len(), 4);
        assert_eq!(other.release(&messages, MINUTE, Duration::ZERO)?, 4);
        assert_eq!(consumer.ack_each(&messages)?, [true; 4]);
        Ok(())
    });
    let queue = user.admin().shuffle_queue("jobs");
    let mut messages = user.connect().shuffle_queue("jobs").consumer("g", "c").messages(1);
    messages = messages.wait(MINUTE);
    assert_woken(
        WOKEN_FROM_XREAD,
        move || messages.next().unwrap().unwrap().len(),
        move || {
            queue.write("t", [("n", "1")]).unwrap();
        },
    );
}

#[test]
fn dead_letters_of_a_shuffle_queue() {
    User::of_docs("jobs-reclaimer").assert_smallest(&[], |user| {
        let admin = user.admin().shuffle_queue("jobs");
        admin.write_many((0..3).map(|i| ("t", [("n", i.to_string())])))?;
        admin.consumer("g", "c").read_many(2)?;
        let queue = user.connect().shuffle_queue("jobs");
        let reclaimer = queue.consumer("g", "r").max_deliveries(1);
        assert_eq!(reclaimer.reclaim(Duration::ZERO, 9)?.dead, 2);
        admin.consumer("g", "c").read_many(2)?;
        let reclaimer = queue.clone().dead_ttl(MINUTE).consumer("g", "r").max_deliveries(1);
        assert_eq!(reclaimer.reclaim(Duration::ZERO, 9)?.dead, 1);
        admin.write("t", [("n", "4")])?;
        let message = admin.consumer("g", "r").read()?.unwrap();
        assert_eq!(reclaimer.reject([&message], "rejected")?, 1);
        assert_eq!(queue.delete_dead_letters(&queue.dead_letters(9)?)?, 4);
        Ok(())
    });
}

#[test]
fn dead_letters_that_are_put_back() {
    User::of_docs("jobs-operator").assert_smallest(&[], |user| {
        let admin = user.admin().shuffle_queue("jobs");
        admin.write_many((0..3).map(|i| ("t", [("n", i.to_string())])))?;
        let consumer = admin.consumer("g", "c");
        assert_eq!(consumer.reject(&consumer.read_many(3)?, "rejected")?, 3);
        let queue = user.connect().shuffle_queue("jobs");
        let letters = queue.dead_letters(1)?;
        assert!(queue.redrive(&letters)?[0].is_some());
        // A queue of which nothing but the dead letters is left.
        user.server.cli(&["DEL", "jobs:meta", "jobs:s0", "jobs:s1"]);
        let letters = queue.dead_letters_after(1, &letters[0])?;
        let receipt = queue.clone().ttl(MINUTE).redrive(&letters)?[0].unwrap();
        assert_eq!(queue.remove_idle_consumers(Duration::ZERO)?, 1);
        assert_ne!(receipt.stream, Stream::Default);
        Ok(())
    });
}

/// Renews, acknowledges, rejects, releases, takes over from consumers that are gone, and removes them.
#[test]
fn a_worker_of_a_shuffle_queue() {
    let user = User::of_docs("jobs-worker");
    let waiting = ["+xinfo|stream", "+xread", "+client|id", "+client|unblock"];
    user.assert_smallest(&waiting, |user| {
        let admin = user.admin().shuffle_queue("jobs");
        let write = |value: &str| admin.write("t", [("n", value)]).map(drop);
        // Renewed after a third of it: the rest is for a machine that is busy.
        let lease = Duration::from_secs(2);
        let retry = || shuffle::Failure::RetryAfter("retry".into(), Duration::ZERO);
        let work = |job: &shuffle::Job| match job.message().field("n").unwrap() {
            b"retry" if job.message().deliveries == 1 => Err(retry()),
            b"reject" => Err(shuffle::Failure::Reject("rejected".into())),
            b"slow" => {
                std::thread::sleep(lease + lease / 4);
                assert!(!job.is_lost(), "the lease is not renewed");
                Ok(())
            }
            _ => Ok(()),
        };
        let client = user.connect();
        for queue in [client.shuffle_queue("jobs"), client.shuffle_queue("jobs").dead_ttl(MINUTE)] {
            ["gone", "retry"].into_iter().try_for_each(write)?;
            let gone = admin.consumer("g", "gone").read()?.unwrap();
            let Stream::Number(number) = gone.stream else { panic!("{gone:?}") };
            let (stream, id) = (format!("jobs:s{number}"), gone.id.to_string());
            user.server.cli(&["XCLAIM", &stream, "g", "gone", "0", &id, "IDLE", "60000", "JUSTID"]);
            ["slow", "reject"].into_iter().try_for_each(write)?;
            let worker = queue.consumer("g", "c").worker().lease(lease).delete(true);
            let drained = worker.keep_consumers(Duration::ZERO).drain(work)?;
            assert_eq!((drained.done, drained.dead), (3, 1), "{drained:?}");
            assert_eq!(admin.dead_letters(9)?.len(), 1);
            admin.delete_dead_letters(&admin.dead_letters(9)?)?;
        }
        assert_eq!(admin.remove_idle_consumers(Duration::ZERO)?, 0, "the worker has left none");
        Ok(())
    });
    let queue = user.admin().shuffle_queue("jobs");
    let worker = user.connect().shuffle_queue("jobs").consumer("g", "c").worker();
    assert_woken(
        WOKEN_FROM_XREAD,
        move || {
            worker.run(|_: &shuffle::Job| worker.stop(MINUTE)).unwrap();
            1
        },
        move || {
            queue.write("t", [("n", "1")]).unwrap();
        },
    );
}

#[test]
fn a_shuffle_queue_whose_messages_are_tracked() {
    User::of_docs("jobs-tracker").assert_smallest(&[], |user| {
        let queue = user.connect().shuffle_queue("jobs").track_keys(TrackKeys::Queue);
        queue.write_tracked("t", [("id", "a")], "id", None)?;
        assert!(queue.delete_tracked("a")?.is_some());
        // A message of this value is there already, and its record is the later one's.
        queue.write_tracked("t", [("id", "b")], "id", Some(1))?;
        queue.write_tracked("t", [("id", "c")], "id", Some(2))?;
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(queue.cordon_deadline_exceeded(365 * 100 * day)?.len(), 2);
        let mut garbage = queue.gc();
        while garbage.next().transpose()?.is_some() {}
        assert_eq!(garbage.deleted(), 2);
        Ok(())
    });
}

fn everything(store: &TaskStore) -> Result<()> {
    let task = store.insert("in", "1")?;
    let other = NewTask::new("in").ttl(MINUTE).priority(3).value("2");
    store.modify(
        Modification::new()
            .insert(other)
            .change(task.change().queue("out"))
            .insert_doc(NewDoc::new("n", "k").id("d").content("1")),
    )?;
    assert_eq!(store.list("out", TaskQuery::new())?.tasks.len(), 1);
    assert_eq!(store.fetch([&task.id])?.len(), 1);
    store.pause("paused")?;
    assert_eq!(store.queue_stats(Filter::new())?.len(), 3);
    store.resume("paused")?;
    assert_eq!(store.queue_stats(Filter::new().exact("in").prefix("o"))?.len(), 2);
    let claimed = store.claim_many(["in", "out"], MINUTE, 2)?;
    assert_eq!(claimed.len(), 2);
    let docs = store.claim_docs("n", ["k"], MINUTE)?;
    let ids: Vec<_> = claimed.iter().map(|task| task.handle()).collect();
    store.renew(ids, docs.iter().map(|doc| doc.handle()).collect::<Vec<_>>(), MINUTE)?;
    assert_eq!(store.list_docs("n", DocQuery::new())?.docs.len(), 1);
    assert_eq!(store.fetch_docs("n", ["d"])?.len(), 1);
    assert_eq!(store.namespace_stats(Filter::new())?.len(), 1);
    let tasks = store.fetch(claimed.iter().map(|task| &task.id))?;
    let docs = store.fetch_docs("n", ["d"])?;
    let change = DocChange::new(docs[0].handle()).content("2");
    let done = tasks.iter().fold(Modification::new(), |all, task| all.delete(task.handle()));
    let done = store.modify(done.change_doc(change))?;
    store.modify(Modification::new().delete_doc(done.changed_docs[0].handle()))?;
    operate(store)?;
    work(store)?;
    store.time().map(drop)
}

/// Cancels, and goes through queues in pages and steps, also behind a task that is there and one that is gone.
fn operate(store: &TaskStore) -> Result<()> {
    for value in ["1", "2", "3", "4"] {
        store.insert("err", value)?;
    }
    let claimed = store.claim(["err"], MINUTE)?.unwrap();
    assert_eq!(store.cancel([&claimed.id])?, [true]);
    store.modify(Modification::new().delete(&claimed))?;
    let one = TaskFilter::new().limit(1);
    let page = store.list("err", TaskQuery::new().limit(1))?;
    let next = page.next.unwrap();
    assert_eq!(store.list("err", TaskQuery::new().after(next.clone()))?.tasks.len(), 2);
    assert_eq!(store.purge("err", one.clone())?.tasks, 1);
    assert_eq!(store.list("err", TaskQuery::new().after(next))?.tasks.len(), 2);
    assert_eq!(store.move_tasks("err", "moved", one.clone())?.tasks, 1);
    assert_eq!(store.redrive("err", "moved", one)?.tasks, 1);
    assert_eq!(store.purge("moved", TaskFilter::new())?.tasks, 2);
    Ok(())
}

/// A worker that renews, ends several jobs in one step, retries, gives back and puts aside.
fn work(store: &TaskStore) -> Result<()> {
    for value in ["1", "2", "3", "4"] {
        store.insert("in", value)?;
    }
    let lease = Duration::from_millis(300);
    let worker = store.worker(["in"]).lease(lease).concurrency(4).max_attempts(2);
    let drained = worker.drain(|job: &tasks::Job| match job.task().value.as_deref() {
        Some("1") => {
            std::thread::sleep(2 * lease);
            assert!(!job.is_lost(), "the lease is not renewed");
            Ok(())
        }
        Some("2") => Err(tasks::Failure::Reject("rejected".into())),
        Some("3") => Err(tasks::Failure::RetryAfter("again".into(), Duration::ZERO)),
        _ => Ok(()),
    })?;
    assert_eq!((drained.done, drained.retried, drained.dead), (2, 1, 2), "{drained:?}");
    assert_eq!(store.purge("in/err", TaskFilter::new())?.tasks, 2);
    Ok(())
}

#[test]
fn a_task_store() {
    let user = User::of_docs("shop");
    let for_waiting = ["+publish", "+subscribe", "+unsubscribe"];
    user.assert_smallest(&for_waiting, |user| everything(&user.connect().tasks("shop")));
    let store = user.connect().tasks("shop");
    let mut claims = store.claims(["in"]).wait(MINUTE);
    assert_woken(
        WOKEN,
        move || claims.next().map_or(0, |task| task.map_or(0, |_| 1)),
        move || {
            store.insert("in", "1").unwrap();
        },
    );
}

#[test]
fn a_worker_of_a_task_store() {
    let user = User::of_docs("shop");
    let store = user.connect().tasks("shop");
    let worker = store.worker(["in"]).concurrency(4).prefetch(4);
    assert_woken(
        WOKEN,
        move || {
            worker.run(|_: &tasks::Job| worker.stop(MINUTE)).unwrap();
            1
        },
        move || {
            store.insert("in", "1").unwrap();
        },
    );
}

/// Only those are listed to which the user has a right.
#[test]
fn the_task_stores_of_a_server() {
    User::of_docs("shop-lister").assert_smallest(&[], |user| {
        for name in ["bank", "shop"] {
            user.admin().tasks(name).insert("in", "1")?;
        }
        assert_eq!(user.connect().task_stores()?, [b"shop"]);
        Ok(())
    });
}

/// A user without the right to subscribe waits too, only not as well: it polls, and no wait ends with
/// an error or hangs.
#[test]
fn a_wait_without_the_right_to_listen_polls_every_few_seconds() {
    let server = Redis::builder()
        .user("me", "pw", "+@all -xread ~* resetchannels")
        .user("tom", "pw", "+@all -client ~* resetchannels")
        .start();
    let admin = server.url();
    let tom = admin.replacen("me:", "tom:", 1);
    std::thread::scope(|scope| {
        let client = || millpond::connect(&admin).unwrap();
        scope.spawn(move || {
            let mut batches = client().ick("files").batches(1).wait(MINUTE);
            let ick = client().ick("files");
            assert_found_later(
                || batches.next().unwrap().unwrap().len(),
                || ick.add([(1.0, "a")]).map(drop),
            );
        });
        scope.spawn(move || {
            let mut claims = client().tasks("shop").claims(["in"]).wait(MINUTE);
            let store = client().tasks("shop");
            let claim = || usize::from(claims.next().unwrap().is_ok());
            assert_found_later(claim, || store.insert("in", "1").map(drop));
        });
        for url in [&admin, &tom] {
            scope.spawn(move || {
                let queue = millpond::connect(url).unwrap().shuffle_queue(url.as_bytes());
                let mut messages = queue.consumer("g", "c").messages(1).wait(MINUTE);
                let read = || messages.next().unwrap().unwrap().len();
                assert_found_later(read, || queue.write("t", [("n", "1")]).map(drop));
            });
        }
    });
}

/// Checks that a wait finds what is produced meanwhile, within the time that the documentation says.
fn assert_found_later(wait: impl FnOnce() -> usize + Send, produce: impl FnOnce() -> Result<()>) {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(wait);
        std::thread::sleep(Duration::from_millis(300));
        let began = Instant::now();
        produce().unwrap();
        assert_eq!(waiting.join().unwrap(), 1);
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    });
}

fn assert_woken(
    within: Duration,
    wait: impl FnOnce() -> usize + Send + 'static,
    produce: impl FnOnce(),
) {
    let waiting = std::thread::spawn(wait);
    // Long enough to have polled and to wait; if it is not, no wake-up is needed.
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    produce();
    assert_eq!(waiting.join().unwrap(), 1);
    assert!(began.elapsed() < within, "{:?}", began.elapsed());
}
