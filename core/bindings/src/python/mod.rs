//! Python: the blocking modules, the classes of errors, records and what reads and writes them. The modules for
//! asyncio are in `python/modules`, the text of all else in `python/templates`.

mod blocking;
mod calls;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use minijinja::value::Serde;
use minijinja::{Value, context};

use crate::bytes::Bytes;
use crate::comments::{Comment, Comments, ParamDocs};
use crate::docs::{Words, wrap};
use crate::model::{ErrorKind, Field, IN_URLS, Kind, Model, Struct, Type, own_name, rust_path};
use crate::output::Output;
use crate::python::blocking::blocking;
use crate::python::calls::{Calls, Signature};
use crate::python::names::{BY_HAND, CLASSES, HELD, NAMES};
use crate::templates::Templates;

const FOLDER: &str = "python/python/millpond";

pub(crate) fn emit(root: &Path, model: &Model, output: &mut Output) {
    let words = Python(model);
    let comments = Comments::new(root, model, "python/docs.md", &words);
    let mut templates = Templates::read(root, "python/templates");
    templates.0.add_filter("docstring", |of: Serde<Comment>, indent| docstring(of.0, indent));
    templates.0.add_filter("lines", |of: Serde<Comment>, width| laid_out(of.0, width));
    let calls = Calls { model };
    let host = Host { model, comments: &comments, templates: &templates, calls };

    let mut classes = Classes::new();
    host.module("_native.pyi", &output.text(&format!("{FOLDER}/_native.pyi")), &mut classes);
    let modules = root.join("python/modules").read_dir().expect("it can be read");
    let modules = modules.map(|entry| entry.expect("it can be read").file_name());
    let modules = modules.map(|name| name.to_string_lossy().into_owned()).collect::<BTreeSet<_>>();
    let texts = modules.into_iter().map(|module| {
        let text = output.text(&format!("python/modules/{module}"));
        let text = host.module(&module, &text, &mut classes);
        (module, text)
    });
    for (module, text) in texts.collect::<Vec<_>>() {
        let text = host.with_stubs(&text, &classes);
        output.add(&format!("{FOLDER}/{module}"), blocking(&text));
        output.add(&format!("{FOLDER}/aio/{module}"), text);
    }
    let views = host.views(&classes);
    for file in ["errors.py", "records.py", "_fields.pyi"] {
        output.add(&format!("{FOLDER}/{file}"), templates.render(file, &views));
    }
    for file in ["records.rs", "classes.rs", "handles.rs"] {
        output.add_rust(&format!("python/src/generated/{file}"), templates.render(file, &views));
    }
    comments.overlay.finish(output);
}

/// The methods of each class that are generated.
type Classes = BTreeMap<String, Vec<Signature>>;

struct Host<'a> {
    model: &'a Model,
    comments: &'a Comments<'a>,
    templates: &'a Templates,
    calls: Calls<'a>,
}

