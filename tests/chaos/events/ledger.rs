//! What is known of every event, and whether that can be.

use std::collections::{BTreeMap, BTreeSet};

use super::Outcome;

/// A time of [`crate::clock::now`].
pub(super) type Nanos = u64;

/// How a publishing ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Fate {
    /// It may have been done or not.
    #[default]
    Unknown,
    Done,
    Refused,
}

/// A delivery: when it was asked for and there, and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) asked: Nanos,
    pub(super) got: Nanos,
    pub(super) attempt: u64,
}

#[derive(Clone, Debug, Default)]
struct History {
    fate: Fate,
    /// Empty for none, and when it is not known.
    key: String,
    /// Where it is in the order of its key; its id is at the end.
    place: String,
    deliveries: Vec<Delivery>,
    /// When the first acknowledgement was sent that may have counted.
    sent: Option<Nanos>,
    /// When the first one returned that did.
    acknowledged: Option<Nanos>,
}

/// All events by their names, and when the queue was paused.
#[derive(Default)]
pub(super) struct Ledger {
    events: BTreeMap<String, History>,
    /// When calls that pause the queue had returned.
    paused: BTreeSet<Nanos>,
    /// When calls that resume it were sent.
    resumed: BTreeSet<Nanos>,
}

impl Ledger {
    fn of(&mut self, name: &str) -> &mut History {
        self.events.entry(name.to_owned()).or_default()
    }

    pub(super) fn publish(&mut self, name: &str, fate: Fate) {
        self.of(name).fate = fate;
    }

    pub(super) fn deliver(&mut self, name: &str, key: &str, place: &str, delivery: Delivery) {
        let history = self.of(name);
        (history.key, history.place) = (key.to_owned(), place.to_owned());
        history.deliveries.push(delivery);
    }

    pub(super) fn end(&mut self, name: &str, sent: Nanos) {
        let first = &mut self.of(name).sent;
        *first = Some(first.map_or(sent, |first| first.min(sent)));
    }

    pub(super) fn acknowledge(&mut self, name: &str, ended: Nanos) {
        let first = &mut self.of(name).acknowledged;
        *first = Some(first.map_or(ended, |first| first.min(ended)));
    }

    pub(super) fn pause(&mut self, paused: Nanos) {
        self.paused.insert(paused);
    }

    pub(super) fn resume(&mut self, sent: Nanos) {
        self.resumed.insert(sent);
    }

    /// The pause, if any, in which this was delivered: both its step and the reply lie in it.
    fn pause_of(&self, delivery: &Delivery) -> Option<(Nanos, Nanos)> {
        let paused = *self.paused.range(..delivery.asked).next_back()?;
        let resumed = *self.resumed.range(paused..).next()?;
        (delivery.got < resumed).then_some((paused, resumed))
    }

    /// How many there are of each kind.
    pub(super) fn counts(&self) -> String {
        let count = |is: fn(&History) -> bool| self.events.values().filter(|one| is(one)).count();
        format!(
            "{} events: {} acknowledged, {} refused, {} unknown; {} deliveries, {} events more than once; {} pauses",
            self.events.len(),
            count(|one| one.fate == Fate::Done),
            count(|one| one.fate == Fate::Refused),
            count(|one| one.fate == Fate::Unknown),
            self.events.values().map(|one| one.deliveries.len()).sum::<usize>(),
            count(|one| one.deliveries.len() > 1),
            self.paused.len(),
        )
    }

    /// Whether all of it can be, once nothing is left in the queue.
    pub(super) fn check(&self) -> Outcome<()> {
        let mut keys: BTreeMap<&str, BTreeMap<&str, (&str, &History)>> = BTreeMap::new();
        for (name, history) in &self.events {
            history.check().map_err(|wrong| format!("{name}: {wrong}: {history:?}"))?;
            if let Some(pause) = history.deliveries.iter().find_map(|one| self.pause_of(one)) {
                return Err(format!("{name} was delivered in a pause, {pause:?}: {history:?}"));
            }
            if !history.key.is_empty() {
                keys.entry(&history.key).or_default().insert(&history.place, (name, history));
            }
        }
        for of_key in keys.values() {
            for ((_, (earlier, first)), (_, (later, second))) in
                of_key.iter().zip(of_key.iter().skip(1))
            {
                let got = second.deliveries.iter().map(|delivery| delivery.got).min();
                if got < first.sent {
                    return Err(format!(
                        "{later} came before {earlier} of its key had ended: {first:?}, {second:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl History {
    fn check(&self) -> Outcome<()> {
        let wrong = |wrong: &str| Err(wrong.to_owned());
        if self.fate == Fate::Done && self.deliveries.is_empty() {
            return wrong("it was acknowledged and lost");
        }
        if self.fate == Fate::Refused && !self.deliveries.is_empty() {
            return wrong("it was refused and delivered");
        }
        if !self.deliveries.is_empty() && self.sent.is_none() {
            return wrong("it is gone, and nobody acknowledged it");
        }
        let attempts: BTreeSet<_> = self.deliveries.iter().map(|one| one.attempt).collect();
        if attempts.len() < self.deliveries.len() {
            return wrong("two consumers had the same delivery");
        }
        let is_late = |ended| self.deliveries.iter().any(|delivery| delivery.asked > ended);
        if self.acknowledged.is_some_and(is_late) {
            return wrong("it was acknowledged, and came again");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(asked: Nanos, attempt: u64) -> Delivery {
        Delivery { asked, got: asked + 1, attempt }
    }

    /// Two events of a key, one after the other.
    fn right() -> Ledger {
        let mut ledger = Ledger::default();
        for (name, place, at) in [("a", "1", 10), ("b", "2", 20)] {
            ledger.publish(name, Fate::Done);
            ledger.deliver(name, "k", place, delivery(at, 1));
            ledger.end(name, at + 3);
            ledger.acknowledge(name, at + 5);
        }
        ledger
    }

    #[test]
    fn it_finds_what_it_is_for() {
        right().check().expect("nothing is wrong");
        let is_wrong = |change: fn(&mut Ledger)| {
            let mut ledger = right();
            change(&mut ledger);
            ledger.check().expect_err("something is wrong")
        };
        is_wrong(|ledger| ledger.publish("lost", Fate::Done));
        is_wrong(|ledger| ledger.publish("a", Fate::Refused));
        is_wrong(|ledger| ledger.deliver("a", "k", "1", delivery(16, 2)));
        is_wrong(|ledger| ledger.deliver("a", "k", "1", delivery(11, 1)));
        is_wrong(|ledger| ledger.deliver("b", "k", "2", delivery(11, 2)));
        is_wrong(|ledger| ledger.deliver("unended", "", "3", delivery(11, 1)));
        is_wrong(|ledger| {
            ledger.pause(9);
            ledger.resume(12);
        });
    }
}
