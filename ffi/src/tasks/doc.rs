//! Changes of documents, which are made of documents.

use crate::caller::Caller;
use crate::options::Growing;
use crate::tasks::generated::{millpond_doc, millpond_doc_change, millpond_doc_id};

impl millpond_doc_change {
    fn of(doc: *const millpond_doc) -> Self {
        // SAFETY: the header says that there is a document; these fields have existed since the first version.
        let doc = unsafe {
            millpond_doc_id {
                namespace_name: (*doc).namespace_name,
                id: (*doc).id,
                version: (*doc).version,
            }
        };
        Self { doc, ..Self::DEFAULT }
    }
}

/// Fills a change with the current state of the document, at its version: such a change leaves
/// everything as it is, including the claimant. The change points to the texts of the document,
/// whose result must not be freed before the change was made. `doc` may be NULL; then everything
/// else has to be set.
///
/// Does nothing if `change` is NULL.
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
    let filled = caller.record(doc, millpond_doc_change::of);
    caller.fill(change, size, filled.unwrap_or(millpond_doc_change::DEFAULT));
}
