//! Recruiters: what an enlistment costs that is dismissed, and what a decision costs the server and the engine.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use millpond::recruiter::{NewJob, Recruit, Recruiter, Slice, Why};
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::measure::{in_turn, median, time};
use crate::report::{Report, number, ratio};
use crate::server_time::{send, spent};

const ROUNDS: usize = 15;

/// A script that reads and writes the same fields, with no checks, no clock and no arithmetic.
const LEAST: &str = "local found = redis.call('HMGET', KEYS[1], 'version', 'all', unpack(ARGV)) \
     local writes = {'version', 'steal.v1', 'all', cmsgpack.pack({1, 2, 3})} \
     for i, job in ipairs(ARGV) do \
       local of = found[i + 2] and cmsgpack.unpack(found[i + 2]) or {1, 2, 3, 4} \
       writes[#writes + 1], writes[#writes + 2] = job, cmsgpack.pack(of) \
     end \
     redis.call('HSET', KEYS[1], unpack(writes)) return {0, 0, 0, 0, 0, 0}";

pub(crate) fn measure(report: &mut Report) -> Outcome {
    dismissed(report)?;
    server(report)?;
    embedded(report)
}

/// A recruiter that has asked once and will not again for a minute.
fn dismissed_recruiter(url: &str) -> Outcome<Recruiter> {
    let recruiter = millpond::connect(url)?.recruiter("k");
    recruiter.install(NewJob::new("daily").per_second(1.0 / 86_400.0), |_: &Slice| Ok(0))?;
    while recruiter.enlist().why == Why::NotDue {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(recruiter)
}

fn dismissed(report: &mut Report) -> Outcome {
    const CALLS: u32 = 1_000_000;
    let section = report.section(
        "An enlistment that is dismissed",
        "Nanoseconds, against a random draw and a look at the clock, which a plain lottery needs too: of a process \
         whose turn to ask has not come, and of one with five jobs by share of which none is drawn. Aim: 30 ns.",
        &["enlistment", "enlist, ns", "draw and clock, ns", "ratio"],
    );
    let server = Redis::start();
    let shares = millpond::connect(&server.url())?.recruiter("shares");
    for number in 0..5 {
        shares.install(NewJob::new(number.to_string()).share(0.0), |_: &Slice| Ok(0))?;
    }
    let embedded = dismissed_recruiter("memory:")?;
    let of_server = dismissed_recruiter(&server.url())?;
    for (name, recruiter) in
        [("not due, Redis", of_server), ("not due, memory:", embedded), ("not drawn", shares)]
    {
        let each = |spent: Duration| spent.as_nanos() as f64 / f64::from(CALLS);
        let ours = || {
            Ok::<_, Box<dyn std::error::Error>>(each(time(|| {
                for _ in 0..CALLS {
                    black_box(recruiter.enlist());
                }
            })))
        };
        let mut state = 1_u64;
        let theirs = || {
            Ok(each(time(|| {
                for _ in 0..CALLS {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    black_box((state >> 11, Instant::now()));
                }
            })))
        };
        let pair = in_turn(ROUNDS, ours, theirs)?;
        section.row([
            name.into(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, Some(("aim 30 ns", pair.ours <= 30.0))),
        ]);
    }
    Ok(())
}

/// Asks for one of this many jobs.
fn offer(jobs: usize) -> Outcome<Recruit> {
    let job = |number: usize| NewJob::new(format!("job {number}")).per_second(20.0);
    Ok(Recruit::new("k", (0..jobs).map(job))?)
}

fn server(report: &mut Report) -> Outcome {
    const CALLS: usize = 5_000;
    let server = Redis::start();
    let connection = RefCell::new(redis::Client::open(server.url())?.get_connection()?);
    let section = report.section(
        "Server time of a decision",
        "Microseconds of redis-server's own time for one ask (`INFO commandstats`), against the least script that reads \
         and writes as many fields. Most asks find no slice due, as in a fleet of many processes. Aims: 2.2 times with \
         one job, 4 times with five. A fleet of 1,000 processes with a job of 10 a second asks about 195 times a second.",
        &["jobs", "ask, µs", "least script, µs", "ratio", "195 a second, % of a core"],
    );
    for (jobs, aim) in [(1, 2.2), (5, 4.0)] {
        let ours = || -> Outcome<f64> {
            server.cli(&["FLUSHALL"]);
            server.cli(&["CONFIG", "RESETSTAT"]);
            let step = offer(jobs)?;
            for _ in 0..CALLS {
                send(&mut connection.borrow_mut(), &step)?;
            }
            Ok(spent(&server, &["evalsha"], CALLS))
        };
        let theirs = || -> Outcome<f64> {
            let connection = &mut connection.borrow_mut();
            let sha: String = redis::cmd("SCRIPT").arg("LOAD").arg(LEAST).query(connection)?;
            server.cli(&["FLUSHALL"]);
            server.cli(&["CONFIG", "RESETSTAT"]);
            let fields: Vec<_> = (0..jobs).map(|number| format!("j:job {number}")).collect();
            for _ in 0..CALLS {
                let mut command = redis::cmd("EVALSHA");
                command.arg(&sha).arg(1).arg("{k}:steal").arg(&fields).exec(connection)?;
            }
            Ok(spent(&server, &["evalsha"], CALLS))
        };
        let pair = in_turn(ROUNDS, ours, theirs)?;
        section.row([
            jobs.to_string(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, Some((&format!("aim {aim}"), pair.ratio <= aim))),
            number(pair.ours * 195.0 / 10_000.0),
        ]);
    }
    Ok(())
}

fn embedded(report: &mut Report) -> Outcome {
    const CALLS: u32 = 100_000;
    let section = report.section(
        "A decision embedded",
        "Nanoseconds of an ask on `memory:` and on `file:` with `sync=always`, on one thread; nothing of a recruiter is \
         written to the disk. Aim: a microsecond.",
        &["engine", "1 job, ns", "5 jobs, ns"],
    );
    let folder = tempfile::tempdir()?;
    let file = format!("file:{}?sync=always", folder.path().display());
    for url in ["memory:", &file] {
        let client = millpond::connect(url)?;
        let mut cells = vec![url.split(':').next().unwrap_or_default().to_owned() + ":"];
        for jobs in [1, 5] {
            let step = offer(jobs)?;
            let mut found = Vec::new();
            for _ in 0..ROUNDS {
                let spent = time(|| {
                    for _ in 0..CALLS {
                        black_box(client.run(Ok(step.clone())).is_ok());
                    }
                });
                found.push(spent.as_nanos() as f64 / f64::from(CALLS));
            }
            cells.push(number(median(found)));
        }
        section.row([cells.remove(0), cells.remove(0), cells.remove(0)]);
    }
    Ok(())
}
