#![doc = include_str!("README.md")]

mod add;
mod advance;
#[cfg(test)]
mod cases;
mod clear;
mod contains;
mod embedded;
mod ids;
mod limits;
mod name;
mod remove;
mod sample;
mod stats;
#[cfg(test)]
mod tests;

pub use add::Add;
pub use advance::{Advance, Scanned};
pub use clear::Clear;
pub use contains::Contains;
pub use ids::{ReadIds, Tracked};
pub use limits::{ID_BYTES_MAX, IDS_MAX, LIMIT_DEFAULT, ROUND_DEFAULT, ROUND_MAX, ROW_BYTES_MAX};
pub use remove::Remove;
pub use sample::{ReadSample, Sample};
pub(crate) use stats::KIND;
pub use stats::{ReadStats, TrackerStats};

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::client::{Async, Blocking, Client, Mode};
use crate::error::{Result, invalid};
use crate::step::Timestamp;
use crate::step::limits::first_of;
use name::Name;

/// The set of ids that have work queued in a database of your own; made by [`Client::queue_tracker`].
///
/// A scan adds the ids of rows, a prune removes those that have no work any more. Both are meant as slices of a
/// recruiter, or to be called regularly in any other way.
///
/// ```
/// let tracker = millpond::connect("memory:")?.queue_tracker("orders");
/// tracker.add(["ann"])?; // after a row for ann was inserted
/// assert!(tracker.is_queued("ann")?);
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct QueueTracker<M: Mode = Blocking> {
    client: Client<M>,
    name: std::result::Result<Name, Arc<str>>,
}

/// What a prune did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The ids that were checked.
    pub checked: u64,
    /// The ids that were removed.
    pub removed: u64,
}

/// Any error, of the tracker or of the program's own function.
type AnyError = Box<dyn StdError + Send + Sync>;

impl<M: Mode> Client<M> {
    /// The queue tracker with this name. Makes no call.
    pub fn queue_tracker(&self, name: impl AsRef<[u8]>) -> QueueTracker<M> {
        let name = Name::new(name.as_ref()).map_err(|error| error.message().into());
        QueueTracker { client: self.clone(), name }
    }
}

impl<M: Mode> QueueTracker<M> {
    fn name(&self) -> Result<Name> {
        self.name.clone().map_err(|message| invalid(&*message))
    }

    /// Adds ids, for programs that insert rows: insert the rows first, and then add their ids. An id that is already
    /// tracked stays, even if a check in progress finds no work for it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no id or more than [`IDS_MAX`] and an id that is empty or above [`ID_BYTES_MAX`] bytes;
    /// `WRONG_TYPE` if the keys hold something else; `INCOMPATIBLE_VERSION` or `CORRUPT` if they cannot be read;
    /// `OUT_OF_MEMORY` if the memory of the server is full.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` they may have been added. Adding them again is safe.
    pub fn add<I: AsRef<[u8]>>(&self, ids: impl IntoIterator<Item = I>) -> M::Reply<()> {
        self.client.run(self.name().and_then(|name| Add::of(name, ids)))
    }

    /// Whether an id has work queued, as far as the tracker knows.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or above [`ID_BYTES_MAX`] bytes; `WRONG_TYPE` if the keys hold
    /// something else.
    #[must_use = "it changes nothing"]
    pub fn is_queued(&self, id: impl AsRef<[u8]>) -> M::Reply<bool> {
        let step = self.name().and_then(|name| Contains::of(name, [id]));
        self.client.run_then(step, |are_queued| are_queued == [true])
    }

    /// Whether ids have work queued, in the same order.
    ///
    /// # Errors
    /// As [`is_queued`](Self::is_queued); also `INVALID_ARGUMENT` for no id or more than [`IDS_MAX`].
    #[must_use = "it changes nothing"]
    pub fn are_queued<I: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> M::Reply<Vec<bool>> {
        self.client.run(self.name().and_then(|name| Contains::of(name, ids)))
    }

    /// How many ids are tracked.
    ///
    /// # Errors
    /// As [`stats`](Self::stats).
    #[must_use = "it changes nothing"]
    pub fn len(&self) -> M::Reply<u64> {
        self.client.run_then(self.name().map(ReadStats::of), |stats| stats.ids)
    }

    /// How many ids are tracked, and the position of the scan.
    ///
    /// # Errors
    /// `WRONG_TYPE` if the keys hold something else; `INCOMPATIBLE_VERSION` or `CORRUPT` if they cannot be read.
    #[must_use = "it changes nothing"]
    pub fn stats(&self) -> M::Reply<TrackerStats> {
        self.client.run(self.name().map(ReadStats::of))
    }

