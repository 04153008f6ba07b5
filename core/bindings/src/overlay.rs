//! What a host's page adds to the core's comments: examples, which are always written by hand, and
//! paragraphs where a host differs. A page is Markdown: a heading names an item (`# tasks.Task.change`), text
//! below it comes after the core's, or in its place if its first line is `instead:`, and each block of code is
//! an example.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::output::Output;

/// A host's page.
pub(crate) struct Overlay {
    path: String,
    notes: BTreeMap<String, Note>,
    used: RefCell<BTreeSet<String>>,
}

/// What it has on one item.
#[derive(Clone, Default)]
pub(crate) struct Note {
    /// Whether its paragraphs stand in place of the core's.
    pub(crate) replaces: bool,
    /// Each on one line.
    pub(crate) paragraphs: Vec<String>,
    /// The code of each, with its lines.
    pub(crate) examples: Vec<String>,
}

impl Overlay {
    pub(crate) fn read(root: &Path, path: &str) -> Self {
        let text = std::fs::read_to_string(root.join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut notes: BTreeMap<String, Note> = BTreeMap::new();
        let (mut key, mut code, mut is_open) = (String::new(), None::<String>, false);
        for line in text.lines() {
            let note = notes.entry(key.clone()).or_default();
            match (&mut code, line.trim_end()) {
                (Some(lines), "```") => {
                    note.examples.push(lines.clone());
                    code = None;
                }
                (Some(lines), line) => lines.push_str(&format!("{line}\n")),
                (None, line) if line.starts_with("```") => {
                    (code, is_open) = (Some(String::new()), false)
                }
                (None, line) if line.starts_with("# ") => {
                    (key, is_open) = (line[2..].to_owned(), false)
                }
                (None, "instead:") => note.replaces = true,
                (None, "") => is_open = false,
                // A tag, as comments of Ruby and PHP have them, begins a paragraph.
                (None, line) => {
                    match note.paragraphs.last_mut().filter(|_| is_open && !line.starts_with('@')) {
                        Some(paragraph) => *paragraph = format!("{paragraph} {}", line.trim()),
                        None => {
                            note.paragraphs.push(line.to_owned());
                            is_open = true;
                        }
                    }
                }
            }
        }
        Self { path: path.to_owned(), notes, used: RefCell::default() }
    }

    /// What the page has on an item; nothing if there is no heading for it.
    pub(crate) fn of(&self, key: &str) -> Note {
        self.used.borrow_mut().insert(key.to_owned());
        self.notes.get(key).cloned().unwrap_or_default()
    }

    /// The headings that nobody asked for: they would be lost without a word. Text before the first heading is for
    /// those who read the page.
    pub(crate) fn finish(self, output: &mut Output) {
        let used = self.used.into_inner();
        let lost = self.notes.keys().filter(|key| !key.is_empty() && !used.contains(*key));
        lost.for_each(|key| output.refuse(format!("{}: no item is called {key}", self.path)));
    }
}
