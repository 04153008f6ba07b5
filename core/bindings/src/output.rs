//! What is generated: files, which are written or compared.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The generated files by their path from the root of the repository.
pub(crate) struct Output {
    root: PathBuf,
    files: BTreeMap<String, String>,
    /// Those of them that have no part by hand.
    whole: BTreeSet<String>,
    /// How many lines of comments are the core's in the files by hand.
    comments: BTreeMap<String, usize>,
    refused: Vec<String>,
}

impl Output {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
            whole: BTreeSet::new(),
            comments: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    /// Says that something is wrong with what the emitters were given; then nothing is written.
    pub(crate) fn refuse(&mut self, what: String) {
        self.refused.push(what);
    }

    pub(crate) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Adds a file that is generated as a whole, under a head that says so, if its kind has comments.
    pub(crate) fn add(&mut self, path: &str, text: impl AsRef<str>) {
        let text = text.as_ref();
        let text = match comment(path) {
            None => text.to_owned(),
            Some((open, close)) => {
                let head = format!("{open}{HEAD} from the core. Do not edit.{close}\n");
                // What has to be in the first line stays there.
                match text.split_once('\n') {
                    Some((first, rest))
                        if first.starts_with("<?php") || first.starts_with("# frozen_string") =>
                    {
                        format!("{first}\n{head}{rest}")
                    }
                    _ => format!("{head}\n{}", text.trim_start_matches('\n')),
                }
            }
        };
        self.whole.insert(path.to_owned());
        let before = self.files.insert(path.to_owned(), text);
        assert!(before.is_none(), "{path} is generated twice");
    }

