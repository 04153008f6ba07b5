//! The recorded traces: how they write bytes, and what Redis holds in their form.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use serde_json::Value as Json;

pub use super::ids::Ids;
use super::model::{Fields, Group, Key, Stream, Text, Value, record};
use crate::servers::{Connection, Reply};

/// Bytes as the model has them.
pub fn text(bytes: impl AsRef<[u8]>) -> Text {
    bytes.as_ref().iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of a text of the model.
pub fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("a text of bytes")).collect()
}

/// A string of a trace: JSON, or `{"b64"}`.
pub fn string(json: &Json) -> Text {
    match (json.as_str(), json["b64"].as_str()) {
        (Some(plain), _) => text(plain),
        (None, Some(coded)) => text(STANDARD.decode(coded).expect("base64")),
        _ => panic!("no string: {json}"),
    }
}

/// The name of a key in a state, where bytes that are no text follow `b64:`.
pub fn key(name: &str) -> Text {
    match name.strip_prefix("b64:") {
        Some(coded) => text(STANDARD.decode(coded).expect("base64")),
        None => text(name),
    }
}

/// Fields and values of a trace, generators written out.
pub fn fields(json: &Json) -> Fields {
    let mut fields = Fields::new();
    let one = std::slice::from_ref(json);
    for pair in json.as_array().map_or(one, Vec::as_slice) {
        match pair["range"].as_array() {
            Some(range) => {
                let (format, value) = (string(&range[0]), string(&pair["value"]));
                let bounds = [&range[1], &range[2]].map(|n| n.as_u64().expect("a number"));
                for i in bounds[0]..bounds[1] {
                    let name = format.replace("%05d", &format!("{i:05}"));
                    fields.push((name, value.replace("%d", &i.to_string())));
                }
            }
            None => fields.push((string(&pair[0]), string(&pair[1]))),
        }
    }
    fields
}

