//! A simulated fleet in virtual time: the law of the embedded engine and a pacer for each process. Requesters enlist at
//! random; asks and slices are the only events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::duty::Outcome;
use super::law::Jobs;
use super::lottery::Lottery;
use super::new_job::NewJob;
use super::pacer::{Pacer, Step};

const SECOND: u64 = 1_000_000;
const START: u64 = 1_700_000_000 * SECOND;

/// Enlistments a second, as a function of the time in seconds.
type Rate = fn(f64) -> f64;

struct Process {
    from: u64,
    until: u64,
    rate: Rate,
    /// The jobs that it offers.
    lottery: usize,
}

struct Fleet {
    lotteries: Vec<Lottery>,
    processes: Vec<Process>,
    /// The mean time of a slice.
    slice_us: u64,
    duty_max: f64,
    /// How many slices of a hundred never end.
    hanging: u64,
    /// Items that arrive in a second, and how many a slice does at most; without it each slice has work.
    work: Option<(Rate, u64)>,
    /// When the server is away.
    away: (u64, u64),
}

/// What happened: times in microseconds.
#[derive(Default)]
struct Seen {
    grants: Vec<(u64, usize)>,
    asks: Vec<u64>,
    enlisted: u64,
    backlog: Vec<(u64, f64)>,
    hung: u64,
    lost: u64,
}

struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn uniform(&mut self) -> f64 {
        ((self.draw() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.uniform().ln() * mean
    }
}

fn micros(time: u64) -> Duration {
    Duration::from_micros(time)
}

impl Fleet {
    fn of(job: NewJob, count: usize, rate: Rate) -> Self {
        let processes = (0..count).map(|_| Process { from: 0, until: u64::MAX, rate, lottery: 0 });
        Self {
            lotteries: vec![Lottery::default().with(job).unwrap()],
            processes: processes.collect(),
            slice_us: 20_000,
            duty_max: 0.1,
            hanging: 0,
            work: None,
            away: (0, 0),
        }
    }

    fn run(&self, seconds: u64) -> Seen {
        let seed = crate::runtime::random::quick();
        println!("seed {seed}");
        let mut random = Random(seed);
        let (mut jobs, mut seen) = (Jobs::default(), Seen::default());
        let processes = self.processes.iter();
        let pacers: Vec<_> =
            processes.map(|of| Pacer::new(random.draw(), micros(of.from))).collect();
        // An enlistment of a process; or the end of a slice with its job, fence and how often the rate was halved.
        let mut queue = BinaryHeap::new();
        for (number, process) in self.processes.iter().enumerate() {
            queue.push(Reverse((process.from, number, None::<(usize, u64, u32, u64)>)));
        }
        let (mut backlog, mut worked_until) = (0.0, 0);
        while let Some(Reverse((now, number, ending))) = queue.pop() {
            if now > seconds * SECOND {
                break;
            }
            let (process, pacer) = (&self.processes[number], &pacers[number]);
            if now >= process.until {
                continue;
            }
            let lottery = &self.lotteries[process.lottery];
            if let Some((job, fence, backoff, took)) = ending {
                let job = &lottery.jobs()[job];
                let outcome = match &self.work {
                    None => Outcome::worked(1, false),
                    Some((rate, most)) => {
                        let at = |time: u64| time as f64 / SECOND as f64;
                        backlog += rate(at(now)) * (at(now) - at(worked_until));
                        worked_until = now;
                        let items = (backlog as u64).min(*most);
                        backlog -= items as f64;
                        seen.backlog.push((now, backlog));
                        Outcome::worked(items, items == *most)
                    }
                };
                let rest = (took as f64 * (1.0 / self.duty_max - 1.0)) as u64;
                let (took, now, rest) = (micros(took), micros(now), micros(rest));
                let is_urgent = pacer.ended(job, outcome, took, false, backoff, (now, rest));
                if job.offer().is_some_and(|offer| offer.max_running > 0) {
                    jobs.end(job.id(), fence);
                }
                if is_urgent {
                    jobs.report(&pacer.take_reports(now).reports);
                }
            }
            // The next enlistment at which it is due; those before it are dismissed, and cost nothing.
            let due = |now| pacer.due_in(micros(now)).map_or(0, |left| left.as_micros() as u64);
            let mut next = now + due(now);
            loop {
                let rate = (process.rate)(next as f64 / SECOND as f64);
                let whole = (next / SECOND + 1) * SECOND;
                let gap = if rate > 0.0 { random.exponential(1.0 / rate) } else { f64::MAX };
                match next as f64 + gap * SECOND as f64 {
                    time if time <= whole as f64 => {
                        next = time as u64;
                        break;
                    }
                    // A rate may change with each second.
                    _ if whole > seconds * SECOND => break,
                    _ => next = whole,
                }
            }
            if ending.is_none() && now > process.from {
                seen.enlisted += 1;
                assert_eq!(pacer.enlist(lottery, 0, micros(now)), Step::Ask);
                let offers: Vec<_> = lottery.jobs().iter().filter_map(|job| job.offer()).collect();
                let is_away = (self.away.0..self.away.1).contains(&now);
                let answer = if is_away {
                    Err(crate::error::invalid("away"))
                } else {
                    let reported = pacer.take_reports(micros(now));
                    jobs.report(&reported.reports);
                    seen.asks.push(now);
                    Ok(jobs.recruit(&offers, START + now))
                };
                if let Ok(granted) = pacer.answered(&answer, random.draw(), micros(now)) {
                    seen.grants.push((now, granted.index));
                    if random.draw() % 100 < self.hanging {
                        seen.hung += 1;
                        continue;
                    }
                    let took = random.exponential(self.slice_us as f64) as u64;
                    let ending = Some((granted.index, granted.fence, granted.backoff, took));
                    queue.push(Reverse((now + took, number, ending)));
                    continue;
                }
                next = next.max(now + due(now));
            }
            queue.push(Reverse((next.max(now + 1), number, None)));
        }
        let lost = jobs.counters().filter(|(counter, _)| counter.ends_with(":lost"));
        seen.lost = lost.map(|(_, count)| count).sum();
        seen
    }
}

impl Seen {
    /// Slices a second in these seconds.
    fn rate(&self, from: u64, to: u64) -> f64 {
        let count = self.grants.iter().filter(|(at, _)| (from * SECOND..to * SECOND).contains(at));
        count.count() as f64 / (to - from) as f64
    }

    fn asks(&self, from: u64, to: u64) -> f64 {
        let count = self.asks.iter().filter(|at| (from * SECOND..to * SECOND).contains(at));
        count.count() as f64 / (to - from) as f64
    }

    /// Checks the rate in each window of ten seconds.
    #[track_caller]
    fn assert_rate(&self, rate: f64, within: f64, from: u64, to: u64) {
        for start in (from..to - 9).step_by(10) {
            let found = self.rate(start, start + 10);
            assert!((found / rate - 1.0).abs() <= within, "{found} a second from {start} on");
        }
    }
}

#[test]
fn a_thousand_requesters_keep_the_rate() {
    for (rate, within) in [(1.0, 0.5), (10.0, 0.02), (100.0, 0.02), (400.0, 0.02)] {
        let seen = Fleet::of(NewJob::new("a").per_second(rate), 1_000, |_| 5.0).run(60);
        seen.assert_rate(rate, within, 15, 55);
        let asks = seen.asks(15, 55);
        println!("{rate} a second: {:.2}, {asks:.0} asks a second", seen.rate(15, 55));
        assert!(asks <= 1.6 * rate + 220.0, "{asks} asks");
    }
}

#[test]
fn a_burst_of_enlistments_changes_nothing() {
    let burst: Rate = |at| if (30.0..60.0).contains(&at) { 100.0 } else { 2.0 };
    for rate in [10.0, 100.0] {
        let seen = Fleet::of(NewJob::new("a").per_second(rate), 1_000, burst).run(80);
        seen.assert_rate(rate, 0.03, 15, 75);
    }
}

/// A picture of the burst, beside the lottery that runs a job in a part of all enlistments; `make bench` keeps it.
#[test]
fn a_burst_as_a_picture() {
    let burst: Rate = |at| if (30.0..60.0).contains(&at) { 100.0 } else { 2.0 };
    let (seconds, rate) = (90, 10.0);
    let paced = Fleet::of(NewJob::new("a").per_second(rate), 1_000, burst).run(seconds);
    let mut random = Random(crate::runtime::random::quick());
    let paced: Vec<f64> = (1..seconds).map(|second| paced.rate(second - 1, second + 1)).collect();
    // Of 2,000 enlistments a second outside of the burst, one in 200 runs the job.
    let lottery: Vec<f64> = (1..seconds)
        .map(|second| {
            let enlistments = burst(second as f64) * 1_000.0;
            let drawn = (0..enlistments as u64).filter(|_| random.uniform() <= rate / 2_000.0);
            drawn.count() as f64
        })
        .collect();
    let most = |series: &[f64]| series[30..60].iter().copied().fold(0.0, f64::max);
    assert!(most(&paced) < 2.0 * rate && most(&lottery) > 40.0 * rate);
    println!("{}", picture(&paced, &lottery));
}

/// Slices a second over time, on a scale of powers of ten.
fn picture(paced: &[f64], lottery: &[f64]) -> String {
    let x = |second: usize| 80.0 + second as f64 / paced.len() as f64 * 820.0;
    let y = |rate: f64| 380.0 - rate.max(1.0).log10() / 3.0 * 290.0;
    let line = |series: &[f64], color: &str| {
        let points = series.iter().enumerate();
        let points = points.map(|(second, rate)| format!("{:.0},{:.0}", x(second + 1), y(*rate)));
        let points = points.collect::<Vec<_>>().join(" ");
        format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>\n"
        )
    };
    let text = |x: f64, y: f64, rest: &str, text: &str| {
        format!("<text x=\"{x:.0}\" y=\"{y:.0}\" {rest}>{text}</text>\n")
    };
    let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 450\" \
        font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\" fill=\"#222\">\n\
        <!-- Written by `make bench`; do not edit. -->\n\
        <rect width=\"960\" height=\"450\" fill=\"#fff\"/>\n"
        .to_owned();
    svg += &format!(
        "<rect x=\"{0:.0}\" y=\"90\" width=\"{1:.0}\" height=\"290\" fill=\"#f2f2f2\"/>\n",
        x(30),
        x(60) - x(30)
    );
    for rate in [1.0, 10.0, 100.0, 1_000.0] {
        let at = y(rate);
        svg += &format!("<path d=\"M80 {at:.0}h820\" stroke=\"#ccc\"/>\n");
        svg += &text(72.0, at + 5.0, "text-anchor=\"end\"", &format!("{rate}"));
    }
    for second in (0..=90).step_by(15) {
        svg += &text(x(second), 402.0, "text-anchor=\"middle\"", &format!("{second} s"));
    }
    svg += &text(
        24.0,
        32.0,
        "font-size=\"17\" font-weight=\"bold\"",
        "Slices a second while 50 times as many pages come",
    );
    svg += &text(
        24.0,
        58.0,
        "fill=\"#1f6f8b\"",
        "10 per second (1,000 processes, simulated with the real steps)",
    );
    svg += &text(500.0, 58.0, "fill=\"#c0392b\"", "share 0.005: a lottery");
    svg += &text(x(45), 108.0, "text-anchor=\"middle\"", "100,000 pages a second");
    svg += &line(lottery, "#c0392b");
    svg += &line(paced, "#1f6f8b");
    svg + "</svg>\n"
}

