//! Writing.

use super::{Failure, Fields, Model, Rules, Text};

/// How many fields the original can write; it fails with more.
const ORIGINAL_FIELDS_MAX: usize = 3_998;

impl Model {
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
        if !ours && fields.len() > ORIGINAL_FIELDS_MAX {
            return Err("ERR");
        }
        let now = self.stream_count(name)?;
        let notifications = format!("{name}:notifications");
        if ours {
            self.stream(&notifications)?;
        }
        let resized = streams > now || streams < now && self.can_shrink(name, streams, now)?;
        let chosen = self.choose(name, shard)?;
        if resized {
            self.set_meta(name, &[("streams", streams.to_string())]);
        }
        let key = format!("{name}:s{chosen}");
        let id = self.add(&key, fields)?;
        self.notify(name, chosen)?;
        for key in [key, notifications] {
            self.expire(&key, ttl, true);
        }
        self.expire(&format!("{name}:meta"), ttl, !ours);
        Ok((id, chosen))
    }

    /// Writes messages in one step, all or none: shards and fields.
    pub fn write_many(
        &mut self,
        name: &str,
        ttl: u64,
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

    fn notify(&mut self, name: &str, stream: u64) -> Result<(), Failure> {
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
