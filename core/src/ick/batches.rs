//! The consumer's loop: a batch, the work, the commit, the next batch.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;

use super::{BATCH_MEMBERS_MAX, Commit, Entry, Exchange, Ick, Token};
use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::{Error, Result, Retry};
use crate::runtime::waiters::{Idle, Listener};
use crate::step::ByteList;

/// A batch to work on: entries, lowest score first.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch(Vec<Entry>);

impl Deref for Batch {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.0
    }
}

impl IntoIterator for Batch {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The loop of a consumer. An iterator for a blocking client, a [`Stream`] for an async one.
///
/// Asking for the next batch commits the one before, in one round trip. A loop that is left by
/// `?` or `break` leaves its batch reserved: the next reserve brings it again. To leave with the
/// last batch done, [`commit`](Self::commit) it. Without [`wait`](Self::wait) the loop ends when
/// there is nothing left, and in any case after an error that trying again cannot mend. A batch
/// has at most [`BATCH_MEMBERS_MAX`] members.
///
/// ```
/// # fn index(entry: &millpond::ick::Entry) -> Result<(), millpond::Error> { Ok(()) }
/// let client = millpond::connect("memory:")?;
/// let ick = client.ick("files");
/// ick.add([(1.0, "a.txt"), (2.0, "b.txt")])?;
/// for batch in ick.batches(100) {
///     for entry in batch?.iter() {
///         index(entry)?;
///     }
/// }
/// assert_eq!(ick.stats()?.map(|stats| stats.total_size()), Some(0));
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct Batches<M: Mode = Blocking> {
    icks: Vec<Ick<M>>,
    cursor: Cursor,
    token: Option<Token>,
    wait: Option<Duration>,
    idle: Option<Idle>,
    asked: Option<Pending<Vec<Entry>>>,
    /// Set by an error that the same call would meet for ever.
    is_over: bool,
}

impl<M: Mode> Batches<M> {
    pub(super) fn new(icks: Vec<Ick<M>>, max: u64) -> Self {
        let cursor = Cursor::new(icks.len(), max);
        Self { icks, cursor, token: None, wait: None, idle: None, asked: None, is_over: false }
    }

    pub(super) fn fenced(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Waits up to `idle` for work when there is none, in place of ending at once; the time
    /// starts anew with each batch. A loop that waits looks at each of its Icks once in five seconds,
    /// for producers that do not announce what they add.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.wait = Some(idle);
        self
    }

    /// Commits the last batch, for a loop that is left before its end. Answers how many members
    /// were still reserved; 0 if the last batch was committed already, or if that was tried and
    /// failed: it comes again then, if need be.
    ///
    /// # Errors
    /// As [`Ick::commit`].
    pub fn commit(&mut self) -> M::Reply<u64> {
        let (number, members) = self.cursor.finish();
        let ick = &self.icks[number];
        // Nothing is sent where nothing is left to commit.
        let steps = match members.is_empty() {
            true => Ok(Vec::new()),
            false => ick
                .name()
                .and_then(|name| Ok(vec![Commit::of(name, members)?.fenced(self.token.clone())])),
        };
        ick.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Stops listening for work until the next batch is asked for, and the time of
    /// [`wait`](Self::wait) starts anew then. For whoever gives up asking and keeps the loop: a
    /// loop that listens is told of work in place of another one that waits.
    pub fn stop_waiting(&mut self) {
        self.idle = None;
    }

    /// Takes in that an exchange failed.
    fn failed(&mut self, error: Error) -> Error {
        self.cursor.failed(&error);
        self.is_over = error.retry() == Retry::Never;
        error
    }

    fn next_step(&mut self) -> (usize, Result<Exchange>) {
        let (number, max, commit) = self.cursor.next();
        let step = self.icks[number].name().and_then(|name| Exchange::of(name, max, commit));
        (number, step.map(|step| step.fenced(self.token.clone())))
    }

    /// Takes in that this Ick gave a batch. Somebody else would be given the same one, so a wake-up
    /// for it is used; one for another Ick is passed on.
    fn found_work(&mut self, number: usize) {
        if let (Some(idle), Ok(name)) = (self.idle.take(), self.icks[number].name()) {
            idle.listener.used(&name.producer_key());
        }
    }

    /// The listener to wait on and until when; `None` when the loop is over.
    fn idle(&mut self) -> Option<(&Listener, Option<Instant>)> {
        let wait = self.wait?;
        if self.idle.as_ref().is_some_and(Idle::is_over) {
            self.stop_waiting();
            return None;
        }
        let icks = &self.icks;
        let idle = self.idle.get_or_insert_with(|| {
            let keys = icks.iter().filter_map(|ick| Some(ick.name().ok()?.producer_key()));
            Idle::begin(wait, icks[0].client.listen(keys.collect()))
        });
        let interval = icks[0].client.fallback_poll_interval();
        let look = interval.and_then(|interval| Instant::now().checked_add(interval));
        let until = match (idle.deadline, look) {
            (Some(deadline), Some(look)) => Some(deadline.min(look)),
            (one, other) => one.or(other),
        };
        Some((&idle.listener, until))
    }
}

impl Iterator for Batches<Blocking> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        while !self.is_over {
            let (number, step) = self.next_step();
            match self.icks[number].client.run(step) {
                Err(error) => return Some(Err(self.failed(error))),
                Ok(entries) => match self.cursor.took(&entries) {
                    Took::Batch => {
                        self.found_work(number);
                        return Some(Ok(Batch(entries)));
                    }
                    Took::Nothing => {}
                    Took::NothingAnywhere => {
                        let (listener, until) = self.idle()?;
                        let waited = listener.wait(until);
                        if let Err(error) = waited {
                            self.stop_waiting();
                            return Some(Err(error));
                        }
                    }
                },
            }
        }
        None
    }
}

