//! Changes of documents, which are made of documents.

use millpond::Result;
use millpond::tasks::DocId;

use crate::caller::Caller;
use crate::options::Growing;
use crate::tasks::generated::{millpond_doc, millpond_doc_change, millpond_doc_id};

impl millpond_doc_change {
    fn of(doc: &millpond_doc) -> Self {
        let &millpond_doc { namespace_name, id, version, .. } = doc;
        Self { doc: millpond_doc_id { namespace_name, id, version }, ..Self::DEFAULT }
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
