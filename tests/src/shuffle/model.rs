//! A shuffle queue as its specification says it, on keys as Redis has them. Written to be read, not
//! to be fast, and from nothing that the library uses.

use std::collections::BTreeMap;

/// Bytes as a string, a character a byte, so that names print and sort as Redis sorts them.
pub type Text = String;

/// Fields and their values, in order.
pub type Fields = Vec<(Text, Text)>;

/// Whose behaviour to follow where they part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The system that the traces were recorded from, mistakes included.
    Original,
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
}

/// What a key holds and for how many seconds it was told to live.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The value.
    pub value: Value,
    /// Seconds; `None` for ever.
    pub ttl: Option<u64>,
}

/// A value of Redis.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A hash.
    Hash(BTreeMap<Text, Text>),
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
    /// The last id that was given.
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

const WRONG_TYPE: Failure = "WRONGTYPE";
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
        Self { rules, keys: BTreeMap::new(), messages: 0, notifications: 0 }
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

    /// Lets a key live so long; where nothing is shortened, at least so long.
    fn expire(&mut self, key: &str, ttl: u64, may_shorten: bool) {
        if let Some(key) = self.keys.get_mut(key) {
            let longest = key.ttl.unwrap_or(0).max(ttl);
            key.ttl = Some(if may_shorten { ttl } else { longest });
        }
    }

    /// Sets a field of a hash, as HSET does; answers how many fields were new.
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

    /// Writes a message to a shard; answers its id and stream.
    pub fn write(
        &mut self,
        name: &str,
        ttl: u64,
        streams: i64,
        shard: &[u64],
        fields: Fields,
    ) -> Result<(Text, u64), Failure> {
        let ours = self.rules == Rules::Ours;
        let now = self.stream_count(name)?;
        let notifications = format!("{name}:notifications");
        if ours {
            self.stream(&notifications)?;
        }
        let mut resized = streams > now;
        if streams < now {
            resized = true;
            let beyond = if ours { streams..now } else { streams + 1..now + 1 };
            for index in beyond {
                let stream = self.stream(&format!("{name}:s{index}"))?;
                let is_done = match (ours, stream) {
                    (_, None) => true,
                    (true, Some(stream)) => stream.is_drained(),
                    (false, Some(stream)) => stream.entries.is_empty(),
                };
                if !is_done {
                    resized = false;
                    break;
                }
            }
        }
        let mut chosen = (usize::MAX, 0);
        for index in shard {
            let busy = match self.stream(&format!("{name}:s{index}"))? {
                None => 0,
                Some(stream) if ours => stream.backlog(),
                Some(stream) => stream.entries.len(),
            };
            if busy < chosen.0 {
                chosen = (busy, *index);
            }
            if busy == 0 {
                break;
            }
        }
        if resized {
            self.set_meta(name, &[("streams", streams.to_string())]);
        }
        let key = format!("{name}:s{}", chosen.1);
        let id = self.add(&key, fields)?;
        self.notifications += 1;
        let note = format!("N{}", self.notifications);
        let (stream, _) = self.stream_or_new(&notifications)?;
        stream.entries = vec![(note.clone(), vec![("s".to_owned(), chosen.1.to_string())])];
        stream.last = note;
        for key in [key, notifications] {
            self.expire(&key, ttl, true);
        }
        self.expire(&format!("{name}:meta"), ttl, !ours);
        Ok((id, chosen.1))
    }

    /// Takes one message.
    pub fn read(
        &mut self,
        name: &str,
        ttl: u64,
        group: &str,
        consumer: &str,
        prefer: Option<i64>,
    ) -> Result<Option<Taken>, Failure> {
        let ours = self.rules == Rules::Ours;
        let streams = self.stream_count(name)?;
        if let Some(index) = prefer.filter(|index| *index < streams) {
            let key = format!("{name}:s{index}");
            let has_group =
                self.stream(&key)?.is_some_and(|stream| stream.groups.contains_key(group));
            if has_group && let Some(taken) = self.take(&key, group, consumer)? {
                if ours {
                    self.expire(&format!("{name}:meta"), ttl, false);
                }
                return Ok(Some(taken));
            }
        }
        let own = format!("offset:{group}");
        let own = if ours { self.meta(name, &own)? } else { None };
        let offset = own.or(self.meta(name, "offset")?).unwrap_or("0");
        let offset = offset.parse::<i64>().unwrap_or(0);
        for i in 0..streams {
            let index = (offset + i).rem_euclid(streams);
            let key = format!("{name}:s{index}");
            if !self.stream(&key)?.is_some_and(|stream| stream.groups.contains_key(group)) {
                self.join(&key, group, ZERO)?;
                self.expire(&key, ttl, !ours);
            }
            if let Some(taken) = self.take(&key, group, consumer)? {
                let next = ((index + 1) % streams).to_string();
                self.set_meta(name, &[("offset", next.clone())]);
                if ours {
                    self.set_meta(name, &[(&format!("offset:{group}"), next)]);
                }
                self.expire(&format!("{name}:meta"), ttl, !ours);
                return Ok(Some(taken));
            }
        }
        Ok(None)
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

    fn take(&mut self, key: &str, group: &str, consumer: &str) -> Result<Option<Taken>, Failure> {
        let (stream, _) = self.stream_or_new(key)?;
        let Some(group) = stream.groups.get_mut(group) else { return Ok(None) };
        let after = number(&group.last);
        let next = stream.entries.iter().find(|(id, _)| number(id) > after);
        let Some((id, fields)) = next else { return Ok(None) };
        group.last = id.clone();
        group.pending.push((id.clone(), consumer.to_owned(), 1));
        Ok(Some((key.to_owned(), id.clone(), fields.clone())))
    }

    /// Acknowledges, as XACK does; answers how many were pending.
    pub fn ack(&mut self, key: &str, group: &str, ids: &[Text]) -> u64 {
        let Some(Value::Stream(stream)) = self.keys.get_mut(key).map(|key| &mut key.value) else {
            return 0;
        };
        let Some(group) = stream.groups.get_mut(group) else { return 0 };
        let before = group.pending.len();
        group.pending.retain(|(id, ..)| !ids.contains(id));
        (before - group.pending.len()) as u64
    }

    /// Deletes entries, as XDEL does; answers how many were there.
    pub fn delete(&mut self, key: &str, ids: &[Text]) -> u64 {
        let Some(Value::Stream(stream)) = self.keys.get_mut(key).map(|key| &mut key.value) else {
            return 0;
        };
        let before = stream.entries.len();
        stream.entries.retain(|(id, _)| !ids.contains(id));
        (before - stream.entries.len()) as u64
    }

    /// Takes over everything that is pending, from the streams in turn, up to `max` messages.
    /// Answers the messages with their deliveries, and how many died after `max_deliveries`.
    pub fn reclaim(
        &mut self,
        name: &str,
        group: &str,
        consumer: &str,
        max: usize,
        max_deliveries: u64,
    ) -> Result<(Vec<(Taken, u64)>, u64), Failure> {
        let mut turns = Vec::new();
        for index in 0..self.stream_count(name)? {
            let key = format!("{name}:s{index}");
            let group = self.stream(&key)?.and_then(|stream| stream.groups.get(group));
            let mut ids: Vec<Text> =
                group.iter().flat_map(|g| &g.pending).map(|(id, ..)| id.clone()).collect();
            ids.sort_by_key(|id| number(id));
            turns.push((key, ids.into_iter()));
        }
        let mut order: Vec<(Text, Text)> = Vec::new();
        loop {
            let before = order.len();
            for (key, ids) in &mut turns {
                if order.len() < max
                    && let Some(id) = ids.next()
                {
                    order.push((key.clone(), id));
                }
            }
            if order.len() == before {
                break;
            }
        }
        let (mut messages, mut dead) = (Vec::new(), 0);
        for (key, id) in order {
            let (stream, _) = self.stream_or_new(&key)?;
            let groups = stream.groups.len();
            let entry = stream.entries.iter().find(|(own, _)| *own == id).cloned();
            let Some(own) = stream.groups.get_mut(group) else { continue };
            let Some(at) = own.pending.iter().position(|(own, ..)| *own == id) else { continue };
            match entry {
                None => {
                    own.pending.remove(at);
                }
                Some(_) if max_deliveries > 0 && own.pending[at].2 >= max_deliveries => {
                    own.pending.remove(at);
                    if groups == 1 {
                        self.delete(&key, &[id]);
                    }
                    dead += 1;
                }
                Some((_, fields)) => {
                    own.pending[at].1 = consumer.to_owned();
                    own.pending[at].2 += 1;
                    messages.push(((key, id, fields), own.pending[at].2));
                }
            }
        }
        Ok((messages, dead))
    }

    fn counted(&self, name: &str) -> Result<Vec<&Stream>, Failure> {
        let streams = self.stream_count(name)?;
        let found: Result<Vec<_>, _> =
            (0..streams).map(|index| self.stream(&format!("{name}:s{index}"))).collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// How many entries there are.
    pub fn len(&self, name: &str) -> Result<u64, Failure> {
        Ok(self.counted(name)?.iter().map(|stream| stream.entries.len() as u64).sum())
    }

    /// How many messages some group still has to get or to acknowledge.
    pub fn backlog(&self, name: &str) -> Result<u64, Failure> {
        Ok(self.counted(name)?.iter().map(|stream| stream.backlog() as u64).sum())
    }

    /// How many messages are pending for a group.
    pub fn pending_count(&self, name: &str, group: &str) -> Result<u64, Failure> {
        let groups = self.counted(name)?;
        let groups = groups.iter().filter_map(|stream| stream.groups.get(group));
        Ok(groups.map(|group| group.pending.len() as u64).sum())
    }
}
