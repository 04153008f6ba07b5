//! How the result of a step reaches the caller: directly, or as a future.

use std::future::{Future, Ready, ready};
use std::pin::{Pin, pin};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::backend::named;
use super::task::Task;
use super::{Client, closed};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::interrupt;
use crate::runtime::timer::Timer;
use crate::step::Operation;

/// How the result of a step is returned: directly ([`Blocking`]) or as a future ([`Async`]).
pub trait Mode: sealed::Sealed + Copy + Send + Sync + Sized + 'static {
    /// What a step returns to its caller.
    type Reply<T: Send + 'static>;

    /// The result of a step within a call of several.
    #[doc(hidden)]
    type Step<T: Send + 'static>: Future<Output = Result<T>> + Send + 'static;

    /// Begins a step of a call that takes several.
    #[doc(hidden)]
    fn step<O: Operation>(client: &Client<Self>, step: Result<O>) -> Self::Step<O::Output>;

    /// Runs a call of several steps, which waits for nothing except these steps.
    #[doc(hidden)]
    fn call<T: Send + 'static>(
        body: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Self::Reply<T>;

    /// The reply of a call, whose error names this operation and not the step that it took.
    #[doc(hidden)]
    fn named<T: Send + 'static>(reply: Self::Reply<T>, operation: &'static str) -> Self::Reply<T>;

    #[doc(hidden)]
    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        then: impl FnOnce(O::Output) -> T + Send + 'static,
    ) -> Self::Reply<T>;

    #[doc(hidden)]
    fn run_all<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Self::Reply<T>;

    /// Runs a step, and `then` on its result, or on `TIMEOUT` after this time; `late` gets an output that comes later.
    #[doc(hidden)]
    fn run_within<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        timeout: Duration,
        then: impl FnOnce(Result<O::Output>) -> T + Send + 'static,
        late: impl FnOnce(O::Output) + Send + 'static,
    ) -> Self::Reply<T>;

    #[doc(hidden)]
    fn run_when<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        when: impl FnOnce(Box<dyn FnOnce(Result<O>) + Send>),
        then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Self::Reply<T>;
}

/// Runs the step that was waited for.
pub(super) type Run<O> = Box<dyn FnOnce(Result<O>) + Send>;

/// What comes after a step of a call that may take several.
#[doc(hidden)]
pub enum Then<O, T> {
    /// The call is over.
    Done(Result<T>),
    /// Another step, after this time.
    Run(O, Duration),
}

pub(super) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Blocking {}
    impl Sealed for super::Async {}
}

/// Steps run on the caller's thread and return their result.
#[derive(Clone, Copy, Debug)]
pub enum Blocking {}

/// Steps immediately return a [`Pending`] result.
#[derive(Clone, Copy, Debug)]
pub enum Async {}

impl Mode for Blocking {
    type Reply<T: Send + 'static> = Result<T>;
    type Step<T: Send + 'static> = Ready<Result<T>>;

    fn step<O: Operation>(client: &Client<Self>, step: Result<O>) -> Ready<Result<O::Output>> {
        ready(client.core.run(step))
    }

    fn named<T: Send + 'static>(reply: Result<T>, operation: &'static str) -> Result<T> {
        reply.map_err(|error| error.renamed(operation))
    }

    fn call<T: Send + 'static>(
        body: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        match pin!(body).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(Error::new(ErrorKind::Internal, "a call waits for no step")),
        }
    }

    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        then: impl FnOnce(O::Output) -> T + Send + 'static,
    ) -> Result<T> {
        client.core.run(step).map(then)
    }

    fn run_all<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Result<T> {
        let run = |step| client.core.run(Ok(step));
        named::<O, _>(steps)?.into_iter().map(run).collect::<Result<Vec<_>>>().map(combine)
    }

    fn run_within<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        timeout: Duration,
        then: impl FnOnce(Result<O::Output>) -> T + Send + 'static,
        late: impl FnOnce(O::Output) + Send + 'static,
    ) -> Result<T> {
        let (done, result) = mpsc::sync_channel(1);
        let done = move |output| _ = done.send(output);
        client.core.submit_within(step, timeout, done, late);
        let lost = || Error::new(ErrorKind::Internal, "the step has no result");
        Ok(then(result.recv().unwrap_or_else(|_| Err(lost()))))
    }

    fn run_when<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        when: impl FnOnce(Run<O>),
        mut then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Result<T> {
        let (known, step) = mpsc::channel();
        when(Box::new(move |step| {
            // A call that was interrupted does not wait any more.
            let _ = known.send(step);
        }));
        let mut known = Err(RecvTimeoutError::Timeout);
        interrupt::wait_in_slices(None, |until| {
            known = match until {
                None => step.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => step.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            !matches!(known, Err(RecvTimeoutError::Timeout))
        })?;
        let mut step = known
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the step was never made")));
        loop {
            match then(client.core.run(step)) {
                Then::Done(result) => return result,
                Then::Run(next, delay) => {
                    interrupt::wait_in_slices(Some(Instant::now() + delay), |until| {
                        let left =
                            until.map(|until| until.saturating_duration_since(Instant::now()));
                        std::thread::sleep(left.unwrap_or_default());
                        false
                    })?;
                    step = Ok(next);
                }
            }
        }
    }
}

