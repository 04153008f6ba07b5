//! Python: the blocking modules, the classes of errors, records and what reads and writes them.

use std::collections::BTreeSet;
use std::path::Path;

use minijinja::value::Serde;
use serde::Serialize;

use crate::comments::{Comment, Comments, ParamDocs};
use crate::docs::{Words, wrap};
use crate::model::{ErrorKind, Field, Kind, Model, Struct, Type};
use crate::output::Output;
use crate::python_blocking::blocking;
use crate::python_calls::{Call, Calls, Signature};
use crate::surface::Surface;
use crate::templates::Templates;

const FOLDER: &str = "python/python/millpond";

/// The modules of asyncio that those of blocking callers are made from.
const MODULES: [&str; 7] = [
    "_handles.pyi",
    "client.py",
    "ick.py",
    "shuffle.py",
    "shuffle_consumer.py",
    "task_worker.py",
    "tasks.py",
];

/// Errors that are one of Python's own too.
const BUILTINS: [(&str, &str); 8] = [
    ("InvalidArgument", "ValueError"),
    ("InvalidUrl", "ValueError"),
    ("ConnectionFailed", "ConnectionError"),
    ("ConnectionLost", "ConnectionError"),
    ("Timeout", "builtins.TimeoutError"),
    ("AuthenticationFailed", "PermissionError"),
    ("PermissionDenied", "PermissionError"),
    ("Storage", "OSError"),
];

/// Records that are classes of the native half: how many of their fields are positional, how many of these
/// have to be given, and the field that is JSON.
const CLASSES: [(&str, usize, usize, &str); 2] =
    [("tasks.Task", 3, 2, "value"), ("tasks.Doc", 5, 3, "content")];

/// Records that are written by hand.
const BY_HAND: [&str; 4] = ["ick.Entry", "ick.Stats", "shuffle.Message", "shuffle.Receipt"];

pub(crate) fn emit(root: &Path, model: &Model, surface: &Surface, output: &mut Output) {
    let words = Python(model);
    let comments = Comments::new(root, model, surface, "python/docs.md", &words);
    let host = Host { model, comments: &comments, calls: Calls { model, surface } };
    let mut templates = Templates::read(root, "python/templates");
    templates.0.add_filter("docstring", |Serde(comment): Serde<Comment>, indent| {
        docstring(comment, indent)
    });
    templates
        .0
        .add_filter("lines", |Serde(comment): Serde<Comment>, width| laid_out(comment, width));
    templates.0.add_filter("wrap", |text: &str, width| wrap(text, width));

    let mut classes = Vec::new();
    let native = output.text(&format!("{FOLDER}/_native.pyi"));
    host.module(&native, &mut classes);
    let modules = MODULES.map(|module| {
        let text = output.text(&format!("python/modules/{module}"));
        (module, host.module(&text, &mut classes))
    });
    for (module, text) in modules {
        let text = host.with_stubs(&text, &classes);
        output.add(&format!("{FOLDER}/{module}"), "#", blocking(&text));
        output.add(&format!("{FOLDER}/aio/{module}"), "#", text);
    }
    let views = host.views(&classes);
    for file in ["errors.py", "records.py", "_fields.pyi"] {
        output.add(&format!("{FOLDER}/{file}"), "#", templates.render(file, &views));
    }
    for file in ["records.rs", "classes.rs", "handles.rs"] {
        output.add_rust(&format!("python/src/generated/{file}"), templates.render(file, &views));
    }
    comments.overlay.finish();
}

/// What the templates get.
#[derive(Serialize)]
struct Views {
    errors: Vec<ErrorView>,
    records: Vec<RecordView>,
    dependency: RecordView,
    /// Records that are classes of the native half.
    classes: Vec<RecordView>,
    handles: Vec<HandleView>,
    enums: Vec<EnumView>,
}

#[derive(Serialize)]
struct ErrorView {
    name: String,
    text: String,
    code: u32,
    retry: String,
    builtin: String,
    comment: Comment,
}

#[derive(Serialize)]
struct RecordView {
    name: String,
    path: String,
    comment: Comment,
    is_generic: bool,
    fields: Vec<FieldView>,
}

#[derive(Default, Serialize)]
struct FieldView {
    name: String,
    annotation: String,
    /// What its getter in Rust returns.
    rust: &'static str,
    comment: Comment,
    is_getter: bool,
    is_optional: bool,
    /// The name of the same as a datetime, of a time.
    at: String,
    is_positional: bool,
    is_needed: bool,
    is_json: bool,
}

/// A class of the native half and its methods.
#[derive(Serialize)]
struct HandleView {
    name: String,
    path: String,
    is_handle: bool,
    calls: Vec<Call>,
}

