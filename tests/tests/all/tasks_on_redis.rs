//! What a task store is on a server: whole while a cluster moves its slot, and bounded in what one step
//! does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millpond::tasks::{Filter, Modification, NewDoc, NewTask, TaskStore};
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
