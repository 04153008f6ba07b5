//! What a task store is on a server: whole while a cluster moves its slot, and bounded in what one step
//! does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millpond::ErrorKind;
use millpond::tasks::{DocQuery, Filter, Modification, NewDoc, NewTask, TaskQuery, TaskStore};
use millpond_tests::servers::{Cluster, Redis};

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
