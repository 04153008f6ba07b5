//! C: the statuses, structures with their comments and conversions, and their `_init` functions, in
//! `ffi/src/*/generated.rs`. `cbindgen` makes the header of them, as of what is written by hand.

use std::path::Path;

use crate::c_functions::function_name;
use crate::docs::{self, Block, Docs, Renderer, Words};
use crate::model::{ErrorKind, Kind, Model, Setting, Type, Value};
use crate::output::Output;
use crate::overlay::Overlay;
use crate::surface::Surface;

/// What calls return, by its name in C. What ends with an id or a position is an argument too, and its layout
/// is fixed.
const RECORDS: &[(&str, &str)] = &[
    ("tasks.Task", "task"),
    ("tasks.Doc", "doc"),
    ("tasks.TaskId", "task_id"),
    ("tasks.DocId", "doc_id"),
    ("tasks.Position", "task_position"),
    ("tasks.DocPosition", "doc_position"),
    ("tasks.QueueStats", "task_queue_stats"),
    ("tasks.NamespaceStats", "task_namespace_stats"),
    ("shuffle.StreamStats", "shuffle_stream_stats"),
];

/// What calls take, by its name in C. A change of a task is written by hand: it has what `Task::change` copies.
const OPTIONS: &[(&str, &str)] = &[
    ("tasks.NewTask", "new_task"),
    ("tasks.NewDoc", "new_doc"),
    ("tasks.DocChange", "doc_change"),
    ("tasks.TaskChange", "task_change"),
    ("tasks.Modification", "tasks_modification"),
    ("tasks.TaskQuery", "task_query"),
    ("tasks.DocQuery", "doc_query"),
    ("tasks.Filter", "tasks_filter"),
    ("shuffle.ShuffleQueue", "shuffle_options"),
    ("shuffle.ShuffleConsumer", "shuffle_consumer_options"),
];

/// Settings that add to a list: what C calls one, and all.
const LISTS: &[(&str, &str, &str)] = &[
    ("tasks.Filter.exact", "exact", "exact"),
    ("tasks.Filter.prefix", "prefix", "prefixes"),
    ("tasks.Modification.insert", "insert", "inserts"),
    ("tasks.Modification.change", "change", "changes"),
    ("tasks.Modification.delete", "delete", "deletes"),
    ("tasks.Modification.depend", "depend", "depends"),
    ("tasks.Modification.insert_doc", "doc_insert", "doc_inserts"),
    ("tasks.Modification.put_doc", "doc_put", "doc_puts"),
    ("tasks.Modification.change_doc", "doc_change", "doc_changes"),
    ("tasks.Modification.delete_doc", "doc_delete", "doc_deletes"),
    ("tasks.Modification.depend_doc", "doc_depend", "doc_depends"),
];

const TASKS: &str = "//! Structures of stores of tasks.

use std::ptr;
use std::time::Duration;

use millpond::Result;

use crate::caller::Caller;
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, c_bool, given, growing, number, only_one};
use crate::tasks::task::millpond_task_change;
";

const SHUFFLE: &str = "//! Structures of shuffle queues.

use std::time::Duration;

use millpond::Result;

use crate::caller::Caller;
use crate::options::{NOT_SET, c_bool, given, growing};
use crate::shuffle::tracking::track_keys;
";

const STATUS: &str = "//! Status codes: the core's kinds of errors.

/// How a call went: `MILLPOND_OK`, or what went wrong. The numbers are the same in every language
/// and are never used again for something else. `millpond_error_kind_at` has them as a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum millpond_status {
    /// The call did what it says.
    MILLPOND_OK = 0,
    $variants
}

pub use millpond_status::*;

/// Every status but `MILLPOND_OK`, in the order of the core's kinds.
pub(crate) const ALL: [millpond_status; $count] = [$all];
";

const RECORD: &str = "
$comment#[repr(C)]
#[derive(Clone, Copy)]
pub struct $name { $fields }

impl $name {
    pub(crate) fn new(from: &$core$cut) -> Self { Self { $values } }
    $texts $read
}
";

const TEXTS: &str = "
    /// The texts, in the order of the fields.
    pub(crate) fn texts(from: &$core) -> [Option<&str>; $count] { [$all] }
";

const READ: &str = "
    pub(crate) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<$core> {
        Ok($core { $reads })
    }
