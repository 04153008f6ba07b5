{% set nothing = "NULL past the end, for NULL, and for a freed or invalid handle." %}
{% set lists = [
    {"name": "keys", "own": "keys", "docs": "A list of byte strings, such as the keys of a queue."},
    {"name": "ick_entries", "own": "entries", "docs": "A list of members with their scores, such as the result of a reserve.",
        "item": "ick_entry", "data": "data", "one": "entry", "many": "entries", "order": ", lowest score first",
        "code": "    const millpond_ick_entry *entry;
    for (size_t i = 0; (entry = millpond_ick_entries_at(entries, i)) != NULL; i++)
        index_document(entry->member, entry->member_length);\n\n",
        "bytes": "of all members, one after the other without gaps, in the order of the entries"},
    {"name": "shuffle_batch", "own": "batch", "docs": "A list of messages, such as the result of a read.",
        "item": "shuffle_message", "data": "messages", "one": "message", "many": "messages",
        "order": ", in the order in which they were read",
        "code": "    const millpond_shuffle_message *message;
    for (size_t i = 0; (message = millpond_shuffle_batch_at(batch, i)) != NULL; i++) {
        work_on(message->fields, message->field_count);
        millpond_shuffle_ack(consumer, &message->receipt, 1, NULL, &error);
    }\n\n",
        "bytes": "of all fields, each field's name and then its value, one after the other without gaps, in the order of the fields",
        "fields": true, "freed": " Its messages stay pending until they are acknowledged."},
    {"name": "shuffle_dead_letters", "own": "letters", "docs": "A list of dead letters.",
        "item": "shuffle_dead_letter", "data": "data", "one": "dead letter", "many": "dead letters",
        "order": ", the oldest first", "freed": " They stay in the queue."},
    {"name": "shuffle_stats", "own": "stats", "docs": "What a queue holds for a group, stream by stream.",
        "item": "shuffle_stream_stats", "data": "streams", "one": "stream", "many": "streams"},
    {"name": "recovery", "own": "recovery", "docs": "What opening the engine of a `file:` found.",
        "record": ["millpond_recovered", "What was found, with its texts."]},
    {"name": "tasks_result", "own": "result", "record": ["millpond_tasks_data", "What is in the result."],
        "docs": "The result of a step on tasks or documents. Freeing it does not affect them.",
        "tables": [
            ["task", "task", "tasks", "", "    const millpond_task *task;
    for (size_t i = 0; (task = millpond_tasks_result_task(result, i)) != NULL; i++)
        work_on(task->value.data, task->value.length);\n\n"],
            ["doc", "doc", "docs", "", ""],
            ["queue", "task_queue_stats", "queues", ", of `millpond_tasks_queue_stats`", ""],
            ["namespace", "task_namespace_stats", "namespaces", ", of `millpond_tasks_namespace_stats`", ""]]},
    {"name": "events_result", "own": "result", "record": ["millpond_events_data", "What is in the result."],
        "docs": "The result of a call on events. Freeing it does not affect them.",
        "tables": [
            ["event", "event", "events", "", "    const millpond_event *event;
    for (size_t i = 0; (event = millpond_events_result_event(result, i)) != NULL; i++)
        work_on(event->payload.data, event->payload.length);\n\n"],
            ["published", "published_event", "published", ", in the order in which they were passed", ""],
            ["schedule", "schedule_info", "schedules", "", ""]]},
    {"name": "volatile_result", "own": "result", "record": ["millpond_volatile_data", "What is in the result."],
        "docs": "The result of a call on a volatile hash. Freeing it does not affect the hash.",
        "tables": [
            ["field", "hash_field", "fields", "", "    const millpond_hash_field *field;
    for (size_t i = 0; (field = millpond_volatile_result_field(result, i)) != NULL; i++)
        work_on(field->value.data, field->value.length);\n\n"],
            ["value", "bytes", "values", ", in the order in which the fields were passed", ""]]},
    {"name": "recruiter_result", "own": "result", "record": ["millpond_recruiter_data", "What is in the result."],
        "docs": "The result of `millpond_recruiter_stats`.",
        "tables": [["job", "recruiter_job_stats", "jobs", ", by their ids", ""]]},
    {"name": "tracker_result", "own": "result", "record": ["millpond_tracker_data", "What is in the result."],
        "docs": "The result of a call on a queue tracker. Freeing it does not affect the tracker.",
        "tables": [
            ["entry", "tracked", "entries", "", ""],
            ["id", "bytes", "ids", "", "    const millpond_bytes *id;
    for (size_t i = 0; (id = millpond_tracker_result_id(result, i)) != NULL; i++)
        check(id->data, id->length);\n\n"]]},
] %}
//! Lists that calls return, and the functions that read them.

use std::ffi::c_char;
use std::ptr;

use crate::caller::{self, at, read};
use crate::events::*;
use crate::ick::*;
use crate::keys::millpond_bytes;
use crate::recovery::millpond_recovered;
use crate::recruiter::*;
use crate::shuffle::*;
use crate::tasks::*;
use crate::tracker::*;
use crate::volatile::*;
{% macro reader(list, name, returns, docs, empty, part, index=False) %}

{{ docs | doc }}///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ list.name }}_{{ name }}(
    {{ list.own }}: *const millpond_{{ list.name }}, {% if index %}index: usize,{% endif %}

) -> {{ returns }} {
    read({{ list.own }}, {{ empty }}, |{{ list.own }}| {{ part }})
}
{% endmacro %}
{% for list in lists %}
{% set own = list.own %}
{% set type = "millpond_" ~ list.name %}
{% set lives = "Lives until the list is freed. " %}

{{ (list.docs ~ " The caller frees it with `" ~ type ~ "_free`. Any thread may read it.") | doc }}pub struct {{ type }} {
    _private: (),
}
{% if list.item is defined %}
{% set item = "*const millpond_" ~ list.item %}
{% set data = "`" ~ type ~ "_" ~ list.data ~ "`" %}
{{ reader(list, "at", item, "The " ~ list.one ~ " with this number, from 0" ~ list.order | default("") ~ ". "
    ~ lives ~ nothing ~ "\n\n" ~ list.code | default(""), "ptr::null()", "at(&" ~ own ~ ".list, index)", true) }}
{{ reader(list, list.data, item, "The first of the " ~ list.many ~ ", `" ~ type ~ "_length` of which lie one after the "
    ~ "other, `" ~ type ~ "_stride` bytes apart. " ~ lives ~ "NULL for NULL and for a freed or invalid handle.",
    "ptr::null()", own ~ ".list.as_ptr()") }}
{{ reader(list, "length", "usize", "How many " ~ list.many ~ " there are; 0 where " ~ data ~ " is NULL.", "0",
    own ~ ".list.len()") }}

/// How many bytes lie between the start of one element and the start of the next. This is constant within one
/// version of the library, but may differ from the size that the structure has in the program, because new
/// versions may add fields.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn {{ type }}_stride() -> usize {
    size_of::<millpond_{{ list.item }}>()
}
{% elif list.record is defined %}
{{ reader(list, "data", "*const " ~ list.record[0], list.record[1] ~ " " ~ lives
    ~ "NULL for NULL and for a freed or invalid handle.", "ptr::null()", "&raw const " ~ own ~ ".data") }}
{% for name, item, table, of, code in list.tables | default([]) %}
{{ reader(list, name, "*const millpond_" ~ item, "The " ~ name ~ " with this number, from 0" ~ of
    ~ "; see `" ~ list.record[0] ~ "`. " ~ lives ~ nothing ~ "\n\n" ~ code, "ptr::null()",
    "at(&result." ~ table ~ ", index)", true) }}
{% endfor %}
{% else %}
{{ reader(list, "data", "*const millpond_bytes", "The keys as an array of `millpond_keys_length`. " ~ lives
    ~ "NULL for NULL and for a freed or invalid handle.", "ptr::null()", "keys.list.as_ptr()") }}
{{ reader(list, "length", "usize", "How many keys there are; 0 where `millpond_keys_data` is NULL.", "0",
    "keys.list.len()") }}
{% endif %}
{% if list.fields is defined %}
{{ reader(list, "fields", "*const millpond_shuffle_field", "The fields of all messages, one after the other without "
    ~ "gaps, in the order of the messages, for interpreters, which copy them in one go. " ~ lives ~ "NULL as in " ~ data
    ~ ".", "ptr::null()", "batch.fields.as_ptr()") }}
{{ reader(list, "fields_length", "usize", "How many fields all messages have in total.", "0", "batch.fields.len()") }}
{% endif %}
{% if list.bytes is defined %}
{{ reader(list, "bytes", "*const c_char", "The bytes " ~ list.bytes ~ ", for interpreters, which copy them in one go. "
    ~ lives ~ "NULL as in " ~ data ~ ".", "ptr::null()", own ~ ".bytes.as_ptr().cast()") }}
{{ reader(list, "bytes_length", "usize", "How many bytes these are in total.", "0", own ~ ".bytes.len()") }}
{% endif %}
{% if list.name == "shuffle_stats" %}
{{ reader(list, "total", "*const millpond_shuffle_stream_stats", "All streams together: their sums, and the longest of "
    ~ "the idle times. " ~ lives ~ "NULL as in " ~ data ~ ".", "ptr::null()", "&raw const stats.total") }}
{% endif %}

{{ ("Frees it." ~ list.freed | default("") ~ " NULL and what was freed before are fine.") | doc }}///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn {{ type }}_free({{ own }}: *mut {{ type }}) {
    caller::free({{ own }});
}
{% endfor %}
