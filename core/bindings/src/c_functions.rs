//! C: the functions that convert arguments, call the core and convert the result, with their comments, in
//! `ffi/src/*/generated_calls.rs`. What has a handle or a loop of its own is written by hand.

use crate::c::{C, c_name, c_struct, fill};
use crate::docs::{Block, Docs, grouped};
use crate::model::{Method, Type, Value};

/// Each by its method: its name without the prefix of its handle, and the name of its result, with a `?` where
/// the program may not want it.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("tasks.TaskStore.time", "time", "time_ms"),
    ("tasks.TaskStore.modify", "modify", "result?"),
    ("tasks.TaskStore.fetch", "fetch", "result"),
    ("tasks.TaskStore.list", "list", "result"),
    ("tasks.TaskStore.claim_docs", "claim_docs", "result"),
    ("tasks.TaskStore.put_doc", "put_doc", "result?"),
    ("tasks.TaskStore.fetch_docs", "fetch_docs", "result"),
    ("tasks.TaskStore.list_docs", "list_docs", "result"),
    ("tasks.TaskStore.queue_stats", "queue_stats", "result"),
    ("tasks.TaskStore.are_empty", "are_empty", "empty"),
    ("tasks.TaskStore.namespace_stats", "namespace_stats", "result"),
    ("tasks.Job.is_ended", "is_ended", "ended"),
    ("tasks.Job.finish", "finish", "result?"),
    ("tasks.Job.done", "done", ""),
    ("tasks.Job.fail", "fail", ""),
    ("tasks.Job.move_to", "move", ""),
    ("shuffle.ShuffleQueue.write", "write", "receipt?"),
    ("shuffle.ShuffleQueue.resize", "resize", "now?"),
    ("shuffle.ShuffleQueue.len", "len", "len"),
    ("shuffle.ShuffleQueue.backlog", "backlog", "backlog"),
    ("shuffle.ShuffleQueue.pending_count", "pending_count", "pending"),
    ("shuffle.ShuffleQueue.stats", "stats_read", "stats"),
    ("shuffle.ShuffleQueue.dead_letters", "dead_letters_read", "letters"),
    ("shuffle.ShuffleQueue.cordon_deadline_exceeded", "cordon_deadline_exceeded", "values"),
    ("shuffle.ShuffleConsumer.ack", "ack", "acknowledged?"),
    ("shuffle.ShuffleConsumer.ack_and_delete", "ack_and_delete", "acknowledged?"),
    ("shuffle.ShuffleConsumer.extend", "extend", "extended?"),
];

/// The types with functions: the prefix of these, what the parameter is called, and what its handle refers to.
const HANDLES: &[(&str, &str, &str, &str)] = &[
    ("tasks.TaskStore", "tasks_", "store", "crate::tasks::store::Store"),
    ("tasks.Job", "tasks_job_", "job", "crate::tasks::job::Job"),
    ("shuffle.ShuffleQueue", "shuffle_", "queue", "crate::shuffle::queue::Queue"),
    ("shuffle.ShuffleConsumer", "shuffle_", "consumer", "crate::shuffle::consumer::Consumer"),
];

/// What calls return (`*`: many): the type of the result, how it is made, and what the comment calls it.
const RESULTS: &[(&str, &str, &str, &str)] = &[
    ("tasks.Modified", "tasks_result", "Parts::modified(&it)", "what was inserted and changed"),
    (
        "tasks.TaskPage",
        "tasks_result",
        "Parts::task_page(it)",
        "it, with what the `next` page comes after",
    ),
    (
        "tasks.DocPage",
        "tasks_result",
        "Parts::doc_page(it)",
        "it, with what the `next_doc` page comes after",
    ),
    ("tasks.Task*", "tasks_result", "Parts::tasks(&it)", "the tasks"),
    ("tasks.Doc*", "tasks_result", "Parts::docs(&it)", "the documents"),
    ("tasks.Doc", "tasks_result", "Parts::docs(&[it])", "the document as it is now"),
    ("tasks.QueueStats*", "tasks_result", "Parts::queues(&it)", "the queues"),
    ("tasks.NamespaceStats*", "tasks_result", "Parts::namespaces(&it)", "the namespaces"),
    ("shuffle.Stats", "shuffle_stats", "Stats::new(&it)", "it"),
    ("shuffle.DeadLetter*", "shuffle_dead_letters", "DeadLetters::new(it)", "them"),
    ("*", "keys", "Keys::from_iter(it)", "them"),
];

