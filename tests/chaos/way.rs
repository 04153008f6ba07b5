//! Model steps as steps of the library, done at once or in the background.

use millpond::ick::{Acquire, Add, Added, Commit, Delete, Entry, Exchange, Release};
use millpond::{Client, Error, ErrorKind, Result, step::Operation};

use crate::model::{Step, StepResult, token};

/// How a step is done: the caller waits, or is called back.
pub(crate) trait Way {
    type Done;

    fn go<O: Operation>(self, step: Result<O>, convert: fn(O::Output) -> StepResult) -> Self::Done;
}

impl Way for &Client {
    type Done = Result<StepResult>;

    fn go<O: Operation>(
        self,
        step: Result<O>,
        convert: fn(O::Output) -> StepResult,
    ) -> Result<StepResult> {
        settled(self.run(step).map(convert))
    }
}

/// Calls back from a thread of the library.
pub(crate) struct Later<'a, F>(pub(crate) &'a Client, pub(crate) F);

impl<F: FnOnce(Result<StepResult>) + Send + 'static> Way for Later<'_, F> {
    type Done = ();

    fn go<O: Operation>(self, step: Result<O>, convert: fn(O::Output) -> StepResult) {
        let Self(client, done) = self;
        client.submit(step, move |output| done(settled(output.map(convert))));
    }
}

/// A step that a lost lease refuses is a result, which the model predicts.
fn settled(result: Result<StepResult>) -> Result<StepResult> {
    match result {
        Err(error) if error.kind() == ErrorKind::LeaseLost => Ok(StepResult::LeaseLost),
        other => other,
    }
}

/// Does `step` on the Ick `name`.
pub(crate) fn send<W: Way>(way: W, name: &str, step: &Step) -> W::Done {
    match step {
        Step::Add(pairs) => {
            let pairs = pairs.iter().map(|(score, member)| (*score, member));
            way.go(Add::new(name, pairs), |Added { new, lowered }| StepResult::Added {
                new,
                lowered,
            })
        }
        Step::Commit { members, token: fence } => {
            let step = Commit::new(name, members).map(|step| match fence {
                Some(number) => step.fenced(token(*number)),
                None => step,
            });
            way.go(step, StepResult::Count)
        }
        Step::Exchange { max, members, backwash, token: fence } => {
            let step = Exchange::new(name, *max, members).map(|step| match fence {
                Some(number) => step.backwash(*backwash).fenced(token(*number)),
                None => step.backwash(*backwash),
            });
            way.go(step, |entries| StepResult::Entries(pairs(entries)))
        }
        Step::Delete => way.go(Delete::new(name), StepResult::Count),
        Step::Acquire(number) => {
            way.go(Acquire::new(name, token(*number), LEASE), StepResult::Held)
        }
        Step::Release(number) => way.go(Release::new(name, token(*number)), StepResult::Held),
    }
}

/// Longer than any run, so that the model needs no clock.
pub(crate) const LEASE: std::time::Duration = std::time::Duration::from_secs(86_000);

pub(crate) fn pairs(entries: Vec<Entry>) -> Vec<(Vec<u8>, f64)> {
    entries.into_iter().map(|entry| (entry.member, entry.score)).collect()
}

/// Reads a whole Ick. The holder of the lease is found by trying the tokens of the plans.
pub(crate) fn read(client: &Client, name: &str) -> Result<crate::model::Model> {
    use millpond::ick::{Renew, Set};
    let ick = client.ick(name);
    let mut model = crate::model::Model::default();
    for (set, into) in [(Set::Producer, &mut model.producer), (Set::Consumer, &mut model.consumer)]
    {
        for (member, score) in pairs(ick.peek(set, 10_000_000)?) {
            into.lower(score, member);
        }
    }
    if let Some(stats) = ick.stats()? {
        model.exists = true;
        let counted = [stats.producer_size, stats.consumer_size];
        let found = [model.producer.len() as u64, model.consumer.len() as u64];
        if counted != found {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("stats of {name} count {counted:?}, but there are {found:?}"),
            ));
        }
    }
    for number in 0..3 {
        if client.run(Renew::new(name, token(number), LEASE))? {
            model.holder = Some(number);
        }
    }
    Ok(model)
}
