//! What the core offers: errors, constants, records, options and methods, with their comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::docs::{Docs, snake};
use crate::forms::Form;
use crate::surface::{Surface, Words};

/// All of it. Keys are `queue.Name`, such as `tasks.Task`; what belongs to no queue is `client.…`.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) errors: Vec<ErrorKind>,
    /// The folders of the queues.
    pub(crate) queues: BTreeSet<String>,
    pub(crate) constants: BTreeMap<String, Constant>,
    pub(crate) enums: BTreeMap<String, Enum>,
    pub(crate) types: BTreeMap<String, Struct>,
    /// The types that are parsed from text (`FromStr`), which is what hosts have in their place.
    pub(crate) texts: BTreeSet<String>,
    pub(crate) surface: Surface,
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
    Float(f64),
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
    /// What a loop yields.
    pub(crate) item: Option<Type>,
}

impl Struct {
    /// One of which nothing else is known yet.
    pub(crate) fn new(kind: Kind, name: String, docs: Docs) -> Self {
        let (fields, required, settings, methods) = Default::default();
        Self { kind, name, docs, fields, required, settings, methods, item: None }
    }
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
    /// Whether it can fail with an error of a function that it is given: `Result<_, AnyError>`.
    pub(crate) can_fail_as_given: bool,
    /// Whether its result is all that it is for: the attribute of the same name.
    pub(crate) must_use: bool,
    /// The method that it is another form of, where its name does not say so: `#[doc(alias = "…")]`.
    pub(crate) alias: Option<String>,
    /// Its other forms, which hosts can have as options.
    pub(crate) forms: Vec<Form>,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Its default, its limit and what it is, of a method's as `surface.md` has it.
    pub(crate) words: Option<Words>,
}

impl Param {
    pub(crate) fn new(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty, words: None }
    }

    /// What it is if it is not given: `Some(Value::None)` for nothing, none if it has to be given.
    pub(crate) fn default(&self) -> Option<&Value> {
        self.words.as_ref()?.default.as_ref()
    }

    /// How many items a list has at most, and how long a wait is in milliseconds.
    pub(crate) fn max(&self) -> Option<u64> {
        self.words.as_ref()?.max
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Unit,
    Bool,
    /// An unsigned integer of this many bits.
    Number(u8),
    /// A number of things in memory: `usize`.
    Size,
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

/// What belongs to no queue.
pub(crate) const SHARED: [&str; 3] = ["client", "step", "worker"];

/// Enums that programs of hosts write into the URL of a client; no method or option takes them there.
pub(crate) const IN_URLS: [&str; 1] = ["client.SyncMode"];

/// The key of a name that is mentioned in a queue: its own, what all queues share, or the only one that is called so.
///
/// # Panics
///
/// If two other queues have one.
pub(crate) fn nearest(
    queue: &str,
    name: &str,
    queues: &BTreeSet<String>,
    is_known: impl Fn(&str) -> bool,
) -> Option<String> {
    let key = |of: &str| Some(format!("{of}.{name}")).filter(|key| is_known(key));
    let near = [queue].into_iter().chain(SHARED).find_map(key);
    near.or_else(|| {
        let mut found = queues.iter().filter_map(|of| key(of));
        let (first, second) = (found.next(), found.next());
        assert!(second.is_none(), "{queue} has to say which {name}: {first:?} or {second:?}");
        first
    })
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

    /// Whether it is an unsigned integer, which there may be none of.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Option(inner) => inner.is_whole(),
            ty => matches!(ty, Self::Number(_) | Self::Size),
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

    /// The keys of the types of the core that it holds.
    pub(crate) fn keys(&self) -> Vec<&str> {
        match self {
            Self::Option(inner) | Self::List(inner) => inner.keys(),
            Self::Tuple(parts) => parts.iter().flat_map(Self::keys).collect(),
            Self::Named(key) => vec![key],
            _ => Vec::new(),
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
            matches!(method.returns, Type::Bool | Type::Number(_) | Type::Size)
                && method.name != "is_empty"
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
        let known = |key: &str| self.enums.contains_key(key) || self.types.contains_key(key);
        nearest(queue, name, &self.queues, known)
    }

    /// The key of the type that a host calls so; of an enum, if there is none. Of several records it is the one that
    /// methods return: the others are results of steps, which hosts do not have.
    ///
    /// # Panics
    ///
    /// If it calls two so.
    pub(crate) fn key_of(&self, is_it: impl Fn(&str) -> bool) -> Option<String> {
        let only = |keys: &mut dyn Iterator<Item = &String>| {
            let mut keys: Vec<_> = keys.filter(|key| is_it(key)).collect();
            if keys.len() > 1 {
                let returned = self.returned();
                keys.retain(|key| !self.is(key, Kind::Record) || returned.contains(key.as_str()));
            }
            assert!(keys.len() <= 1, "{keys:?} have one name");
            keys.first().copied().cloned()
        };
        only(&mut self.types.keys()).or_else(|| only(&mut self.enums.keys()))
    }

    pub(crate) fn constant(&self, queue: &str, name: &str) -> Option<&Constant> {
        let key = nearest(queue, name, &self.queues, |key| self.constants.contains_key(key))?;
        self.constants.get(&key)
    }

    pub(crate) fn error(&self, name: &str) -> Option<&ErrorKind> {
        self.errors.iter().find(|error| error.name == name)
    }

    /// The method of which this one is a form, and the form.
    pub(crate) fn form_of(&self, owner: &str, method: &Method) -> Option<(&Method, &Form)> {
        let all = &self.types.get(owner)?.methods;
        all.iter().find_map(|base| {
            let form = base.forms.iter().find(|form| form.method == method.name)?;
            Some((base, form))
        })
    }

    /// Whether it is a loop.
    pub(crate) fn is_loop(&self, key: &str) -> bool {
        self.types.get(key).is_some_and(|of| of.item.is_some())
    }

    /// Whether there is a struct of this kind.
    pub(crate) fn is(&self, key: &str, kind: Kind) -> bool {
        self.types.get(key).is_some_and(|of| of.kind == kind)
    }

    /// The records that methods of handles return, and those that these hold.
    pub(crate) fn returned(&self) -> BTreeSet<&str> {
        let handles = self.types.values().filter(|of| of.kind == Kind::Handle);
        let mut open: Vec<_> =
            handles.flat_map(|of| &of.methods).map(|method| &method.returns).collect();
        let mut found = BTreeSet::new();
        while let Some(ty) = open.pop() {
            for key in ty.keys() {
                let record = self.types.get(key).filter(|of| of.kind == Kind::Record);
                if let Some(record) = record.filter(|_| found.insert(key)) {
                    open.extend(record.fields.iter().map(|field| &field.ty));
                }
            }
        }
        found
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
