//! The rights that the documentation says a program needs are enough, and none of them is too much.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use millpond::ick;
use millpond::shuffle::{Stream, TrackKeys};
use millpond::tasks::{
    DocChange, DocQuery, Filter, Modification, NewDoc, NewTask, TaskQuery, TaskStore,
};
use millpond::{Client, ErrorKind, Result};
use millpond_tests::servers::Redis;

/// What the core's documentation says.
const DOCS: &str = include_str!("../../core/src/README.md");

const MINUTE: Duration = Duration::from_secs(60);

/// How soon a waiter is woken, on a machine that is busy with other things as well; a waiter that is
/// not woken polls after five seconds.
const AT_ONCE: Duration = Duration::from_secs(3);

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
        millpond::connect(&format!("redis://{}:secret@127.0.0.1:{port}", self.name)).unwrap()
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
        move || batches.next().unwrap().unwrap().len(),
        move || {
            producer.add([(1.0, "a")]).unwrap();
        },
    );
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
        assert_eq!(consumer.extend(&messages)?, 4);
        assert_eq!(consumer.ack([&first])?, 1);
        assert!(queue.len()? > 0 && queue.backlog()? > 0);
        assert!(!queue.stats("g")?.streams.is_empty());
        let other = queue.consumer("g", "d");
        assert_eq!(other.reclaim(Duration::ZERO, 9)?.messages.len(), 4);
        Ok(())
    });
    let queue = user.admin().shuffle_queue("jobs");
    let mut messages = user.connect().shuffle_queue("jobs").consumer("g", "c").messages(1);
    messages = messages.wait(MINUTE);
    assert_woken(
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
        assert_eq!(queue.delete_dead_letters(&queue.dead_letters(9)?)?, 3);
        Ok(())
    });
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
    assert_eq!(store.queue_stats(Filter::new())?.len(), 2);
    assert_eq!(store.queue_stats(Filter::new().exact("in").prefix("o"))?.len(), 2);
    let claimed = store.claim_many(["in", "out"], MINUTE, 2)?;
    assert_eq!(claimed.len(), 2);
    let docs = store.claim_docs("n", "k", MINUTE)?;
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
    store.time().map(drop)
}

#[test]
fn a_task_store() {
    let user = User::of_docs("shop");
    let for_waiting = ["+publish", "+subscribe", "+unsubscribe"];
    user.assert_smallest(&for_waiting, |user| everything(&user.connect().tasks("shop")));
    let store = user.connect().tasks("shop");
    let mut claims = store.claims(["in"]).wait(MINUTE);
    assert_woken(
        move || claims.next().map_or(0, |task| task.map_or(0, |_| 1)),
        move || {
            store.insert("in", "1").unwrap();
        },
    );
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

fn assert_woken(wait: impl FnOnce() -> usize + Send + 'static, produce: impl FnOnce()) {
    let waiting = std::thread::spawn(wait);
    // Long enough to have polled and to wait; if it is not, no wake-up is needed.
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    produce();
    assert_eq!(waiting.join().unwrap(), 1);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}
