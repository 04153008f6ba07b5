//! Reading, and what comes after it.

use std::collections::BTreeSet;

use super::{Failure, Fields, Group, Model, Rules, Taken, Text, ZERO, number};

/// Who reads, and how.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The queue.
    pub name: &'a str,
    /// Seconds that what is made lives.
    pub ttl: u64,
    /// The group.
    pub group: &'a str,
    /// The consumer.
    pub consumer: &'a str,
    /// The stream to read from first.
    pub prefer: Option<i64>,
    /// Whether to read the stream at the queue's own name as well.
    pub default_stream: bool,
}

/// A message that was delivered too often or rejected, and its history.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// The message as it was.
    pub message: Taken,
    /// The group for which it died.
    pub group: Text,
    /// The last consumer that it was delivered to.
    pub consumer: Text,
    /// How often it was delivered.
    pub deliveries: u64,
    /// Why it died.
    pub reason: Text,
}

/// The consumer of what was released.
const RELEASED: &str = "millpond:released";

/// The reason of what was delivered too often.
const EXHAUSTED: &str = "exhausted: max_deliveries";

impl Model {
    /// Reads one message.
    pub fn read(
        &mut self,
        name: &str,
        ttl: u64,
        group: &str,
        consumer: &str,
        prefer: Option<i64>,
    ) -> Result<Option<Taken>, Failure> {
        let default_stream = false;
        self.read_one(&Reading { name, ttl, group, consumer, prefer, default_stream })
    }

    /// Reads up to `max` messages: the same ones as that many single reads.
    pub fn read_many(&mut self, r: &Reading<'_>, max: u64) -> Result<Vec<Taken>, Failure> {
        let mut taken = Vec::new();
        // Whether the group has joined the preferred stream is asked once.
        let joined = |key: &str| self.has_joined(key, r.group);
        let prefer = r.prefer.filter(|index| joined(&format!("{}:s{index}", r.name)));
        let reading = Reading { prefer, ..r.clone() };
        while (taken.len() as u64) < max {
            match self.read_one(&reading) {
                Ok(Some(message)) => taken.push(message),
                Ok(None) => break,
                Err(failure) if taken.is_empty() => return Err(failure),
                Err(_) => break,
            }
        }
        Ok(taken)
    }

