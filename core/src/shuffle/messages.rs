//! The consumer's loop: messages as they come.

use std::time::{Duration, Instant};

use super::{Batch, Message, ShuffleConsumer};
use crate::client::{Blocking, Mode};
use crate::error::Result;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};

/// The loop of a consumer: batches of messages. Made by [`ShuffleConsumer::messages`].
///
/// A message is done only when it is acknowledged; asking for the next batch does not affect the one before. So a
/// consumer may pass messages on and continue, and if a loop is left early, the unfinished messages stay with the
/// group. Without [`wait`](Self::wait) the loop ends when nothing is left. A non-retryable error always ends the loop.
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
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Messages<M: Mode = Blocking>(PollLoop<Reads<M>>);

iterate! {
    /// The next batch, or `None` when the loop is over; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// As [`ShuffleConsumer::read_many`].
    ///
    /// # Delivery
    /// A future that is dropped may have taken messages that the caller never saw: they are the consumer's until they
    /// are reclaimed. The next call continues the dropped one.
    Messages yields Vec<Message>, Vec<Message>
}

impl<M: Mode> Messages<M> {
    pub(super) fn new(consumer: ShuffleConsumer<M>, max: usize) -> Self {
        Self(PollLoop::new(Reads { consumer, max }))
    }

    /// Waits up to `idle` for a message when there is none, instead of ending immediately; the time starts again with
    /// each batch. All waiting loops of a process share one connection, and a message wakes one of them.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.0.wait(Some(idle));
        self
    }

    /// Stops listening for messages until the next batch is asked for; the time of [`wait`](Self::wait) then starts
    /// again. For a caller that stops asking but keeps the loop: a loop that listens takes wake-ups that another
    /// waiting loop would get.
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
    }
}

/// The reads of a consumer.
struct Reads<M: Mode> {
    consumer: ShuffleConsumer<M>,
    max: usize,
}

impl<M: Mode> Source for Reads<M> {
    type Mode = M;
    type Output = Batch;
    type Item = Vec<Message>;

    fn ask(&mut self, _: Instant, _: bool) -> M::Reply<Batch> {
        self.consumer.take(self.max)
    }

    fn handle(
        &mut self,
        result: Result<Batch>,
        waiting: &mut Waiting,
    ) -> Result<Found<Vec<Message>>> {
        let batch = result?;
        if !batch.messages.is_empty() {
            return Ok(Found::Item(batch.messages));
        }
        waiting.listen(|| self.consumer.listen(&batch))?;
        Ok(Found::Idle(None))
    }
}
