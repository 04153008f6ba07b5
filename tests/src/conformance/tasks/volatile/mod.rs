//! Volatile hashes in cases: what a server holds of them after each step, and what the library lists at the end.

mod layout;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::raw::{Bytes, Keys};
use crate::Result;
use crate::adapter::Adapter;
use crate::value::bytes;

pub(super) use layout::tagged;

use layout::{KINDS, Layout};
use view::View;

/// Calls that change nothing.
const READS: [&str; 7] = ["get", "get_many", "fields", "ttl", "len", "stats", "holder"];

/// The arguments that name a hash.
const NAMES: [&str; 4] = ["name", "family", "shards", "base"];

/// The hashes that a case has used, by what their keys end with.
#[derive(Default)]
pub(super) struct Hashes(BTreeMap<Bytes, Hash>);

struct Hash {
    /// The arguments that name it.
    named: Value,
    /// The fields whose locks somebody wanted.
    locks: BTreeSet<Bytes>,
}

/// Checks that a step of a case that compares what a server holds says what.
pub(super) fn check_stored_step(step: &Value) -> Result<()> {
    let names = step.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let is_known = |name: &str| name == "call" || NAMES.contains(&name) || KINDS.contains(&name);
    let names: Vec<_> = names.collect();
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(format!("a hash has no key {name}")),
        None if names.iter().any(|name| KINDS.contains(name)) => Ok(()),
        None => Err("nothing is compared".to_owned()),
    }
}

/// Compares the fields of the keys of a hash with those that a step says.
pub(super) fn check_stored(step: &Value, keys: &Keys) -> Result<()> {
    let end = layout::end_of(step)?.ok_or("a family holds nothing but its hashes")?;
    let layout = Layout::read(keys, &end)?;
    for kind in KINDS {
        let Some(fields) = step[kind].as_array() else { continue };
        let expected: BTreeSet<Bytes> = fields.iter().map(bytes).collect::<Result<_>>()?;
        let found = layout.fields(kind);
        if found != expected {
            let shown = |fields: &BTreeSet<Bytes>| {
                let fields = fields.iter().map(|field| super::store::shown(field));
                fields.collect::<Vec<_>>().join(", ")
            };
            return Err(format!(
                "{kind} has other fields\n      expected {}\n      found    {}",
                shown(&expected),
                shown(&found)
            ));
        }
    }
    Ok(())
}

impl Hashes {
    /// Notes the hash of a request that was not refused.
    pub(super) fn note(&mut self, request: &Value) -> Result<()> {
        let Some(call) = called(request) else { return Ok(()) };
        let Some(end) = layout::end_of(request)? else { return Ok(()) };
        let named = NAMES.iter().filter_map(|name| Some((*name, request.get(*name)?.clone())));
        let hash = self.0.entry(end);
        let hash = hash.or_insert_with(|| Hash { named: named.collect(), locks: BTreeSet::new() });
        if let "acquire" | "get_or_acquire" = call {
            hash.locks.insert(bytes(&request["field"])?);
        }
        Ok(())
    }

    /// Whether what the servers hold after a request is as sound as before, and the same if it only read.
    pub(super) fn check(&self, request: &Value, before: &Keys, after: &Keys) -> Result<()> {
        if called(request).is_some_and(|call| READS.contains(&call)) && before != after {
            return Err(format!(
                "a call that only reads has changed something\n      from {before:?}"
            ));
        }
        layout::check(self.0.keys(), before, after)
    }

    /// What is listed of each hash.
    pub(super) fn views(&self, adapter: &mut Adapter) -> Result<Vec<View>> {
        self.0.values().map(|hash| View::of(adapter, &hash.named, &hash.locks)).collect()
    }

    /// Whether what is listed is what the servers hold.
    pub(super) fn compare(&self, adapter: &mut Adapter, keys: &Keys) -> Result<()> {
        let views = self.views(adapter)?;
        self.0.keys().zip(views).try_for_each(|(name, view)| view.compare(keys, name))
    }
}

/// Whether nothing else than what has expired since is missing in the second views.
pub(super) fn check_same(before: &[View], after: &[View]) -> Result<()> {
    before.iter().zip(after).try_for_each(|(before, after)| before.check_same(after))
}

/// The call of a request to a volatile hash.
fn called(request: &Value) -> Option<&str> {
    request["call"].as_str().and_then(|call| call.strip_prefix("vhash_"))
}
