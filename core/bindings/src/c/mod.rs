//! C: the statuses, structures with their comments and conversions, and their `_init` functions, in
//! `ffi/src/*/generated.rs`. `cbindgen` makes the header of them, as of what is written by hand.

pub(crate) mod abi;
pub(crate) mod calls;
pub(crate) mod functions;
pub(crate) mod header;
pub(crate) mod names;

use std::path::Path;

use minijinja::{Value as View, context};

use crate::c::abi::{CAbi, CType};
use crate::c::functions::{c_handle, function_name, own_name};
use crate::c::names::{
    ALONE, BY_HAND, ENUMS, FIXED, LISTS, NO_FIELDS, OPTIONS, QUEUES, RECORDS, REFUSALS, REVISED,
    WORKERS,
};
use crate::docs::{self, Block, Docs, Renderer, Words, snake};
use crate::model::{ErrorKind, Field, Kind, Model, Param, Setting, Type, Value, rust_path};
use crate::output::Output;
use crate::overlay::Overlay;
use crate::templates::Templates;

const LIST: &str = "for (index, item) in $list.enumerate() {
    it = it.$set($item.read(caller, |field| of(&format!(\"$own[{index}].{field}\")))?);
}
";

const POINTER: &str = "
if let [given] = caller.array(|| of(\"$own\"), self.$own, usize::from(!self.$own.is_null()))? {
    it = it.$set(given.read(caller, |field| of(&format!(\"$own.{field}\")))?);
}
";

pub(crate) fn emit(root: &Path, model: &Model, output: &mut Output) {
    let c = C { model, overlay: Overlay::read(root, "ffi/docs.md") };
    let mut templates = Templates::read(root, "ffi/templates");
    templates.0.add_filter("doc", doc);
    let errors = model.errors.iter().map(|error| {
        let comment = c.comment("", "client.Error", &error.docs, "NULL", "");
        context! { comment, name => &error.name, code => error.code }
    });
    let errors: Vec<_> = errors.collect();
    output.add_rust(
        "ffi/src/status/generated.rs",
        templates.render("status.rs", context! { errors }),
    );
    let kinds = &model.enums["worker.ReportKind"];
    let of = kinds.variants.iter().map(|(name, docs)| {
        context! { name, comment => c.field("", "client.Client", docs, "NULL", "") }
    });
    let kinds = context! {
        comment => c.comment("", "client.Client", &kinds.docs, "NULL", ""), kinds => of.collect::<Vec<_>>(),
    };
    output.add_rust("ffi/src/report/generated.rs", templates.render("report.rs", kinds));
    for (queue, words) in QUEUES {
        let of = |all: &'static [(&str, &str)]| {
            all.iter().filter(move |(key, _)| key.starts_with(queue))
        };
        let options = of(OPTIONS).filter(|(key, _)| *key != "tasks.TaskChange");
        let structures: Vec<_> = of(RECORDS)
            .map(|(key, name)| c.record(key, name))
            .chain(options.map(|(key, name)| c.options(key, name)))
            .collect();
        let enums = ENUMS.iter().filter(|(key, ..)| key.starts_with(queue));
        let enums: Vec<_> = enums.map(|of| c.enumeration(of)).collect();
        let refusals: Vec<_> = of(REFUSALS).map(|(key, name)| c.refusal(key, name)).collect();
        let text = templates
            .render("structures.rs", context! { words => *words, structures, enums, refusals });
        output.add_rust(&format!("ffi/src/{queue}/generated.rs"), text);
    }
    c.functions(root, &templates, output);
    for &(queue, words, one, items, job_data, data, delivery) in WORKERS {
        let values = context! { queue, words, one, items, job_data, data, delivery };
        let path = format!("ffi/src/{queue}/generated_worker.rs");
        output.add_rust(&path, templates.render("worker.rs", values));
    }
    for (path, name, key) in REVISED {
        let mut is_inside = false;
        output.revise(&format!("ffi/src/{path}"), (&["///"], &["#["], &[]), |_, lines| {
            let line = lines[0].trim_start().trim_start_matches("pub ");
            let is_start = ["struct", "enum", "unsafe extern \"C\" fn"].iter().any(|kind| {
                line.strip_prefix(kind).is_some_and(|rest| {
                    rest.strip_prefix(" millpond_")
                        .and_then(|rest| rest.strip_prefix(name))
                        .is_some_and(|rest| rest.starts_with([' ', '(']))
                })
            });
            is_inside = is_start || is_inside && !lines[0].starts_with('}');
            let made = match is_start {
                true => c.own(key),
                false if is_inside => c.part(key, line),
                false => None,
            };
            made.map(|text| text.lines().map(str::to_owned).collect())
        });
    }
    for name in ["lists", "script_keys"] {
        output.add_rust(&format!("ffi/src/{name}.rs"), templates.render(&format!("{name}.rs"), ()));
    }
    c.overlay.finish(output);
}

pub(crate) struct C<'a> {
    pub(crate) model: &'a Model,
    pub(crate) overlay: Overlay,
}

impl C<'_> {
    /// Whether it is a text in C, and no structure.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.model.texts.contains(key) && !has_struct(key)
    }

    /// What a call returns: how it is made of the core's, and for what is fixed how it is read.
    fn record(&self, key: &str, name: &str) -> View {
        let record = &self.model.types[key];
        // A list is beside it in the result.
        let fields = record.fields.iter().filter(|field| !matches!(field.ty, Type::List(_)));
        let fields = fields.map(|field| {
            let (own, from) = (&c_name(&field.name, &field.ty), &field.name);
            let is_text =
                matches!(&field.ty, Type::Option(of) if [Type::Text, Type::Bytes].contains(of));
            let is_enum =
                |ty: &Type| ty.named().is_some_and(|of| self.model.enums.contains_key(of));
            let none = match () {
                _ if is_text => "NULL",
                _ if is_enum(&field.ty) => "0",
                _ => "`MILLPOND_NOT_SET`",
            };
            let is_told =
                !matches!(field.ty, Type::Option(_)) || field.docs.first().contains("`None`");
            let last = match field.ty {
                Type::Bool => "1: yes, 0: no.".to_owned(),
                _ if is_told => String::new(),
                _ => format!("{none}: none."),
            };
            let given = |value: &str| format!("from.{from}.map_or(NOT_SET, |it| {value} as i64)");
            let (ty, value, text, read) = match &field.ty {
                Type::Text => (
                    "millpond_bytes",
                    format!("cut(Some(from.{from}.as_bytes()))"),
                    format!("Some(from.{from}.as_bytes())"),
                    format!("caller.text(|| of(\"{own}\"), self.{own})?.into()"),
                ),
                Type::Option(_) if is_text => {
                    let text = match field.ty == Type::Option(Box::new(Type::Text)) {
                        true => format!("from.{from}.as_deref().map(str::as_bytes)"),
                        false => format!("from.{from}.as_deref()"),
                    };
                    ("millpond_bytes", format!("cut({text})"), text, String::new())
                }
                Type::Headers => {
                    let text = format!("Some(from.{from}.packed())");
                    ("millpond_bytes", format!("cut({text})"), text, String::new())
                }
                Type::Bytes => {
                    let text = format!("Some(&from.{from}[..])");
                    let read = format!("bytes(caller, of(\"{own}\"), self.{own})?");
                    ("millpond_bytes", format!("cut({text})"), text, read)
                }
                Type::Named(of) if self.is_text(of) => {
                    let text = format!("Some(from.{from}.to_string().as_bytes())");
                    let read = format!("caller.text(|| of(\"{own}\"), self.{own})?.parse()?");
                    ("millpond_bytes", format!("cut({text})"), text, read)
                }
                Type::Option(_) if is_enum(&field.ty) => {
                    let number = format!("from.{from}.map_or(0, |it| it as u64 + 1)");
                    ("u64", number, String::new(), String::new())
                }
                ty if is_enum(ty) => {
                    ("u64", format!("from.{from} as u64 + 1"), String::new(), String::new())
                }
                Type::Option(of) => {
                    let value = if **of == Type::Duration { "whole_ms(it)" } else { "it" };
                    ("i64", given(value), String::new(), String::new())
                }
                Type::Duration => {
                    ("u64", format!("whole_ms(from.{from})"), String::new(), String::new())
                }
                Type::Number(64) | Type::Size => {
                    ("u64", format!("from.{from}"), String::new(), format!("self.{own}"))
                }
                // A bool too: interpreters read records word by word.
                Type::Number(_) | Type::Bool => {
                    ("u64", format!("from.{from}.into()"), String::new(), String::new())
                }
                other => panic!("{key}.{from} is a {other:?}, which no structure has"),
            };
            let comment = self.field(&format!("{key}.{from}"), key, &field.docs, none, &last);
            let push = match text.strip_prefix("Some(").and_then(|text| text.strip_suffix(')')) {
                Some(text) => text.to_owned(),
                None => format!("{text}.unwrap_or_default()"),
            };
            context! { own, from, ty, comment, value, text, push, read }
        });
        let is_fixed = is_fixed(key);
        let last = if is_fixed { "Its layout is fixed." } else { "" };
        context! {
            comment => self.comment(key, key, &record.docs, "NULL", last),
            name => format!("millpond_{name}"), core => rust_path(key), fields => fields.collect::<Vec<_>>(),
            is_fixed, is_alone => ALONE.contains(&key), is_options => false,
            is_returned => self.model.returned().contains(key),
        }
    }

    fn enumeration(&self, (key, prefix, is_taken): &(&str, &str, bool)) -> View {
        let of = &self.model.enums[*key];
        let variants = of.variants.iter().map(|(name, docs)| {
            let comment = self.field("", key, docs, "NULL", "");
            context! { comment, core => name, name => constant(prefix, name) }
        });
        let name = c_handle(key);
        context! {
            comment => self.comment(key, key, &of.docs, "NULL", ""), own => own_name(&name),
            name => format!("millpond_{name}"), core => rust_path(key), variants => variants.collect::<Vec<_>>(),
            is_taken,
        }
    }

    /// Why something was refused: lists of what it was about, and flags.
    fn refusal(&self, key: &str, name: &str) -> View {
        let of = &self.model.types[key];
        let comment = |field: &Field| {
            self.field(&format!("{key}.{}", field.name), key, &field.docs, "NULL", "")
        };
        let lists = of.fields.iter().filter_map(|field| match &field.ty {
            Type::List(of) => match &**of {
                Type::Named(of) => Some(context! {
                    name => &field.name, one => field.name.trim_end_matches('s'), ty => c_struct(of),
                    comment => comment(field),
                }),
                _ => None,
            },
            _ => None,
        });
        let flags = of.fields_and_getters().into_iter().filter(|field| field.ty == Type::Bool);
        context! {
            comment => self.comment(key, key, &of.docs, "NULL", "Lives as long as the error."),
            name => format!("millpond_{name}"), core => rust_path(key), lists => lists.collect::<Vec<_>>(),
            flags => flags.map(|flag| context! { name => &flag.name, comment => comment(&flag) }).collect::<Vec<_>>(),
        }
    }

    /// What a call takes: its defaults, how it is read, and the function that fills it.
    fn options(&self, key: &str, name: &str) -> View {
        let none = Docs::default();
        let of = &self.model.types[key];
        let is_options = of.kind == Kind::Options;
        let (mut fields, mut reads, mut made) = (Vec::new(), String::new(), String::new());
        for param in &of.required {
            let own = &c_name(&param.name, &param.ty);
            let (ty, read) = match &param.ty {
                Type::Named(of) => (
                    c_struct(of),
                    format!("self.{own}.read(caller, |field| of(&format!(\"{own}.{{field}}\")))?,"),
                ),
                ty => {
                    let read = if *ty == Type::Bytes { "given_bytes" } else { "text" };
                    let read = format!("caller.{read}(|| of(\"{own}\"), self.{own})?,");
                    ("millpond_bytes".to_owned(), read)
                }
            };
            let comment = self.field(&format!("{key}.{}", param.name), key, &none, "", "");
            fields.push(context! { own, ty, default => "", comment });
            made += &read;
        }
        let has = |name: &str| of.settings.iter().any(|setting| setting.name == name);
        if has("at_ms") && (has("after") || has("delay")) {
            reads += "only_one(&of, (\"at_ms\", self.at_ms), (\"delay_ms\", self.delay_ms))?;\n";
        }
        for setting in of.settings.iter().filter(|setting| !NO_FIELDS.contains(&&*setting.name)) {
            let of = format!("{key}.{}", setting.name);
            let (members, read) = member(self.model, &of, setting);
            let optional = match members[0].2.as_str() {
                "NOT_SET" if key.ends_with("Change") => "`MILLPOND_NOT_SET`: it stays as it is.",
                "NOT_SET" => "`MILLPOND_NOT_SET`: the default.",
                "0" if setting.name == "wait" => {
                    "0, the default, does not wait; -1 waits without limit."
                }
                "f64::NAN" => "NaN, the default: not set.",
                "millpond_bytes::NONE" if setting.default == Value::None => "NULL: not set.",
                "ptr::null()" if members.len() == 1 => "NULL: not set.",
                _ => "",
            };
            let mut comment = self.field(&of, key, &setting.docs, "NULL", optional);
            for (own, ty, default) in members {
                fields.push(context! { own, ty, default, comment => &comment });
                "/// How many there are.\n".clone_into(&mut comment);
            }
            reads += &read;
        }
        let (param, start) = match is_options {
            false => (
                format!("mut it: {}", rust_path(key)),
                "let (_, of) = (caller, str::to_owned);".to_owned(),
            ),
            true => (
                "of: impl Fn(&str) -> String".to_owned(),
                format!("let mut it = {}::new({made});", rust_path(key)),
            ),
        };
        let init = format!("{key}.init");
        let is_told = self.overlay.of(&init).paragraphs.is_empty();
        let text = if is_told { "Fills it with the defaults. Does nothing for NULL." } else { "" };
        let init = self.comment(&init, key, &Docs::parse(text), "NULL", "");
        let note = format!("`millpond_{name}_init` fills it; then set what you like.");
        let docs = if is_options { &of.docs } else { &none };
        context! {
            comment => self.comment(&format!("{key}.options"), key, docs, "NULL", &note),
            name => format!("millpond_{name}"), core => rust_path(key), fields, reads, param, start,
            // A change of a document is filled from the document, by hand.
            init => if key == "tasks.DocChange" { String::new() } else { init },
            is_options => true,
        }
    }

    /// The comment of what is by hand: an enum or a function.
    fn own(&self, key: &str) -> Option<String> {
        if let Some((owner, name)) = key.rsplit_once('.').filter(|(owner, _)| owner.contains('.')) {
            let method =
                self.model.types[owner].methods.iter().find(|method| method.name == name)?;
            return Some(self.function_comment(key, owner, method, "", false, vec![String::new()]));
        }
        let docs = &self.model.enums.get(key)?.docs;
        Some(self.comment(key, key, docs, "NULL", ""))
    }

    /// The comment of a field or of a variant, by its declaration.
    fn part(&self, key: &str, line: &str) -> Option<String> {
        if let Some(of) = self.model.enums.get(key) {
            let name = line.split(" = ").next()?.rsplit('_').next()?;
            let (_, docs) =
                of.variants.iter().find(|(variant, _)| *variant == docs::pascal(name))?;
            return Some(self.field("", key, docs, "NULL", ""));
        }
        let (own, ty) = line.trim_end_matches(',').split_once(": ")?;
        let of = self.model.types.get(key)?;
        if let Some(field) = of.fields.iter().find(|field| c_name(&field.name, &field.ty) == own) {
            return Some(self.field(&format!("{key}.{own}"), key, &field.docs, "NULL", ""));
        }
        let setting = of.settings.iter().find(|setting| {
            matches!(setting.params.as_slice(), [param] if c_name(&setting.name, &param.ty) == own)
        })?;
        let none = match (ty, &setting.default) {
            ("i64", Value::Duration(ms)) => {
                format!("`MILLPOND_NOT_SET`: the default, {}.", docs::time(*ms))
            }
            ("i64", Value::Number(of)) => format!("`MILLPOND_NOT_SET`: the default, {of}."),
            ("i64", _) => "`MILLPOND_NOT_SET`: the default.".to_owned(),
            ("millpond_bytes", _) => "NULL: the default.".to_owned(),
            _ => String::new(),
        };
        let words = self.setting(key, setting, own, &none);
        Some(self.field(&format!("{key}.{own}"), key, &Docs::default(), "NULL", &words))
    }

    /// What is said of a setting: the words on its parameter are those on the field.
    pub(crate) fn setting(&self, key: &str, setting: &Setting, own: &str, none: &str) -> String {
        let text = self.paragraph(key, &setting.docs.blocks);
        let text = match setting.params.first() {
            Some(Param { name, ty: Type::Duration, .. }) => {
                text.replace(&format!("`{name}`"), &format!("`{own}` milliseconds"))
            }
            Some(Param { name, .. }) => text.replace(&format!("`{name}`"), &format!("`{own}`")),
            None => text,
        };
        format!("{text} {none}").trim_end().to_owned()
    }

    /// Blocks as one paragraph.
    pub(crate) fn paragraph(&self, owner: &str, blocks: &[Block]) -> String {
        Renderer { model: self.model, words: &InC { c: self, none: "NULL" }, owner }
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
        self.comment_of(key, owner, docs, none, last, false)
    }

    /// The comment of a field: as above, in one paragraph.
    fn field(&self, key: &str, owner: &str, docs: &Docs, none: &str, last: &str) -> String {
        self.comment_of(key, owner, docs, none, last, true)
    }

    fn comment_of(
        &self,
        key: &str,
        owner: &str,
        docs: &Docs,
        none: &str,
        last: &str,
        is_field: bool,
    ) -> String {
        let renderer = Renderer { model: self.model, words: &InC { c: self, none }, owner };
        let note = if key.is_empty() { Default::default() } else { self.overlay.of(key) };
        let mut paragraphs = if note.replaces { Vec::new() } else { renderer.blocks(&docs.blocks) };
        let notes: Vec<_> = note.paragraphs.into_iter().map(Block::Paragraph).collect();
        paragraphs.extend(renderer.blocks(&notes));
        paragraphs.extend((!last.is_empty()).then(|| last.to_owned()));
        if is_field {
            paragraphs = vec![paragraphs.join(" ")];
        }
        paragraphs.extend(
            note.examples
                .iter()
                .map(|code| format!("    {}", code.trim_end().replace('\n', "\n    "))),
        );
        doc(&paragraphs.join("\n\n").replace("or dropped", "or freed"))
    }
}

/// Paragraphs as a comment; what is indented is code.
fn doc(text: &str) -> String {
    let blocks = text.trim_end().split("\n\n").map(|block| {
        match block.starts_with("    ") || block.starts_with('|') {
            true => block.to_owned(),
            false => docs::wrap(block, 92).join("\n"),
        }
    });
    let lines = blocks.collect::<Vec<_>>().join("\n\n");
    lines.lines().fold(String::new(), |all, line| all + format!("/// {line}").trim_end() + "\n")
}

/// What a setting of `of`, such as `tasks.NewTask.priority`, is in C: the name, type and default of each of its
/// fields, and how `it` is set by them.
pub(crate) fn member(
    model: &Model,
    of: &str,
    setting: &Setting,
) -> (Vec<(String, String, String)>, String) {
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
            one("c_bool", "0", "if self.$own.is_true() { it = it.$set(); }")
        }
        (Type::Bool, _) => one("c_bool", "0", "it = it.$set(self.$own.is_true());"),
        (Type::Bytes, _) => one(
            "millpond_bytes",
            "millpond_bytes::NONE",
            "if let Some(given) = caller.optional_bytes(|| of(\"$own\"), self.$own)? { it = it.$set(given); }",
        ),
        (Type::Text, _) => one(
            "millpond_bytes",
            "millpond_bytes::NONE",
            "if let Some(text) = caller.optional_text(|| of(\"$own\"), self.$own)? { it = it.$set(text); }",
        ),
        (Type::List(_), _) => one(
            "millpond_bytes",
            "millpond_bytes::NONE",
            "if let Some($own) = caller.optional_headers(|| of(\"$own\"), self.$own)? { it = it.$set(&$own); }",
        ),
        (Type::Number(64), Value::Number(default)) => {
            one("u64", &default.to_string(), "it = it.$set(self.$own);")
        }
        (Type::Number(_) | Type::Size, Value::Number(default)) => {
            one("u64", &default.to_string(), "it = it.$set(number(&of, \"$own\", self.$own)?);")
        }
        (Type::Number(_) | Type::Size, _) => given("", "given"),
        (Type::Option(of), _) if **of == Type::Bool => given("::<u8>", "given != 0"),
        (Type::Option(of), _) => {
            given(if **of == Type::Number(8) { "::<u8>" } else { "::<u32>" }, "given")
        }
        (Type::Float, _) => {
            one("f64", "f64::NAN", "if !self.$own.is_nan() { it = it.$set(self.$own); }")
        }
        (Type::Duration, _) if set == "wait" => {
            one("i64", "0", "if let Some(given) = wait_time(self.$own)? { it = it.$set(given); }")
        }
        (Type::Duration, _) => given("", "Duration::from_millis(given)"),
        (Type::Named(key), _) if model.enums.contains_key(key) => {
            given("", &format!("{}(given)?", own_name(&c_handle(key))))
        }
        (Type::Named(key), _) => one(&format!("*const {}", c_struct(key)), "ptr::null()", POINTER),
        (other, _) => panic!("{of} takes {other:?}, which no structure has"),
    }
}

/// How comments say things in C.
struct InC<'a> {
    c: &'a C<'a>,
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
        match () {
            () if is_worker(key) || self.c.handle_of(key).is_some() && key != "ick.Ick" => {
                format!("`millpond_{}`", c_handle(key))
            }
            () if has_struct(key) => format!("`{}`", c_struct(key)),
            () => text.to_owned(),
        }
    }

    fn member(&self, _: &str, key: &str, member: &str, text: &str) -> String {
        if text != member && !text.ends_with(&format!("::{member}")) {
            return text.to_owned();
        }
        let settings = self
            .c
            .model
            .types
            .get(key)
            .filter(|of| of.kind == Kind::Handle)
            .map_or(&[][..], |of| &of.settings);
        let setting = settings.iter().find(|setting| setting.name == member);
        let name = match setting.and_then(|setting| setting.params.first()) {
            Some(param) => c_name(member, &param.ty),
            None => function_name(self.c.model, key, member).unwrap_or_else(|| member.to_owned()),
        };
        format!("`{name}`")
    }

    fn variant(&self, key: &str, name: &str, text: &str) -> String {
        let found = ENUMS.iter().find(|(of, ..)| *of == key);
        found.map_or_else(
            || self.code(text),
            |(_, prefix, _)| format!("`{}`", constant(prefix, name)),
        )
    }

    fn code(&self, text: &str) -> String {
        format!("`{text}`")
    }
}

