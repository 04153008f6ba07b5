//! The recorded traces: how they write bytes, and what Redis holds in their form.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use serde_json::Value as Json;

use super::model::{Fields, Group, Key, Stream, Text, Value};
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

/// The real ids of messages and notifications, by the names that the traces give them.
#[derive(Debug, Default)]
pub struct Ids {
    names: HashMap<(Text, Text), Text>,
    real: HashMap<Text, Text>,
}

impl Ids {
    /// Names an id.
    pub fn name(&mut self, key: &str, real: &str, name: Text) {
        self.names.insert((key.to_owned(), real.to_owned()), name.clone());
        self.real.insert(name, real.to_owned());
    }

    /// The name of an id; the id itself if it has none.
    pub fn named(&self, key: &str, real: &str) -> Text {
        self.names.get(&(key.to_owned(), real.to_owned())).cloned().unwrap_or(real.to_owned())
    }

    /// Whether an id has a name.
    pub fn knows(&self, key: &str, real: &str) -> bool {
        self.names.contains_key(&(key.to_owned(), real.to_owned()))
    }

    /// The real id of a name.
    pub fn real(&self, name: &str) -> Option<&Text> {
        self.real.get(name)
    }
}

/// Everything that a Redis holds, in one answer.
const DUMP: &str = "
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local item = {key, kind, redis.call('PTTL', key)}
  if kind == 'hash' then item[4] = redis.call('HGETALL', key) end
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
        let ttl = (pttl > 0).then(|| (pttl as u64).div_ceil(1_000));
        let value = match item[1].text().as_str() {
            "hash" => Value::Hash(
                item[3]
                    .array()
                    .chunks(2)
                    .map(|p| (text(p[0].bytes()), text(p[1].bytes())))
                    .collect(),
            ),
            "stream" => {
                let last = item[4].text();
                if key.ends_with(":notifications") && last != "0-0" && !ids.knows(&key, &last) {
                    ids.name(&key, &last, format!("N{notifications}"));
                }
                Value::Stream(stream(&key, &item[3..], ids))
            }
            other => Value::Other(other.to_owned()),
        };
        keys.insert(key, Key { value, ttl });
    }
    keys
}

fn stream(key: &str, parts: &[Reply], ids: &Ids) -> Stream {
    let id = |reply: &Reply| ids.named(key, &reply.text());
    let entry = |entry: &Reply| {
        let strings = entry.array()[1].array();
        let pairs = strings.chunks(2).map(|p| (text(p[0].bytes()), text(p[1].bytes())));
        (id(&entry.array()[0]), pairs.collect())
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
            let pairs = fields(&recorded["value"]);
            kind == "hash" && pairs.into_iter().eq(hash.clone())
        }
        Value::Other(other) => kind == other,
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
