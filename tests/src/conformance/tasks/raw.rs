//! Everything that the servers hold, read without the library.

use std::collections::BTreeMap;

use millpond_tests::servers::Reply;

use crate::Result;
use crate::backend::Backend;

pub(super) type Bytes = Vec<u8>;

/// What is at each key.
pub(super) type Keys = BTreeMap<Bytes, Content>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Hash(BTreeMap<Bytes, Bytes>),
    /// Members and their scores as the server writes them.
    Sorted(BTreeMap<Bytes, Bytes>),
    /// Something else, or something that is to vanish: nothing of a store is.
    Other(String),
}

const READ: &str = "
local all = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local item = {key, kind, redis.call('PTTL', key), {}}
  if kind == 'hash' then item[4] = redis.call('HGETALL', key) end
  if kind == 'zset' then item[4] = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  all[#all + 1] = item
end
return all";

/// Reads everything on all servers.
pub(super) fn read(backend: &mut Backend) -> Result<Keys> {
    let mut keys = Keys::new();
    for connection in backend.connections() {
        let reply = connection.call(&["EVAL", READ, "0"]);
        let reply = reply.map_err(|error| format!("the server: {error}"))?;
        keys.extend(reply.array().iter().map(|item| content(item.array())));
    }
    Ok(keys)
}

fn content(item: &[Reply]) -> (Bytes, Content) {
    let flat = item[3].array().chunks(2);
    let pairs = || flat.map(|pair| (pair[0].bytes().to_vec(), pair[1].bytes().to_vec())).collect();
    let content = match (item[1].text().as_str(), item[2].integer()) {
        ("hash", -1) => Content::Hash(pairs()),
        ("zset", -1) => Content::Sorted(pairs()),
        // How long it has to live changes by itself.
        (kind, _) => Content::Other(format!("a {kind} that expires: {:?}", item[3])),
    };
    (item[0].bytes().to_vec(), content)
}
