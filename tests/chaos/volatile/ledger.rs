//! What is known of every lock that was taken, and whether that can be.

use std::collections::BTreeMap;

use super::{Outcome, TTL, micros};

/// A time of the server, in microseconds since the Unix epoch.
pub(super) type Micros = u64;

/// A lock from its acquire to its end.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    place: String,
    name: String,
    is_native: bool,
    /// Between these it was taken.
    acquired: [Micros; 2],
    /// At this time or later a call of the holder succeeded for the last time.
    confirmed: Micros,
    /// At least until then it is held, unless it was released.
    held_until: Micros,
    /// At this time it has expired, if the library does not renew it.
    expired_at: Micros,
    /// Whether a release was sent.
    is_released: bool,
    /// How often the holder set the value, renewed the lock, was refused, and released it.
    sets: u64,
    renewals: u64,
    refusals: u64,
    releases: u64,
    /// The fence of the value that it found.
    seen: Option<u64>,
    /// The first thing that cannot be.
    wrong: Option<&'static str>,
}

impl Hold {
    fn is_wrong(&mut self, wrong: &'static str) {
        self.wrong.get_or_insert(wrong);
    }

    fn confirm(&mut self, before: Micros) {
        if self.refusals > 0 {
            self.is_wrong("it was refused, and then confirmed");
        }
        if !self.is_native && before > self.expired_at {
            self.is_wrong("it was confirmed after its time to live");
        }
        self.confirmed = self.confirmed.max(before);
    }

    pub(super) fn see(&mut self, fence: u64) {
        self.seen = Some(fence);
    }

    pub(super) fn set(&mut self, before: Micros) {
        self.confirm(before);
        self.sets += 1;
    }

    pub(super) fn renew(&mut self, before: Micros, after: Micros) {
        self.confirm(before);
        self.held_until = before + micros(TTL);
        self.expired_at = after.saturating_add(micros(TTL));
        self.renewals += 1;
    }

    pub(super) fn refuse(&mut self, after: Micros) {
        if after < self.held_until && !self.is_released {
            self.is_wrong("it was refused before its time to live was over");
        }
        self.refusals += 1;
    }

    pub(super) fn begin_release(&mut self) {
        self.is_released = true;
    }

    pub(super) fn release(&mut self, before: Micros) {
        self.confirm(before);
        self.releases += 1;
    }
}

/// A process that was stopped for longer than the time to live of its locks.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    /// The name of the process; its threads have its name, a dot and a number.
    pub(super) name: String,
    /// When it stood still, and just before it was resumed.
    pub(super) stopped: Micros,
    pub(super) resumed: Micros,
}

/// All locks, by their hashes and fences.
#[derive(Default)]
pub(super) struct Ledger {
    hashes: BTreeMap<String, BTreeMap<u64, Hold>>,
    pub(super) stops: Vec<Stop>,
    /// The first fence that was given twice.
    twice: Option<String>,
}

impl Ledger {
    pub(super) fn acquire(
        &mut self,
        place: &str,
        fence: u64,
        acquired: [Micros; 2],
        name: &str,
        is_native: bool,
    ) {
        let hash = place.split('/').next().unwrap_or_default();
        let [before, after] = acquired;
        let hold = Hold {
            place: place.to_owned(),
            name: name.to_owned(),
            is_native,
            acquired,
            confirmed: before,
            held_until: before + micros(TTL),
            expired_at: after.saturating_add(micros(TTL)),
            is_released: false,
            sets: 0,
            renewals: 0,
            refusals: 0,
            releases: 0,
            seen: None,
            wrong: None,
        };
        let earlier = self.hashes.entry(hash.to_owned()).or_default().insert(fence, hold.clone());
        if let Some(earlier) = earlier {
            let twice = || format!("the fence {fence} was given twice: {earlier:?}, {hold:?}");
            self.twice.get_or_insert_with(twice);
        }
    }

    /// The lock of this place with this fence, which was taken.
    pub(super) fn hold(&mut self, place: &str, fence: u64) -> Option<&mut Hold> {
        let hash = place.split('/').next()?;
        self.hashes.get_mut(hash)?.get_mut(&fence)
    }

    fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.hashes.values().flat_map(BTreeMap::values)
    }

    /// How many there are of each kind.
    pub(super) fn counts(&self) -> String {
        let sum = |of: fn(&Hold) -> u64| self.holds().map(of).sum::<u64>();
        format!(
            "acquired {} locks of {} hashes, {} of them renewed by the library; {} sets, {} renewals, {} releases; \
             refused {} holders",
            self.holds().count(),
            self.hashes.len(),
            sum(|hold| u64::from(hold.is_native)),
            sum(|hold| hold.sets),
            sum(|hold| hold.renewals),
            sum(|hold| hold.releases),
            sum(|hold| u64::from(hold.refusals > 0)),
        )
    }

    /// Whether all of it can be.
    pub(super) fn check(&self) -> Outcome<()> {
        if let Some(twice) = &self.twice {
            return Err(twice.clone());
        }
        for (hash, holds) in &self.hashes {
            check_hash(holds).map_err(|wrong| format!("in the hash {hash}: {wrong}"))?;
        }
        self.stops.iter().try_for_each(|stop| self.check_stop(stop))
    }

    /// Whether a process that was stopped lost all it held.
    fn check_stop(&self, stop: &Stop) -> Outcome<()> {
        for (fence, hold) in self.hashes.values().flatten() {
            let is_of = hold.name.split('.').next() == Some(&stop.name);
            if is_of && *fence <= stop.stopped && hold.confirmed >= stop.resumed {
                return Err(format!("after {stop:?} the holder with {fence} went on: {hold:?}"));
            }
        }
        Ok(())
    }
}

