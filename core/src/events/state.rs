//! The state of an event, and the history of its deliveries.

use std::sync::Arc;

use crate::step::Timestamp;

/// Identifies one delivery of an event; the same for all events of one receive.
pub type Token = [u8; 8];

/// The state of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventState {
    /// Its time has not come.
    Scheduled,
    /// It waits behind another event of its key.
    Behind,
    /// It waits to be received.
    Ready,
    /// It was received, and waits for the end of its delivery.
    Leased,
    /// It failed, and waits for its retry.
    Retry,
    /// It is a dead letter, and stays until it is redriven, purged or cancelled.
    Dead,
    /// It is done, and kept for a time.
    Done,
}

/// Why an event is a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeadReason {
    /// Its handler rejected it.
    Rejected,
    /// It failed too often.
    Exhausted,
    /// Its lease expired too often: the consumers that had it crashed or were stuck.
    Crashed,
}

impl EventState {
    /// All states, by their numbers in replies.
    pub(super) const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::Behind,
        Self::Ready,
        Self::Leased,
        Self::Retry,
        Self::Dead,
        Self::Done,
    ];

    /// Its name in every language, such as `scheduled`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Behind => "behind",
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Retry => "retry",
            Self::Dead => "dead",
            Self::Done => "done",
        }
    }
}

impl DeadReason {
    /// Its name in every language, such as `rejected`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Exhausted => "exhausted",
            Self::Crashed => "crashed",
        }
    }

    /// Its number in a state, as in `records.lua`.
    pub(super) fn number(reason: Option<Self>) -> u8 {
        reason.map_or(0, |reason| reason as u8 + 1)
    }

    pub(super) fn of_number(number: u8) -> Option<Self> {
        [Self::Rejected, Self::Exhausted, Self::Crashed]
            .get(usize::from(number).checked_sub(1)?)
            .copied()
    }
}

/// How often an event was delivered, and with which results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    pub(super) attempts: u16,
    pub(super) crashes: u16,
    pub(super) redriven: u16,
}

/// The deliveries of an event, and the result of the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) token: Token,
    pub(super) counts: Attempts,
    /// The event was cancelled while it was leased.
    pub(super) is_cancelled: bool,
    /// Its last lease expired.
    pub(super) has_run_out: bool,
    /// Its last delivery was ended by a call.
    pub(super) is_settled: bool,
    /// It is leased as a suspect, and its processing has not started.
    pub(super) is_unbegun: bool,
    /// Why it is dead, if it is.
    pub(super) reason: Option<DeadReason>,
    /// The text of the last failure.
    pub(super) err: Arc<str>,
}

impl Delivery {
    /// Reads what a script stores: STATES of `records.lua`, and the text of the last failure. Nothing is stored before
    /// the first delivery.
    pub(super) fn unpack(stored: &[u8]) -> Option<Self> {
        if stored.is_empty() {
            return Some(Self::default());
        }
        let (token, rest) = stored.split_first_chunk()?;
        let (counts, rest) = rest.split_first_chunk::<6>()?;
        let count = |at: usize| u16::from_be_bytes([counts[at], counts[at + 1]]);
        let ([marks, reason], err) = rest.split_first_chunk()?;
        Some(Self {
            token: *token,
            counts: Attempts { attempts: count(0), crashes: count(2), redriven: count(4) },
            reason: DeadReason::of_number(*reason),
            err: String::from_utf8_lossy(err).into(),
            ..Self::of_marks(*marks)
        })
    }

    /// The form that [`unpack`](Self::unpack) reads.
    pub(super) fn packed(&self) -> Vec<u8> {
        let Attempts { attempts, crashes, redriven } = self.counts;
        let mut packed = self.token.to_vec();
        for count in [attempts, crashes, redriven] {
            packed.extend(count.to_be_bytes());
        }
        packed.extend([self.marks(), DeadReason::number(self.reason)]);
        packed.extend(self.err.as_bytes());
        packed
    }

    /// Its marks, as a script stores them.
    pub(super) fn marks(&self) -> u8 {
        u8::from(self.is_cancelled)
            | u8::from(self.has_run_out) << 1
            | u8::from(self.is_settled) << 2
            | u8::from(self.is_unbegun) << 4
    }

    /// A delivery with these marks, and nothing else.
    pub(super) fn of_marks(marks: u8) -> Self {
        let marked = |mark: u8| marks & mark != 0;
        Self {
            is_cancelled: marked(1),
            has_run_out: marked(2),
            is_settled: marked(4),
            is_unbegun: marked(16),
            ..Self::default()
        }
    }
}

/// The state of an event, and until or since when, in microseconds since the Unix epoch.
pub(super) type Place = (EventState, Timestamp);
