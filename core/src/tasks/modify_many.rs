//! Modify many: the ends of many jobs in one step.

use super::name::Name;
use super::{Modified, Modify, embedded};
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// The most modifications of one step.
pub(super) const MODIFICATIONS_MAX: usize = 100;

/// Applies modifications one after another. Each succeeds or fails independently, so that many jobs end in one call.
#[derive(Clone, Debug)]
pub struct ModifyMany {
    name: Name,
    modifications: Vec<Modify>,
}

impl ModifyMany {
    /// Applies these modifications of one store.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for none or more than 100, and if they are of several stores.
    pub fn new(modifications: Vec<Modify>) -> Result<Self> {
        let count = modifications.len();
        let is_allowed = (1..=MODIFICATIONS_MAX).contains(&count);
        ensure!(is_allowed, "a step does 1 to {MODIFICATIONS_MAX} modifications, not {count}");
        let name = modifications[0].name.clone();
        let is_one = modifications.iter().all(|of| of.name == name);
        ensure!(is_one, "the modifications of a step are of one store");
        Ok(Self { name, modifications })
    }
}

impl Operation for ModifyMany {
    head!(
        "tasks.modify_many",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "modification.lua", "modify_many.lua"]
    );
    type Output = Vec<Result<Modified>>;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        self.modifications.iter().for_each(|of| of.push(&mut args));
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Self::Output> {
        let replies = reply.elements()?;
        if replies.len() != self.modifications.len() {
            return Err(malformed());
        }
        let all = self.modifications.iter().zip(replies);
        all.map(|(of, reply)| match of.decode_one(reply) {
            Err(error) if error.kind() == ErrorKind::Internal => Err(error),
            done => Ok(done.map_err(named)),
        })
        .collect()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Self::Output> {
        Ok(self.modifications.iter().map(|of| state.modify(of, context).map_err(named)).collect())
    }
}

fn named(error: Error) -> Error {
    error.in_operation(Modify::NAME)
}
