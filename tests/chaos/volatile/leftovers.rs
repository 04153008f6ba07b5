//! What is left when all has expired: nothing, once the family was reaped.

use millpond::Client;
use millpond::volatile::{REAP_MAX, Reaped, VolatileHash};

use super::{ALONE, BASES, Outcome, PLACES, at, family};
use crate::said;

/// Reaps the family until it says that there is no more, and looks into each hash for what it has forgotten; returns how
/// many fields and locks there were.
pub(super) fn reap(client: &Client) -> Outcome<[u64; 2]> {
    let (alone, _) = at(client, PLACES[0]);
    let of_family = reap_all(|| family(client).reap(100).map_err(said))?;
    let of_alone = reap_all(|| alone.reap(100).map_err(said))?;
    for base in bases() {
        check(&base, &family(client).hash(&base))?;
    }
    check("alone", &alone)?;
    match of_family {
        // The last writers were killed just now.
        [0, _] | [_, 0] => Err(format!("the family had {of_family:?} fields and locks at last")),
        [fields, locks] => Ok([fields + of_alone[0], locks + of_alone[1]]),
    }
}

/// Of the hashes of the family that were used.
fn bases() -> impl Iterator<Item = String> {
    let of_places = PLACES.iter().filter_map(|place| place.split('/').next());
    let of_places = of_places.filter(|base| *base != ALONE).map(str::to_owned);
    of_places.chain((0..BASES).map(|number| format!("w{number}")))
}

fn reap_all(mut reap: impl FnMut() -> Outcome<Reaped>) -> Outcome<[u64; 2]> {
    let mut total = [0; 2];
    loop {
        let reaped = reap()?;
        total = [total[0] + reaped.fields, total[1] + reaped.locks];
        if !reaped.more {
            return match reaped.next_in {
                None => Ok(total),
                Some(next_in) => Err(format!("after all ttls something expires in {next_in:?}")),
            };
        }
    }
}

fn check(base: &str, hash: &VolatileHash) -> Outcome<()> {
    let (stats, reaped) = (hash.stats().map_err(said)?, hash.reap(REAP_MAX).map_err(said)?);
    if stats.fields + stats.expired + stats.locks > 0 || reaped != Reaped::default() {
        return Err(format!("the hash {base} was forgotten: {stats:?}, {reaped:?}"));
    }
    Ok(())
}
