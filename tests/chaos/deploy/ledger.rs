//! What was to be done, and what the workers say that they did.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::Keys;
use super::{FOLLOWS, Outcome, ROLES, Worker};

/// The most jobs that a process was at work on, or whose ends were under way, when it was killed.
const IN_FLIGHT: u64 = 8;

/// How many jobs there are of each outcome.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Tasks that are done, with those that follow from them.
    pub(super) done: u64,
    /// Tasks that are rejected, and as many messages and events.
    pub(super) dead: u64,
    /// All runs of handlers, if nothing is killed.
    runs: u64,
    /// Of them those that do not fail: one of each job.
    ends: u64,
}

impl Wanted {
    pub(super) fn want(&mut self, then: &str) {
        let roles = ROLES.len() as u64;
        self.runs += roles;
        self.ends += roles;
        match then {
            "reject" => self.dead += 1,
            "follow" => {
                self.done += 2;
                // No message follows from another one.
                self.runs += roles - 1;
                self.ends += roles - 1;
            }
            "retry" => {
                self.done += 1;
                self.runs += roles;
            }
            _ => self.done += 1,
        }
    }
}

/// The runs of handlers.
#[derive(Default)]
pub(super) struct Ledger {
    kills: u64,
    /// Of each job, and whether it was to fail: how often it ran in processes that were killed, and in others.
    runs: BTreeMap<(String, bool), [u64; 2]>,
    /// Jobs that ran again after a process was done with them that was not killed.
    repeated: BTreeSet<String>,
    /// How many jobs were begun by processes that were killed before they had run.
    interrupted: u64,
    told: BTreeMap<String, u64>,
    keys: Keys,
    /// How many runs there were of each kind of job in each language.
    languages: BTreeMap<(&'static str, &'static str), u64>,
}

impl Ledger {
    /// Notes what a process printed that has ended; the processes come in the order of their ends.
    pub(super) fn take(
        &mut self,
        worker: Worker,
        lines: &[String],
        was_killed: bool,
    ) -> Outcome<()> {
        self.kills += u64::from(was_killed);
        let of_language = self.languages.entry((worker.language.name, worker.role)).or_default();
        let mut begun = BTreeMap::new();
        for line in lines {
            let unknown = || format!("{worker} said: {line}");
            let words: Vec<_> = line.splitn(4, ' ').collect();
            let (time, words) = words.split_first().ok_or_else(unknown)?;
            let time: u64 = time.parse().map_err(|_| unknown())?;
            match *words {
                ["begin", job] => {
                    begun.insert(job, time);
                }
                ["run", job, what] => {
                    *of_language += 1;
                    let began = begun.remove(job).ok_or_else(unknown)?;
                    self.keys.take(job, began, Some(time));
                    let runs = self.runs.entry((job.to_owned(), what == "retry")).or_default();
                    if runs[1] > 0 {
                        self.repeated.insert(job.to_owned());
                    }
                    runs[usize::from(!was_killed)] += 1;
                }
                ["told", kind @ ("away" | "back" | "retried" | "dead"), _] => {
                    *self.told.entry(kind.to_owned()).or_default() += 1;
                }
                ["told", _, message] => return Err(format!("{worker} was told: {message}")),
                _ => return Err(unknown()),
            }
        }
        for (job, began) in &begun {
            self.keys.take(job, *began, None);
        }
        self.interrupted += begun.len() as u64;
        match was_killed || begun.is_empty() {
            true => Ok(()),
            false => Err(format!("{worker} was told to stop, and did not end {:?}", begun.keys())),
        }
    }

    /// What a process did that was not killed was done once, every job was done, and keys kept their order.
    pub(super) fn check(&self, wanted: &Wanted) -> Outcome<String> {
        self.keys.check()?;
        if !self.repeated.is_empty() {
            return Err(format!("{:?} ran again though no process was killed", self.repeated));
        }
        let ends = self.runs.keys().filter(|(_, is_retry)| !is_retry).count() as u64;
        if ends != wanted.ends {
            return Err(format!("{ends} jobs ran to their ends, of {}", wanted.ends));
        }
        let repeated: u64 = self.runs.values().map(|runs| runs.iter().sum::<u64>() - 1).sum();
        let interrupted = self.interrupted;
        if interrupted + repeated > self.kills * IN_FLIGHT {
            return Err(format!(
                "{interrupted} jobs were interrupted and {repeated} ran again for {} kills",
                self.kills
            ));
        }
        let all: u64 = self.runs.values().flatten().sum();
        let killed: u64 = self.runs.values().map(|[killed, _]| killed).sum();
        let follows = self.runs.keys().filter(|(job, _)| is_follow(job)).count();
        Ok(format!(
            "{all} runs of {} that were wanted, {killed} in killed processes, {interrupted} jobs interrupted \
             by a kill, 0 by a stop, {repeated} ran again after a kill, 0 after a stop, {follows} of jobs that follow; told {:?}; runs {:?}",
            wanted.runs, self.told, self.languages
        ))
    }
}

/// Whether a job, such as `task-7`, follows from another one.
fn is_follow(job: &str) -> bool {
    let number = job.rsplit('-').next().and_then(|number| number.parse::<u64>().ok());
    number.is_some_and(|number| number >= FOLLOWS)
}
