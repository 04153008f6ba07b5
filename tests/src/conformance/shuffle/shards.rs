//! Vectors of shards: which streams are a tenant's.

use millpond::ErrorKind;
use serde_json::{Value, json};

use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::backend::Backend;
use crate::value::bytes;
use crate::wire::{calls, labelled};

/// Vectors of one category.
pub(crate) struct Shards(Vec<Value>);

impl Shards {
    /// The vectors of a file, by category.
    pub(crate) fn read(vectors: &[Value]) -> Vec<(String, Self)> {
        let mut categories: Vec<(String, Self)> = Vec::new();
        for vector in vectors {
            let name = vector["category"].as_str().unwrap_or("no category");
            let at = categories.iter().position(|(own, _)| own == name).unwrap_or_else(|| {
                categories.push((name.to_owned(), Self(Vec::new())));
                categories.len() - 1
            });
            categories[at].1.0.push(vector.clone());
        }
        categories
    }

    /// Asks for every one of them.
    pub(crate) fn run(&self, adapter: &mut Adapter, backend: &mut Backend) -> Result<()> {
        backend.begin(adapter)?;
        let request = |vector: &Value| {
            let key = bytes(&vector["key"]).unwrap_or_default();
            calls([(
                "shard",
                json!({
                    "streams": vector["items"], "streams_per_shard": vector["count"],
                    "shard_key": labelled(key),
                }),
            )])
        };
        let responses = adapter.call_all(self.0.iter().map(request).collect())?;
        for (vector, response) in self.0.iter().zip(responses) {
            // Ours refuse what names no tenant or no stream; the recorded function does not.
            let is_refused = vector["key"] == "" || vector["count"] == 0;
            let is_right = match &response {
                Response::Result(found) => !is_refused && *found == vector["shard"],
                Response::Error(refusal) => {
                    is_refused && refusal.kind == ErrorKind::InvalidArgument
                }
                Response::Unsupported(_) => false,
            };
            if !is_right {
                let expected =
                    if is_refused { &json!("INVALID_ARGUMENT") } else { &vector["shard"] };
                let (streams, count, key) = (&vector["items"], &vector["count"], &vector["key"]);
                return Err(format!(
                    "the shard of {count} of {streams} streams for {key} is another\n      \
                     expected {expected}\n      found    {response:?}"
                ));
            }
        }
        Ok(())
    }
}
