//! The loop of a consumer: asks a queue for work, hands it out, and waits for more when there is none.
//!
//! One loop drives all queues, blocking and async. A [`Source`], which each queue implements, defines what a step
//! asks for and what its result means.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::Result;
use crate::runtime::timer::Timer;
use crate::runtime::waiters::{Handle, Listener};

/// A queue as the loop sees it.
pub(crate) trait Source {
    /// Whether calls block.
    type Mode: Mode;
    /// The output of a step.
    type Output: Send + 'static;
    /// What the loop yields.
    type Item;

    /// Sends the next step; `waits` says whether the loop waits when there is no work.
    fn ask(&mut self, now: Instant, waits: bool) -> <Self::Mode as Mode>::Reply<Self::Output>;

    /// Handles the result of the step. A source that finds nothing begins to wait with
    /// [`Waiting::listen`], before it returns [`Found::Idle`].
    ///
    /// # Errors
    /// Those that the loop yields. A non-retryable error ends the loop.
    fn handle(
        &mut self,
        result: Result<Self::Output>,
        waiting: &mut Waiting,
    ) -> Result<Found<Self::Item>>;
}

/// An observer of a loop, which may stop it between two steps.
pub(crate) trait Watch: Send + Sync {
    /// Whether the loop may send a step.
    fn may_take(&self) -> bool;

    /// Whether the loop, which found nothing, may begin to wait; the handle ends the wait.
    fn may_sleep(&self, sleeper: Handle) -> bool;
}

/// What the result of a step means.
pub(crate) enum Found<T> {
    /// Work to hand out.
    Item(T),
    /// Nothing yet: ask again immediately.
    Nothing,
    /// Nothing available: wait for a wake-up, or for this time if that is shorter.
    Idle(Option<Duration>),
    /// Nothing will come any more: the loop is over.
    Over,
}

/// How long a loop waits when there is no work, and since when it has been waiting.
#[derive(Default)]
pub(crate) struct Waiting {
    time: Option<Duration>,
    idle: Option<Idle>,
}

/// A wait. It ends when there is work; a listener that was woken for this work and is dropped wakes the next
/// listener.
struct Idle {
    listener: Listener,
    /// When the loop gives up.
    deadline: Option<Instant>,
    /// Whether the next step is sent only after a wake-up.
    is_asleep: bool,
}

impl Waiting {
    /// Begins a wait, unless the loop does not wait or is already listening.
    pub(crate) fn listen(&mut self, listen: impl FnOnce() -> Result<Listener>) -> Result<()> {
        if let (Some(time), None) = (self.time, &self.idle) {
            let listener = listen()?;
            let deadline = Instant::now().checked_add(time);
            self.idle = Some(Idle { listener, deadline, is_asleep: false });
        }
        Ok(())
    }

    /// Listens to other topics than before, if it is listening.
    pub(crate) fn listen_anew(&mut self, listen: impl FnOnce() -> Result<Listener>) -> Result<()> {
        if let Some(idle) = &mut self.idle {
            idle.listener = listen()?;
        }
        Ok(())
    }

    /// Whether the loop listens.
    pub(crate) fn is_listening(&self) -> bool {
        self.idle.is_some()
    }

    /// Marks a wake-up for this topic as used, so that it is not passed on.
    pub(crate) fn used(&self, topic: &[u8]) {
        if let Some(idle) = &self.idle {
            idle.listener.used(topic);
        }
    }

    /// Whether the time of the wait is over, or there is none.
    pub(crate) fn is_over(&self) -> bool {
        self.idle.as_ref().is_none_or(|idle| idle.is_over(Instant::now()))
    }

    /// Ends the wait; the next one takes this time.
    pub(crate) fn reset(&mut self, time: Option<Duration>) {
        *self = Self { time, idle: None };
    }
}

impl Idle {
    fn is_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

/// The loop over a [`Source`].
pub(crate) struct PollLoop<S: Source> {
    pub(crate) source: S,
    waiting: Waiting,
    /// The step in progress. A future that is dropped leaves it to the next one.
    asked: Option<Pending<S::Output>>,
    /// Set by an error that each repetition of the step would return.
    is_over: bool,
    watch: Option<Weak<dyn Watch>>,
    /// The watch refused a step or a wait.
    is_held_up: bool,
}

impl<S: Source> PollLoop<S> {
    pub(crate) fn new(source: S) -> Self {
        Self {
            source,
            waiting: Waiting::default(),
            asked: None,
            is_over: false,
            watch: None,
            is_held_up: false,
        }
    }

    /// Consults this watch before each step and each wait.
    pub(crate) fn watch(&mut self, watch: Weak<dyn Watch>) {
        self.watch = Some(watch);
    }

    /// Whether a step is in progress.
    pub(crate) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether the loop stopped because of its watch, and not because there is no work.
    pub(crate) fn is_held_up(&self) -> bool {
        self.is_held_up
    }

    /// Whether the watch allows it, if there is one.
    fn is_allowed(&mut self, by: impl FnOnce(&dyn Watch) -> bool) -> bool {
        let watch = self.watch.as_ref().and_then(Weak::upgrade);
        self.is_held_up = watch.is_some_and(|watch| !by(&*watch));
        !self.is_held_up
    }

