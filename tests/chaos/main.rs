//! Crash tests: processes are killed at random instants, and what was acknowledged to them has to be
//! true.
//!
//! ```text
//! millpond-chaos file  [--kills N] [--seed S]
//! millpond-chaos redis [--kills N] [--seed S]
//! millpond-chaos fold
//! millpond-chaos shuffle [--kills N] [--seed S]
//! millpond-chaos tasks [--kills N] [--seed S]
//! millpond-chaos events [--kills N] [--seed S]
//! millpond-chaos schedules [--kills N] [--seed S]
//! millpond-chaos volatile [--kills N] [--seed S]
//! millpond-chaos recruiter [--kills N] [--seed S]
//! millpond-chaos deploy [--kills N] [--seed S] [--languages rust,python,node,c,ruby,php]
//! ```
//!
//! `file` kills a process that writes on the embedded engine, 200 times unless told otherwise; `redis` kills
//! redis-server and producers, 20 times, while a consumer works; `fold` stops a consumer for longer than its lease;
//! `shuffle` kills writers, consumers and the server of a shuffle queue that is resized meanwhile, 60 times, and the
//! same number of times a process that does all of it on the embedded engine; `tasks` kills a process that works on a
//! task store, 100 times on the embedded engine and half as often, with the server, on Redis; `events` loses each
//! reply of a client in turn, kills producers, consumers, the server and an operator of a queue of events and stops
//! consumers for longer than their leases, 60 times, and kills a process that does all of it on the embedded engine as
//! often;
//! `schedules` kills one of 20 processes that put the same schedules and receive twice a second, 1,200 times, and the
//! server after each 60; `volatile` kills and stops holders of the locks of volatile hashes, writers of a family of them
//! and the server, 60 times, and kills a process that does all of it on the embedded engine as often;
//! `recruiter` measures a fleet of forty processes for a minute and then kills one each second for a minute, and the
//! server twice;
//! `deploy` stops or kills one of twelve workers of tasks, messages and events each second, 120 times, and the server
//! twice; the workers are written in the languages that are named, which have to be there, or in all that are. The seed
//! is printed and draws the same steps again; when a kill comes relative to them is the scheduler's. The program ends
//! with 1 and says what was wrong, or with 3 if nothing moved for two minutes.

mod children;
mod consumer;
mod deploy;
mod disk;
mod events;
mod file;
mod fold;
mod ledger;
mod model;
mod pipe;
mod plan;
mod producer;
mod recruiter;
mod redis;
mod schedules;
mod shuffle;
mod tasks;
mod volatile;
mod watchdog;
mod way;
mod writer;

use std::process::ExitCode;

// The clock is one for all processes of a run.
use millpond_tests::{clock, random};

const USAGE: &str = "usage: millpond-chaos file|redis|fold|shuffle|tasks|events|schedules|volatile|recruiter|deploy [--kills N] [--seed S]";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        // The roles of children, which the tests start.
        ["writer", url, seed, round] => match (seed.parse(), round.parse()) {
            (Ok(seed), Ok(round)) => writer::write(url, seed, round).map_err(said),
            _ => Err(USAGE.to_owned()),
        },
        ["producer", url, seed, life, window] => {
            match (seed.parse(), life.parse(), window.parse()) {
                (Ok(seed), Ok(life), Ok(window)) => {
                    producer::produce(url, seed, life, window).map_err(said)
                }
                _ => Err(USAGE.to_owned()),
            }
        }
        ["shuffle-child", role, url, seed, life] => match (seed.parse(), life.parse()) {
            (Ok(seed), Ok(life)) => shuffle::work(role, url, seed, life),
            _ => Err(USAGE.to_owned()),
        },
        ["events-child", role, url, seed, life] => match (seed.parse(), life.parse()) {
            (Ok(seed), Ok(life)) => events::work(role, url, seed, life),
            _ => Err(USAGE.to_owned()),
        },
        ["tasks-child", url, seed, round] => match (seed.parse(), round.parse()) {
            (Ok(seed), Ok(round)) => tasks::work(url, seed, round).map_err(said),
            _ => Err(USAGE.to_owned()),
        },
        ["volatile-child", role, url, seed, life] => match (seed.parse(), life.parse()) {
            (Ok(seed), Ok(life)) => volatile::work(role, url, seed, life),
            _ => Err(USAGE.to_owned()),
        },
        ["recruiter-child", url, life] => match life.parse() {
            Ok(life) => recruiter::work(url, life),
            _ => Err(USAGE.to_owned()),
        },
        ["schedules-child", url] => schedules::work(url),
        ["deploy-child", role, url, life] => deploy::work(role, url, life),
        ["consumer", url] => fold::consume(url).map_err(said),
        ["hold", url] => disk::hold(url).map_err(said),
        ["fill", url] => disk::fill(url).map_err(said),
        [test, ref options @ ..] => match Options::read(options) {
            Some(options) => options.run(test),
            None => Err(USAGE.to_owned()),
        },
        [] => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(if wrong == USAGE { 2 } else { 1 })
        }
    }
}

fn said(error: millpond::Error) -> String {
    format!("{error:?}")
}

struct Options {
    kills: Option<u64>,
    seed: u64,
    /// Of the workers of `deploy`.
    languages: Option<Vec<String>>,
}

impl Options {
    fn read(words: &[&str]) -> Option<Self> {
        let mut options = Self { kills: None, seed: random::fresh_seed(), languages: None };
        for pair in words.chunks(2) {
            let [name, value] = *pair else { return None };
            match name {
                "--kills" => options.kills = Some(value.parse().ok()?),
                "--seed" => options.seed = value.parse().ok()?,
                "--languages" => {
                    options.languages = Some(value.split(',').map(str::to_owned).collect());
                }
                _ => return None,
            }
        }
        Some(options)
    }

    fn run(&self, test: &str) -> Result<(), String> {
        watchdog::start();
        match test {
            "file" => file::run(self.kills.unwrap_or(200), self.seed),
            "redis" => redis::run(self.kills.unwrap_or(20), self.seed),
            "fold" => fold::run(),
            "shuffle" => shuffle::run(self.kills.unwrap_or(60), self.seed),
            "tasks" => tasks::run(self.kills.unwrap_or(100), self.seed),
            "events" => events::run(self.kills.unwrap_or(60), self.seed),
            "schedules" => schedules::run(self.kills.unwrap_or(1_200), self.seed),
            "volatile" => volatile::run(self.kills.unwrap_or(60), self.seed),
            "recruiter" => recruiter::run(self.kills.unwrap_or(60), self.seed),
            "deploy" => {
                deploy::run(self.kills.unwrap_or(120), self.seed, self.languages.as_deref())
            }
            _ => Err(USAGE.to_owned()),
        }
    }
}
