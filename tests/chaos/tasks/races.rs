//! Threads that insert the same id at the same time, each into a queue of its own and with a document:
//! one of them wins, and what was acknowledged to it is there, whichever process is killed when.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond::tasks::{Modification, NewDoc, NewTask};
use millpond::{Client, ErrorKind};

use super::writer::{is_killed, wait_for_the_kill};
use super::{Outcome, store};
use crate::pipe::say;
use crate::said;

pub(super) const RACERS: u64 = 3;

/// Where the documents of races are.
const NAMESPACE: &str = "races";

/// Numbers that no other round has.
const A_ROUND: u64 = 1_000_000;

fn id(number: u64) -> String {
    format!("race-{number}")
}

fn queue(racer: u64) -> String {
    format!("race/{racer}")
}

/// Runs races until this process is killed.
pub(super) fn race(client: &Client, racer: u64, round: u64, races: &AtomicU64) {
    let store = store(client);
    loop {
        let number = round * A_ROUND + races.fetch_add(1, Ordering::Relaxed) / RACERS;
        say(format_args!("r {racer} {number}"));
        let task = NewTask::new(queue(racer)).id(id(number));
        let doc = NewDoc::new(NAMESPACE, "k").id(id(number)).content(racer.to_string());
        match store.modify(Modification::new().insert(task).insert_doc(doc)) {
            Ok(_) => say(format_args!("w {racer} {number}")),
            Err(error) if error.kind() == ErrorKind::Dependency => {}
            Err(error) if is_killed(error.kind()) => wait_for_the_kill(),
            Err(error) => {
                say(format_args!("wrong {racer} {number} {error:?}"));
                std::process::exit(1);
            }
        }
    }
}

/// The acknowledged winner of each race. The losers have no guarantee: the winner's insert may not
/// have been durable yet.
#[derive(Default)]
pub(super) struct Races(BTreeMap<u64, Option<u64>>);

impl Races {
    pub(super) fn begin(&mut self, number: u64) {
        self.0.entry(number).or_default();
    }

    pub(super) fn won(&mut self, racer: u64, number: u64) -> Outcome<()> {
        match self.0.entry(number).or_default().replace(racer) {
            None => Ok(()),
            Some(other) => Err(format!("race {number} was won by {other} and by {racer}")),
        }
    }

    /// Compares the store with all that was reported, and removes what the races left; returns how
    /// many.
    pub(super) fn check(&self, client: &Client) -> Outcome<u64> {
        let store = store(client);
        for (number, winner) in &self.0 {
            let found = store.fetch([id(*number)]).map_err(said)?.into_iter().next();
            let doc = store.fetch_docs(NAMESPACE, [id(*number)]).map_err(said)?.into_iter().next();
            let (task, content) =
                (found.as_ref(), doc.as_ref().and_then(|doc| doc.content.as_deref()));
            let racer = content.and_then(|content| content.parse().ok());
            if task.map(|task| task.queue.to_string()) != racer.map(queue) {
                return Err(format!("race {number} is there by half: {task:?}, {doc:?}"));
            }
            if winner.is_some() && *winner != racer {
                return Err(format!("race {number} was won by {winner:?}, not by {racer:?}"));
            }
            if let (Some(task), Some(doc)) = (task, &doc) {
                // The thread that inserted it holds nothing: it is available.
                store.modify(Modification::new().delete(task).delete_doc(doc)).map_err(said)?;
            }
        }
        Ok(self.0.len() as u64)
    }
}
