//! What an error has to contain.

use millpond::ErrorKind;
use serde_json::{Value, json};

use crate::Result;
use crate::result::Refusal;

const LISTS: [&str; 10] = [
    "inserts",
    "changes",
    "deletes",
    "depends",
    "claims",
    "doc_inserts",
    "doc_changes",
    "doc_deletes",
    "doc_depends",
    "doc_claims",
];

/// How many entries a message names.
const NAMED_MAX: usize = 10;

/// Whether an error has just these lists, and its message names every entry, or how many there are more.
pub(super) fn check_dependency(refusal: &Refusal, expected: &Value) -> Result<()> {
    if refusal.message.is_empty() {
        return Err("the error says nothing".to_owned());
    }
    if refusal.kind != ErrorKind::Dependency {
        return match refusal.dependency.is_null() {
            true => Ok(()),
            false => Err(format!("the error has a dependency: {}", refusal.dependency)),
        };
    }
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let count: usize = LISTS.iter().map(|name| list(&refusal.dependency, name).len()).sum();
    if count > NAMED_MAX && !refusal.message.ends_with(&format!("; and {} more", count - NAMED_MAX))
    {
        return Err(format!("the message does not count {count} entries: {}", refusal.message));
    }
    for name in LISTS {
        let (expected, found) = (list(expected, name), list(&refusal.dependency, name));
        if expected != found {
            let (expected, found) = (json!(expected), json!(found));
            return Err(format!("{name}\n      expected {expected}\n      found    {found}"));
        }
        for entry in &found {
            let told = match entry.as_array().map(Vec::as_slice) {
                Some([Value::String(id), _]) => format!("task {id} "),
                Some([Value::String(namespace), Value::String(id), _]) => {
                    format!("document {namespace}/{id} ")
                }
                _ => return Err(format!("{name} has no handles: {entry}")),
            };
            if count <= NAMED_MAX && !refusal.message.contains(&told) {
                return Err(format!("the message does not name {told}: {}", refusal.message));
            }
        }
    }
    Ok(())
}

/// Whether the message of an error contains these texts.
pub(super) fn check_mentions(refusal: &Refusal, mentions: &Value) -> Result<()> {
    let mut texts = mentions.as_array().into_iter().flatten().filter_map(Value::as_str);
    match texts.find(|text| !refusal.message.contains(text)) {
        Some(text) => Err(format!("the message does not mention {text}: {}", refusal.message)),
        None => Ok(()),
    }
}
