//! The producer: walks the folder again and again and flags what has changed.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, UNIX_EPOCH};

use millpond::ick::Ick;
use rusqlite::Connection;

use crate::event::Event;
use crate::scratch::Scratch;
use crate::{Result, corpus};

const PAUSE: Duration = Duration::from_millis(200);
/// How many files are flagged in one step.
const FLAGS_MAX: usize = 500;

/// When a file was changed, in nanoseconds, and its size: enough to see a change without reading.
type Stamp = (i64, i64);

/// Flags each change exactly once, as a crawler of a large folder has to: it remembers on disk
/// what it has flagged. So a flag that the queue lost would be lost for good.
pub(crate) struct Crawler {
    scratch: Scratch,
    ick: Ick,
    disk: Connection,
    seen: HashMap<String, Stamp>,
}

impl Crawler {
    pub(crate) fn open(scratch: Scratch, ick: Ick) -> Result<Self> {
        let disk = Connection::open(scratch.seen())?;
        disk.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE IF NOT EXISTS seen (path TEXT PRIMARY KEY, modified INT, size INT);",
        )?;
        let seen = disk
            .prepare("SELECT path, modified, size FROM seen")?
            .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
            .collect::<Result<_, _>>()?;
        Ok(Self { scratch, ick, disk, seen })
    }

    /// Walks until the sender of `stop` is gone, and once more after that.
    pub(crate) fn run(mut self, stop: &Receiver<()>) -> Result<()> {
        loop {
            let is_last = stop.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected);
            self.walk()?;
            if is_last {
                return Ok(());
            }
        }
    }

    fn walk(&mut self) -> Result<()> {
        let mut gone: HashSet<String> = self.seen.keys().cloned().collect();
        let mut changed = Vec::new();
        for file in corpus::walk(self.scratch.files()) {
            gone.remove(&file.path);
            let age = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
            let stamp = (age.as_nanos() as i64, file.size as i64);
            if self.seen.get(&file.path) != Some(&stamp) {
                // The score is the time of the change, so the oldest change is worked on first.
                changed.push((Some(age.as_secs_f64()), file.path, Some(stamp)));
            }
        }
        // A file that is gone has no time; without a score the Ick uses its own clock.
        changed.extend(gone.into_iter().map(|path| (None, path, None)));
        changed.chunks(FLAGS_MAX).try_for_each(|some| self.flag(some))
    }

    /// Flags first and remembers second: killed in between, it flags once more, and the Ick
    /// merges that into the flag it has. The other order would lose the change.
    fn flag(&mut self, changed: &[(Option<f64>, String, Option<Stamp>)]) -> Result<()> {
        let added = self.ick.add(changed.iter().map(|(score, path, _)| (*score, path)))?;
        let disk = self.disk.transaction()?;
        for (_, path, stamp) in changed {
            match *stamp {
                Some((modified, size)) => {
                    let row = (path, modified, size);
                    disk.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", row)?;
                    self.seen.insert(path.clone(), (modified, size));
                }
                None => {
                    disk.execute("DELETE FROM seen WHERE path = ?", [path])?;
                    self.seen.remove(path);
                }
            }
        }
        disk.commit()?;
        let flagged = changed.len() as u64;
        Event::Flagged { flagged, folded: flagged - added.new }.say();
        Ok(())
    }
}
