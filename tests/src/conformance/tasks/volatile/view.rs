//! A volatile hash as the library lists it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::super::raw::{Bytes, Keys};
use super::super::store::shown;
use super::layout::Layout;
use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::value::{bytes, wire_bytes};
use crate::wire;

/// Less than a page has at most, so that there are several.
const PAGE: usize = 700;

/// Live fields and held locks.
#[derive(Debug)]
pub(in super::super) struct View {
    /// By field: value, expiry in microseconds.
    fields: BTreeMap<Bytes, (Bytes, u64)>,
    /// By field: token, fence, and a time in microseconds until which the lock is held at least.
    locks: BTreeMap<Bytes, (Bytes, u64, u64)>,
    /// How many fields are stored, live or not.
    stored: u64,
    /// When it was complete, in microseconds.
    taken_us: u64,
}

impl View {
    /// Lists the fields of a hash, asks who holds these locks, and compares both with the counts.
    pub(super) fn of(
        adapter: &mut Adapter,
        named: &Value,
        locks: &BTreeSet<Bytes>,
    ) -> Result<Self> {
        let mut lister = Lister { adapter, named };
        let number = |value: &Value| value.as_u64().ok_or_else(|| format!("no number: {value}"));
        let len = number(&lister.call("len", json!({}))?)?;
        let fields = lister.fields()?;
        let stats = lister.call("stats", json!({}))?;
        let live = number(&stats["fields"])?;
        let listed = fields.len() as u64;
        if !(live..=len).contains(&listed) {
            return Err(format!("{listed} fields are listed; before len {len}, then {stats}"));
        }
        let locks = lister.holders(locks)?;
        if locks.len() as u64 > number(&stats["locks"])? {
            return Err(format!("{} locks are held, not {stats}", locks.len()));
        }
        Ok(Self { fields, locks, stored: live + number(&stats["expired"])?, taken_us: now_us() })
    }

    /// Whether the keys of the server hold the same.
    pub(super) fn compare(&self, keys: &Keys, name: &[u8]) -> Result<()> {
        let layout = Layout::read(keys, name)?;
        for (field, (value, expires_us)) in &self.fields {
            if layout.map.get(field) != Some(value) || layout.zset.get(field) != Some(expires_us) {
                return Err(format!("the field {} is listed and not stored", shown(field)));
            }
        }
        for (field, expires_us) in &layout.zset {
            let is_live = layout.map.contains_key(field) && *expires_us > self.taken_us;
            if is_live && !self.fields.contains_key(field) {
                return Err(format!("the field {} is stored and not listed", shown(field)));
            }
        }
        for (field, lock) in &layout.lock {
            let is_held = lock.until_us > self.taken_us;
            let is_same = match self.locks.get(field) {
                Some((token, fence, _)) => *token == lock.token && *fence == lock.fence,
                None => !is_held,
            };
            if !is_same {
                return Err(format!("the lock of {} is another: {lock:?}", shown(field)));
            }
        }
        match self.locks.keys().find(|field| !layout.lock.contains_key(*field)) {
            Some(field) => Err(format!("the lock of {} is not stored", shown(field))),
            None => Ok(()),
        }
    }

    /// Whether a later view has the same, but for what has expired since.
    pub(super) fn check_same(&self, later: &Self) -> Result<()> {
        let gone = |what, field: &Bytes| Err(format!("the {what} {} is gone", shown(field)));
        for (field, found) in &self.fields {
            match later.fields.get(field) {
                None if found.1 <= later.taken_us => {}
                None => return gone("field", field),
                Some(after) if found == after => {}
                Some(after) => {
                    return Err(format!("{} is {after:?} and was {found:?}", shown(field)));
                }
            }
        }
        for (field, (token, fence, until_us)) in &self.locks {
            match later.locks.get(field) {
                None if *until_us <= later.taken_us => {}
                None => return gone("lock of", field),
                Some((same, again, _)) if same == token && again == fence => {}
                Some(_) => return Err(format!("the lock of {} is another", shown(field))),
            }
        }
        let is_new = |field: &&Bytes| !self.fields.contains_key(*field);
        if let Some(field) = later.fields.keys().find(is_new) {
            return Err(format!("the field {} is new", shown(field)));
        }
        if let Some(field) = later.locks.keys().find(|field| !self.locks.contains_key(*field)) {
            return Err(format!("the lock of {} is new", shown(field)));
        }
        match self.stored == later.stored {
            true => Ok(()),
            false => Err(format!("{} fields are stored, and not {}", later.stored, self.stored)),
        }
    }
}

/// The time, in microseconds since the Unix epoch.
pub(super) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

struct Lister<'a> {
    adapter: &'a mut Adapter,
    /// The arguments that name the hash.
    named: &'a Value,
}

impl Lister<'_> {
    /// All pages, one after the other: in order, and nothing twice.
    fn fields(&mut self) -> Result<BTreeMap<Bytes, (Bytes, u64)>> {
        let (mut all, mut after, mut last) = (BTreeMap::new(), Value::Null, None);
        loop {
            let page = self.call("fields", json!({"after": after, "limit": PAGE}))?;
            let fields = page["fields"].as_array().ok_or_else(|| format!("no page: {page}"))?;
            for found in fields {
                let field = bytes(&found["field"])?;
                let expires_us = found["expires_us"].as_u64().ok_or("a field has an expiry")?;
                let position = Some((expires_us, field.clone()));
                if last >= position {
                    return Err(format!("{last:?} is listed before {position:?}"));
                }
                last = position;
                all.insert(field, (bytes(&found["value"])?, expires_us));
            }
            after = page["next"].clone();
            if after.is_null() {
                return Ok(all);
            }
        }
    }

    fn holders(&mut self, of: &BTreeSet<Bytes>) -> Result<BTreeMap<Bytes, (Bytes, u64, u64)>> {
        let mut holders = BTreeMap::new();
        for field in of {
            let asked_us = now_us();
            let holder = self.call("holder", json!({"field": wire_bytes(field)}))?;
            if holder.is_null() {
                continue;
            }
            let fence = holder["fence"].as_u64().ok_or("a lock has a fence")?;
            let remaining_ms =
                holder["remaining_ms"].as_f64().ok_or("a lock is held for a while")?;
            // It may have been rounded up.
            let remaining_us = (remaining_ms - 1.0).max(0.0) * 1_000.0;
            let until_us = asked_us + remaining_us as u64;
            holders.insert(field.clone(), (bytes(&holder["token"])?, fence, until_us));
        }
        Ok(holders)
    }

    fn call(&mut self, call: &str, mut request: Value) -> Result<Value> {
        request["call"] = json!(format!("vhash_{call}"));
        for (name, value) in self.named.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        match self.adapter.call(wire::of_step(&request))? {
            Response::Result(result) => Ok(result),
            other => Err(format!("a hash cannot be listed: {other:?}")),
        }
    }
}
