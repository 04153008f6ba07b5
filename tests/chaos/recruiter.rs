//! The fleet of a recruiter: forty processes enlist at random times. All together keep the rate of a job, while nothing
//! happens within 5 %, and however often processes and the server are killed never above it; no fence comes twice; and
//! of a job with `max_running` no two slices overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use millpond::Client;
use millpond::recruiter::{NewJob, Recruiter, Slice};
use millpond_tests::servers::Redis;

use crate::pipe::{READY, Speaker, say};
use crate::random::Random;
use crate::{clock, said, watchdog};

type Outcome<T> = Result<T, String>;

const PROCESSES: usize = 40;

/// Slices of the job that is measured, in a second.
const RATE: f64 = 20.0;

/// The mean time between two enlistments of a process.
const ENLIST_MS: u64 = 50;

/// Until all processes have asked for the first time, and the rate is reached.
const WARM_UP: Duration = Duration::from_secs(15);

const SECOND: Duration = Duration::from_secs(1);

/// How many processes are killed for each kill of the server.
const SERVER_EVERY: u64 = 30;

fn recruiter(client: &Client) -> Recruiter {
    client.recruiter("chaos")
}

/// Measures for `kills` seconds, and then kills a process each second for as long.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    println!("recruiter: {kills} kills, seed {seed}");
    fleet(kills, &mut Random::new(seed)).map_err(|wrong| format!("seed {seed}: {wrong}"))
}

fn fleet(kills: u64, random: &mut Random) -> Outcome<()> {
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=2s&connect_timeout=500ms", server.url());
    let client = millpond::connect(&url).map_err(said)?;
    let recruiter = recruiter(&client);
    let granted = || -> Outcome<u64> {
        let stats = recruiter.stats().map_err(said)?;
        Ok(stats.jobs.iter().find(|job| job.job == "work").map_or(0, |job| job.granted))
    };
    let began = Instant::now();
    let mut lives = 0;
    let mut start = || {
        lives += 1;
        Speaker::start(&["recruiter-child", &url, &lives.to_string()])
            .map_err(|error| format!("no child: {error}"))
    };
    let mut processes = (0..PROCESSES).map(|_| start()).collect::<Outcome<Vec<_>>>()?;
    sleep(WARM_UP);
    let (before, measured) = (granted()?, Instant::now());
    sleep(SECOND * u32::try_from(kills).unwrap_or(u32::MAX));
    let quiet = (granted()? - before) as f64 / measured.elapsed().as_secs_f64();
    println!("{quiet:.2} slices a second of {RATE}");
    // A few seconds say little.
    if kills >= 30 && (quiet / RATE - 1.0).abs() > 0.05 {
        return Err(format!("{quiet:.2} slices a second, not {RATE} within 5 %"));
    }
    let mut slices = Slices::default();
    for kill in 1..=kills {
        sleep(SECOND);
        if kill % SERVER_EVERY == 0 {
            server.kill();
            server.restart();
        }
        let slot = random.below(PROCESSES as u64) as usize;
        let killed = std::mem::replace(&mut processes[slot], start()?);
        slices.take(&killed.kill()?)?;
    }
    // The burst of a second.
    let most = (began.elapsed().as_secs_f64() + 1.0) * RATE;
    let all = granted()?;
    for process in processes {
        slices.take(&process.kill()?)?;
    }
    println!("{all} slices of at most {most:.0}; {} that were alone", slices.alone.len());
    match all as f64 <= most {
        true => slices.check(),
        false => Err(format!("{all} slices were granted, at most {most:.0} may")),
    }
}

fn sleep(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        watchdog::alive();
        std::thread::sleep(until.saturating_duration_since(Instant::now()).min(SECOND));
    }
}

/// What a child does until it is killed.
///
/// # Errors
/// A call's.
pub(crate) fn work(url: &str, life: u64) -> Outcome<()> {
    let client = millpond::connect(url).map_err(said)?;
    let recruiter = recruiter(&client);
    // What kills explain: the processes go on without the server.
    recruiter.on_error(|_, _| {});
    recruiter.set_duty_max(1.0).map_err(said)?;
    recruiter.set_decision_timeout(SECOND / 2).map_err(said)?;
    let work = |slice: &Slice| {
        say(format!("f {}", slice.fence()));
        Ok(1)
    };
    recruiter.install(NewJob::new("work").per_second(RATE), work).map_err(said)?;
    let alone = |slice: &Slice| {
        say(format!("b {} {}", slice.fence(), clock::now()));
        std::thread::sleep(Duration::from_millis(20));
        say(format!("e {} {}", slice.fence(), clock::now()));
        Ok(1)
    };
    let job = NewJob::new("alone").per_second(RATE).max_running(1);
    recruiter.install(job.lease(SECOND * 30), alone).map_err(said)?;
    say(READY);
    let mut random = Random::new(life);
    loop {
        recruiter.enlist();
        std::thread::sleep(Duration::from_millis(random.below(2 * ENLIST_MS)));
    }
}

/// What the slices said.
#[derive(Default)]
struct Slices {
    fences: BTreeSet<u64>,
    /// When slices of the job with a limit began, and when they ended, if they did.
    alone: BTreeMap<u64, (u64, Option<u64>)>,
}

impl Slices {
    fn take(&mut self, lines: &[String]) -> Outcome<()> {
        for line in lines {
            let words: Vec<_> = line.split(' ').collect();
            let number =
                |word: &str| word.parse::<u64>().map_err(|_| format!("a child said: {line}"));
            let fence = number(words.get(1).copied().unwrap_or_default())?;
            match words[..] {
                ["f", _] | ["b", ..] if !self.fences.insert(fence) => {
                    return Err(format!("the fence {fence} came twice"));
                }
                ["f", _] => {}
                ["b", _, at] => drop(self.alone.insert(fence, (number(at)?, None))),
                ["e", _, at] => {
                    let slice = self.alone.get_mut(&fence).ok_or("an end without a beginning")?;
                    slice.1 = Some(number(at)?);
                }
                _ => return Err(format!("a child said: {line}")),
            }
        }
        Ok(())
    }

    /// Of two slices the one with the higher fence begins when the other one has ended.
    fn check(&self) -> Outcome<()> {
        let ended = self.alone.values().filter_map(|(begun, ended)| Some((*begun, (*ended)?)));
        let ended: Vec<_> = ended.collect();
        match ended.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            Some(pair) => Err(format!("two slices overlap: {pair:?}")),
            None => Ok(()),
        }
    }
}
