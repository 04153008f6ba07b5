//! What happens to the folder while the worker is busy.

use std::collections::HashSet;
use std::fs;

use crate::process::{Batch, Worker};
use crate::report::Report;
use crate::scratch::Scratch;
use crate::{Result, corpus};

/// How often each of the files is rewritten while it is in a batch.
const REWRITES: u64 = 2;

/// Paths that are rewritten, deleted and added.
pub(crate) struct Changes {
    /// In the batch that is being worked on: some are indexed already, some not yet.
    pub(crate) rewritten_in_batch: Vec<String>,
    /// Flagged and not in a batch yet.
    rewritten_waiting: Vec<String>,
    /// One in the batch, one that was indexed long ago, one that is waiting.
    pub(crate) deleted: Vec<String>,
    pub(crate) added: Vec<String>,
}

impl Changes {
    pub(crate) fn choose(scratch: &Scratch, before: &[Batch], busy: &Batch) -> Result<Self> {
        let taken: HashSet<&String> =
            before.iter().chain([busy]).flat_map(|batch| &batch.members).collect();
        let mut waiting =
            corpus::walk(scratch.files()).map(|file| file.path).filter(|p| !taken.contains(p));
        let rewritten_waiting = waiting.by_ref().take(5).collect();
        let (indexed, not_yet) = busy.members.split_at(busy.worked.len());
        let mut deleted = vec![indexed[2].clone(), before[0].members[0].clone()];
        deleted.extend(waiting.next());
        Ok(Self {
            rewritten_in_batch: [&indexed[..2], &not_yet[..3]].concat(),
            rewritten_waiting,
            deleted,
            added: vec!["new-from-the-demo.txt".to_owned()],
        })
    }

    pub(crate) fn make(
        &self,
        scratch: &Scratch,
        worker: &mut Worker<'_>,
        report: &Report,
    ) -> Result<()> {
        let flagged = worker.history.flagged;
        let (rewritten, waiting) = (&self.rewritten_in_batch, &self.rewritten_waiting);
        for path in &self.deleted {
            fs::remove_file(scratch.files().join(path))?;
        }
        for path in waiting.iter().chain(&self.added) {
            scratch.write_line(path, "Written by the search-index demo.")?;
        }
        let others = (self.deleted.len() + waiting.len() + self.added.len()) as u64;
        for round in 1..=REWRITES {
            for path in rewritten {
                scratch.write_line(path, &format!("Rewrite {round} by the search-index demo."))?;
            }
            // Flagged before the next rewrite, or two of them would look like one.
            let expected = flagged + others + round * rewritten.len() as u64;
            worker.until(|history| history.flagged >= expected)?;
        }
        report.line(&format!(
            "{} files of this batch are rewritten {REWRITES} times, {} that wait are rewritten, {} \
             are deleted, {} is new.",
            rewritten.len(),
            waiting.len(),
            self.deleted.len(),
            self.added.len()
        ));
        Ok(())
    }
}
