//! Python: the blocking modules, the classes of errors, records and what reads and writes them.

use std::fmt::Write as _;
use std::path::Path;

use crate::docs::{Block, Docs, Renderer, Words, wrap};
use crate::model::{ErrorKind, Field, Kind, Model, Struct, Type};
use crate::output::Output;
use crate::overlay::Overlay;
use crate::python_blocking::blocking;
use crate::surface::Surface;

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

/// Records that calls return, in an order in which each comes after what it holds.
const RECORDS: [&str; 16] = [
    "ick.Added",
    "client.Recovery",
    "shuffle.StreamStats",
    "shuffle.Stats",
    "shuffle.Reclaimed",
    "shuffle.DeadLetter",
    "tasks.TaskId",
    "tasks.DocId",
    "tasks.Modified",
    "tasks.Renewed",
    "tasks.Position",
    "tasks.TaskPage",
    "tasks.DocPosition",
    "tasks.DocPage",
    "tasks.QueueStats",
    "tasks.NamespaceStats",
];

/// Records that are classes of the native half: how many of their fields are positional, how many of these
/// have to be given, and the field that is JSON.
const CLASSES: [(&str, usize, usize, &str); 2] =
    [("tasks.Task", 3, 2, "value"), ("tasks.Doc", 5, 3, "content")];

pub(crate) fn emit(root: &Path, model: &Model, surface: &Surface, output: &mut Output) {
    let overlay = Overlay::read(root, "python/docs.md");
    let host = Host { model, surface, overlay: &overlay };
    for module in MODULES {
        let path = root.join("python/modules").join(module);
        let source = std::fs::read_to_string(path).expect("a module can be read");
        let documented = host.documented(&source);
        output.add(&format!("{FOLDER}/{module}"), "#", blocking(&documented));
        output.add(&format!("{FOLDER}/aio/{module}"), "#", documented);
    }
    output.add(&format!("{FOLDER}/errors.py"), "#", host.errors());
    output.add(&format!("{FOLDER}/records.py"), "#", host.records());
    output.add(&format!("{FOLDER}/_fields.pyi"), "#", host.stubs());
    output.add_rust("python/src/generated/records.rs", host.writers());
    output.add_rust("python/src/generated/classes.rs", host.classes());
    overlay.finish();
}

struct Host<'a> {
    model: &'a Model,
    surface: &'a Surface,
    overlay: &'a Overlay,
}

