//! What a task store is on a server: whole while a cluster moves its slot, and bounded in what one step
//! does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millpond::ErrorKind;
use millpond::step::Operation;
use millpond::tasks::{
    DEDUP_IDS_MAX, DocQuery, Filter, Modification, Modify, NewDoc, NewTask, TaskFilter, TaskQuery,
    TaskStore,
};
use millpond_tests::servers::{Cluster, Redis, Reply};

const LEASE: Duration = Duration::from_secs(60);

fn size(store: &TaskStore) -> u64 {
    let queues = store.queues(Filter::new()).expect("the server is there");
    queues.iter().map(|(_, size)| size).sum()
}

#[test]
fn a_store_is_whole_while_its_slot_moves() {
    let cluster = Cluster::start();
    let url = format!("{}?timeout=20s&retries=1000", cluster.url());
    let store = millpond::connect(&url).unwrap().tasks("shop").claimant("ann");
    let hour = Duration::from_secs(3_600);
    let fill = (0..50).fold(Modification::new(), |all, number: u8| {
        all.insert(
            NewTask::new(format!("q{}", number % 5)).priority(number % 3).ttl(hour).value("1"),
        )
    });
    store.modify(fill.insert_doc(NewDoc::new("n", "k").id("d").content("0"))).unwrap();

    let slot = cluster.slot_of("shop");
    let from = cluster.owner(slot);
    let is_over = AtomicBool::new(false);
    let moved = std::thread::scope(|scope| {
        // Takes tasks out and puts as many back, and counts in a document how often: all in one step.
        let worker = scope.spawn(|| {
            let mut steps = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                let queues = ["q0", "q1", "q2", "q3", "q4"];
                let task = store.claim(queues, LEASE).expect("it waits");
                let task = task.expect("there are enough tasks");
                let doc = &store.fetch_docs("n", ["d"]).expect("it waits")[0];
                let step = Modification::new()
                    .delete(&task)
                    .insert(NewTask::new(&task.queue).ttl(hour).value("2"))
                    .change_doc(doc.change().content((steps + 1).to_string()));
                store.modify(step).expect("nobody else is at work");
                steps += 1;
            }
            steps
        });
        for to in [(from + 1) % 3, (from + 2) % 3, from] {
            std::thread::sleep(Duration::from_millis(100));
            let migration = cluster.begin_migration(slot, to);
            loop {
                std::thread::sleep(Duration::from_millis(10));
                if migration.move_keys(1) == 0 {
                    break;
                }
            }
            migration.finish();
        }
        std::thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::Relaxed);
        worker.join().expect("no panic")
    });
    assert!(moved > 0);
    assert_eq!(size(&store), 50);
    let doc = &store.fetch_docs("n", ["d"]).unwrap()[0];
    assert_eq!(doc.content.as_deref(), Some(&*moved.to_string()));
    let stats = store.queue_stats(Filter::new()).unwrap();
    assert_eq!(stats.iter().map(|of| of.available).sum::<u64>(), 50);
}

#[test]
fn many_tasks_that_expire_together_delay_no_step_for_long() {
    let server = Redis::start();
    let store = millpond::connect(&server.url()).unwrap().tasks("s");
    // All at one time, when all are there; a busy machine takes longer to put them in.
    let mut seconds = 6;
    let end = loop {
        let end = Instant::now() + Duration::from_secs(seconds);
        for _ in 0..10 {
            // At least that: what expires before all are there is counted below.
            let ttl = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let tasks = (0..5_000).fold(Modification::new(), |all, _| {
                all.insert(NewTask::new("short").ttl(ttl).value("1"))
            });
            store.modify(tasks).unwrap();
        }
        store.insert("long", "1").unwrap();
        if size(&store) == 50_001 {
            break end;
        }
        assert!(seconds < 60, "they were to expire later");
        server.cli(&["FLUSHALL"]);
        seconds *= 2;
    };
    std::thread::sleep(end.saturating_duration_since(Instant::now()) + Duration::from_millis(100));
    server.cli(&["CONFIG", "RESETSTAT"]);
    let start = Instant::now();
    assert!(store.claim(["long"], LEASE).unwrap().is_some());
    println!("50,000 expired in {:?}", start.elapsed());
    // One step for each two thousand, and the one that finds no more.
    let calls: u64 = ["evalsha", "eval"].iter().filter_map(|name| server.calls_of(name)).sum();
    assert!((26..=60).contains(&calls), "{calls} steps");
    assert_eq!(size(&store), 1);
}