    fn read_one(&mut self, r: &Reading<'_>) -> Result<Option<Taken>, Failure> {
        let ours = self.rules == Rules::Ours;
        let (name, meta) = (r.name, format!("{}:meta", r.name));
        let before = self.time_of(&meta);
        let streams = self.stream_count(name)?;
        if let Some(index) = r.prefer.filter(|index| !ours || *index < streams) {
            let key = format!("{name}:s{index}");
            let has_group =
                self.stream(&key)?.is_some_and(|stream| stream.groups.contains_key(r.group));
            if !has_group && !ours {
                return Err("NOGROUP");
            }
            if has_group && let Some(taken) = self.take(&key, r.group, r.consumer)? {
                if ours {
                    self.prolong(&meta, Some(r.ttl), before);
                }
                return Ok(Some(taken));
            }
        }
        let offset = self.offset(name, r.group)?;
        // The default stream comes after the others.
        let places = streams + i64::from(r.default_stream);
        for i in 0..places {
            let place = (offset + i as f64).rem_euclid(places as f64);
            let is_default = place == streams as f64;
            let key = if is_default { name.to_owned() } else { format!("{name}:s{place}") };
            let taken = if is_default {
                self.take_default(name, r.consumer)
            } else {
                self.join_and_take(&key, r)
            };
            // The original returns the error of a stream as if it were a message.
            if matches!(taken, Ok(Some(_))) || taken.is_err() && !ours {
                let next = (place + 1.0) % places as f64;
                let offset = next % (streams.max(1) as f64);
                self.set_meta(name, &[("offset", offset.to_string())]);
                if ours {
                    self.set_meta(name, &[(&format!("offset:{}", r.group), next.to_string())]);
                }
                self.prolong(&meta, Some(r.ttl), if ours { before } else { None });
            }
            if let Some(taken) = taken? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Where the next read begins; the original goes between streams if told so.
    fn offset(&self, name: &str, group: &str) -> Result<f64, Failure> {
        let ours = self.rules == Rules::Ours;
        let own = if ours { self.meta(name, &format!("offset:{group}"))? } else { None };
        let offset = own.or(self.meta(name, "offset")?).unwrap_or("0");
        let offset = offset.parse::<f64>().unwrap_or(0.0);
        Ok(if ours && offset.fract() != 0.0 { 0.0 } else { offset })
    }

    fn join_and_take(&mut self, key: &str, r: &Reading<'_>) -> Result<Option<Taken>, Failure> {
        if !self.stream(key)?.is_some_and(|stream| stream.groups.contains_key(r.group)) {
            let before = self.time_of(key).filter(|_| self.rules == Rules::Ours);
            self.join(key, r.group, ZERO)?;
            self.prolong(key, Some(r.ttl), before);
        }
        self.take(key, r.group, r.consumer)
    }

    /// Reads from the stream at the queue's own name, which is never created and keeps its time
    /// to live.
    fn take_default(&mut self, name: &str, consumer: &str) -> Result<Option<Taken>, Failure> {
        if self.stream(name)?.is_none() {
            return Ok(None);
        }
        if !self.has_joined(name, name) {
            self.join(name, name, ZERO)?;
        }
        self.take(name, name, consumer)
    }

    fn take(
        &mut self,
        key: &str,
        group_name: &str,
        consumer: &str,
    ) -> Result<Option<Taken>, Failure> {
        let (stream, _) = self.stream_or_new(key)?;
        let Some(group) = stream.groups.get_mut(group_name) else { return Ok(None) };
        let after = number(&group.last);
        let next = stream.entries.iter().find(|(id, _)| number(id) > after);
        let Some((id, fields)) = next else { return Ok(None) };
        group.last = id.clone();
        group.pending.push((id.clone(), consumer.to_owned(), 1));
        let taken = (key.to_owned(), id.clone(), fields.clone());
        self.consumers.insert((key.to_owned(), group_name.to_owned(), consumer.to_owned()));
        Ok(Some(taken))
    }

    /// What an empty read that waits leaves behind: the original takes the last notification.
    pub fn wait(&mut self, name: &str, group: &str) {
        let key = format!("{name}:notifications");
        if self.rules != Rules::Ours
            && let Ok((stream, _)) = self.stream_or_new(&key)
        {
            let last = stream.last.clone();
            stream.groups.insert(group.to_owned(), Group { last, pending: Vec::new() });
        }
    }

    /// How often a message was delivered that is this consumer's, and its fields. One that is gone is done.
    fn held(&mut self, key: &str, group: &str, consumer: &str, id: &Text) -> Option<(u64, Fields)> {
        let stream = self.stream(key).ok().flatten()?;
        let is_own = |(own, by, _): &&(Text, Text, u64)| own == id && by == consumer;
        let deliveries = stream.groups.get(group)?.pending.iter().find(is_own)?.2;
        let entry = stream.entries.iter().find(|(there, _)| there == id);
        let Some((_, fields)) = entry.cloned() else {
            self.ack(key, group, std::slice::from_ref(id));
            return None;
        };
        Some((deliveries, fields))
    }

    /// Renews a message that is being worked on; returns whether it is this consumer's.
    pub fn renew(&mut self, key: &str, group: &str, consumer: &str, id: &Text) -> bool {
        self.idle.remove(&(key.to_owned(), group.to_owned(), id.clone()));
        self.held(key, group, consumer, id).is_some()
    }

    /// Gives a message back, idle for so long, and takes its delivery back; returns whether it is this consumer's.
    pub fn release(
        &mut self,
        key: &str,
        group: &str,
        consumer: &str,
        id: &Text,
        idle: i64,
    ) -> bool {
        if self.held(key, group, consumer, id).is_none() {
            return false;
        }
        self.idle.insert((key.to_owned(), group.to_owned(), id.clone()), idle);
        let Ok((stream, _)) = self.stream_or_new(key) else { return false };
        let pending = stream.groups.get_mut(group).into_iter().flat_map(|group| &mut group.pending);
        for (own, by, deliveries) in pending {
            if own == id {
                *deliveries = deliveries.saturating_sub(1);
                RELEASED.clone_into(by);
            }
        }
        true
    }

    /// Makes a dead letter of a message; returns whether it is this consumer's.
    pub fn reject(
        &mut self,
        name: &str,
        (key, group, consumer): (&str, &str, &str),
        id: &Text,
        reason: &str,
    ) -> Result<bool, Failure> {
        self.stream(&format!("{name}:dead"))?;
        let Some((deliveries, fields)) = self.held(key, group, consumer, id) else {
            return Ok(false);
        };
        let ids = std::slice::from_ref(id);
        self.ack(key, group, ids);
        if self.stream(key)?.is_some_and(|stream| stream.groups.len() == 1) {
            self.delete(key, ids);
        }
        let taken = (key.to_owned(), id.clone(), fields);
        self.bury(name, taken, group, (consumer, deliveries, reason))?;
        Ok(true)
    }

    /// Removes the consumers of a queue that hold nothing; returns how many. None is idle for long, so with a
    /// `min_idle` there are none.
    pub fn remove_idle_consumers(&mut self, name: &str, min_idle_ms: i64) -> u64 {
        let prefix = format!("{name}:s");
        let holds = |(key, group, consumer): &(Text, Text, Text)| {
            let stream = self.stream(key).ok().flatten();
            let group = stream.and_then(|stream| stream.groups.get(group));
            group.is_some_and(|group| group.pending.iter().any(|(_, by, _)| by == consumer))
        };
        let of_queue = self.consumers.iter().filter(|(key, ..)| key.starts_with(&prefix));
        let named = |(_, group, consumer): &(Text, Text, Text)| (group.clone(), consumer.clone());
        let busy: BTreeSet<_> = of_queue.clone().filter(|of| holds(of)).map(named).collect();
        let all: BTreeSet<_> = of_queue.map(named).collect();
        let idle: BTreeSet<_> =
            all.difference(&busy).filter(|_| min_idle_ms == 0).cloned().collect();
        self.consumers.retain(|of| !of.0.starts_with(&prefix) || !idle.contains(&named(of)));
        idle.len() as u64
    }

    /// Takes over everything that is pending, from the streams in turn, up to `max` messages; with a
    /// `min_idle` only what was released as idle for that long, as nothing else is. A suspect comes alone.
    /// Returns the messages with their deliveries, and how many died after `max_deliveries`.
    pub fn reclaim(
        &mut self,
        name: &str,
        (group, consumer): (&str, &str),
        min_idle_ms: i64,
        max: usize,
        max_deliveries: u64,
    ) -> Result<(Vec<(Taken, u64)>, u64), Failure> {
        let mut turns = Vec::new();
        for index in 0..self.stream_count(name)? {
            let key = format!("{name}:s{index}");
            let own = self.stream(&key)?.and_then(|stream| stream.groups.get(group));
            let mut ids: Vec<Text> =
                own.iter().flat_map(|g| &g.pending).map(|(id, ..)| id.clone()).collect();
            ids.retain(|id| {
                let idle = self.idle.get(&(key.clone(), group.to_owned(), id.clone()));
                min_idle_ms == 0 || idle.is_some_and(|idle| *idle >= min_idle_ms)
            });
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
        let is_dead = |deliveries| max_deliveries > 0 && deliveries >= max_deliveries;
        let mut suspect = None;
        for (key, id) in &order {
            let Some(stream) = self.stream(key)? else { continue };
            let is_there = stream.entries.iter().any(|(own, _)| own == id);
            let of_group = stream.groups.get(group).into_iter().flat_map(|group| &group.pending);
            for (_, by, deliveries) in of_group.filter(|(own, ..)| own == id && is_there) {
                let is_last = *deliveries > 1 || is_dead(deliveries + 1);
                if by != RELEASED && !is_dead(*deliveries) && is_last && suspect.is_none() {
                    suspect = Some((key.clone(), id.clone()));
                }
            }
        }
        let (mut messages, mut dead) = (Vec::new(), 0);
        for (key, id) in order {
            let place = (key.clone(), group.to_owned(), id.clone());
            let idle = self.idle.remove(&place);
            let (stream, _) = self.stream_or_new(&key)?;
            let groups = stream.groups.len();
            let entry = stream.entries.iter().find(|(own, _)| *own == id).cloned();
            let Some(own) = stream.groups.get_mut(group) else { continue };
            let Some(at) = own.pending.iter().position(|(own, ..)| *own == id) else { continue };
            match entry {
                None => {
                    own.pending.remove(at);
                }
                Some((_, fields)) if is_dead(own.pending[at].2) => {
                    let (_, consumer, deliveries) = own.pending.remove(at);
                    if groups == 1 {
                        self.delete(&key, std::slice::from_ref(&id));
                    }
                    self.bury(name, (key, id, fields), group, (&consumer, deliveries, EXHAUSTED))?;
                    dead += 1;
                }
                Some(_)
                    if suspect
                        .as_ref()
                        .is_some_and(|other| *other != (key.clone(), id.clone())) =>
                {
                    self.idle.extend(idle.map(|idle| (place, idle)));
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

    /// Sets the time to live of the dead letters, as a reclaim does that made one; `None`
    /// forever.
    pub fn keep_dead(&mut self, name: &str, dead_ttl: Option<u64>) {
        self.expire(&format!("{name}:dead"), dead_ttl);
    }

    /// Deletes dead letters; returns how many there were.
    pub fn delete_dead_letters(&mut self, name: &str, ids: &[Text]) -> Result<u64, Failure> {
        let key = format!("{name}:dead");
        self.stream(&key)?;
        Ok(self.delete(&key, ids))
    }

    /// Puts dead letters back, each as a new message of its stream; returns the key and the id of each.
    pub fn redrive(
        &mut self,
        name: &str,
        ttl: Option<u64>,
        streams: i64,
        ids: &[Text],
    ) -> Result<Vec<Option<(Text, Text)>>, Failure> {
        let (dead, meta) = (format!("{name}:dead"), format!("{name}:meta"));
        let shape = self.shape(name)?;
        let before = self.time_of(&meta);
        let (mut places, mut last) = (Vec::new(), None);
        for id in ids {
            let letters = self.dead_letters(name, u64::MAX)?;
            let Some((_, letter)) = letters.into_iter().find(|(own, _)| own == id) else {
                places.push(None);
                continue;
            };
            let (from, _, fields) = letter.message;
            let from = from.rsplit_once(":s").and_then(|(_, number)| number.parse::<i64>().ok());
            let target = from.unwrap_or(0) % shape.unwrap_or(streams);
            let key = format!("{name}:s{target}");
            let new = self.add(&key, fields)?;
            self.expire(&key, ttl);
            self.delete(&dead, std::slice::from_ref(id));
            places.push(Some((key, new)));
            last = Some(target);
        }
        if let Some(last) = last {
            if shape.is_none() {
                self.set_streams(name, streams);
            }
            self.prolong(&meta, ttl, before);
            self.notify(name, last as u64)?;
            self.expire(&format!("{name}:notifications"), ttl);
        }
        Ok(places)
    }

    fn bury(
        &mut self,
        name: &str,
        (key, id, fields): Taken,
        group: &str,
        (consumer, deliveries, reason): (&str, u64, &str),
    ) -> Result<(), Failure> {
        let stream = key.rsplit_once(":s").map(|(_, number)| number.to_owned());
        let history = [
            ("dead:stream", stream.unwrap_or_default()),
            ("dead:id", id),
            ("dead:group", group.to_owned()),
            ("dead:consumer", consumer.to_owned()),
            ("dead:deliveries", deliveries.to_string()),
            ("dead:reason", reason.to_owned()),
        ];
        let mut all: Fields = history.map(|(field, value)| (field.to_owned(), value)).to_vec();
        all.extend(fields);
        self.dead += 1;
        let id = format!("D{}", self.dead);
        let (dead, _) = self.stream_or_new(&format!("{name}:dead"))?;
        dead.entries.push((id.clone(), all));
        dead.last = id;
        Ok(())
    }

    /// Up to `max` dead letters, the oldest first, with their ids.
    pub fn dead_letters(&self, name: &str, max: u64) -> Result<Vec<(Text, DeadLetter)>, Failure> {
        let Some(stream) = self.stream(&format!("{name}:dead"))? else { return Ok(Vec::new()) };
        let letter = |(id, fields): &(Text, Fields)| {
            let value = |at: usize| fields[at].1.clone();
            let message = (format!("{name}:s{}", value(0)), value(1), fields[6..].to_vec());
            let deliveries = value(4).parse().unwrap_or(0);
            let (group, consumer, reason) = (value(2), value(3), value(5));
            let letter = DeadLetter { message, group, consumer, deliveries, reason };
            (id.clone(), letter)
        };
        Ok(stream.entries.iter().take(max as usize).map(letter).collect())
    }
}