/// The last holder of a field so far.
#[derive(Default)]
struct Place {
    fence: u64,
    /// Until when earlier ones surely held it.
    held_until: Micros,
    /// The last fence with which the value was set.
    set: u64,
}

fn check_hash(holds: &BTreeMap<u64, Hold>) -> Outcome<()> {
    let mut places: BTreeMap<&str, Place> = BTreeMap::new();
    // The latest time before which no earlier one was taken.
    let mut latest = 0;
    for (fence, hold) in holds {
        let wrong = |wrong: &str| Err(format!("{fence}: {wrong}: {hold:?}"));
        let [before, after] = hold.acquired;
        if let Some(what) = hold.wrong {
            return wrong(what);
        }
        if *fence < before {
            return wrong("the fence is less than the time");
        }
        if after < latest {
            return wrong("one that was taken later has a lower fence");
        }
        latest = latest.max(before);
        let place = places.entry(&hold.place).or_default();
        if *fence < place.held_until {
            let until = place.held_until;
            let earlier = holds.get(&place.fence);
            return wrong(&format!("another one held it until {until}, such as {earlier:?}"));
        }
        if hold.seen.is_some_and(|seen| seen >= *fence) {
            return wrong("it found the value of a later holder");
        }
        if hold.seen.is_some_and(|seen| seen < place.set) {
            return wrong(&format!("it found a value older than that of {}", place.set));
        }
        let held_until =
            if hold.is_released { hold.confirmed } else { hold.confirmed.max(hold.held_until) };
        place.held_until = place.held_until.max(held_until);
        place.fence = *fence;
        if hold.sets > 0 {
            place.set = *fence;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL_US: u64 = TTL.as_micros() as u64;

    /// Three holders of a field, one after the other: one that released the lock, one that was killed, and one that is
    /// slower than its lock lives.
    fn right() -> Ledger {
        let mut ledger = Ledger::default();
        let first = hold(&mut ledger, "h/a", 1_000);
        first.set(1_100);
        first.renew(1_200, 1_210);
        first.begin_release();
        first.release(1_300);
        hold(&mut ledger, "h/a", 2_000).set(2_100);
        let third = hold(&mut ledger, "h/a", 3_000 + TTL_US);
        third.set(4_000 + TTL_US);
        third.see(2_000);
        third.refuse(4_000 + 2 * TTL_US);
        hold(&mut ledger, "h/b", 3_500 + TTL_US);
        ledger
    }

    fn hold<'a>(ledger: &'a mut Ledger, place: &str, fence: u64) -> &'a mut Hold {
        ledger.acquire(place, fence, [fence - 5, fence + 5], "7.1", false);
        ledger.hold(place, fence).expect("it was taken")
    }

    #[test]
    fn it_finds_what_it_is_for() {
        right().check().expect("nothing is wrong");
        let is_wrong = |change: fn(&mut Ledger)| {
            let mut ledger = right();
            change(&mut ledger);
            ledger.check().expect_err("something is wrong")
        };
        is_wrong(|ledger| _ = hold(ledger, "h/b", 2_000));
        is_wrong(|ledger| ledger.acquire("h/b", 10, [20, 30], "8", false));
        is_wrong(|ledger| ledger.acquire("h/b", 9_000 + TTL_US, [500, 600], "8", false));
        // Before the one that was killed has lost it, and while the first was still there.
        is_wrong(|ledger| _ = hold(ledger, "h/a", 2_500));
        is_wrong(|ledger| ledger.hold("h/a", 1_000).expect("it is the first").set(2_005));
        is_wrong(|ledger| _ = hold(ledger, "h/a", 4_000 + TTL_US));
        let wrong: [fn(&mut Hold); 5] = [
            |hold| hold.set(4_000 + 2 * TTL_US),
            |hold| hold.renew(3_001 + TTL_US, 3_002 + TTL_US),
            |hold| hold.refuse(3_001 + TTL_US),
            |hold| hold.see(1_000),
            |hold| hold.see(9_000 + TTL_US),
        ];
        for change in wrong {
            let mut ledger = right();
            change(ledger.hold("h/a", 3_000 + TTL_US).expect("it is the third"));
            ledger.check().expect_err("something is wrong");
        }
        is_wrong(|ledger| {
            let (stopped, resumed) = (2_050, 2_100);
            ledger.stops.push(Stop { name: "7".to_owned(), stopped, resumed });
        });
    }
}
