//! Documents, as results and as arguments.

use millpond::Result;
use millpond::tasks::{Doc, DocChange, DocId, NewDoc, When};

use super::when::when;
use crate::caller::Caller;
use crate::keys::millpond_bytes;
use crate::options::{Growing, NOT_SET, c_bool, growing};

/// A document as the store holds it: found by its namespace and id, sorted by its keys, leased for
/// a time as tasks are, but never consumed. All texts are UTF-8, are not NUL-terminated, and live
/// as long as the result that the document is in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_doc {
    /// The namespace that it is in.
    pub namespace_name: millpond_bytes,
    /// Unique in its namespace; made of its keys by default.
    pub id: millpond_bytes,
    /// Its primary key; several documents can have the same. Never changes.
    pub key: millpond_bytes,
    /// Its secondary key. Never changes.
    pub secondary_key: millpond_bytes,
    /// The claimant that holds it until `at_ms`; empty if there is none.
    pub claimant: millpond_bytes,
    /// Its JSON text, byte for byte as it was written. NULL: it has none, or it was left out,
    /// which is not the same as `null`.
    pub content: millpond_bytes,
    /// From 0; 1 more with each claim, renewal and change.
    pub version: u64,
    /// Until when its claimant holds it, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// When it was inserted.
    pub created_ms: u64,
    /// When it was inserted, claimed, renewed or changed last.
    pub modified_ms: u64,
}

impl millpond_doc {
    /// The texts, in the order of the fields.
    pub(super) fn texts(doc: &Doc) -> [Option<&str>; 6] {
        [
            Some(&doc.namespace),
            Some(&doc.id),
            Some(&doc.key),
            Some(&doc.secondary_key),
            Some(&doc.claimant),
            doc.content.as_deref(),
        ]
    }

    pub(super) fn new(doc: &Doc, texts: [millpond_bytes; 6]) -> Self {
        let [namespace_name, id, key, secondary_key, claimant, content] = texts;
        Self {
            namespace_name,
            id,
            key,
            secondary_key,
            claimant,
            content,
            version: doc.version,
            at_ms: doc.at_ms,
            created_ms: doc.created_ms,
            modified_ms: doc.modified_ms,
        }
    }
}

/// A document at a version: what deletes, depends and renewals take. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_doc_id {
    /// The document's namespace.
    pub namespace_name: millpond_bytes,
    /// The document's id.
    pub id: millpond_bytes,
    /// The version that it has to have.
    pub version: u64,
}

impl millpond_doc_id {
    pub(super) fn of(doc: &DocId) -> Self {
        Self {
            namespace_name: millpond_bytes::of(doc.namespace.as_bytes()),
            id: millpond_bytes::of(doc.id.as_bytes()),
            version: doc.version,
        }
    }

    fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<DocId> {
        let namespace = caller.text(|| of("namespace_name"), self.namespace_name)?;
        Ok(DocId::new(namespace, caller.text(|| of("id"), self.id)?, self.version))
    }
}

/// A document to insert or to put. `millpond_new_doc_init` fills it; then set the namespace, the key and what
/// you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_new_doc {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// The namespace, 1 to 64 characters, which need not be there.
    pub namespace_name: millpond_bytes,
    /// The primary key, at most 256 characters.
    pub key: millpond_bytes,
    /// Its id, unique in its namespace: 1 to 1,025 characters. NULL: the default, made of the keys,
    /// so that a second document of the same keys is refused: the primary key, followed by `|` and
    /// the secondary key if there is one. In the primary key `%` and `|` are percent-encoded, so that
    /// different keys never make the same id. Several documents of the same keys need ids of their
    /// own, and so does a document whose primary key is empty.
    pub id: millpond_bytes,
    /// The secondary key, at most 256 characters: the order of documents with the same primary key.
    pub secondary_key: millpond_bytes,
    /// Its content: a JSON text of at most 16 MiB, which is kept byte for byte. NULL: none.
    pub content: millpond_bytes,
    /// Whether to leave this document out if its id is taken, instead of refusing the whole
    /// modification.
    pub skip_colliding: c_bool,
}

growing! {
    millpond_new_doc = Self {
        size: size_of::<Self>(),
        namespace_name: millpond_bytes::NONE,
        key: millpond_bytes::NONE,
        id: millpond_bytes::NONE,
        secondary_key: millpond_bytes::NONE,
        content: millpond_bytes::NONE,
        skip_colliding: c_bool::FALSE,
    };
}

