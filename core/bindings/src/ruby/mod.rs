//! Ruby: the declarations of the C library for ffi, errors, records with their readers, and signatures.

mod calls;
mod comments;
pub(crate) mod names;

use std::collections::BTreeSet;
use std::path::Path;

use crate::c::abi::{CAbi, CType};
use crate::c::c_name;
use crate::comments::Comments;
use crate::docs::{Docs, Words, pascal, snake, wrap};
use crate::model::{Enum, ErrorKind, Field, Kind, Model, Struct, Type};
use crate::output::Output;
use crate::ruby::names::{CLASSES, NAMES, OTHERS, PARENTS};

const FOLDER: &str = "ffi/ruby/lib/millpond/generated";
pub(crate) const WIDTH: usize = 112;

/// The records that are a Struct: those that calls return, and the one that calls take.
fn structs(model: &Model) -> BTreeSet<&str> {
    let mut found = model.returned();
    found.insert("events.Receipt");
    found.retain(|key| !CLASSES.contains(key) && !OTHERS.contains(key));
    found
}

pub(crate) fn emit(root: &Path, model: &Model, abi: &CAbi, output: &mut Output) {
    let words = Yard { model };
    let ruby = Ruby { model, comments: Comments::new(root, model, "ffi/ruby/docs.md", &words) };
    let mut add = |name: &str, text: String| {
        let text = format!("# frozen_string_literal: true\n\nmodule Millpond\n{text}end\n");
        output.add(&format!("{FOLDER}/{name}.rb"), text);
    };
    add("native", native(abi));
    add("errors", ruby.errors());
    add("records", ruby.records(abi));
    ruby.modules(abi, output);
    ruby.revise(output);
    ruby.comments.overlay.finish(output);
}

/// What `millpond/native` makes structures, handles and functions of.
fn native(abi: &CAbi) -> String {
    let mut out = "  module Native\n".to_owned();
    let ends_with_length = |names: &[(String, CType)], name: &str| {
        names.iter().any(|(other, _)| *other == format!("{name}_length") || other == "length")
    };
    for of in &abi.structs {
        let field = |(name, ty): &(String, CType)| match ty {
            CType::Named(inner) if abi.structs.iter().any(|of| of.name == *inner) => {
                format!("{name}:\u{a0}{}", pascal(inner))
            }
            ty => format!("{name}:\u{a0}:{}", ffi(ty, ends_with_length(&of.fields, name))),
        };
        let fields = of.fields.iter().map(field).collect::<Vec<_>>().join(", ");
        code(&mut out, 4, &format!("structure :{}, {fields}", of.name));
    }
    let freed = abi.functions.iter().filter_map(|of| of.name.strip_suffix("_free"));
    let handles = freed.filter(|name| *name != "error").map(|name| format!(":{name}"));
    out.push('\n');
    code(&mut out, 4, &format!("handles {}\n", handles.collect::<Vec<_>>().join(", ")));
    // The loader has asked for the version before.
    for of in abi.functions.iter().filter(|of| of.name != "abi_version") {
        let param = |(name, ty): &(String, CType)| {
            format!(":{}", ffi(ty, ends_with_length(&of.params, name)))
        };
        let params = of.params.iter().map(param).collect::<Vec<_>>().join(", ");
        let length = format!("{}_length", of.name);
        let returns = ffi(&of.returns, abi.functions.iter().any(|other| other.name == length));
        let waits = if of.waits { ", blocking: true" } else { "" };
        code(&mut out, 4, &format!("function :{}, [{params}], :{returns}{waits}", of.name));
    }
    out + "  end\n"
}

/// What ffi calls a type; whether the length of a text stands beside it.
fn ffi(ty: &CType, has_length: bool) -> &'static str {
    match ty {
        CType::Pointer(of) if **of == CType::Plain("c_char".to_owned()) && !has_length => "string",
        CType::Pointer(_) => "pointer",
        CType::Named(name) if name.ends_with("handler") => "pointer",
        CType::Named(_) => "int",
        CType::Unit => "void",
        CType::Plain(name) => match name.as_str() {
            "bool" => "bool",
            "u32" => "uint32",
            "u64" => "uint64",
            "i64" => "int64",
            "usize" => "size_t",
            "f64" => "double",
            other => panic!("Ruby has no word for the type {other} of C"),
        },
    }
}

