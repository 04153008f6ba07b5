//! What producers and consumers print, a line for each thing that happens.
//!
//! | line | meaning |
//! | --- | --- |
//! | `i CALL NAME…` | a publishing of these events was sent |
//! | `a CALL` | it was acknowledged |
//! | `e CALL KIND` | it returned an error |
//! | `g ASKED GOT NAME@KEY@PLACE@ATTEMPT…` | a consumer that asked then got these |
//! | `s SENT NAME…` | it is about to acknowledge these |
//! | `d ENDED NAME…` | it has acknowledged these |
//! | `l NAME…` | others had these by then, or had ended them |
//! | `x KIND` | a consumer or an operator got an error |
//! | `p PAUSED` | the queue was paused by then |
//! | `r SENT` | it is about to be resumed |
//!
//! A place is the time at which an event fires and its id. Times are nanoseconds of [`crate::clock::now`].

use std::collections::BTreeMap;

use millpond::events::Event;

use super::ledger::{Delivery, Fate, Ledger};
use crate::children::Hear;

pub(super) fn name_of(event: &Event) -> &str {
    str::from_utf8(&event.payload).expect("a payload is a name")
}

pub(super) fn names<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    events.into_iter().map(name_of).collect::<Vec<_>>().join(" ")
}

pub(super) fn delivered(batch: &[Event]) -> String {
    let word = |event: &Event| {
        let key = String::from_utf8_lossy(&event.key);
        // Attempts begin anew when a dead letter is redriven.
        let attempt = u64::from(event.redriven) << 16 | u64::from(event.attempts);
        format!("{}@{key}@{:020}-{}@{attempt}", name_of(event), event.fire_at_us, event.id)
    };
    batch.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The output of all, combined.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) ledger: Ledger,
    pub(super) errors: BTreeMap<String, u64>,
    /// Ends that came too late.
    pub(super) late: u64,
}

impl Hear for Heard {
    fn line<'a>(
        &mut self,
        line: &'a str,
        calls: &mut BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Option<()> {
        let mut words = line.split(' ');
        match words.next()? {
            "i" => {
                let call = words.next()?;
                let names: Vec<_> = words.collect();
                names.iter().for_each(|name| self.ledger.publish(name, Fate::Unknown));
                calls.insert(call, names);
            }
            "a" => {
                let names = calls.remove(words.next()?)?;
                names.iter().for_each(|name| self.ledger.publish(name, Fate::Done));
            }
            "e" => {
                let names = calls.remove(words.next()?)?;
                let kind = words.next()?;
                *self.errors.entry(kind.to_owned()).or_default() += 1;
                if let "CONNECTION_FAILED" | "UNAVAILABLE" = kind {
                    names.iter().for_each(|name| self.ledger.publish(name, Fate::Refused));
                }
            }
            "g" => {
                let (asked, got) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                for word in words {
                    let [name, key, place, attempt] =
                        word.split('@').collect::<Vec<_>>().try_into().ok()?;
                    let attempt = attempt.parse().ok()?;
                    self.ledger.deliver(name, key, place, Delivery { asked, got, attempt });
                }
            }
            "s" => {
                let sent = words.next()?.parse().ok()?;
                words.for_each(|name| self.ledger.end(name, sent));
            }
            "d" => {
                let ended = words.next()?.parse().ok()?;
                words.for_each(|name| self.ledger.acknowledge(name, ended));
            }
            "l" => self.late += words.count() as u64,
            "p" => self.ledger.pause(words.next()?.parse().ok()?),
            "r" => self.ledger.resume(words.next()?.parse().ok()?),
            "x" => *self.errors.entry(words.next()?.to_owned()).or_default() += 1,
            _ => return None,
        }
        Some(())
    }
}
