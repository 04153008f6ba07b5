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

/// Whether an error has just these lists, and its message names every entry.
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
    for name in LISTS {
        let (expected, found) = (list(expected, name), list(&refusal.dependency, name));
        if expected != found {
            let (expected, found) = (json!(expected), json!(found));
            return Err(format!("{name}\n      expected {expected}\n      found    {found}"));
        }
        for entry in &found {
            let told = match entry.as_array().map(Vec::as_slice) {
                Some([Value::String(id), version]) => format!("{id}:v{version}"),
                Some([Value::String(namespace), Value::String(id), version]) => {
                    format!("{namespace}/{id}:v{version}")
                }
                _ => return Err(format!("{name} has no handles: {entry}")),
            };
            if !refusal.message.contains(&told) {
                return Err(format!("the message does not name {told}: {}", refusal.message));
            }
        }
    }
    Ok(())
}
