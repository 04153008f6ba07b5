//! Ruby: the declarations of the C library for ffi, errors, records with their readers, and signatures.

use std::fmt::Write as _;
use std::path::Path;

use crate::c_abi::{CAbi, CFunction, CStruct, CType};
use crate::docs::{Renderer, Words, pascal, wrap};
use crate::model::{ErrorKind, Field, Model, Record, Type};
use crate::output::Output;
use crate::overlay::Overlay;

const FOLDER: &str = "ffi/ruby/lib/millpond/generated";
const WIDTH: usize = 112;

/// The classes of Ruby that an error is, if there is one that fits.
const PARENTS: [(&str, &str); 6] = [
    ("InvalidArgument", "ArgumentError"),
    ("InvalidUrl", "ArgumentError"),
    ("ConnectionFailed", "IOError"),
    ("ConnectionLost", "IOError"),
    ("Timeout", "::Timeout::Error"),
    ("Storage", "IOError"),
];

/// What Ruby calls otherwise: types, and parts of records.
const NAMES: [(&str, &str); 9] = [
    ("tasks.NewTask", "Modification#insert"),
    ("tasks.NewDoc", "Modification#insert_doc"),
    ("shuffle.Stats", "ShuffleStats"),
    ("ick.Lease", "ConsumerLease"),
    ("tasks.Dependency", "DependencyError"),
    ("shuffle.ShuffleConsumer.extend", "renew"),
    ("tasks.Task.value", "json"),
    ("tasks.Doc.content", "json"),
    ("ick.Stats.version", "ver"),
];

/// Records that are a Struct.
const STRUCTS: [&str; 17] = [
    "ick.Added",
    "client.Recovery",
    "shuffle.Receipt",
    "shuffle.Reclaimed",
    "shuffle.DeadLetter",
    "shuffle.StreamStats",
    "shuffle.Stats",
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

/// Records that are read from a result of the library, with its structures.
const READ: [(&str, &str); 6] = [
    ("tasks.Task", "task"),
    ("tasks.Doc", "doc"),
    ("tasks.Position", "task_position"),
    ("tasks.DocPosition", "doc_position"),
    ("tasks.QueueStats", "task_queue_stats"),
    ("tasks.NamespaceStats", "task_namespace_stats"),
];

pub(crate) fn emit(root: &Path, model: &Model, output: &mut Output) {
    let abi = CAbi::read(root, output);
    let ruby = Ruby { model, overlay: Overlay::read(root, "ffi/ruby/docs.md") };
    let mut add = |name: &str, text: String| {
        let text = format!("# frozen_string_literal: true\n\nmodule Millpond\n{text}end\n");
        output.add(&format!("{FOLDER}/{name}.rb"), "#", text);
    };
    add("native", native(&abi));
    add("errors", ruby.errors());
    add("records", ruby.records(&abi));
    ruby.overlay.finish();
}

/// What `millpond/native` makes structures, handles and functions of.
fn native(abi: &CAbi) -> String {
    let mut out = "  module Native\n".to_owned();
    for of in &abi.structs {
        let field =
            |(name, ty): &(String, CType)| format!("{name}:\u{a0}{}", field_type(of, name, ty));
        let fields: Vec<_> = of.fields.iter().map(field).collect();
        lines(&mut out, 4, &format!("structure :{}, {}", of.name, fields.join(", ")));
    }
    out.push('\n');
    let freed = abi.functions.iter().filter_map(|of| of.name.strip_suffix("_free"));
    let handles: Vec<_> =
        freed.filter(|name| *name != "error").map(|name| format!(":{name}")).collect();
    lines(&mut out, 4, &format!("handles {}", handles.join(", ")));
    out.push('\n');
    // The loader has asked for the version before.
    for of in abi.functions.iter().filter(|of| of.name != "abi_version") {
        let types = of.params.iter().map(|(name, ty)| param_type(of, name, ty));
        let types: Vec<_> = types.collect();
        let types =
            if types.is_empty() { "[]".to_owned() } else { format!("%i[{}]", types.join(" ")) };
        let returns = match &of.returns {
            CType::Named(_) if of.waits => ":int, blocking: true".to_owned(),
            CType::Unit => ":void".to_owned(),
            CType::Pointer(inner)
                if is_chars(inner)
                    && !abi
                        .functions
                        .iter()
                        .any(|other| other.name == format!("{}_length", of.name)) =>
            {
                ":string".to_owned()
            }
            other => format!(":{}", plain_type(other)),
        };
        lines(&mut out, 4, &format!("function :{}, {types}, {returns}", of.name));
    }
    out + "  end\n"
}

fn field_type(of: &CStruct, name: &str, ty: &CType) -> String {
    let has_length =
        of.fields.iter().any(|(other, _)| *other == format!("{name}_length") || other == "length");
    match ty {
        CType::Named(inner)
            if !["status", "retry"].contains(&inner.as_str()) && !inner.ends_with("handler") =>
        {
            pascal(inner)
        }
        CType::Pointer(inner) if is_chars(inner) && !has_length => ":string".to_owned(),
        other => format!(":{}", plain_type(other)),
    }
}

fn param_type(of: &CFunction, name: &str, ty: &CType) -> &'static str {
    match ty {
        CType::Pointer(inner) if is_chars(inner) => {
            let has_length = of.params.iter().any(|(other, _)| *other == format!("{name}_length"));
            if has_length { "buffer_in" } else { "string" }
        }
        other => plain_type(other),
    }
}

