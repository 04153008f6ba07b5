//! Model steps as steps of the library, done at once or in the background.

use millpond::ick::{Acquire, Add, Added, Commit, Delete, Entry, Exchange, Release};
use millpond::{Client, Error, ErrorKind, Result, step::Operation};

use crate::model::{Answer, Step, token};

/// How a step is done: the caller waits, or is called back.
pub(crate) trait Way {
    type Done;

    fn go<O: Operation>(self, step: Result<O>, answer: fn(O::Output) -> Answer) -> Self::Done;
}

impl Way for &Client {
    type Done = Result<Answer>;

    fn go<O: Operation>(self, step: Result<O>, answer: fn(O::Output) -> Answer) -> Result<Answer> {
        settled(self.run(step).map(answer))
    }
}

/// Calls back from a thread of the library.
pub(crate) struct Later<'a, F>(pub(crate) &'a Client, pub(crate) F);

impl<F: FnOnce(Result<Answer>) + Send + 'static> Way for Later<'_, F> {
    type Done = ();

    fn go<O: Operation>(self, step: Result<O>, answer: fn(O::Output) -> Answer) {
        let Self(client, done) = self;
        client.submit(step, move |output| done(settled(output.map(answer))));
    }
}

/// A step that a lost lease refuses is an answer, which the model knows beforehand.
fn settled(answer: Result<Answer>) -> Result<Answer> {
    match answer {
        Err(error) if error.kind() == ErrorKind::LeaseLost => Ok(Answer::LeaseLost),
        other => other,
    }
}

/// Does `step` on the Ick `name`.
pub(crate) fn send<W: Way>(way: W, name: &str, step: &Step) -> W::Done {
    match step {
        Step::Add(pairs) => {
            let pairs = pairs.iter().map(|(score, member)| (*score, member));
            way.go(Add::new(name, pairs), |Added { new, lowered }| Answer::Added { new, lowered })
        }
        Step::Commit { members, token: fence } => {
            let step = Commit::new(name, members).map(|step| match fence {
                Some(number) => step.fenced(token(*number)),
                None => step,
            });
            way.go(step, Answer::Count)
        }
        Step::Exchange { max, members, backwash, token: fence } => {
            let step = Exchange::new(name, *max, members).map(|step| match fence {
                Some(number) => step.backwash(*backwash).fenced(token(*number)),
                None => step.backwash(*backwash),
            });
            way.go(step, |entries| Answer::Entries(pairs(entries)))
        }
        Step::Delete => way.go(Delete::new(name), Answer::Count),
        Step::Acquire(number) => way.go(Acquire::new(name, token(*number), LEASE), Answer::Held),
        Step::Release(number) => way.go(Release::new(name, token(*number)), Answer::Held),
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