";

const OPTION: &str = "
$comment#[repr(C)]
#[derive(Clone, Copy)]
pub struct $name {
    /// What the `_init` sets: how many bytes the structure has in the program.
    pub size: usize,
    $fields
}

growing!($name = Self { size: size_of::<Self>(), $defaults });

impl $name {
    pub(crate) fn read(&self, caller: &Caller, $param) -> Result<$core> {
        $start
        $reads
        Ok(it)
    }
}
";

const INIT: &str = "
$comment///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn $name_init(options: *mut $name, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}
";

const LIST: &str = "for (index, item) in $list.enumerate() {
    it = it.$set($item.read(caller, |field| of(&format!(\"$own[{index}].{field}\")))?);
}
";

const POINTER: &str = "
if let [given] = caller.array(|| of(\"$own\"), self.$own, usize::from(!self.$own.is_null()))? {
    it = it.$set(given.read(caller, |field| of(&format!(\"$own.{field}\")))?);
}
";

pub(crate) fn emit(root: &Path, model: &Model, surface: &Surface, output: &mut Output) {
    let c = C { model, surface, overlay: Overlay::read(root, "ffi/docs.md") };
    output.add_rust("ffi/src/status/generated.rs", c.status());
    for (queue, head) in [("tasks", TASKS), ("shuffle", SHUFFLE)] {
        let records = RECORDS.iter().filter(|(key, _)| key.starts_with(queue));
        let by_hand = |key: &str| key == "tasks.TaskChange";
        let options = OPTIONS.iter().filter(|(key, _)| key.starts_with(queue) && !by_hand(key));
        let records = records.map(|(key, name)| c.record(key, name));
        let text = records.chain(options.map(|(key, name)| c.options(key, name)));
        output.add_rust(
            &format!("ffi/src/{queue}/generated.rs"),
            text.fold(head.to_owned(), |all, one| all + &one),
        );
    }
    for (path, text) in c.functions() {
        output.add_rust(&path, text);
    }
    c.overlay.finish();
}

pub(crate) struct C<'a> {
    pub(crate) model: &'a Model,
    pub(crate) surface: &'a Surface,
    overlay: Overlay,
}

impl C<'_> {
    fn status(&self) -> String {
        let variant = |error: &ErrorKind| {
            let comment = self.comment("", "client.Error", &error.docs, "NULL", "");
            format!("{comment}MILLPOND_{} = {},\n", error.name, error.code)
        };
        let errors = &self.model.errors;
        let all = errors.iter().map(|error| format!("MILLPOND_{},", error.name));
        fill(
            STATUS,
            &[
                ("variants", &errors.iter().map(variant).collect::<String>()),
                ("count", &errors.len().to_string()),
                ("all", &all.collect::<String>()),
            ],
        )
    }

    /// What a call returns: its structure, which texts it has, and how it is made of them.
    fn record(&self, key: &str, name: &str) -> String {
        let record = &self.model.types[key];
        let core = &format!("millpond::{}", key.replace('.', "::"));
        let is_fixed = key.ends_with("Id") || key.ends_with("Position");
        let [mut fields, mut values, mut reads, mut texts] = [const { String::new() }; 4];
        let mut count = 0;
        for field in &record.fields {
            let (own, from) = (&c_name(&field.name, &field.ty), &field.name);
            let is_text = matches!(&field.ty, Type::Option(of) if **of == Type::Text);
            let none = if is_text { "NULL" } else { "`MILLPOND_NOT_SET`" };
            let last = match field.ty {
                Type::Option(_) if !field.docs.first().contains("`None`") => {
                    format!("{none}: none.")
                }
                _ => String::new(),
            };
            let optional =
                |value: &str| format!("from.{from}.map_or(NOT_SET, |it| it{value} as i64)");
            let (ty, value, read) = match &field.ty {
                Type::Text => (
                    "millpond_bytes",
                    format!("cut(Some(&from.{from}))"),
                    "caller.text(|| of(\"$\"), self.$)?.into()",
                ),
                Type::Option(_) if is_text => {
                    ("millpond_bytes", format!("cut(from.{from}.as_deref())"), "")
                }
                Type::Option(of) if **of == Type::Duration => ("i64", optional(".as_millis()"), ""),
                Type::Option(_) => ("i64", optional(""), ""),
                Type::Number(64) => ("u64", format!("from.{from}"), "self.$"),
                Type::Number(_) => ("u64", format!("from.{from}.into()"), ""),
                other => panic!("{key}.{from} is a {other:?}, which no structure has"),
            };
            let comment = self.comment(&format!("{key}.{from}"), key, &field.docs, none, &last);
            fields += &format!("{comment}pub {own}: {ty},\n");
            values += &format!("{own}: {value},");
            reads += &format!("{from}: {},", read.replace('$', own));
            if let Some(text) = value.strip_prefix("cut(").and_then(|text| text.strip_suffix(')')) {
                texts += &format!("{},", text.replace("&from", "&*from"));
                count += 1;
            }
        }
        let cut =
            if count > 0 { ", mut cut: impl FnMut(Option<&str>) -> millpond_bytes" } else { "" };
        let has_texts = count > 0 && !key.ends_with("Id");
        let texts = fill(TEXTS, &[("core", core), ("count", &count.to_string()), ("all", &texts)]);
        let read = fill(READ, &[("core", core), ("reads", &reads)]);
        fill(
            RECORD,
            &[
                (
                    "comment",
                    &self.comment(
                        key,
                        key,
                        &record.docs,
                        "NULL",
                        if is_fixed { "Its layout is fixed." } else { "" },
                    ),
                ),
                ("name", &format!("millpond_{name}")),
                ("fields", &fields),
                ("core", core),
                ("cut", cut),
                ("values", &values),
                ("texts", if has_texts { &texts } else { "" }),
                ("read", if is_fixed { &read } else { "" }),
            ],
        )
    }

    /// What a call takes: its structure, its defaults, how it is read, and the function that fills it.
    fn options(&self, key: &str, name: &str) -> String {
        let none = Docs::default();
        let of = &self.model.types[key];
        let (required, settings) = (&of.required, &of.settings);
        let docs = if of.kind == Kind::Options { &of.docs } else { &none };
        let core = &format!("millpond::{}", key.replace('.', "::"));
        let [mut fields, mut defaults, mut reads, mut made] = [const { String::new() }; 4];
        for param in required {
            let own = &c_name(&param.name, &param.ty);
            let (ty, default, read) = match &param.ty {
                Type::Named(of) => {
                    let default = self.model.types[of.as_str()].fields.iter().map(|field| {
                        let none =
                            if field.ty == Type::Text { "millpond_bytes::NONE" } else { "0" };
                        format!("{}: {none},", c_name(&field.name, &field.ty))
                    });
                    let ty = c_struct(of);
                    let default = format!("{ty} {{ {} }}", default.collect::<String>());
                    (ty, default, "self.$.read(caller, |field| of(&format!(\"$.{field}\")))?,")
                }
                _ => (
                    "millpond_bytes".to_owned(),
                    "millpond_bytes::NONE".to_owned(),
                    "caller.text(|| of(\"$\"), self.$)?,",
                ),
            };
            fields += &format!(
                "{}pub {own}: {ty},\n",
                self.comment(&format!("{key}.{}", param.name), key, &none, "", "")
            );
            defaults += &format!("{own}: {default},");
            made += &read.replace('$', own);
        }
        let has = |name: &str| settings.iter().any(|setting| setting.name == name);
        if has("at_ms") && has("after") {
            reads += "only_one(&of, (\"at_ms\", self.at_ms), (\"delay_ms\", self.delay_ms))?;\n";
        }
        // What C says by a `delay_ms` of 0.
        for setting in settings.iter().filter(|setting| setting.name != "release") {
            let of = format!("{key}.{}", setting.name);
            let (members, read) = member(self.model, &of, setting);
            let optional = match members[0].2.as_str() {
                "NOT_SET" => "`MILLPOND_NOT_SET`: the default.",
                "millpond_bytes::NONE" if setting.default == Value::None => "NULL: not set.",
                "ptr::null()" if members.len() == 1 => "NULL: not set.",
                _ => "",
            };
            let mut comment = self.comment(&of, key, &setting.docs, "NULL", optional);
            for (own, ty, default) in members {
                fields += &format!("{comment}pub {own}: {ty},\n");
                defaults += &format!("{own}: {default},");
                "/// How many there are.\n".clone_into(&mut comment);
            }
            reads += &read;
        }
        let (param, start) = match required.is_empty() && !self.model.is(key, Kind::Options) {
            true => {
                (format!("mut it: {core}"), "let (_, of) = (caller, str::to_owned);".to_owned())
            }
            false => (
                "of: impl Fn(&str) -> String".to_owned(),
                format!("let mut it = {core}::new({made});"),
            ),
        };
        let init = self.overlay.of(&format!("{key}.init"));
        let init_docs = if init.paragraphs.is_empty() {
            Docs::parse("Fills it with the defaults. Does nothing for NULL.")
        } else {
            none.clone()
        };
        // A change of a document is filled from the document, by hand.
        let init = if key == "tasks.DocChange" { "" } else { INIT };
        let note = format!("`millpond_{name}_init` fills it; then set what you like.");
        let structure = fill(
            OPTION,
            &[
                ("comment", &self.comment(&format!("{key}.options"), key, docs, "NULL", &note)),
                ("fields", &fields),
                ("defaults", &defaults),
                ("param", &param),
                ("core", core),
                ("start", &start),
                ("reads", &reads),
            ],
        );
        let init = fill(
            init,
            &[("comment", &self.comment(&format!("{key}.init"), key, &init_docs, "NULL", ""))],
        );
        fill(&(structure + &init), &[("name", &format!("millpond_{name}"))])
    }

    /// Blocks as one paragraph.
    pub(crate) fn paragraph(&self, owner: &str, blocks: &[Block]) -> String {
        Renderer { model: self.model, words: &InC { model: self.model, none: "NULL" }, owner }
            .blocks(blocks)
            .join(" ")
    }

    /// The comment of an item: the core's, the page's paragraphs and examples, and one more.
    pub(crate) fn comment(
        &self,
        key: &str,
        owner: &str,
        docs: &Docs,
        none: &str,
        last: &str,
    ) -> String {
        let renderer =
            Renderer { model: self.model, words: &InC { model: self.model, none }, owner };
        let note = if key.is_empty() { Default::default() } else { self.overlay.of(key) };
        let mut paragraphs = if note.replaces { Vec::new() } else { renderer.blocks(&docs.blocks) };
        let notes: Vec<_> = note.paragraphs.into_iter().map(Block::Paragraph).collect();
        paragraphs.extend(renderer.blocks(&notes));
        paragraphs.extend((!last.is_empty()).then(|| last.to_owned()));
        // What is said of a field is one paragraph, a structure's are apart.
        if key.matches('.').count() > 1
            && ![".options", ".init", ".function"].iter().any(|end| key.ends_with(end))
        {
            paragraphs = vec![paragraphs.join(" ")];
        }
        let mut blocks: Vec<_> =
            paragraphs.iter().map(|text| docs::wrap(text, 92).join("\n")).collect();
        blocks.extend(
            note.examples
                .iter()
                .map(|code| format!("    {}", code.trim_end().replace('\n', "\n    "))),
        );
        let lines = blocks.join("\n\n");
        lines.lines().fold(String::new(), |all, line| all + format!("/// {line}").trim_end() + "\n")
    }
}

/// What a setting of `of`, such as `tasks.NewTask.priority`, is in C: the name, type and default of each of its
/// fields, and how `it` is set by them.
fn member(model: &Model, of: &str, setting: &Setting) -> (Vec<(String, String, String)>, String) {
    let set = &setting.name;
    let ty = setting.params.first().map_or(&Type::Bool, |param| &param.ty);
    let own = &c_name(set, ty);
    let one = |ty: &str, default: &str, read: &str| {
        let read = fill(read, &[("own", own), ("set", set)]);
        (vec![(own.clone(), ty.to_owned(), default.to_owned())], read + "\n")
    };
    let given = |inner: &str, value: &str| {
        let read =
            "if let Some(given) = given$inner(&of(\"$own\"), self.$own)? { it = it.$set($value); }";
        one("i64", "NOT_SET", &fill(read, &[("inner", inner), ("value", value)]))
    };
    if let Some((_, one, all)) = LISTS.iter().find(|(key, ..)| *key == of) {
        let arguments = format!("self.{all}, self.{one}_count)?");
        let (ty, read) = match ty {
            Type::Named(key) => {
                let is_record = RECORDS.iter().any(|(record, _)| record == key);
                let (list, item) = match is_record {
                    true => (format!("caller.array(|| of(\"{all}\"), {arguments}.iter()"), "item"),
                    false => (format!("caller.structures(&of(\"{all}\"), {arguments}"), "item?"),
                };
                (
                    c_struct(key),
                    fill(LIST, &[("list", &list), ("set", set), ("item", item), ("own", all)]),
                )
            }
            _ => (
                "millpond_bytes".to_owned(),
                format!(
                    "for name in caller.texts(&of(\"{all}\"), {arguments} {{ it = it.{set}(name); }}\n"
                ),
            ),
        };
        let list = ((*all).to_owned(), format!("*const {ty}"), "ptr::null()".to_owned());
        return (vec![list, (format!("{one}_count"), "usize".to_owned(), "0".to_owned())], read);
    }
    match (ty, &setting.default) {
        _ if setting.params.is_empty() => {
            one("c_bool", "c_bool::FALSE", "if self.$own.is_true() { it = it.$set(); }")
        }
        (Type::Bool, _) => one("c_bool", "c_bool::FALSE", "it = it.$set(self.$own.is_true());"),
        (Type::Text, _) => one(
            "millpond_bytes",
            "millpond_bytes::NONE",
            "if let Some(text) = caller.optional_text(|| of(\"$own\"), self.$own)? { it = it.$set(text); }",
        ),
        (Type::Number(64), Value::Number(default)) => {
            one("u64", &default.to_string(), "it = it.$set(self.$own);")
        }
        (Type::Number(_), Value::Number(default)) => {
            one("u64", &default.to_string(), "it = it.$set(number(&of, \"$own\", self.$own)?);")
        }
        (Type::Number(_), _) => given("", "given"),
        (Type::Option(_), _) => given("::<u32>", "given"),
        (Type::Duration, _) => given("", "Duration::from_millis(given)"),
        (Type::Named(key), _) if model.enums.contains_key(key) => given("", "$own(given)?"),
        (Type::Named(key), _) => one(&format!("*const {}", c_struct(key)), "ptr::null()", POINTER),
        (other, _) => panic!("{of} takes {other:?}, which no structure has"),
    }
}

/// How comments say things in C.
struct InC<'a> {
    model: &'a Model,
    none: &'a str,
}

impl Words for InC<'_> {
    fn none(&self) -> String {
        self.none.to_owned()
    }

    fn error(&self, error: &ErrorKind) -> String {
        format!("`MILLPOND_{}`", error.name)
    }

    fn item(&self, key: &str, text: &str) -> String {
        let is_known = RECORDS.iter().chain(OPTIONS).any(|(of, _)| *of == key);
        if is_known { format!("`{}`", c_struct(key)) } else { text.to_owned() }
    }

    fn member(&self, _: &str, key: &str, member: &str, text: &str) -> String {
        if text != member && !text.ends_with(&format!("::{member}")) {
            return text.to_owned();
        }
        let settings = self
            .model
            .types
            .get(key)
            .filter(|of| of.kind == Kind::Handle)
            .map_or(&[][..], |of| &of.settings);
        let setting = settings.iter().find(|setting| setting.name == member);
        let name = match setting.and_then(|setting| setting.params.first()) {
            Some(param) => c_name(member, &param.ty),
            None => function_name(key, member).unwrap_or_else(|| member.to_owned()),
        };
        format!("`{name}`")
    }

    fn code(&self, text: &str) -> String {
        format!("`{text}`")
    }
}

pub(crate) fn c_struct(key: &str) -> String {
    let found = RECORDS.iter().chain(OPTIONS).find(|(of, _)| *of == key);
    format!("millpond_{}", found.unwrap_or_else(|| panic!("C has no {key}")).1)
}

/// The name of a field: with its unit, and none that C++ keeps for itself.
pub(crate) fn c_name(name: &str, ty: &Type) -> String {
    let is_time = *ty == Type::Duration || *ty == Type::Option(Box::new(Type::Duration));
    match name {
        "namespace" => "namespace_name".to_owned(),
        "after" if is_time => "delay_ms".to_owned(),
        _ if is_time => format!("{name}_ms"),
        _ => name.to_owned(),
    }
}

/// A template with each `$name` replaced.
pub(crate) fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let replace =
        |text: String, (name, part): &(&str, &str)| text.replace(&format!("${name}"), part);
    parts.iter().fold(template.to_owned(), replace)
}
