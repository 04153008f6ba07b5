//! Documents: keyed records alongside the tasks, changed in the same modifications.

use std::sync::Arc;
use std::time::Duration;

use super::{When, json, limits};
use crate::error::{Result, ensure, invalid};
use crate::step::ByteList;

/// A document as the store holds it: looked up by its namespace and id, sorted by its keys, and leased for a time
/// like a task, but never consumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// The namespace that it belongs to.
    pub namespace: Arc<str>,
    /// Unique in its namespace; derived from its keys by default, see [`NewDoc::id`].
    pub id: Arc<str>,
    /// Starts at 0; each claim, renewal and change adds 1.
    pub version: u64,
    /// Its primary key; several documents can have the same. Never changes.
    pub key: Arc<str>,
    /// Its secondary key, which sorts documents with the same primary key. Never changes.
    pub secondary_key: Arc<str>,
    /// Its JSON text, byte for byte as it was written; `None` is not the same as `null`.
    pub content: Option<Arc<str>>,
    /// Until when its claimant holds it, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The claimant that holds it until `at_ms`; empty if there is none.
    pub claimant: Arc<str>,
    /// When it was inserted, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last inserted, claimed, renewed or changed, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
}

impl Doc {
    /// What a modification needs to delete this document or to depend on it.
    pub fn handle(&self) -> DocId {
        let (namespace, id) = (self.namespace.clone(), self.id.clone());
        DocId { namespace, id, version: self.version }
    }

    /// A change that leaves everything as it is, including the claimant that holds it.
    pub fn change(&self) -> DocChange {
        DocChange { doc: self.handle(), content: None, at: None }
    }
}

/// A document at a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocId {
    /// The document's namespace.
    pub namespace: Arc<str>,
    /// The document's id.
    pub id: Arc<str>,
    /// The version that it must have.
    pub version: u64,
}

impl DocId {
    /// The document with this namespace and id, at this version.
    pub fn new(namespace: impl AsRef<str>, id: impl AsRef<str>, version: u64) -> Self {
        Self { namespace: namespace.as_ref().into(), id: id.as_ref().into(), version }
    }

    /// Whether the other is the same document, at any version.
    pub(super) fn is_same(&self, other: &DocId) -> bool {
        self.namespace == other.namespace && self.id == other.id
    }

    pub(super) fn check(&self) -> Result<()> {
        limits::namespace(&self.namespace)?;
        limits::doc_id(&self.id)
    }

    /// As the scripts take it.
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push(self.namespace.as_bytes());
        args.push(self.id.as_bytes());
        args.push_number(self.version);
    }
}

impl From<&Doc> for DocId {
    fn from(doc: &Doc) -> Self {
        doc.handle()
    }
}

/// The primary and the secondary key of a document. A text is the primary key alone, a pair is both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocKey {
    /// The primary key.
    pub key: Arc<str>,
    /// The secondary key; empty for none.
    pub secondary_key: Arc<str>,
}

impl DocKey {
    /// The id of the document with these keys that was inserted without an explicit id.
    pub(super) fn id(&self) -> Result<Arc<str>> {
        limits::doc_key("key", &self.key)?;
        limits::doc_key("secondary key", &self.secondary_key)?;
        default_id(&self.key, &self.secondary_key).ok_or_else(|| invalid("the key is empty"))
    }

    /// Whether these are the keys of this document.
    pub(super) fn is_of(&self, doc: &Doc) -> bool {
        self.key == doc.key && self.secondary_key == doc.secondary_key
    }
}

impl From<&str> for DocKey {
    fn from(key: &str) -> Self {
        (key, "").into()
    }
}

impl From<&String> for DocKey {
    fn from(key: &String) -> Self {
        (key, "").into()
    }
}

impl<K: AsRef<str>, S: AsRef<str>> From<(K, S)> for DocKey {
    fn from((key, secondary_key): (K, S)) -> Self {
        Self { key: key.as_ref().into(), secondary_key: secondary_key.as_ref().into() }
    }
}

/// A document to insert or to put.
///
/// ```
/// use millpond::tasks::NewDoc;
///
/// let doc = NewDoc::new("accounts", "ann").secondary_key("2026").content(r#"{"balance": 7}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct NewDoc {
    pub(super) namespace: Arc<str>,
    pub(super) key: Arc<str>,
    pub(super) id: Option<Arc<str>>,
    pub(super) secondary_key: Arc<str>,
    pub(super) content: Option<Arc<str>>,
    pub(super) collision: Collision,
}

