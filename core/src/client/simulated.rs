//! Calls that a test runs step by step: it decides which call goes on, and what becomes of each step.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::mode::{Run, Then, sealed};
use super::{Client, Mode};
use crate::error::{Error, ErrorKind, Result};
use crate::step::Operation;

/// Steps wait until the test lets their call go on, and then run at once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Simulated {}

/// Whether a step runs, and whether its reply arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Runs,
    /// It does not run, and its caller knows that it may have.
    IsLost,
    /// It runs, and its caller knows that it may have.
    LosesItsReply,
}

/// Decides what becomes of a step of this name on a state of this one.
type Decide = Box<dyn FnMut(&'static str, &[u8]) -> Fate>;

thread_local! {
    static DECIDE: RefCell<Option<Decide>> = const { RefCell::new(None) };
}

/// What decides for the steps of this thread from now on.
pub(crate) fn decide(decide: impl FnMut(&'static str, &[u8]) -> Fate + 'static) {
    DECIDE.set(Some(Box::new(decide)));
}

impl<M: Mode> Client<M> {
    pub(crate) fn to_simulated(&self) -> Client<Simulated> {
        Client { core: self.core.clone(), mode: std::marker::PhantomData }
    }
}

impl sealed::Sealed for Simulated {}

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

impl Mode for Simulated {
    type Reply<T: Send + 'static> = Boxed<T>;
    type Step<T: Send + 'static> = Boxed<T>;

    fn step<O: Operation>(client: &Client<Self>, step: Result<O>) -> Boxed<O::Output> {
        let client = client.clone();
        Box::pin(async move {
            let mut has_waited = false;
            poll_fn(|_| match std::mem::replace(&mut has_waited, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
            let step = step?;
            let fate = DECIDE.with_borrow_mut(|decide| {
                decide.as_mut().map_or(Fate::Runs, |decide| decide(O::NAME, step.queue()))
            });
            let lost = || Error::new(ErrorKind::ConnectionLost, "the connection is lost");
            if fate == Fate::IsLost {
                return Err(lost());
            }
            let output = client.core.run(Ok(step));
            if fate == Fate::LosesItsReply { Err(lost()) } else { output }
        })
    }

    fn named<T: Send + 'static>(reply: Boxed<T>, operation: &'static str) -> Boxed<T> {
        Box::pin(async move { reply.await.map_err(|error| error.renamed(operation)) })
    }

    fn call<T: Send + 'static>(body: impl Future<Output = Result<T>> + Send + 'static) -> Boxed<T> {
        Box::pin(body)
    }

    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        then: impl FnOnce(O::Output) -> T + Send + 'static,
    ) -> Boxed<T> {
        let step = Self::step(client, step);
        Box::pin(async move { step.await.map(then) })
    }

    fn run_all<O: Operation, T: Send + 'static>(
        _: &Client<Self>,
        _: Result<Vec<O>>,
        _: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Boxed<T> {
        unreachable!("no call that is simulated is made of such steps")
    }

    fn run_within<O: Operation, T: Send + 'static>(
        _: &Client<Self>,
        _: Result<O>,
        _: std::time::Duration,
        _: impl FnOnce(Result<O::Output>) -> T + Send + 'static,
        _: impl FnOnce(O::Output) + Send + 'static,
    ) -> Boxed<T> {
        unreachable!("no call that is simulated is made of such steps")
    }

    fn run_when<O: Operation, T: Send + 'static>(
        _: &Client<Self>,
        _: impl FnOnce(Run<O>),
        _: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Boxed<T> {
        unreachable!("no call that is simulated is made of such steps")
    }
}
