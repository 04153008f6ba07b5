//! What the core offers: errors, constants, records, options and methods, with their comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::docs::{Docs, snake};

/// All of it. Keys are `queue.Name`, such as `tasks.Task`; what belongs to no queue is `client.…`.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) errors: Vec<ErrorKind>,
    pub(crate) constants: BTreeMap<String, Constant>,
    pub(crate) enums: BTreeMap<String, Enum>,
    pub(crate) types: BTreeMap<String, Struct>,
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
    pub(crate) docs: Docs,
    pub(crate) variants: Vec<(String, Docs)>,
}

impl Enum {
    /// The names of its values in hosts, such as `too_late`.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = self.variants.iter().map(|(name, _)| snake(name));
        words.map(|word| word.trim_start_matches('_').to_owned()).collect()
    }
}

/// A public struct of the core.
pub(crate) struct Struct {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) docs: Docs,
    /// Those of a record.
    pub(crate) fields: Vec<Field>,
    /// What the constructor of options takes.
    pub(crate) required: Vec<Param>,
    /// What setters set, in their order.
    pub(crate) settings: Vec<Setting>,
    pub(crate) methods: Vec<Method>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Its fields are public: what calls return, and what names something in a store.
    Record,
    /// It has setters: what calls take.
    Options,
    /// It is blocking or async: clients, queues, loops, jobs. It can have setters too.
    Handle,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) docs: Docs,
}

/// A setter. One without a parameter sets a flag; one with two, two things at once.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) default: Value,
    pub(crate) docs: Docs,
}

#[derive(Debug)]
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
    /// Whether its result is all that it is for: the attribute of the same name.
    pub(crate) must_use: bool,
    /// The method that it is another form of, where its name does not say so: `#[doc(alias = "…")]`.
    pub(crate) alias: Option<String>,
}

#[derive(Clone, Debug)]
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
    /// The headers of a task: names and bytes.
    Headers,
    Option(Box<Type>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// A public type of the core, by its key.
    Named(String),
    /// What no binding can have as it is, such as a closure.
    Other(String),
}

/// The path of a type of the core by its key: `millpond::tasks::Task`.
pub(crate) fn rust_path(key: &str) -> String {
    // What all workers share is in the room of each queue.
    let key = key.trim_start_matches("client.").replace("worker.", "tasks.");
    format!("millpond::{}", key.replace('.', "::"))
}

/// The name of a type by its key: `Task`.
pub(crate) fn own_name(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

impl Type {
    /// Whether it is a span of time, which there may be none of.
    pub(crate) fn is_time(&self) -> bool {
        match self {
            Self::Option(inner) => **inner == Self::Duration,
            ty => *ty == Self::Duration,
        }
    }

    /// Whether it is one that bindings can have.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Self::Other(_) => false,
            Self::Option(inner) | Self::List(inner) => inner.is_known(),
            Self::Tuple(parts) => parts.iter().all(Self::is_known),
            _ => true,
        }
    }

    /// The type of the core that it is, or that there may be one of.
    pub(crate) fn named(&self) -> Option<&str> {
        match self {
            Self::Named(key) => Some(key),
            Self::Option(inner) => inner.named(),
            _ => None,
        }
    }
}

impl Struct {
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
        let known = |key: &String| self.enums.contains_key(key) || self.types.contains_key(key);
        let queues = [queue, "client", "ick", "tasks", "shuffle", "events", "step", "worker"];
        queues.iter().map(|queue| format!("{queue}.{name}")).find(known)
    }

    pub(crate) fn constant(&self, queue: &str, name: &str) -> Option<&Constant> {
        let queues = [queue, "client", "ick", "shuffle", "tasks", "events", "step"];
        queues.iter().find_map(|queue| self.constants.get(&format!("{queue}.{name}")))
    }

    pub(crate) fn error(&self, name: &str) -> Option<&ErrorKind> {
        self.errors.iter().find(|error| error.name == name)
    }

    /// Whether there is a struct of this kind.
    pub(crate) fn is(&self, key: &str, kind: Kind) -> bool {
        self.types.get(key).is_some_and(|of| of.kind == kind)
    }

    /// The method of which this one is a form with a flag (`reserve` of `reserve_backwash`) or with a time
    /// (`retry` of `retry_after`), with the time and the name of the flag; or the other way round.
    pub(crate) fn twin(
        &self,
        owner: &str,
        method: &Method,
        is_base: bool,
    ) -> Option<(&Method, Option<Param>, String)> {
        let all = &self.types.get(owner)?.methods;
        all.iter().find_map(|other| {
            let (base, form) = if is_base { (method, other) } else { (other, method) };
            let is_alias = form.alias.as_ref() == Some(&base.name);
            let suffix = form.name.strip_prefix(&base.name).and_then(|rest| rest.strip_prefix('_'));
            let suffix =
                suffix.filter(|suffix| !suffix.contains('_')).or(is_alias.then_some(&form.name))?;
            let names =
                |of: &Method| of.params.iter().map(|param| param.name.clone()).collect::<Vec<_>>();
            let (of_base, of_form) = (names(base), names(form));
            let is_same = of_form.starts_with(&of_base) && base.returns == form.returns;
            let more = form.params.get(of_base.len()..)?;
            let param = match more {
                [] => None,
                [param] if param.ty == Type::Duration => Some(param.clone()),
                _ => return None,
            };
            is_same.then(|| (other, param, suffix.to_owned()))
        })
    }

    /// The method that a host has in place of this one, and what its option for that is called.
    pub(crate) fn form_of(&self, owner: &str, method: &Method) -> Option<(&Method, String)> {
        let (base, param, flag) = self.twin(owner, method, false)?;
        Some((base, param.map_or(flag, |param| param.name)))
    }

    /// For people: each item whose key contains this.
    pub(crate) fn describe(&self, part: &str) -> String {
        let mut out = String::new();
        for (key, constant) in self.constants.iter().filter(|(key, _)| key.contains(part)) {
            let _ = writeln!(out, "{key} = {:?}: {:?}", constant.value, constant.docs);
        }
        for (key, of) in self.enums.iter().filter(|(key, _)| key.contains(part)) {
            let _ = writeln!(out, "enum {key}: {:?} {:?}", of.docs, of.variants);
        }
        for (key, of) in self.types.iter().filter(|(key, _)| key.contains(part)) {
            let _ = writeln!(out, "{:?} {key}({:?}): {:?}", of.kind, of.required, of.docs);
            of.fields.iter().for_each(|field| out += &format!("    {field:?}\n"));
            of.settings.iter().for_each(|setting| out += &format!("    {setting:?}\n"));
            of.methods.iter().for_each(|method| out += &format!("    {method:?}\n"));
        }
        out
    }
}