pub(crate) struct Ruby<'a> {
    pub(crate) model: &'a Model,
    pub(crate) comments: Comments<'a>,
}

/// What Ruby calls things.
struct Yard<'a> {
    model: &'a Model,
}

impl Ruby<'_> {
    fn errors(&self) -> String {
        let mut out = String::new();
        for ErrorKind { ident, code, name, retry, .. } in &self.model.errors {
            let (key, retry) = (format!("client.{ident}"), retry.to_lowercase());
            self.comment(&mut out, 2, &key, Vec::new());
            let parent = find(PARENTS, ident).unwrap_or("StandardError");
            out += &format!("  class {ident}Error < {parent}\n    include Error\n");
            out += &format!("    CODE, NAME, RETRY = {code}, \"{name}\", :{retry}\n");
            if ident == "Dependency" {
                self.dependency(&mut out);
            }
            out += "  end\n\n";
        }
        let classes = self.model.errors.iter().map(|error| format!("{}Error", error.ident));
        out += "  # @api private\n";
        code(&mut out, 2, &format!("ERRORS = [{}].freeze", classes.collect::<Vec<_>>().join(", ")));
        out
    }

    /// What is wrong, as a list of each kind of reference, and questions about that.
    fn dependency(&self, out: &mut String) {
        let key = "tasks.Dependency";
        let record = &self.model.types[key];
        self.attributes(out, &self.parts(key, record));
        self.comment(out, 4, "tasks.Dependency.new", Vec::new());
        *out += "    def initialize(message = nil, operation = \"\", **found)\n";
        *out += "      super(message, operation)\n";
        for Field { name, .. } in &record.fields {
            *out += &format!("      @{name} = found.fetch(:{name}, [])\n");
        }
        *out += "      @found = found.freeze\n    end\n";
        for method in record.methods.iter().filter(|method| method.returns == Type::Bool) {
            let Part { name, text, .. } =
                self.part(key, &method.name, &method.returns, &method.docs);
            out.push('\n');
            comment(out, 4, &[format!("@return [Boolean] {text}")]);
            *out += &format!(
                "    # @example\n    #   Millpond::DependencyError.new.{name}? # => false\n"
            );
            *out += &format!("    def {name}?\n      @found.fetch(:{name}, false)\n    end\n");
        }
    }

    fn records(&self, abi: &CAbi) -> String {
        let mut out = String::new();
        for key in CLASSES {
            self.class(&mut out, key, &self.model.types[key]);
        }
        for key in structs(self.model) {
            let (record, name) = (&self.model.types[key], name(key));
            let parts = self.parts(key, record);
            let tag = |Part { name, types, text }: &Part| {
                format!("@!attribute [r] {name}\n  @return [{types}] {text}")
            };
            let tags = parts.iter().map(tag).collect();
            self.comment(&mut out, 2, key, tags);
            let names: Vec<_> = parts.iter().map(|part| format!(":{}", part.name)).collect();
            code(&mut out, 2, &format!("{name} = Struct.new({})\n", names.join(", ")));
        }
        self.readers(&mut out, abi);
        out
    }

    /// A record whose hand-written half has methods.
    fn class(&self, out: &mut String, key: &str, record: &Struct) {
        let parts = self.parts(key, record);
        self.comment(out, 2, key, Vec::new());
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        *out += &format!("  class {}\n    include Record\n\n    # @api private\n", name(key));
        code(out, 4, &format!("PARTS = %i[{}].freeze", names.join(" ")));
        self.attributes(out, &parts);
        self.comment(out, 4, &format!("{key}.new"), Vec::new());
        let param = |part: &Part| match (part.name.as_str(), part.types.as_str()) {
            ("id" | "namespace", _) => format!("{}:", part.name),
            (name, "String") => format!("{name}:\u{a0}\"\""),
            (name, "Integer") => format!("{name}:\u{a0}0"),
            (name, hash) if hash.starts_with("Hash") => format!("{name}:\u{a0}{{}}"),
            (name, _) => format!("{name}:\u{a0}nil"),
        };
        let params = parts.iter().map(param).collect::<Vec<_>>().join(", ");
        code(out, 4, &format!("def initialize({params})"));
        *out += &names.iter().map(|name| format!("      @{name} = {name}\n")).collect::<String>();
        *out += "    end\n  end\n\n";
    }

    /// Readers of the parts but the JSON text, which is parsed.
    fn attributes(&self, out: &mut String, parts: &[Part]) {
        for Part { name, types, text } in parts.iter().filter(|part| part.name != "json") {
            out.push('\n');
            comment(out, 4, &[format!("@return [{types}] {text}")]);
            *out += &format!("    attr_reader :{name}\n");
        }
        out.push('\n');
    }

    /// Makes records of the numbers of a structure; `texts` has what addresses point to.
    fn readers(&self, out: &mut String, abi: &CAbi) {
        *out += "  # Makes records of the numbers of a structure.\n  #\n  # @api private\n  module Records\n";
        let (bytes, bytes_or_none) = (Type::Bytes, Type::Option(Box::new(Type::Bytes)));
        for (key, structure) in crate::c::results(abi) {
            let is_struct = !CLASSES.contains(&key);
            let own = |name: &str| name.strip_suffix("_name").unwrap_or(name).to_owned();
            let fields = abi.structure(structure).fields.iter();
            let fields: Vec<_> = fields
                .map(|(name, ty)| (own(name), *ty == CType::Named("bytes".to_owned())))
                .collect();
            let variable = |(name, is_text): &(String, bool)| match is_text {
                true => format!("{name}, {name}_length"),
                false => variable_of(name),
            };
            let value = |Field { name, ty, .. }: &Field| {
                let own = c_name(name, ty);
                let found = fields.iter().find(|(other, _)| other == name || *other == own);
                let words = ty.named().and_then(|key| self.model.enums.get(key)).map(Enum::words);
                let value = match (found, ty) {
                    // It is beside the structure, and passed.
                    (None, Type::List(_)) => name.clone(),
                    (None, _) => panic!("millpond_{structure} has no {name}, which {key} has"),
                    (Some((_, true)), Type::Headers) => {
                        format!("Headers.of(texts.cut({name},\u{a0}{name}_length))")
                    }
                    (Some((_, true)), ty) if [&bytes, &bytes_or_none].contains(&ty) => {
                        format!("texts.bytes({name},\u{a0}{name}_length)")
                    }
                    (Some((_, true)), _) => format!("texts.cut({name},\u{a0}{name}_length)"),
                    (_, Type::Option(_)) if let Some(words) = words => {
                        format!(
                            "(%i[{}][{name}\u{a0}-\u{a0}1] unless {name}.zero?)",
                            words.join("\u{a0}")
                        )
                    }
                    _ if let Some(words) = words => {
                        format!("%i[{}][{name}\u{a0}-\u{a0}1]", words.join("\u{a0}"))
                    }
                    (_, Type::Duration) => format!("{own} / 1000.0"),
                    (_, Type::Option(of)) if **of == Type::Duration => {
                        format!(
                            "({own}\u{a0}/\u{a0}1000.0 unless {own}\u{a0}==\u{a0}Native::NOT_SET)"
                        )
                    }
                    (_, Type::Option(_)) => {
                        format!("({name} unless {name}\u{a0}==\u{a0}Native::NOT_SET)")
                    }
                    (_, Type::Bool) => format!("{name} == 1"),
                    _ => variable_of(name),
                };
                let keyword = find(NAMES, &format!("{key}.{name}")).unwrap_or(name);
                if is_struct { value } else { format!("{keyword}:\u{a0}{value}") }
            };
            let values: Vec<_> = self.model.types[key].fields.iter().map(value).collect();
            let variables: Vec<_> = fields.iter().map(variable).collect();
            let freeze = if is_struct { ".freeze" } else { "" };
            let lists = self.model.types[key].fields.iter();
            let lists = lists.filter(|of| matches!(of.ty, Type::List(_)));
            let lists: String = lists.map(|of| format!(", {}", of.name)).collect();
            *out += &format!("    def self.{structure}(row, texts{lists})\n");
            code(out, 6, &format!("{}\u{a0}=\u{a0}row", variables.join(", ")));
            code(out, 6, &format!("{}.new({}){freeze}", name(key), values.join(", ")));
            *out += "    end\n\n";
        }
        out.truncate(out.len() - 1);
        *out += "  end\n";
    }

    /// The fields of a record, and the sums that it has as methods.
    fn parts(&self, key: &str, record: &Struct) -> Vec<Part> {
        let fields = record.fields.iter().map(|of| self.part(key, &of.name, &of.ty, &of.docs));
        let sums =
            record.methods.iter().filter(|of| matches!(of.returns, Type::Number(_) | Type::Size));
        fields.chain(sums.map(|of| self.part(key, &of.name, &of.returns, &of.docs))).collect()
    }

    fn part(&self, key: &str, name: &str, ty: &Type, docs: &Docs) -> Part {
        let text = self.comments.inline(key, docs.first());
        let text = text.trim_end_matches('.');
        let text = if ty.is_time() { comments::in_seconds(text) } else { text.to_owned() };
        // A sentence as it stands behind a tag.
        let (first, rest) = text.split_at(1);
        let more = match ty {
            Type::Named(key) if key == "shuffle.Stream" => {
                ", by its number; nil for the default stream"
            }
            Type::Option(_) if ty.is_time() && !text.contains("nil") => "; nil if there is none",
            _ => "",
        };
        let name = find(NAMES, &format!("{key}.{name}")).unwrap_or(name).to_owned();
        Part { name, types: self.yard(ty), text: format!("{}{rest}{more}", first.to_lowercase()) }
    }

    /// A type in the words of YARD.
    pub(crate) fn yard(&self, ty: &Type) -> String {
        match ty {
            Type::Number(_) | Type::Size | Type::Signed => "Integer".to_owned(),
            Type::Float | Type::Duration => "Float".to_owned(),
            Type::Bool => "Boolean".to_owned(),
            Type::Text | Type::Bytes => "String".to_owned(),
            Type::Headers => "Hash{String => String}".to_owned(),
            Type::Option(of) => format!("{}, nil", self.yard(of)),
            Type::List(of) => format!("Array<{}>", self.yard(of)),
            Type::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.yard(part)).collect();
                format!("Array({})", parts.join(", "))
            }
            Type::Unit => "nil".to_owned(),
            Type::Named(key) => match key.as_str() {
                "ick.Entry" => "Array(String, Float)".to_owned(),
                "shuffle.Stream" => "Integer, nil".to_owned(),
                key if self.model.texts.contains(key) => "String".to_owned(),
                key if self.model.enums.contains_key(key) => "Symbol".to_owned(),
                key => name(key),
            },
            other => panic!("Ruby has no word for {other:?}"),
        }
    }

    /// Whether the comment of a class is above its generated half.
    pub(crate) fn generates(&self, key: &str) -> bool {
        CLASSES.contains(&key) || structs(self.model).contains(key)
    }

    /// The key of a class.
    pub(crate) fn key(&self, class: &str) -> Option<String> {
        let found = self.model.key_of(|key| name(key) == class);
        found.filter(|key| self.model.types.contains_key(key))
    }

    /// What the core calls a method that Ruby calls so.
    pub(crate) fn renamed(&self, owner: &str, method: &str) -> String {
        let is = |(key, name): &(&'static str, &str)| {
            *name == method && key.starts_with(&format!("{owner}."))
        };
        let found = pairs(NAMES).find(is).and_then(|(key, _)| key.rsplit_once('.'));
        found.map_or(method, |(_, name)| name).to_owned()
    }

    /// What is said of an item, and tags.
    fn comment(&self, out: &mut String, indent: usize, key: &str, tags: Vec<String>) {
        let found = self.comments.of(key, &[]).unwrap_or_default();
        comment(out, indent, &[found.text, tags].concat());
        for line in example(&found.examples) {
            *out += &format!("{:indent$}{line}\n", "");
        }
    }
}

