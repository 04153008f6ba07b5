//! The keys of a volatile hash on a server, read without the library, and what holds for them after every step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::raw::{Bytes, Content, Keys};
use super::super::record::{self, Item};
use super::super::store::shown;
use super::view::now_us;
use crate::Result;
use crate::value::bytes;
use crate::wire::HASH;

/// What the names of the keys of a hash say that they hold.
pub(super) const KINDS: [&str; 5] = ["map", "zset", "lock", "lockz", "meta"];

const VERSION: &[u8] = b"vhash.v1";

/// What the keys of a hash in a family begin with.
const FAMILY: &[u8] = b"vhashes:";

/// The shards of a family where a case names no number.
const SHARDS_DEFAULT: u64 = 16;

/// Until when a score represents microseconds exactly: the year 2242.
const EXACT_US: u64 = (1 << 33) * 1_000_000;

/// What the keys of a hash hold; nothing of a key that is of another type.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// Values.
    pub(super) map: BTreeMap<Bytes, Bytes>,
    /// Expiries in microseconds.
    pub(super) zset: BTreeMap<Bytes, u64>,
    pub(super) lock: BTreeMap<Bytes, Lock>,
    lockz: BTreeMap<Bytes, u64>,
    meta: BTreeMap<Bytes, Bytes>,
    /// Locks that cannot be read.
    corrupt: BTreeSet<Bytes>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Lock {
    pub(super) fence: u64,
    pub(super) until_us: u64,
    pub(super) token: Bytes,
}

/// The name of the hash of a step, as [`keys_of`] takes it: what its keys end with, or of a hash in a family its shard and
/// behind a byte 0 its base; nothing where the step is of a family.
pub(super) fn end_of(step: &Value) -> Result<Option<Bytes>> {
    let name = |name: &str| step.get(name).filter(|name| !name.is_null()).map(bytes).transpose();
    let family = match (name("name")?, name("family")?) {
        (None, Some(family)) => family,
        (name, _) => return Ok(Some(tagged(&name.unwrap_or_else(|| HASH.into())))),
    };
    let Some(base) = name("base")? else { return Ok(None) };
    let shards = step["shards"].as_u64().unwrap_or(SHARDS_DEFAULT);
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let shard = base.iter().fold(0xcbf2_9ce4_8422_2325, fnv) % shards.max(1);
    let shard = match tagged(&family) == family {
        true => [FAMILY, &family, format!(":shard/{shard:04}").as_bytes()].concat(),
        false => [FAMILY, b"{", &family, format!("/{shard:04}}}:shard").as_bytes()].concat(),
    };
    Ok(Some([&*shard, b"\0", &base].concat()))
}

/// The shard that a hash is in, and its base there; nothing if it is in none.
fn shard_of(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let zero = name.iter().position(|byte| *byte == 0)?;
    name.starts_with(FAMILY).then(|| (&name[..zero], &name[zero + 1..]))
}

/// The index of the shard that a hash is in, and its base there; nothing if it is in none.
fn due_of(name: &[u8]) -> Option<(Bytes, &[u8])> {
    let (shard, base) = shard_of(name)?;
    Some(([shard, b":due"].concat(), base))
}

/// What the keys of the hash with this name end with.
pub(in super::super) fn tagged(name: &[u8]) -> Bytes {
    let open = name.iter().position(|byte| *byte == b'{');
    let length = open.and_then(|open| name[open + 1..].iter().position(|byte| *byte == b'}'));
    match length {
        Some(1..) => name.to_vec(),
        _ => [b"{", name, b"}"].concat(),
    }
}

/// The keys of the hash with this name, in the order of [`KINDS`].
pub(super) fn keys_of(name: &[u8]) -> [Bytes; 5] {
    if let Some((shard, base)) = shard_of(name) {
        return KINDS.map(|kind| [shard, b":", kind.as_bytes(), b":", base].concat());
    }
    let end = tagged(name);
    KINDS.map(|kind| [format!("vhash-{kind}:").as_bytes(), &end].concat())
}

impl Layout {
    pub(super) fn read(keys: &Keys, name: &[u8]) -> Result<Self> {
        let [map, zset, lock, lockz, meta] = keys_of(name);
        let hash = |key: &Bytes| match keys.get(key) {
            Some(Content::Hash(fields)) => fields.clone(),
            _ => BTreeMap::new(),
        };
        let sorted = |key: &Bytes| match keys.get(key) {
            Some(Content::Sorted(members)) => members.iter().map(expiry).collect(),
            _ => Ok(BTreeMap::new()),
        };
        let mut layout = Self {
            map: hash(&map),
            zset: sorted(&zset)?,
            lockz: sorted(&lockz)?,
            meta: hash(&meta),
            ..Self::default()
        };
        for (field, bytes) in hash(&lock) {
            match Lock::read(&bytes) {
                Ok(lock) => drop(layout.lock.insert(field, lock)),
                Err(_) => drop(layout.corrupt.insert(field)),
            }
        }
        Ok(layout)
    }