#[test]
fn processes_that_vanish_and_come_back() {
    for rate in [10.0, 100.0] {
        let mut fleet = Fleet::of(NewJob::new("a").per_second(rate), 1_900, |_| 5.0);
        let (gone, back) = (60 * SECOND, 100 * SECOND);
        for (number, process) in fleet.processes.iter_mut().enumerate() {
            match number {
                ..100 => {}
                100..1_000 => process.until = gone,
                _ => process.from = back,
            }
        }
        let seen = fleet.run(140);
        let windows = |from: u64, to: u64| {
            let starts = (from..to).step_by(5);
            starts.map(|at| seen.rate(at, at + 5) / rate).collect::<Vec<_>>()
        };
        println!("{rate}: gone {:.2?}, back {:.2?}", windows(60, 100), windows(100, 140));
        if rate == 10.0 {
            assert!(windows(60, 100).iter().all(|window| *window >= 0.85));
        }
        assert!((0.9..=1.1).contains(&(seen.rate(85, 100) / rate)));
        // Never more than what was saved.
        let burst = rate.ceil();
        assert!(windows(100, 140).iter().all(|window| *window <= 1.0 + burst / (5.0 * rate)));
        assert!((0.97..=1.03).contains(&(seen.rate(120, 140) / rate)));
    }
}

