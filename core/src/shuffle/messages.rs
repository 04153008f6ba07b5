//! The consumer's loop: messages as they come.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;

use super::{Batch, Message, ShuffleConsumer};
use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::{Error, Result, Retry};
use crate::runtime::waiters::{Idle, Listener};

/// The loop of a consumer: batches of messages. An iterator for a blocking client, a [`Stream`] for
/// an async one. Made by [`ShuffleConsumer::messages`].
///
/// A message is done when it is acknowledged and not before: asking for the next batch says
/// nothing about the last one. So a consumer may hand messages to others and go on, and a loop
/// that is left by `?` or `break` leaves the group what was not done. Without
/// [`wait`](Self::wait) the loop ends when there is nothing left, and in any case after an error
/// that trying again cannot mend.
///
/// ```
/// # fn resize(message: &millpond::shuffle::Message) -> Result<(), millpond::Error> { Ok(()) }
/// let client = millpond::connect("memory:")?;
/// let queue = client.shuffle_queue("jobs");
/// queue.write_many([("a", [("image", "1.png")]), ("b", [("image", "2.png")])])?;
///
/// let consumer = queue.consumer("workers", "worker-1");
/// for batch in consumer.messages(100) {
///     for message in &batch? {
///         resize(message)?;
///         consumer.ack_and_delete([message])?;
///     }
/// }
/// assert_eq!(queue.backlog()?, 0);
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct Messages<M: Mode = Blocking> {
    consumer: ShuffleConsumer<M>,
    max: usize,
    wait: Option<Duration>,
    idle: Option<Idle>,
    asked: Option<Pending<Batch>>,
    /// Set by an error that the same call would meet for ever.
    is_over: bool,
}

impl<M: Mode> Messages<M> {
    pub(super) fn new(consumer: ShuffleConsumer<M>, max: usize) -> Self {
        Self { consumer, max, wait: None, idle: None, asked: None, is_over: false }
    }

    /// Waits up to `idle` for a message when there is none, in place of ending at once; the time
    /// starts anew with each batch. All that wait in a process share one connection, and a message
    /// wakes one of them.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.wait = Some(idle);
        self
    }

    /// Stops listening for messages until the next batch is asked for, and the time of
    /// [`wait`](Self::wait) starts anew then. For whoever gives up asking and keeps the loop: a
    /// loop that listens is told of messages in place of another one that waits.
    pub fn stop_waiting(&mut self) {
        self.idle = None;
    }

    /// Takes in what a read answered: what the loop yields, or nothing if it has to wait.
    fn took(&mut self, answer: Result<Batch>) -> Option<Result<Vec<Message>>> {
        match answer.and_then(|batch| self.begin_waiting(batch)) {
            Ok(None) => None,
            Ok(Some(messages)) => {
                self.stop_waiting();
                Some(Ok(messages))
            }
            Err(error) => Some(Err(self.failed(error))),
        }
    }

    fn failed(&mut self, error: Error) -> Error {
        self.stop_waiting();
        self.is_over = error.retry() == Retry::Never;
        error
    }

    /// The messages of a batch, or a listener for those that come after it.
    fn begin_waiting(&mut self, batch: Batch) -> Result<Option<Vec<Message>>> {
        if !batch.messages.is_empty() {
            return Ok(Some(batch.messages));
        }
        if let (Some(wait), None) = (self.wait, &self.idle) {
            self.idle = Some(Idle::begin(wait, self.consumer.listen(&batch)?));
        }
        Ok(None)
    }

    /// The listener to wait on and until when; `None` when the loop is over.
    fn idle(&self) -> Option<(&Listener, Option<Instant>)> {
        let idle = self.idle.as_ref().filter(|idle| !idle.is_over())?;
        Some((&idle.listener, idle.deadline))
    }
}

impl Iterator for Messages<Blocking> {
    type Item = Result<Vec<Message>>;

    fn next(&mut self) -> Option<Result<Vec<Message>>> {
        while !self.is_over {
            let answer = self.consumer.take(self.max);
            if let Some(taken) = self.took(answer) {
                return Some(taken);
            }
            let Some((listener, until)) = self.idle() else { break };
            if let Err(error) = listener.wait(until) {
                self.stop_waiting();
                return Some(Err(error));
            }
        }
        self.stop_waiting();
        None
    }
}

impl Stream for Messages<Async> {
    type Item = Result<Vec<Message>>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<Message>>>> {
        let this = self.get_mut();
        while !this.is_over {
            if let Some(idle) = &this.idle
                && this.asked.is_none()
                && idle.listener.poll(context).is_pending()
            {
                return Poll::Pending;
            }
            let asked = this.asked.get_or_insert_with(|| this.consumer.take(this.max));
            let answer = std::task::ready!(Pin::new(asked).poll(context));
            this.asked = None;
            if let Some(taken) = this.took(answer) {
                return Poll::Ready(Some(taken));
            }
            let Some((listener, until)) = this.idle() else { break };
            listener.wake_at(until);
        }
        this.stop_waiting();
        Poll::Ready(None)
    }
}

impl Messages<Async> {
    /// The next batch, or `None` when the loop is over; what the [`Stream`] yields.
    ///
    /// # Errors
    /// As [`ShuffleConsumer::read_many`].
    ///
    /// # Delivery
    /// A future that is dropped may have taken messages that nobody saw: they are the consumer's
    /// until they are reclaimed. The next call of this goes on with the one that was dropped.
    pub async fn next(&mut self) -> Option<Result<Vec<Message>>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<M: Mode> fmt::Debug for Messages<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("max", &self.max).finish_non_exhaustive()
    }
}