/// What becomes of a new document whose id is taken. The numbers are those that the script takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collision {
    /// The whole modification is refused.
    Refuse = 0,
    /// The document is left out.
    Skip = 1,
    /// Its content replaces that of the existing document.
    Replace = 2,
}

impl NewDoc {
    /// A document in this namespace with this primary key, without content.
    pub fn new(namespace: impl AsRef<str>, key: impl AsRef<str>) -> Self {
        Self {
            namespace: namespace.as_ref().into(),
            key: key.as_ref().into(),
            id: None,
            secondary_key: "".into(),
            content: None,
            collision: Collision::Refuse,
        }
    }

    /// Its id, unique in its namespace: 1 to [`DOC_ID_CHARS_MAX`](super::DOC_ID_CHARS_MAX) characters.
    ///
    /// By default the id is derived from the keys, so that a second document with the same keys is refused: it is the
    /// primary key, followed by `|` and the secondary key if there is one. In the primary key `%` and `|` are
    /// percent-encoded (`%25`, `%7C`), so that different keys never give the same id. Several documents with the same
    /// keys need explicit ids, and so does a document whose primary key is empty.
    pub fn id(self, id: impl AsRef<str>) -> Self {
        Self { id: Some(id.as_ref().into()), ..self }
    }

    /// Its secondary key, up to [`KEY_CHARS_MAX`](super::KEY_CHARS_MAX) characters. It sorts documents with the same
    /// primary key.
    pub fn secondary_key(self, key: impl AsRef<str>) -> Self {
        Self { secondary_key: key.as_ref().into(), ..self }
    }

    /// Its content: a JSON text, which is kept byte for byte.
    pub fn content(self, json: impl AsRef<str>) -> Self {
        Self { content: Some(json.as_ref().into()), ..self }
    }

    /// Leaves this document out if its id is taken, instead of refusing the whole modification.
    pub fn skip_colliding(self) -> Self {
        Self { collision: Collision::Skip, ..self }
    }

    /// With the id that its keys give, unless it has one.
    pub(super) fn with_id(mut self) -> Self {
        self.id = self.id.or_else(|| default_id(&self.key, &self.secondary_key));
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        limits::namespace(&self.namespace)?;
        limits::doc_key("key", &self.key)?;
        limits::doc_key("secondary key", &self.secondary_key)?;
        let id = self.id.as_ref().ok_or_else(|| invalid("a document without a key needs an id"))?;
        limits::doc_id(id)?;
        let may_be_empty = self.collision != Collision::Replace;
        ensure!(may_be_empty || self.content.is_some(), "a document that is put needs a content");
        self.content.iter().try_for_each(|content| json::check("content", content))
    }
}

/// The id that keys give, see [`NewDoc::id`]; none without a primary key. The first `|` in it ends the primary key,
/// so each pair of keys gives a different id.
fn default_id(key: &str, secondary_key: &str) -> Option<Arc<str>> {
    if key.is_empty() {
        return None;
    }
    let key = key.replace('%', "%25").replace('|', "%7C");
    Some(match secondary_key.is_empty() {
        true => key.into(),
        false => format!("{key}|{secondary_key}").into(),
    })
}

/// What becomes of a document; made by [`Doc::change`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct DocChange {
    pub(super) doc: DocId,
    /// The new content, if it is replaced.
    pub(super) content: Option<Arc<str>>,
    /// Until when it is held; unchanged by default.
    pub(super) at: Option<When>,
}

impl DocChange {
    /// A change of this document that leaves everything as it is.
    pub fn new(doc: DocId) -> Self {
        Self { doc, content: None, at: None }
    }

    /// Replaces the content with this JSON text; `null` is a content too.
    pub fn content(self, json: impl AsRef<str>) -> Self {
        Self { content: Some(json.as_ref().into()), ..self }
    }

    /// Until when the claimant that makes the change holds it, in milliseconds since the Unix epoch. A time in the
    /// past releases it.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: Some(When::At(at_ms)), ..self }
    }

    /// How long the claimant that makes the change holds it from now, by the engine's clock.
    pub fn after(self, lease: Duration) -> Self {
        Self { at: Some(When::After(lease)), ..self }
    }

    /// Releases it.
    pub fn release(self) -> Self {
        Self { at: Some(When::Now), ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        self.doc.check()?;
        self.content.iter().try_for_each(|content| json::check("content", content))?;
        self.at.map_or(Ok(()), limits::when)
    }
}
