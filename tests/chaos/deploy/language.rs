//! The languages that workers are written in.

use std::path::Path;
use std::process::Command;

use super::Outcome;
use crate::pipe::Speaker;

/// The words that start a worker; that in Rust is part of this program.
const WORKERS: [(&str, &[&str]); 6] = [
    ("rust", &[]),
    ("python", &[".venv/bin/python", "tests/chaos/deploy/worker.py"]),
    ("node", &["node", "tests/chaos/deploy/worker.mjs"]),
    ("c", &["target/chaos/millpond-storm-c"]),
    ("ruby", &["ruby", "-Iffi/ruby/lib", "tests/chaos/deploy/worker.rb"]),
    ("php", &["php", "tests/chaos/deploy/worker.php"]),
];

/// A language with a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Language {
    pub(super) name: &'static str,
    words: &'static [&'static str],
}

impl Language {
    /// Those of these names, which have to be there; without names all that are, and the others are said to be missing.
    pub(super) fn find(names: Option<&[String]>, url: &str) -> Outcome<Vec<Self>> {
        if let Some(name) =
            names.into_iter().flatten().find(|name| !WORKERS.iter().any(|(of, _)| of == name))
        {
            return Err(format!("no worker is in {name}"));
        }
        let mut found = Vec::new();
        for (name, words) in WORKERS {
            let language = Self { name, words };
            if names.is_some_and(|names| !names.iter().any(|of| of == name)) {
                continue;
            }
            match language.try_out(url) {
                Ok(()) => found.push(language),
                Err(why) if names.is_some() => return Err(format!("{name} is missing: {why}")),
                Err(why) => println!("deploy: {name} is missing: {why}"),
            }
        }
        Ok(found)
    }

    /// Starts a worker and stops it.
    fn try_out(self, url: &str) -> Outcome<()> {
        let worker = self.start("tasks", url, "life-0")?;
        let is_ready = worker.wait_ready();
        worker.tell_to_stop();
        worker.stopped()?;
        if is_ready { Ok(()) } else { Err("its worker does not begin".to_owned()) }
    }

    pub(super) fn start(self, role: &str, url: &str, life: &str) -> Outcome<Speaker> {
        let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let started = match self.words {
            [] => Speaker::start(&["deploy-child", role, url, life]),
            [program, words @ ..] => {
                // A path is in the repository; another program is the system's.
                let mut command = match program.contains('/') {
                    true => Command::new(repository.join(program)),
                    false => Command::new(program),
                };
                command.args(words).args([role, url, life]).current_dir(repository);
                Speaker::of(command)
            }
        };
        started.map_err(|error| format!("a worker in {} cannot start: {error}", self.name))
    }
}
