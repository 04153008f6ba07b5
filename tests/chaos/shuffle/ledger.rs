//! The ledger of the test: what happened to each message, and whether all of it is
//! consistent. Pure: no server and no clock.

use std::collections::BTreeMap;

use millpond::shuffle::DeadLetter;

use super::lines::{name_of, receipt};
use super::{MAX_DELIVERIES, Outcome};
use crate::ledger::Nanos;

/// The outcome of a write.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Fate {
    /// It may or may not have been done.
    #[default]
    Unknown,
    /// Acknowledged: the message is here.
    Done(String),
    /// Returned an error which guarantees that nothing was done.
    Refused,
}

/// All that happened to one message.
#[derive(Clone, Debug, Default)]
struct History {
    /// Nothing for a message that was not written.
    fate: Option<Fate>,
    /// When a consumer requested it, and where the message was.
    deliveries: Vec<(Nanos, String)>,
    /// When an acknowledgement returned.
    acknowledged: Option<Nanos>,
    /// Where it was when it became a dead letter, and after how many deliveries.
    dead: Option<(String, u64)>,
}

/// The histories of all messages, by name.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<String, History>);

impl Ledger {
    fn of(&mut self, name: &str) -> &mut History {
        self.0.entry(name.to_owned()).or_default()
    }

    pub(super) fn write(&mut self, name: &str, fate: Fate) {
        self.of(name).fate = Some(fate);
    }

    pub(super) fn deliver(&mut self, name: &str, asked: Nanos, receipt: &str) {
        self.of(name).deliveries.push((asked, receipt.to_owned()));
    }

    pub(super) fn acknowledge(&mut self, name: &str, ended: Nanos) {
        let first = self.of(name).acknowledged.map_or(ended, |before| before.min(ended));
        self.of(name).acknowledged = Some(first);
    }

    /// Handles a dead letter.
    ///
    /// # Errors
    /// When it is there twice.
    pub(super) fn bury(&mut self, dead: &DeadLetter) -> Outcome<()> {
        let name = name_of(&dead.message);
        let before = self.of(name).dead.replace((receipt((&dead.message).into()), dead.deliveries));
        before.map_or(Ok(()), |_| Err(format!("{name} is a dead letter twice")))
    }

    /// Checks every history once all is done.
    ///
    /// # Errors
    /// The first inconsistent history, and why.
    pub(super) fn check(&self) -> Outcome<()> {
        for (name, history) in &self.0 {
            let is_poison = name.starts_with('p');
            history
                .check(is_poison)
                .map_err(|wrong| format!("message {name} {wrong}\nits history is {history:?}"))?;
        }
        Ok(())
    }

    /// The summary, in words.
    pub(super) fn counts(&self) -> String {
        let count = |is: fn(&History) -> bool| self.0.values().filter(|h| is(h)).count();
        let is_done = |h: &History| matches!(h.fate, Some(Fate::Done(_)));
        let is_seen = |h: &History| !h.deliveries.is_empty() || h.dead.is_some();
        let unknown: Vec<_> =
            self.0.values().filter(|h| h.fate == Some(Fate::Unknown)).map(is_seen).collect();
        format!(
            "{} writes acknowledged, {} in flight kept, {} in flight lost, {} refused; {} \
             deliveries, {} messages delivered again, {} acknowledgements returned, {} dead letters",
            self.0.values().filter(|h| is_done(h)).count(),
            unknown.iter().filter(|seen| **seen).count(),
            unknown.iter().filter(|seen| !**seen).count(),
            count(|h| h.fate == Some(Fate::Refused)),
            self.0.values().map(|h| h.deliveries.len()).sum::<usize>(),
            count(|h| h.deliveries.len() > 1),
            count(|h| h.acknowledged.is_some()),
            count(|h| h.dead.is_some()),
        )
    }
}

impl History {
    fn check(&self, is_poison: bool) -> Outcome<()> {
        let is_seen = !self.deliveries.is_empty() || self.dead.is_some();
        let wrong = |what: &str| Err(what.to_owned());
        let mut places: Vec<&str> = self.deliveries.iter().map(|(_, place)| &**place).collect();
        places.extend(self.dead.iter().map(|(place, _)| &**place));
        match &self.fate {
            None => return wrong("was never written"),
            Some(Fate::Refused) if is_seen => return wrong("was refused and is there"),
            Some(Fate::Done(_)) if !is_seen => return wrong("was acknowledged and is lost"),
            Some(Fate::Done(place)) => places.push(place),
            Some(_) => {}
        }
        if places.windows(2).any(|pair| pair[0] != pair[1]) {
            return wrong("was in several places");
        }
        let after = self.acknowledged.unwrap_or(Nanos::MAX);
        if self.deliveries.iter().any(|(asked, _)| *asked > after) {
            return wrong("came back after it was acknowledged");
        }
        if self.deliveries.len() as u64 > MAX_DELIVERIES {
            return wrong("was delivered too often");
        }
        match &self.dead {
            Some(_) if self.acknowledged.is_some() => wrong("is acknowledged and a dead letter"),
            Some((_, deliveries)) if *deliveries != MAX_DELIVERIES => {
                wrong("is a dead letter too early or too late")
            }
            None if is_poison && is_seen => wrong("is poison and no dead letter"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(fate: Fate, deliveries: &[(Nanos, &str)], acknowledged: Option<Nanos>) -> History {
        let deliveries = deliveries.iter().map(|(asked, place)| (*asked, (*place).to_owned()));
        History { fate: Some(fate), deliveries: deliveries.collect(), acknowledged, dead: None }
    }

    fn done() -> Fate {
        Fate::Done("1:5-0".to_owned())
    }

    #[test]
    fn what_was_written_comes_from_where_it_is_until_it_is_acknowledged() {
        assert!(history(done(), &[(10, "1:5-0")], Some(12)).check(false).is_ok());
        assert!(history(done(), &[(10, "1:5-0"), (11, "1:5-0")], Some(12)).check(false).is_ok());
        assert!(history(done(), &[], None).check(false).is_err());
        assert!(history(done(), &[(10, "2:5-0")], Some(12)).check(false).is_err());
        assert!(history(done(), &[(10, "1:5-0"), (13, "1:5-0")], Some(12)).check(false).is_err());
        assert!(history(Fate::Unknown, &[], None).check(false).is_ok());
        assert!(history(Fate::Refused, &[], None).check(false).is_ok());
        assert!(history(Fate::Refused, &[(10, "1:5-0")], None).check(false).is_err());
        let nobodys = History { fate: None, ..history(done(), &[(10, "1:5-0")], None) };
        assert!(nobodys.check(false).is_err());
    }

    #[test]
    fn dead_letters_are_those_that_were_delivered_often_enough() {
        let often = vec![(10, "1:5-0"); MAX_DELIVERIES as usize];
        let with = |dead| History { dead, ..history(done(), &often, None) };
        let place = || "1:5-0".to_owned();
        assert!(with(Some((place(), MAX_DELIVERIES))).check(true).is_ok());
        assert!(with(Some((place(), MAX_DELIVERIES - 1))).check(true).is_err());
        assert!(with(None).check(true).is_err());
        assert!(with(None).check(false).is_ok());
        let mut both = with(Some((place(), MAX_DELIVERIES)));
        both.acknowledged = Some(20);
        assert!(both.check(false).is_err());
        let mut more = with(Some((place(), MAX_DELIVERIES)));
        more.deliveries.push((11, place()));
        assert!(more.check(true).is_err());
    }
}