fn insert(store: &TaskStore, task: NewTask) -> Result<usize, ErrorKind> {
    let done = store.modify(Modification::new().insert(task));
    match done {
        Ok(done) => Ok(done.inserted.len()),
        Err(error) => {
            assert!(error.dependency().is_none_or(|dependency| dependency.has_collisions()));
            Err(error.kind())
        }
    }
}

/// Calls this until it says so; how long that takes is the server's clock's.
fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_insert_that_is_repeated_after_its_task_is_done_does_nothing() {
    let server = Redis::start();
    let store = millpond::connect(&server.url()).unwrap().tasks("shop");
    let charge = |window| NewTask::new("charges").id("order-7").dedup_window(window);
    let work = || store.worker(["charges"]).drain(|_| ()).unwrap().done;
    assert_eq!(insert(&store, charge(LEASE)), Ok(1));
    assert_eq!(insert(&store, charge(LEASE)), Err(ErrorKind::Dependency));
    assert_eq!(work(), 1);
    for _ in 0..2 {
        assert_eq!(insert(&store, charge(LEASE)), Err(ErrorKind::Dependency));
        assert_eq!(insert(&store, charge(LEASE).skip_colliding()), Ok(0));
        assert_eq!(work(), 0);
    }
    // As if a minute had passed: an id whose time is over is free while it is still there.
    let until_ms = store.time().unwrap().to_string();
    server.cli(&["ZADD", "{shop}:tasks:taken", &until_ms, "order-7"]);
    assert_eq!(insert(&store, charge(Duration::from_millis(30))), Ok(1));
    assert_eq!(work(), 1);
    until(|| insert(&store, charge(Duration::ZERO).skip_colliding()) == Ok(1));
    assert_eq!(work(), 1);
    assert_eq!(insert(&store, charge(Duration::ZERO)), Ok(1), "it has had no window");
}

/// It is that of the server, from the end of the task, or from when it has expired.
#[test]
fn the_time_until_which_an_id_is_taken_is_to_the_millisecond() {
    let server = Redis::start();
    let store = millpond::connect(&server.url()).unwrap().tasks("shop").claimant("ann");
    let taken_until = |id: &str| -> Option<u64> {
        match server.cli(&["ZSCORE", "{shop}:tasks:taken", id]) {
            Reply::Nil => None,
            score => Some(score.text().parse().unwrap()),
        }
    };
    const WINDOW_MS: u64 = 60_000;
    let task = |id: &str| NewTask::new("q").id(id).dedup_window(LEASE);
    let plain = NewTask::new("q").id("plain");
    let expires = task("expires").ttl(Duration::from_millis(1));
    let all = Modification::new().insert(task("purged")).insert(plain).insert(expires);
    let inserted = store.modify(all).unwrap().inserted;
    // It is noticed later.
    until(|| store.time().unwrap() > inserted[2].created_ms + 20);
    assert!(store.fetch(["expires"]).unwrap().is_empty());
    assert_eq!(taken_until("expires"), Some(inserted[2].created_ms + 1 + WINDOW_MS));
    assert_eq!(taken_until("purged"), None);
    let moved = inserted[0].change().queue("p").headers([("n", "v")]);
    store.modify(Modification::new().change(moved)).unwrap();
    let before = store.time().unwrap();
    for queue in ["p", "q"] {
        assert_eq!(store.purge(queue, TaskFilter::new()).unwrap().tasks, 1);
    }
    let after = store.time().unwrap();
    let until_ms = taken_until("purged").unwrap();
    assert!((before + WINDOW_MS..=after + WINDOW_MS).contains(&until_ms), "{until_ms}");
    assert_eq!(taken_until("plain"), None);
}

/// What is stored of a task without a window is what was stored before there were windows.
#[test]
fn only_a_task_with_a_window_has_one_in_its_record() {
    let server = Redis::start();
    let store = millpond::connect(&server.url()).unwrap().tasks("shop").claimant("ann");
    let length = |id: &str| server.cli(&["HGET", "{shop}:tasks", id]).bytes()[0] & 0x0f;
    let task = |id: &str| NewTask::new(id).id(id);
    let all = Modification::new().insert(task("a")).insert(task("b").header("n", "v"));
    let all = all.insert(task("c").dedup_window(LEASE));
    store.modify(all).unwrap();
    assert_eq!(["a", "b", "c"].map(length), [11, 14, 15]);
    let tasks = store.claim_many(["a", "c"], LEASE, 2).unwrap();
    assert_eq!(["a", "c"].map(length), [12, 15]);
    let ended = tasks.iter().fold(Modification::new(), |all, task| all.change(task.change()));
    store.modify(ended).unwrap();
    assert_eq!(["a", "c"].map(length), [11, 15]);
    assert!(store.fetch(["c"]).unwrap()[0].headers.is_empty());
}

