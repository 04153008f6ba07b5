//! What the bytes that a queue returns are, in hosts that tell text from bytes: a property of the queue.

use crate::model::SHARED;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Bytes {
    /// Text, or bytes if the program wants them. If it wants text, a call fails on bytes that are none.
    TextOnly,
    /// The same, but bytes that are no text are returned as they are.
    TextIfItIs,
    /// Bytes, and the program has no choice.
    Always,
    /// Its calls return none.
    Absent,
}

const QUEUES: [(&str, Bytes); 7] = [
    ("events", Bytes::Always),
    ("ick", Bytes::TextOnly),
    ("recruiter", Bytes::Absent),
    ("shuffle", Bytes::TextIfItIs),
    ("tasks", Bytes::Absent),
    ("tracker", Bytes::TextOnly),
    ("volatile", Bytes::TextOnly),
];

impl Bytes {
    /// Those of the queue that has the type with this key.
    ///
    /// # Panics
    ///
    /// If the queue is not in the table.
    pub(crate) fn of(key: &str) -> Self {
        let queue = key.split('.').next().unwrap_or_default();
        if queue.is_empty() || SHARED.contains(&queue) {
            return Self::TextIfItIs;
        }
        let found = QUEUES.iter().find(|(of, _)| *of == queue);
        found.unwrap_or_else(|| panic!("bytes.rs does not say what the bytes of {queue} are")).1
    }

    /// Whether the program says what it wants.
    pub(crate) fn has_switch(self) -> bool {
        matches!(self, Self::TextOnly | Self::TextIfItIs)
    }
}
