//! Tracked messages. Times that depend on the clock are counted from [`NOW`], and are written as
//! the traces write them: `now+60`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{CORRUPT, Failure, Fields, Key, Model, Rules, Text, Value, WRONG_TYPE};

/// The time at which a model lives, in seconds. It has as many digits as the real one, and the
/// first ones are the same until 2033.
pub const NOW: i64 = 1_795_555_555;

/// How far from the present a time depends on the clock.
const NEAR: i64 = 10_000_000;

/// From here on the original writes deadlines with an exponent.
const ORIGINAL_EXPONENT: i64 = 100_000_000_000_000;

/// What a collection of garbage did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// Members and fields that were scanned.
    pub scanned: u64,
    /// Records that were deleted.
    pub deleted: u64,
    /// The values that were returned, sorted.
    pub seen: Vec<Text>,
}

/// A deadline in the form of the traces.
pub fn deadline_text(deadline: i64) -> Text {
    match deadline - NOW {
        from_now if from_now.abs() < NEAR => format!("now{from_now:+}"),
        _ => deadline.to_string(),
    }
}

/// The deadline that a text of ours is.
fn deadline_of(text: &str) -> Option<i64> {
    match text.strip_prefix("now") {
        Some(from_now) => from_now.parse().ok().map(|from_now: i64| NOW + from_now),
        None => text.parse().ok(),
    }
}

/// A record, in a form in which two are equal if they say the same. The deadline as a text.
pub fn record(stream: &str, value: &str, id: &str, deadline: &str) -> Text {
    let record = json!({
        "stream_id": stream, "track_value": value, "msg_id": id, "deadline": deadline,
    });
    record.to_string()
}

/// The three keys of tracking: their common beginning is empty, or a queue's name and a colon.
struct Keys {
    tracking: Text,
    deadlines: Text,
    garbage: Text,
}

impl Keys {
    fn of(prefix: &str) -> Self {
        let key = |name| format!("{prefix}meta:{name}");
        Self {
            tracking: key("cancelation"),
            deadlines: key("deadlines"),
            garbage: key("presortedgarbage"),
        }
    }
}

