//! The ledger of the Redis test: what was acknowledged to producers and consumers, and
//! whether all of it is consistent. Pure: no server and no clock.

use std::collections::BTreeMap;

/// Nanoseconds of the system's monotonic clock, which all processes share.
pub(crate) type Nanos = u64;

/// One add of one member, as its producer saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) sent: Nanos,
    pub(crate) fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    /// Acknowledged at this time.
    Done(Nanos),
    /// Returned an error which guarantees that nothing was done.
    Refused,
    /// It may or may not have been done.
    Unknown,
}

/// One delivery of one member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delivery {
    /// When the consumer first requested the batch; it may have retried after an error.
    pub(crate) asked: Nanos,
    pub(crate) returned: Nanos,
    /// Whether its commit was acknowledged, before any later delivery was requested.
    pub(crate) committed: bool,
}

/// All that happened to one member of one Ick, each list in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) deliveries: Vec<Delivery>,
}

/// The histories of all members, by Ick and member.
#[derive(Debug, Default)]
pub(crate) struct Ledger(BTreeMap<(usize, String), History>);

impl Ledger {
    pub(crate) fn add(&mut self, ick: usize, member: &str, attempt: Attempt) {
        self.0.entry((ick, member.to_owned())).or_default().attempts.push(attempt);
    }

    pub(crate) fn deliver(&mut self, ick: usize, member: &str, delivery: Delivery) {
        self.0.entry((ick, member.to_owned())).or_default().deliveries.push(delivery);
    }

    /// Checks every history once all Icks are empty.
    ///
    /// # Errors
    /// The first inconsistent history, and why.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        for ((ick, member), history) in &mut self.0 {
            history.attempts.sort_by_key(|attempt| attempt.sent);
            history.deliveries.sort_by_key(|delivery| delivery.returned);
            history.check().map_err(|wrong| {
                format!("member {member} of Ick {ick}: {wrong}\nits history is {history:?}")
            })?;
        }
        Ok(())
    }
}

impl History {
    fn check(&self) -> Result<(), String> {
        self.check_nothing_lost()?;
        self.check_nothing_back()
    }

    /// What was added is delivered after that: it leaves the producer set only for a batch, and
    /// the consumer set only by the commit of a batch that was returned.
    fn check_nothing_lost(&self) -> Result<(), String> {
        let last = self.deliveries.last().map_or(0, |delivery| delivery.returned);
        let is_lost = |add: &&Attempt| matches!(add.fate, Fate::Done(_)) && add.sent > last;
        match self.attempts.iter().find(is_lost) {
            Some(add) => Err(format!("{add:?} was acknowledged and never delivered")),
            None => Ok(()),
        }
    }

    /// What was committed comes back only if it was added again: after each acknowledged commit a
    /// delivery needs an add that can have been done after the batch before was requested.
    fn check_nothing_back(&self) -> Result<(), String> {
        let possible: Vec<_> =
            self.attempts.iter().filter(|add| add.fate != Fate::Refused).collect();
        let mut generations = 0;
        // When the batch was requested that held the member first since the last commit.
        let mut since: Option<Nanos> = None;
        let mut asked_before = 0;
        for delivery in &self.deliveries {
            if since.is_none() {
                generations += 1;
                let explains = |add: &&&Attempt| {
                    let ended = match add.fate {
                        Fate::Done(ended) => ended,
                        Fate::Refused | Fate::Unknown => Nanos::MAX,
                    };
                    add.sent < delivery.returned && ended > asked_before
                };
                if possible.iter().find(explains).is_none() {
                    return Err(format!("nobody added it again before {delivery:?}"));
                }
                asked_before = delivery.asked;
                since = Some(delivery.asked);
            }
            if delivery.committed {
                since = None;
            }
        }
        if generations > possible.len() {
            return Err(format!(
                "it was delivered anew {generations} times and added {} times at most",
                possible.len()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(attempts: &[(Nanos, Fate)], deliveries: &[(Nanos, Nanos, bool)]) -> History {
        History {
            attempts: attempts.iter().map(|&(sent, fate)| Attempt { sent, fate }).collect(),
            deliveries: deliveries
                .iter()
                .map(|&(asked, returned, committed)| Delivery { asked, returned, committed })
                .collect(),
        }
    }

    #[test]
    fn an_acknowledged_add_is_delivered_after_it() {
        let add = [(10, Fate::Done(12))];
        assert!(history(&add, &[(11, 13, true)]).check().is_ok());
        assert!(history(&add, &[]).check().is_err());
        // Delivered before it was dirtied again, and not after.
        let twice = [(10, Fate::Done(12)), (20, Fate::Done(22))];
        assert!(history(&twice, &[(11, 13, true)]).check().is_err());
        assert!(history(&twice, &[(11, 13, true), (21, 23, true)]).check().is_ok());
        // An add with an unknown fate may be lost, one that was refused has to be.
        assert!(history(&[(10, Fate::Unknown)], &[]).check().is_ok());
        assert!(history(&[(10, Fate::Unknown)], &[(11, 13, true)]).check().is_ok());
        assert!(history(&[(10, Fate::Refused)], &[(11, 13, true)]).check().is_err());
    }

    #[test]
    fn a_committed_member_does_not_come_back_by_itself() {
        let add = [(10, Fate::Done(12))];
        assert!(history(&add, &[(11, 13, false), (14, 15, true)]).check().is_ok());
        assert!(history(&add, &[(11, 13, true), (14, 15, true)]).check().is_err());
        // The second add was over before the first batch was requested: folded into the first.
        let folded = [(10, Fate::Done(12)), (13, Fate::Done(14))];
        assert!(history(&folded, &[(15, 16, true), (17, 18, true)]).check().is_err());
        assert!(history(&folded, &[(13, 16, true), (17, 18, true)]).check().is_ok());
    }
}