fn plain_type(ty: &CType) -> &'static str {
    match ty {
        CType::Plain(name) => match name.as_str() {
            "bool" => "bool",
            "u32" => "uint32",
            "u64" => "uint64",
            "i64" => "int64",
            "usize" => "size_t",
            "f64" => "double",
            other => panic!("Ruby has no word for the type {other} of C"),
        },
        CType::Named(name) if name.ends_with("handler") => "pointer",
        CType::Named(_) => "int",
        CType::Pointer(_) => "pointer",
        CType::Unit => "void",
    }
}

fn is_chars(ty: &CType) -> bool {
    *ty == CType::Plain("c_char".to_owned())
}

struct Ruby<'a> {
    model: &'a Model,
    overlay: Overlay,
}

impl Ruby<'_> {
    fn errors(&self) -> String {
        let mut out = String::new();
        for error in &self.model.errors {
            let key = format!("client.{}", error.ident);
            self.comment(&mut out, 2, &key, &self.renderer(&key).text(&error.docs));
            let parent = PARENTS.iter().find(|(ident, _)| *ident == error.ident);
            let parent = parent.map_or("StandardError", |(_, parent)| parent);
            let retry = error.retry.to_lowercase();
            let _ = writeln!(out, "  class {}Error < {parent}\n    include Error", error.ident);
            let (code, name) = (error.code, &error.name);
            let _ = writeln!(out, "    CODE, NAME, RETRY = {code}, \"{name}\", :{retry}");
            if error.ident == "Dependency" {
                self.dependency(&mut out);
            }
            out.push_str("  end\n\n");
        }
        let classes = self.model.errors.iter().map(|error| format!("{}Error", error.ident));
        out.push_str("  # @api private\n");
        lines(
            &mut out,
            2,
            &format!("ERRORS = [{}].freeze", classes.collect::<Vec<_>>().join(", ")),
        );
        out
    }

    /// What is wrong, as a list of each kind of reference, and questions about that.
    fn dependency(&self, out: &mut String) {
        let record = &self.model.records["tasks.Dependency"];
        let renderer = self.renderer("tasks.Dependency");
        for field in &record.fields {
            let text = format!(
                "@return [{}] {}",
                self.yard(&field.ty),
                phrase(&renderer.inline(field.docs.first()))
            );
            out.push('\n');
            comment(out, 4, &[text]);
            let _ = writeln!(out, "    attr_reader :{}", field.name);
        }
        out.push('\n');
        self.comment(out, 4, "tasks.Dependency.new", &[]);
        out.push_str("    def initialize(message = nil, operation = \"\", **found)\n      super(message, operation)\n");
        for field in &record.fields {
            let _ = writeln!(out, "      @{0} = found.fetch(:{0}, [])", field.name);
        }
        out.push_str("      @found = found.freeze\n    end\n");
        for method in record.methods.iter().filter(|method| method.returns == Type::Bool) {
            let text =
                format!("@return [Boolean] {}", phrase(&renderer.inline(method.docs.first())));
            out.push('\n');
            comment(out, 4, &[text]);
            let _ = writeln!(
                out,
                "    # @example\n    #   Millpond::DependencyError.new.{}? # => false",
                method.name
            );
            let _ = writeln!(
                out,
                "    def {0}?\n      @found.fetch(:{0}, false)\n    end",
                method.name
            );
        }
    }

    fn records(&self, abi: &CAbi) -> String {
        let mut out = String::new();
        for key in ["tasks.Task", "tasks.Doc"] {
            self.class(&mut out, key, &self.model.records[key]);
        }
        for key in STRUCTS {
            let record = &self.model.records[key];
            let renderer = self.renderer(key);
            let parts = self.parts(key, record);
            let mut text = renderer.text(&record.docs);
            let note = self.overlay.of(key);
            if note.replaces {
                text.clear();
            }
            text.extend(note.paragraphs);
            let attributes = parts.iter().map(|part| {
                format!("@!attribute [r] {}\n  @return [{}] {}", part.name, part.types, part.text)
            });
            text.extend(attributes);
            comment(&mut out, 2, &text);
            examples(&mut out, 2, &note.examples);
            let names: Vec<_> = parts.iter().map(|part| format!(":{}", part.name)).collect();
            let keywords = if key == "client.Recovery" { ", keyword_init: true" } else { "" };
            lines(
                &mut out,
                2,
                &format!("{} = Struct.new({}{keywords})", self.name(key), names.join(", ")),
            );
            out.push('\n');
        }
        self.readers(&mut out, abi);
        out
    }

    /// A record whose hand-written half has methods.
    fn class(&self, out: &mut String, key: &str, record: &Record) {
        let (renderer, parts) = (self.renderer(key), self.parts(key, record));
        self.comment(out, 2, key, &renderer.text(&record.docs));
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        let _ =
            writeln!(out, "  class {}\n    include Record\n\n    # @api private", self.name(key));
        lines(out, 4, &format!("PARTS = %i[{}].freeze", names.join(" ")));
        for part in parts.iter().filter(|part| part.name != "json") {
            out.push('\n');
            comment(out, 4, &[format!("@return [{}] {}", part.types, part.text)]);
            let _ = writeln!(out, "    attr_reader :{}", part.name);
        }
        out.push('\n');
        self.comment(out, 4, &format!("{key}.new"), &[]);
        let param = |part: &Part| match (part.name.as_str(), part.types.as_str()) {
            ("id" | "namespace", _) => format!("{}:", part.name),
            (name, "String") => format!("{name}:\u{a0}\"\""),
            (name, "Integer") => format!("{name}:\u{a0}0"),
            (name, _) => format!("{name}:\u{a0}nil"),
        };
        let params: Vec<_> = parts.iter().map(param).collect();
        lines(out, 4, &format!("def initialize({})", params.join(", ")));
        for name in names {
            let _ = writeln!(out, "      @{name} = {name}");
        }
        out.push_str("    end\n  end\n\n");
    }

    /// Makes records of the numbers of a structure; `texts` has what addresses point to.
    fn readers(&self, out: &mut String, abi: &CAbi) {
        out.push_str("  # Makes records of the numbers of a structure.\n  #\n  # @api private\n  module Records\n");
        for (key, structure) in READ {
            let fields = &abi.structure(structure).fields;
            let is_text = |ty: &CType| *ty == CType::Named("bytes".to_owned());
            let own = |name: &str| name.strip_suffix("_name").unwrap_or(name).to_owned();
            let variables = fields.iter().map(|(name, ty)| match is_text(ty) {
                true => format!("{0}, {0}_length", own(name)),
                false => own(name),
            });
            let variables: Vec<_> = variables.collect();
            let of = self.name(key);
            let _ = writeln!(out, "    def self.{structure}(row, texts)");
            lines(out, 6, &format!("{} = row", variables.join(", ")));
            let record = &self.model.records[key];
            let value = |field: &Field| {
                let (_, ty) =
                    fields.iter().find(|(name, _)| own(name) == field.name).unwrap_or_else(|| {
                        panic!("millpond_{structure} has no {}, which {key} has", field.name)
                    });
                let name = &field.name;
                let value = match (is_text(ty), &field.ty) {
                    (true, _) => format!("texts.cut({name},\u{a0}{name}_length)"),
                    (false, Type::Option(_)) => {
                        format!("({name} unless {name} == Native::NOT_SET)")
                    }
                    (false, _) => name.clone(),
                };
                match STRUCTS.contains(&key) {
                    true => value,
                    false => format!("{}:\u{a0}{value}", renamed(&format!("{key}.{name}"), name)),
                }
            };
            let values: Vec<_> = record.fields.iter().map(value).collect();
            let freeze = if STRUCTS.contains(&key) { ".freeze" } else { "" };
            lines(out, 6, &format!("{of}.new({}){freeze}", values.join(", ")));
            out.push_str("    end\n\n");
        }
        out.truncate(out.len() - 1);
        out.push_str("  end\n");
    }

    /// The fields of a record, and the sums that it has as methods.
    fn parts(&self, key: &str, record: &Record) -> Vec<Part> {
        let renderer = self.renderer(key);
        let part = |name: &str, ty: &Type, docs: &str| Part {
            name: renamed(&format!("{key}.{name}"), name).to_owned(),
            types: self.yard(ty),
            text: match ty {
                Type::Named(key) if key == "shuffle.Stream" => {
                    format!(
                        "{}, by its number; nil for the default stream",
                        phrase(&renderer.inline(docs))
                    )
                }
                Type::Option(of) if **of == Type::Duration => {
                    format!("{}, in seconds; nil if there is none", phrase(&renderer.inline(docs)))
                }
                _ => phrase(&renderer.inline(docs)),
            },
        };
        let fields =
            record.fields.iter().map(|field| part(&field.name, &field.ty, field.docs.first()));
        let sums = record.methods.iter().filter(|method| matches!(method.returns, Type::Number(_)));
        let sums = sums.map(|method| part(&method.name, &method.returns, method.docs.first()));
        fields.chain(sums).collect()
    }

    /// A type in the words of YARD.
    fn yard(&self, ty: &Type) -> String {
        match ty {
            Type::Number(_) | Type::Signed => "Integer".to_owned(),
            Type::Float | Type::Duration => "Float".to_owned(),
            Type::Bool => "Boolean".to_owned(),
            Type::Text | Type::Bytes => "String".to_owned(),
            Type::Option(of) => format!("{}, nil", self.yard(of)),
            Type::List(of) => format!("Array<{}>", self.yard(of)),
            Type::Named(key) => match key.as_str() {
                "shuffle.Stream" => "Integer, nil".to_owned(),
                "step.StreamId" => "String".to_owned(),
                key => self.name(key),
            },
            other => panic!("Ruby has no word for {other:?}"),
        }
    }

    fn name(&self, key: &str) -> String {
        let own = key.split_once('.').map_or(key, |(_, name)| name);
        renamed(key, own).to_owned()
    }

    fn renderer<'a>(&'a self, owner: &'a str) -> Renderer<'a> {
        Renderer { model: self.model, words: self, owner }
    }

    /// The core's paragraphs with what the page of Ruby has on them.
    fn comment(&self, out: &mut String, indent: usize, key: &str, text: &[String]) {
        let note = self.overlay.of(key);
        let own = if note.replaces { &[] } else { text };
        comment(out, indent, &[own, note.paragraphs.as_slice()].concat());
        examples(out, indent, &note.examples);
    }
}

