//! What holds for every store on a server, after every step: all that is kept beside the records
//! follows from them.

use std::collections::{BTreeMap, BTreeSet};

use super::raw::{Bytes, Content, Keys};
use super::store::{self, Store, parts, prefix, shown};
use crate::Result;

const FORMAT: &[u8] = b"tasks.v1";

/// What is wrong with everything that the servers hold, if these are the names of all stores.
pub(super) fn problem(keys: &Keys, stores: &BTreeSet<String>) -> Option<String> {
    let prefixes: BTreeSet<Bytes> = stores.iter().map(|name| prefix(name)).collect();
    let is_known = |key: &Bytes| prefixes.iter().any(|prefix| is_of(key, prefix));
    if let Some((key, content)) = keys.iter().find(|(key, _)| !is_known(key)) {
        return Some(format!("the key {} is of no store: {content:?}", shown(key)));
    }
    prefixes.iter().find_map(|prefix| problem_of_store(keys, prefix).err())
}

fn is_of(key: &[u8], prefix: &[u8]) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(b":"))
}

fn problem_of_store(keys: &Keys, prefix: &[u8]) -> Result<()> {
    let store = store::read(keys, prefix)?;
    let expected = store.keys(prefix);
    let found = keys.iter().filter(|(key, _)| is_of(key, prefix));
    let found: BTreeMap<&Bytes, &Content> = found.collect();
    for key in expected.keys().chain(found.keys().copied()) {
        let (expected, found) = (expected.get(key), found.get(key).copied());
        match key.strip_prefix(prefix).unwrap_or_default() {
            b"" | b":docs" => continue,
            b":meta" | b":levels" | b":values" | b":contents" | b":paused" | b":taken" => continue,
            _ if expected == found => continue,
            _ => {
                let shown = |content: Option<&Content>| match content {
                    Some(content) => readable(content),
                    None => "nothing".to_owned(),
                };
                return Err(format!(
                    "the key {} does not follow from the records\n      expected {}\n      found    {}",
                    store::shown(key),
                    shown(expected),
                    shown(found)
                ));
            }
        }
    }
    let at = |suffix: &str| found.get(&[prefix, suffix.as_bytes()].concat()).copied();
    if !found.is_empty() {
        check_format(at(":meta"))?;
    }
    check_levels(at(":levels"), &store)?;
    check_paused(at(":paused"))?;
    check_taken(at(":taken"))?;
    check_belongs("value", &store.values, |id| store.tasks.contains_key(id))?;
    check_belongs("content", &store.contents, |id| store.docs.contains_key(id))?;
    store.tasks.iter().try_for_each(|(id, task)| task.check(id))?;
    store.docs.iter().try_for_each(|(id, doc)| doc.check(id))
}

impl Store {
    /// The keys that follow from the records.
    fn keys(&self, prefix: &[u8]) -> Keys {
        let mut keys = Derived { prefix, keys: Keys::new() };
        let mut claims: BTreeMap<(Bytes, u64), u64> = BTreeMap::new();
        for (id, task) in &self.tasks {
            let at = [b":at:", task.priority.to_string().as_bytes(), b":", &task.queue].concat();
            keys.put(&at, id, task.at_ms);
            keys.put(b":queues", &task.queue, 0);
            if task.claims > 0 {
                let list: &[u8] = if task.unended > 0 { b":claimed:" } else { b":retrying:" };
                keys.put(&[list, &task.queue[..]].concat(), id, task.at_ms);
                *claims.entry((task.queue.clone(), task.claims)).or_default() += 1;
            }
            if task.expires_ms > 0 {
                keys.put(b":expiry", id, task.expires_ms);
            }
        }
        for ((queue, number), count) in claims {
            let (field, count) = (number.to_string(), count.to_string());
            keys.set(&[b":claims:", &queue[..]].concat(), field.into(), count.into());
        }
        for (namespaced, doc) in &self.docs {
            let (namespace, id) = parts(namespaced);
            keys.put(b":namespaces", namespace, 0);
            let member = [&doc.key, b"\0".as_slice(), &doc.secondary_key, b"\0", id].concat();
            keys.put(&[b":keys:", namespace].concat(), &member, 0);
            if !doc.claimant.is_empty() {
                keys.put(&[b":held:", namespace].concat(), id, doc.at_ms);
            }
        }
        keys.keys
    }
}

