//! Keeps a full-text index of a folder up to date, through kill -9 and changes while it works.
//!
//! A *worker* is a process of its own: its crawler flags every file that is new, changed or gone
//! in an Ick, and its consumer takes batches from the Ick and indexes them in SQLite. This is the
//! process that starts the worker, kills it, changes files behind its back and then compares the
//! index with the folder, file by file. It works on a copy, so nothing of yours is changed.
//!
//! Read `worker.rs` for how an Ick is used; the rest is the folder, the index and the check.

mod changes;
mod corpus;
mod crawler;
mod demo;
mod event;
mod index;
mod process;
mod report;
mod scratch;
mod verify;
mod worker;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

const USAGE: &str = "usage: search-index [--keep] [--search WORD] [FOLDER]";

fn main() -> ExitCode {
    let done = match env::args().nth(1).as_deref() {
        Some("worker") => worker::main(env::args().skip(2)).map(|()| true),
        _ => arguments().and_then(|(folder, word, keep)| demo::run(folder, &word, keep)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("search-index: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<(Option<PathBuf>, String, bool)> {
    let (mut folder, mut word, mut keep) = (None, "queue".to_owned(), false);
    let mut arguments = env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--keep") => keep = true,
            Some("--search") => {
                word = arguments.next().and_then(|word| word.into_string().ok()).ok_or(USAGE)?;
            }
            Some(option) if option.starts_with('-') => return Err(USAGE.into()),
            _ if folder.is_none() => folder = Some(PathBuf::from(argument)),
            _ => return Err(USAGE.into()),
        }
    }
    Ok((folder, word, keep))
}
