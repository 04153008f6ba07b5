//! Scan: tracked messages whose deadline has passed, page by page.

use super::{Keys, State, TrackKeys};
use crate::error::{Result, invalid};
use crate::shuffle::head;
use crate::shuffle::name::Name;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// About how many entries a page looks at.
pub(super) const PAGE: usize = 500;

/// The most digits of a time in seconds, for [`Garbage::time_digits`](super::Garbage::time_digits): enough for the next
/// 260 years.
pub const TIME_DIGITS_MAX: u8 = 10;

/// Finds a page of tracked messages whose deadline has passed; deletes nothing.
#[derive(Clone, Debug)]
pub struct ScanExpired {
    keys: Keys,
    cursor: Vec<u8>,
    digits: u8,
}

/// A page of what [`ScanExpired`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Where the next page begins; empty if this was the last.
    pub cursor: Vec<u8>,
    /// How many entries were examined.
    pub scanned: u64,
    /// Those whose deadline has passed.
    pub expiries: Vec<Expiry>,
}

/// A value whose deadline has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The value.
    pub value: Vec<u8>,
    /// The deadline as it is stored.
    pub deadline: Vec<u8>,
    /// Whether the value's record still has this deadline, so that it was neither deleted nor written again.
    pub is_current: bool,
}

impl ScanExpired {
    /// Continues after `cursor`, which is empty at first. With `digits`, 1 to 10, only deadlines count that share this
    /// many leading digits with the current time; `None` does not restrict them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and for other `digits`.
    pub fn new(
        name: impl AsRef<[u8]>,
        track_keys: TrackKeys,
        cursor: impl Into<Vec<u8>>,
        digits: Option<u8>,
    ) -> Result<Self> {
        Self::of(&Name::new(name.as_ref())?, track_keys, cursor.into(), digits)
    }

    pub(super) fn of(
        name: &Name,
        track_keys: TrackKeys,
        cursor: Vec<u8>,
        digits: Option<u8>,
    ) -> Result<Self> {
        if digits.is_some_and(|digits| !(1..=TIME_DIGITS_MAX).contains(&digits)) {
            return Err(invalid(format!("a time has 1 to {TIME_DIGITS_MAX} first digits")));
        }
        let keys = Keys::of(name, track_keys);
        Ok(Self { keys, cursor, digits: digits.unwrap_or(0) })
    }
}

impl Operation for ScanExpired {
    head!("shuffle.scan_expired", State, keys, ["tracking.lua", "scan_expired.lua"]);
    type Output = Expired;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.cursor);
        args.push(self.digits.to_string().as_bytes());
        args.push(PAGE.to_string().as_bytes());
        Invocation { script: Self::script(), keys: self.keys.all(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Expired> {
        let mut replies = reply.list()?;
        let (cursor, scanned) = (replies.next()?.bytes()?, replies.next()?.number()?);
        let expiries = replies.all(usize::MAX, |replies| {
            Ok(Expiry {
                value: replies.next()?.bytes()?,
                deadline: replies.next()?.bytes()?,
                is_current: replies.next()?.flag()?,
            })
        })?;
        Ok(Expired { cursor, scanned, expiries })
    }

    fn apply(self, state: &State, context: &mut StepContext<'_>) -> Result<Expired> {
        context.mark_evictable();
        let now = context.now() / 1_000_000;
        let prefix = now.to_string();
        let prefix = &prefix[..prefix.len().min(self.digits.into())];
        let (tracked, _) = state.open(context);
        tracked.scan(&self.cursor, prefix, now as i64, PAGE)
    }
}