/// Examples below a comment.
pub(crate) fn example(programs: &[String]) -> impl Iterator<Item = String> {
    programs.iter().flat_map(|program| {
        let code = program.lines().map(|line| format!("#   {line}").trim_end().to_owned());
        ["#", "# @example"].map(str::to_owned).into_iter().chain(code)
    })
}

/// A part of a record.
struct Part {
    name: String,
    types: String,
    text: String,
}

impl Words for Yard<'_> {
    fn none(&self) -> String {
        "nil".to_owned()
    }

    fn error(&self, error: &ErrorKind) -> String {
        format!("{{{}Error}}", error.ident)
    }

    fn item(&self, key: &str, text: &str) -> String {
        match self.model.is(key, Kind::Options) && name(key) == text {
            true => self.code(text),
            false => link(&name(key), text, key),
        }
    }

    fn member(&self, _: &str, key: &str, member: &str, text: &str) -> String {
        let method = find(NAMES, &format!("{key}.{member}"));
        let is_setting = || self.model.types[key].settings.iter().any(|of| of.name == member);
        match name(key) {
            class if class.contains('#') => link(&class, text, key),
            class if ["Modification", "TaskChange"].contains(&class.as_str()) => {
                link(&format!("{class}#{member}"), text, member)
            }
            _ if self.model.is(key, Kind::Options) => {
                method.map_or_else(|| self.code(text), |to| link(to, text, member))
            }
            _ if is_setting() && method.is_none() => self.code(member),
            class => link(&format!("{class}#{}", method.unwrap_or(member)), text, member),
        }
    }

    fn variant(&self, _: &str, name: &str, _: &str) -> String {
        self.code(&format!(":{}", snake(name).trim_start_matches('_')))
    }

    fn code(&self, text: &str) -> String {
        format!("`{text}`")
    }
}

