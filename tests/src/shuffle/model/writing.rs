//! Writing.

use super::{Failure, Fields, INVALID, Model, Rules, Text, Value, ZERO};

/// How many fields the original can write; it fails with more.
const ORIGINAL_FIELDS_MAX: usize = 3_998;

impl Model {
    /// How many streams writers spread over; `None` if nothing was written yet.
    pub fn shape(&self, name: &str) -> Result<Option<i64>, Failure> {
        let streams = self.stream_count(name)?;
        let target = self.meta(name, "target")?.and_then(|text| text.split_once('/'));
        if let Some((target, of)) = target
            && of.parse() == Ok(streams)
        {
            return Ok(target.parse().ok());
        }
        if self.meta(name, "streams")?.is_some() {
            return Ok((streams > 0).then_some(streams));
        }
        // The original leaves the field out for one stream.
        let first = self.stream(&format!("{name}:s0")).ok().flatten();
        Ok(first.is_some_and(|stream| stream.last != ZERO).then_some(1))
    }

    /// Changes a queue's number of streams; returns how many there are then.
    pub fn resize(&mut self, name: &str, ttl: Option<u64>, wanted: i64) -> Result<u64, Failure> {
        let meta = format!("{name}:meta");
        let (before, now) = (self.time_of(&meta), self.stream_count(name)?);
        let is_done =
            self.shape(name)?.is_none() || wanted >= now || self.can_shrink(name, wanted, now)?;
        if is_done {
            self.set_streams(name, wanted);
        } else {
            self.set_meta(name, &[("target", format!("{wanted}/{now}"))]);
        }
        self.prolong(&meta, ttl, before);
        Ok(if is_done { wanted } else { now } as u64)
    }

    pub(super) fn set_streams(&mut self, name: &str, streams: i64) {
        self.set_meta(name, &[("streams", streams.to_string())]);
        if let Some(Value::Hash(meta)) =
            self.keys.get_mut(&format!("{name}:meta")).map(|key| &mut key.value)
        {
            meta.remove("target");
        }
    }

    /// Writes a message to a shard of a queue of this many streams; returns its id and stream.
    /// With ours the queue has to have as many.
    pub fn write(
        &mut self,
        name: &str,
        ttl: Option<u64>,
        streams: i64,
        shard: &[u64],
        fields: Fields,
    ) -> Result<(Text, u64), Failure> {
        let ours = self.rules == Rules::Ours;
        if !ours && fields.len() > ORIGINAL_FIELDS_MAX {
            return Err("ERR");
        }
        let now = self.stream_count(name)?;
        let shape = if ours { self.shape(name)? } else { None };
        if shape.is_some_and(|shape| shape != streams) {
            return Err(INVALID);
        }
        let notifications = format!("{name}:notifications");
        if ours {
            self.stream(&notifications)?;
        }
        let is_new = if ours { shape.is_none() } else { streams > now };
        let resized = is_new || streams < now && self.can_shrink(name, streams, now)?;
        let chosen = self.choose(name, shard)?;
        let meta = format!("{name}:meta");
        let before = self.time_of(&meta).filter(|_| ours);
        if resized {
            self.set_streams(name, streams);
        }
        let key = format!("{name}:s{chosen}");
        let id = self.add(&key, fields)?;
        self.notify(name, chosen)?;
        for key in [key, notifications] {
            self.expire(&key, ttl);
        }
        self.prolong(&meta, ttl, before);
        Ok((id, chosen))
    }

    /// Writes messages in one step, all or none: shards and fields.
    pub fn write_many(
        &mut self,
        name: &str,
        ttl: Option<u64>,
        streams: i64,
        messages: &[(Vec<u64>, Fields)],
    ) -> Result<Vec<(Text, u64)>, Failure> {
        let before = self.clone();
        let written: Result<Vec<_>, _> = messages
            .iter()
            .map(|(shard, fields)| self.write(name, ttl, streams, shard, fields.clone()))
            .collect();
        let Ok(written) = written else {
            *self = before;
            return written;
        };
        // One step leaves one notification, of the last of its messages.
        if let Some((_, last)) = written.last() {
            self.notifications = before.notifications;
            self.notify(name, *last)?;
        }
        Ok(written)
    }

    pub(super) fn notify(&mut self, name: &str, stream: u64) -> Result<(), Failure> {
        self.notify_at(&format!("{name}:notifications"), &stream.to_string())
    }

    /// Leaves a notification of a stream at a key, as the last one.
    pub fn notify_at(&mut self, key: &str, stream: &str) -> Result<(), Failure> {
        self.stream(key)?;
        self.notifications += 1;
        let note = format!("N{}", self.notifications);
        let (notifications, _) = self.stream_or_new(key)?;
        notifications.entries = vec![(note.clone(), vec![("s".to_owned(), stream.to_owned())])];
        notifications.last = note;
        Ok(())
    }

    /// Whether the queue may become smaller: nothing is left in the streams beyond.
    fn can_shrink(&self, name: &str, streams: i64, now: i64) -> Result<bool, Failure> {
        let beyond = match self.rules {
            Rules::Original => streams + 1..now + 1,
            Rules::Repaired | Rules::Ours => streams..now,
        };
        for index in beyond {
            let is_done = match self.stream(&format!("{name}:s{index}"))? {
                None => true,
                Some(stream) if self.rules == Rules::Ours => stream.is_drained(),
                Some(stream) => stream.entries.is_empty(),
            };
            if !is_done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The stream of a shard with the least to do.
    fn choose(&self, name: &str, shard: &[u64]) -> Result<u64, Failure> {
        let mut chosen = (usize::MAX, 0);
        for index in shard {
            let busy = match self.stream(&format!("{name}:s{index}"))? {
                None => 0,
                Some(stream) if self.rules == Rules::Ours => stream.backlog(),
                Some(stream) => stream.entries.len(),
            };
            if busy < chosen.0 {
                chosen = (busy, *index);
            }
            if busy == 0 {
                break;
            }
        }
        Ok(chosen.1)
    }
}