#[test]
fn processes_that_enlist_at_very_different_rates() {
    let mut fleet = Fleet::of(NewJob::new("a").per_second(100.0), 1_000, |_| 0.05);
    fleet.processes[..100].iter_mut().for_each(|process| process.rate = |_| 50.0);
    fleet.run(80).assert_rate(100.0, 0.03, 15, 75);
}

#[test]
fn few_processes_keep_the_rate() {
    for (count, rate, enlists) in [
        (1, 10.0, (|_| 100.0) as Rate),
        (3, 1.0, |_| 100.0),
        (5, 200.0, |_| 1_000.0),
        (20, 10.0, |_| 1.0),
    ] {
        let mut fleet = Fleet::of(NewJob::new("a").per_second(rate), count, enlists);
        fleet.duty_max = 1.0;
        fleet.slice_us = 2_000;
        let seen = fleet.run(315);
        let found = seen.rate(15, 315);
        println!("{count} processes, {rate} a second: {found:.3}");
        assert!((found / rate - 1.0).abs() <= 0.03, "{count} processes: {found}");
    }
}

#[test]
fn too_few_enlistments_are_all_recruited() {
    let mut fleet = Fleet::of(NewJob::new("a").per_second(50.0), 1_000, |_| 0.02);
    fleet.duty_max = 1.0;
    let found = fleet.run(120).rate(20, 120);
    // Twenty enlistments a second.
    println!("{found:.2} of about 20 a second");
    assert!(found >= 18.5, "{found}");
}

#[test]
fn slices_that_never_end_hold_up_nobody() {
    let mut fleet = Fleet::of(NewJob::new("a").per_second(20.0), 2_000, |_| 5.0);
    fleet.hanging = 5;
    fleet.run(80).assert_rate(20.0, 0.03, 15, 75);
    let limited = NewJob::new("a").per_second(20.0).max_running(4).lease(Duration::from_secs(5));
    let mut fleet = Fleet::of(limited, 2_000, |_| 5.0);
    // A slot that hangs is free again after five seconds: one of them each ten seconds.
    (fleet.hanging, fleet.slice_us) = (1, 2_000);
    let seen = fleet.run(615);
    assert!(seen.hung > 0 && seen.lost <= seen.hung && seen.hung - seen.lost <= 4, "{}", seen.lost);
    // Now and then all four hang.
    assert!(seen.rate(15, 615) >= 18.0, "{}", seen.rate(15, 615));
}

#[test]
fn a_server_that_is_away_is_asked_seldom_and_found_again() {
    let mut fleet = Fleet::of(NewJob::new("a").per_second(100.0), 1_000, |_| 5.0);
    fleet.away = (30 * SECOND, 60 * SECOND);
    let seen = fleet.run(100);
    assert_eq!(seen.rate(30, 60), 0.0);
    println!("{:?}", (60..85).step_by(5).map(|at| seen.rate(at, at + 5)).collect::<Vec<_>>());
    assert!((seen.rate(75, 95) / 100.0 - 1.0).abs() <= 0.02);
}

