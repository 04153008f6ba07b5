//! What the methods of the hosts have that Rust's signatures do not say: defaults, and words on their
//! parameters. It is read from `surface.md`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::{Model, Value};

/// The page. A heading is a method (`# tasks.TaskStore.claim`), all methods of a type
/// (`# tasks.TaskStore`), of a queue (`# tasks`), or of all (`# all`); the nearest one wins. A line is
/// ``- `lease` = `LEASE_DEFAULT`: how long …``, where the default is a constant of the core, `none`, a
/// number, or left out for what has to be given; of a list, ``- `ids` at most `PAGE_MAX`: …``; of a span of time that
/// the core has under another name, ``- `wait` = `none`, a time: …``.
#[derive(Default)]
pub(crate) struct Surface(BTreeMap<String, BTreeMap<String, Words>>);

/// What is said of a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// `None`: it has to be given. `Some(Value::None)`: none, if not given.
    pub(crate) default: Option<Value>,
    /// How many items a list has at most, and how long a wait is in milliseconds.
    pub(crate) max: Option<u64>,
    /// Whether it is a span of time.
    pub(crate) is_time: bool,
    /// As in the core's comments: a part of a sentence without a full stop.
    pub(crate) docs: String,
}

impl Surface {
    pub(crate) fn read(root: &Path, model: &Model) -> Self {
        let path = "core/bindings/surface.md";
        let text = std::fs::read_to_string(root.join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut all: BTreeMap<String, BTreeMap<String, Words>> = BTreeMap::new();
        let (mut heading, mut last) = (String::new(), None::<String>);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("# ") {
                (heading, last) = (name.trim().to_owned(), None);
            } else if let Some(entry) = line.strip_prefix("- `") {
                let (name, rest) =
                    entry.split_once('`').unwrap_or_else(|| panic!("{path}: {line}"));
                let (default, docs) =
                    match rest.strip_prefix(" = `").and_then(|rest| rest.split_once('`')) {
                        Some((default, rest)) => (Some(value(model, &heading, default)), rest),
                        None => (None, rest),
                    };
                let (max, docs) =
                    match docs.strip_prefix(" at most `").and_then(|rest| rest.split_once('`')) {
                        Some((max, rest)) => (Some(number(model, &heading, max)), rest),
                        None => (None, docs),
                    };
                let (is_time, docs) = match docs.strip_prefix(", a time") {
                    Some(docs) => (true, docs),
                    None => (matches!(default, Some(Value::Duration(_))), docs),
                };
                let docs = docs.strip_prefix(':').unwrap_or_else(|| panic!("{path}: {line}"));
                let words = Words { default, max, is_time, docs: docs.trim().to_owned() };
                all.entry(heading.clone()).or_default().insert(name.to_owned(), words);
                last = Some(name.to_owned());
            } else if line.trim().is_empty() {
                last = None;
            } else if let Some(words) =
                last.as_ref().and_then(|name| all.get_mut(&heading)?.get_mut(name))
            {
                words.docs = format!("{} {}", words.docs, line.trim());
            }
        }
        Self(all)
    }

    /// What is said of it under the heading of its type alone.
    pub(crate) fn own(&self, owner: &str, param: &str) -> Option<&Words> {
        self.0.get(owner)?.get(param)
    }

    /// What is said of a parameter of a method of `owner`, such as `tasks.TaskStore`.
    pub(crate) fn of(&self, owner: &str, method: &str, param: &str) -> Option<&Words> {
        let queue = owner.split('.').next().unwrap_or("");
        let headings =
            [format!("{owner}.{method}"), owner.to_owned(), queue.to_owned(), "all".to_owned()];
        headings.iter().find_map(|heading| self.0.get(heading)?.get(param))
    }
}

fn number(model: &Model, heading: &str, constant: &str) -> u64 {
    let queue = heading.split('.').next().unwrap_or("");
    match model.constant(queue, constant).map(|of| &of.value) {
        Some(Value::Number(number) | Value::Duration(number)) => *number,
        _ => panic!("surface.md: {constant} is no number of items, and no time"),
    }
}

fn value(model: &Model, heading: &str, text: &str) -> Value {
    let queue = heading.split('.').next().unwrap_or("");
    match (text, model.constant(queue, text), text.parse()) {
        ("none", ..) => Value::None,
        ("true" | "false", ..) => Value::Bool(text == "true"),
        (_, Some(constant), _) => constant.value.clone(),
        (_, None, Ok(number)) => Value::Number(number),
        _ => panic!("surface.md: {text} is not a default"),
    }
}
