//! A shuffle queue between processes: none that waits misses a message or costs anything, and none
//! that is killed takes a message with it.

use std::process::Command;
use std::time::{Duration, Instant};

use millpond::Client;
use millpond_tests::clock::cpu_time;
use millpond_tests::servers::{Redis, wait_until};
use millpond_tests::waiting::{GROUP, Waiters, fields, is_picked_up, queue, write_in_rounds};

const PROCESSES: usize = 4;
const THREADS: usize = 16;

/// How long each waits at a time: what is only found when such a wait ends shows.
const BLOCK: Duration = Duration::from_secs(30);

/// The longest that a message may lie on a busy machine, and far below [`BLOCK`].
const LONGEST: Duration = Duration::from_secs(10);

/// How many messages the large test writes.
fn messages() -> u64 {
    if std::env::var_os("MILLPOND_DEEP").is_some() { 100_000 } else { 10_000 }
}

fn start(server: &Redis, processes: usize) -> Vec<Waiters> {
    // One pooled connection, so that those beyond it stand out.
    start_with(server, processes, "pool=1", BLOCK)
}

fn start_with(server: &Redis, processes: usize, options: &str, block: Duration) -> Vec<Waiters> {
    let start = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_millpond-waiters"));
        let (threads, block) = (THREADS.to_string(), block.as_millis().to_string());
        let url = format!("{}?{options}", server.url());
        Waiters::start(program.args([url, threads, block])).expect("cargo built it")
    };
    let waiters: Vec<_> = (0..processes).map(|_| start()).collect();
    let blocked = || server.info("clients", "blocked_clients");
    wait_until("all wait", || blocked().as_deref() == Some(&*processes.to_string()));
    // All threads have joined the group and are asleep when no process works any more.
    let works = || waiters.iter().map(|waiters| cpu_time(waiters.pid())).sum::<Duration>();
    let mut before = works();
    wait_until("all are asleep", || {
        std::thread::sleep(Duration::from_millis(500));
        let last = std::mem::replace(&mut before, works());
        before == last
    });
    waiters
}

/// Waits until this many messages were picked up, then checks that each was once; returns the
/// mean and the longest delay.
fn finish(client: &Client, waiters: Vec<Waiters>, count: u64) -> (Duration, Duration) {
    let is_done = is_picked_up(&waiters, count, LONGEST);
    let shares: Vec<u64> = waiters.iter().map(Waiters::picked).collect();
    let picked: Vec<_> = waiters.into_iter().map(Waiters::finish).collect();
    let errors: Vec<_> = picked.iter().flat_map(|picked| &picked.errors).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut messages: Vec<_> = picked.into_iter().flat_map(|picked| picked.messages).collect();
    messages.sort_unstable();
    if !is_done {
        let stats = queue(client).stats(GROUP).expect("the server is there");
        let left = (stats.lag(), stats.pending());
        panic!("{} of {count} picked up after {LONGEST:?}, {left:?} are left", messages.len());
    }
    assert_eq!(
        messages.len() as u64,
        count,
        "of {count} written; {:?}",
        queue(client).stats(GROUP)
    );
    assert!(messages.iter().map(|(n, _)| *n).eq(0..count), "some came twice and some not at all");
    let left = queue(client).len().and_then(|len| Ok((len, queue(client).backlog()?)));
    assert_eq!(left.expect("the server is there"), (0, 0));
    let sum: Duration = messages.iter().map(|(_, delay)| *delay).sum();
    let longest = messages.iter().map(|(_, delay)| *delay).max().unwrap_or_default();
    let mean = sum / u32::try_from(count).expect("fewer than four billion");
    println!("{count} messages, {shares:?} by process, mean delay {mean:?}, longest {longest:?}");
    (mean, longest)
}

fn lose_no_wake_up(processes: usize, count: u64) {
    let server = Redis::start();
    let waiters = start(&server, processes);
    let client = millpond::connect(&server.url()).expect("the url is the harness' own");
    write_in_rounds(&client, &waiters, count, LONGEST).expect("the server is there");
    let (_, longest) = finish(&client, waiters, count);
    assert!(longest < LONGEST, "{longest:?}");
}

#[test]
fn no_wake_up_is_lost_between_processes() {
    lose_no_wake_up(PROCESSES, messages());
}

/// Where no other process could make good for one that this one has missed.
#[test]
fn no_wake_up_is_lost_in_a_process_alone() {
    lose_no_wake_up(1, messages() / 5);
}

#[test]
fn a_message_on_an_idle_queue_is_picked_up_at_once_by_some_process() {
    let server = Redis::start();
    // Only what tells of a message can wake who waits: nobody polls, and no wait ends while the test runs.
    let waiters = start_with(&server, PROCESSES, "pool=1&poll=never", Duration::from_secs(3_600));
    let client = millpond::connect(&server.url()).expect("the url is the harness' own");
    for number in 0..300 {
        std::thread::sleep(Duration::from_millis(5));
        queue(&client).write("tenant", fields(number)).expect("the server is there");
        let picked = || waiters.iter().map(Waiters::picked).sum::<u64>();
        wait_until("somebody picks it up", || picked() > number);
    }
    finish(&client, waiters, 300);
}

#[test]
fn a_process_that_waits_uses_no_processor_and_one_connection() {
    let server = Redis::start();
    let connections = || server.cli(&["CLIENT", "LIST"]).text();
    // That of the query itself.
    let before = connections().lines().count();
    let waiters = start(&server, 1);
    let list = connections();
    // The one that waits, and the pooled one that was used first.
    assert!(list.lines().count() - before <= 2, "{list}");
    let blocked = server.info("clients", "blocked_clients");
    assert_eq!(blocked.as_deref(), Some("1"), "{list}");
    let (spent, began) = (cpu_time(waiters[0].pid()), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let (spent, idle) = (cpu_time(waiters[0].pid()) - spent, began.elapsed());
    println!("{spent:?} of work in {idle:?} by {THREADS} waiters");
    assert!(spent < idle / 20, "{spent:?} of work in {idle:?} of waiting");
    let client = millpond::connect(&server.url()).expect("the url is the harness' own");
    queue(&client).write("tenant", fields(0)).expect("the server is there");
    finish(&client, waiters, 1);
}

#[test]
fn killed_writers_consumers_servers_and_engines_lose_nothing() {
    let chaos = env!("CARGO_BIN_EXE_millpond-chaos");
    let output = Command::new(chaos).args(["shuffle", "--kills", "6"]).output();
    let output = output.expect("cargo built it");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    println!("{text}");
}