/// A part of a record.
struct Part {
    name: String,
    types: String,
    text: String,
}

impl Words for Ruby<'_> {
    fn none(&self) -> String {
        "nil".to_owned()
    }

    fn error(&self, error: &ErrorKind) -> String {
        format!("{{{}Error}}", error.ident)
    }

    fn item(&self, key: &str, text: &str) -> String {
        match self.model.options.contains_key(key) && self.name(key) == text {
            true => self.code(text),
            false => format!("{{{}}}", self.name(key)),
        }
    }

    fn member(&self, key: &str, member: &str, text: &str) -> String {
        let name = self.name(key);
        match (self.model.options.contains_key(key), name.contains('#')) {
            (_, true) => format!("{{{name}}}"),
            (true, _) => self.code(text),
            _ => format!("{{{name}#{}}}", renamed(&format!("{key}.{member}"), member)),
        }
    }

    fn code(&self, text: &str) -> String {
        format!("`{text}`")
    }
}

fn renamed<'a>(key: &str, name: &'a str) -> &'a str {
    NAMES.iter().find(|(of, _)| *of == key).map_or(name, |(_, name)| name)
}

/// A sentence as it stands behind a tag.
fn phrase(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map_or(String::new(), |first| first.to_lowercase().collect());
    first + letters.as_str()
}

