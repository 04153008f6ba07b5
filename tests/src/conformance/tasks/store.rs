//! The records of a store, read without the library.

use std::collections::BTreeMap;

use super::raw::{Bytes, Content, Keys};
use super::record::{self, Item};
use crate::Result;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A store as read from its records.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) tasks: BTreeMap<Bytes, Task>,
    /// By namespace, NUL and id.
    pub(super) docs: BTreeMap<Bytes, Doc>,
    pub(super) values: BTreeMap<Bytes, Bytes>,
    pub(super) contents: BTreeMap<Bytes, Bytes>,
    /// The queues that are paused.
    pub(super) paused: Vec<Bytes>,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) queue: Bytes,
    pub(super) version: u64,
    pub(super) at_ms: u64,
    pub(super) created_ms: u64,
    pub(super) modified_ms: u64,
    pub(super) claimant: Bytes,
    pub(super) claims: u64,
    pub(super) attempt: u64,
    pub(super) err: Bytes,
    pub(super) priority: u64,
    /// 0 for never.
    pub(super) expires_ms: u64,
    pub(super) unended: u64,
    pub(super) is_cancelled: bool,
    pub(super) headers: Vec<(Bytes, Bytes)>,
    pub(super) dedup_window_ms: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Doc {
    pub(super) key: Bytes,
    pub(super) secondary_key: Bytes,
    pub(super) version: u64,
    pub(super) at_ms: u64,
    pub(super) claimant: Bytes,
    pub(super) created_ms: u64,
    pub(super) modified_ms: u64,
}

/// The records of the store whose keys begin like this.
pub(super) fn read(keys: &Keys, prefix: &[u8]) -> Result<Store> {
    let hash = |suffix: &str| match keys.get(&[prefix, suffix.as_bytes()].concat()) {
        None => Ok(BTreeMap::new()),
        Some(Content::Hash(hash)) => Ok(hash.clone()),
        Some(other) => Err(format!("{}{suffix} is no hash: {other:?}", shown(prefix))),
    };
    let mut store =
        Store { values: hash(":values")?, contents: hash(":contents")?, ..Store::default() };
    if let Some(Content::Sorted(names)) = keys.get(&[prefix, b":paused"].concat()) {
        store.paused = names.keys().cloned().collect();
    }
    for (id, record) in hash("")? {
        let task = Task::read(&record);
        let task = task.map_err(|why| format!("the record of task {}: {why}", shown(&id)))?;
        store.tasks.insert(id, task);
    }
    for (id, record) in hash(":docs")? {
        let doc = Doc::read(&record);
        let doc = doc.map_err(|why| format!("the record of document {}: {why}", shown(&id)))?;
        store.docs.insert(id, doc);
    }
    Ok(store)
}

/// The key that all keys of a store begin with: its name is its tag unless it has one.
pub(super) fn prefix(name: &str) -> Bytes {
    let tag = name.find('{').map(|open| &name[open + 1..]);
    let has_tag = tag.and_then(|tag| tag.find('}')).is_some_and(|length| length > 0);
    let tagged = if has_tag { name.to_owned() } else { format!("{{{name}}}") };
    format!("{tagged}:tasks").into_bytes()
}

impl Task {
    fn read(record: &[u8]) -> Result<Self> {
        let mut fields = Fields(record::read(record)?.into_iter());
        let task = Self {
            queue: fields.text()?,
            version: fields.number()?,
            at_ms: fields.number()?,
            created_ms: fields.number()?,
            modified_ms: fields.number()?,
            claimant: fields.text()?,
            claims: fields.number()?,
            attempt: fields.number()?,
            err: fields.text()?,
            priority: fields.number()?,
            expires_ms: fields.number()?,
            unended: fields.number_or_end()?,
            is_cancelled: fields.number_or_end()? == 1,
            headers: headers(&fields.text_or_end()?)?,
            dedup_window_ms: fields.number_or_end()?,
        };
        fields.end().map(|()| task)
    }