/// Keys that are put together bit by bit.
struct Derived<'a> {
    prefix: &'a [u8],
    keys: Keys,
}

impl Derived<'_> {
    fn put(&mut self, suffix: &[u8], member: &[u8], score: u64) {
        let empty = || Content::Sorted(BTreeMap::new());
        let content = self.keys.entry([self.prefix, suffix].concat()).or_insert_with(empty);
        if let Content::Sorted(members) = content {
            members.insert(member.to_vec(), score.to_string().into());
        }
    }

    fn set(&mut self, suffix: &[u8], field: Bytes, value: Bytes) {
        let empty = || Content::Hash(BTreeMap::new());
        let content = self.keys.entry([self.prefix, suffix].concat()).or_insert_with(empty);
        if let Content::Hash(fields) = content {
            fields.insert(field, value);
        }
    }
}

fn check_format(meta: Option<&Content>) -> Result<()> {
    match meta {
        Some(Content::Hash(fields)) if fields.get(&b"version"[..]).is_some_and(|v| v == FORMAT) => {
            Ok(())
        }
        other => Err(format!("the version of the format is missing: {other:?}")),
    }
}

/// The levels of a queue are at least those of its tasks, the highest first; 0 is always one.
fn check_levels(levels: Option<&Content>, store: &Store) -> Result<()> {
    let none = BTreeMap::new();
    let levels = match levels {
        None => &none,
        Some(Content::Hash(levels)) => levels,
        Some(other) => return Err(format!("the levels are no hash: {other:?}")),
    };
    for (queue, levels) in levels {
        let is_sound = levels.iter().all(|level| matches!(level, b'1'..=b'9'))
            && levels.windows(2).all(|pair| pair[0] > pair[1])
            && store.tasks.values().any(|task| task.queue == *queue);
        if !is_sound {
            return Err(format!("queue {} has the levels {}", shown(queue), shown(levels)));
        }
    }
    for (id, task) in store.tasks.iter().filter(|(_, task)| task.priority > 0) {
        let level = b'0' + task.priority as u8;
        if !levels.get(&task.queue).is_some_and(|levels| levels.contains(&level)) {
            return Err(format!("the level {} of task {} is not kept", task.priority, shown(id)));
        }
    }
    Ok(())
}

/// Any names may be there, of scores that keep them in order.
fn check_paused(paused: Option<&Content>) -> Result<()> {
    match paused {
        None => Ok(()),
        Some(Content::Sorted(names)) if names.values().all(|score| score == b"0") => Ok(()),
        Some(other) => Err(format!("the paused queues are no names: {}", readable(other))),
    }
}

/// Any ids may be there, each until a time; that of a task as well, once its time is over.
fn check_taken(taken: Option<&Content>) -> Result<()> {
    let is_time = |score: &Bytes| score.iter().all(u8::is_ascii_digit);
    match taken {
        None => Ok(()),
        Some(Content::Sorted(ids)) if ids.values().all(is_time) => Ok(()),
        Some(other) => Err(format!("the ids that are taken have no times: {}", readable(other))),
    }
}

fn check_belongs(
    what: &str,
    all: &BTreeMap<Bytes, Bytes>,
    is_there: impl Fn(&Bytes) -> bool,
) -> Result<()> {
    match all.keys().find(|id| !is_there(id)) {
        Some(id) => Err(format!("a {what} is left of {}", shown(id))),
        None => Ok(()),
    }
}

fn readable(content: &Content) -> String {
    let pairs = |pairs: &BTreeMap<Bytes, Bytes>| {
        let pairs = pairs.iter().take(50).map(|(k, v)| format!("{} {}", shown(k), shown(v)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    match content {
        Content::Hash(fields) => format!("a hash of {}", pairs(fields)),
        Content::Sorted(members) => format!("a sorted set of {}", pairs(members)),
        Content::Other(kind) => kind.clone(),
    }
}
