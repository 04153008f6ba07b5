//! The result of a whole run: a matrix of languages and backends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::runner::Outcome;

/// The result of a whole run.
#[derive(Default)]
pub(crate) struct Report {
    cells: BTreeMap<(String, String), Tally>,
    languages: BTreeSet<String>,
    backends: BTreeSet<String>,
    failures: Vec<String>,
    /// Failures that belong to no case.
    broken: usize,
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: BTreeMap<String, usize>,
    /// Cases that passed except for a step that the language cannot express, by the reason.
    left_out: BTreeMap<String, usize>,
    time: Duration,
}

impl Report {
    /// Notes the outcome of a case.
    pub(crate) fn add(&mut self, language: &str, backend: &str, case: &str, outcome: Outcome) {
        let tally = self.tally(language, backend);
        match outcome {
            Outcome::Passed(left_out) => {
                tally.passed += 1;
                if let Some(why) = left_out {
                    *tally.left_out.entry(why).or_default() += 1;
                }
            }
            Outcome::Skipped(why) => *tally.skipped.entry(why).or_default() += 1,
            Outcome::Failed(why) => {
                tally.failed += 1;
                self.failures.push(format!("{language} on {backend}: {case}: {why}"));
            }
        }
    }

    /// Takes over what another report says.
    pub(crate) fn merge(&mut self, other: Self) {
        for ((language, backend), tally) in other.cells {
            *self.tally(&language, &backend) = tally;
        }
        self.failures.extend(other.failures);
        self.broken += other.broken;
    }

    /// Notes how long all cases took in one language on one backend.
    pub(crate) fn took(&mut self, language: &str, backend: &str, time: Duration) {
        self.tally(language, backend).time = time;
    }

    /// Notes a failure that belongs to no case.
    pub(crate) fn add_broken(&mut self, why: &str) {
        self.broken += 1;
        self.failures.push(why.to_owned());
    }

    /// Whether something ran and nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        self.passed() > 0 && self.failed() == 0
    }

    fn passed(&self) -> usize {
        self.cells.values().map(|tally| tally.passed).sum()
    }

    fn failed(&self) -> usize {
        self.broken + self.cells.values().map(|tally| tally.failed).sum::<usize>()
    }

    fn tally(&mut self, language: &str, backend: &str) -> &mut Tally {
        for (list, name) in [(&mut self.languages, language), (&mut self.backends, backend)] {
            if !list.contains(name) {
                list.insert(name.to_owned());
            }
        }
        self.cells.entry((language.to_owned(), backend.to_owned())).or_default()
    }

    fn write_failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.failures.is_empty() {
            writeln!(f, "failures:")?;
        }
        self.failures.iter().try_for_each(|failure| writeln!(f, "    {failure}"))
    }

    fn write_matrix(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:16}", "")?;
        for backend in &self.backends {
            write!(f, "{backend:>28}")?;
        }
        writeln!(f, "\n{:16}{}", "", " passed failed skipped  time".repeat(self.backends.len()))?;
        for language in &self.languages {
            write!(f, "{language:16}")?;
            for backend in &self.backends {
                match self.cells.get(&(language.clone(), backend.clone())) {
                    Some(Tally { passed, failed, skipped, time, .. }) => {
                        let skipped: usize = skipped.values().sum();
                        let time = time.as_secs_f64();
                        write!(f, "{passed:>7}{failed:>7}{skipped:>8}{time:>5.1}s")?;
                    }
                    None => write!(f, "{:>28}", "-")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// Writes how many cases were left out, in whole or in part, for which reason.
    fn write_reasons(
        &self,
        what: &str,
        reasons_of: impl Fn(&Tally) -> &BTreeMap<String, usize>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((language, backend), tally) in &self.cells {
            for (why, count) in reasons_of(tally) {
                reasons.entry(why).or_default().push(format!("{language} on {backend} {count}"));
            }
        }
        for (why, counts) in reasons {
            writeln!(f, "{what}: {why}: {}", counts.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_failures(f)?;
        self.write_matrix(f)?;
        self.write_reasons("skipped", |tally| &tally.skipped, f)?;
        self.write_reasons("passed but for a step", |tally| &tally.left_out, f)?;
        write!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}