    pub(super) fn check(&self, id: &[u8]) -> Result<()> {
        let is_sound = self.claims <= self.version
            && self.unended <= self.claims
            && (!self.is_cancelled || self.unended > 0)
            && self.created_ms <= self.modified_ms
            && (self.version > 0 || self.created_ms == self.modified_ms)
            && self.priority <= 9
            && self.dedup_window_ms <= DAY_MS * 7;
        if is_sound { Ok(()) } else { Err(format!("task {} cannot be: {self:?}", shown(id))) }
    }
}

impl Doc {
    fn read(record: &[u8]) -> Result<Self> {
        let mut fields = Fields(record::read(record)?.into_iter());
        let doc = Self {
            key: fields.text()?,
            secondary_key: fields.text()?,
            version: fields.number()?,
            at_ms: fields.number()?,
            claimant: fields.text()?,
            created_ms: fields.number()?,
            modified_ms: fields.number()?,
        };
        fields.end().map(|()| doc)
    }

    pub(super) fn check(&self, id: &[u8]) -> Result<()> {
        let is_sound = self.created_ms <= self.modified_ms
            && (self.version > 0 || self.created_ms == self.modified_ms)
            && (self.version > 0 || self.claimant.is_empty());
        if is_sound { Ok(()) } else { Err(format!("document {} cannot be: {self:?}", shown(id))) }
    }
}

/// The fields of a record, one after the other.
struct Fields<I>(I);

impl<I: Iterator<Item = Item>> Fields<I> {
    fn number(&mut self) -> Result<u64> {
        match self.0.next() {
            Some(Item::Number(number)) => Ok(number),
            other => Err(format!("a number belongs where {other:?} is")),
        }
    }

    fn text(&mut self) -> Result<Bytes> {
        match self.0.next() {
            Some(Item::Text(text)) => Ok(text),
            other => Err(format!("a text belongs where {other:?} is")),
        }
    }

    /// A number, 0 if the record has ended.
    fn number_or_end(&mut self) -> Result<u64> {
        match self.0.next() {
            None => Ok(0),
            Some(Item::Number(number)) => Ok(number),
            other => Err(format!("a number belongs where {other:?} is")),
        }
    }

    /// A text, empty if the record has ended.
    fn text_or_end(&mut self) -> Result<Bytes> {
        match self.0.next() {
            None => Ok(Bytes::new()),
            Some(Item::Text(text)) => Ok(text),
            other => Err(format!("a text belongs where {other:?} is")),
        }
    }

    fn end(&mut self) -> Result<()> {
        self.0.next().map_or(Ok(()), |more| Err(format!("it ends with {more:?}")))
    }
}

/// Headers, name and value by turns, each behind its length in two bytes, the higher one first.
fn headers(mut bytes: &[u8]) -> Result<Vec<(Bytes, Bytes)>> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk().ok_or("a header is cut off")?;
        let length = u16::from_be_bytes(*length).into();
        let (text, rest) = rest.split_at_checked(length).ok_or("a header is cut off")?;
        texts.push(text.to_vec());
        bytes = rest;
    }
    let pairs = texts.chunks(2).map(|pair| match pair {
        [name, value] => Ok((name.clone(), value.clone())),
        _ => Err("a header has no value".to_owned()),
    });
    let pairs: Vec<_> = pairs.collect::<Result<_>>()?;
    let is_sorted = pairs.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if is_sorted { Ok(pairs) } else { Err(format!("headers are not by name: {pairs:?}")) }
}

/// A namespace and an id, of a document's field.
pub(super) fn parts(namespaced: &[u8]) -> (&[u8], &[u8]) {
    let nul = namespaced.iter().position(|byte| *byte == 0).unwrap_or(namespaced.len());
    (&namespaced[..nul], namespaced.get(nul + 1..).unwrap_or_default())
}

/// Bytes for people.
pub(super) fn shown(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}