const HEADS: &[(&str, &str)] = &[
    (
        "tasks",
        "//! Calls of stores of tasks, and of jobs.

use std::ffi::c_char;

use super::generated::*;
use super::job::millpond_tasks_job;
use super::result::{Parts, millpond_tasks_result};
use super::store::millpond_tasks_store;
use super::when;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;
",
    ),
    (
        "shuffle",
        "//! Calls of shuffle queues and their consumers.

use std::ffi::c_char;
use std::time::Duration;

use super::consumer::millpond_shuffle_consumer;
use super::dead_letters::{DeadLetters, millpond_shuffle_dead_letters};
use super::queue::millpond_shuffle_queue;
use super::receipt::millpond_shuffle_receipt;
use super::stats::{Stats, millpond_shuffle_stats};
use super::write::millpond_shuffle_field;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::{Keys, millpond_keys};
use crate::status::millpond_status;
",
    ),
];

const FUNCTION: &str = "
$comment#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn $name(
    $handle: *$mut $type, $params error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        $before
        let $handle = caller.held::<$held>(\"$handle\", $handle)?;
        let it = $handle$part.$method($arguments)$try;
        $after
        Ok(())
    })
}
";

/// What C calls a method.
pub(crate) fn function_name(owner: &str, method: &str) -> Option<String> {
    let key = format!("{owner}.{method}");
    let (_, prefix, ..) = HANDLES.iter().find(|(of, ..)| *of == owner)?;
    let found = FUNCTIONS.iter().find(|(of, ..)| *of == key);
    Some(format!("millpond_{prefix}{}", found.map_or(method, |(_, name, _)| name)))
}

