//! The queue on the embedded engine: a process that writes and consumes in threads and is killed,
//! and another one that opens the same directory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millpond::Client;

use super::lines::Heard;
use super::{Outcome, PATIENCE, check, consumer, queue, writer};
use crate::pipe::{Speaker, say};
use crate::random::Random;
use crate::{said, watchdog};

const WRITERS: u64 = 2;
const CONSUMERS: u64 = 3;

/// What the child does until it is killed.
///
/// # Errors
/// Those of a call; there is none that a kill explains.
pub(super) fn work(client: &Client, life: u64, random: Random) -> Outcome<()> {
    let (sender, ended) = std::sync::mpsc::channel();
    for number in 0..WRITERS + CONSUMERS {
        let (client, sender, mut random) = (client.clone(), sender.clone(), random.clone());
        let random = Random::named(random.number(), &[number]);
        let name = format!("{life}.{number}");
        std::thread::spawn(move || {
            let outcome = match number {
                0..WRITERS => writer::write(&client, &name, random, say),
                _ => consumer::consume(&client, &name, random, || false, say),
            };
            // The receiver waits for the first of these and ends the process.
            let _ = sender.send(outcome);
        });
    }
    ended.recv().expect("this function holds a sender")
}

/// Kills the process `kills` times, and looks at what the directory holds after the last.
///
/// # Errors
/// What was wrong, with the directory, which stays.
pub(super) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let directory = tempfile::Builder::new()
        .prefix("millpond-chaos-")
        .tempdir()
        .map_err(|error| format!("no directory for the engine: {error}"))?;
    let place = directory.path().display().to_string();
    run_in(&place, kills, seed).map_err(|wrong| {
        let kept = directory.keep();
        format!("{wrong}\nthe directory is {}", kept.display())
    })
}

fn run_in(place: &str, kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let mut heard = Heard::default();
    for life in 1..=kills {
        watchdog::alive();
        // A kill of the process must be harmless in every setting.
        let sync = ["always", "100ms", "never"][(life % 3) as usize];
        let url = format!("file:{place}?sync={sync}");
        let words = [seed.to_string(), life.to_string()];
        let child = Speaker::start(&["shuffle-child", "engine", &url, &words[0], &words[1]])
            .map_err(|error| format!("no child: {error}"))?;
        // Now and then the kill comes while the directory is being opened.
        if random.one_in(10) {
            std::thread::sleep(Duration::from_micros(random.below(30_000)));
        } else {
            child.wait_ready();
            std::thread::sleep(Duration::from_micros(random.below(500_000)));
        }
        heard.take(&child.kill()?)?;
    }
    let client = millpond::connect(&format!("file:{place}")).map_err(said)?;
    let left = queue(&client).backlog().map_err(said)?;
    heard.take(&drain(&client, &mut random)?)?;
    let Heard { mut ledger, errors, dead, late } = heard;
    check(&client, &mut ledger)?;
    if !errors.is_empty() {
        return Err(format!("calls of the embedded engine failed with {errors:?}"));
    }
    println!(
        "killed the process {kills} times; {left} messages were left at last\n\
         {}, {dead} of which were told, {late} acknowledgements came late\n\
         shuffle on file: nothing wrong",
        ledger.counts()
    );
    Ok(())
}

/// Consumes all that is left, and gives what the consumers said.
fn drain(client: &Client, random: &mut Random) -> Outcome<Vec<String>> {
    let (lines, is_over, began) = (Mutex::new(Vec::new()), AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        let consumers: Vec<_> = (0..CONSUMERS)
            .map(|number| {
                let (random, name) = (Random::new(random.number()), format!("last.{number}"));
                let (lines, is_over) = (&lines, &is_over);
                let say = |line| lines.lock().expect("nobody panicked").push(line);
                scope.spawn(move || {
                    consumer::consume(
                        client,
                        &name,
                        random,
                        || is_over.load(Ordering::Acquire),
                        say,
                    )
                })
            })
            .collect();
        let done = loop {
            watchdog::alive();
            match queue(client).backlog().map_err(said) {
                Ok(0) => break Ok(()),
                Ok(left) if began.elapsed() > PATIENCE => {
                    break Err(format!("{left} messages are left after {PATIENCE:?}"));
                }
                Ok(_) => std::thread::sleep(Duration::from_millis(20)),
                Err(error) => break Err(error),
            }
        };
        is_over.store(true, Ordering::Release);
        for consumer in consumers {
            consumer.join().map_err(|_| "a consumer panicked".to_owned())??;
        }
        done
    })?;
    Ok(lines.into_inner().expect("nobody panicked"))
}
