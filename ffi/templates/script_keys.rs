{% set own = "For connections of your own; sends nothing." %}
{% set all = [
    ["ick_keys", "The KEYS of every script of an Ick except the lease scripts, in order: the flag (which is the name itself), the "
        ~ "producer set, the consumer set. " ~ own ~ " A step that is fenced by a lease takes the key of `millpond_ick_lease_keys` "
        ~ "as its fourth.", "",
        "Name::new(name).map(|name| [name.flag_key(), name.producer_key(), name.consumer_key()])?"],
    ["ick_lease_keys", "The KEYS of the scripts `ick.acquire`, `ick.renew` and `ick.release`, a single key: the lease. " ~ own, "",
        "[Name::new(name)?.lease_key()]"],
    ["shuffle_keys", "The KEYS of the scripts of a shuffle queue, in order: the name itself, the meta hash, the notifications and "
        ~ "the dead letters. `shuffle.reclaim`, `shuffle.reject` and the dead-letter scripts take all four, the "
        ~ "others the first three. " ~ own, "", "ReadDeadLetters::new(name, 1)?.invocation().keys"],
    ["shuffle_tracking_keys", "The KEYS of the scripts `shuffle.delete_tracked`, `shuffle.cordon`, `shuffle.scan_expired` and "
        ~ "`shuffle.forget_expired`, in order. " ~ own ~ " `track_keys` is `MILLPOND_SHUFFLE_TRACK_GLOBAL` or "
        ~ "`MILLPOND_SHUFFLE_TRACK_QUEUE`. A `shuffle.write` of a tracked message has the first two of these after three of "
        ~ "`millpond_shuffle_keys`.", "track_keys: u32,",
        "Cordon::new(name, shuffle::track_keys(track_keys)?, Duration::ZERO)?.invocation().keys"],
    ["tasks_keys", "The KEYS of the scripts of a store of tasks. " ~ own ~ "\n\nThere are ten. A script takes the first "
        ~ "keys of these, as many as the comment at the end of its source names: all ten if it involves documents, "
        ~ "one for `tasks.time`, otherwise seven.", "", "Modify::new(name, \"c\", Modification::new())?.invocation().keys"],
    ["volatile_keys", "The KEYS of the scripts of a volatile hash, in order: the values, the expiries, the locks, when those expire, and "
        ~ "what belongs to the hash as a whole. " ~ own ~ " A script takes the first two of these or all five, as the comment "
        ~ "at the start of its last part says.", "", "ReadStats::new(name)?.invocation().keys"],
    ["recruiter_keys", "The KEYS of the scripts of a recruiter, in order: the state and the counters. " ~ own ~ " The key of the slices "
        ~ "of a job that are running, which is the first of these followed by `:running:` and the job's id, comes after them.", "",
        "Recruit::new(name, [NewJob::new(\"a\").per_second(1.0)])?.invocation().keys"],
    ["tracker_keys", "The KEYS of every script of a queue tracker, in order: the scan and the ids. " ~ own, "",
        "Clear::new(name)?.invocation().keys"],
] %}
//! The keys of scripts, for connections that the program owns.

use std::ffi::c_char;
use std::time::Duration;

use millpond::ick::Name;
use millpond::recruiter::{NewJob, Recruit};
use millpond::shuffle::{Cordon, ReadDeadLetters};
use millpond::step::Operation;
use millpond::tasks::{Modification, Modify};
use millpond::tracker::Clear;
use millpond::volatile::ReadStats;

use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::Keys;
use crate::lists::millpond_keys;
use crate::shuffle;
use crate::status::millpond_status;
{% for name, docs, params, keys in all %}

{{ docs | doc }}///
/// `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to NULL.
///
{{ ("Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is " ~ ("" if "ick" in name else "empty or ") ~ "above 64 KiB"
    ~ (", and for any other `track_keys`" if params else "") ~ ".") | doc }}///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ name }}(
    name: *const c_char,
    name_length: usize,
    {{ params }}
    keys: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let out = caller.new_handle("keys", keys)?;
        let name = caller.name(name, name_length)?;
        let keys = {{ keys }};
        out.set(Keys::from_iter(keys));
        Ok(())
    })
}
{% endfor %}