impl Host<'_> {
    fn views(&self, classes: &Classes) -> Value {
        let error = |error: &ErrorKind| {
            let (name, text, code) = (&error.ident, &error.name, error.code);
            let comment = self.said(&format!("client.{name}"));
            context! { name, text, code, retry => error.retry.to_lowercase(), comment }
        };
        let handle = |(key, methods): (&String, &Vec<Signature>)| {
            let calls = methods.iter();
            let calls = calls.map(|of| self.calls.call(key, of, self.comment(key, of)));
            let is_handle = self.model.is(key, Kind::Handle);
            let calls = calls.collect::<Vec<_>>();
            context! { name => class_name(key), path => rust_path(key), is_handle, calls }
        };
        let mut enums = BTreeMap::new();
        let takes = |of: &&Struct| matches!(of.kind, Kind::Handle | Kind::Options);
        for of in self.model.types.values().filter(takes) {
            let set = of.settings.iter().flat_map(|of| &of.params);
            for param in of.methods.iter().flat_map(|of| &of.params).chain(set) {
                enums.extend(match &param.ty {
                    Type::Named(key) if !IN_URLS.contains(&&**key) => {
                        self.model.enums.get_key_value(key)
                    }
                    _ => None,
                });
            }
        }
        let is_generated = |key: &&str| {
            let is_class = CLASSES.iter().any(|of| of.0 == *key);
            !BY_HAND.contains(key) && !is_class && !self.model.texts.contains(*key)
        };
        let records = self.model.returned().into_iter().filter(is_generated);
        let records = records.map(|key| self.record(key, None)).collect::<Vec<_>>();
        let enums = enums.into_iter().map(|(key, of)| {
            let names = of.variants.iter().map(|(name, _)| name.clone());
            let variants = names.zip(of.words()).collect::<Vec<_>>();
            context! { path => rust_path(key), variants }
        });
        context! {
            errors => self.model.errors.iter().map(error).collect::<Vec<_>>(),
            records,
            dependency => self.record("tasks.Dependency", None),
            classes => CLASSES.map(|of| self.record(of.0, Some(of))).to_vec(),
            handles => classes.iter().map(handle).collect::<Vec<_>>(),
            enums => enums.collect::<Vec<_>>(),
            held => HELD.map(class_name).to_vec(),
        }
    }

    fn said(&self, key: &str) -> Value {
        Value::from(Serde(self.comments.of(key, &[])))
    }

    /// What is said of a field, and if it is a time, that it is in seconds.
    fn said_of_field(&self, key: &str, ty: &Type) -> Value {
        let mut comment = self.comments.of(key, &[]);
        let inner = if let Type::Option(inner) = ty { inner } else { ty };
        let text = comment.as_mut().and_then(|of| of.text.first_mut());
        if let (Type::Duration, Some(text)) = (inner, text)
            && let Some(end) = text.find(['.', ',', ';', ':']).filter(|_| !text.contains("seconds"))
        {
            text.insert_str(end, ", in seconds");
        }
        Value::from(Serde(comment))
    }

    /// A record; of a class of the native half, those fields first that are positional, and then the one that
    /// is JSON.
    fn record(&self, key: &str, class: Option<(&str, usize, usize, &str)>) -> Value {
        let record = &self.model.types[key];
        let (_, positional, needed, json) = class.unwrap_or_default();
        let mut fields: Vec<_> = record.fields_and_getters().into_iter().enumerate().collect();
        if class.is_some() {
            fields.truncate(record.fields.len());
            fields.sort_by_key(|(index, field)| (*index >= positional, field.name != json));
        }
        let bytes = if Bytes::of(key) == Bytes::Always { "bytes" } else { "AnyStr" };
        let annotation = |ty: &Type| self.annotation(ty).replace("AnyStr", bytes);
        let is_generic = self.is_generic(key);
        let view = |(index, field): (usize, Field)| {
            let name = &field.name;
            context! {
                name,
                annotation => annotation(&field.ty),
                comment => self.said_of_field(&format!("{key}.{name}"), &field.ty),
                is_getter => index >= record.fields.len(),
                is_optional => matches!(field.ty, Type::Option(_)),
                // The name of the same as a datetime, of a time.
                at => name.strip_suffix("_ms").unwrap_or(""),
                bits => if let Type::Number(bits) = field.ty { bits } else { 64 },
                is_positional => index < positional,
                is_needed => index < needed,
                is_json => name == json,
            }
        };
        let fields = fields.into_iter().map(view).collect::<Vec<_>>();
        let (name, path) = (class_name(key), rust_path(key));
        context! { name, path, comment => self.said(key), is_generic, fields }
    }

    /// Whether bytes are in it, which are bytes or text as the client's option wants them.
    fn is_generic(&self, key: &str) -> bool {
        let of = |record: &Struct| {
            record.fields.iter().any(|of| self.annotation(&of.ty).contains("AnyStr"))
        };
        Bytes::of(key) != Bytes::Always && self.model.types.get(key).is_some_and(of)
    }

    fn annotation(&self, ty: &Type) -> String {
        match ty {
            Type::Unit => "None".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Number(_) | Type::Size | Type::Signed => "int".to_owned(),
            Type::Float | Type::Duration => "float".to_owned(),
            Type::Text => "str".to_owned(),
            Type::Bytes => "AnyStr".to_owned(),
            Type::Headers => "dict[str, bytes]".to_owned(),
            Type::Option(inner) => format!("{} | None", self.annotation(inner)),
            Type::List(inner) => format!("list[{}]", self.annotation(inner)),
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.annotation(part)).collect::<Vec<_>>();
                format!("tuple[{}]", parts.join(", "))
            }
            Type::Named(key) => match key.as_str() {
                key if self.model.texts.contains(key) => "str".to_owned(),
                "shuffle.Message" => "Message[AnyStr]".to_owned(),
                "tasks.Task" | "tasks.Doc" => format!("{}[Any]", class_name(key)),
                _ if self.is_generic(key) => format!("{}[AnyStr]", class_name(key)),
                _ => class_name(key).to_owned(),
            },
            Type::Other(text) => panic!("Python has no {text}"),
        }
    }

    /// A module with the core's comments in place of each `core` that is a docstring, and with the bodies of the
    /// methods that have none. What follows `# core` in the stub of a class has no method in Python.
    fn module(&self, file: &str, source: &str, classes: &mut Classes) -> String {
        let is_stub = file.ends_with(".pyi");
        let lines: Vec<_> = source.lines().collect();
        let (mut out, mut key, mut at) = (String::new(), String::new(), 0);
        let (mut is_core, mut last) = (false, None);
        while at < lines.len() {
            let line = lines[at];
            if let Some(name) = line.strip_prefix("class ") {
                let name = name.split(['(', ':']).next().unwrap_or("");
                (key, is_core) = (key_of(self.model, name), !is_stub);
            }
            is_core |= line == "    # core";
            let before = lines[at.saturating_sub(1)].trim();
            let found = Signature::read(&lines[at..]);
            let count = found.as_ref().map_or(1, |(_, count)| *count);
            let text = lines[at..at + count].join("\n");
            at += count;
            out += &match (found, line.trim_start()) {
                (Some((mut of, _)), _) => {
                    (of.is_property, of.is_native) = (before == "@property", is_stub);
                    let is_made = of.is_straight && is_core && before != "@overload";
                    let text = match is_made && !is_stub {
                        true => self.written(text.trim_end_matches(" ..."), &key, &of),
                        false => text + "\n",
                    };
                    if is_made {
                        classes.entry(key.clone()).or_default().push(of.clone());
                    }
                    last = Some(of);
                    text
                }
                (_, "\"\"\"core\"\"\"") => {
                    docstring(self.comment(&key, last.as_ref().expect("a method has it")), 8) + "\n"
                }
                (_, of) if of.starts_with("_native: ") && !lines[at - 2].contains("__slots__") => {
                    format!(
                        "    __slots__ = (\"_native\",)\n\n    def __init__(self, {}) -> None:\n        self.{of} = native\n",
                        &of[1..]
                    )
                }
                _ => text + "\n",
            };
        }
        out
    }

    /// A method that only passes its arguments on.
    fn written(&self, head: &str, key: &str, signature: &Signature) -> String {
        let returns = signature.returns.trim_end_matches(" | None");
        let is_optional = returns != signature.returns;
        let class = returns.split('[').next().unwrap_or("");
        let is_handle = self.model.is(&key_of(self.model, class), Kind::Handle);
        let wrapper = if is_handle || class == "dict" { class } else { "" };
        let (comment, signature) = (Serde(self.comment(key, signature)), Serde(signature));
        let values = context! { head, comment, signature, wrapper, is_optional };
        self.templates.render("method.py", values)
    }

    /// A stub with the methods of the native half in place of each `# methods`.
    fn with_stubs(&self, text: &str, classes: &Classes) -> String {
        let (mut out, mut class) = (String::new(), "");
        for line in text.lines() {
            let name = line.strip_prefix("class ").and_then(|rest| rest.split(['(', ':']).next());
            class = name.unwrap_or(class);
            let methods = classes.iter().find(|(key, _)| class_name(key) == class);
            out += &match (line, methods) {
                ("    # methods", Some((_, methods))) => {
                    self.templates.render("stubs.pyi", context! { methods => Serde(methods) })
                }
                _ => line.to_owned() + "\n",
            };
        }
        out
    }

    /// The comment of a method: what it does, what its parameters are, and its errors.
    fn comment(&self, owner: &str, signature: &Signature) -> Comment {
        let method = self.calls.method(owner, &signature.name);
        let name = method.map_or(&signature.name, |method| &method.name);
        let params = signature
            .params
            .iter()
            .map(|of| (self.calls.core_name(owner, &signature.name, &of.name), &*of.name));
        let params = params.collect::<Vec<_>>();
        let mut comment = self.comments.of(&format!("{owner}.{name}"), &params).unwrap_or_default();
        let queue = owner.split('.').next().unwrap_or("");
        for name in params.iter().map(|(_, name)| *name) {
            let own = self.comments.overlay.of(&format!("{queue}.{name}"));
            if let Some(text) = own.paragraphs.first() {
                let (name, text) = (name.to_owned(), self.comments.inline(owner, text));
                comment.params.push(ParamDocs { name, text, ..ParamDocs::default() });
            }
        }
        comment.params.sort_by_key(|of| params.iter().position(|(_, name)| *name == of.name));
        comment
    }
}

