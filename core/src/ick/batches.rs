//! The consumer's loop: a batch, the work, the commit, the next batch.

use std::ops::Deref;
use std::time::{Duration, Instant};

use super::{BATCH_MEMBERS_MAX, Commit, Entry, Exchange, Ick, Token};
use crate::client::{Blocking, Mode};
use crate::error::{Error, Result, Retry, invalid};
use crate::step::ByteList;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};

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

/// The loop of a consumer.
///
/// Asking for the next batch commits the one before, in one round trip. If the loop is left early, its last batch stays
/// reserved and the next reserve returns it again. To leave the loop with the last batch done, [`commit`](Self::commit)
/// it. Without [`wait`](Self::wait) the loop ends when nothing is left. A non-retryable error always ends the loop. A
/// batch has at most [`BATCH_MEMBERS_MAX`] members.
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
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Batches<M: Mode = Blocking>(PollLoop<Icks<M>>);

iterate! {
    /// The next batch, or `None` when the loop is over; what the [`Stream`](futures_core::Stream) yields.
    ///
    /// # Errors
    /// As [`Ick::exchange`].
    Batches yields Batch, Batch
}

impl<M: Mode> Batches<M> {
    pub(super) fn new(icks: Vec<Ick<M>>, max: u64) -> Self {
        let cursor = Cursor::new(icks.len(), max);
        Self(PollLoop::new(Icks { icks, cursor, token: None }))
    }

    pub(super) fn fenced(mut self, token: Token) -> Self {
        self.0.source.token = Some(token);
        self
    }

    /// Waits up to `idle` for work when there is none, instead of ending immediately; the time starts again with each
    /// batch. A waiting loop checks each of its Icks every five seconds, for producers that do not announce what they
    /// add.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.0.wait(Some(idle));
        self
    }

    /// Commits the last batch, for a loop that is left early. Returns how many members were still reserved; 0 if the
    /// last batch was already committed, or if an attempt to commit it failed: its members then come again if they were
    /// not committed.
    ///
    /// # Errors
    /// As [`Ick::commit`].
    pub fn commit(&mut self) -> M::Reply<u64> {
        let Icks { icks, cursor, token } = &mut self.0.source;
        let (number, members) = cursor.finish();
        let ick = &icks[number];
        // Nothing is sent where nothing is left to commit.
        let steps = match members.is_empty() {
            true => Ok(Vec::new()),
            false => ick
                .name()
                .and_then(|name| Ok(vec![Commit::of(name, members)?.fenced(token.clone())])),
        };
        ick.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Stops listening for work until the next batch is asked for; the time of [`wait`](Self::wait) then starts again.
    /// For a caller that stops asking but keeps the loop: a loop that listens takes wake-ups that another waiting loop
    /// would get.
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
    }
}

/// The Icks of a loop.
struct Icks<M: Mode> {
    icks: Vec<Ick<M>>,
    cursor: Cursor,
    token: Option<Token>,
}

impl<M: Mode> Source for Icks<M> {
    type Mode = M;
    type Output = Vec<Entry>;
    type Item = Batch;

    fn ask(&mut self, _: Instant, _: bool) -> M::Reply<Vec<Entry>> {
        let (number, max, commit) = self.cursor.next();
        let ick = &self.icks[number];
        let step = match self.cursor.max {
            0 => Err(invalid("a batch takes 1 or more members, not 0")),
            _ => ick.name().and_then(|name| Exchange::of(name, max, commit)),
        };
        ick.client.run(step.map(|step| step.fenced(self.token.clone())))
    }

