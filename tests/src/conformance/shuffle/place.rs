//! What a backend is to a shuffle queue.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use millpond_tests::shuffle::model::{Key, Text};
use millpond_tests::shuffle::trace::{Ids, bytes, dump};

use crate::Result;
use crate::backend::Backend;

/// What kind of backend it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is no raw state below the library.
    Embedded,
    Server,
    /// A queue's keys have to lie in one slot.
    Cluster,
}

/// How long a reader may take until it waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything that the servers hold, with the names of ids.
pub(super) fn found_keys(
    backend: &mut Backend,
    ids: &mut Ids,
    notifications: u64,
) -> BTreeMap<Text, Key> {
    let mut keys = BTreeMap::new();
    for connection in backend.connections() {
        keys.extend(dump(connection, ids, notifications));
    }
    keys
}

/// Where what was found is not what was expected.
pub(super) fn difference(
    expected: &BTreeMap<Text, Key>,
    found: &BTreeMap<Text, Key>,
) -> Option<String> {
    let mut names = expected.keys().chain(found.keys());
    let name = names.find(|name| expected.get(*name) != found.get(*name))?;
    let shown = |keys: &BTreeMap<Text, Key>| match keys.get(name) {
        Some(key) => {
            let text = format!("{key:?}");
            text.chars().take(2_000).collect()
        }
        None => "nothing".to_owned(),
    };
    let name = String::from_utf8_lossy(&bytes(name)).into_owned();
    Some(format!(
        "the state of {name:?} is another\n      expected {}\n      found    {}",
        shown(expected),
        shown(found)
    ))
}

/// Waits until a reader waits for a message.
pub(super) fn await_a_waiter(backend: &mut Backend) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        for connection in backend.connections() {
            let info = connection.call(&["INFO", "clients"]);
            let info = info.map_err(|error| format!("the server: {error}"))?.text();
            let blocked = info.lines().find_map(|line| line.strip_prefix("blocked_clients:"));
            if blocked.is_some_and(|count| count.trim() != "0") {
                return Ok(());
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err("nobody waits for a message".to_owned())
}