/// Some at a time, by whatever writes.
#[test]
fn ids_whose_time_is_over_are_forgotten() {
    let server = Redis::start();
    let store = millpond::connect(&server.url()).unwrap().tasks("shop");
    let taken = "{shop}:tasks:taken";
    let left = || server.cli(&["ZCARD", taken]).integer();
    let fill = |from: usize, to: usize, until_ms: &str| {
        for first in (from..to).step_by(10_000) {
            let ids: Vec<_> = (first..to.min(first + 10_000)).map(|n| format!("id-{n}")).collect();
            let pairs = ids.iter().flat_map(|id| [until_ms, id.as_str()]);
            server.cli(&["ZADD", taken].into_iter().chain(pairs).collect::<Vec<_>>());
        }
    };
    store.insert("q", "1").unwrap();
    fill(0, 2_500, "1000");
    for expected in [1_500, 500, 0, 0] {
        store.claim(["q"], Duration::ZERO).unwrap().unwrap();
        assert_eq!(left(), expected);
    }

    // Of too many, those that would be free first: two that are added, and one that was there.
    let now_ms = store.time().unwrap();
    fill(0, DEDUP_IDS_MAX - 1, &(now_ms + 3_600_000).to_string());
    server.cli(&["ZADD", taken, &(now_ms + 600_000).to_string(), "sooner"]);
    let all = ["a", "b", "c"].into_iter().zip([LEASE, LEASE * 2, LEASE * 100]);
    let all = all.fold(Modification::new(), |all, (id, window)| {
        all.insert(NewTask::new("p").id(id).dedup_window(window))
    });
    store.modify(all).unwrap();
    assert_eq!(left(), DEDUP_IDS_MAX as i64);
    assert_eq!(store.purge("p", TaskFilter::new()).unwrap().tasks, 3);
    assert_eq!(left(), DEDUP_IDS_MAX as i64);
    let is_left = |id: &&str| server.cli(&["ZSCORE", taken, id]) != Reply::Nil;
    let ids: Vec<_> = ["a", "b", "c", "sooner", "id-0"].into_iter().filter(is_left).collect();
    assert_eq!(ids, ["c", "id-0"]);
}

#[test]
fn a_window_that_no_call_has_is_refused_by_the_script() {
    let server = Redis::start();
    let new = NewTask::new("q").id("t").dedup_window(LEASE);
    let modify = Modify::new("shop", "ann", Modification::new().insert(new)).unwrap();
    let call = modify.invocation();
    let keys: Vec<&[u8]> = call.keys.iter().map(|key| &**key).collect();
    let count = keys.len().to_string();
    let run = |args: &[&[u8]]| {
        let script = [b"EVAL".as_slice(), call.script.source().as_bytes(), count.as_bytes()];
        server.cli(&[&script[..], &keys, args].concat())
    };
    let args: Vec<&[u8]> = call.args.iter().collect();
    let at = args.iter().position(|arg| *arg == b"60000").unwrap();
    for window in ["", "-1", "1.5", "01", "604800001", "1e3", "x", "99999999999999999999"] {
        let mut args = args.clone();
        args[at] = window.as_bytes();
        let reply = run(&args);
        let error = reply.error().unwrap_or_else(|| panic!("{window} gave {reply:?}"));
        assert_eq!(error, "INVALID_ARGUMENT an entry has no valid dedup_window");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 0, "{window} left something behind");
    }
    assert!(run(&args).error().is_none());
}

/// On a cluster they lie on several masters, of which each has more keys than a step looks at.
#[test]
fn stores_are_listed_wherever_they_lie() {
    let (server, cluster) = (Redis::start(), Cluster::start());
    for url in [server.unix_url(), cluster.url(), "memory:".to_owned()] {
        let client = millpond::connect(&url).unwrap();
        assert_eq!(client.task_stores().unwrap(), [b""; 0]);
        let name = |number: u32| format!("s{number:02}");
        for number in 0..20 {
            let store = client.tasks(name(number));
            match number % 3 {
                0 => drop(store.insert("q", "1").unwrap()),
                1 => drop(store.put_doc(NewDoc::new("n", "k").content("0")).unwrap()),
                _ => store.pause("q").unwrap(),
            }
            for other in 0..if url == "memory:" { 0 } else { 150 } {
                client.ick(format!("{{{number}-{other}}}")).add([(1.0, "a")]).unwrap();
            }
        }
        client.tasks("{tagged}:eu").pause("q").unwrap();
        // What is empty is no store, and neither are keys of other programs.
        let gone = client.tasks("gone").insert("q", "1").unwrap();
        client.tasks("gone").modify(Modification::new().delete(&gone)).unwrap();
        let once = NewTask::new("q").dedup_window(LEASE);
        let once = client.tasks("ended").modify(Modification::new().insert(once)).unwrap();
        let once = Modification::new().delete(&once.inserted[0]);
        client.tasks("ended").modify(once).unwrap();
        server.cli(&["HSET", "other:tasks:meta", "a", "1"]);
        server.cli(&["HSET", "other:tasks", "a", "1"]);
        let mut names: Vec<_> = (0..20).map(|number| name(number).into_bytes()).collect();
        names.push(b"{tagged}:eu".into());
        assert_eq!(client.task_stores().unwrap(), names, "{url}");
    }
}