    /// Puts this text in place of a file by hand that has generated parts.
    pub(crate) fn edit(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    /// Adds a Rust file, formatted.
    pub(crate) fn add_rust(&mut self, path: &str, text: impl AsRef<str>) {
        self.add(path, rustfmt(&self.root, text.as_ref()));
    }

    /// A file by hand: replaces the comments above what the core knows. `marks` are how a line of a comment
    /// begins, what may stand between a comment and its item, and how a part of a comment begins that is by
    /// hand from there to its end, such as an example. `comment` gets the lines of the comment that is there,
    /// and the line below with those after it. It returns the lines that belong there, without their
    /// indentation; none if all of it is by hand.
    pub(crate) fn revise(
        &mut self,
        path: &str,
        marks: (&[&str], &[&str], &[&str]),
        mut comment: impl FnMut(&[String], &[&str]) -> Option<Vec<String>>,
    ) {
        let text = self.text(path);
        let lines: Vec<_> = text.lines().collect();
        let begins = |line: &str, marks: &[&str]| {
            marks.iter().any(|mark| line.trim_start().starts_with(mark))
        };
        let (mut out, mut above, mut between) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0;
        for (index, line) in lines.iter().enumerate() {
            if begins(line, marks.0) && between.is_empty() {
                above.push((*line).to_owned());
            } else if begins(line, marks.1) {
                between.push((*line).to_owned());
            } else {
                if let Some(mut made) = comment(&above, &lines[index..]) {
                    let by_hand = above.iter().position(|line| begins(line, marks.2));
                    let by_hand = above.split_off(by_hand.unwrap_or(above.len()));
                    if !by_hand.is_empty() && !made.is_empty() {
                        made.push(marks.0[0].trim_end().to_owned());
                    }
                    let indent = &line[..line.len() - line.trim_start().len()];
                    count += made.len();
                    above = made.iter().map(|text| format!("{indent}{text}")).collect();
                    above.extend(by_hand);
                }
                out.append(&mut above);
                out.append(&mut between);
                out.push((*line).to_owned());
            }
        }
        out.append(&mut above);
        out.append(&mut between);
        *self.comments.entry(path.to_owned()).or_default() += count;
        self.edit(path, out.join("\n") + "\n");
    }

    /// The files by hand with comments of the core's, and how many lines those have.
    pub(crate) fn comments(&self) -> impl Iterator<Item = (&String, &usize)> {
        self.comments.iter()
    }

    /// A file as it is generated, or else as it is on disk.
    pub(crate) fn text(&self, path: &str) -> String {
        let generated = self.files.get(path).cloned();
        generated.unwrap_or_else(|| {
            std::fs::read_to_string(self.root.join(path))
                .unwrap_or_else(|error| panic!("{path}: {error}"))
        })
    }

    /// The paths of the files that have no part by hand.
    pub(crate) fn whole(&self) -> &BTreeSet<String> {
        &self.whole
    }

    /// The files beside these that say that they are generated.
    pub(crate) fn beside(&self, paths: &BTreeSet<String>) -> Vec<String> {
        let folders: BTreeSet<_> =
            paths.iter().map(|path| path.rsplit_once('/').map_or("", |(of, _)| of)).collect();
        let files = folders.into_iter().flat_map(|folder| {
            let entries = self.root.join(folder).read_dir().into_iter().flatten().flatten();
            entries.map(move |of| {
                let name = of.file_name().to_string_lossy().into_owned();
                if folder.is_empty() { name } else { format!("{folder}/{name}") }
            })
        });
        let says_so = |path: &String| {
            let text = std::fs::read_to_string(self.root.join(path));
            text.is_ok_and(|text| head(&text).contains(HEAD))
        };
        files.filter(|path| !paths.contains(path)).filter(says_so).collect()
    }

    /// What is generated, by its path.
    #[cfg(test)]
    pub(crate) fn generated(&self) -> impl Iterator<Item = (&String, &String)> {
        self.files.iter()
    }

    /// All files in a folder and below with one of these endings, by their paths, generated or on disk.
    pub(crate) fn folder(&self, folder: &str, endings: &[&str]) -> BTreeMap<String, String> {
        let (mut paths, mut open) = (BTreeSet::new(), vec![self.root.join(folder)]);
        while let Some(folder) = open.pop() {
            let entries =
                folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            for path in entries.map(|entry| entry.expect("the folder can be read").path()) {
                match path.is_dir() {
                    true => open.push(path),
                    false => {
                        let path = path.strip_prefix(&self.root).expect("it is below");
                        paths.insert(path.to_string_lossy().into_owned());
                    }
                }
            }
        }
        let generated = self.files.keys().filter(|path| path.starts_with(&format!("{folder}/")));
        paths.extend(generated.cloned());
        paths.retain(|path| endings.iter().any(|ending| path.ends_with(ending)));
        paths.into_iter().map(|path| (path.clone(), self.text(&path))).collect()
    }

    pub(crate) fn write(self) {
        for (path, text) in &self.files {
            let path = self.root.join(path);
            if std::fs::read_to_string(&path).is_ok_and(|found| found == *text) {
                continue;
            }
            println!("{}", path.strip_prefix(&self.root).unwrap_or(&path).display());
            std::fs::create_dir_all(path.parent().expect("a file has a folder"))
                .expect("the folder can be made");
            std::fs::write(&path, text).expect("the file can be written");
        }
    }

    /// Says which files are not as they are generated, and whether there are any.
    pub(crate) fn is_stale(&self) -> bool {
        let is_stale = |(path, text): &(&String, &String)| {
            std::fs::read_to_string(self.root.join(path)).ok().as_ref() != Some(*text)
        };
        let stale: Vec<_> = self.files.iter().filter(is_stale).collect();
        for (path, _) in &stale {
            eprintln!("{path} is stale: make bindings");
        }
        !stale.is_empty()
    }
}

/// How the head of a generated file begins.
const HEAD: &str = "Generated by `make bindings`";

/// The lines of a file in which its head stands.
pub(crate) fn head(text: &str) -> String {
    text.lines().take(3).collect::<Vec<_>>().join("\n")
}

/// How a comment begins and ends in a file of this kind; nothing in JSON and in the text of a licence, which have none.
///
/// # Panics
///
/// If it is not known.
pub(crate) fn comment(path: &str) -> Option<(&'static str, &'static str)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit('.').next().unwrap_or(name) {
        "rs" | "js" | "mjs" | "ts" | "php" => Some(("// ", "")),
        "gitattributes" | "lock" | "py" | "pyi" | "rb" | "rbs" => Some(("# ", "")),
        "h" => Some(("/* ", " */")),
        "md" | "svg" => Some(("<!-- ", " -->")),
        "json" | "LICENSE-APACHE" | "LICENSE-MIT" => None,
        other => panic!("{path}: how a comment begins in {other} is not known"),
    }
}

fn rustfmt(root: &Path, text: &str) -> String {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt is there, as cargo is");
    let text = text.to_owned();
    let mut input = child.stdin.take().expect("the input is a pipe");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let done = child.wait_with_output().expect("rustfmt ends");
    writer.join().expect("the writer does not panic").expect("rustfmt reads all");
    assert!(done.status.success(), "rustfmt refuses what was generated");
    String::from_utf8(done.stdout).expect("rustfmt writes UTF-8")
}