/// A comment in lines; items of lists stand close together.
fn laid_out(comment: Comment, width: usize) -> Vec<String> {
    let (mut out, mut was_item) = (Vec::new(), false);
    let examples = comment.examples.clone();
    for text in paragraphs(comment) {
        let is_item = text.starts_with("- ") || text.starts_with(':');
        if !(out.is_empty() || is_item && was_item) {
            out.push(String::new());
        }
        was_item = is_item;
        for (line, words) in wrap(&text, width).into_iter().enumerate() {
            out.push(if is_item && line > 0 { format!("  {words}") } else { words });
        }
    }
    for example in &examples {
        out.push(String::new());
        out.extend(example.lines().map(str::to_owned));
    }
    out
}

fn docstring(mut comment: Comment, indent: usize) -> String {
    comment.text.first_mut().expect("each item has a comment").insert_str(0, "\"\"\"");
    let (space, lines) = (" ".repeat(indent), laid_out(comment, 98 - indent));
    let lines: Vec<_> = lines
        .iter()
        .map(|line| match &**line {
            "" => String::new(),
            line => format!("{space}{line}"),
        })
        .collect();
    match &lines[..] {
        [line] => format!("{line}\"\"\""),
        lines => format!("{}\n{space}\"\"\"", lines.join("\n")),
    }
}

