//! What each writer does: steps that follow from a seed and from the state they are done on, so
//! that the parent knows a child's steps by their number.

use crate::model::{Member, Model, Step};
use crate::random::Random;

/// The kinds of writers, each with an Ick of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// Batches of 1,000 in and out, so that the log outgrows its data again and again.
    Churn,
    /// A few members at a time, dirtied again while they are reserved.
    Small,
    /// The same, and the Ick is deleted now and then.
    Deleter,
    /// Takes and loses the consumer lease and works with right and wrong tokens.
    Holder,
}

/// A writer: what it does, and whether it waits for each step or has many on their way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) role: Role,
    /// The most steps that are on their way at once; 1 waits for each.
    pub(crate) window: u64,
}

/// The writers of every child.
pub(crate) const WRITERS: [Writer; 7] = [
    Writer { role: Role::Churn, window: 1 },
    Writer { role: Role::Churn, window: 3 },
    Writer { role: Role::Small, window: 1 },
    Writer { role: Role::Deleter, window: 1 },
    Writer { role: Role::Holder, window: 1 },
    Writer { role: Role::Deleter, window: 24 },
    Writer { role: Role::Holder, window: 8 },
];

/// The name of a writer's Ick.
pub(crate) fn ick_name(writer: usize) -> String {
    format!("{:?}/{writer}", WRITERS[writer].role).to_lowercase()
}

/// The steps of one writer in one round.
pub(crate) struct Plan {
    role: Role,
    random: Random,
}

impl Plan {
    pub(crate) fn new(writer: usize, seed: u64, round: u64) -> Self {
        let random = Random::named(seed, &[round, writer as u64]);
        Self { role: WRITERS[writer].role, random }
    }

    /// The next step, given that all before it were done.
    pub(crate) fn next(&mut self, model: &Model) -> Step {
        match self.role {
            Role::Churn => self.churn(model),
            Role::Small => self.small(model, None),
            Role::Deleter if self.random.one_in(5) => Step::Delete,
            Role::Deleter if self.random.one_in(40) => self.large_add(),
            Role::Deleter => self.small(model, None),
            Role::Holder => match self.random.below(8) {
                0 | 1 => Step::Acquire(self.random.below(3)),
                2 => Step::Release(self.random.below(3)),
                3 => self.small(model, None),
                _ => {
                    let token = self.random.below(3);
                    self.small(model, Some(token))
                }
            },
        }
    }

    fn churn(&mut self, model: &Model) -> Step {
        if model.producer.len() < 3_000 {
            return self.large_add();
        }
        let members = model.consumer.iter().map(|(member, _)| member.clone()).collect();
        Step::Exchange { max: 1_000, members, backwash: self.random.one_in(8), token: None }
    }

    fn large_add(&mut self) -> Step {
        let pair = |random: &mut Random| {
            let score = random.below(1_000_000) as f64 / 8.0;
            let number = random.below(20_000);
            (score, format!("document-{number:-<300}").into_bytes())
        };
        Step::Add((0..1_000).map(|_| pair(&mut self.random)).collect())
    }

    fn small(&mut self, model: &Model, token: Option<u64>) -> Step {
        let random = &mut self.random;
        match random.below(8) {
            0..4 => {
                let count = random.below(6);
                Step::Add((0..count).map(|_| (random.below(50) as f64, member(random))).collect())
            }
            4 => Step::Commit { members: reserved(random, model), token },
            5 => {
                Step::Exchange { max: random.below(9), members: Vec::new(), backwash: false, token }
            }
            _ => Step::Exchange {
                max: random.below(9),
                members: reserved(random, model),
                backwash: random.one_in(3),
                token,
            },
        }
    }
}

/// Few members, so that they meet.
fn member(random: &mut Random) -> Member {
    format!("m{}", random.below(60)).into_bytes()
}

/// Most of what is reserved, and sometimes something that is not.
fn reserved(random: &mut Random, model: &Model) -> Vec<Member> {
    let mut members: Vec<_> = model.consumer.iter().map(|(member, _)| member.clone()).collect();
    members.retain(|_| !random.one_in(4));
    if random.one_in(3) {
        members.push(member(random));
    }
    members
}
