//! What each thread does: steps that follow from a seed and from the state they are done on, so that the
//! parent knows a child's steps by their number.

use super::model::{Doc, Entry, Model, Step, Task};
use super::{QUEUES, inbox};
use crate::random::Random;

/// How many threads do steps; the first two with much data, so that the log outgrows it again and again.
pub(super) const WRITERS: usize = 6;

pub(super) struct Plan {
    writer: usize,
    random: Random,
}

impl Plan {
    pub(super) fn new(writer: usize, seed: u64, round: u64) -> Self {
        Self { writer, random: Random::named(seed, &[round, writer as u64]) }
    }

    /// The next step, given that all before it were done.
    pub(super) fn next(&mut self, model: &Model) -> Step {
        let tasks: Vec<_> = model.tasks.keys().collect();
        match self.random.below(12) {
            0 => Step::Claim { inbox: inbox(self.writer) },
            1 => Step::ClaimDocs,
            2 if !tasks.is_empty() => {
                let id = tasks[self.random.below(tasks.len() as u64) as usize];
                let docs = model.docs.iter().take(self.random.below(3) as usize);
                Step::Renew {
                    tasks: vec![(id.clone(), model.tasks[id].version)],
                    docs: docs.map(|(id, doc)| (id.clone(), doc.version)).collect(),
                }
            }
            _ => Step::Modify(self.modification(model)),
        }
    }

    /// Whether its steps are large.
    fn is_large(&self) -> bool {
        self.writer < 2
    }

    fn modification(&mut self, model: &Model) -> Vec<Entry> {
        let (count, ids) = if self.is_large() { (40, 200) } else { (5, 25) };
        let mut entries = Vec::new();
        let first = self.random.below(ids);
        for number in 0..1 + self.random.below(count) {
            let id = format!("{}-{}", self.writer, (first + number) % ids);
            let entry = match model.tasks.get(&id) {
                None => Entry::Insert { task: self.task(None), id },
                Some(task) => match self.random.below(5) {
                    0 => Entry::Delete { id, version: task.version },
                    1 => Entry::Depend { id, version: task.version },
                    _ => Entry::Change { task: self.task(Some(task)), id },
                },
            };
            entries.push(entry);
        }
        let first = self.random.below(10);
        for number in 0..self.random.below(4) {
            let id = format!("{}-{}", self.writer, (first + number) % 10);
            entries.push(match model.docs.get(&id) {
                None => Entry::InsertDoc { doc: self.doc(), id },
                Some(doc) if self.random.one_in(4) => Entry::DeleteDoc { id, version: doc.version },
                Some(doc) => Entry::ChangeDoc {
                    id,
                    version: doc.version,
                    content: self.random.one_in(2).then(|| self.text()),
                    hold: [None, Some(true), Some(false)][self.random.below(3) as usize],
                },
            });
        }
        // One that is refused for its last entry, when all others are right.
        if self.random.one_in(8) {
            entries.push(Entry::Depend { id: format!("{}-none", self.writer), version: 1 });
        }
        entries
    }

    /// A new task, or a change of one.
    fn task(&mut self, before: Option<&Task>) -> Task {
        let queue = match self.random.below(5) {
            4 => inbox(self.writer),
            number => QUEUES[number as usize].to_owned(),
        };
        Task {
            queue,
            version: before.map_or(0, |before| before.version),
            claims: before.map_or(0, |before| before.claims),
            attempt: self.random.below(3) as u32,
            err: ["", "it failed\nit failed again"][self.random.below(2) as usize].to_owned(),
            value: (!self.random.one_in(6)).then(|| self.text()),
            priority: before.map_or_else(|| self.random.below(10) as u8, |before| before.priority),
            is_held: self.random.one_in(4),
        }
    }

    fn doc(&mut self) -> Doc {
        Doc {
            version: 0,
            secondary_key: self.random.below(3).to_string(),
            content: (!self.random.one_in(4)).then(|| self.text()),
            is_held: false,
        }
    }

    fn text(&mut self) -> String {
        let pad = if self.is_large() { 3_000 } else { 20 };
        format!("\"{:x}{:-<pad$}\"", self.random.number(), "")
    }
}
