//! The folder: which files count, copying them, walking them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Result;

/// Where a Debian or Ubuntu has text.
const DEFAULT: &str = "/usr/share/doc";
/// Enough for a demo.
const FILES_MAX: usize = 5_000;
/// Fewer, and there is no batch in whose middle to kill.
const FILES_MIN: usize = 60;
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What was copied.
pub(crate) struct Corpus {
    pub(crate) source: PathBuf,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Whether the source has more text files than were copied.
    pub(crate) is_capped: bool,
}

/// Copies the text files of `folder`, or of the default, to `target`.
pub(crate) fn copy(folder: Option<PathBuf>, target: &Path) -> Result<Corpus> {
    if let Some(folder) = folder {
        let corpus = copy_from(&folder, target)?;
        if corpus.files < FILES_MIN {
            let folder = folder.display();
            let found = corpus.files;
            return Err(format!("{folder} has {found} text files; it takes {FILES_MIN}").into());
        }
        return Ok(corpus);
    }
    let corpus = copy_from(Path::new(DEFAULT), target)?;
    if corpus.files >= FILES_MIN {
        return Ok(corpus);
    }
    // A slim container has no documentation; this project has enough text of its own.
    fs::remove_dir_all(target)?;
    fs::create_dir(target)?;
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    copy_from(&project.canonicalize()?, target)
}

fn copy_from(source: &Path, target: &Path) -> Result<Corpus> {
    let mut corpus = Corpus { source: source.to_owned(), files: 0, bytes: 0, is_capped: false };
    for file in walk(source.to_owned()).filter(|file| (1..=FILE_BYTES_MAX).contains(&file.size)) {
        let Some(text) = fs::read(source.join(&file.path)).ok().and_then(text) else { continue };
        if corpus.files == FILES_MAX {
            corpus.is_capped = true;
            break;
        }
        let to = target.join(&file.path);
        fs::create_dir_all(to.parent().unwrap_or(target))?;
        fs::write(&to, &text)?;
        // The age counts: what was changed first is indexed first.
        File::options().write(true).open(&to)?.set_modified(file.modified)?;
        corpus.files += 1;
        corpus.bytes += text.len() as u64;
    }
    Ok(corpus)
}

/// The text, unless these are the bytes of something else.
fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A regular file in a folder.
pub(crate) struct Found {
    /// Relative to the folder.
    pub(crate) path: String,
    pub(crate) modified: SystemTime,
    pub(crate) size: u64,
}

/// The regular files below `root`. Leaves out what is hidden, what builds leave behind, and names
/// that would not fit on a line. A file that vanishes meanwhile is not there.
pub(crate) fn walk(root: PathBuf) -> impl Iterator<Item = Found> {
    let mut todo = vec![root.clone()];
    std::iter::from_fn(move || {
        loop {
            let path = todo.pop()?;
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                let mut below: Vec<PathBuf> =
                    entries.filter(|e| is_wanted(&e.file_name())).map(|e| e.path()).collect();
                below.sort_unstable_by(|a, b| b.cmp(a));
                todo.append(&mut below);
            } else if metadata.is_file() {
                let relative = path.strip_prefix(&root).ok().and_then(Path::to_str);
                if let (Some(relative), Ok(modified)) = (relative, metadata.modified()) {
                    return Some(Found { path: relative.into(), modified, size: metadata.len() });
                }
            }
        }
    })
}

fn is_wanted(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        !name.starts_with('.')
            && !matches!(name, "target" | "node_modules")
            && !name.contains(char::is_control)
    })
}

/// The content hash by which file and index are compared.
pub(crate) fn hash(text: &[u8]) -> String {
    sha1_smol::Sha1::from(text).digest().to_string()
}
