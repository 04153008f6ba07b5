//! A shuffle queue as its specification describes it, on keys as Redis has them. Written to be
//! read, not to be fast, and from nothing that the library uses.

mod counting;
mod reading;
mod tracking;
mod writing;

use std::collections::{BTreeMap, BTreeSet};

pub use counting::{Counts, StreamCounts};
pub use reading::{DeadLetter, Reading};
pub use tracking::{Collected, NOW, deadline_text, record};

/// Bytes as a string, a character a byte, so that names print and sort as Redis sorts them.
pub type Text = String;

/// Fields and their values, in order.
pub type Fields = Vec<(Text, Text)>;

/// Whose behaviour to follow where they part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The system that the traces were recorded from, mistakes included.
    Original,
    /// The same but for its mistake in shrinking: what the traces call `fixed_steps`.
    Repaired,
    /// Millpond, as the specification says.
    Ours,
}

/// What all keys hold.
#[derive(Clone, Debug)]
pub struct Model {
    rules: Rules,
    /// Every key by its name.
    pub keys: BTreeMap<Text, Key>,
    messages: u64,
    notifications: u64,
    dead: u64,
    /// For how many milliseconds what was released is idle: by stream, group and id.
    idle: BTreeMap<(Text, Text, Text), i64>,
    /// The consumers that have read, by stream, group and name.
    consumers: BTreeSet<(Text, Text, Text)>,
}

/// What a key holds, and its time to live in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The value.
    pub value: Value,
    /// Seconds; `None` forever.
    pub ttl: Option<u64>,
}

/// A value of Redis.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A hash.
    Hash(BTreeMap<Text, Text>),
    /// A sorted set: members and the text of their scores.
    Zset(BTreeMap<Text, Text>),
    /// A set.
    Set(BTreeSet<Text>),
    /// A stream.
    Stream(Stream),
    /// A value of another type, by its name.
    Other(Text),
}

/// A stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// Ids in the traces' form (`#7`, `N2`) and fields.
    pub entries: Vec<(Text, Fields)>,
    /// The last id that was assigned.
    pub last: Text,
    /// Its groups by name.
    pub groups: BTreeMap<Text, Group>,
}

/// A consumer group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The last id that was delivered.
    pub last: Text,
    /// What was delivered and not acknowledged: id, consumer, deliveries.
    pub pending: Vec<(Text, Text, u64)>,
}

/// A message: stream, id and fields.
pub type Taken = (Text, Text, Fields);

/// An error by its first word.
pub type Failure = &'static str;

/// A record names no message.
pub const CORRUPT: Failure = "CORRUPT";
/// A key holds something else.
pub const WRONG_TYPE: Failure = "WRONGTYPE";
/// An argument is wrong; nothing was read.
pub const INVALID: Failure = "INVALID_ARGUMENT";
const ZERO: &str = "0-0";

fn number(id: &str) -> u64 {
    if id == ZERO { 0 } else { id[1..].parse().expect("an id is a letter and a number") }
}

impl Stream {
    fn empty() -> Self {
        Self { last: ZERO.to_owned(), ..Self::default() }
    }

    fn undelivered(&self, group: &Group) -> usize {
        self.entries.iter().filter(|(id, _)| number(id) > number(&group.last)).count()
    }

    fn backlog(&self) -> usize {
        let of_group = |group: &Group| group.pending.len() + self.undelivered(group);
        let most = self.groups.values().map(of_group).max();
        most.unwrap_or(usize::MAX).min(self.entries.len())
    }

    fn is_drained(&self) -> bool {
        let is_done = |group: &Group| group.pending.is_empty() && self.undelivered(group) == 0;
        self.entries.is_empty() || !self.groups.is_empty() && self.groups.values().all(is_done)
    }
}

impl Model {
    /// Nothing at all.
    pub fn new(rules: Rules) -> Self {
        let (keys, idle, consumers) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { rules, keys, messages: 0, notifications: 0, dead: 0, idle, consumers }
    }

    /// How many messages and notifications there have been.
    pub fn counts(&self) -> (u64, u64) {
        (self.messages, self.notifications)
    }

