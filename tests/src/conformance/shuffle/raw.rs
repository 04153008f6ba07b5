//! Raw commands in the model.

use std::collections::HashMap;

use millpond_tests::shuffle::model::{Model, Text};

use super::result::StepResult;

/// Plays a raw command; an error if the model does not know it.
pub(super) fn play(
    model: &mut Model,
    places: &mut HashMap<Text, Text>,
    words: &[Text],
) -> Result<StepResult, &'static str> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    Ok(match words[..] {
        // Not one of a message: what wakes those that wait.
        ["XADD", key, "MAXLEN", "1", "*", "s", stream] => {
            model.notify_at(key, stream).map_err(|_| "a command that fails")?;
            StepResult::Nothing
        }
        ["XADD", key, "*", ref rest @ ..] => {
            let pairs = rest.chunks(2).map(|p| (p[0].to_owned(), p[1].to_owned()));
            let id = model.add(key, pairs.collect()).map_err(|_| "a command that fails")?;
            places.insert(id, key.to_owned());
            StepResult::Nothing
        }
        ["XACK", key, group, ref ids @ ..] => {
            StepResult::Number(model.ack(key, group, &owned(ids)))
        }
        ["XDEL", key, ref ids @ ..] => StepResult::Number(model.delete(key, &owned(ids))),
        ["DEL" | "UNLINK", ref keys @ ..] => {
            let removed = keys.iter().filter(|key| model.keys.remove(**key).is_some());
            StepResult::Number(removed.count() as u64)
        }
        ["HSET", key, ref pairs @ ..] if pairs.len() % 2 == 0 => {
            let set = pairs.chunks(2).map(|p| model.set_field(key, p[0], p[1]));
            StepResult::Number(set.sum())
        }
        ["HDEL", key, ref fields @ ..] => {
            StepResult::Number(fields.iter().map(|field| model.remove_field(key, field)).sum())
        }
        ["SET", key, _] => {
            model.set_other(key, "string");
            StepResult::Nothing
        }
        ["RPUSH", key, _] => {
            model.set_other(key, "list");
            StepResult::Number(1)
        }
        ["XGROUP", "CREATE", key, group, last]
        | ["XGROUP", "CREATE", key, group, last, "MKSTREAM"] => {
            model.join(key, group, last).map_err(|_| "a command that fails")?;
            StepResult::Nothing
        }
        _ => return Err("a raw command that the model does not know"),
    })
}
