//! Documents: keyed records beside the tasks, changed in the same modifications.

use std::sync::Arc;
use std::time::Duration;

use super::{When, json, limits};
use crate::error::{Result, ensure, invalid};
use crate::step::ByteList;

/// A document as the store holds it: found by its namespace and id, sorted by its keys, leased for
/// a time as tasks are, but never consumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// The namespace that it is in.
    pub namespace: Arc<str>,
    /// Unique in its namespace; made of its keys by default, see [`NewDoc::id`].
    pub id: Arc<str>,
    /// From 0; 1 more with each claim, renewal and change.
    pub version: u64,
    /// Its primary key; several documents can have the same. Never changes.
    pub key: Arc<str>,
    /// Its secondary key: the order of documents with the same primary key. Never changes.
    pub secondary_key: Arc<str>,
    /// Its JSON text, byte for byte as it was written; `None` is not the same as `null`.
    pub content: Option<Arc<str>>,
    /// Until when its claimant holds it, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The claimant that holds it until `at_ms`; empty if there is none.
    pub claimant: Arc<str>,
    /// When it was inserted, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was inserted, claimed, renewed or changed last, in milliseconds since the Unix
    /// epoch.
    pub modified_ms: u64,
}

impl Doc {
    /// What a modification needs to delete this document or to depend on it.
    pub fn handle(&self) -> DocId {
        let (namespace, id) = (self.namespace.clone(), self.id.clone());
        DocId { namespace, id, version: self.version }
    }

    /// A change that leaves everything as it is, its holder included.
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
    /// The version that it has to have.
    pub version: u64,
}

impl DocId {
    /// The document of this namespace and id at this version.
    pub fn new(namespace: impl AsRef<str>, id: impl AsRef<str>, version: u64) -> Self {
        Self { namespace: namespace.as_ref().into(), id: id.as_ref().into(), version }
    }

    /// Whether the other is the same document, at whatever version.
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

/// The primary and the secondary key of a document: of a text, the primary key alone; of a pair, both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocKey {
    /// The primary key.
    pub key: Arc<str>,
    /// The secondary key; empty for none.
    pub secondary_key: Arc<str>,
}

impl DocKey {
    /// The id of the document of these keys that was inserted without an id of its own.
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

/// What becomes of a new document whose id is taken. The numbers are what the script takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collision {
    /// The whole modification is refused.
    Refuse = 0,
    /// The document is left out.
    Skip = 1,
    /// Its content takes the place of the one that is there.
    Replace = 2,
}

impl NewDoc {
    /// A document of this namespace with this primary key, without content.
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
    /// By default the id is made of the keys, so that a second document of the same keys is refused: it
    /// is the primary key, followed by `|` and the secondary key if there is one. In the primary
    /// key `%` and `|` are percent-encoded (`%25`, `%7C`), so that different keys never make the same
    /// id. Several documents of the same keys need ids of their own, and so does a document whose
    /// primary key is empty.
    pub fn id(self, id: impl AsRef<str>) -> Self {
        Self { id: Some(id.as_ref().into()), ..self }
    }

    /// Its secondary key, up to [`KEY_CHARS_MAX`](super::KEY_CHARS_MAX) characters: the order of documents with the
    /// same primary key.
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

    /// With the id that its keys make, unless it has one.
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

/// The id that keys make, see [`NewDoc::id`]; none without a primary key. The first `|` in it ends
/// the primary key, which makes it another one for each pair of keys.
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
    /// What takes the content's place, if anything.
    pub(super) content: Option<Arc<str>>,
    /// Until when it is held; unchanged by default.
    pub(super) at: Option<When>,
}

impl DocChange {
    /// A change of this document that leaves everything as it is.
    pub fn new(doc: DocId) -> Self {
        Self { doc, content: None, at: None }
    }

    /// Replaces the content by this JSON text; `null` is a content as well.
    pub fn content(self, json: impl AsRef<str>) -> Self {
        Self { content: Some(json.as_ref().into()), ..self }
    }

    /// Until when the claimant that changes it holds it, in milliseconds since the Unix epoch. A time in the past
    /// releases it.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: Some(When::At(at_ms)), ..self }
    }

    /// How long from now the claimant that changes it holds it, by the engine's clock.
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
