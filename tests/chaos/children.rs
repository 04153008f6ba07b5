//! What the crash tests of queues have in common: children that live until they are killed, and what they said.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millpond::{Error, Retry};

use crate::pipe::Speaker;
use crate::random::Random;
use crate::watchdog;

type Outcome<T> = Result<T, String>;

/// What the children of a test said.
pub(crate) trait Hear: Default {
    /// Handles a line. Calls that have been sent and did not return are in `calls`, with the names that they are about.
    fn line<'a>(
        &mut self,
        line: &'a str,
        calls: &mut BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Option<()>;

    /// Handles what one child printed in its life.
    fn take(&mut self, lines: &[String]) -> Outcome<()> {
        let mut calls = BTreeMap::new();
        for line in lines {
            self.line(line, &mut calls).ok_or_else(|| format!("a child said: {line}"))?;
        }
        Ok(())
    }
}

/// Fails unless kills explain all of these errors.
pub(crate) fn are_of_kills(errors: &BTreeMap<String, u64>) -> Outcome<()> {
    let expected = ["CONNECTION_LOST", "CONNECTION_FAILED", "UNAVAILABLE"];
    match errors.keys().find(|kind| !expected.contains(&kind.as_str())) {
        None => Ok(()),
        Some(kind) => Err(format!("a call failed with {kind}")),
    }
}

/// Reports a consumer's error, unless it is one that no kill explains.
pub(crate) fn failed(error: &Error, say: impl Fn(String)) -> Outcome<()> {
    if error.retry() == Retry::Never {
        return Err(format!("a consumer got {error:?}"));
    }
    say(format!("x {}", error.kind().name()));
    std::thread::sleep(Duration::from_millis(10));
    Ok(())
}

/// Processes that live until they are killed, each replaced by another one then.
pub(crate) struct Children<H> {
    /// The argument by which this program is a child.
    word: &'static str,
    url: String,
    seed: u64,
    /// How many there have been; each has its number.
    pub(crate) lives: u64,
    pub(crate) heard: H,
}

impl<H: Hear> Children<H> {
    pub(crate) fn new(word: &'static str, url: String, seed: u64) -> Self {
        Self { word, url, seed, lives: 0, heard: H::default() }
    }

    fn start(&mut self, role: &str) -> Outcome<Speaker> {
        self.lives += 1;
        start(self.word, role, &self.url, self.seed, self.lives)
    }

    pub(crate) fn start_all(&mut self, role: &str, count: usize) -> Outcome<Vec<Speaker>> {
        (0..count).map(|_| self.start(role)).collect()
    }

    /// Kills one of `group` and starts another one in its place.
    pub(crate) fn replace(
        &mut self,
        role: &str,
        group: &mut [Speaker],
        slot: usize,
    ) -> Outcome<()> {
        let killed = std::mem::replace(&mut group[slot], self.start(role)?);
        self.end(killed)
    }

    pub(crate) fn end(&mut self, child: Speaker) -> Outcome<()> {
        self.heard.take(&child.kill()?)
    }
}

fn start(word: &str, role: &str, url: &str, seed: u64, life: u64) -> Outcome<Speaker> {
    Speaker::start(&[word, role, url, &seed.to_string(), &life.to_string()])
        .map_err(|error| format!("no child: {error}"))
}

/// Does this in threads of the numbers up to `count`, each with random numbers of its own, until one of them ends.
pub(crate) fn in_threads(
    count: u64,
    mut random: Random,
    work: impl Fn(u64, Random) -> Outcome<()> + Clone + Send + 'static,
) -> Outcome<()> {
    let (sender, ended) = std::sync::mpsc::channel();
    let seed = random.number();
    for number in 0..count {
        let (work, sender) = (work.clone(), sender.clone());
        std::thread::spawn(move || {
            // The receiver waits for the first of these and ends the process.
            let _ = sender.send(work(number, Random::named(seed, &[number])));
        });
    }
    ended.recv().expect("this function holds a sender")
}

/// Gives a directory for an engine, which stays if something is wrong.
pub(crate) fn in_directory(run: impl FnOnce(&str) -> Outcome<()>) -> Outcome<()> {
    let directory = tempfile::Builder::new()
        .prefix("millpond-chaos-")
        .tempdir()
        .map_err(|error| format!("no directory for the engine: {error}"))?;
    let place = directory.path().display().to_string();
    run(&place).map_err(|wrong| {
        let kept = directory.keep();
        format!("{wrong}\nthe directory is {}", kept.display())
    })
}

/// Kills the process that holds the directory `kills` times, each time after it did something for a while and after
/// `last`, which has the number of its life; returns what all said.
pub(crate) fn kill_engines<H: Hear>(
    word: &str,
    place: &str,
    kills: u64,
    seed: u64,
    random: &mut Random,
    mut last: impl FnMut(u64, &Speaker),
) -> Outcome<H> {
    let mut heard = H::default();
    for life in 1..=kills {
        watchdog::alive();
        // A kill of the process must be harmless in every setting.
        let sync = ["always", "100ms", "never"][(life % 3) as usize];
        let child = start(word, "engine", &format!("file:{place}?sync={sync}"), seed, life)?;
        // Now and then the kill comes while the directory is being opened.
        if random.one_in(10) {
            std::thread::sleep(Duration::from_micros(random.below(30_000)));
        } else {
            child.wait_ready();
            std::thread::sleep(Duration::from_micros(random.below(500_000)));
        }
        last(life, &child);
        heard.take(&child.kill()?)?;
    }
    Ok(heard)
}

/// Has consumers do what is left in threads until it is done, and gives what they said. A consumer has its number,
/// random numbers, what says whether it is over, and what it reports by.
pub(crate) fn drain(
    consumers: u64,
    random: &mut Random,
    consume: impl Fn(u64, Random, &dyn Fn() -> bool, &dyn Fn(String)) -> Outcome<()> + Sync,
    wait_until_done: impl FnOnce() -> Outcome<()>,
) -> Outcome<Vec<String>> {
    let (lines, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let consumers: Vec<_> = (0..consumers)
            .map(|number| {
                let random = Random::new(random.number());
                let (lines, is_over, consume) = (&lines, &is_over, &consume);
                scope.spawn(move || {
                    let say = |line| lines.lock().expect("nobody panicked").push(line);
                    consume(number, random, &|| is_over.load(Ordering::Acquire), &say)
                })
            })
            .collect();
        let done = wait_until_done();
        is_over.store(true, Ordering::Release);
        for consumer in consumers {
            consumer.join().map_err(|_| "a consumer panicked".to_owned())??;
        }
        done
    })?;
    Ok(lines.into_inner().expect("nobody panicked"))
}