impl Model {
    /// Records where a message went that has just been written; its fields say under which value.
    /// With the original's rules the message stays where this fails.
    pub fn track(
        &mut self,
        prefix: &str,
        (stream, id): (&str, &str),
        fields: &Fields,
        track_field: &str,
        deadline: i64,
    ) -> Result<(), Failure> {
        let value = fields.iter().find(|(field, _)| field == track_field).map(|(_, value)| value);
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(()) };
        let keys = Keys::of(prefix);
        self.check_tracking(prefix)?;
        let text = deadline_text(deadline);
        let (mut json_text, mut field_text) = (text.clone(), text.clone());
        if self.rules != Rules::Ours && deadline.abs() >= ORIGINAL_EXPONENT {
            json_text = format!("{:?}", deadline as f64);
            field_text = with_exponent(deadline);
        }
        self.set_field(&keys.tracking, value, &record(stream, value, id, &json_text));
        self.set_field(&keys.tracking, &format!("{value}:expiry:{field_text}"), "1");
        let new = || Key { value: Value::Zset(BTreeMap::new()), ttl: None };
        let key = self.keys.entry(keys.deadlines).or_insert_with(new);
        let Value::Zset(deadlines) = &mut key.value else { return Err(WRONG_TYPE) };
        deadlines.insert(value.clone(), text);
        Ok(())
    }

    /// Checks the types of the tracking keys.
    pub fn check_tracking(&self, prefix: &str) -> Result<(), Failure> {
        let keys = Keys::of(prefix);
        let is_right =
            |key: &str, is: fn(&Value) -> bool| self.keys.get(key).is_none_or(|key| is(&key.value));
        let right = is_right(&keys.tracking, |value| matches!(value, Value::Hash(_)))
            && is_right(&keys.deadlines, |value| matches!(value, Value::Zset(_)))
            && is_right(&keys.garbage, |value| matches!(value, Value::Set(_)));
        if right { Ok(()) } else { Err(WRONG_TYPE) }
    }

    /// Deletes a tracked message; returns where it was, or nothing if there is none.
    pub fn delete_tracked(
        &mut self,
        prefix: &str,
        value: &str,
    ) -> Result<Option<(Text, Text)>, Failure> {
        self.check_tracking(prefix)?;
        let ours = self.rules == Rules::Ours;
        let Some((stream, id, deadline)) = self.tracked(prefix, value) else {
            let tracking = self.keys.get(&Keys::of(prefix).tracking).map(|key| &key.value);
            let is_there = matches!(tracking, Some(Value::Hash(hash)) if hash.contains_key(value));
            return match ours {
                true if is_there => Err(CORRUPT),
                true => Ok(None),
                false => Err("NIL"),
            };
        };
        if !ours && deadline.contains(['e', '.']) {
            return Err("ERR");
        }
        self.stream(&stream)?;
        let was_there = self.delete(&stream, std::slice::from_ref(&id)) > 0;
        if ours {
            let groups = match self.stream(&stream)? {
                Some(stream) => stream.groups.keys().cloned().collect(),
                None => Vec::new(),
            };
            for group in groups {
                self.ack(&stream, &group, std::slice::from_ref(&id));
            }
        }
        if ours {
            self.forget(prefix, value, &deadline);
        }
        match was_there {
            true => Ok(Some((stream, id))),
            false if ours => Ok(None),
            false => Err("GONE"),
        }
    }

    /// Moves the values whose deadline passed within this many seconds to the garbage.
    pub fn cordon(&mut self, prefix: &str, within: i64) -> Result<Vec<Text>, Failure> {
        self.check_tracking(prefix)?;
        let keys = Keys::of(prefix);
        let mut passed: Vec<(i64, Text, Text)> = Vec::new();
        if let Some(Value::Zset(deadlines)) = self.keys.get(&keys.deadlines).map(|key| &key.value) {
            let entry = |(value, text): (&Text, &Text)| {
                let deadline = deadline_of(text)?;
                let is_due = (NOW.saturating_sub(within)..=NOW).contains(&deadline);
                is_due.then(|| (deadline, value.clone(), text.clone()))
            };
            passed.extend(deadlines.iter().filter_map(entry));
        }
        passed.sort();
        for (_, value, text) in &passed {
            self.remove_members(&keys.deadlines, |member| member == value);
            let new = || Key { value: Value::Set(BTreeSet::new()), ttl: None };
            let key = self.keys.entry(keys.garbage.clone()).or_insert_with(new);
            let Value::Set(garbage) = &mut key.value else { return Err(WRONG_TYPE) };
            garbage.insert(format!("{value}:{text}"));
        }
        Ok(passed.into_iter().map(|(_, value, _)| value).collect())
    }

    /// Collects garbage: all of it, or what begins with this many digits of the time.
    pub fn collect(&mut self, prefix: &str, digits: usize) -> Result<Collected, Failure> {
        self.check_tracking(prefix)?;
        let ours = self.rules == Rules::Ours;
        let mut collected = Collected::default();
        let keys = Keys::of(prefix);
        let members: Vec<Text> = match self.keys.get(&keys.garbage).map(|key| &key.value) {
            Some(Value::Set(garbage)) => garbage.iter().cloned().collect(),
            _ => Vec::new(),
        };
        for member in members {
            let Some((value, text)) = member.rsplit_once(':') else { continue };
            if ours {
                self.collect_one(prefix, value, text, &mut collected);
            } else {
                // The original returns nothing that was cordoned.
                self.forget(prefix, value, text);
            }
        }
        let fields: Vec<Text> = match self.keys.get(&keys.tracking).map(|key| &key.value) {
            // A value may look like such a field, but its record is no 1.
            Some(Value::Hash(hash)) => {
                hash.iter().filter(|(_, value)| *value == "1").map(|(f, _)| f.clone()).collect()
            }
            _ => Vec::new(),
        };
        let now = NOW.to_string();
        let mut is_any_missing = false;
        for field in fields {
            let Some((value, text)) = field.rsplit_once(":expiry:") else { continue };
            let Some(deadline) = deadline_of(text) else { continue };
            if !deadline.to_string().starts_with(&now[..digits]) {
                continue;
            }
            if ours && deadline <= NOW {
                self.collect_one(prefix, value, text, &mut collected);
                continue;
            }
            collected.scanned += 1;
            if deadline <= NOW && !value.contains(':') {
                let is_there = self.tracked(prefix, value).is_some();
                is_any_missing |= !is_there;
                collected.deleted += u64::from(is_there);
                collected.seen.push(value.to_owned());
                self.forget(prefix, value, text);
            }
        }
        // One record that is missing hides what else the original deletes.
        if is_any_missing {
            collected.seen.clear();
        }
        collected.seen.sort();
        Ok(collected)
    }

    /// Collects one value with the deadline of an entry, if its record has the same one.
    fn collect_one(&mut self, prefix: &str, value: &str, text: &str, collected: &mut Collected) {
        collected.scanned += 1;
        let is_current = self.tracked(prefix, value).is_some_and(|(_, _, own)| own == text);
        if is_current {
            collected.seen.push(value.to_owned());
            collected.deleted += 1;
            self.forget(prefix, value, text);
        } else {
            self.forget_entry(prefix, value, text);
        }
    }

    /// Stream, id and deadline of a record.
    fn tracked(&self, prefix: &str, value: &str) -> Option<(Text, Text, Text)> {
        let key = self.keys.get(&Keys::of(prefix).tracking)?;
        let Value::Hash(hash) = &key.value else { return None };
        let record: serde_json::Value = serde_json::from_str(hash.get(value)?).ok()?;
        let field =
            |name: &str| Some(record[name].as_str()?.to_owned()).filter(|text| !text.is_empty());
        Some((field("stream_id")?, field("msg_id")?, field("deadline")?))
    }

    /// Removes all that is known of a value with this deadline.
    fn forget(&mut self, prefix: &str, value: &str, text: &str) {
        let keys = Keys::of(prefix);
        self.remove_members(&keys.tracking, |field| field == value);
        self.remove_members(&keys.deadlines, |member| member == value);
        self.forget_entry(prefix, value, text);
    }

    /// Removes what only points to a value with this deadline.
    fn forget_entry(&mut self, prefix: &str, value: &str, text: &str) {
        let keys = Keys::of(prefix);
        let (field, member) = (format!("{value}:expiry:{text}"), format!("{value}:{text}"));
        self.remove_members(&keys.tracking, |own| own == field);
        self.remove_members(&keys.garbage, |own| own == member);
        let deadlines = self.keys.get(&keys.deadlines).map(|key| &key.value);
        if matches!(deadlines, Some(Value::Zset(map)) if map.get(value).is_some_and(|own| own == text))
        {
            self.remove_members(&keys.deadlines, |member| member == value);
        }
    }

    /// Removes fields or members; a key that is empty is gone.
    fn remove_members(&mut self, name: &str, is_one: impl Fn(&str) -> bool) {
        let Some(key) = self.keys.get_mut(name) else { return };
        let is_empty = match &mut key.value {
            Value::Hash(map) | Value::Zset(map) => {
                map.retain(|member, _| !is_one(member));
                map.is_empty()
            }
            Value::Set(set) => {
                set.retain(|member| !is_one(member));
                set.is_empty()
            }
            Value::Stream(_) | Value::Other(_) => false,
        };
        if is_empty {
            self.keys.remove(name);
        }
    }

    /// Removes a field of a hash, as HDEL does; returns how many were there.
    pub fn remove_field(&mut self, key: &str, field: &str) -> u64 {
        let has = |key: &Key| matches!(&key.value, Value::Hash(hash) if hash.contains_key(field));
        let was_there = self.keys.get(key).is_some_and(has);
        self.remove_members(key, |own| own == field);
        was_there.into()
    }
}

/// A number as printf writes it with `%.14g` where that has an exponent.
fn with_exponent(number: i64) -> String {
    let text = format!("{:.13e}", number as f64);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e+{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}
