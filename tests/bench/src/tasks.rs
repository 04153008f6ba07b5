//! Task stores: inserts, claims and deletes by several workers, and claims while another client lists.

use std::ops::Range;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use millpond::tasks::{Filter, Modification, NewTask, Task, TaskQuery, TaskStore};
use millpond_tests::servers::Redis;
use serde_json::Value;

use crate::Outcome;
use crate::measure::{Ending, median};
use crate::report::{Report, number, ratio};

const ROUNDS: usize = 5;
const WORKERS: [usize; 4] = [1, 2, 4, 8];
const QUEUES: [usize; 2] = [1, 64];
const LEASE: Duration = Duration::from_secs(30);

/// What every task holds.
const VALUE: &str = r#""bench-value""#;

fn queue(number: usize) -> String {
    format!("/bench/q{number}")
}

/// Inserts of these tasks, each with the value of all.
fn inserts(numbers: Range<usize>, task: impl Fn(usize) -> NewTask) -> Modification {
    numbers.fold(Modification::new(), |whole, number| whole.insert(task(number).value(VALUE)))
}

pub(crate) fn throughput(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let directory = tempfile::tempdir()?;
    let section = report.section(
        "Tasks a second",
        "Thousands of tasks a second of all workers together, a thread each, which share one client: \
         inserted one a modification and 1,000 a modification; and claimed, one at a time, and deleted, \
         each by a modification of its own. EntroQ does the same work in Go, on the backend of that \
         kind, where it is at hand; its journal is never synced, so it stands beside `sync=never`.",
        &["backend", "queues", "workers", "inserted", "inserted by 1,000", "claimed and deleted"],
    );
    for backend in ["memory:", "file:, sync=never", "file:, sync=always", "Redis"] {
        let tasks = match backend {
            "Redis" | "file:, sync=always" => 3_000,
            _ => 100_000,
        };
        for queues in QUEUES {
            for workers in WORKERS {
                let mut rates = [const { Vec::new() }; 3];
                for round in 0..ROUNDS {
                    let path = directory.path().join(format!("{queues}-{workers}-{round}-{tasks}"));
                    let url = match backend {
                        "memory:" => "memory:".to_owned(),
                        "Redis" => server.unix_url(),
                        durable => {
                            let sync = durable.rsplit('=').next().unwrap_or_default();
                            format!("file:{}?sync={sync}", path.display())
                        }
                    };
                    server.cli(&["FLUSHALL"]);
                    let client = millpond::connect(&url)?;
                    let found = rounds(&client.tasks("bench"), tasks, queues, workers)?;
                    rates.iter_mut().zip(found).for_each(|(rates, found)| rates.push(found));
                    drop(client);
                    let _ = std::fs::remove_dir_all(path);
                }
                let [one, many, claimed] = rates.map(median).map(number);
                section.row([
                    backend.into(),
                    queues.to_string(),
                    workers.to_string(),
                    one,
                    many,
                    claimed,
                ]);
            }
        }
    }
    for (backend, at) in [
        ("memory", String::new()),
        ("journal", format!(":{}", directory.path().join("entroq").display())),
    ] {
        for queues in QUEUES {
            for workers in WORKERS {
                let rows =
                    entroq(&format!("{backend}{at}"), queues, workers, 100_000, "one,batch")?;
                let Some([one, batch]) = rows.as_deref() else { continue };
                section.row([
                    format!("EntroQ, {backend}"),
                    queues.to_string(),
                    workers.to_string(),
                    figure(one, "inserts_per_second"),
                    figure(batch, "inserts_per_second"),
                    figure(one, "claims_per_second"),
                ]);
            }
        }
    }
    Ok(())
}

/// Tasks per second: inserted one by one, inserted by 1,000, claimed and deleted.
fn rounds(store: &TaskStore, tasks: usize, queues: usize, workers: usize) -> Outcome<[f64; 3]> {
    let one = at_once(workers, |worker| {
        for number in (worker..tasks).step_by(workers) {
            store.insert(queue(number % queues), VALUE)?;
        }
        Ok(tasks.div_ceil(workers))
    })?;
    let many = at_once(workers, |worker| {
        for first in (worker * 1_000..tasks).step_by(workers * 1_000) {
            let numbers = first..(first + 1_000).min(tasks);
            store.modify(inserts(numbers, |number| NewTask::new(queue(number % queues))))?;
        }
        Ok(tasks / workers)
    })?;
    let names: Vec<String> = (0..queues).map(queue).collect();
    let claimed = at_once(workers, |worker| {
        let mut done = 0;
        for number in (worker..tasks).step_by(workers) {
            if let Some(task) = store.claim([&names[number % queues]], LEASE)? {
                store.modify(Modification::new().delete(&task))?;
                done += 1;
            }
        }
        Ok(done)
    })?;
    Ok([one, many, claimed])
}

