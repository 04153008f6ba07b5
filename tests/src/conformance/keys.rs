//! Checks the keys of one name, and that a cluster refuses it if they lie in different slots.

use millpond::ErrorKind;
use serde_json::json;

use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::backend::Backend;
use crate::call::{Argument, Call};
use crate::case::Keys;
use crate::result::{Field, StepResult};

/// Uses the Ick of this name, whose keys have to be those that were recorded.
pub(crate) fn run(keys: &Keys, adapter: &mut Adapter, backend: &mut Backend) -> Result<()> {
    backend.begin(adapter)?;
    if let Some(slots) = backend.slots(&keys.name) {
        let slots: Vec<u64> = slots.iter().copied().map(u64::from).collect();
        if slots != keys.slots {
            return Err(format!("the slots are {slots:?}, not {:?}", keys.slots));
        }
        if !keys.is_same_slot {
            return check_refused(keys, adapter, backend);
        }
    }
    let pair =
        |score, member: &str| (Argument::Plain(score), Argument::Plain(member.as_bytes().to_vec()));
    let add = Call::Add(vec![pair(1.0, "a"), pair(2.0, "b")]);
    expect(adapter, keys, &add, &StepResult::Added { new: 2, lowered: 0 })?;
    let reserve = Call::Reserve { max: Argument::Plain(1), backwash: false };
    expect(adapter, keys, &reserve, &StepResult::Batch(vec![(b"a".to_vec(), 1.0)]))?;
    let StepResult::Stats(stats) = ask(adapter, keys, &Call::Stats)? else {
        return Err("there are no stats".to_owned());
    };
    for (field, key) in
        [("key", &keys.name), ("pset_key", &keys.producer), ("cset_key", &keys.consumer)]
    {
        if stats.get(field) != Some(&Field::Text(key.clone())) {
            return Err(format!("{field} of the stats is another: {:?}", stats.get(field)));
        }
    }
    if !backend.is_embedded() {
        for key in [&keys.name, &keys.producer, &keys.consumer] {
            let found = backend.server(&keys.name)?.call(&[b"EXISTS", &key[..]])?.integer();
            if found != 1 {
                return Err(format!("the key {} is not there", key.escape_ascii()));
            }
        }
    }
    expect(adapter, keys, &Call::Delete { unlink: false }, &StepResult::Count(3))
}

/// Every step is refused before anything is sent.
fn check_refused(keys: &Keys, adapter: &mut Adapter, backend: &mut Backend) -> Result<()> {
    let add = Call::Add(vec![(Argument::Plain(1.0), Argument::Plain(b"a".to_vec()))]);
    let reserve = Call::Reserve { max: Argument::Plain(1), backwash: false };
    for call in [add, reserve, Call::Stats, Call::Delete { unlink: true }] {
        match ask(adapter, keys, &call)? {
            StepResult::Error(refusal) if refusal.kind == ErrorKind::CrossSlot => {}
            found => return Err(format!("expected the error CROSS_SLOT, found {found}")),
        }
    }
    match backend.key_count()? {
        0 => Ok(()),
        count => Err(format!("a refused name left {count} keys")),
    }
}

fn expect(adapter: &mut Adapter, keys: &Keys, call: &Call, expected: &StepResult) -> Result<()> {
    let found = ask(adapter, keys, call)?;
    if found == *expected { Ok(()) } else { Err(format!("expected {expected}, found {found}")) }
}

fn ask(adapter: &mut Adapter, keys: &Keys, call: &Call) -> Result<StepResult> {
    let name = Argument::Plain(keys.name.clone());
    let request = call.request(&name).unwrap_or_else(|| json!({}));
    match adapter.call(request)? {
        Response::Result(result) => StepResult::read(call, &result),
        Response::Error(refusal) => Ok(StepResult::Error(refusal)),
        Response::Unsupported(why) => Err(format!("the adapter cannot say this: {why}")),
    }
}