impl Host<'_> {
    fn errors(&self) -> String {
        let names: Vec<_> =
            self.model.errors.iter().map(|error| format!("{}Error", error.ident)).collect();
        let mut sorted = names.clone();
        sorted.push("MillpondError".to_owned());
        sorted.sort();
        let listed = sorted.iter().fold(String::new(), |all, name| all + "    \"" + name + "\",\n");
        let mut out = include_str!("python_errors.py").replace("{names}", &listed);
        for error in &self.model.errors {
            let builtin = BUILTINS.iter().find(|(name, _)| *name == error.ident);
            let builtin = builtin.map_or(String::new(), |(_, builtin)| format!(", {builtin}"));
            let key = format!("client.ErrorKind.{}", error.ident);
            let _ = write!(
                out,
                "\n\nclass {}Error(MillpondError{builtin}):\n{}\n    code = {}\n    name = \"{}\"\n    retry = \"{}\"\n",
                error.ident,
                self.docstring(4, "client.ErrorKind", &key, &error.docs),
                error.code,
                error.name,
                error.retry.to_lowercase()
            );
            if error.ident == "Dependency" {
                let record = &self.model.types["tasks.Dependency"];
                for field in record.fields_and_getters() {
                    self.attribute(&mut out, "tasks.Dependency", &field);
                }
                out.push_str(DEPENDENCY);
            }
        }
        out + "\n\nCLASSES: dict[int, type[MillpondError]] = {\n    kind.code: kind\n    for kind in (\n"
            + &names.iter().fold(String::new(), |all, name| all + "        " + name + ",\n")
            + "    )\n}\n"
    }

    fn records(&self) -> String {
        let mut out = String::from(include_str!("python_records.py"));
        let names: Vec<_> = RECORDS.iter().map(|key| class_name(key)).collect();
        let mut sorted = names.clone();
        sorted.sort();
        let listed = sorted.iter().fold(String::new(), |all, name| all + "    \"" + name + "\",\n");
        let _ = write!(out, "\n__all__ = [\n{listed}]\n");
        for key in RECORDS {
            let record = &self.model.types[key];
            let all = record.fields_and_getters();
            let (head, name) = match is_generic(record) {
                true => {
                    ("@dataclass(frozen=True)\n", format!("{}(Generic[AnyStr])", class_name(key)))
                }
                false => ("", format!("{}(NamedTuple)", class_name(key))),
            };
            let docs = self.docstring(4, key, key, &record.docs);
            let _ = write!(out, "\n\n{head}class {name}:\n{docs}\n");
            all.iter().for_each(|field| self.attribute(&mut out, key, field));
            for field in all.iter().filter(|field| field.name.ends_with("_ms")) {
                let (ms, name) = (&field.name, datetime(&field.name));
                let _ = write!(
                    out,
                    "\n    @property\n    def {name}(self) -> datetime.datetime:\n        \"\"\"The same as ``{ms}``, as a datetime in UTC.\"\"\"\n        return _EPOCH + datetime.timedelta(milliseconds=self.{ms})\n"
                );
            }
        }
        out
    }

    /// A field of a class, with its docs.
    fn attribute(&self, out: &mut String, owner: &str, field: &Field) {
        let docs = self.docstring(4, owner, &format!("{owner}.{}", field.name), &field.docs);
        let _ = write!(out, "    {}: {}\n{docs}", field.name, annotation(&field.ty));
    }

    /// What the native half makes of records.
    fn writers(&self) -> String {
        let mut out = String::from(
            "//! Records as Python has them.\n\nuse pyo3::prelude::*;\nuse pyo3::types::{PyList, PyTuple};\n\nuse crate::to_python::{ToPython, class, data_class, named_tuple};\n",
        );
        for key in RECORDS.into_iter().chain(["tasks.Dependency"]) {
            let record = &self.model.types[key];
            let values = record.fields_and_getters().iter().fold(String::new(), |all, field| {
                all + &format!("{}.to_python(py, text)?,", field.name)
            });
            let methods = record.getters().fold(String::new(), |all, method| {
                all + &format!("let {0} = self.{0}();\n", method.name)
            });
            let names =
                record.fields.iter().fold(String::new(), |all, field| all + &field.name + ", ");
            let made = match key {
                "tasks.Dependency" => format!("Ok(PyList::new(py, [{values}])?.into_any())"),
                _ if is_generic(record) => {
                    let named = record.fields.iter().fold(String::new(), |all, field| {
                        all + &format!("(\"{0}\", {0}.to_python(py, text)?),", field.name)
                    });
                    format!("data_class(class!(py, \"{}\"), [{named}])", class_name(key))
                }
                _ => format!(
                    "named_tuple(class!(py, \"{}\"), PyTuple::new(py, [{values}])?)",
                    class_name(key)
                ),
            };
            let path = rust_path(key);
            let _ = write!(
                out,
                "\nimpl ToPython for {path} {{\nfn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {{\n{methods}let Self {{ {names}.. }} = self;\n{made}\n}}\n}}\n"
            );
        }
        out
    }

    /// The constructors and getters of the native classes.
    fn classes(&self) -> String {
        let mut out = include_str!("python_classes.rs.in").to_owned();
        for (key, positional, needed, json) in CLASSES {
            let record = &self.model.types[key];
            let [mut signature, mut shown, mut params, mut values, mut getters, mut named] =
                [const { String::new() }; 6];
            for (index, field) in in_order(record, positional, json).enumerate() {
                let name = &*field.name;
                let star = if index == positional { "*, " } else { "" };
                let (default, text, given) = match (name == json, index < needed) {
                    (true, _) => (" = Given(None)", "=millpond.UNSET", "Given<'_>"),
                    (_, true) => ("", "", "&Bound<'_, PyAny>"),
                    _ => (" = None", "=None", "Option<&Bound<'_, PyAny>>"),
                };
                let names = if name == json { vec![name, "json"] } else { vec![name] };
                signature += star;
                shown += star;
                for name in &names {
                    signature += &format!("{name}{default}, ");
                    shown += &format!("{name}{text}, ");
                    params += &format!("{name}: {given}, ");
                }
                values += &match (name == json, index < needed) {
                    (true, _) => format!("{name}: json::read(py, {name:?}, {name}, json)?.text(),"),
                    (_, true) => format!("{name}: required({name:?}, {name})?,"),
                    _ => format!("{name}: given({name:?}, {name})?,"),
                };
                if name != json {
                    self.getter(&mut getters, key, field);
                }
                if index >= positional {
                    let name = names[names.len() - 1];
                    named += &format!("named.set_item({name:?}, self.{name}())?;");
                }
            }
            let first = record.fields[..positional].iter();
            let first: String = first.map(|field| format!("self.{}(), ", field.name)).collect();
            let (signature, shown) =
                (signature.trim_end_matches(", "), wrap(shown.trim_end_matches(", "), 80));
            let _ = write!(
                out,
                "\n#[pymethods]\nimpl {name} {{\n#[new]\n\
                 #[pyo3(signature = ({signature}), text_signature = \"({shown})\")]\n\
                 #[expect(clippy::too_many_arguments, reason = \"they are keywords\")]\n\
                 fn of(py: Python<'_>, {params}) -> PyResult<Self> {{\n\
                 Ok(Self::new({path} {{ {values} }}))\n}}\n{getters}\n\
                 fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {{\n\
                 let named = PyDict::new(py);\n{named}\n\
                 Ok((({first}).into_pyobject(py)?, named))\n}}\n}}\n",
                name = record.name,
                path = rust_path(key),
                shown = shown.join(" \\\n "),
            );
        }
        out
    }

    fn getter(&self, out: &mut String, owner: &str, field: &Field) {
        let name = &field.name;
        let (returns, read) = match &field.ty {
            Type::Text => ("&str", format!("&self.core.{name}")),
            Type::Option(inner) if **inner == Type::Text => {
                ("Option<&str>", format!("self.core.{name}.as_deref()"))
            }
            Type::Option(_) => ("Option<u64>", format!("self.core.{name}")),
            Type::Number(8) => ("u8", format!("self.core.{name}")),
            Type::Number(32) => ("u32", format!("self.core.{name}")),
            Type::Bool => ("bool", format!("self.core.{name}")),
            _ => ("u64", format!("self.core.{name}")),
        };
        let docs = self.paragraphs(owner, &format!("{owner}.{name}"), &field.docs).join("\n\n");
        let docs =
            wrap(&docs, 96).iter().fold(String::new(), |all, line| all + "/// " + line + "\n");
        let _ = write!(out, "\n{docs}#[getter]\nfn {name}(&self) -> {returns} {{\n{read}\n}}\n");
        if name.ends_with("_ms") {
            let (end, returns, call) = match field.ty {
                Type::Option(_) => (
                    "; None for never",
                    "Option<Bound<'py, PyAny>>",
                    format!("self.core.{name}.map(|ms| when::from_ms(py, ms)).transpose()"),
                ),
                _ => ("", "Bound<'py, PyAny>", format!("when::from_ms(py, self.core.{name})")),
            };
            let _ = write!(
                out,
                "\n/// The same as ``{name}``, as a datetime in UTC{end}.\n#[getter]\nfn {}<'py>(&self, py: Python<'py>) -> PyResult<{returns}> {{\n{call}\n}}\n",
                datetime(name)
            );
        }
    }

    /// The same for type checkers.
    fn stubs(&self) -> String {
        let mut out = String::from(include_str!("python_fields.pyi"));
        for (key, positional, needed, json) in CLASSES {
            let record = &self.model.types[key];
            let (mut params, mut getters) = (String::new(), String::new());
            for (index, field) in in_order(record, positional, json).enumerate() {
                let (name, ty) = (&field.name, annotation(&field.ty));
                if index == positional {
                    params.push_str("        *,\n");
                }
                let mut getter = |name: &str, ty: &str| {
                    let _ = write!(getters, "    @property\n    def {name}(self) -> {ty}: ...\n");
                };
                if name == json {
                    let _ = write!(
                        params,
                        "        {name}: _Value | Unset = UNSET,\n        json: str | Unset | None = UNSET,\n"
                    );
                    getter(name, "_Value");
                    getter("json", "str | None");
                    continue;
                }
                let _ = match index < needed {
                    true => writeln!(params, "        {name}: {ty},"),
                    false => writeln!(
                        params,
                        "        {name}: {} | None = None,",
                        ty.replace(" | None", "")
                    ),
                };
                getter(name, &ty);
                if name.ends_with("_ms") {
                    getter(datetime(name), &ty.replace("int", "datetime.datetime"));
                }
            }
            let _ = write!(
                out,
                "\nclass {}Fields(Generic[_Value]):\n    def __new__(\n        cls,\n{params}    ) -> Self: ...\n    def __class_getitem__(cls, key: Any) -> GenericAlias: ...\n{getters}    def __getnewargs_ex__(self) -> Any: ...\n",
                record.name
            );
        }
        out
    }

    /// A module with the core's comments in place of each `core` at the start of a docstring.
    fn documented(&self, source: &str) -> String {
        let (mut out, mut class, mut method) = (String::new(), "", "");
        for line in source.lines() {
            let name = |after| line.split_once(after)?.1.split(['(', ':']).next();
            class = name("class ").filter(|_| line.starts_with("class")).unwrap_or(class);
            method = name("def ").unwrap_or(method);
            match line.trim_start().strip_prefix("\"\"\"core") {
                Some(end) => {
                    let docs = self.method(class, method);
                    // What is said for Python alone comes after it.
                    out += if end.is_empty() {
                        docs.trim_end_matches("        \"\"\"\n")
                    } else {
                        &docs
                    };
                }
                None => out = out + line + "\n",
            }
        }
        out
    }

    /// The docstring of a method: what it does, what its parameters are, and its errors.
    fn method(&self, class: &str, name: &str) -> String {
        let key = self.model.resolve("", class).unwrap_or_else(|| panic!("there is no {class}"));
        let methods = &self.model.types[&key].methods;
        let method = methods.iter().find(|method| method.name == name);
        let method = method.unwrap_or_else(|| panic!("{class} has no {name}"));
        let renderer = Renderer { model: self.model, words: &Python(self.model), owner: &key };
        let mut paragraphs = renderer.blocks(&method.docs.blocks);
        for text in renderer.blocks(method.docs.section("Delivery")) {
            paragraphs.push(text.replacen(
                "As ",
                "Delivery is as for ",
                usize::from(text.starts_with("As ")),
            ));
        }
        for param in &method.params {
            if let Some(words) = self.surface.of(&key, name, &param.name) {
                let unit = if param.ty == Type::Duration { ", in seconds" } else { "" };
                let text = renderer.inline(&words.docs);
                paragraphs.push(format!(":param {}: {text}{unit}", param.name));
            }
        }
        for text in renderer.blocks(method.docs.section("Errors")) {
            paragraphs.push(format!(
                ":raises: {}",
                text.replacen("As ", "as for ", usize::from(text.starts_with("As ")))
            ));
        }
        docstring(8, &paragraphs, &[])
    }

    /// The paragraphs of an item: the core's, and what the page has.
    fn paragraphs(&self, owner: &str, key: &str, docs: &Docs) -> Vec<String> {
        let note = self.overlay.of(key);
        let renderer = Renderer { model: self.model, words: &Python(self.model), owner };
        let own = match note.replaces {
            true => Vec::new(),
            false => renderer.text(docs),
        };
        let more =
            note.paragraphs.into_iter().map(|text| renderer.blocks(&[Block::Paragraph(text)]));
        own.into_iter().chain(more.flatten()).collect()
    }

    fn docstring(&self, indent: usize, owner: &str, key: &str, docs: &Docs) -> String {
        docstring(indent, &self.paragraphs(owner, key, docs), &self.overlay.of(key).examples)
    }
}