    /// A page of the ids whose stamps come after `after`, in the order of their stamps, which is the order in which
    /// they are checked. It has up to `limit` ids, or more if the last ones have the same stamp. The next page comes
    /// after the stamp of the last id of this one, and an empty page is the end. An id that is checked between two
    /// pages may be on both.
    ///
    /// ```
    /// let tracker = millpond::connect("memory:")?.queue_tracker("orders");
    /// tracker.add(["ann", "bob"])?;
    /// tracker.add(["eve"])?;
    /// let first = tracker.ids(0, 1)?;
    /// assert_eq!(first.len(), 2); // both have the same stamp
    /// let second = tracker.ids(first[1].stamp, 1)?;
    /// assert_eq!(second[0].id, b"eve");
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`IDS_MAX`]; `WRONG_TYPE` if the keys hold something else.
    #[must_use = "it changes nothing"]
    pub fn ids(&self, after: Timestamp, limit: usize) -> M::Reply<Vec<Tracked>> {
        self.client.run(self.name().and_then(|name| ReadIds::of(name, after, limit)))
    }

    /// Removes all ids, and lets the next scan start at the beginning; returns how many ids there were.
    ///
    /// # Errors
    /// As [`stats`](Self::stats).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done.
    pub fn clear(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Clear::of))
    }

    /// The first half of a scan, for programs that cannot give a function to [`scan`](Self::scan): the stats, whose
    /// [`row`](TrackerStats::row) is the one after which the scan continues. It changes nothing, and takes the
    /// arguments of the second half so that invalid ones are refused before the program reads any rows.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`IDS_MAX`], and a `round_min` above [`ROUND_MAX`]; otherwise as
    /// [`stats`](Self::stats).
    #[must_use = "it changes nothing"]
    pub fn begin_scan(&self, limit: usize, round_min: Duration) -> M::Reply<TrackerStats> {
        let limits = limits::limit(limit).and_then(|_| limits::round_us(round_min));
        self.client.run(limits.and_then(|_| self.name()).map(ReadStats::of))
    }

    /// The second half of a scan: moves it past rows of the table and adds their ids.
    ///
    /// The rows are those after `after`, which is the row that [`begin_scan`](Self::begin_scan) returned, or empty if it
    /// returned none. Each has an id, or an empty one if it has none. Fewer rows than `limit` are the last ones.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for rows and ids of different number, a row that is empty, above [`ROW_BYTES_MAX`] bytes or no
    /// UTF-8, an id above [`ID_BYTES_MAX`] bytes, more than [`IDS_MAX`] rows, a full page whose last row is `after`, a
    /// limit of 0 or above [`IDS_MAX`], and a `round_min` above [`ROUND_MAX`]; otherwise as [`add`](Self::add).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done. Repeating it changes nothing then.
    pub fn advance<R: AsRef<[u8]>, I: AsRef<[u8]>>(
        &self,
        after: impl AsRef<str>,
        rows: impl IntoIterator<Item = R>,
        ids: impl IntoIterator<Item = I>,
        limit: usize,
        round_min: Duration,
    ) -> M::Reply<Scanned> {
        let after = after.as_ref().as_bytes();
        let step = |name| Advance::of(name, after, rows, ids, limit, round_min);
        self.client.run(self.name().and_then(step))
    }

    /// The first half of a prune, for programs that cannot give a function to [`prune`](Self::prune): the ids that were
    /// checked longest ago, which get a new stamp. It returns a single id if no [`remove`](Self::remove) has followed
    /// the last sample.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`IDS_MAX`]; otherwise as [`stats`](Self::stats).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done; then the next one samples a single id.
    pub fn sample(&self, limit: usize) -> M::Reply<Sample> {
        self.client.run(self.name().and_then(|name| ReadSample::of(name, limit)))
    }

    /// The second half of a prune: removes those of the sampled ids that have no work any more. One that was added,
    /// scanned or sampled since stays. Call it even if there are none to remove, since that ends the sample.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that was not sampled and more than [`IDS_MAX`] ids; otherwise as
    /// [`stats`](Self::stats).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done. Repeating it is safe.
    pub fn remove<I: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        ids: impl IntoIterator<Item = I>,
        sampled: impl IntoIterator<Item = S>,
        stamp: Timestamp,
    ) -> M::Reply<Pruned> {
        let sampled: Vec<S> = first_of(sampled, IDS_MAX).collect();
        let checked = sampled.len() as u64;
        let step = self.name().and_then(|name| Remove::of(name, ids, sampled, stamp));
        self.client.run_then(step, move |removed| Pruned { checked, removed })
    }
}