    /// The fields of a key.
    pub(super) fn fields(&self, kind: &str) -> BTreeSet<Bytes> {
        match kind {
            "map" => self.map.keys().cloned().collect(),
            "zset" => self.zset.keys().cloned().collect(),
            "lock" => self.lock.keys().chain(&self.corrupt).cloned().collect(),
            "lockz" => self.lockz.keys().cloned().collect(),
            _ => self.meta.keys().cloned().collect(),
        }
    }

    /// Whether the index of a shard has the hash by the time at which it has something to remove.
    fn check_due(&self, index: Option<&Content>, base: &[u8]) -> Result<()> {
        let times = self.zset.values().chain(self.lockz.values());
        // What has expired already is due now, or since then.
        let Some(first) = times.min().map(|first| now_us().max(*first)) else { return Ok(()) };
        let score = match index {
            Some(Content::Sorted(members)) => members.get_key_value(base),
            _ => None,
        };
        match score.map(expiry).transpose()? {
            Some((_, due_us)) if due_us <= first => Ok(()),
            found => Err(format!("{} is due at {first}, and not {found:?}", shown(base))),
        }
    }

    /// What does not fit together.
    fn faults(&self) -> BTreeSet<String> {
        let mut faults = BTreeSet::new();
        for (one, other) in [("map", "zset"), ("lock", "lockz")] {
            let (in_one, in_other) = (self.fields(one), self.fields(other));
            for field in in_one.difference(&in_other) {
                faults.insert(format!("{} is in {one} and not in {other}", shown(field)));
            }
            for field in in_other.difference(&in_one) {
                faults.insert(format!("{} is in {other} and not in {one}", shown(field)));
            }
        }
        for field in &self.corrupt {
            faults.insert(format!("the lock of {} cannot be read", shown(field)));
        }
        if self.lock.is_empty() && self.meta.is_empty() {
            return faults;
        }
        if self.meta.get(&b"version"[..]).is_none_or(|version| version != VERSION) {
            faults.insert("meta has not the version of the layout".to_owned());
        }
        let fence = self.meta.get(&b"fence"[..]).and_then(|fence| str::from_utf8(fence).ok());
        let fence: u64 = fence.and_then(|fence| fence.parse().ok()).unwrap_or_default();
        if self.fields("lock").is_empty() && fence < now_us() {
            faults.insert("meta is left without a lock".to_owned());
        }
        let mut fences = BTreeSet::new();
        for (field, lock) in &self.lock {
            if lock.fence > fence || !fences.insert(lock.fence) {
                faults.insert(format!("the fence of {} is given again", shown(field)));
            }
            let is_same = self.lockz.get(field).is_none_or(|until_us| *until_us == lock.until_us);
            if !is_same && lock.until_us < EXACT_US {
                faults.insert(format!("the lock of {} ends at two times", shown(field)));
            }
            if !(1..=64).contains(&lock.token.len()) {
                faults.insert(format!("the lock of {} has no token", shown(field)));
            }
        }
        faults
    }
}

impl Lock {
    fn read(bytes: &[u8]) -> Result<Self> {
        match &record::read(bytes)?[..] {
            [Item::Number(fence), Item::Number(until_us), Item::Text(token)] => {
                Ok(Self { fence: *fence, until_us: *until_us, token: token.clone() })
            }
            other => Err(format!("no lock: {other:?}")),
        }
    }
}

/// A member with its score in microseconds; 0 where it is before the epoch.
fn expiry((field, score): (&Bytes, &Bytes)) -> Result<(Bytes, u64)> {
    let score = str::from_utf8(score).ok().and_then(|score| score.parse::<f64>().ok());
    let score = score.ok_or("a score is a number")?;
    let us = score.floor() * 1_000_000.0 + (score.fract() * 1_000_000.0).round();
    Ok((field.clone(), us as u64))
}

/// Checks what a step of the library left of these hashes: no other key, none that is to vanish, and nothing that does
/// not fit together unless it did not before.
pub(super) fn check<'a>(
    names: impl Iterator<Item = &'a Bytes>,
    before: &Keys,
    after: &Keys,
) -> Result<()> {
    let (mut known, mut sorted) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        let [_, zset, _, lockz, _] = keys_of(name);
        sorted.extend([zset, lockz]);
        known.extend(keys_of(name));
        if let Some((due, base)) = due_of(name) {
            Layout::read(after, name)?.check_due(after.get(&due), base)?;
            sorted.insert(due.clone());
            known.insert(due);
        }
        let old = Layout::read(before, name)?.faults();
        let new = Layout::read(after, name)?.faults();
        if let Some(fault) = new.difference(&old).next() {
            return Err(format!("{fault}\n      before   {before:?}\n      after    {after:?}"));
        }
    }
    for (key, content) in after {
        let is_sorted = sorted.contains(key);
        let is_sound = match content {
            Content::Hash(_) => !is_sorted,
            Content::Sorted(_) => is_sorted,
            Content::Other(_) => false,
        };
        // A raw command may have put anything there.
        if before.get(key) != Some(content) && !(known.contains(key) && is_sound) {
            return Err(format!("the key {} is of no hash: {content:?}", shown(key)));
        }
    }
    Ok(())
}