#[derive(Serialize)]
struct EnumView {
    path: String,
    words: String,
    variants: Vec<(String, String)>,
}

/// A class and the methods of it that are generated.
type Class = (String, Vec<Signature>);

struct Host<'a> {
    model: &'a Model,
    comments: &'a Comments<'a>,
    calls: Calls<'a>,
}

impl Host<'_> {
    fn views(&self, classes: &[Class]) -> Views {
        let error = |error: &ErrorKind| {
            let builtin = BUILTINS.iter().find(|(name, _)| *name == error.ident);
            ErrorView {
                name: error.ident.clone(),
                text: error.name.clone(),
                code: error.code,
                retry: error.retry.to_lowercase(),
                builtin: builtin.map_or("", |(_, builtin)| builtin).to_owned(),
                comment: self.said(&format!("client.{}", error.ident)),
            }
        };
        let mut records = BTreeSet::new();
        for handle in self.model.types.values().filter(|of| of.kind == Kind::Handle) {
            handle.methods.iter().for_each(|method| self.reach(&method.returns, &mut records));
        }
        let handle = |(key, methods): &Class| {
            let calls = methods.iter();
            let calls = calls.map(|method| self.calls.call(key, method, self.comment(key, method)));
            HandleView {
                name: class_name(key).to_owned(),
                path: rust_path(key),
                is_handle: self.model.is(key, Kind::Handle),
                calls: calls.collect(),
            }
        };
        Views {
            errors: self.model.errors.iter().map(error).collect(),
            records: records.into_iter().map(|key| self.record(key, None)).collect(),
            dependency: self.record("tasks.Dependency", None),
            classes: CLASSES.iter().map(|of| self.record(of.0, Some(of))).collect(),
            handles: classes.iter().map(handle).collect(),
            enums: self.enums(classes),
        }
    }

    fn said(&self, key: &str) -> Comment {
        self.comments.of(key, &[]).unwrap_or_default()
    }

    /// The records that a result holds, and those that these hold.
    fn reach<'b>(&'b self, ty: &'b Type, all: &mut BTreeSet<&'b str>) {
        match ty {
            Type::Option(inner) | Type::List(inner) => self.reach(inner, all),
            Type::Tuple(parts) => parts.iter().for_each(|part| self.reach(part, all)),
            Type::Named(key) => {
                let is_known = BY_HAND.contains(&&**key) || CLASSES.iter().any(|of| of.0 == key);
                let is_record = self.model.is(key, Kind::Record) && !key.starts_with("step.");
                if is_known || !is_record || !all.insert(key) {
                    return;
                }
                let record = &self.model.types[key];
                record.fields.iter().for_each(|field| self.reach(&field.ty, all));
            }
            _ => {}
        }
    }

    /// A record; of a class of the native half, those fields first that are positional, and then the one that
    /// is JSON.
    fn record(&self, key: &str, class: Option<&(&str, usize, usize, &str)>) -> RecordView {
        let record = &self.model.types[key];
        let (_, positional, needed, json) = class.copied().unwrap_or_default();
        let all = match class {
            Some(_) => record.fields.clone(),
            None => record.fields_and_getters(),
        };
        let view = |(index, field): (usize, &Field)| FieldView {
            annotation: annotation(&field.ty),
            rust: match &field.ty {
                Type::Text => "&str",
                Type::Option(inner) if **inner == Type::Text => "Option<&str>",
                Type::Option(_) => "Option<u64>",
                Type::Number(8) => "u8",
                Type::Number(32) => "u32",
                Type::Bool => "bool",
                _ => "u64",
            },
            comment: self.said(&format!("{key}.{}", field.name)),
            is_getter: index >= record.fields.len(),
            is_optional: matches!(field.ty, Type::Option(_)),
            at: field.name.strip_suffix("_ms").unwrap_or("").to_owned(),
            is_positional: index < positional,
            is_needed: index < needed,
            is_json: field.name == json,
            name: field.name.clone(),
        };
        let mut fields: Vec<_> = all.iter().enumerate().map(view).collect();
        fields.sort_by_key(|field| (!field.is_positional, class.is_some() && !field.is_json));
        RecordView {
            name: class_name(key).to_owned(),
            path: rust_path(key),
            comment: self.said(key),
            is_generic: is_generic(record),
            fields,
        }
    }

    /// A module with the core's comments in place of each `core` at the start of a docstring, and with the bodies
    /// of the methods that have none. What follows `# core` in the stub of a class has no method in Python.
    fn module(&self, source: &str, classes: &mut Vec<Class>) -> String {
        let lines: Vec<_> = source.lines().collect();
        let (mut out, mut class, mut method) = (String::new(), "", None);
        let (mut is_stub, mut at) = (!source.contains("\"\"\""), 0);
        while at < lines.len() {
            let line = lines[at];
            if let Some(name) = line.strip_prefix("class ") {
                class = name.split(['(', ':']).next().unwrap_or("");
                is_stub = !source.contains("\"\"\"");
                method = None;
            }
            is_stub &= line != "    # core";
            let key =
                || self.model.resolve("", class).unwrap_or_else(|| panic!("there is no {class}"));
            if let Some((mut signature, count)) = Signature::read(&lines[at..]) {
                let decorator = lines[at - 1].trim();
                signature.is_property = decorator == "@property";
                signature.is_native = !source.contains("\"\"\"");
                let head = lines[at..at + count].join("\n");
                at += count;
                out += head.trim_end_matches(" ...");
                if signature.is_straight && !is_stub && decorator != "@overload" {
                    out += &match signature.is_native {
                        true => " ...\n".to_owned(),
                        false => {
                            "\n".to_owned()
                                + &self.docstring_of(&key(), &signature)
                                + &self.body(&signature)
                        }
                    };
                    match classes.iter_mut().find(|(of, _)| *of == key()) {
                        Some((_, all)) => all.push(signature),
                        None => classes.push((key(), vec![signature])),
                    }
                } else {
                    out += if head.ends_with(" ...") { " ...\n" } else { "\n" };
                    method = Some(signature);
                }
                continue;
            }
            at += 1;
            match (line.trim_start().strip_prefix("\"\"\"core"), &method) {
                (Some(end), Some(method)) => {
                    let docs = self.docstring_of(&key(), method);
                    // What is said for Python alone comes after it.
                    out += if end.is_empty() {
                        docs.trim_end_matches("        \"\"\"\n")
                    } else {
                        &docs
                    };
                }
                _ if line.starts_with("    _native: ") && !lines[at - 2].contains("__slots__") => {
                    let of = line.trim_start();
                    out += &format!(
                        "    __slots__ = (\"_native\",)\n\n    def __init__(self, {}) -> None:\n        self.{of} = native\n",
                        &of[1..]
                    );
                }
                _ => out = out + line + "\n",
            }
        }
        out
    }

    /// What a method does that only passes its arguments on.
    fn body(&self, signature: &Signature) -> String {
        let names: Vec<_> = signature.params.iter().map(|param| &*param.name).collect();
        let call = match signature.is_property {
            true => format!("self._native.{}", signature.name),
            false if names.len() > 4 => {
                let names = names.iter().map(|name| format!("            {name},\n"));
                format!("self._native.{}(\n{}        )", signature.name, names.collect::<String>())
            }
            false => format!("self._native.{}({})", signature.name, names.join(", ")),
        };
        let call = if signature.is_async { format!("await {call}") } else { call };
        let (returns, is_optional) = match signature.returns.strip_suffix(" | None") {
            Some(returns) => (returns, true),
            None => (&*signature.returns, false),
        };
        let class = returns.split('[').next().unwrap_or("");
        let is_wrapped =
            self.model.resolve("", class).is_some_and(|key| self.model.is(&key, Kind::Handle));
        let space = "        ";
        match (is_wrapped || class == "dict", is_optional) {
            (false, _) => format!("{space}return {call}\n"),
            (true, false) if call.contains('\n') => {
                format!("{space}native = {call}\n{space}return {class}(native)\n")
            }
            (true, false) => format!("{space}return {class}({call})\n"),
            (true, true) => format!(
                "{space}native = {call}\n{space}return None if native is None else {class}(native)\n"
            ),
        }
    }

    /// A stub with the methods of the native half in place of each `# methods`.
    fn with_stubs(&self, text: &str, classes: &[Class]) -> String {
        let (mut out, mut class) = (String::new(), "");
        for line in text.lines() {
            class = line
                .strip_prefix("class ")
                .and_then(|rest| rest.split(['(', ':']).next())
                .unwrap_or(class);
            if line != "    # methods" {
                out = out + line + "\n";
                continue;
            }
            let methods = classes.iter().find(|(key, _)| class_name(key) == class);
            let methods = methods.map_or(&[][..], |(_, methods)| methods);
            for method in methods.iter().filter(|method| !method.is_native) {
                let params = method
                    .params
                    .iter()
                    .map(|param| format!(", {}: {}", param.name, param.annotation));
                let returns =
                    method.returns.replace("dict[str, int]", "builtins.list[tuple[str, int]]");
                let property = if method.is_property { "    @property\n" } else { "" };
                let is_async = if method.is_async { "async " } else { "" };
                out += &format!(
                    "{property}    {is_async}def {}(self{}) -> {returns}: ...\n",
                    method.name,
                    params.collect::<String>()
                );
            }
        }
        out
    }

    /// The enums that arguments are.
    fn enums(&self, classes: &[Class]) -> Vec<EnumView> {
        let of_class = |(key, methods): &Class| -> Vec<&str> {
            methods.iter().flat_map(|method| self.calls.enums(key, method)).collect()
        };
        let keys: BTreeSet<_> = classes.iter().flat_map(of_class).collect();
        let of = |key: &str| {
            let variants = self.model.enums[key].variants.iter();
            let variants: Vec<_> =
                variants.map(|(name, _)| (name.clone(), name.to_lowercase())).collect();
            let words: Vec<_> =
                variants.iter().map(|(_, word)| format!("\\\"{word}\\\"")).collect();
            EnumView { path: rust_path(key), words: words.join(" or "), variants }
        };
        keys.into_iter().map(of).collect()
    }

    /// The comment of a method: what it does, what its parameters are, and its errors.
    fn comment(&self, owner: &str, signature: &Signature) -> Comment {
        let method = self.calls.method(owner, &signature.name);
        let name = method.map_or(&signature.name, |method| &method.name);
        let params: Vec<_> = signature
            .params
            .iter()
            .map(|param| {
                let core = self.calls.core_name(&param.name);
                let is_declared =
                    method.is_some_and(|of| of.params.iter().any(|of| of.name == core));
                (if is_declared { core } else { &*param.name }, &*param.name)
            })
            .collect();
        let mut comment = self.comments.of(&format!("{owner}.{name}"), &params).unwrap_or_default();
        let queue = owner.split('.').next().unwrap_or("");
        for param in &signature.params {
            let own = self.comments.overlay.of(&format!("{queue}.{}", param.name));
            if let Some(text) = own.paragraphs.first() {
                let text = self.comments.inline(owner, text);
                let name = param.name.clone();
                comment.params.push(ParamDocs { name, text, ..ParamDocs::default() });
            }
        }
        comment
            .params
            .sort_by_key(|docs| signature.params.iter().position(|param| param.name == docs.name));
        comment
    }

    fn docstring_of(&self, owner: &str, signature: &Signature) -> String {
        docstring(self.comment(owner, signature), 8) + "\n"
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
    let params = comment.params.into_iter().map(|param| {
        let end = if param.is_time { param.text.find(['.', ';']) } else { None };
        let (text, rest) = param.text.split_at(end.unwrap_or(param.text.len()));
        let unit = match (param.is_time, &*param.name) {
            (true, "wait") => ", in seconds, where ``math.inf`` is forever",
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
            as_for(text.trim_start().to_owned(), "")
        })
        .collect();
    let errors = (!errors.is_empty()).then(|| format!(":raises: {}.", errors.join("; ")));
    text.chain(params).chain(errors).collect()
}

/// Whether it holds bytes, which are str for a client that decodes them.
fn is_generic(record: &Struct) -> bool {
    record.fields.iter().any(|field| annotation(&field.ty).contains("AnyStr"))
}

pub(crate) fn rust_path(key: &str) -> String {
    match key.split_once('.') {
        Some(("client", name)) => format!("millpond::{name}"),
        Some((queue, name)) => format!("millpond::{queue}::{name}"),
        None => key.to_owned(),
    }
}

fn class_name(key: &str) -> &str {
    match key {
        "shuffle.Stats" => "ShuffleStats",
        _ => key.rsplit('.').next().unwrap_or(key),
    }
}

fn annotation(ty: &Type) -> String {
    match ty {
        Type::Unit => "None".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Number(_) | Type::Signed => "int".to_owned(),
        Type::Float | Type::Duration => "float".to_owned(),
        Type::Text => "str".to_owned(),
        Type::Bytes => "AnyStr".to_owned(),
        Type::Option(inner) => format!("{} | None", annotation(inner)),
        Type::List(inner) => format!("list[{}]", annotation(inner)),
        Type::Tuple(parts) => {
            format!("tuple[{}]", parts.iter().map(annotation).collect::<Vec<_>>().join(", "))
        }
        Type::Named(key) => match key.as_str() {
            "step.StreamId" => "str".to_owned(),
            "shuffle.Message" => "Message[AnyStr]".to_owned(),
            "tasks.Task" | "tasks.Doc" => format!("{}[Any]", class_name(key)),
            _ => class_name(key).to_owned(),
        },
        Type::Other(text) => panic!("Python has no {text}"),
    }
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
