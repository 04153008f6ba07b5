//! What the worker reports to the demo: a line per event, fields separated by tabs.

use std::fmt;
use std::str::FromStr;

use crate::Result;

#[derive(Debug)]
pub(crate) enum Event {
    /// The crawler flagged files; `n` of them were flagged already.
    Flagged { flagged: u64, folded: u64 },
    /// The consumer has a batch with these paths.
    Reserved(Vec<String>),
    /// It indexed this path, or removed it from the index.
    Worked(String),
    /// It waits for a line, so that the demo can kill it at a known point.
    Paused,
    /// It has stored the batch; the index now has `n` files.
    Stored { files: u64 },
}

impl Event {
    pub(crate) fn say(&self) {
        println!("{self}");
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Flagged { flagged, folded } => write!(f, "flagged\t{flagged}\t{folded}"),
            Event::Reserved(paths) => write!(f, "reserved\t{}", paths.join("\t")),
            Event::Worked(path) => write!(f, "worked\t{path}"),
            Event::Paused => write!(f, "paused"),
            Event::Stored { files } => write!(f, "stored\t{files}"),
        }
    }
}

impl FromStr for Event {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        Ok(match fields[..] {
            ["flagged", flagged, folded] => {
                Event::Flagged { flagged: flagged.parse()?, folded: folded.parse()? }
            }
            ["reserved", ref paths @ ..] => {
                Event::Reserved(paths.iter().map(ToString::to_string).collect())
            }
            ["worked", path] => Event::Worked(path.to_owned()),
            ["paused"] => Event::Paused,
            ["stored", files] => Event::Stored { files: files.parse()? },
            _ => return Err(format!("the worker said {line:?}").into()),
        })
    }
}

/// Where the worker waits: in this batch of its own counting from 1, after `n` files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pause {
    pub(crate) batch: usize,
    pub(crate) after: usize,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.batch, self.after)
    }
}

impl FromStr for Pause {
    type Err = Box<dyn std::error::Error + Send + Sync>;

    fn from_str(text: &str) -> Result<Self> {
        let (batch, after) = text.split_once(':').ok_or("a pause is BATCH:FILES")?;
        Ok(Self { batch: batch.parse()?, after: after.parse()? })
    }
}
