//! The demo's own folder, under the system's temporary one.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, process};

use crate::Result;

/// A folder with the copy of the files, the queue and the index.
pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes the folder. A folder of this name that is there already is an error, so no other
    /// user can prepare one.
    pub(crate) fn make() -> Result<Self> {
        let root = env::temp_dir().join(format!("millpond-demo-{}", process::id()));
        DirBuilder::new().mode(0o700).create(&root)?;
        fs::create_dir(root.join("files"))?;
        Ok(Self { root })
    }

    /// The folder that another process made.
    pub(crate) fn of(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index.sqlite")
    }

    /// What the crawler has seen.
    pub(crate) fn seen(&self) -> PathBuf {
        self.root.join("seen.sqlite")
    }

    /// The URL of the queues: Millpond's embedded engine, in a folder, without a server.
    pub(crate) fn queue_url(&self) -> String {
        format!("file:{}/queue", self.root.display())
    }

    pub(crate) fn write_line(&self, path: &str, line: &str) -> Result<()> {
        let mut file = File::options().create(true).append(true).open(self.files().join(path))?;
        Ok(file.write_all(format!("\n{line}\n").as_bytes())?)
    }

    /// Removes the folder. If the demo fails, it stays for inspection.
    pub(crate) fn remove(&self) -> Result<()> {
        Ok(fs::remove_dir_all(&self.root)?)
    }
}