impl C<'_> {
    /// The files of functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (String, String)> {
        HEADS.iter().map(|(queue, head)| {
            let functions = FUNCTIONS.iter().filter(|(key, ..)| key.starts_with(queue));
            let text = functions.map(|function| self.function(function));
            let path = format!("ffi/src/{queue}/generated_calls.rs");
            (path, text.fold((*head).to_owned(), |all, one| all + &one))
        })
    }

    fn function(&self, (key, name, out): &(&str, &str, &str)) -> String {
        let (owner, method) = key.rsplit_once('.').expect("a method has a type");
        let method = self.model.types[owner].methods.iter().find(|of| of.name == method);
        let method = method.unwrap_or_else(|| panic!("the core has no {key}"));
        let (_, prefix, handle, held) =
            HANDLES.iter().find(|(of, ..)| *of == owner).expect("C has it");
        let [mut params, mut arguments] = [const { String::new() }; 2];
        for param in &method.params {
            let own = c_name(&param.name, &param.ty);
            let (declared, argument) = self.argument(&own, &param.ty);
            params += &declared.replace('$', &own);
            arguments += &format!("{},", argument.replace('$', &own));
        }
        let is_optional = out.ends_with('?');
        let out = out.trim_end_matches('?');
        let [declared, before, after, freed] = result(out, is_optional, &method.returns);
        let name = &format!("millpond_{prefix}{name}");
        fill(
            FUNCTION,
            &[
                ("comment", &self.function_comment(key, owner, method, out, is_optional, &freed)),
                ("name", name),
                ("mut", if method.is_call { "mut" } else { "const" }),
                ("type", &format!("millpond_{}", held_type(owner))),
                ("params", &(params + &declared)),
                ("before", &before),
                ("handle", handle),
                ("held", held),
                ("part", if owner == "tasks.Job" { ".job()" } else { "" }),
                ("method", &method.name),
                ("arguments", &arguments),
                ("try", if method.is_call { "?" } else { "" }),
                ("after", &after),
            ],
        )
    }

    /// How a parameter is declared, and what the core gets.
    fn argument(&self, name: &str, ty: &Type) -> (String, String) {
        let has_required =
            |key: &String| self.model.types.get(key).is_some_and(|of| !of.required.is_empty());
        let one = name.trim_end_matches('s');
        let (declared, argument) = match ty {
            Type::Text => (
                "$: *const c_char, $_length: usize,",
                "caller.text(|| \"$\".to_owned(), millpond_bytes { data: $, length: $_length })?",
            ),
            Type::Bytes => (
                "$: *const c_char, $_length: usize,",
                "caller.bytes(|| \"$\".to_owned(), $, $_length)?",
            ),
            Type::Duration if name == "lease_ms" => ("$: i64,", "when::lease($)?"),
            Type::Duration => ("$: u64,", "Duration::from_millis($)"),
            Type::Number(32) => ("$: u32,", "$"),
            Type::Number(_) => ("$: usize,", "$"),
            Type::List(of) if **of == Type::Text => {
                return (
                    format!("$: *const millpond_bytes, {one}_count: usize,"),
                    format!("caller.texts(\"$\", $, {one}_count)?"),
                );
            }
            Type::List(of) if matches!(**of, Type::Tuple(_)) => (
                "fields: *const millpond_shuffle_field, field_count: usize,",
                "caller.fields(String::new, fields, field_count)?",
            ),
            Type::List(_) => (
                "receipts: *const millpond_shuffle_receipt, count: usize,",
                "caller.receipts(receipts, count)?",
            ),
            Type::Named(key) if has_required(key) => {
                return (
                    format!("$: *const {},", c_struct(key)),
                    "caller.structure(\"$\", $)?.read(&caller, |field| format!(\"$.{field}\"))?"
                        .to_owned(),
                );
            }
            Type::Named(key) => {
                let read = if key == "tasks.Modification" { "structure" } else { "options" };
                return (
                    format!("$: *const {},", c_struct(key)),
                    format!("caller.{read}(\"$\", $)?.read(&caller, str::to_owned)?"),
                );
            }
            other => panic!("no function takes {other:?}"),
        };
        (declared.to_owned(), argument.to_owned())
    }

    fn function_comment(
        &self,
        key: &str,
        owner: &str,
        method: &Method,
        out: &str,
        is_optional: bool,
        freed: &str,
    ) -> String {
        let mut last = vec![freed.to_owned()];
        for param in &method.params {
            let own = c_name(&param.name, &param.ty);
            match (&param.ty, self.surface.of(owner, &method.name, &param.name)) {
                (Type::Duration, Some(words)) => {
                    let text = self.paragraph(owner, &[Block::Paragraph(words.docs.clone())]);
                    last.push(match &words.default {
                        Some(Value::Duration(ms)) => {
                            format!("`{own}`: {text}; `MILLPOND_NOT_SET` is {}.", grouped(*ms))
                        }
                        _ => format!("`{own}`: {text}."),
                    });
                }
                (Type::Named(key), _) if key.ends_with("Query") || key.ends_with("Filter") => {
                    last.push(format!("`{own}` may be NULL."))
                }
                _ => {}
            }
        }
        if is_optional {
            last.push(format!("`{out}` may be NULL."));
        }
        let mut docs = method.docs.clone();
        if let Some(Block::Paragraph(text)) = docs.blocks.first_mut() {
            let set = format!(". `{out}` is set to ");
            *text = match freed.is_empty() && !out.is_empty() {
                true if text.contains(". Returns ") => text.replace(". Returns ", &set),
                true => format!("{} `{out}` is set to it.", text.trim_end()),
                false => text.replace(", and returns it as it is now", ""),
            };
        }
        let last = last.join(" ").trim().to_owned();
        let section = |heading: &str| {
            let text = self.paragraph(owner, method.docs.section(heading));
            let mut letters = text.chars();
            letters
                .next()
                .map_or(String::new(), |first| first.to_lowercase().to_string() + letters.as_str())
        };
        let errors = match section("Errors") {
            _ if !method.is_call => {
                "`MILLPOND_INVALID_ARGUMENT` for a handle that is not one.".to_owned()
            }
            text if text.is_empty() => "those of the connection.".to_owned(),
            text if text.starts_with("as ") || text.contains("those of the connection") => text,
            text => format!("{}; those of the connection.", text.trim_end_matches('.')),
        };
        let delivery = section("Delivery");
        let delivery =
            if delivery.is_empty() { delivery } else { format!("\n\nDelivery: {delivery}") };
        let tail = Docs::parse(&format!("Errors: {errors}{delivery}\n\nThreads: any."));
        format!(
            "{}///\n{}",
            self.comment(&format!("{key}.function"), owner, &docs, "NULL", &last),
            self.comment("", owner, &tail, "NULL", ""),
        )
    }
}