impl Stream for Batches<Async> {
    type Item = Result<Batch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        while !this.is_over {
            if let Some(idle) = &this.idle
                && this.asked.is_none()
                && idle.listener.poll(context).is_pending()
            {
                return Poll::Pending;
            }
            if this.asked.is_none() {
                let (number, step) = this.next_step();
                this.asked = Some(this.icks[number].client.run(step));
            }
            let asked = this.asked.as_mut().expect("it was just asked");
            let answer = std::task::ready!(Pin::new(asked).poll(context));
            this.asked = None;
            let entries = match answer {
                Err(error) => return Poll::Ready(Some(Err(this.failed(error)))),
                Ok(entries) => entries,
            };
            match this.cursor.took(&entries) {
                Took::Batch => {
                    this.found_work(this.cursor.turn);
                    return Poll::Ready(Some(Ok(Batch(entries))));
                }
                Took::Nothing => {}
                Took::NothingAnywhere => match this.idle() {
                    None => return Poll::Ready(None),
                    Some((listener, until)) => listener.wake_at(until),
                },
            }
        }
        Poll::Ready(None)
    }
}

impl Batches<Async> {
    /// The next batch, or `None` when the loop is over; what the [`Stream`] yields.
    ///
    /// # Errors
    /// As [`Ick::exchange`].
    pub async fn next(&mut self) -> Option<Result<Batch>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<M: Mode> fmt::Debug for Batches<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

/// Which Ick comes next and what has to be committed there: the loop without its waiting.
#[derive(Debug)]
struct Cursor {
    icks: usize,
    max: u64,
    /// The Ick whose turn it is.
    turn: usize,
    /// The members of the last batch, which came from the Ick whose turn it is and which no
    /// exchange has tried to commit yet.
    done: ByteList,
    /// The members that the exchange under way commits. Whoever gives up waiting for it must not
    /// commit them again: see [`failed`](Self::failed).
    sent: ByteList,
    /// How many Icks in a row had nothing.
    empty: usize,
}

#[derive(Debug, PartialEq)]
enum Took {
    Batch,
    Nothing,
    NothingAnywhere,
}

impl Cursor {
    /// A batch is committed in one step, so it is never larger than one.
    fn new(icks: usize, max: u64) -> Self {
        let max = max.min(BATCH_MEMBERS_MAX as u64);
        let (done, sent) = (ByteList::default(), ByteList::default());
        Self { icks, max, turn: 0, done, sent, empty: 0 }
    }

    /// The next exchange: where, how much, and what to commit there. Of several Icks, the one
    /// that just gave a batch is only committed, and the next one is asked.
    fn next(&mut self) -> (usize, u64, ByteList) {
        self.sent = std::mem::take(&mut self.done);
        (self.turn, if self.only_commits() { 0 } else { self.max }, self.sent.clone())
    }