/// The records that results point to, with their structures, for hosts that read them from memory.
pub(crate) fn results(abi: &CAbi) -> Vec<(&'static str, &'static str)> {
    let of = |ty: &CType| match ty {
        CType::Pointer(inner) => match &**inner {
            CType::Named(name) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let is_data = |name: &str| QUEUES.iter().any(|(queue, _)| name == format!("{queue}_data"));
    let data = abi.structs.iter().filter(|of| is_data(&of.name));
    let structures = data.flat_map(|data| &data.fields).filter_map(|(_, ty)| of(ty));
    let structures = structures.filter(|name| name != "bytes");
    let known = |name: &String| RECORDS.iter().chain(OPTIONS).find(|(_, of)| of == name).copied();
    let mut found = Vec::new();
    for structure in structures {
        let of = known(&structure).unwrap_or_else(|| panic!("{structure} is of no record"));
        if !found.contains(&of) {
            found.push(of);
        }
    }
    found
}

/// What C calls a value of an enum, by the enum's key; nothing if C has no such enum.
pub(crate) fn value(key: &str, name: &str) -> Option<String> {
    let (_, prefix, _) = ENUMS.iter().find(|(of, ..)| *of == key)?;
    Some(constant(prefix, name))
}

/// The name of a value of an enum.
fn constant(prefix: &str, name: &str) -> String {
    format!("MILLPOND_{prefix}_{}", snake(name).trim_start_matches('_').to_uppercase())
}

/// Whether it is a worker, which C has otherwise than other handles.
pub(crate) fn is_worker(key: &str) -> bool {
    WORKERS.iter().any(|(queue, ..)| key.strip_prefix(queue) == Some(".Worker"))
}

pub(crate) fn has_struct(key: &str) -> bool {
    RECORDS.iter().chain(OPTIONS).chain(BY_HAND).any(|(of, _)| *of == key)
}

/// Whether the layout of a structure is fixed: programs pass it in arrays and by value.
pub(crate) fn is_fixed(key: &str) -> bool {
    BY_HAND.iter().any(|(of, _)| *of == key) || FIXED.contains(&key)
}

pub(crate) fn c_struct(key: &str) -> String {
    let found = RECORDS.iter().chain(OPTIONS).chain(BY_HAND).find(|(of, _)| *of == key);
    format!("millpond_{}", found.unwrap_or_else(|| panic!("C has no {key}")).1)
}

/// The name of a field: with its unit, and none that C++ keeps for itself.
pub(crate) fn c_name(name: &str, ty: &Type) -> String {
    let is_time = ty.is_time();
    match name {
        "namespace" => "namespace_name".to_owned(),
        "delete" => "delete_done".to_owned(),
        "after" if is_time => "delay_ms".to_owned(),
        _ if is_time => format!("{name}_ms"),
        _ if *ty == Type::Option(Box::new(Type::Signed)) => format!("{name}_s"),
        _ => name.to_owned(),
    }
}

/// A template with each `$name` replaced.
pub(crate) fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let replace =
        |text: String, (name, part): &(&str, &str)| text.replace(&format!("${name}"), part);
    parts.iter().fold(template.to_owned(), replace)
}
