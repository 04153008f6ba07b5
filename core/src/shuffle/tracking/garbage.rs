//! The collection of garbage: values whose deadline has passed, batch by batch.

use std::time::Instant;

use super::{Expired, Expiry, ForgetExpired, ScanExpired};
use crate::client::{Blocking, Mode};
use crate::error::Result;
use crate::shuffle::ShuffleQueue;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};

/// Values of tracked messages whose deadline has passed, in batches. Made by
/// [`ShuffleQueue::gc`].
///
/// Asking for the next batch deletes the records of the last one. If the caller stops, the last batch is left for the
/// next collection. The messages themselves stay in their streams.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// let queue = client.shuffle_queue("jobs");
/// queue.write_tracked("tenant-7", [("job", "j-1"), ("task", "resize")], "job", 1_000_000_000)?;
///
/// let mut garbage = queue.gc();
/// for values in &mut garbage {
///     assert_eq!(values?, [b"j-1"]);
/// }
/// assert_eq!(garbage.deleted(), 1);
/// assert!(queue.delete_tracked("j-1")?.is_none());
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Garbage<M: Mode = Blocking>(PollLoop<Collection<M>>);

iterate! {
    /// The next batch, or `None` when all is collected; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// As [`ShuffleQueue::gc`].
    Garbage yields Vec<Vec<u8>>, Vec<Vec<u8>>
}

impl<M: Mode> Garbage<M> {
    pub(in crate::shuffle) fn new(queue: ShuffleQueue<M>) -> Self {
        Self(PollLoop::new(Collection {
            queue,
            digits: None,
            cursor: Vec::new(),
            is_scanned: false,
            last: Vec::new(),
            scanned: 0,
            deleted: 0,
        }))
    }

    /// Scans only deadlines that share this many leading digits with the current time, 1 to 10: with 6, those of the
    /// same 10,000 seconds. Cordoned values are always scanned.
    #[must_use]
    pub fn time_digits(mut self, digits: impl Into<Option<u8>>) -> Self {
        self.0.source.digits = digits.into();
        self
    }

    /// How many entries have been scanned so far.
    pub fn scanned(&self) -> u64 {
        self.0.source.scanned
    }

    /// How many records have been deleted so far.
    pub fn deleted(&self) -> u64 {
        self.0.source.deleted
    }
}

/// The steps of a collection.
struct Collection<M: Mode> {
    queue: ShuffleQueue<M>,
    digits: Option<u8>,
    /// Where the next page begins.
    cursor: Vec<u8>,
    /// Whether there is no next page.
    is_scanned: bool,
    /// What to forget before the next page.
    last: Vec<Expiry>,
    scanned: u64,
    deleted: u64,
}

/// What a step of a collection returned.
enum Output {
    Forgotten(u64),
    Page(Expired),
}

impl<M: Mode> Source for Collection<M> {
    type Mode = M;
    type Output = Output;
    type Item = Vec<Vec<u8>>;

    fn ask(&mut self, _: Instant, _: bool) -> M::Reply<Output> {
        let (client, keys) = (&self.queue.client, self.queue.track_keys);
        let name = self.queue.name();
        if !self.last.is_empty() {
            let step = name.map(|name| ForgetExpired::of(&name, keys, self.last.clone()));
            return client.run_then(step, Output::Forgotten);
        }
        let cursor = self.cursor.clone();
        let step = name.and_then(|name| ScanExpired::of(&name, keys, cursor, self.digits));
        client.run_then(step, Output::Page)
    }

    fn handle(&mut self, output: Result<Output>, _: &mut Waiting) -> Result<Found<Self::Item>> {
        match output? {
            Output::Forgotten(deleted) => {
                self.deleted += deleted;
                self.last.clear();
            }
            Output::Page(page) => {
                self.scanned += page.scanned;
                self.is_scanned = page.cursor.is_empty();
                (self.cursor, self.last) = (page.cursor, page.expiries);
                let current = self.last.iter().filter(|expiry| expiry.is_current);
                let values: Vec<_> = current.map(|expiry| expiry.value.clone()).collect();
                if !values.is_empty() {
                    return Ok(Found::Item(values));
                }
            }
        }
        let is_over = self.is_scanned && self.last.is_empty();
        Ok(if is_over { Found::Over } else { Found::Nothing })
    }
}
