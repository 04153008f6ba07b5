//! Two consumers on one Ick: one takes the lease and is stopped for longer than its term, the
//! other takes over, and the first one's late commit is refused.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millpond::{Client, ErrorKind, Result};
use millpond_tests::servers::{Redis, wait_until};

use crate::pipe::say;

const ICK: &str = "folded";
const TTL: Duration = Duration::from_millis(600);
const MEMBERS: usize = 20;

type Outcome<T> = std::result::Result<T, String>;

/// The consumer that is stopped: does one step for each line it reads.
pub(crate) fn consume(url: &str) -> Result<()> {
    let client = millpond::connect(url)?;
    let lease = client.ick(ICK).lease(TTL)?.expect("the first consumer finds nobody there");
    let batch = lease.reserve(MEMBERS as u64)?;
    say(format_args!("reserved {}", batch.len()));
    // An end of the input ends the consumer, which its next line then shows.
    let _ = std::io::stdin().read_line(&mut String::new());
    let committed = lease.commit(batch.iter().map(|entry| &entry.member));
    match committed {
        Ok(count) => say(format_args!("committed {count}")),
        Err(error) => say(format_args!("refused {}", error.kind().name())),
    }
    Ok(())
}

/// Stops a consumer for longer than its lease.
///
/// # Errors
/// What was wrong.
pub(crate) fn run() -> Outcome<()> {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).map_err(|error| format!("{error:?}"))?;
    let pairs = (0..MEMBERS).map(|number| (number as f64, format!("m{number}")));
    client.ick(ICK).add(pairs).map_err(|error| format!("{error:?}"))?;
    let mut child = Command::new(std::env::current_exe().map_err(|error| error.to_string())?)
        .args(["consumer", &server.url()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("no child: {error}"))?;
    let outcome = take_over(&client, &mut child);
    // Both fail only for a child that has ended.
    let _ = child.kill();
    let _ = child.wait();
    outcome?;
    println!("fold: the late commit was refused with {}", ErrorKind::LeaseLost.name());
    Ok(())
}

fn take_over(client: &Client, child: &mut Child) -> Outcome<()> {
    let ick = client.ick(ICK);
    let failed = |error: millpond::Error| format!("{error:?}");
    let mut input = child.stdin.take().expect("it was asked for");
    let mut lines = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
    let mut hear = || lines.next().and_then(std::result::Result::ok).unwrap_or_default();
    expect("the first consumer", &hear(), &format!("reserved {MEMBERS}"))?;

    // As long as the holder lives, its lease is renewed, whatever it is busy with.
    let held_until = Instant::now() + 3 * TTL;
    while Instant::now() < held_until {
        if ick.lease(TTL).map_err(failed)?.is_some() {
            return Err("the lease of a living consumer was given away".to_owned());
        }
        std::thread::sleep(TTL / 10);
    }

    signal(child, libc::SIGSTOP);
    let mut taken = None;
    wait_until("the lease of a stopped consumer ends", || {
        taken = ick.lease(Duration::from_secs(60)).ok().flatten();
        taken.is_some()
    });
    let lease = taken.expect("it was waited for");
    // The batch comes again; one member is dirtied while the second consumer works on it.
    let batch = lease.reserve(MEMBERS as u64).map_err(failed)?;
    ick.add([(0.0, "m0")]).map_err(failed)?;
    signal(child, libc::SIGCONT);
    writeln!(input, "commit").map_err(|error| error.to_string())?;
    expect("the late commit", &hear(), "refused LEASE_LOST")?;
    let stats = ick.stats().map_err(failed)?.expect("it was made above");
    expect("reserved members", &stats.consumer_size.to_string(), &MEMBERS.to_string())?;
    let done = lease.commit(batch.iter().map(|entry| &entry.member)).map_err(failed)?;
    expect("members committed", &done.to_string(), &MEMBERS.to_string())?;
    let stats = ick.stats().map_err(failed)?.expect("it was made above");
    expect("members left", &stats.total_size().to_string(), "1")
}

fn expect(what: &str, found: &str, expected: &str) -> Outcome<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: expected {expected}, found {found}"))
}

fn signal(child: &Child, signal: libc::c_int) {
    let pid = libc::pid_t::try_from(child.id()).expect("the system's process ids fit pid_t");
    // SAFETY: `kill` touches no memory of ours, and the child has not been waited for, so the id
    // is still its own.
    let sent = unsafe { libc::kill(pid, signal) };
    assert_eq!(sent, 0, "a child that was not waited for takes signals");
}
