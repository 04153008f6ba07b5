//! What waiting costs: nothing, and one connection. Alone in its process, whose work is measured.

use std::time::{Duration, Instant};

use millpond_tests::servers::{Redis, wait_until};

/// A wait that is never over by itself while the test runs.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn waiting_costs_nothing_and_one_connection() {
    let server = Redis::start();
    let client = millpond::connect(&format!("{}?pool=1", server.url())).expect("the url is good");
    let connections = || {
        let list = server.cli(&["CLIENT", "LIST"]);
        let list = String::from_utf8_lossy(list.bytes()).into_owned();
        (list.lines().count(), list)
    };
    let waiters: Vec<_> = (0..64)
        .map(|i| {
            let consumer = client.shuffle_queue(format!("q{}", i % 4)).consumer("g", i.to_string());
            std::thread::spawn(move || match consumer.messages(1).wait(LONG).next() {
                Some(Ok(batch)) => consumer.ack(&batch).is_ok(),
                _ => false,
            })
        })
        .collect();
    // Until all have asked once: none is kept from it by a busy machine when all are asleep.
    let mut before = commands(&server);
    wait_until("nobody asks", || {
        std::thread::sleep(Duration::from_millis(500));
        let last = std::mem::replace(&mut before, commands(&server));
        before - last <= 1 && are_others_asleep()
    });
    // The waiting one, the pooled one, and that of the question.
    let (count, list) = connections();
    assert!(count <= 3, "{list}");
    let (before, cpu, began) = (commands(&server), cpu_time(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let (sent, spent) = (commands(&server) - before, cpu_time() - cpu);
    let idle = began.elapsed();
    // At most one look at each of the four queues in five seconds, of up to three commands.
    let most = 12 * (1 + idle.as_secs() / 5);
    assert!(sent <= most, "{sent} commands in {idle:?}");
    assert!(spent < idle / 20, "{spent:?} of work in {idle:?} of waiting");

    // One message wakes one waiter: it reads, and the next one checks whether there is more.
    let before = steps(&server);
    client.shuffle_queue("q1").write("t", [("f", "v")]).expect("the server is there");
    std::thread::sleep(Duration::from_millis(300));
    let sent = steps(&server) - before;
    assert!(sent <= 10, "{sent} steps for one message");
    for i in 0..4 {
        let messages = (0..16).map(|i| (i.to_string(), [("f", "v")]));
        let queue = client.shuffle_queue(format!("q{i}"));
        queue.write_many(messages).expect("the server is there");
    }
    assert!(waiters.into_iter().all(|waiter| waiter.join().expect("no panic")));
}

/// Whether all threads of this process but this one are asleep.
fn are_others_asleep() -> bool {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux has them");
    let states = threads.filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        stat.rsplit(')').next()?.trim_start().chars().next()
    });
    states.filter(|state| *state != 'S').count() <= 1
}

/// The time that this process has worked so far.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells it");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|t| t.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}

fn commands(server: &Redis) -> u64 {
    let processed = server.info("stats", "total_commands_processed");
    processed.and_then(|count| count.parse().ok()).expect("a number")
}

/// How many steps the server has done.
fn steps(server: &Redis) -> u64 {
    server.calls_of("evalsha").expect("steps were done")
}