/// Paragraphs and examples as a docstring; items of lists stand close together.
fn docstring(indent: usize, paragraphs: &[String], examples: &[String]) -> String {
    let (space, mut out) = (" ".repeat(indent), String::new());
    let is_item = |text: &str| text.starts_with("- ") || text.starts_with(':');
    for (index, text) in paragraphs.iter().enumerate() {
        if index > 0 && !(is_item(text) && is_item(&paragraphs[index - 1])) {
            out.push('\n');
        }
        let quotes = if index == 0 { "\"\"\"" } else { "" };
        for (line, words) in wrap(&format!("{quotes}{text}"), 98 - indent).iter().enumerate() {
            let hang = if is_item(text) && line > 0 { "  " } else { "" };
            let _ = writeln!(out, "{space}{hang}{words}");
        }
    }
    for example in examples {
        let lines = example.lines().map(|line| format!("{space}{line}\n"));
        out = out + "\n" + &lines.collect::<String>();
    }
    match out.lines().count() {
        1 => out.trim_end().to_owned() + "\"\"\"\n",
        _ => out + &space + "\"\"\"\n",
    }
}

const DEPENDENCY: &str = "
    def __init__(
        self, message: str = \"\", operation: str = \"\", found: list[Any] | None = None
    ) -> None:
        super().__init__(message, operation)
        # In the order in which they are declared.
        for index, (name, kind) in enumerate(DependencyError.__annotations__.items()):
            setattr(self, name, found[index] if found else [] if kind.startswith(\"list\") else False)
";

/// Whether it holds bytes, which are str for a client that decodes them.
fn is_generic(record: &Struct) -> bool {
    record.fields.iter().any(|field| annotation(&field.ty).contains("AnyStr"))
}

/// The fields of a native class, those first that are positional, and then the one that is JSON.
fn in_order<'a>(
    record: &'a Struct,
    positional: usize,
    json: &'a str,
) -> impl Iterator<Item = &'a Field> {
    let (first, rest) = record.fields.split_at(positional);
    let value = rest.iter().filter(move |field| field.name == json);
    first.iter().chain(value).chain(rest.iter().filter(move |field| field.name != json))
}

/// `at_ms` as `at`.
fn datetime(name: &str) -> &str {
    name.trim_end_matches("_ms")
}

fn rust_path(key: &str) -> String {
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
            _ => format!("``{text}``"),
        }
    }
}
