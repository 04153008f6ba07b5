//! The names of ids and times.

use std::collections::HashMap;

use super::model::Text;

/// The real ids of messages and notifications, by the names that the traces give them, and the
/// names of times that depend on the clock.
#[derive(Debug, Default)]
pub struct Ids {
    names: HashMap<(Text, Text), Text>,
    real: HashMap<Text, Text>,
    times: HashMap<Text, Text>,
    /// How many dead letters have a name.
    pub(super) dead: u64,
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

    /// Names a time.
    pub fn name_time(&mut self, seconds: i64, name: Text) {
        self.times.insert(seconds.to_string(), name);
    }

    /// A time by its name; the time itself if it has none.
    pub(super) fn time(&self, text: &str) -> Text {
        self.times.get(text).cloned().unwrap_or(text.to_owned())
    }

    /// A text that may end in a time.
    pub(super) fn with_time(&self, text: Text) -> Text {
        match text.rsplit_once(':') {
            Some((head, time)) => format!("{head}:{}", self.time(time)),
            None => text,
        }
    }

    /// The real id of a name.
    pub fn real(&self, name: &str) -> Option<&Text> {
        self.real.get(name)
    }
}