/// Everything that a Redis holds, in one reply.
const DUMP: &str = "
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local item = {key, kind, redis.call('PTTL', key)}
  if kind == 'hash' then item[4] = redis.call('HGETALL', key) end
  if kind == 'zset' then item[4] = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  if kind == 'set' then item[4] = redis.call('SMEMBERS', key) end
  if kind == 'stream' then
    local info = redis.call('XINFO', 'STREAM', key)
    local last
    for i = 1, #info, 2 do if info[i] == 'last-generated-id' then last = info[i + 1] end end
    local groups = {}
    for i, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
      local name, delivered
      for j = 1, #group, 2 do
        if group[j] == 'name' then name = group[j + 1] end
        if group[j] == 'last-delivered-id' then delivered = group[j + 1] end
      end
      groups[i] = {name, delivered, redis.call('XPENDING', key, name, '-', '+', 100000)}
    end
    item[4], item[5], item[6] = redis.call('XRANGE', key, '-', '+'), last, groups
  end
  all[#all + 1] = item
end
return all";

/// What a Redis holds, with the traces' names for ids. Notifications that have no name get the
/// next one, after `notifications` of them.
pub fn dump(redis: &mut Connection, ids: &mut Ids, notifications: u64) -> BTreeMap<Text, Key> {
    let reply = redis.call(&["EVAL", DUMP, "0"]).expect("the server is there");
    let mut keys = BTreeMap::new();
    for item in reply.array() {
        let item = item.array();
        let key = text(item[0].bytes());
        let pttl = item[2].integer();
        // What the traces set are whole tens of seconds, and a busy machine may need some of them.
        let ttl = (pttl > 0).then(|| (pttl as u64).div_ceil(10_000) * 10);
        let value = match item[1].text().as_str() {
            "hash" => Value::Hash(pairs(&item[3]).map(|(f, v)| field(f, v, ids)).collect()),
            "zset" => {
                Value::Zset(pairs(&item[3]).map(|(m, score)| (m, ids.time(&score))).collect())
            }
            "set" => {
                let members = item[3].array().iter();
                Value::Set(members.map(|m| ids.with_time(text(m.bytes()))).collect())
            }
            "stream" => {
                let last = item[4].text();
                if key.ends_with(":notifications") && last != "0-0" && !ids.knows(&key, &last) {
                    ids.name(&key, &last, format!("N{notifications}"));
                }
                if key.ends_with(":dead") {
                    for entry in item[3].array() {
                        let id = entry.array()[0].text();
                        if !ids.knows(&key, &id) {
                            ids.dead += 1;
                            ids.name(&key, &id, format!("D{}", ids.dead));
                        }
                    }
                }
                Value::Stream(stream(&key, &item[3..], ids))
            }
            other => Value::Other(other.to_owned()),
        };
        keys.insert(key, Key { value, ttl });
    }
    keys
}

fn pairs(flat: &Reply) -> impl Iterator<Item = (Text, Text)> {
    flat.array().chunks(2).map(|p| (text(p[0].bytes()), text(p[1].bytes())))
}

/// A field of a hash: a record of a tracked message is read, and times are named.
fn field(field: Text, value: Text, ids: &Ids) -> (Text, Text) {
    if value == "1" {
        return (ids.with_time(field), value);
    }
    let read = || {
        let json: Json = serde_json::from_str(&value).ok()?;
        let part = |name: &str| json[name].as_str();
        let (stream, id) = (part("stream_id")?, part("msg_id")?);
        let deadline = ids.time(&number_text(&json["deadline"]));
        Some(record(stream, part("track_value")?, &ids.named(stream, id), &deadline))
    };
    let value = read().unwrap_or(value);
    (field, value)
}

/// A number of a record; one with an exponent is not the same as one in digits.
fn number_text(json: &Json) -> Text {
    match (json.as_i64(), json.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => format!("{float:?}"),
        (None, None) => json.as_str().map_or_else(|| json.to_string(), str::to_owned),
    }
}

fn stream(key: &str, parts: &[Reply], ids: &Ids) -> Stream {
    let id = |reply: &Reply| ids.named(key, &reply.text());
    let entry = |entry: &Reply| {
        let mut fields: Fields = pairs(&entry.array()[1]).collect();
        // A dead letter names the message that it was.
        if let (Some(queue), [(_, stream), (name, id), ..]) =
            (key.strip_suffix(":dead"), &mut fields[..])
            && name == "dead:id"
        {
            *id = ids.named(&format!("{queue}:s{stream}"), id);
        }
        (id(&entry.array()[0]), fields)
    };
    let group = |group: &Reply| {
        let parts = group.array();
        let pending = parts[2].array().iter().map(|pending| {
            let pending = pending.array();
            (id(&pending[0]), text(pending[1].bytes()), pending[3].integer() as u64)
        });
        let group = Group { last: id(&parts[1]), pending: pending.collect() };
        (text(parts[0].bytes()), group)
    };
    Stream {
        entries: parts[0].array().iter().map(entry).collect(),
        last: id(&parts[1]),
        groups: parts[2].array().iter().map(group).collect(),
    }
}

/// Whether this is what a trace says of a key.
pub fn is_recorded(key: &Key, recorded: &Json) -> bool {
    if key.ttl != recorded["ttl"].as_u64() {
        return false;
    }
    let kind = recorded["type"].as_str().expect("a type");
    match &key.value {
        Value::Hash(hash) => {
            let pairs = recorded["value"].as_array().into_iter().flatten();
            let pairs = pairs.map(|pair| (string(&pair[0]), hash_value(&pair[1])));
            kind == "hash" && pairs.collect::<BTreeMap<_, _>>() == *hash
        }
        Value::Other(other) => kind == other,
        Value::Zset(map) => {
            kind == "zset"
                && fields(&recorded["value"]).into_iter().collect::<BTreeMap<_, _>>() == *map
        }
        Value::Set(set) => {
            let members = recorded["value"].as_array().into_iter().flatten();
            kind == "set" && members.map(string).collect::<BTreeSet<_>>() == *set
        }
        Value::Stream(stream) => {
            let entries = recorded["entries"].as_array().expect("entries");
            let entry = |((id, fields), entry): (&(Text, Fields), &Json)| {
                *id == string(&entry[0]) && are_fields(fields, &entry[1])
            };
            kind == "stream"
                && stream.last == string(&recorded["last"])
                && stream.entries.len() == entries.len()
                && stream.entries.iter().zip(entries).all(entry)
                && are_groups(&stream.groups, &recorded["groups"])
        }
    }
}

/// A value of a hash of a trace; a record is written out there.
fn hash_value(value: &Json) -> Text {
    let json = &value["json"];
    if json.is_null() {
        return string(value);
    }
    let part = |name: &str| string(&json[name]);
    let deadline = number_text(&json["deadline"]);
    record(&part("stream_id"), &part("track_value"), &part("msg_id"), &deadline)
}

/// Whether these are a trace's fields, or those of its digest.
pub fn are_fields(found: &Fields, recorded: &Json) -> bool {
    let Some(count) = recorded["count"].as_u64() else { return *found == fields(recorded) };
    let mut sha256 = Context::new(&SHA256);
    for (field, value) in found {
        for part in [&bytes(field), &b"\t".to_vec(), &bytes(value), &b"\n".to_vec()] {
            sha256.update(part);
        }
    }
    let hex: String = sha256.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    found.len() as u64 == count && recorded["sha256"].as_str() == Some(&hex)
}

fn are_groups(found: &BTreeMap<Text, Group>, recorded: &Json) -> bool {
    let recorded = recorded.as_array().expect("groups");
    let is_same = |group: &Json| {
        let Some(found) = found.get(&string(&group["name"])) else { return false };
        let pending = group["pel"].as_array().expect("a list").iter();
        let pending = pending.map(|p| (string(&p[0]), string(&p[1]), p[2].as_u64().unwrap_or(0)));
        found.last == string(&group["last"]) && found.pending.iter().cloned().eq(pending)
    };
    found.len() == recorded.len() && recorded.iter().all(is_same)
}