/// How the result is declared, what comes before the call and after it, and what the comment calls it if it
/// has to be freed.
fn result(out: &str, is_optional: bool, ty: &Type) -> [String; 4] {
    let key = match ty {
        Type::Named(key) => key.clone(),
        Type::List(of) => match &**of {
            Type::Named(key) => format!("{key}*"),
            _ => "*".to_owned(),
        },
        _ => String::new(),
    };
    let templates = |declared, before, after, name, made| {
        [declared, before, after]
            .map(|text| fill(text, &[("out", out), ("type", name), ("made", made)]))
    };
    let found = RESULTS.iter().find(|(of, ..)| *of == key);
    let (ty, made) = match ty {
        Type::Bool => ("bool", "false"),
        Type::Number(32) => ("u32", "0"),
        Type::Number(_) => ("u64", "0"),
        _ => ("millpond_shuffle_receipt", "millpond_shuffle_receipt::default()"),
    };
    let into = if ty.starts_with("millpond") { "$out.set(it.into());" } else { "$out.set(it);" };
    let [declared, before, after] = match (found, is_optional) {
        _ if out.is_empty() => templates("", "", "drop(it);", "", ""),
        (Some((_, ty, made, _)), true) => templates(
            "$out: *mut *mut millpond_$type,",
            "let $out = caller.optional_handle($out);",
            "if let Some($out) = $out { $out.set($made); }",
            ty,
            made,
        ),
        (Some((_, ty, made, _)), false) => templates(
            "$out: *mut *mut millpond_$type,",
            "let $out = caller.new_handle(\"$out\", $out)?;",
            "$out.set($made);",
            ty,
            made,
        ),
        (None, true) => templates(
            "$out: *mut $type,",
            "let $out = caller.optional_out($out, $made);",
            into,
            ty,
            made,
        ),
        (None, false) => templates(
            "$out: *mut $type,",
            "let $out = caller.out(\"$out\", $out, $made)?;",
            into,
            ty,
            made,
        ),
    };
    let is_freed = |(_, ty, _, words): &(&str, &str, &str, &str)| {
        format!(
            "`{out}` is set to {words}, which the caller frees with `millpond_{ty}_free`, or on failure to NULL."
        )
    };
    [declared, before, after, found.filter(|_| !out.is_empty()).map_or(String::new(), is_freed)]
}

fn held_type(owner: &str) -> &'static str {
    match owner {
        "tasks.TaskStore" => "tasks_store",
        "tasks.Job" => "tasks_job",
        "shuffle.ShuffleQueue" => "shuffle_queue",
        _ => "shuffle_consumer",
    }
}
