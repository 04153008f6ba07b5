//! The languages that have an adapter, from `tests/conformance/adapters/adapters.json`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::Result;
use crate::adapter::repository;
use crate::backend::BACKENDS;

/// The queues that there are.
const QUEUES: [&str; 7] = ["ick", "shuffle", "tasks", "events", "volatile", "recruiter", "tracker"];

/// In what languages differ. Each is true or false of all but those of which `adapters.json` says otherwise:
/// `deletes_broken_icks` (a delete removes a broken Ick; that of redis-ick, and of the drop-in for it, refuses it),
/// `is_concurrent` (a worker has several jobs at a time), `cancels_handlers` (a handler that is late, or
/// whose job is lost, is ended by the library; elsewhere the job says so).
pub(crate) const ABILITIES: [&str; 3] =
    ["deletes_broken_icks", "is_concurrent", "cancels_handlers"];

/// Those that most languages do not have.
const RARE: [&str; 1] = ["cancels_handlers"];

/// A language and the command that starts its adapter.
#[derive(Clone)]
pub(crate) struct Language {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    /// The backends that it can reach; all where none is named.
    backends: Option<Vec<String>>,
    /// The queues that it has; all where none is named.
    queues: Option<Vec<String>>,
    /// Those of [`ABILITIES`] that it has.
    pub(crate) abilities: Vec<&'static str>,
}

impl Language {
    /// Whether it can reach this backend: an adapter that sends through another library's
    /// connection to a server has no embedded engine.
    pub(crate) fn reaches(&self, backend: &str) -> bool {
        self.backends.as_ref().is_none_or(|backends| backends.iter().any(|name| name == backend))
    }

    /// Why it cannot run cases of this queue, if it cannot: a drop-in for another library has the
    /// Ick alone.
    pub(crate) fn lacks(&self, queue: &str) -> Option<String> {
        let queues = self.queues.as_ref()?;
        if queues.iter().any(|name| name == queue) {
            return None;
        }
        Some(match &queues[..] {
            [one] if one == "ick" => "the adapter is for the Ick alone".to_owned(),
            _ => format!("the adapter has no {queue} yet"),
        })
    }
}

/// The languages of these names; all that this machine has an adapter for where none is named.
/// A language that is named and has no adapter here is an error of its own.
pub(crate) fn languages(named: Option<&[String]>) -> Result<Vec<Result<Language>>> {
    let path = repository().join("tests/conformance/adapters/adapters.json");
    let text = fs::read_to_string(&path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let table: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let table = table.as_object().ok_or("adapters.json is a table of languages")?;
    let language = |name: &String| {
        let entry = table.get(name).ok_or("adapters.json has no such language".to_owned());
        let in_language = |why| format!("{name}: {why}");
        let command = entry.clone().and_then(command).map_err(in_language)?;
        let list = |field, known: &[&str]| {
            entry.clone().and_then(|entry| names(entry, field, known)).map_err(in_language)
        };
        let (backends, queues) = (list("backends", &BACKENDS)?, list("queues", &QUEUES)?);
        let entry = entry?;
        let has = |name: &&str| entry[*name].as_bool().unwrap_or(!RARE.contains(name));
        let abilities = ABILITIES.into_iter().filter(has).collect();
        Ok(Language { name: name.clone(), command, backends, queues, abilities })
    };
    Ok(match named {
        Some(named) => named.iter().map(language).collect(),
        None => table.keys().map(language).filter(std::result::Result::is_ok).collect(),
    })
}

/// The command of an adapter, or why it is not there.
fn command(entry: &Value) -> Result<Vec<String>> {
    let variable = entry["variable"].as_str().unwrap_or_default();
    let chosen = env::var(variable).ok().filter(|program| !program.is_empty());
    let Some(program) = chosen.or_else(|| entry["program"].as_str().map(str::to_owned)) else {
        // No program: the adapter is part of this one.
        let own =
            env::current_exe().map_err(|error| format!("no path to this program: {error}"))?;
        return Ok(vec![own.to_string_lossy().into_owned(), "adapter".to_owned()]);
    };
    if find(&program).is_none() {
        return Err(format!("there is no {program}; {variable} can name another program"));
    }
    let arguments = entry["arguments"].as_array().into_iter().flatten();
    let arguments = arguments.filter_map(Value::as_str).map(str::to_owned);
    Ok(std::iter::once(program).chain(arguments).collect())
}

/// The backends or the queues that an adapter is restricted to.
fn names(entry: &Value, field: &str, known: &[&str]) -> Result<Option<Vec<String>>> {
    let Some(named) = entry.get(field) else { return Ok(None) };
    let named = named.as_array().ok_or_else(|| format!("{field} is a list of names"))?;
    let known = |name: &Value| {
        let name = name.as_str().filter(|name| known.contains(name));
        name.map(str::to_owned).ok_or_else(|| format!("{field} can name {}", known.join(", ")))
    };
    named.iter().map(known).collect::<Result<_>>().map(Some)
}

/// The path of a program: as it is given, in the repository, or on the search path.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(repository().join(program)).filter(|path| path.exists());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| Path::exists(path))
}
