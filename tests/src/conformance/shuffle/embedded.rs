//! Raw commands of a case as calls, for engines that have no others.
//!
//! An entry that was put into a stream is a message of a tenant whose shard is that stream alone. It
//! leaves a notification and a time to live as well, which no call shows. What has no such call
//! ends the case.

use std::collections::HashMap;

use millpond::shuffle::shard;
use millpond_tests::shuffle::model::{Model, Text, Value};

use super::step::{Call, Reader, Step, Target, Tenant};

/// The number of streams that queues were given and do not have yet.
#[derive(Default)]
pub(super) struct Deferred(HashMap<Text, i64>);

impl Deferred {
    /// A call that does what the command does, or none if it is done later; nothing if there is
    /// no such call.
    pub(super) fn translate(&mut self, words: &[Text], model: &Model) -> Option<Option<Step>> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let call = match words[..] {
            ["HSET", key, "streams", streams] => {
                let name = key.strip_suffix(":meta")?;
                self.0.insert(name.to_owned(), streams.parse().ok()?);
                return Some(None);
            }
            ["XADD", key, "*", ref pairs @ ..] => {
                let (name, number) = stream_of(key)?;
                let has = model.stats(name, "").ok()?.len() as i64;
                let streams = self.0.get(name).map_or(has, |wanted| has.max(*wanted));
                // A stream that the queue does not have yet is invisible.
                if number >= streams {
                    return None;
                }
                self.0.remove(name);
                let fields = pairs.chunks(2).map(|p| (p[0].to_owned(), p[1].to_owned())).collect();
                let key = (0..100_000).map(|i| format!("k{i}")).find(|key| {
                    shard(streams as u32, 1, key).is_ok_and(|shard| i64::from(shard[0]) == number)
                })?;
                let (streams, per_shard) = (Some(streams), Some(1));
                let to = Target { name: name.to_owned(), ttl_ms: None, streams, per_shard };
                Call::Write { to, message: Tenant { key, fields }, tracked: None }
            }
            ["XACK", key, group, ref ids @ ..] => ack(stream_of(key)?.0, group, ids, false),
            // Deleting what is not pending acknowledges nothing.
            ["XDEL", key, ref ids @ ..] => {
                let Value::Stream(stream) = &model.keys.get(key)?.value else { return None };
                let mut pending = stream.groups.values().flat_map(|group| &group.pending);
                if pending.any(|(id, ..)| ids.contains(&id.as_str())) {
                    return None;
                }
                let group = stream.groups.keys().next().map_or("g", String::as_str);
                ack(stream_of(key)?.0, group, ids, true)
            }
            _ => return None,
        };
        Some(Some(Step::plain(call)))
    }

    /// Whether all queues have their streams.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn stream_of(key: &str) -> Option<(&str, i64)> {
    let (name, number) = key.rsplit_once(":s")?;
    Some((name, number.parse().ok()?))
}

fn ack(name: &str, group: &str, ids: &[&str], delete: bool) -> Call {
    let by = Reader {
        name: name.to_owned(),
        ttl_ms: None,
        group: group.to_owned(),
        consumer: "c".to_owned(),
        prefer: None,
        default_stream: false,
    };
    Call::Ack { by, ids: ids.iter().map(|id| (*id).to_owned()).collect(), delete }
}
