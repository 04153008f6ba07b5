//! Queue trackers in cases: what a server holds of them after each step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::raw::{Bytes, Content, Keys};
use super::store::shown;
use super::volatile::tagged;
use crate::Result;
use crate::value::bytes;
use crate::wire::TRACKER;

const VERSION: &[u8] = b"tracker.v1";

/// What is kept beside the ids, as numbers.
const NUMBERS: [&str; 4] = ["stamp", "sampled", "rounds", "round_us"];

/// What the keys of the trackers that a case has used begin with.
#[derive(Default)]
pub(super) struct Trackers(BTreeSet<Bytes>);

impl Trackers {
    /// Notes the tracker of a request that was not refused.
    pub(super) fn note(&mut self, request: &Value) -> Result<()> {
        if request["call"].as_str().is_some_and(|call| call.starts_with("tracker_")) {
            let name = request.get("name").map(bytes).transpose()?;
            let name = tagged(&name.unwrap_or_else(|| TRACKER.into()));
            self.0.insert([&*name, b":tracker"].concat());
        }
        Ok(())
    }

    /// Whether what the servers hold is sound, and nothing but these trackers.
    pub(super) fn check(&self, keys: &Keys) -> Result<()> {
        let mut known = BTreeSet::new();
        for key in &self.0 {
            let ids_key = [&**key, b":ids"].concat();
            let (mut fields, mut ids) = (BTreeMap::new(), BTreeMap::new());
            if let Some(Content::Hash(found)) = keys.get(key) {
                fields.clone_from(found);
                known.insert(key.clone());
            }
            if let Some(Content::Sorted(found)) = keys.get(&ids_key) {
                ids.clone_from(found);
                known.insert(ids_key);
            }
            check_one(&fields, &ids).map_err(|why| {
                format!("{} {why}\n      of       {fields:?} {ids:?}", shown(key))
            })?;
        }
        match keys.iter().find(|(key, _)| !known.contains(*key)) {
            Some((key, content)) => {
                Err(format!("the key {} is of no tracker: {content:?}", shown(key)))
            }
            None => Ok(()),
        }
    }
}

/// No stamp is above the last one, and nothing else is kept than what is documented.
fn check_one(fields: &BTreeMap<Bytes, Bytes>, ids: &BTreeMap<Bytes, Bytes>) -> Result<()> {
    if fields.is_empty() && ids.is_empty() {
        return Ok(());
    }
    if fields.get(b"version".as_slice()).map(Vec::as_slice) != Some(VERSION) {
        return Err("has not the version of the layout".to_owned());
    }
    for (name, value) in fields {
        match str::from_utf8(name).unwrap_or_default() {
            "version" | "row" => {}
            name if NUMBERS.contains(&name) => drop(number(value)?),
            _ => return Err(format!("has a field {}", shown(name))),
        }
    }
    let field = |name: &str| fields.get(name.as_bytes()).map_or(Ok(0), |value| number(value));
    let stamp = field("stamp")?;
    if field("sampled")? > stamp {
        return Err("has a sample that cannot be".to_owned());
    }
    for (id, of) in ids {
        if number(of)? > stamp {
            return Err(format!("has an id with a stamp above the last one: {}", shown(id)));
        }
    }
    Ok(())
}

/// A whole number as a server writes it.
fn number(text: &[u8]) -> Result<u64> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok());
    number.ok_or_else(|| format!("has no number: {}", shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_sound_is_found() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<Bytes, Bytes> {
            pairs
                .iter()
                .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect()
        };
        let sound = [("version", "tracker.v1"), ("stamp", "7"), ("sampled", "7"), ("row", "x")];
        assert_eq!(check_one(&map(&sound), &map(&[("a", "7"), ("b", "3")])), Ok(()));
        for (change, ids) in [
            (("version", "tracker.v2"), ("a", "7")),
            (("stamp", "six"), ("a", "7")),
            (("sampled", "8"), ("a", "7")),
            (("other", "1"), ("a", "7")),
            (("row", "y"), ("a", "8")),
        ] {
            let fields = sound.into_iter().filter(|(name, _)| *name != change.0).chain([change]);
            let fields: Vec<_> = fields.collect();
            assert!(check_one(&map(&fields), &map(&[ids])).is_err(), "{change:?} {ids:?}");
        }
    }
}
