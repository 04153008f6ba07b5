//! Documents of a namespace: by key range, page by page, and by their ids.

use std::sync::Arc;

use super::list::{checked_ids, page};
use super::name::Name;
use super::{Doc, decode_text, embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// The position of a document in the order of its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocPosition {
    /// The document's primary key.
    pub key: Arc<str>,
    /// The document's secondary key.
    pub secondary_key: Arc<str>,
    /// The document's id.
    pub id: Arc<str>,
}

impl From<&Doc> for DocPosition {
    fn from(doc: &Doc) -> Self {
        let (key, secondary_key) = (doc.key.clone(), doc.secondary_key.clone());
        Self { key, secondary_key, id: doc.id.clone() }
    }
}

/// One page of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocPage {
    /// The documents, by primary key, secondary key and id.
    pub docs: Vec<Doc>,
    /// The position after which the next page begins; `None` on the last page.
    pub next: Option<DocPosition>,
}

/// Which documents of a namespace to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct DocQuery {
    pub(super) start: Option<Arc<str>>,
    pub(super) end: Option<Arc<str>>,
    pub(super) after: Option<DocPosition>,
    pub(super) limit: Option<usize>,
    pub(super) omit_contents: bool,
}

impl DocQuery {
    /// The first page of all documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// From this primary key on, including it.
    pub fn start(self, key: impl AsRef<str>) -> Self {
        Self { start: Some(key.as_ref().into()), ..self }
    }

    /// Up to this primary key, excluding it; an empty key is no limit.
    pub fn end(self, key: impl AsRef<str>) -> Self {
        Self { end: Some(key.as_ref().into()).filter(|key: &Arc<str>| !key.is_empty()), ..self }
    }

    /// The page after this position.
    pub fn after(self, position: impl Into<DocPosition>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// At most this many; [`PAGE_DEFAULT`](super::PAGE_DEFAULT) by default, at most
    /// [`PAGE_MAX`](super::PAGE_MAX).
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Leaves out the contents.
    pub fn omit_contents(self) -> Self {
        Self { omit_contents: true, ..self }
    }
}

/// Lists a page of a namespace.
#[derive(Clone, Debug)]
pub struct ListDocs {
    name: Name,
    namespace: Arc<str>,
    query: DocQuery,
    limit: usize,
}

impl ListDocs {
    /// Lists a page of this namespace.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
    /// [`PAGE_MAX`](super::PAGE_MAX).
    pub fn new(
        name: impl AsRef<[u8]>,
        namespace: impl AsRef<str>,
        query: DocQuery,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, namespace.as_ref(), query)
    }

    pub(super) fn of(name: Name, namespace: &str, query: DocQuery) -> Result<Self> {
        limits::namespace(namespace)?;
        query.start.iter().try_for_each(|key| limits::doc_key("start", key))?;
        query.end.iter().try_for_each(|key| limits::doc_key("end", key))?;
        if let Some(after) = &query.after {
            limits::doc_key("key", &after.key)?;
            limits::doc_key("secondary key", &after.secondary_key)?;
            limits::doc_id(&after.id)?;
        }
        let limit = page(query.limit)?;
        Ok(Self { name, namespace: namespace.into(), query, limit })
    }
}

impl Operation for ListDocs {
    head!(
        "tasks.list_docs",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "list_docs.lua"]
    );
    type Output = DocPage;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.namespace.as_bytes());
        args.push_number(self.limit as u64);
        args.push(self.query.start.as_deref().unwrap_or_default().as_bytes());
        args.push(self.query.end.as_deref().unwrap_or_default().as_bytes());
        let after = match &self.query.after {
            Some(after) => ["1", &after.key, &after.secondary_key, &after.id],
            None => ["0", "", "", ""],
        };
        after.iter().for_each(|text| args.push(text.as_bytes()));
        args.push(if self.query.omit_contents { b"1" } else { b"0" });
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    /// `{documents}`, or `{documents, key, secondary key, id}` where there is a next page.
    fn decode(&self, reply: Reply) -> Result<DocPage> {
        let mut replies = reply.list()?;
        let docs = Doc::decode_all(replies.next()?.list()?, self.limit)?;
        let next = replies.all(1, |replies| {
            Ok(DocPosition {
                key: decode_text(replies.next()?)?,
                secondary_key: decode_text(replies.next()?)?,
                id: decode_text(replies.next()?)?,
            })
        })?;
        Ok(DocPage { docs, next: next.into_iter().next() })
    }

    fn apply(self, state: &embedded::State, _: &mut StepContext<'_>) -> Result<DocPage> {
        Ok(state.list_docs(&self.namespace, &self.query, self.limit))
    }
}

/// Looks up documents of a namespace by their ids.
#[derive(Clone, Debug)]
pub struct FetchDocs {
    name: Name,
    namespace: Arc<str>,
    ids: Vec<Arc<str>>,
    omit_contents: bool,
}

impl FetchDocs {
    /// Looks up the documents with these ids.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits, no id and more than
    /// [`PAGE_MAX`](super::PAGE_MAX).
    pub fn new<I: AsRef<str>>(
        name: impl AsRef<[u8]>,
        namespace: impl AsRef<str>,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, namespace.as_ref(), ids)
    }

    pub(super) fn of<I: AsRef<str>>(
        name: Name,
        namespace: &str,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        limits::namespace(namespace)?;
        let ids = checked_ids(ids, limits::doc_id)?;
        Ok(Self { name, namespace: namespace.into(), ids, omit_contents: false })
    }

    /// Leaves out the contents.
    #[must_use]
    pub fn omit_contents(self, omit_contents: bool) -> Self {
        Self { omit_contents, ..self }
    }
}

impl Operation for FetchDocs {
    head!(
        "tasks.fetch_docs",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "fetch_docs.lua"]
    );
    type Output = Vec<Doc>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.namespace.as_bytes());
        args.push(if self.omit_contents { b"1" } else { b"0" });
        self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Doc>> {
        Doc::decode_all(reply.list()?, self.ids.len())
    }

    fn apply(self, state: &embedded::State, _: &mut StepContext<'_>) -> Result<Vec<Doc>> {
        Ok(state.fetch_docs(&self.namespace, &self.ids, self.omit_contents))
    }
}
