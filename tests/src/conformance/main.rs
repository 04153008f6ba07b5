//! Runs the conformance cases in every language on every backend.
//!
//! ```text
//! millpond-conformance [--adapters rust,python] [--backends memory,redis] [--one-in 5 --seed WORD] [FOLDER]
//! ```
//!
//! `FOLDER` holds the cases; without it the folder in `CONFORMANCE_DIR`, or else the project's
//! own, `tests/conformance/cases`. Without `--adapters` all languages run that this machine has;
//! one that is named and is missing is a failure. `--one-in N` runs about one case in N, of which the
//! seed decides which: another commit runs others. The last line is `N passed, N failed`, and the
//! exit status is 0 only if something ran and nothing failed.
//!
//! `millpond-conformance adapter` is the adapter for Rust. The format of the cases and the
//! protocol of the adapters are described in `tests/conformance/README.md`.

mod adapter;
mod backend;
mod call;
mod case;
mod digest;
mod generator;
mod keys;
mod languages;
mod model;
mod report;
mod result;
mod returns;
mod runner;
mod rust;
mod rust_events;
mod rust_jobs;
mod rust_recruiter;
mod rust_shuffle;
mod rust_tasks;
mod rust_tracker;
mod rust_volatile;
mod shuffle;
mod state;
mod tasks;
#[cfg(test)]
mod tests;
mod value;
mod watchdog;
mod wire;

use std::env;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::slice;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use adapter::{Adapter, repository};
use backend::{BACKENDS, Backend};
use case::Case;
use languages::Language;
use report::Report;
use runner::Outcome;

/// What goes wrong here goes to people: one line.
type Result<T, E = String> = std::result::Result<T, E>;

/// How many adapters work at a time.
const LANES: usize = 6;

const USAGE: &str = "usage: millpond-conformance [--adapters NAME,NAME] [--backends NAME,NAME] \
    [--one-in COUNT --seed WORD] [FOLDER]";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments == ["adapter"] {
        return match rust::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    watchdog::start();
    let report = Arguments::read(arguments).and_then(|arguments| arguments.run());
    let report = report.unwrap_or_else(|why| {
        let mut report = Report::default();
        report.add_broken(&why);
        report
    });
    println!("{report}");
    if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is to be run.
struct Arguments {
    adapters: Option<Vec<String>>,
    backends: Vec<String>,
    /// One case in this many.
    one_in: u64,
    /// Decides which cases.
    seed: String,
    folder: PathBuf,
}

impl Arguments {
    fn read(arguments: Vec<String>) -> Result<Self> {
        let mut read = Self {
            adapters: None,
            backends: BACKENDS.map(str::to_owned).to_vec(),
            one_in: 1,
            seed: String::new(),
            folder: repository().join("tests/conformance/cases"),
        };
        if let Some(folder) = env::var_os("CONFORMANCE_DIR").filter(|folder| !folder.is_empty()) {
            read.folder = folder.into();
        }
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            let names = |list: String| list.split(',').map(str::to_owned).collect();
            match argument.as_str() {
                "--adapters" => read.adapters = Some(names(value()?)),
                "--backends" => read.backends = names(value()?),
                "--one-in" => read.one_in = value()?.parse().map_err(|_| USAGE)?,
                "--seed" => read.seed = value()?,
                option if option.starts_with('-') => return Err(USAGE.to_owned()),
                folder => read.folder = folder.into(),
            }
        }
        match read.one_in {
            0 => Err(USAGE.to_owned()),
            _ => Ok(read),
        }
    }

    /// Whether this case is one of those to run.
    fn includes(&self, case: &Case) -> bool {
        let mut hasher = DefaultHasher::new();
        (&self.seed, &case.name).hash(&mut hasher);
        hasher.finish().is_multiple_of(self.one_in)
    }

    fn run(&self) -> Result<Report> {
        let mut cases = case::read_folder(&self.folder)?;
        cases.retain(|case| self.includes(case));
        if self.one_in > 1 {
            println!("{} cases, one in {}, seed {}", cases.len(), self.one_in, self.seed);
        }
        let (mut report, mut languages) = (Report::default(), Vec::new());
        for language in languages::languages(self.adapters.as_deref())? {
            match language.and_then(check_works) {
                Ok(language) => languages.push(language),
                Err(why) => report.add_broken(&why),
            }
        }
        // A run mostly waits, for responses and for what cases wait for: so each backend has a few threads,
        // with a server of its own each, and each thread has an adapter of one language after the other.
        let lanes = LANES.div_ceil(self.backends.len().max(1));
        let waiting: Vec<_> = self.backends.iter().map(|_| Mutex::new(languages.iter())).collect();
        let parts: Vec<Result<Report>> = thread::scope(|scope| {
            let cases = &cases[..];
            let start = |(name, waiting)| scope.spawn(move || run_backend(cases, waiting, name));
            let backends = self.backends.iter().map(String::as_str).zip(&waiting);
            let lanes = backends.flat_map(|backend| std::iter::repeat_n(backend, lanes));
            let threads: Vec<_> = lanes.map(start).collect();
            let part = |thread: ScopedJoinHandle<'_, Result<Report>>| {
                thread.join().unwrap_or_else(|_| Err("a backend's thread panicked".to_owned()))
            };
            threads.into_iter().map(part).collect()
        });
        for part in parts {
            match part {
                Ok(part) => report.merge(part),
                Err(why) => report.add_broken(&why),
            }
        }
        Ok(report)
    }
}

/// Starts the adapter of a language once: one that does not work is one failure, not one a case.
fn check_works(language: Language) -> Result<Language> {
    if !language.reaches("memory") {
        return Ok(language);
    }
    watchdog::begin(format!("the first call in {}", language.name));
    let works = Adapter::new(&language).open("memory:");
    watchdog::end();
    works.map_err(|why| format!("{}: {why}", language.name))?;
    Ok(language)
}

/// Runs the languages that no other thread of this backend has begun.
fn run_backend(
    cases: &[Case],
    waiting: &Mutex<slice::Iter<'_, Language>>,
    name: &str,
) -> Result<Report> {
    let mut report = Report::default();
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.find(|language| language.reaches(name))
    };
    let Some(mut language) = next() else { return Ok(report) };
    let mut backend = Backend::start(name)?;
    loop {
        run_all(cases, language, name, &mut backend, &mut report);
        match next() {
            Some(next) => language = next,
            None => return Ok(report),
        }
    }
}

fn run_all(
    cases: &[Case],
    language: &Language,
    name: &str,
    backend: &mut Backend,
    report: &mut Report,
) {
    let start = Instant::now();
    let mut adapter = Adapter::new(language);
    for case in cases {
        watchdog::begin(format!("case {} in {} on {name}", case.name, language.name));
        let outcome = match language.lacks(case.body.queue()) {
            Some(why) => Outcome::Skipped(why),
            None => runner::run(case, &mut adapter, backend),
        };
        report.add(&language.name, name, &case.name, outcome);
    }
    watchdog::end();
    report.took(&language.name, name, start.elapsed());
}
