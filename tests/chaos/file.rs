//! The crash test of the `file:` engine: a child writes, is killed at a random instant, and what
//! the directory then holds has to be what was acknowledged to the child, or that plus steps it
//! had begun.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use millpond::Client;
use tempfile::TempDir;

use crate::model::{Model, StepResult};
use crate::pipe::Speaker;
use crate::plan::{Plan, WRITERS, ick_name};
use crate::random::Random;
use crate::watchdog;
use crate::way::{pairs, read};
use crate::writer::{SHARERS, shared_name, shared_pair};

type Outcome<T> = Result<T, String>;

/// The results of the kills.
#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    acknowledged: u64,
    kept: u64,
    lost: u64,
    snapshots: u64,
    kills_in_snapshot: u64,
    torn_bytes: u64,
    torn_tails: u64,
}

/// One directory, which lives through many kills, and the state that it should be in.
struct Site {
    sync: &'static str,
    directory: TempDir,
    models: Vec<Model>,
}

/// Kills a writer `kills` times.
///
/// # Errors
/// What was wrong, with the seed and the directory, which is kept.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    println!("file: {kills} kills, seed {seed}");
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut sites = Vec::new();
    // Most kills are for the default; a kill of the process must be harmless in every setting.
    for sync in ["always", "100ms", "never"] {
        let directory =
            own_directory().map_err(|error| format!("no directory for the engine: {error}"))?;
        sites.push(Site { sync, directory, models: vec![Model::default(); WRITERS.len()] });
    }
    let started = Instant::now();
    for round in 0..kills {
        watchdog::alive();
        let number = [0, 0, 0, 0, 0, 0, 1, 1, 2, 2][random.below(10) as usize];
        let site = &mut sites[number];
        if let Err(wrong) = site.round(seed, round, &mut random, &mut counts) {
            let sync = site.sync;
            let kept = sites.swap_remove(number).directory.keep();
            return Err(format!(
                "seed {seed}, kill {round}, sync={sync}: {wrong}\nthe directory is {}",
                kept.display()
            ));
        }
        if (round + 1) % 20 == 0 {
            println!(
                "{} kills in {} s, {} steps acknowledged, {} snapshots",
                counts.kills,
                started.elapsed().as_secs(),
                counts.acknowledged,
                counts.snapshots
            );
        }
    }
    println!(
        "file: {} kills, {} steps acknowledged and found, {} in flight kept, {} in flight lost, \
         {} snapshots, {} kills while one was taken, {} torn tails with {} bytes; nothing wrong",
        counts.kills,
        counts.acknowledged,
        counts.kept,
        counts.lost,
        counts.snapshots,
        counts.kills_in_snapshot,
        counts.torn_tails,
        counts.torn_bytes
    );
    Ok(())
}

/// What one writer reported.
#[derive(Default)]
struct Heard {
    intended: u64,
    acknowledged: BTreeSet<u64>,
    /// The numbers of the members that a sharer named.
    numbers: Vec<u64>,
}

fn hear(lines: &[String]) -> Outcome<Vec<Heard>> {
    let mut heard: Vec<_> = (0..WRITERS.len() + SHARERS).map(|_| Heard::default()).collect();
    for line in lines {
        let words: Vec<_> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let (Some(writer), Some(index)) = (number(1), number(2)) else {
            return Err(format!("a child said: {line}"));
        };
        let of = &mut heard[writer as usize];
        match words[0] {
            "i" => {
                of.intended = index + 1;
                of.numbers.extend(number(3));
            }
            "a" => {
                of.acknowledged.insert(index);
            }
            _ => return Err(format!("a child said: {line}")),
        }
    }
    Ok(heard)
}

impl Site {
    fn round(
        &mut self,
        seed: u64,
        round: u64,
        random: &mut Random,
        counts: &mut Counts,
    ) -> Outcome<()> {
        let before = newest(self.directory.path(), "log").map_or(1, |(number, _)| number);
        let url = url_of(self.directory.path(), self.sync);
        let child = Speaker::start(&["writer", &url, &seed.to_string(), &round.to_string()])
            .map_err(|error| format!("no child: {error}"))?;
        // Now and then the kill comes while the directory is being opened.
        if random.one_in(10) {
            std::thread::sleep(Duration::from_micros(random.below(30_000)));
        } else {
            child.wait_ready();
            std::thread::sleep(Duration::from_micros(random.below(150_000)));
        }
        let heard = hear(&child.kill()?)?;
        counts.kills += 1;
        let after = newest(self.directory.path(), "log").map_or(1, |(number, _)| number);
        counts.snapshots += after - before;
        counts.kills_in_snapshot += u64::from(has_unfinished(self.directory.path()));

        // The next child finds the torn tail as it is, or what the check left behind.
        let copy = match random.one_in(2) {
            true => Some(copy_of(self.directory.path()).map_err(|error| error.to_string())?),
            false => None,
        };
        let place = copy.as_ref().map_or(self.directory.path(), TempDir::path);
        let written = newest(place, "log").map_or(Ok(0), |(_, log)| bytes_written(&log));
        let written = written.map_err(|error| error.to_string())?;
        let client = millpond::connect(&url_of(place, self.sync))
            .map_err(|error| format!("cannot open it again: {error:?}"))?;
        let kept = newest(place, "log").and_then(|(_, log)| Some(fs::metadata(log).ok()?.len()));
        let torn = written.saturating_sub(kept.unwrap_or(written));
        counts.torn_bytes += torn;
        counts.torn_tails += u64::from(torn > 0);
        for (writer, model) in self.models.iter_mut().enumerate() {
            check_own(&client, seed, round, writer, model, &heard[writer], counts)?;
        }
        check_shared(&client, round, &heard[WRITERS.len()..], counts)?;
        client.ick(shared_name(round)).delete().map_err(|error| format!("{error:?}"))?;
        client.close().map_err(|error| format!("cannot close it: {error:?}"))
    }
}

