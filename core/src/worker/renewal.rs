//! When a lease is renewed: a state machine without I/O. Its inputs are results and the time; its output is what to
//! do next.
//!
//! One policy for all leases:
//! - The interval is a third of the lease. The first renewal is due one interval after the lease was taken, each
//!   later one an interval after the last successful one was sent.
//! - A renewal that failed with a retryable error is tried again a tenth of the lease later.
//! - A renewal that was refused while the leased item was being changed is sent again after a few milliseconds:
//!   otherwise a holder that makes changes all the time would lose the lease.
//! - A lease is lost when a renewal is refused, or when none has succeeded for a whole lease. A lost lease stays lost
//!   and is not renewed: its holder may have stopped working.
//! - After a renewal whose result was lost, a later refusal may be due to a version that this renewal itself has
//!   changed. So the leased item is looked up before it is given up, and before its last version is used.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::term::Term;
use crate::error::Retry;

/// How long to wait before resending a renewal that was refused while the leased item was being changed.
const DISTURBED_PAUSE: Duration = Duration::from_millis(10);

/// The result of a renewal, or of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The lease is held.
    Held,
    /// It is not held, or not at the version known here.
    Refused,
    /// The call failed.
    Failed(Retry),
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Renew at this time.
    Renew(Instant),
    /// Look up the leased item now.
    Check,
    Nothing,
}

/// When the last version of the leased item is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Now,
    /// When the call in progress has its result.
    Later,
    /// When the item has been looked up.
    AfterCheck,
}

pub(super) struct Renewal {
    term: Arc<Term>,
    /// From one renewal to the next.
    interval: Duration,
    /// A renewal or a check is in progress.
    is_busy: bool,
    /// How many changes of the leased item are in progress.
    changes: usize,
    /// The leased item was being changed while the renewal was in progress.
    is_disturbed: bool,
    /// The result of a renewal was lost: the versions may be higher than those known.
    is_unsure: bool,
    /// No renewal begins any more.
    is_ended: bool,
}

impl Renewal {
    pub(super) fn new(term: Arc<Term>, interval: Duration) -> Self {
        let (is_busy, is_disturbed, is_unsure, is_ended) = (false, false, false, false);
        Self { term, interval, is_busy, changes: 0, is_disturbed, is_unsure, is_ended }
    }

    /// What to do when the lease has been taken.
    pub(super) fn first(&self) -> Next {
        Next::Renew(self.term.taken + self.interval)
    }