#[test]
fn a_job_runs_as_often_as_there_is_work() {
    for (work, items) in
        [((|_| 0.01) as Rate, 0.01), (|_| 2.0, 2.0), (|_| 20.0, 20.0), (|_| 45.0, 45.0)]
    {
        let mut fleet = Fleet::of(NewJob::new("a").per_second(10.0), 1_000, |_| 5.0);
        fleet.work = Some((work, 5));
        let seen = fleet.run(300);
        let backlog = seen.backlog.iter().filter(|(at, _)| *at > 60 * SECOND);
        let backlog: Vec<f64> = backlog.map(|(_, backlog)| *backlog).collect();
        let mean = backlog.iter().sum::<f64>() / backlog.len().max(1) as f64;
        let slices = seen.rate(60, 300);
        println!("{items} items a second: backlog {mean:.2}, {slices:.2} slices a second");
        assert!(mean <= 10.0 && slices <= 10.1);
        if items < 1.0 {
            assert!(slices <= 0.25);
        }
    }
}

#[test]
fn work_that_comes_after_an_idle_time_is_found() {
    let mut fleet = Fleet::of(NewJob::new("a").per_second(10.0), 1_000, |_| 5.0);
    fleet.work = Some((|at| if at < 300.0 { 0.0 } else { 40.0 }, 5));
    let seen = fleet.run(340);
    assert!(seen.rate(200, 300) <= 0.2);
    // The slowest is once in ten seconds.
    assert!(seen.rate(315, 325) >= 7.5, "{}", seen.rate(315, 325));
}

#[test]
fn several_jobs_have_their_rates() {
    for count in [2, 5] {
        let mut fleet = Fleet::of(NewJob::new("0").per_second(20.0), 200, |_| 20.0);
        for number in 1..count {
            let job = NewJob::new(number.to_string()).per_second(20.0);
            fleet.lotteries[0] = fleet.lotteries[0].with(job).unwrap();
        }
        let seen = fleet.run(75);
        println!("{count} jobs: {:.1} a second, {:.0} asks", seen.rate(15, 75), seen.asks(15, 75));
        seen.assert_rate(20.0 * count as f64, 0.03, 15, 75);
        for number in 0..count {
            let of = |(at, job): &&(u64, usize)| *job == number && *at > 15 * SECOND;
            let rate = seen.grants.iter().filter(of).count() as f64 / 60.0;
            assert!((rate / 20.0 - 1.0).abs() <= 0.03, "{rate} a second of job {number}");
        }
    }
}

#[test]
fn a_job_that_few_processes_offer_has_its_rate() {
    let mut fleet = Fleet::of(NewJob::new("all").per_second(1.0), 1_005, |_| 5.0);
    let both = fleet.lotteries[0].with(NewJob::new("few").per_second(10.0)).unwrap();
    fleet.lotteries.push(both);
    for process in &mut fleet.processes[..5] {
        (process.lottery, process.rate) = (1, |_| 200.0);
    }
    fleet.duty_max = 1.0;
    let seen = fleet.run(315);
    let few = seen.grants.iter().filter(|(at, job)| *job == 1 && *at > 15 * SECOND).count();
    let few = few as f64 / 300.0;
    println!("{few:.2} a second of the job that few offer");
    assert!((few / 10.0 - 1.0).abs() <= 0.03);
}

#[test]
fn no_more_slices_run_at_a_time_than_may() {
    let limited = NewJob::new("a").per_second(20.0).max_running(2).lease(Duration::from_secs(5));
    let mut fleet = Fleet::of(limited, 1_000, |_| 5.0);
    fleet.slice_us = 200_000;
    let seen = fleet.run(620);
    let found = seen.rate(15, 615);
    println!("{found:.2} a second of at most 10");
    // By Little's law two at a time of 0.2 s each are ten a second.
    assert!((9.1..=10.4).contains(&found), "{found}");
}

#[test]
fn ten_thousand_processes_that_start_at_once() {
    let seen = Fleet::of(NewJob::new("a").per_second(2.0), 10_000, |_| 5.0).run(60);
    let most = (0..60).map(|at| seen.asks(at, at + 1)).fold(0.0, f64::max);
    println!("at most {most} asks a second, {:.0} later", seen.asks(30, 60));
    assert!(most <= 4_000.0 && seen.asks(30, 60) <= 700.0);
}