impl millpond_new_doc {
    pub(super) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<NewDoc> {
        let namespace = caller.text(|| of("namespace_name"), self.namespace_name)?;
        let mut doc = NewDoc::new(namespace, caller.text(|| of("key"), self.key)?)
            .secondary_key(caller.text(|| of("secondary_key"), self.secondary_key)?);
        if let Some(id) = caller.optional_text(|| of("id"), self.id)? {
            doc = doc.id(id);
        }
        if let Some(content) = caller.optional_text(|| of("content"), self.content)? {
            doc = doc.content(content);
        }
        Ok(match self.skip_colliding.is_true() {
            true => doc.skip_colliding(),
            false => doc,
        })
    }
}

/// Fills a document to insert with its defaults. The namespace still has to be set, and usually
/// the key.
///
///     millpond_new_doc doc;
///     millpond_new_doc_init(&doc, sizeof doc);
///     doc.namespace_name = (millpond_bytes){"accounts", 8};
///     doc.key = (millpond_bytes){"ann", 3};
///
/// Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_new_doc_init(doc: *mut millpond_new_doc, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(doc, size);
}

/// A change of a document. `millpond_doc_change_init` fills it from the document; then set what you
/// like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_doc_change {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// The document, and the version that it has to have.
    pub doc: millpond_doc_id,
    /// The new content: a JSON text. NULL: the content stays.
    pub content: millpond_bytes,
    /// Until when the claimant that changes it holds it, in milliseconds since the Unix epoch; a
    /// time in the past releases it. `MILLPOND_NOT_SET`: without a `delay_ms` it is held as it was.
    pub at_ms: i64,
    /// How many milliseconds from now the claimant that changes it holds it, by the
    /// engine's clock; 0 releases it. `MILLPOND_NOT_SET`: as `at_ms` says.
    pub delay_ms: i64,
}

growing! {
    millpond_doc_change = Self {
        size: size_of::<Self>(),
        doc: millpond_doc_id {
            namespace_name: millpond_bytes::NONE,
            id: millpond_bytes::NONE,
            version: 0,
        },
        content: millpond_bytes::NONE,
        at_ms: NOT_SET,
        delay_ms: NOT_SET,
    };
}

impl millpond_doc_change {
    fn of(doc: &millpond_doc) -> Self {
        let id = millpond_doc_id {
            namespace_name: doc.namespace_name,
            id: doc.id,
            version: doc.version,
        };
        Self { doc: id, ..Self::DEFAULT }
    }

    pub(super) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<DocChange> {
        let doc = self.doc.read(caller, |field| of(&format!("doc.{field}")))?;
        let mut change = DocChange::new(doc);
        if let Some(content) = caller.optional_text(|| of("content"), self.content)? {
            change = change.content(content);
        }
        Ok(match when(&of, self.at_ms, self.delay_ms)? {
            Some(When::At(at_ms)) => change.at_ms(at_ms),
            Some(When::After(delay)) => change.after(delay),
            _ => change,
        })
    }
}

/// Fills a change with the document as it is, at its version: such a change leaves everything as it
/// is, its claimant included. The change points to the texts of the document, whose result must not
/// be freed before the change was made. `doc` may be NULL; then everything else has to be set.
///
/// Does nothing where `change` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_doc_change_init(
    change: *mut millpond_doc_change,
    size: usize,
    doc: *const millpond_doc,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    let doc = caller.array(String::new, doc, usize::from(!doc.is_null()));
    let doc = doc.ok().and_then(<[_]>::first);
    caller.fill(change, size, doc.map_or(millpond_doc_change::DEFAULT, millpond_doc_change::of));
}

impl Caller {
    /// Documents at versions.
    pub(super) fn doc_ids(
        &self,
        argument: &str,
        docs: *const millpond_doc_id,
        count: usize,
    ) -> Result<Vec<DocId>> {
        let docs = self.array(|| argument.to_owned(), docs, count)?.iter().enumerate();
        let read = |(index, doc): (usize, &millpond_doc_id)| {
            doc.read(self, |field| format!("{argument}[{index}].{field}"))
        };
        docs.map(read).collect()
    }
}
