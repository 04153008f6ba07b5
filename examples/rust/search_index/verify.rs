//! The check: does the index match the folder?

use std::collections::BTreeMap;
use std::fs;

use crate::index::Index;
use crate::scratch::Scratch;
use crate::{Result, corpus, worker};

/// What differs between the folder and the index, a line each, and what is left in the Ick.
pub(crate) fn differences(scratch: &Scratch) -> Result<Vec<String>> {
    let mut in_folder = BTreeMap::new();
    for file in corpus::walk(scratch.files()) {
        let hash = corpus::hash(&fs::read(scratch.files().join(&file.path))?);
        in_folder.insert(file.path, hash);
    }
    let mut differences = Vec::new();
    for (path, stored, indexed) in Index::open(&scratch.index())?.hashes()? {
        match in_folder.remove(&path) {
            None => differences.push(format!("{path}: in the index, not in the folder")),
            Some(hash) if hash != stored => differences.push(format!("{path}: an older version")),
            Some(hash) if hash != indexed => differences.push(format!("{path}: another text")),
            Some(_) => {}
        }
    }
    differences.extend(in_folder.keys().map(|path| format!("{path}: not in the index")));

    let client = millpond::connect(&scratch.queue_url())?;
    let left = client.ick(worker::ICK).stats()?.map_or(0, |stats| stats.total_size());
    if left > 0 {
        differences.push(format!("the Ick still has {left} files"));
    }
    Ok(differences)
}
