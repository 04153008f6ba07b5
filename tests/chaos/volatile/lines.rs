//! What holders and writers print, a line for each thing that happens.
//!
//! | line | meaning |
//! | --- | --- |
//! | `a PLACE FENCE BEFORE AFTER NAME KIND` | NAME took the lock of a place between these times; the library renews it if KIND is `native` |
//! | `v PLACE FENCE SEEN` | it read the value of the holder with the fence SEEN |
//! | `c PLACE FENCE BEFORE` | it set the value under the lock, after this time |
//! | `n PLACE FENCE BEFORE AFTER` | it renewed the lock between these times |
//! | `l PLACE FENCE AFTER` | it was refused because it does not hold the lock, before this time |
//! | `s PLACE FENCE` | it is about to release the lock |
//! | `d PLACE FENCE BEFORE` | it released the lock, after this time |
//! | `r FIELDS LOCKS` | a reap of the family removed these numbers of them |
//! | `x KIND` | a call failed |
//!
//! The time after a call is the largest number if the server was away.

use std::collections::BTreeMap;

use super::ledger::Ledger;
use crate::children::Hear;

/// The output of all, combined.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) ledger: Ledger,
    pub(super) errors: BTreeMap<String, u64>,
    /// Fields and locks.
    pub(super) reaped: [u64; 2],
}

impl Hear for Heard {
    fn line<'a>(&mut self, line: &'a str, _: &mut BTreeMap<&'a str, Vec<&'a str>>) -> Option<()> {
        let words: Vec<_> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().ok();
        match words[..] {
            ["a", place, fence, before, after, name, kind] => {
                let (fence, times) = (number(fence)?, [number(before)?, number(after)?]);
                self.ledger.acquire(place, fence, times, name, kind == "native");
            }
            ["x", kind] => *self.errors.entry(kind.to_owned()).or_default() += 1,
            ["r", fields, locks] => {
                self.reaped[0] += number(fields)?;
                self.reaped[1] += number(locks)?;
            }
            [what, place, fence, ref times @ ..] => {
                let hold = self.ledger.hold(place, number(fence)?)?;
                match (what, times) {
                    ("v", [seen]) => hold.see(number(seen)?),
                    ("c", [before]) => hold.set(number(before)?),
                    ("n", [before, after]) => hold.renew(number(before)?, number(after)?),
                    ("l", [after]) => hold.refuse(number(after)?),
                    ("s", []) => hold.begin_release(),
                    ("d", [before]) => hold.release(number(before)?),
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }
}
