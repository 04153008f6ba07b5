//! The adapter for Rust: the calls of a volatile hash.

use std::time::Duration;

use millpond::Client;
use millpond::volatile::{
    Acquired, FieldPage, FieldPosition, FieldQuery, HashField, LockHolder, REAP_DEFAULT, Reaped,
    SHARDS_DEFAULT, ValueOrLock,
};
use serde_json::{Value, json};

use crate::rust::{Failure, list, string, unknown, unsupported};
use crate::rust_tasks::{duration, given};
use crate::value::wire_bytes;

type Result<T> = std::result::Result<T, Failure>;

/// Makes the last of these calls, on a hash, on a family, or on a hash of one.
pub(crate) fn result(client: &Client, calls: &[Value], request: &Value) -> Result<Value> {
    let name = |call: &Value, argument: &str| string(&call[1][argument]);
    let family = |call: &Value| -> Result<_> {
        let shards: Option<u32> = given(&call[1]["shards"]).map(number).transpose()?;
        Ok(client.volatile_hashes(name(call, "name")?, shards.unwrap_or(SHARDS_DEFAULT)))
    };
    let limit = || given(&request["limit"]).map(number).transpose();
    let (hash, call) = match calls {
        [of, call] if of[0] == "volatile_hash" => (client.volatile_hash(name(of, "name")?), call),
        [of, hash, call] if of[0] == "volatile_hashes" => {
            (family(of)?.hash(name(hash, "base")?), call)
        }
        [of, call] if call[0] == "reap" => {
            return Ok(reaped(&family(of)?.reap(limit()?.unwrap_or(REAP_DEFAULT))?));
        }
        _ => return Err(unknown("call of a family")),
    };
    let (hash, call) = (&hash, call[0].as_str().unwrap_or_default());
    let field = || string(&request["field"]);
    let value = || string(&request["value"]);
    let token = || string(&request["token"]);
    let ttl = || duration(&request["ttl_ms"]);
    let fields = || list(&request["fields"], string);
    Ok(match call {
        "set" => done(hash.set(field()?, value()?, ttl()?))?,
        "set_many" => {
            let pair = |pair: &Value| Ok((string(&pair[0])?, string(&pair[1])?));
            done(hash.set_many(list(&request["fields"], pair)?, ttl()?))?
        }
        "set_if_absent" => json!(hash.set_if_absent(field()?, value()?, ttl()?)?),
        "set_if_present" => json!(hash.set_if_present(field()?, value()?, ttl()?)?),
        "set_locked" => done(hash.set_locked(field()?, token()?, value()?, ttl()?))?,
        "set_and_release" => done(hash.set_and_release(field()?, token()?, value()?, ttl()?))?,
        "get" => optional(hash.get(field()?)?.as_deref()),
        "get_many" => {
            hash.get_many(fields()?)?.iter().map(|value| optional(value.as_deref())).collect()
        }
        "fields" => page(&hash.fields(query(request)?)?),
        "ttl" => ms(hash.ttl(field()?)?),
        "len" => json!(hash.len()?),
        "stats" => {
            let stats = hash.stats()?;
            json!({"fields": stats.fields, "expired": stats.expired, "locks": stats.locks})
        }
        "touch" => json!(hash.touch(field()?, ttl()?)?),
        "delete" => json!(hash.delete(fields()?)?),
        "clear" => json!(hash.clear()?),
        "reap" => reaped(&hash.reap(limit()?.unwrap_or(REAP_DEFAULT))?),
        "acquire" => acquired(&hash.acquire(field()?, token()?, ttl()?)?),
        "get_or_acquire" => value_or_lock(&hash.get_or_acquire(field()?, token()?, ttl()?)?),
        "renew" => json!(hash.renew(field()?, token()?, ttl()?)?),
        "release" => json!(hash.release(field()?, token()?)?),
        "holder" => hash.holder(field()?)?.as_ref().map_or(Value::Null, holder),
        other => return Err(unknown(other)),
    })
}

fn done(result: millpond::Result<()>) -> Result<Value> {
    result?;
    Ok(Value::Null)
}

fn query(request: &Value) -> Result<FieldQuery> {
    let mut query = FieldQuery::new();
    if let Some(after) = given(&request["after"]) {
        let (expires_us, field) = (number(&after["expires_us"])?, string(&after["field"])?);
        query = query.after(FieldPosition { expires_us, field });
    }
    if let Some(limit) = given(&request["limit"]) {
        query = query.limit(number(limit)?);
    }
    Ok(if request["omit_values"] == true { query.omit_values() } else { query })
}

fn page(page: &FieldPage) -> Value {
    let next = |position: &FieldPosition| json!({"expires_us": position.expires_us, "field": wire_bytes(&position.field)});
    let fields: Value = page.fields.iter().map(field).collect();
    json!({"fields": fields, "next": page.next.as_ref().map(next)})
}

fn field(field: &HashField) -> Value {
    json!({
        "field": wire_bytes(&field.field), "value": optional(field.value.as_deref()),
        "expires_us": field.expires_us,
    })
}

fn reaped(reaped: &Reaped) -> Value {
    json!({
        "fields": reaped.fields, "locks": reaped.locks, "orphans": reaped.orphans,
        "more": reaped.more, "next_in_ms": ms(reaped.next_in),
    })
}

fn acquired(acquired: &Acquired) -> Value {
    json!({"fence": acquired.fence, "remaining_ms": ms(acquired.remaining)})
}

fn value_or_lock(found: &ValueOrLock) -> Value {
    json!({
        "value": optional(found.value.as_deref()), "fence": found.fence,
        "remaining_ms": ms(found.remaining),
    })
}

fn holder(holder: &LockHolder) -> Value {
    json!({
        "token": wire_bytes(&holder.token), "fence": holder.fence,
        "remaining_ms": ms(Some(holder.remaining)),
    })
}

fn optional(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, wire_bytes)
}

fn ms(length: Option<Duration>) -> Value {
    length.map_or(Value::Null, |length| json!(length.as_micros() as f64 / 1_000.0))
}

fn number<T: TryFrom<u64>>(value: &Value) -> Result<T> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| unsupported("a number of another type"))
}