    /// Waits for up to this time when there is no work; without it, the loop ends then.
    pub(crate) fn wait(&mut self, time: Option<Duration>) {
        self.waiting.time = time;
    }

    /// Stops listening until the next step.
    pub(crate) fn stop_listening(&mut self) {
        self.waiting.idle = None;
    }

    /// The next item, or `None` when the loop is over.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<S::Item>>>
    where
        S::Mode: Drive,
    {
        let next = ready!(self.poll_waiting(context));
        self.stop_listening();
        Poll::Ready(next.transpose())
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<S::Item>>>
    where
        S::Mode: Drive,
    {
        while !self.is_over {
            if let Some(idle) = self.waiting.idle.as_mut().filter(|idle| idle.is_asleep) {
                ready!(S::Mode::poll_woken(&idle.listener, context));
                idle.is_asleep = false;
            }
            if self.asked.is_none() && !self.is_allowed(|watch| watch.may_take()) {
                break;
            }
            let result = match &mut self.asked {
                Some(asked) => ready!(Pin::new(asked).poll(context)),
                None => {
                    // Does not ask for work whose lease could not be renewed.
                    Timer::ensure()?;
                    let reply = self.source.ask(Instant::now(), self.waiting.time.is_some());
                    ready!(S::Mode::poll_reply(reply, &mut self.asked, context))
                }
            };
            self.asked = None;
            let found = self.source.handle(result, &mut self.waiting);
            let check = match found.inspect_err(|e| self.is_over = e.is_final())? {
                Found::Item(item) => return Poll::Ready(Ok(Some(item))),
                Found::Nothing => continue,
                Found::Idle(check) => check,
                Found::Over => {
                    self.is_over = true;
                    break;
                }
            };
            let now = Instant::now();
            let Some(idle) = self.waiting.idle.as_mut().filter(|idle| !idle.is_over(now)) else {
                break;
            };
            let check = check.and_then(|check| now.checked_add(check));
            let until = idle.deadline.into_iter().chain(check).min();
            let sleeper = idle.listener.handle();
            if !self.is_allowed(|watch| watch.may_sleep(sleeper)) {
                break;
            }
            let Some(idle) = &mut self.waiting.idle else { break };
            idle.is_asleep = true;
            S::Mode::sleep(&idle.listener, until)?;
        }
        Poll::Ready(Ok(None))
    }
}

impl<S: Source<Mode = Blocking>> PollLoop<S> {
    /// The next item, or `None` when the loop is over.
    pub(crate) fn next(&mut self) -> Option<Result<S::Item>> {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => next,
            Poll::Pending => unreachable!("a blocking loop blocks"),
        }
    }
}

impl<S: Source> fmt::Debug for PollLoop<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollLoop").field("wait", &self.waiting.time).finish_non_exhaustive()
    }
}

/// How the loop waits in a mode: it blocks or is pending.
pub(crate) trait Drive: Mode {
    /// The result of a step that was just sent; a pending step is left in `asked`.
    fn poll_reply<T: Send + 'static>(
        reply: Self::Reply<T>,
        asked: &mut Option<Pending<T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T>>;

    /// Begins to wait until the listener is woken or the time has come.
    fn sleep(listener: &Listener, until: Option<Instant>) -> Result<()>;

    /// Ready when that wait is over.
    fn poll_woken(listener: &Listener, context: &Context<'_>) -> Poll<()>;
}

impl Drive for Blocking {
    fn poll_reply<T: Send + 'static>(
        reply: Result<T>,
        _: &mut Option<Pending<T>>,
        _: &mut Context<'_>,
    ) -> Poll<Result<T>> {
        Poll::Ready(reply)
    }

    fn sleep(listener: &Listener, until: Option<Instant>) -> Result<()> {
        listener.wait(until)
    }

    fn poll_woken(_: &Listener, _: &Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl Drive for Async {
    fn poll_reply<T: Send + 'static>(
        reply: Pending<T>,
        asked: &mut Option<Pending<T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T>> {
        Pin::new(asked.insert(reply)).poll(context)
    }

    fn sleep(listener: &Listener, until: Option<Instant>) -> Result<()> {
        listener.wake_at(until);
        Ok(())
    }

    fn poll_woken(listener: &Listener, context: &Context<'_>) -> Poll<()> {
        listener.poll(context)
    }
}

/// Makes a public loop, which is a struct with one [`PollLoop`], an iterator for a blocking client and a stream for
/// an async one. The docs are those of `next`.
macro_rules! iterate {
    ($(#[$docs:meta])+ $loop:ident yields $blocking:ty, $async:ty) => {
        impl Iterator for $loop<$crate::client::Blocking> {
            type Item = $crate::error::Result<$blocking>;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next()
            }
        }

        impl futures_core::Stream for $loop<$crate::client::Async> {
            type Item = $crate::error::Result<$async>;

            fn poll_next(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                self.get_mut().0.poll(context)
            }
        }

        impl $loop<$crate::client::Async> {
            $(#[$docs])+
            pub async fn next(&mut self) -> Option<$crate::error::Result<$async>> {
                std::future::poll_fn(|context| self.0.poll(context)).await
            }
        }

        impl<M: $crate::client::Mode> std::fmt::Debug for $loop<M> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($loop)).field(&self.0).finish()
            }
        }
    };
}
pub(crate) use iterate;