    fn stream(&self, key: &str) -> Result<Option<&Stream>, Failure> {
        match self.keys.get(key).map(|key| &key.value) {
            None => Ok(None),
            Some(Value::Stream(stream)) => Ok(Some(stream)),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    fn stream_or_new(&mut self, key: &str) -> Result<(&mut Stream, &mut Option<u64>), Failure> {
        let new = || Key { value: Value::Stream(Stream::empty()), ttl: None };
        let key = self.keys.entry(key.to_owned()).or_insert_with(new);
        match &mut key.value {
            Value::Stream(stream) => Ok((stream, &mut key.ttl)),
            _ => Err(WRONG_TYPE),
        }
    }

    fn meta(&self, name: &str, field: &str) -> Result<Option<&str>, Failure> {
        match self.keys.get(&format!("{name}:meta")).map(|key| &key.value) {
            None => Ok(None),
            Some(Value::Hash(fields)) => Ok(fields.get(field).map(String::as_str)),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    fn stream_count(&self, name: &str) -> Result<i64, Failure> {
        match self.meta(name, "streams")? {
            None => Ok(1),
            // Lua reads numbers in many forms.
            Some(text) => text.trim().parse::<f64>().map(|n| n as i64).map_err(|_| "ERR"),
        }
    }

    fn set_meta(&mut self, name: &str, fields: &[(&str, String)]) {
        let new = || Key { value: Value::Hash(BTreeMap::new()), ttl: None };
        let key = self.keys.entry(format!("{name}:meta")).or_insert_with(new);
        let Value::Hash(hash) = &mut key.value else { return };
        hash.extend(fields.iter().map(|(field, value)| ((*field).to_owned(), value.clone())));
    }

    /// Sets a key's time to live; `None` forever.
    fn expire(&mut self, key: &str, ttl: Option<u64>) {
        if ttl == Some(0) {
            self.keys.remove(key);
        }
        if let Some(key) = self.keys.get_mut(key) {
            key.ttl = ttl;
        }
    }

    /// How long a key lives; `None` if it is not there.
    fn time_of(&self, key: &str) -> Option<Option<u64>> {
        self.keys.get(key).map(|key| key.ttl)
    }

    /// Extends a key's time to live, but never shortens it from before the step.
    fn prolong(&mut self, key: &str, ttl: Option<u64>, before: Option<Option<u64>>) {
        let ttl = match (before, ttl) {
            (Some(None), _) | (_, None) => None,
            (before, Some(ttl)) => Some(before.flatten().unwrap_or(0).max(ttl)),
        };
        self.expire(key, ttl);
    }

    /// Lets every key live as it did before; those that were not there forever.
    pub fn restore_times(&mut self, before: &Self) {
        for (name, key) in &mut self.keys {
            key.ttl = before.keys.get(name).and_then(|key| key.ttl);
        }
    }

    /// Sets a field of a hash, as HSET does; returns how many fields were new.
    pub fn set_field(&mut self, key: &str, field: &str, value: &str) -> u64 {
        let new = || Key { value: Value::Hash(BTreeMap::new()), ttl: None };
        let key = self.keys.entry(key.to_owned()).or_insert_with(new);
        let Value::Hash(hash) = &mut key.value else { return 0 };
        u64::from(hash.insert(field.to_owned(), value.to_owned()).is_none())
    }

    /// Puts a value of another type at a key.
    pub fn set_other(&mut self, key: &str, kind: &str) {
        self.keys.insert(key.to_owned(), Key { value: Value::Other(kind.to_owned()), ttl: None });
    }

    /// Puts an entry into a stream, as XADD does.
    pub fn add(&mut self, key: &str, fields: Fields) -> Result<Text, Failure> {
        self.stream(key)?;
        self.messages += 1;
        let id = format!("#{}", self.messages);
        let (stream, _) = self.stream_or_new(key)?;
        stream.entries.push((id.clone(), fields));
        stream.last = id.clone();
        Ok(id)
    }

    /// Whether a group is there.
    pub fn has_joined(&self, key: &str, group: &str) -> bool {
        self.stream(key).is_ok_and(|s| s.is_some_and(|s| s.groups.contains_key(group)))
    }

    /// Makes a group, as XGROUP CREATE with MKSTREAM does.
    pub fn join(&mut self, key: &str, group: &str, last: &str) -> Result<(), Failure> {
        let (stream, _) = self.stream_or_new(key)?;
        let last = if last == "$" { stream.last.clone() } else { ZERO.to_owned() };
        stream.groups.insert(group.to_owned(), Group { last, pending: Vec::new() });
        Ok(())
    }

    /// Acknowledges, as XACK does; returns how many were pending.
    pub fn ack(&mut self, key: &str, group: &str, ids: &[Text]) -> u64 {
        let Some(Value::Stream(stream)) = self.keys.get_mut(key).map(|key| &mut key.value) else {
            return 0;
        };
        let Some(group) = stream.groups.get_mut(group) else { return 0 };
        let before = group.pending.len();
        group.pending.retain(|(id, ..)| !ids.contains(id));
        (before - group.pending.len()) as u64
    }

    /// Deletes entries, as XDEL does; returns how many were there.
    pub fn delete(&mut self, key: &str, ids: &[Text]) -> u64 {
        let Some(Value::Stream(stream)) = self.keys.get_mut(key).map(|key| &mut key.value) else {
            return 0;
        };
        let before = stream.entries.len();
        stream.entries.retain(|(id, _)| !ids.contains(id));
        (before - stream.entries.len()) as u64
    }
}