impl QueueTracker<Blocking> {
    /// Reads a page of rows of your table through your function, adds their ids, and stores the position for the next
    /// scan.
    ///
    /// The function gets the row after which the page begins, or `None` for the beginning of the table, and how many
    /// rows to read. It returns the rows in their order: for each its position, a text or a number such as its primary
    /// key, and its id, which is empty if there is none to track. Fewer rows than `limit` are the last ones of the
    /// table: then the next scan starts at the beginning, at most once per `round_min`, and otherwise stays at the end
    /// and adds new rows. With a `round_min` of [`ROUND_MAX`] it always stays there. Only your database compares
    /// positions: a number is passed back as text.
    ///
    /// # Errors
    /// The error of the function, in which case nothing was changed; `INVALID_ARGUMENT` for a limit of 0 or above
    /// [`IDS_MAX`], a `round_min` above [`ROUND_MAX`], a row that is empty or above [`ROW_BYTES_MAX`] bytes, an id
    /// above [`ID_BYTES_MAX`] bytes, more than [`IDS_MAX`] rows, and a full page that ends with the row after which it
    /// should begin; otherwise as [`add`](Self::add).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done. The next scan continues in either case.
    pub fn scan<R: ToString, I: AsRef<[u8]>, E: Into<AnyError>>(
        &self,
        limit: usize,
        round_min: Duration,
        rows: impl FnOnce(Option<&str>, usize) -> std::result::Result<Vec<(R, I)>, E>,
    ) -> std::result::Result<Scanned, AnyError> {
        let after = self.begin_scan(limit, round_min)?.row;
        let (rows, ids) = unzip(rows(after.as_deref(), limit).map_err(Into::into)?);
        Ok(self.advance(after.unwrap_or_default(), rows, ids, limit, round_min)?)
    }

    /// Checks, through your function, the ids that were checked longest ago, and removes those that have no work any
    /// more.
    ///
    /// The function gets up to `limit` ids, and returns those of them for which nothing is queued any more. It is not
    /// called if nothing is tracked. It must not read data that is older than the call.
    ///
    /// # Errors
    /// The error of the function, in which case nothing was removed, and the next prune checks a single id;
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`IDS_MAX`], and for ids that the function did not get; otherwise as
    /// [`stats`](Self::stats).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done. The next prune checks other ids in either case.
    pub fn prune<I: AsRef<[u8]>, E: Into<AnyError>>(
        &self,
        limit: usize,
        done: impl FnOnce(&[Vec<u8>]) -> std::result::Result<Vec<I>, E>,
    ) -> std::result::Result<Pruned, AnyError> {
        let Sample { ids, stamp } = self.sample(limit)?;
        if ids.is_empty() {
            return Ok(Pruned::default());
        }
        let done = done(&ids).map_err(Into::into)?;
        Ok(self.remove(done, ids, stamp)?)
    }
}

impl QueueTracker<Async> {
    /// Reads a page of rows of your table through your function, adds their ids, and stores the position for the next
    /// scan; otherwise like [`scan`](QueueTracker::<Blocking>::scan) of a blocking tracker.
    ///
    /// # Errors
    /// As [`scan`](QueueTracker::<Blocking>::scan) of a blocking tracker.
    pub async fn scan<R, I, E, F>(
        &self,
        limit: usize,
        round_min: Duration,
        rows: impl FnOnce(Option<String>, usize) -> F,
    ) -> std::result::Result<Scanned, AnyError>
    where
        R: ToString,
        I: AsRef<[u8]>,
        E: Into<AnyError>,
        F: Future<Output = std::result::Result<Vec<(R, I)>, E>>,
    {
        let after = self.begin_scan(limit, round_min).await?.row;
        let (rows, ids) = unzip(rows(after.clone(), limit).await.map_err(Into::into)?);
        Ok(self.advance(after.unwrap_or_default(), rows, ids, limit, round_min).await?)
    }

    /// Checks, through your function, the ids that were checked longest ago, and removes those that have no work any
    /// more; otherwise like [`prune`](QueueTracker::<Blocking>::prune) of a blocking tracker.
    ///
    /// # Errors
    /// As [`prune`](QueueTracker::<Blocking>::prune) of a blocking tracker.
    pub async fn prune<I, E, F>(
        &self,
        limit: usize,
        done: impl FnOnce(Vec<Vec<u8>>) -> F,
    ) -> std::result::Result<Pruned, AnyError>
    where
        I: AsRef<[u8]>,
        E: Into<AnyError>,
        F: Future<Output = std::result::Result<Vec<I>, E>>,
    {
        let Sample { ids, stamp } = self.sample(limit).await?;
        if ids.is_empty() {
            return Ok(Pruned::default());
        }
        let done = done(ids.clone()).await.map_err(Into::into)?;
        Ok(self.remove(done, ids, stamp).await?)
    }
}

fn unzip<R: ToString, I>(rows: Vec<(R, I)>) -> (Vec<String>, Vec<I>) {
    rows.into_iter().map(|(row, id)| (row.to_string(), id)).unzip()
}

impl<M: Mode> Clone for QueueTracker<M> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), name: self.name.clone() }
    }
}

impl<M: Mode> fmt::Debug for QueueTracker<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueTracker").finish_non_exhaustive()
    }
}

crate::step::steps! {
    [embedded::State]
    Add, Advance, Clear, Contains, ReadIds, ReadSample, ReadStats, Remove,
}