    fn handle(
        &mut self,
        result: Result<Vec<Entry>>,
        waiting: &mut Waiting,
    ) -> Result<Found<Batch>> {
        let entries = result.inspect_err(|error| self.cursor.failed(error))?;
        match self.cursor.handle(&entries) {
            Asked::Batch => {
                // Another loop would be given the same batch, so a wake-up for this Ick is used; one for
                // another Ick is passed on.
                waiting.used(&self.icks[self.cursor.turn].name()?.producer_key());
                Ok(Found::Item(Batch(entries)))
            }
            Asked::Nothing => Ok(Found::Nothing),
            Asked::NothingAnywhere => {
                let client = &self.icks[0].client;
                let keys = self.icks.iter().map(|ick| Ok(ick.name()?.producer_key()));
                waiting.listen(|| client.listen(keys.collect::<Result<_>>()?))?;
                Ok(Found::Idle(client.fallback_poll_interval()))
            }
        }
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
    /// The members that the exchange under way commits. A caller that gives up waiting for it must not
    /// commit them again: see [`failed`](Self::failed).
    sent: ByteList,
    /// How many Icks in a row had nothing.
    empty: usize,
}

/// What an exchange found.
#[derive(Debug, PartialEq)]
enum Asked {
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

    /// Handles what the exchange returned.
    fn handle(&mut self, entries: &[Entry]) -> Asked {
        let only_committed = self.only_commits();
        self.sent = ByteList::default();
        self.done = entries.iter().map(|entry| &entry.member).collect();
        if !entries.is_empty() {
            self.empty = 0;
            return Asked::Batch;
        }
        self.turn = (self.turn + 1) % self.icks;
        self.empty += usize::from(!only_committed);
        if self.empty < self.icks {
            return Asked::Nothing;
        }
        self.empty = 0;
        Asked::NothingAnywhere
    }

    /// Handles the error of an exchange. If nothing was done it is asked again, commit and all.
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
        assert_eq!(cursor.handle(&entries(&["a"])), Asked::Batch);
        assert_eq!(cursor.next(), (0, 10, list(&["a"])));
        assert_eq!(cursor.handle(&[]), Asked::NothingAnywhere);
        assert_eq!(cursor.next(), (0, 10, list(&[])));
    }

    #[test]
    fn several_icks_take_turns() {
        let mut cursor = Cursor::new(2, 10);
        assert_eq!(cursor.next(), (0, 10, list(&[])));
        assert_eq!(cursor.handle(&entries(&["a"])), Asked::Batch);
        assert_eq!(cursor.next(), (0, 0, list(&["a"])));
        assert_eq!(cursor.handle(&[]), Asked::Nothing);
        assert_eq!(cursor.next(), (1, 10, list(&[])));
        assert_eq!(cursor.handle(&entries(&["b"])), Asked::Batch);
        assert_eq!(cursor.finish(), (1, list(&["b"])));
        assert_eq!(cursor.next(), (0, 10, list(&[])));
        assert_eq!(cursor.handle(&[]), Asked::Nothing);
        assert_eq!(cursor.next(), (1, 10, list(&[])));
        assert_eq!(cursor.handle(&[]), Asked::NothingAnywhere);
    }

    #[test]
    fn a_commit_is_sent_again_only_if_it_was_surely_not_done() {
        use crate::ErrorKind;
        let mut cursor = Cursor::new(1, 10);
        cursor.handle(&entries(&["a"]));
        cursor.next();
        cursor.failed(&Error::new(ErrorKind::ConnectionFailed, ""));
        assert_eq!(cursor.next(), (0, 10, list(&["a"])));
        for kind in [ErrorKind::ConnectionLost, ErrorKind::Timeout] {
            cursor.handle(&entries(&["a"]));
            cursor.next();
            cursor.failed(&Error::new(kind, ""));
            assert_eq!(cursor.next(), (0, 10, list(&[])));
        }
    }

    #[test]
    fn an_exchange_that_is_given_up_is_not_committed_again() {
        let mut cursor = Cursor::new(1, 10);
        cursor.handle(&entries(&["a"]));
        cursor.next();
        assert_eq!(cursor.finish(), (0, list(&[])));
    }

    #[test]
    fn a_batch_is_never_larger_than_a_commit() {
        assert_eq!(Cursor::new(1, u64::MAX).next().1, BATCH_MEMBERS_MAX as u64);
    }
}