/// A link, with the core's text unless that is no more than the item's name.
fn link(to: &str, text: &str, name: &str) -> String {
    let is_name = text.is_empty() || name.ends_with(text.rsplit("::").next().unwrap_or(text));
    if is_name { format!("{{{to}}}") } else { format!("{{{to} {text}}}") }
}

pub(crate) fn name(key: &str) -> String {
    let own = key.split_once('.').map_or(key, |(_, name)| name);
    find(NAMES, key).unwrap_or(own).to_owned()
}

/// A variable of this name, unless it is a word of Ruby's own.
fn variable_of(name: &str) -> String {
    if name == "retry" { "retry_".to_owned() } else { name.to_owned() }
}

/// What a table says of a key.
pub(crate) fn find(table: &'static str, key: &str) -> Option<&'static str> {
    pairs(table).find(|(of, _)| *of == key).map(|(_, value)| value)
}

fn pairs(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.split_whitespace().filter_map(|pair| pair.split_once('='))
}

/// Paragraphs as a comment. A line of a tag goes on two spaces to the right.
pub(crate) fn comment(out: &mut String, indent: usize, paragraphs: &[String]) {
    let is_tag = |text: &str| text.starts_with('@');
    for (index, paragraph) in paragraphs.iter().enumerate() {
        if index > 0 && !(is_tag(paragraph) && is_tag(&paragraphs[index - 1])) {
            *out += &format!("{:indent$}#\n", "");
        }
        for (below, part) in paragraph.split('\n').enumerate() {
            let start = if is_tag(paragraph) { 2 * below } else { 0 };
            let more = if is_tag(paragraph) { start + 2 } else { 0 };
            for (line, text) in wrap(part.trim_start(), WIDTH - indent).iter().enumerate() {
                let shift = if line > 0 { more } else { start };
                *out += &format!("{:indent$}# {:shift$}{text}\n", "", "");
            }
        }
    }
}

/// Code on as many lines as it takes.
fn code(out: &mut String, indent: usize, code: &str) {
    for (index, line) in wrap(code, WIDTH).iter().enumerate() {
        let indent = if index == 0 { indent } else { indent + 2 };
        *out += &format!("{:indent$}{}\n", "", line.replace('\u{a0}', " "));
    }
}