/// What all workers do together in a second.
fn at_once(workers: usize, work: impl Fn(usize) -> millpond::Result<usize> + Sync) -> Outcome<f64> {
    let start = Instant::now();
    let done = std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        running.into_iter().map(|worker| worker.join().expect("no panic")).sum::<Result<usize, _>>()
    })?;
    Ok(done as f64 / start.elapsed().as_secs_f64())
}

/// How late a waiting claimant gets a task.
pub(crate) fn waking(report: &mut Report) -> Outcome {
    const TASKS: usize = 300;
    let server = Redis::start();
    let section = report.section(
        "Waiting for a task",
        "Milliseconds from the time of a task to its claim by a thread that waits: tasks that another \
         client inserts, from the call on, and tasks that are due 30 ms after they were inserted; one at a \
         time, when the thread waits again. Nothing polls. The store's times are whole milliseconds, so \
         what is due can seem up to one late. Aim for what is due: 5 ms.",
        &["backend", "task", "mean", "p99", "longest"],
    );
    for (backend, url) in [("memory:", "memory:waking".to_owned()), ("Redis", server.url())] {
        for (what, delay) in [("inserted", Duration::ZERO), ("due", Duration::from_millis(30))] {
            let (client, other) = (millpond::connect(&url)?, millpond::connect(&url)?);
            let (claimed, claims) = std::sync::mpsc::channel();
            let waiting = client.tasks("waking");
            let waiter = std::thread::spawn(move || -> millpond::Result<()> {
                let mut claims = waiting.claims(["q"]).wait(Duration::from_secs(600));
                for _ in 0..TASKS {
                    let task = claims.next().expect("it waits")?.remove(0);
                    let _ = claimed.send(now_ms());
                    waiting.modify(Modification::new().delete(&task))?;
                }
                Ok(())
            });
            let store = other.tasks("waking");
            let mut late = Vec::new();
            for _ in 0..TASKS {
                std::thread::sleep(Duration::from_millis(10));
                let called = now_ms();
                let task = NewTask::new("q").after(delay);
                let task = store.modify(Modification::new().insert(task))?.inserted.remove(0);
                let from = if delay.is_zero() { called } else { task.at_ms as f64 };
                late.push(claims.recv()? - from);
            }
            waiter.join().expect("no panic")?;
            late.sort_by(f64::total_cmp);
            let mean = late.iter().sum::<f64>() / late.len() as f64;
            section.row([
                backend.into(),
                what.into(),
                format!("{mean:.2}"),
                format!("{:.2}", late[late.len() * 99 / 100]),
                format!("{:.2}", late[late.len() - 1]),
            ]);
        }
    }
    Ok(())
}

fn now_ms() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64() * 1e3)
}

/// What a step costs the server, in a small queue and in a large one.
pub(crate) fn server_time(report: &mut Report) -> Outcome {
    const STEPS: usize = 3_000;
    let server = Redis::start();
    let section = report.section(
        "Server time of tasks",
        "Microseconds of the server for one step, by its own count: a claim of one task and the modification \
         that deletes it, in a queue of so many tasks, and in one of which all the others are due in an hour.",
        &["tasks in the queue", "claim", "delete"],
    );
    for (tasks, delay) in [(1_000, 0), (1_000_000, 0), (1_000_000, 3_600)] {
        server.cli(&["FLUSHALL"]);
        let store = millpond::connect(&server.unix_url())?.tasks("bench");
        for first in (0..tasks).step_by(1_000) {
            let later = |_| NewTask::new("q").after(Duration::from_secs(delay));
            store.modify(inserts(first..first + 1_000, later))?;
        }
        let mut spent = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            store.modify(inserts(0..STEPS, |_| NewTask::new("q")))?;
            let mut claimed = Vec::new();
            let claim = server_us(&server, STEPS, || {
                claimed.extend(store.claim(["q"], LEASE)?);
                Ok(())
            })?;
            let delete = server_us(&server, STEPS, || {
                let task = claimed.pop().expect("as many were claimed");
                store.modify(Modification::new().delete(&task)).map(|_| ())
            })?;
            spent[0].push(claim);
            spent[1].push(delete);
        }
        let what = match delay {
            0 => tasks.to_string(),
            _ => format!("{tasks}, due later"),
        };
        let [claim, delete] = spent.map(median).map(|us| format!("{us:.1}"));
        section.row([what, claim, delete]);
    }
    Ok(())
}