/// Paragraphs as a comment. A line of a tag goes on two spaces to the right.
fn comment(out: &mut String, indent: usize, paragraphs: &[String]) {
    let before = |text: &str| text.starts_with('@');
    for (index, paragraph) in paragraphs.iter().enumerate() {
        if index > 0 && !(before(paragraph) && before(&paragraphs[index - 1])) {
            let _ = writeln!(out, "{:indent$}#", "");
        }
        for (of, part) in paragraph.split('\n').enumerate() {
            let more = if before(paragraph) { 2 + 2 * usize::from(of > 0) } else { 0 };
            let start = if of > 0 && before(paragraph) { 2 } else { 0 };
            for (line, text) in wrap(part.trim_start(), WIDTH - indent).iter().enumerate() {
                let shift = if line > 0 { more } else { start };
                let _ = writeln!(out, "{:indent$}# {:shift$}{text}", "", "");
            }
        }
    }
}

fn examples(out: &mut String, indent: usize, examples: &[String]) {
    for code in examples {
        let _ = writeln!(out, "{:indent$}#\n{:indent$}# @example", "", "");
        for line in code.lines() {
            let line = format!("{:indent$}#   {line}", "");
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

/// Code on as many lines as it takes.
fn lines(out: &mut String, indent: usize, code: &str) {
    for (index, line) in wrap(code, WIDTH).iter().enumerate() {
        let indent = if index == 0 { indent } else { indent + 2 };
        let _ = writeln!(out, "{:indent$}{}", "", line.replace('\u{a0}', " "));
    }
}
