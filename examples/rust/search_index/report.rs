//! What the reader sees: a progress bar on a terminal, plain lines otherwise.

use std::cell::Cell;

use indicatif::{ProgressBar, ProgressStyle};

use crate::corpus::Corpus;
use crate::index::Hit;
use crate::scratch::Scratch;

/// How many differences are shown.
const PROBLEMS_MAX: usize = 10;

pub(crate) struct Report {
    files: u64,
    bar: ProgressBar,
    /// Without a bar: the next count worth a line.
    next_line: Cell<u64>,
}

impl Report {
    pub(crate) fn new(files: u64) -> Self {
        let bar = ProgressBar::new(files);
        let style = ProgressStyle::with_template("   [{bar:40}] {pos} files in the index");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { files, bar, next_line: Cell::new(0) }
    }

    pub(crate) fn heading(&self, corpus: &Corpus, scratch: &Scratch) {
        let cap = if corpus.is_capped { " (there are more; the demo takes no more)" } else { "" };
        self.print(&format!(
            "Millpond demo: a full-text index that follows a folder.\n\n  \
             folder  {}: {} text files, {:.1} MB{cap}\n  \
             copy    {}\n  \
             queue   {}  (Millpond, embedded: no server)\n  \
             index   {}  (SQLite FTS5)",
            corpus.source.display(),
            count(corpus.files as u64),
            corpus.bytes as f64 / 1e6,
            scratch.files().display(),
            scratch.queue_url(),
            scratch.index().display()
        ));
    }

    pub(crate) fn step(&self, text: &str) {
        self.print(&format!("\n{text}"));
    }

    pub(crate) fn line(&self, text: &str) {
        self.print(&format!("   {text}"));
    }

    /// The number of files in the index.
    pub(crate) fn progress(&self, files: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_position(files);
        } else if files >= self.next_line.get() {
            self.line(&format!("{} files in the index", count(files)));
            let fifth = self.files.div_ceil(5);
            self.next_line.set((files / fifth + 1) * fifth);
        }
    }

    pub(crate) fn table(&self, rows: &[(&str, usize)]) {
        self.bar.finish_and_clear();
        self.print("");
        for (name, number) in rows {
            self.print(&format!("  {name:<31}{:>7}", count(*number as u64)));
        }
    }

    /// Prints whether all is well, and returns it.
    pub(crate) fn verdict(&self, problems: &[String]) -> bool {
        if problems.is_empty() {
            self.step("The index matches the folder exactly, file by file, and the Ick is empty.");
        } else {
            self.step(&format!("NOT AS IT SHOULD BE ({}):", problems.len()));
            problems.iter().take(PROBLEMS_MAX).for_each(|problem| self.line(problem));
        }
        problems.is_empty()
    }

    pub(crate) fn hits(&self, hits: &[Hit]) {
        if let Some(hit) = hits.first() {
            self.step(&format!("A search for \"{}\" in it:", hit.word));
        }
        for (number, hit) in hits.iter().enumerate() {
            self.line(&format!("{}. {}\n      {}", number + 1, hit.path, hit.snippet));
        }
    }

    pub(crate) fn end(&self, scratch: &Scratch, is_kept: bool) {
        if is_kept {
            self.step(&format!("Kept: {}", scratch.root().display()));
        } else {
            self.step("The copy, the queue and the index are removed; --keep keeps them.");
        }
    }

    fn print(&self, text: &str) {
        self.bar.suspend(|| println!("{text}"));
    }
}

/// A number with commas.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}