/// The server's microseconds for each of these steps.
fn server_us(
    server: &Redis,
    steps: usize,
    mut step: impl FnMut() -> millpond::Result<()>,
) -> Outcome<f64> {
    step()?;
    server.cli(&["CONFIG", "RESETSTAT"]);
    for _ in 1..steps {
        step()?;
    }
    let stats = server.info("commandstats", "cmdstat_evalsha").ok_or("no step was done")?;
    let usec = stats.split(',').find_map(|part| part.strip_prefix("usec="));
    Ok(usec.ok_or("no time is told")?.parse::<f64>()? / (steps - 1) as f64)
}

/// Claims while another client reads statistics and lists, and while none does.
pub(crate) fn looking(report: &mut Report) -> Outcome {
    const TASKS: usize = 1_000_000;
    const CLAIMS: usize = 40_000;
    const LOOK_ROUNDS: usize = 15;
    let section = report.section(
        "Claims while somebody looks",
        "A million tasks in five queues of `memory:`. One thread claims and deletes; another reads the \
         statistics of all queues in a loop, some two million times a second, or lists the queue that is \
         claimed from, page after page, or does nothing. What a second busy core costs by itself is the \
         row of another engine, which shares nothing. Claims a second, and the time of a claim in \
         microseconds; what is lost is against nobody looking, round by round; aim: under 10 percent.",
        &["who looks", "claims a second", "p50", "p99", "p99.9", "claims lost", "p99 lost"],
    );
    let client = millpond::connect("memory:")?;
    let store = client.tasks("bench");
    for first in (0..TASKS).step_by(1_000) {
        store.modify(inserts(first..first + 1_000, |number| NewTask::new(queue(number % 5))))?;
    }
    let other = millpond::connect("memory:")?.tasks("bench");
    other.modify(inserts(0..5, |number| NewTask::new(queue(number))))?;
    type Look = fn(&TaskStore) -> millpond::Result<()>;
    let nobody: Look = |_| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    };
    let stats: Look =
        |store| store.queue_stats(Filter::new()).map(|stats| assert_eq!(stats.len(), 5));
    let lists: Look = |store| {
        let mut query = TaskQuery::new().omit_values();
        while let Some(next) = store.list(queue(0), query.clone())?.next {
            query = query.after(next);
        }
        Ok(())
    };
    let looks = [
        ("nobody", &store, nobody),
        ("statistics of another engine", &other, stats),
        ("statistics", &store, stats),
        ("a listing", &store, lists),
    ];
    let mut found = [const { Vec::new() }; 4];
    for _ in 0..=LOOK_ROUNDS {
        for ((_, seen, look), found) in looks.iter().zip(&mut found) {
            found.push(claims_while(&store, CLAIMS, || look(seen))?);
        }
    }
    for ((who, _, _), measured) in looks.iter().zip(&found) {
        let of = |which: usize| median(measured.iter().skip(1).map(|round| round[which]).collect());
        let lost = |which: usize, up: bool| {
            let rounds = measured.iter().zip(&found[0]).skip(1);
            let lost = rounds.map(|(with, without)| match up {
                true => with[which] / without[which] - 1.0,
                false => 1.0 - with[which] / without[which],
            });
            format!("{:.0} %", 100.0 * median(lost.collect()))
        };
        section.row([
            (*who).into(),
            number(of(0)),
            format!("{:.2}", of(1)),
            format!("{:.2}", of(2)),
            format!("{:.2}", of(3)),
            lost(0, false),
            lost(2, true),
        ]);
    }
    Ok(())
}