/// Compares a writer's Ick with its model, and moves the model to where the Ick is.
fn check_own(
    client: &Client,
    seed: u64,
    round: u64,
    writer: usize,
    model: &mut Model,
    heard: &Heard,
    counts: &mut Counts,
) -> Outcome<()> {
    let name = ick_name(writer);
    let found = read(client, &name).map_err(|error| format!("cannot read {name}: {error:?}"))?;
    // How far the steps reach that have to be there.
    let mut least = 0;
    // An earlier state that was found instead of the right one shows how much was lost.
    let mut earlier = None;
    let (mut plan, mut ahead) = (Plan::new(writer, seed, round), model.clone());
    for index in 0..heard.intended {
        if ahead == found {
            earlier = Some(index);
        }
        let result = ahead.run(plan.next(&ahead));
        // A refusal does not mean anything about the steps before it.
        if heard.acknowledged.contains(&index) && result != StepResult::LeaseLost {
            least = index + 1;
        }
    }
    let mut plan = Plan::new(writer, seed, round);
    let mut one_more = |model: &mut Model| model.run(plan.next(model));
    (0..least).for_each(|_| drop(one_more(model)));
    let mut difference = String::new();
    let mut done = least;
    while *model != found {
        if done == least {
            difference = model.difference(&found);
        }
        if done == heard.intended {
            return Err(format!(
                "{name} after {least} steps that count and {done} begun: {difference}; it was \
                 like this after step {earlier:?}"
            ));
        }
        one_more(model);
        done += 1;
    }
    counts.acknowledged += heard.acknowledged.len() as u64;
    counts.kept += done - least;
    counts.lost += heard.intended - done;
    Ok(())
}

/// Compares the Ick that several threads add to with what was acknowledged to each.
fn check_shared(client: &Client, round: u64, heard: &[Heard], counts: &mut Counts) -> Outcome<()> {
    let name = shared_name(round);
    let peek = |set| client.ick(&name).peek(set, 10_000_000).map(pairs);
    let found = peek(millpond::ick::Set::Producer).map_err(|error| format!("{error:?}"))?;
    let found: BTreeMap<_, _> = found.into_iter().collect();
    // The lowest score that was acknowledged, and all that were tried.
    let mut told: BTreeMap<Vec<u8>, (Option<f64>, Vec<f64>)> = BTreeMap::new();
    for (sharer, heard) in heard.iter().enumerate() {
        for (index, number) in heard.numbers.iter().enumerate() {
            let (score, member) = shared_pair(sharer, *number);
            let (lowest, tried) = told.entry(member).or_default();
            tried.push(score);
            if heard.acknowledged.contains(&(index as u64)) {
                counts.acknowledged += 1;
                *lowest = Some(lowest.map_or(score, |lowest| lowest.min(score)));
            }
        }
    }
    let text = |member: &[u8]| String::from_utf8_lossy(member).into_owned();
    for (member, score) in &found {
        if !told.get(member).is_some_and(|(_, tried)| tried.contains(score)) {
            return Err(format!("{name}: nobody added {}={score}", text(member)));
        }
    }
    for (member, (lowest, _)) in &told {
        let Some(lowest) = lowest else { continue };
        if !found.get(member).is_some_and(|score| score <= lowest) {
            return Err(format!(
                "{name}: {}={lowest} was acknowledged, found {:?}",
                text(member),
                found.get(member)
            ));
        }
    }
    Ok(())
}

/// The URL of a directory, whatever bytes its path has that a URL would read in its own way.
pub(crate) fn url_of(directory: &Path, sync: &str) -> String {
    format!("file:{}?sync={sync}", directory.display())
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The file with the highest number among those with this extension.
pub(crate) fn newest(directory: &Path, extension: &str) -> Option<(u64, PathBuf)> {
    let numbered = files(directory).into_iter().filter_map(|path| {
        let number = path.file_stem()?.to_str()?.parse().ok()?;
        (path.extension()? == extension).then_some((number, path))
    });
    numbered.max()
}

pub(crate) fn has_unfinished(directory: &Path) -> bool {
    files(directory).iter().any(|path| path.extension().is_some_and(|ending| ending == "tmp"))
}

/// Where the last byte is that is not one of the zeros a log grows ahead by.
fn bytes_written(log: &Path) -> io::Result<u64> {
    let bytes = fs::read(log)?;
    Ok(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1))
}

/// A directory that the engine does not warn about.
fn own_directory() -> io::Result<TempDir> {
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    tempfile::Builder::new().prefix("millpond-chaos-").permissions(rights).tempdir()
}

fn copy_of(directory: &Path) -> io::Result<TempDir> {
    let copy = own_directory()?;
    for path in files(directory) {
        if let Some(name) = path.file_name() {
            fs::copy(&path, copy.path().join(name))?;
        }
    }
    Ok(copy)
}
