//! The values of the case files, and those that go to an adapter and come back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::Result;

/// A byte string of a case file or of a response: a JSON string, or `{"b64"}`.
pub(crate) fn bytes(value: &Value) -> Result<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Ok(text.as_bytes().to_vec());
    }
    if let Some(text) = value.get("utf8").and_then(Value::as_str) {
        return Ok(text.as_bytes().to_vec());
    }
    let encoded = value.get("b64").and_then(Value::as_str);
    let encoded = encoded.ok_or_else(|| format!("no string: {value}"))?;
    STANDARD.decode(encoded).map_err(|error| format!("no base64: {encoded}: {error}"))
}

/// A score of a case file or of a response: a number, the text of one, or a number that JSON
/// does not have, as `{"int"}`, `{"decimal"}` or `{"float"}`.
pub(crate) fn score(value: &Value) -> Result<f64> {
    let labelled = ["int", "decimal", "float"].iter().find_map(|label| value[label].as_str());
    let score = match value.as_str().or(labelled) {
        Some(text) => text.parse().ok(),
        None => value.as_f64(),
    };
    score.ok_or_else(|| format!("no score: {value}"))
}

/// A byte string as it goes to an adapter: as in a case file.
pub(crate) fn wire_bytes(bytes: impl AsRef<[u8]>) -> Value {
    match str::from_utf8(bytes.as_ref()) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => json!({"b64": STANDARD.encode(bytes)}),
    }
}

/// A score as it goes to an adapter.
pub(crate) fn wire_score(score: f64) -> Value {
    if score.is_finite() { json!(score) } else { json!({"float": score.to_string()}) }
}

/// Bytes for people.
pub(crate) fn shown(bytes: &[u8]) -> String {
    format!("\"{}\"", String::from_utf8_lossy(bytes).escape_debug())
}