    /// Whether to send a renewal now that it is due.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        let is_due = !self.is_ended && !self.is_lost(now);
        self.is_busy |= is_due;
        self.is_disturbed = self.changes > 0;
        is_due
    }

    fn is_lost(&self, now: Instant) -> bool {
        let is_over = self.term.is_over(now);
        if is_over {
            self.term.refused();
        }
        is_over
    }

    /// Handles the result of a renewal that was sent at this time.
    pub(super) fn handle(&mut self, sent: Instant, now: Instant, outcome: Outcome) -> Next {
        let soon = Next::Renew(now + self.term.length / 10);
        let next = match outcome {
            _ if !self.is_ended && self.is_lost(now) => Next::Nothing,
            Outcome::Held => {
                self.term.renewed(sent);
                self.is_unsure = false;
                Next::Renew(sent + self.interval)
            }
            Outcome::Refused if self.is_unsure => return Next::Check,
            // The leased item may have been newer than the renewal knew; its version is known by now, or will be
            // shortly.
            Outcome::Refused if self.is_disturbed => {
                Next::Renew(now + DISTURBED_PAUSE.min(self.term.length / 10))
            }
            Outcome::Refused => self.lost(),
            // It would always fail, as on a client that is closed.
            Outcome::Failed(Retry::Never) => Next::Nothing,
            Outcome::Failed(retry) => {
                self.is_unsure |= retry == Retry::Unknown;
                if self.is_unsure && self.is_ended {
                    return Next::Check;
                }
                soon
            }
        };
        self.unless_ended(next)
    }

    /// Handles the result of a check.
    pub(super) fn handle_check(&mut self, now: Instant, outcome: Outcome) -> Next {
        let next = match outcome {
            _ if self.is_lost(now) => Next::Nothing,
            Outcome::Refused => self.lost(),
            Outcome::Failed(Retry::Never) => Next::Nothing,
            outcome => {
                self.is_unsure &= outcome != Outcome::Held;
                Next::Renew(now + self.term.length / 10)
            }
        };
        self.unless_ended(next)
    }

    fn lost(&self) -> Next {
        self.term.refused();
        Next::Nothing
    }

    fn unless_ended(&mut self, next: Next) -> Next {
        self.is_busy = false;
        if self.is_ended { Next::Nothing } else { next }
    }

    /// A change of the leased item begins. Until it has ended, a refusal does not end the lease.
    pub(super) fn begin_change(&mut self) {
        self.changes += 1;
        self.is_disturbed = true;
    }

    pub(super) fn end_change(&mut self) {
        self.changes -= 1;
    }

    /// Ends the renewals. Returns whether they had been running until now.
    pub(super) fn stop(&mut self) -> bool {
        !std::mem::replace(&mut self.is_ended, true)
    }

    /// Ends the renewals, for a caller that needs the last version of the leased item.
    pub(super) fn end(&mut self) -> Known {
        self.stop();
        match (self.is_busy, self.is_unsure) {
            (true, _) => Known::Later,
            (false, false) => Known::Now,
            (false, true) => {
                self.is_busy = true;
                Known::AfterCheck
            }
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A lease of 30 s, and the time, which the tests set.
    struct Case {
        term: Arc<Term>,
        renewal: Renewal,
        start: Instant,
    }

    impl Case {
        fn begin() -> Self {
            let start = Instant::now();
            let term = Arc::new(Term::new(Duration::from_secs(30), start));
            Self { renewal: Renewal::new(term.clone(), term.length / 3), term, start }
        }

        fn at(&self, seconds: u64) -> Instant {
            self.start + Duration::from_secs(seconds)
        }

        /// A renewal that is sent and has its result at these times.
        fn renew(&mut self, sent: u64, now: u64, outcome: Outcome) -> Next {
            assert!(self.renewal.begin(self.at(sent)));
            self.renewal.handle(self.at(sent), self.at(now), outcome)
        }

        fn is_lost(&self, seconds: u64) -> bool {
            self.term.is_over(self.at(seconds))
        }
    }

    const FAILED: Outcome = Outcome::Failed(Retry::Later);
    const RESULT_LOST: Outcome = Outcome::Failed(Retry::Unknown);

    #[test]
    fn it_is_renewed_three_times_a_lease() {
        let mut case = Case::begin();
        assert_eq!(case.renewal.first(), Next::Renew(case.at(10)));
        assert_eq!(case.renew(10, 12, Outcome::Held), Next::Renew(case.at(20)));
        assert_eq!(case.renew(20, 35, Outcome::Held), Next::Renew(case.at(30)), "which is now");
        assert_eq!((case.is_lost(49), case.is_lost(50)), (false, true));
    }

    #[test]
    fn a_renewal_that_failed_is_tried_again_after_a_tenth() {
        let mut case = Case::begin();
        for (sent, again) in [(10, 14), (14, 18)] {
            assert_eq!(case.renew(sent, sent + 1, FAILED), Next::Renew(case.at(again)));
        }
        assert_eq!((case.is_lost(29), case.is_lost(30)), (false, true), "none for a whole lease");
        let never = Outcome::Failed(Retry::Never);
        assert_eq!(case.renew(18, 18, never), Next::Nothing);
    }

    #[test]
    fn what_is_lost_stays_lost() {
        let mut case = Case::begin();
        assert_eq!(case.renew(29, 30, Outcome::Held), Next::Nothing);
        assert!(case.is_lost(30) && !case.renewal.begin(case.at(31)));

        let mut case = Case::begin();
        assert!(!case.renewal.begin(case.at(30)));
        assert_eq!(case.renewal.end(), Known::Now);
    }

    #[test]
    fn it_is_lost_when_refused() {
        let mut case = Case::begin();
        assert_eq!(case.renew(10, 10, Outcome::Refused), Next::Nothing);
        assert!(case.is_lost(10));
    }

    #[test]
    fn a_refusal_after_a_lost_result_is_checked() {
        for (outcome, next) in
            [(Outcome::Held, Some(16)), (FAILED, Some(16)), (Outcome::Refused, None)]
        {
            let mut case = Case::begin();
            assert_eq!(case.renew(10, 10, RESULT_LOST), Next::Renew(case.at(13)));
            assert_eq!(case.renew(13, 13, Outcome::Refused), Next::Check);
            let next = next.map_or(Next::Nothing, |seconds| Next::Renew(case.at(seconds)));
            assert_eq!(case.renewal.handle_check(case.at(13), outcome), next);
            assert_eq!(case.is_lost(13), next == Next::Nothing);
            if next != Next::Nothing {
                // A version that is not known yet is checked again.
                let refused = case.renew(16, 16, Outcome::Refused);
                assert_eq!(refused == Next::Check, outcome == FAILED);
            }
        }
    }

    #[test]
    fn a_success_after_a_lost_result_needs_no_check() {
        let mut case = Case::begin();
        case.renew(10, 10, RESULT_LOST);
        case.renew(13, 13, Outcome::Held);
        assert_eq!(case.renew(23, 23, Outcome::Refused), Next::Nothing);
    }

    #[test]
    fn a_refusal_during_a_change_means_nothing() {
        let mut case = Case::begin();
        assert!(case.renewal.begin(case.at(9)));
        case.renewal.begin_change();
        case.renewal.end_change();
        let (now, soon) = (case.at(10), Next::Renew(case.at(10) + DISTURBED_PAUSE));
        assert_eq!(case.renewal.handle(now, now, Outcome::Refused), soon);
        assert_eq!(case.renew(13, 13, Outcome::Refused), Next::Nothing);
    }

    #[test]
    fn after_the_end_nothing_is_renewed() {
        let mut case = Case::begin();
        assert!(case.renewal.begin(case.at(9)));
        assert_eq!(case.renewal.end(), Known::Later);
        let now = case.at(10);
        assert_eq!(case.renewal.handle(now, now, Outcome::Held), Next::Nothing);
        assert_eq!((case.renewal.begin(now), case.renewal.stop()), (false, false));
        assert_eq!(case.renewal.end(), Known::Now);
    }

    #[test]
    fn the_end_knows_the_version_after_a_lost_result() {
        let mut case = Case::begin();
        case.renew(10, 10, RESULT_LOST);
        assert_eq!(case.renewal.end(), Known::AfterCheck);
        assert_eq!(case.renewal.end(), Known::Later, "one check is enough");
        assert_eq!(case.renewal.handle_check(case.at(11), Outcome::Held), Next::Nothing);
        assert_eq!(case.renewal.end(), Known::Now);

        let mut case = Case::begin();
        assert!(case.renewal.begin(case.at(9)));
        assert_eq!(case.renewal.end(), Known::Later);
        let now = case.at(10);
        assert_eq!(case.renewal.handle(now, now, RESULT_LOST), Next::Check);
    }
}