/// What is written over a task before it is claimed: the key, and what becomes of what it holds of the task.
type Damage = (&'static str, &'static str, fn(&[u8]) -> Option<Vec<u8>>);

#[test]
fn a_damaged_task_is_named_and_stops_nobody() {
    const DAMAGES: [Damage; 7] = [
        ("no record", "", |_| None),
        ("an empty record", "", |_| Some(Vec::new())),
        ("half a record", "", |record| Some(record[..record.len() / 2].to_vec())),
        ("two records", "", |record| Some([record, record].concat())),
        ("a number", "", |_| Some(vec![7])),
        ("elements of another kind", "", |_| {
            Some([&[0x9e], [0xa1, b'x'].repeat(14).as_slice()].concat())
        }),
        ("a value that is not UTF-8", ":values", |_| Some(vec![0xff, 0xfe])),
    ];
    for is_full in [false, true] {
        for (what, key, damaged) in DAMAGES {
            let server = Redis::start();
            let store = millpond::connect(&server.url()).unwrap().tasks("shop").claimant("ann");
            let ids = ["bad", "a", "b", "c"];
            for id in ids {
                let task = NewTask::new("mail").id(id).value("1").ttl(Duration::from_secs(3_600));
                store.modify(Modification::new().insert(task)).unwrap();
            }
            let key = format!("{{shop}}:tasks{key}");
            let known = server.cli(&["HGET", &key, "bad"]);
            match damaged(known.bytes()) {
                Some(bytes) => {
                    server.cli(&[b"HSET", key.as_bytes(), b"bad", &bytes]);
                }
                None => {
                    server.cli(&["HDEL", &key, "bad"]);
                }
            }
            if is_full {
                server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
            }
            let mut claimed = Vec::new();
            // A task whose value was damaged may be all that a claim has found.
            for _ in 0..ids.len() {
                let task = store.claim(["mail"], LEASE).expect(what);
                claimed.extend(task.map(|task| task.id.to_string()));
            }
            claimed.sort();
            assert_eq!(claimed, ["a", "b", "c"], "{what}");
            if what == "no record" {
                assert_eq!(store.fetch(ids).unwrap().len(), 3);
                continue;
            }
            for error in [
                store.fetch(ids).map(drop).unwrap_err(),
                store.list("mail", TaskQuery::new()).map(drop).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error:?}");
                assert!(error.message().contains("bad"), "{what}: {error:?}");
            }
            let error = store.list("mail", TaskQuery::new()).unwrap_err();
            assert!(error.message().contains("queue mail"), "{what}: {error:?}");
            let sound = store.fetch(["a"]).unwrap().remove(0);
            store.modify(Modification::new().delete(&sound)).expect(what);
            // When its time has come, what is damaged stops nobody either.
            if !is_full && key == "{shop}:tasks" {
                server.cli(&["ZADD", "{shop}:tasks:expiry", "1", "bad"]);
                assert_eq!(store.fetch(["b", "c"]).expect(what).len(), 2);
            }
        }
    }
}

#[test]
fn a_damaged_document_is_named() {
    let server = Redis::start();
    let store = millpond::connect(&server.url()).unwrap().tasks("shop").claimant("ann");
    for id in ["bad", "good"] {
        store.put_doc(NewDoc::new("n", id).id(id).content("0")).unwrap();
    }
    server.cli(&[b"HSET", b"{shop}:tasks:docs".as_slice(), b"n\0bad", b"\x07"]);
    for error in [
        store.fetch_docs("n", ["good", "bad"]).map(drop).unwrap_err(),
        store.list_docs("n", DocQuery::new()).map(drop).unwrap_err(),
        store.claim_docs("n", ["bad"], LEASE).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert!(error.message().contains("namespace n"), "{error:?}");
        assert!(error.message().contains("bad"), "{error:?}");
    }
    assert_eq!(store.fetch_docs("n", ["good"]).unwrap().len(), 1);
}