/// Claims and deletes, and puts as many tasks back; claims per second, and percentiles of a
/// claim's microseconds.
fn claims_while(
    store: &TaskStore,
    claims: usize,
    look: impl Fn() -> millpond::Result<()> + Sync,
) -> Outcome<[f64; 4]> {
    let (is_over, looked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut times, spent) = std::thread::scope(|scope| {
        let ending = Ending(&is_over);
        let looker = scope.spawn(|| -> millpond::Result<()> {
            while !is_over.load(Ordering::Relaxed) {
                look()?;
                looked.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        let mut times = Vec::with_capacity(claims);
        let start = Instant::now();
        let done: millpond::Result<()> = (0..claims).try_for_each(|_| {
            let before = Instant::now();
            let task: Option<Task> = store.claim([queue(0)], LEASE)?;
            times.push(before.elapsed().as_secs_f64() * 1e6);
            store.modify(Modification::new().delete(&task.expect("there are enough")))?;
            Ok(())
        });
        let spent = start.elapsed();
        drop(ending);
        looker.join().expect("no panic").and(done).map(|()| (times, spent))
    })?;
    for first in (0..claims).step_by(1_000) {
        store.modify(inserts(first..first + 1_000, |_| NewTask::new(queue(0))))?;
    }
    times.sort_by(f64::total_cmp);
    let percentile = |of: f64| times[(times.len() as f64 * of) as usize];
    let rate = claims as f64 / spent.as_secs_f64();
    Ok([rate, percentile(0.5), percentile(0.99), percentile(0.999)])
}

/// Bytes per task, and how long a million take to come back. In a process of its own, as memory that
/// was used before is used again.
pub(crate) fn sizes(report: &mut Report) -> Outcome {
    const TASKS: usize = 1_000_000;
    let section = report.section(
        "What a task costs",
        "A million tasks with the value `\"bench-value\"` and ids of 16 characters: resident bytes a task, \
         bytes on disk, and the time to open the directory after a close.",
        &["engine", "bytes a task", "on disk", "opened in"],
    );
    let fill = |store: &TaskStore| -> Outcome {
        for first in (0..TASKS).step_by(1_000) {
            store
                .modify(inserts(first..first + 1_000, |number| NewTask::new(queue(number % 5))))?;
        }
        Ok(())
    };
    let before = resident()?;
    let client = millpond::connect("memory:")?;
    fill(&client.tasks("bench"))?;
    let bytes = (resident()? - before) / TASKS as f64;
    section.row(["memory:".into(), format!("{bytes:.0}"), String::new(), String::new()]);
    drop(client);
    let directory = tempfile::tempdir()?;
    let url = format!("file:{}?sync=never", directory.path().display());
    let client = millpond::connect(&url)?;
    fill(&client.tasks("bench"))?;
    client.close()?;
    drop(client);
    let mut on_disk = 0;
    for file in std::fs::read_dir(directory.path())? {
        on_disk += file?.metadata()?.len();
    }
    let start = Instant::now();
    let client = millpond::connect(&url)?;
    let opened = start.elapsed().as_secs_f64();
    let size: u64 = client.tasks("bench").queues(Filter::new())?.iter().map(|(_, size)| size).sum();
    assert_eq!(size, TASKS as u64);
    section.row([
        "file:".into(),
        String::new(),
        format!("{:.0}", on_disk as f64 / TASKS as f64),
        format!("{opened:.2} s"),
    ]);
    if let Some([row]) = entroq("memory", 5, 1, TASKS, "memory")?.as_deref() {
        let theirs = row["figures"]["bytes_per_task"].as_f64().unwrap_or_default();
        let share = bytes / theirs;
        section.row([
            "EntroQ, memory".into(),
            format!("{theirs:.0}"),
            "ours of theirs".into(),
            ratio(share, Some(("aim 0.5", share <= 0.5))),
        ]);
    }
    Ok(())
}

fn resident() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = status.split(' ').nth(1).unwrap_or("0").parse()?;
    Ok(pages * 4_096.0)
}

/// What EntroQ measures of the same work; nothing if it is not installed.
fn entroq(
    backend: &str,
    queues: usize,
    workers: usize,
    tasks: usize,
    what: &str,
) -> Outcome<Option<Vec<Value>>> {
    if std::env::var_os("MILLPOND_BENCH_ENTROQ").is_none() {
        return Ok(None);
    }
    let numbers = [workers, queues, tasks].map(|number| number.to_string());
    let [workers, queues, tasks] = &numbers;
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/entroq/run"))
        .args(["-backend", backend, "-workers", workers, "-queues", queues, "-tasks", tasks])
        .args(["-what", what])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(Some(lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?))
}

fn figure(row: &Value, name: &str) -> String {
    row["figures"][name].as_f64().map_or_else(String::new, number)
}
