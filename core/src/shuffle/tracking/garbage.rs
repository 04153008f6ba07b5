//! The collection of garbage: values whose deadline has passed, batch by batch.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::{Expired, Expiry, ForgetExpired, ScanExpired};
use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::{Error, Result, Retry};
use crate::shuffle::ShuffleQueue;

/// Values of tracked messages whose deadline has passed, in batches. An iterator for a blocking
/// client, a [`Stream`] for an async one. Made by [`ShuffleQueue::gc`].
///
/// Asking for the next batch deletes what is recorded of the last one; a caller that stops keeps that one
/// for the next collection. The messages themselves stay in their streams.
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
pub struct Garbage<M: Mode = Blocking> {
    queue: ShuffleQueue<M>,
    digits: Option<u8>,
    /// Where the next page begins; `None` after the last.
    cursor: Option<Vec<u8>>,
    /// What to forget before the next page.
    last: Vec<Expiry>,
    asked: Option<Asked>,
    scanned: u64,
    deleted: u64,
    is_over: bool,
}

/// A step of an async collection that is under way.
enum Asked {
    Forget(Pending<u64>),
    Scan(Pending<Expired>),
}

impl<M: Mode> Garbage<M> {
    pub(in crate::shuffle) fn new(queue: ShuffleQueue<M>) -> Self {
        let (cursor, last) = (Some(Vec::new()), Vec::new());
        Self {
            queue,
            digits: None,
            cursor,
            last,
            asked: None,
            scanned: 0,
            deleted: 0,
            is_over: false,
        }
    }

    /// Looks only at deadlines that begin with as many of the first digits of the time, 1 to 10: with
    /// 6, at those of the same 10,000 seconds. What was cordoned is looked at in any case.
    #[must_use]
    pub fn time_digits(mut self, digits: impl Into<Option<u8>>) -> Self {
        self.digits = digits.into();
        self
    }

    /// How many entries were looked at so far.
    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// How many records were deleted so far.
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    fn ask_to_forget(&self) -> M::Reply<u64> {
        let step = self
            .queue
            .name()
            .map(|name| ForgetExpired::of(&name, self.queue.track_keys, self.last.clone()));
        self.queue.client.run(step)
    }

    fn ask_page(&self, cursor: &[u8]) -> M::Reply<Expired> {
        let step = self.queue.name().and_then(|name| {
            ScanExpired::of(&name, self.queue.track_keys, cursor.to_vec(), self.digits)
        });
        self.queue.client.run(step)
    }

    fn forgot(&mut self, deleted: Result<u64>) -> Result<()> {
        self.deleted += deleted.map_err(|error| self.failed(error))?;
        self.last.clear();
        Ok(())
    }

    /// Handles a page; returns its values, if there are any.
    fn found(&mut self, page: Result<Expired>) -> Result<Option<Vec<Vec<u8>>>> {
        let page = page.map_err(|error| self.failed(error))?;
        self.scanned += page.scanned;
        self.cursor = Some(page.cursor).filter(|cursor| !cursor.is_empty());
        let current = page.expiries.iter().filter(|expiry| expiry.is_current);
        let values: Vec<_> = current.map(|expiry| expiry.value.clone()).collect();
        self.last = page.expiries;
        Ok(Some(values).filter(|values| !values.is_empty()))
    }

    fn failed(&mut self, error: Error) -> Error {
        self.is_over = error.retry() == Retry::Never;
        error
    }
}

impl Garbage<Blocking> {
    fn find(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        while !self.is_over {
            if !self.last.is_empty() {
                let forgotten = self.ask_to_forget();
                self.forgot(forgotten)?;
            }
            let Some(cursor) = &self.cursor else { break };
            let page = self.ask_page(cursor);
            if let Some(values) = self.found(page)? {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }
}

impl Iterator for Garbage<Blocking> {
    type Item = Result<Vec<Vec<u8>>>;

    fn next(&mut self) -> Option<Result<Vec<Vec<u8>>>> {
        self.find().transpose()
    }
}

impl Garbage<Async> {
    fn poll_find(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Vec<Vec<u8>>>>> {
        while !self.is_over {
            match &mut self.asked {
                Some(Asked::Forget(pending)) => {
                    let forgotten = ready!(Pin::new(pending).poll(context));
                    self.asked = None;
                    self.forgot(forgotten)?;
                }
                Some(Asked::Scan(pending)) => {
                    let page = ready!(Pin::new(pending).poll(context));
                    self.asked = None;
                    if let Some(values) = self.found(page)? {
                        return Poll::Ready(Ok(Some(values)));
                    }
                }
                None if !self.last.is_empty() => {
                    self.asked = Some(Asked::Forget(self.ask_to_forget()))
                }
                None => match &self.cursor {
                    Some(cursor) => self.asked = Some(Asked::Scan(self.ask_page(cursor))),
                    None => break,
                },
            }
        }
        Poll::Ready(Ok(None))
    }

    /// The next batch, or `None` when all is collected; what the [`Stream`] yields.
    ///
    /// # Errors
    /// As [`ShuffleQueue::gc`].
    pub async fn next(&mut self) -> Option<Result<Vec<Vec<u8>>>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for Garbage<Async> {
    type Item = Result<Vec<Vec<u8>>>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<Vec<u8>>>>> {
        self.get_mut().poll_find(context).map(Result::transpose)
    }
}

impl<M: Mode> fmt::Debug for Garbage<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Garbage")
            .field("scanned", &self.scanned)
            .field("deleted", &self.deleted)
            .finish_non_exhaustive()
    }
}