impl Mode for Async {
    type Reply<T: Send + 'static> = Pending<T>;
    type Step<T: Send + 'static> = Pending<T>;

    fn step<O: Operation>(client: &Client<Self>, step: Result<O>) -> Pending<O::Output> {
        Self::run(client, step, |output| output)
    }

    fn named<T: Send + 'static>(reply: Pending<T>, operation: &'static str) -> Pending<T> {
        Pending { operation: Some(operation), ..reply }
    }

    fn call<T: Send + 'static>(
        body: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        Task::spawn(async move {
            // The caller may have dropped the future; the call goes on all the same.
            let _ = done.send(body.await);
        });
        Pending::of(pending)
    }

    fn run<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        then: impl FnOnce(O::Output) -> T + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        client.core.submit(step, move |output| {
            // The caller may have dropped the future; the step runs all the same.
            let _ = done.send(output.map(then));
        });
        Pending::of(pending)
    }

    fn run_all<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        steps: Result<Vec<O>>,
        combine: impl FnOnce(Vec<O::Output>) -> T + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        let done = move |outputs: Result<Vec<O::Output>>| {
            let _ = done.send(outputs.map(combine));
        };
        match named::<O, _>(steps) {
            Ok(steps) => client.submit_all(steps, done),
            Err(error) => done(Err(error)),
        }
        Pending::of(pending)
    }

    fn run_within<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        step: Result<O>,
        timeout: Duration,
        then: impl FnOnce(Result<O::Output>) -> T + Send + 'static,
        late: impl FnOnce(O::Output) + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        let done = move |output| _ = done.send(Ok(then(output)));
        client.core.submit_within(step, timeout, done, late);
        Pending::of(pending)
    }

    fn run_when<O: Operation, T: Send + 'static>(
        client: &Client<Self>,
        when: impl FnOnce(Run<O>),
        then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
    ) -> Pending<T> {
        let (done, pending) = oneshot::channel();
        let client = client.clone();
        when(Box::new(move |step: Result<O>| {
            let step = step.and_then(|step| Timer::ensure().map(|()| step));
            client.go_on(step, then, done);
        }));
        Pending::of(pending)
    }
}

impl Client<Async> {
    /// Submits a step, and those that come after it. Nobody waits for those whose future is dropped.
    fn go_on<O: Operation, T: Send + 'static>(
        &self,
        step: Result<O>,
        mut then: impl FnMut(Result<O::Output>) -> Then<O, T> + Send + 'static,
        done: oneshot::Sender<Result<T>>,
    ) {
        let client = self.downgrade();
        self.submit(step, move |output| match then(output) {
            Then::Done(result) => {
                let _ = done.send(result);
            }
            Then::Run(_, _) if done.is_closed() => {}
            Then::Run(next, delay) => Timer::detached(delay, move || match client.upgrade() {
                Some(client) => client.go_on(Ok(next), then, done),
                None => {
                    let _ = done.send(Err(closed()));
                }
            }),
        });
    }
}

/// The result of a step that is in progress. The step was submitted when this was made; dropping this does not cancel
/// the step. Of two steps that are in progress at the same time, either may be done first.
#[must_use = "the step is under way, but only awaiting this tells how it went"]
#[derive(Debug)]
pub struct Pending<T> {
    result: oneshot::Receiver<Result<T>>,
    /// The operation that an error names in place of its step.
    operation: Option<&'static str>,
}

impl<T> Pending<T> {
    fn of(result: oneshot::Receiver<Result<T>>) -> Self {
        Self { result, operation: None }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let operation = self.operation;
        Pin::new(&mut self.result).poll(context).map(|received| {
            let result = received.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::ConnectionLost, "the background thread ended"))
            });
            match operation {
                Some(operation) => result.map_err(|error| error.renamed(operation)),
                None => result,
            }
        })
    }
}
