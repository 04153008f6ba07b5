//! What the core offers: errors, constants, records, options and methods, with their comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::docs::Docs;

/// All of it. Keys are `queue.Name`, such as `tasks.Task`; what belongs to no queue is `client.…`.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) errors: Vec<ErrorKind>,
    pub(crate) constants: BTreeMap<String, Constant>,
    pub(crate) enums: BTreeMap<String, Enum>,
    /// Structs whose fields are public: what calls return, and handles of what a store holds.
    pub(crate) records: BTreeMap<String, Record>,
    /// Structs with setters: what calls take.
    pub(crate) options: BTreeMap<String, Options>,
    /// The structs that are blocking or async: clients, queues, loops, jobs.
    pub(crate) handles: BTreeMap<String, Handle>,
}

/// A kind of error.
pub(crate) struct ErrorKind {
    /// `LeaseLost`
    pub(crate) ident: String,
    pub(crate) code: u32,
    /// `LEASE_LOST`
    pub(crate) name: String,
    /// `Never`, `Later` or `Unknown`.
    pub(crate) retry: String,
    pub(crate) docs: Docs,
}

/// A constant with the value of its expression.
pub(crate) struct Constant {
    pub(crate) value: Value,
    pub(crate) docs: Docs,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(u64),
    /// Milliseconds.
    Duration(u64),
    Text(String),
    Bool(bool),
    /// `None`, an empty list, or what has no simple form.
    None,
}

pub(crate) struct Enum {
    pub(crate) queue: String,
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) variants: Vec<(String, Docs)>,
}

pub(crate) struct Record {
    pub(crate) queue: String,
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) fields: Vec<Field>,
    pub(crate) methods: Vec<Method>,
}

#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) docs: Docs,
}

pub(crate) struct Options {
    pub(crate) docs: Docs,
    /// What its constructor takes.
    pub(crate) required: Vec<Param>,
    /// What its setters set, in their order.
    pub(crate) settings: Vec<Setting>,
    pub(crate) methods: Vec<Method>,
}

/// A setter. One without a parameter sets a flag; one with two, two things at once.
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) default: Value,
    pub(crate) docs: Docs,
}

pub(crate) struct Handle {
    pub(crate) docs: Docs,
    pub(crate) settings: Vec<Setting>,
    pub(crate) methods: Vec<Method>,
}

pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) docs: Docs,
    /// Whether it is called on an object.
    pub(crate) has_self: bool,
    pub(crate) params: Vec<Param>,
    pub(crate) returns: Type,
    /// Whether it goes to the engine: blocking or awaited, and it can fail with any error.
    pub(crate) is_call: bool,
    /// Whether it can fail without going there.
    pub(crate) can_fail: bool,
}

#[derive(Clone)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Unit,
    Bool,
    /// An unsigned integer of this many bits; `usize` has 64.
    Number(u8),
    /// As `Number(64)`, but with a sign.
    Signed,
    Float,
    Text,
    Bytes,
    Duration,
    Option(Box<Type>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// A public type of the core, by its key.
    Named(String),
    /// What no binding can have as it is, such as a closure.
    Other(String),
}

impl Record {
    /// The methods that hosts have as fields: those that return a number or a truth.
    pub(crate) fn getters(&self) -> impl Iterator<Item = &Method> {
        self.methods.iter().filter(|method| {
            matches!(method.returns, Type::Bool | Type::Number(_)) && method.name != "is_empty"
        })
    }

    /// The fields, and behind them the getters.
    pub(crate) fn fields_and_getters(&self) -> Vec<Field> {
        let getters = self.getters().map(|method| Field {
            name: method.name.clone(),
            ty: method.returns.clone(),
            docs: method.docs.clone(),
        });
        self.fields.iter().cloned().chain(getters).collect()
    }
}

impl Model {
    /// The key of a name that is mentioned in a queue.
    pub(crate) fn resolve(&self, queue: &str, name: &str) -> Option<String> {
        let known = |key: &String| {
            self.enums.contains_key(key)
                || self.records.contains_key(key)
                || self.options.contains_key(key)
                || self.handles.contains_key(key)
        };
        let queues = [queue, "client", "ick", "shuffle", "tasks", "step"];
        queues.iter().map(|queue| format!("{queue}.{name}")).find(known)
    }

    pub(crate) fn constant(&self, queue: &str, name: &str) -> Option<&Constant> {
        let queues = [queue, "client", "ick", "shuffle", "tasks", "step"];
        queues.iter().find_map(|queue| self.constants.get(&format!("{queue}.{name}")))
    }

    pub(crate) fn error(&self, name: &str) -> Option<&ErrorKind> {
        self.errors.iter().find(|error| error.name == name)
    }

    /// For people: each item whose key contains this.
    pub(crate) fn describe(&self, part: &str) -> String {
        let mut out = String::new();
        for error in &self.errors {
            let _ = writeln!(
                out,
                "error {} {} {} {}: {}",
                error.ident,
                error.code,
                error.name,
                error.retry,
                error.docs.first()
            );
        }
        for (key, constant) in &self.constants {
            let _ = writeln!(out, "const {key} = {:?}: {}", constant.value, constant.docs.first());
        }
        for (key, of) in &self.enums {
            let _ = writeln!(out, "enum {key} ({}.{}): {}", of.queue, of.name, of.docs.first());
            for (variant, docs) in &of.variants {
                let _ = writeln!(out, "    {variant}: {}", docs.first());
            }
        }
        for (key, record) in &self.records {
            let _ = writeln!(out, "record {key}: {}", record.docs.first());
            for field in &record.fields {
                let _ = writeln!(out, "    {}: {:?}: {}", field.name, field.ty, field.docs.first());
            }
            describe_methods(&mut out, &record.methods);
        }
        for (key, options) in &self.options {
            let _ = writeln!(out, "options {key}: {}", options.docs.first());
            for param in &options.required {
                let _ = writeln!(out, "    required {}: {:?}", param.name, param.ty);
            }
            describe_settings(&mut out, &options.settings);
            describe_methods(&mut out, &options.methods);
        }
        for (key, handle) in &self.handles {
            let _ = writeln!(out, "handle {key}: {}", handle.docs.first());
            describe_settings(&mut out, &handle.settings);
            describe_methods(&mut out, &handle.methods);
        }
        let mut is_wanted = false;
        let wanted = out.lines().filter(|line| {
            if !line.starts_with(' ') {
                is_wanted = line.contains(part);
            }
            is_wanted
        });
        wanted.fold(String::new(), |all, line| all + line + "\n")
    }
}

fn describe_settings(out: &mut String, settings: &[Setting]) {
    for setting in settings {
        let params: Vec<_> =
            setting.params.iter().map(|param| format!("{}: {:?}", param.name, param.ty)).collect();
        let _ = writeln!(
            out,
            "    set {}({}) = {:?}: {}",
            setting.name,
            params.join(", "),
            setting.default,
            setting.docs.first()
        );
    }
}

fn describe_methods(out: &mut String, methods: &[Method]) {
    for method in methods {
        let params: Vec<_> =
            method.params.iter().map(|param| format!("{}: {:?}", param.name, param.ty)).collect();
        let kind = match (method.is_call, method.can_fail, method.has_self) {
            (true, ..) => "call",
            (_, true, _) => "try",
            (_, _, true) => "fn",
            _ => "static",
        };
        let _ = writeln!(
            out,
            "    {kind} {}({}) -> {:?}: {}",
            method.name,
            params.join(", "),
            method.returns,
            method.docs.first()
        );
    }
}