    fn only_commits(&self) -> bool {
        self.icks > 1 && !self.sent.is_empty()
    }

    /// Takes in what the exchange answered.
    fn took(&mut self, entries: &[Entry]) -> Took {
        let only_committed = self.only_commits();
        self.sent = ByteList::default();
        self.done = entries.iter().map(|entry| &entry.member).collect();
        if !entries.is_empty() {
            self.empty = 0;
            return Took::Batch;
        }
        self.turn = (self.turn + 1) % self.icks;
        self.empty += usize::from(!only_committed);
        if self.empty < self.icks {
            return Took::Nothing;
        }
        self.empty = 0;
        Took::NothingAnywhere
    }

    /// Takes in that the exchange failed. If nothing was done it is asked again, commit and all.
    /// If it may have been done, its commit must not be sent again: a member that was dirtied
    /// meanwhile may have been committed and reserved once more, and a second commit would take
    /// away a reservation that nobody has worked on. Without it the batch comes again, if need be.
    fn failed(&mut self, error: &Error) {
        let sent = std::mem::take(&mut self.sent);
        if error.retry() != Retry::Unknown {
            self.done = sent;
        }
    }

    /// Where and what to commit by hand; the next Ick is asked then.
    fn finish(&mut self) -> (usize, ByteList) {
        let (number, done) = (self.turn, std::mem::take(&mut self.done));
        if !done.is_empty() {
            self.turn = (number + 1) % self.icks;
        }
        (number, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(members: &[&str]) -> Vec<Entry> {
        let entry = |member: &&str| Entry { member: member.as_bytes().to_vec(), score: 0.0 };
        members.iter().map(entry).collect()
    }

    fn list(members: &[&str]) -> ByteList {
        members.iter().collect()
    }

    #[test]
    fn one_ick_is_exchanged_in_one_step() {
        let mut cursor = Cursor::new(1, 10);
        assert_eq!(cursor.next(), (0, 10, list(&[])));
        assert_eq!(cursor.took(&entries(&["a"])), Took::Batch);
        assert_eq!(cursor.next(), (0, 10, list(&["a"])));
        assert_eq!(cursor.took(&[]), Took::NothingAnywhere);
        assert_eq!(cursor.next(), (0, 10, list(&[])));
    }

    #[test]
    fn several_icks_take_turns() {
        let mut cursor = Cursor::new(2, 10);
        assert_eq!(cursor.next(), (0, 10, list(&[])));
        assert_eq!(cursor.took(&entries(&["a"])), Took::Batch);
        assert_eq!(cursor.next(), (0, 0, list(&["a"])));
        assert_eq!(cursor.took(&[]), Took::Nothing);
        assert_eq!(cursor.next(), (1, 10, list(&[])));
        assert_eq!(cursor.took(&entries(&["b"])), Took::Batch);
        assert_eq!(cursor.finish(), (1, list(&["b"])));
        assert_eq!(cursor.next(), (0, 10, list(&[])));
        assert_eq!(cursor.took(&[]), Took::Nothing);
        assert_eq!(cursor.next(), (1, 10, list(&[])));
        assert_eq!(cursor.took(&[]), Took::NothingAnywhere);
    }

    #[test]
    fn a_commit_is_sent_again_only_if_it_was_surely_not_done() {
        use crate::ErrorKind;
        let mut cursor = Cursor::new(1, 10);
        cursor.took(&entries(&["a"]));
        cursor.next();
        cursor.failed(&Error::new(ErrorKind::ConnectionFailed, ""));
        assert_eq!(cursor.next(), (0, 10, list(&["a"])));
        for kind in [ErrorKind::ConnectionLost, ErrorKind::Timeout] {
            cursor.took(&entries(&["a"]));
            cursor.next();
            cursor.failed(&Error::new(kind, ""));
            assert_eq!(cursor.next(), (0, 10, list(&[])));
        }
    }

    #[test]
    fn an_exchange_that_is_given_up_is_not_committed_again() {
        let mut cursor = Cursor::new(1, 10);
        cursor.took(&entries(&["a"]));
        cursor.next();
        assert_eq!(cursor.finish(), (0, list(&[])));
    }

    #[test]
    fn a_batch_is_never_larger_than_a_commit() {
        assert_eq!(Cursor::new(1, u64::MAX).next().1, BATCH_MEMBERS_MAX as u64);
    }
}