/// All that is said of a method.
fn paragraphs(comment: Comment) -> Vec<String> {
    let as_for = |text: String, before: &str| match text.starts_with("As :") {
        true => format!("{before}as for{}", &text[2..]),
        false => text,
    };
    let text = comment.text.into_iter().map(|text| as_for(text, "Delivery is "));
    let text = text.map(|text| text.split(' ').map(value).collect::<Vec<_>>().join(" "));
    let params = comment.params.into_iter().map(|param| {
        let end = if param.is_time { param.text.find(['.', ';']) } else { None };
        let (text, rest) = param.text.split_at(end.unwrap_or(param.text.len()));
        let unit = match (param.is_time, &*param.name) {
            (true, "wait") if !param.has_end => ", in seconds, where ``math.inf`` is forever",
            (true, _) => ", in seconds",
            _ => "",
        };
        format!(":param {}: {text}{unit}{rest}", param.name)
    });
    let errors: Vec<_> = comment
        .errors
        .into_iter()
        .map(|error| {
            let between = match error.when.starts_with("those of") {
                true => "; ",
                false => " ",
            };
            let text = format!("{}{between}{}", error.classes.join(" and "), error.when);
            as_for(sentence_part(text.trim_start()), "")
        })
        .collect();
    let errors = (!errors.is_empty()).then(|| format!(":raises: {}.", errors.join("; ")));
    text.chain(params).chain(errors).collect()
}

/// A word of a text, which can be one of Python's values.
fn value(word: &str) -> String {
    match word.split_at(word.find(['.', ',', ';', ':']).unwrap_or(word.len())) {
        ("false", rest) => format!("False{rest}"),
        ("true", rest) => format!("True{rest}"),
        _ => word.to_owned(),
    }
}

/// A sentence, to stand after a colon.
fn sentence_part(text: &str) -> String {
    match text.strip_prefix("Only ") {
        Some(rest) => format!("only {rest}"),
        None => text.to_owned(),
    }
}

pub(crate) fn class_name(key: &str) -> &str {
    let name = NAMES.iter().find(|(of, _)| *of == key);
    name.map_or_else(|| own_name(key), |(_, name)| name)
}

/// What a class is in the core; nothing if it is not there.
fn key_of(model: &Model, class: &str) -> String {
    model.key_of(|key| class_name(key) == class).unwrap_or_default()
}

/// How Python's docs say things.
struct Python<'a>(&'a Model);

impl Words for Python<'_> {
    fn none(&self) -> String {
        "None".to_owned()
    }

    fn error(&self, error: &ErrorKind) -> String {
        format!(":class:`~millpond.{}Error`", error.ident)
    }

    fn item(&self, key: &str, text: &str) -> String {
        let is_public = self.0.is(key, Kind::Handle) || self.0.is(key, Kind::Record);
        match is_public {
            true => format!(":class:`{}`", class_name(key)),
            false => self.code(text),
        }
    }

    fn member(&self, owner: &str, key: &str, member: &str, text: &str) -> String {
        let of = self.0.types.get(key).filter(|of| of.kind == Kind::Handle);
        let is_method = of.is_some_and(|of| of.methods.iter().any(|one| one.name == member));
        match (text.rsplit("::").next() == Some(member), is_method) {
            (true, true) if owner == key => format!(":meth:`{member}`"),
            (true, true) => format!(":meth:`{}.{member}`", class_name(key)),
            (true, false) => self.code(member),
            (false, _) => text.to_owned(),
        }
    }

    fn code(&self, text: &str) -> String {
        match text {
            "true" => "True".to_owned(),
            "false" => "False".to_owned(),
            _ => match text.split_once("::") {
                Some((_, variant)) => format!("``\"{}\"``", variant.to_lowercase()),
                None => format!("``{text}``"),
            },
        }
    }
}
