//! Node's handles: what follows from the core's methods, in Rust and in JavaScript. A method is left to the files
//! by hand if it takes or returns what is not known here.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::bytes::Bytes;
use crate::docs::{camel, snake};
use crate::model::{Kind, Method, Model, Param, Struct, Type, Value, own_name, rust_path};
use crate::node::names::{BY_HAND, LIMITED, NO_HANDLES, PLACES, READ_BY_HAND};
use crate::node::types::{code_name, node_name};
use crate::node::{has_steps, js_name_of, read, reader, records};
use crate::output::Output;
use crate::templates::Templates;

/// A parameter, in each of the languages.
#[derive(Clone, Serialize)]
pub(crate) struct Argument {
    pub(crate) js: String,
    /// The function that checks and converts it.
    pub(crate) check: String,
    /// How many items of it are read, if it is a list that has its limit from the call.
    max: Option<u64>,
    /// What it is if it is left out.
    pub(crate) default: Option<String>,
    /// Whether it is among the options, or is all of them.
    pub(crate) is_option: bool,
    pub(crate) is_steps: bool,
    /// The options of the core that it is.
    #[serde(skip)]
    pub(crate) steps: String,
    /// Its name in the core.
    #[serde(skip)]
    pub(crate) core: String,
    pub(crate) ts: String,
    rust: String,
    name: String,
    /// How Rust makes of it what the core takes, before the call and in it.
    before: String,
    expression: String,
}

/// Another method of the core for the case that an option is given.
#[derive(Serialize)]
pub(crate) struct Variant {
    name: String,
    pub(crate) option: Argument,
    is_flag: bool,
}

#[derive(Serialize)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) js: String,
    pub(crate) is_call: bool,
    pub(crate) args: Vec<Argument>,
    pub(crate) variant: Option<Variant>,
    can_fail: bool,
    /// A conversion in Rust, and a reader in JavaScript with its name.
    convert: String,
    read: (String, String),
    /// The class of a handle that it returns, and whether that is a loop and has options.
    pub(crate) made: Option<String>,
    /// The type in Rust of another value that it returns without a call.
    value: Option<&'static str>,
    is_loop: bool,
    options: Option<String>,
    /// Whether the caller says what results hold.
    pub(crate) has_buffers: bool,
    /// In JavaScript: the parameters, how options are checked, which are taken, and what is sent to Rust.
    signature: Vec<String>,
    checks: Vec<String>,
    taken: Vec<String>,
    sent: Vec<String>,
    #[serde(skip)]
    pub(crate) returns: Type,
}

/// A method without parameters that JavaScript has as a property.
#[derive(Serialize)]
struct Getter<'a> {
    core: &'a str,
    js: String,
    name: String,
    rust: &'static str,
    /// How Rust makes it of what the core returns.
    expression: &'static str,
}

#[derive(Serialize)]
struct Class<'a> {
    name: &'a str,
    path: String,
    is_held: bool,
    /// What it is called when it was released or lost, if a program holds it until its `release`.
    lease: Option<String>,
    made_by: String,
    getters: Vec<Getter<'a>>,
    calls: Vec<Call>,
}

#[derive(Serialize)]
struct View<'a> {
    classes: &'a [Class<'a>],
    readers: BTreeSet<&'a (String, String)>,
    records: Vec<String>,
    loops: BTreeSet<String>,
}

pub(crate) fn emit(root: &Path, model: &Model, output: &mut Output) {
    let handles = model.types.iter().filter(|(_, of)| of.kind == Kind::Handle);
    let handles = handles.filter(|(key, _)| !model.is_loop(key) && !NO_HANDLES.contains(&&***key));
    let classes = handles.map(|(key, handle)| Class {
        name: node_name(key),
        path: rust_path(key),
        is_held: is_held(handle),
        lease: is_lease(handle).then(|| snake_of(key).replace('_', " ")),
        made_by: made_by(model, key),
        getters: handle.methods.iter().filter_map(|of| getter(key, of)).collect(),
        calls: calls(model, key),
    });
    let classes: Vec<_> = classes.collect();
    let calls = || classes.iter().flat_map(|class| &class.calls);
    let readers: BTreeSet<_> =
        calls().map(|call| &call.read).filter(|(_, of)| !of.is_empty()).collect();
    let templates = Templates::read(root, "node/templates");
    let loops = calls().filter(|call| call.is_loop).filter_map(|call| call.made.clone()).collect();
    let records =
        records(model).into_iter().filter(|key| !READ_BY_HAND.contains(key)).map(reader).collect();
    let values = View { classes: &classes, readers, records, loops };
    output.add_rust("node/src/generated/handles.rs", templates.render("handles.rs", &values));
    output.add("node/lib/generated/handles.js", templates.render("handles.js", &values));
}

fn getter<'a>(key: &str, method: &'a Method) -> Option<Getter<'a>> {
    let (rust, expression) = match &method.returns {
        Type::Bool => ("bool", "{}"),
        Type::Number(_) | Type::Size => ("f64", "{} as f64"),
        Type::Text => ("&str", "{}"),
        Type::Duration => ("f64", "milliseconds({})"),
        _ => return None,
    };
    let is_getter = method.has_self && !method.is_call && method.params.is_empty();
    let name = js_name_of(&method.name, &method.returns);
    (is_getter && !BY_HAND.contains(&&*format!("{key}.{}", method.name))).then(|| Getter {
        core: &method.name,
        js: camel(&name),
        name,
        rust,
        expression,
    })
}

/// Whether it can be lost, and JavaScript gives it up: a lease, or a job.
fn is_held(handle: &Struct) -> bool {
    handle.methods.iter().any(|method| method.name == "on_lost")
}

/// Whether it is held until it is released. A job has other ends as well.
fn is_lease(handle: &Struct) -> bool {
    let is_release = |of: &Method| of.name == "release" && of.returns == Type::Bool;
    is_held(handle) && handle.methods.iter().any(is_release)
}

/// What makes a handle, for the error of a program that tries to.
fn made_by(model: &Model, key: &str) -> String {
    let makes = |method: &&Method| method.returns.named() == Some(key);
    let found =
        model.types.iter().filter(|(_, of)| of.kind == Kind::Handle).find_map(|(owner, of)| {
            let method = of.methods.iter().find(makes).filter(|_| owner != key)?;
            let article = if own_name(owner).starts_with('I') { "an" } else { "a" };
            Some(format!("{}() of {article} {}", camel(&method.name), own_name(owner)))
        });
    let other = match key {
        "client.Client" => "connect()",
        "recruiter.Slice" => "a recruiter",
        _ => "a worker",
    };
    found.unwrap_or_else(|| other.to_owned())
}

/// The methods of a handle that are known in whole.
pub(crate) fn calls(model: &Model, key: &str) -> Vec<Call> {
    let methods = &model.types[key].methods;
    let known = methods
        .iter()
        .filter(|of| of.has_self && !BY_HAND.contains(&&*format!("{key}.{}", of.name)));
    let calls: Vec<_> = known.filter_map(|method| call(model, key, method)).collect();
    let variants: BTreeSet<_> =
        calls.iter().filter_map(|call| Some(call.variant.as_ref()?.name.clone())).collect();
    calls.into_iter().filter(|call| !variants.contains(&call.name)).collect()
}

fn call(model: &Model, key: &str, method: &Method) -> Option<Call> {
    let own = |param: &Param| argument(model, method, param);
    let args = method.params.iter().map(own).collect::<Option<Vec<_>>>()?;
    let made = method.returns.named().filter(|key| model.is(key, Kind::Handle));
    let made = made.filter(|made| !NO_HANDLES.contains(made) && *made != key);
    // Without arguments, what returns a value is a property.
    let value = match method.returns {
        Type::Unit => Some("()"),
        Type::Bool if !args.is_empty() => Some("bool"),
        Type::Number(_) | Type::Size if !args.is_empty() => Some("f64"),
        _ => None,
    };
    if !method.is_call && made.is_none() && value.is_none() || !method.returns.is_known() {
        return None;
    }
    let (convert, read) = match &method.returns {
        Type::Option(_) if let Some(name) = made.map(own_name) => {
            let read = format!("(native) => (native === null ? null : new made.{name}(native))");
            ("convert", (format!("read.{}", camel(&snake(name)[1..])), read))
        }
        _ if made.is_some() => Default::default(),
        Type::Unit => ("CallResult::nothing", ("nothing".to_owned(), String::new())),
        Type::Bool => ("CallResult::bool", ("isTrue".to_owned(), String::new())),
        Type::Number(_) | Type::Size => ("CallResult::count", ("count".to_owned(), String::new())),
        Type::Named(key) if key == "ick.Added" => {
            ("CallResult::added", ("added".to_owned(), String::new()))
        }
        Type::List(of) if of.named() == Some("ick.Entry") => {
            ("entries", ("entries".to_owned(), String::new()))
        }
        ty if ty.named().is_some_and(|key| model.is(key, Kind::Options)) => return None,
        Type::List(of) if matches!(&**of, Type::Tuple(parts) if parts[0] == Type::Text) => {
            let read = format!("of((reader) => new Map({}))", read(model, &method.returns));
            ("written", (format!("read.{}", camel(&method.name)), read))
        }
        ty => {
            let (convert, of) = match has_bytes(model, ty) {
                true if Bytes::of(key) == Bytes::TextOnly => ("written_text", "of"),
                true => ("written_bytes", "ofBytes"),
                false => ("written", "of"),
            };
            (
                convert,
                (
                    format!("read.{}", reader_name(ty)),
                    format!("{of}((reader) => {})", read(model, ty)),
                ),
            )
        }
    };
    // A form under another name is a method of its own.
    let mut forms = method.forms.iter().filter(|form| !form.is_alias);
    let variant = forms.find_map(|form| {
        let option = argument(model, method, &form.option)?;
        let option = Argument { default: None, ..option };
        Some(Variant { name: form.method.clone(), option, is_flag: form.is_flag })
    });
    let options = made.filter(|key| has_steps(model, key)).map(snake_of);
    let is_loop = made.is_some_and(|key| model.is_loop(key));
    let is_switched = match made {
        Some(made) => Bytes::of(made).has_switch(),
        None => has_bytes(model, &method.returns),
    };
    let has_buffers = key == "client.Client" && is_switched;
    let has_signal = method.is_call || is_loop;

    let places = args.iter().filter(|arg| !arg.is_option);
    let default =
        |arg: &Argument| arg.default.as_ref().map_or(String::new(), |value| format!(" = {value}"));
    let mut signature: Vec<_> = places.map(|arg| format!("{}{}", arg.js, default(arg))).collect();
    let has_options = has_signal || options.is_some() || has_buffers;
    let option = if signature.iter().any(|arg| arg.contains('=')) {
        "options = undefined"
    } else {
        "options"
    };
    signature.extend(has_options.then(|| option.to_owned()));

    let given = || {
        args.iter()
            .filter(|arg| arg.is_option && !arg.is_steps)
            .chain(variant.iter().map(|of| &of.option))
    };
    let steps = || args.iter().filter(|arg| arg.is_steps);
    let kinds = steps().map(|arg| arg.check.clone()).chain(options.iter().map(|of| camel(of)));
    let mut checks: Vec<_> = given().map(|arg| format!("{}: {}", arg.js, arg.check)).collect();
    checks.extend(kinds.map(|kind| format!("...kinds.{kind}")));
    checks.extend(has_buffers.then(|| "returnBuffers: check.flag".to_owned()));
    let mut taken: Vec<_> = given().map(|arg| format!("{}{}", arg.js, default(arg))).collect();
    taken.extend(has_buffers.then(|| "returnBuffers".to_owned()));
    taken.extend(has_signal.then(|| "signal".to_owned()));
    let has_steps = steps().next().is_some() || options.is_some();
    taken.extend(has_steps.then(|| "...said".to_owned()));
    if has_signal && !checks.is_empty() {
        checks.push("...SIGNAL".to_owned());
    }
    let said = || "check.stepsOf(said)".to_owned();
    let mut sent: Vec<_> =
        args.iter().map(|arg| if arg.is_steps { said() } else { arg.js.clone() }).collect();
    sent.extend(variant.iter().map(|of| of.option.js.clone()));
    sent.extend(options.is_some().then(said));
    sent.extend(has_buffers.then(|| "returnBuffers".to_owned()));
    Some(Call {
        name: method.name.clone(),
        js: camel(&method.name),
        is_call: method.is_call,
        variant,
        args,
        can_fail: method.can_fail,
        convert: convert.to_owned(),
        read,
        made: made.map(|key| own_name(key).to_owned()),
        value,
        is_loop,
        options,
        has_buffers,
        signature,
        checks,
        taken,
        sent,
        returns: method.returns.clone(),
    })
}

pub(crate) fn snake_of(key: &str) -> String {
    snake(code_name(key)).trim_start_matches('_').to_owned()
}

fn reader_name(ty: &Type) -> String {
    match ty {
        Type::Option(inner) => format!("{}OrNull", reader_name(inner)),
        Type::List(inner) => format!("{}List", reader_name(inner)),
        Type::Named(key) => camel(&snake_of(key)),
        Type::Tuple(_) => "pair".to_owned(),
        Type::Bool => "flag".to_owned(),
        _ => "value".to_owned(),
    }
}

/// Whether it holds bytes that can be text, as the program says.
fn has_bytes(model: &Model, ty: &Type) -> bool {
    match ty {
        Type::Bytes => true,
        Type::Option(inner) | Type::List(inner) => has_bytes(model, inner),
        Type::Tuple(parts) => parts.iter().any(|part| has_bytes(model, part)),
        Type::Named(key) if Bytes::of(key) == Bytes::Always => false,
        Type::Named(key) => {
            let record = model.types.get(key);
            record
                .is_some_and(|record| record.fields.iter().any(|field| has_bytes(model, &field.ty)))
        }
        _ => false,
    }
}

fn argument(model: &Model, method: &Method, param: &Param) -> Option<Argument> {
    let name = &*param.name;
    let is = |ty: &Type, key: &str| ty.named() == Some(key);
    let of_enum = param.ty.named();
    let of_enum = of_enum.and_then(|of| Some((of, model.enums.get(of)?)));
    let one_of = of_enum.map(|(_, of)| format!("oneOf('{}')", of.words().join("', '")));
    let (check, rust, expression, ts) = match &param.ty {
        Type::Bool => ("flag", "bool", "{}", "boolean"),
        Type::Float => ("number", "f64", "{}", "number"),
        Type::Text => ("text", "String", "&{}", "string"),
        Type::Bytes => ("bytes", "Bytes", "&{}.0", "Member"),
        Type::Number(32) => ("smallSize", "u32", "{}", "number | bigint"),
        Type::Number(_) | Type::Size => ("size", "Size", "{}.0 as _", "number | bigint"),
        Type::Duration => ("milliseconds", "f64", "duration({})", "number"),
        Type::Option(of) if **of == Type::Duration => {
            ("milliseconds", "Option<f64>", "{}.map(duration)", "number")
        }
        Type::Option(of) if **of == Type::Signed => (
            "deadline",
            "Option<f64>",
            "{}.map(|seconds| seconds as i64)",
            "Date | number | bigint",
        ),
        Type::List(of) => match &**of {
            Type::Bytes => ("memberList", "Members", "{}.0.iter()", "Iterable<Member>"),
            Type::Text if ["queues", "keys"].contains(&name) => {
                ("names", "Vec<String>", "{}", "string | Iterable<string>")
            }
            Type::Text => ("texts", "Vec<String>", "{}", "Iterable<string>"),
            Type::Number(32) => ("numberList", "Vec<u32>", "{}", "Iterable<number | bigint>"),
            Type::Tuple(parts) => match parts.as_slice() {
                [Type::Option(_), Type::Bytes] => {
                    ("pairList", "Pairs", "{}.iter()", "Iterable<Pair>")
                }
                [Type::Bytes, Type::Bytes] => ("fieldList", "Fields", "{}.iter()", "Fields"),
                [Type::Bytes, Type::List(_)] => (
                    "messageList",
                    "MessageList",
                    "{}.iter()",
                    "Iterable<readonly [shardKey: Member, fields: Fields]>",
                ),
                _ => return None,
            },
            of if is(of, "shuffle.Receipt") => {
                ("receiptList", "Receipts", "{}.0?", "Receipt | Iterable<Receipt>")
            }
            of if is(of, "events.EventId") => {
                ("eventIds", "Vec<String>", "event_ids(&{})?", "EventIds")
            }
            of if is(of, "events.Receipt") => {
                ("deliveries", "Members", "receipts(&{}.0)?", "Delivery | Iterable<Delivery>")
            }
            of if is(of, "events.NewEvent") => {
                ("newEvents", "Entries", "{}", "Iterable<NewEvent | Member>")
            }
            of if is(of, "events.Schedule") => ("schedules", "Entries", "{}", "Iterable<Schedule>"),
            of if is(of, "step.StreamId") => (
                "letterIds",
                "Ids",
                "{}.0?",
                "string | { readonly id: string } | Iterable<string | { readonly id: string }>",
            ),
            _ => return None,
        },
        Type::Named(key) if key == "step.StreamId" => {
            ("letterId", "Ids", "{}.0?.remove(0)", "string | { readonly id: string }")
        }
        Type::Named(key) if key == "events.Schedule" => ("schedule", "Entries", "{}", "Schedule"),
        Type::Named(key) if key == "events.Receipt" => {
            ("delivery", "Members", "receipts(&{}.0)?.remove(0)", "Delivery")
        }
        Type::Named(of) if let Some(check) = &one_of => (&**check, "String", "{}", node_name(of)),
        Type::Named(key) if key == "tasks.Modification" => {
            ("entriesOf", "Entries", "{}", "Modification<T>")
        }
        Type::Named(key) if has_steps(model, key) && key != "tasks.NewDoc" => {
            (key.as_str(), "Entries", "{}", "")
        }
        _ => return None,
    };
    let default = param.default().cloned();
    let place = PLACES
        .iter()
        .find(|(of, name, _)| *name == param.name && (of.is_empty() || *of == method.name));
    let is_steps = ts.is_empty();
    let before = match rust {
        "Entries" if is_steps => {
            format!("{name}.reader().{}({}::new())?", snake_of(check), rust_path(check))
        }
        "Entries" if check == "newEvents" => format!("{name}.reader().events()?"),
        "Entries" if check == "schedules" => format!("{name}.reader().schedules()?"),
        "Entries" if check == "schedule" => format!("{name}.reader().schedules()?.remove(0)"),
        "String" if let Some((of, words)) = of_enum => {
            let path = rust_path(of);
            let arms = words.words().into_iter().zip(&words.variants);
            let arms = arms.map(|(word, (name, _))| format!("\"{word}\" => {path}::{name}, "));
            format!(
                "match &*{name} {{ {} other => return Err(unexpected(other)) }}",
                arms.collect::<String>()
            )
        }
        "Entries" => format!("{name}.modification()?"),
        _ => String::new(),
    };
    let js = camel(&js_name_of(name, &param.ty));
    Some(Argument {
        check: if is_steps { camel(&snake_of(check)) } else { format!("check.{check}") },
        max: param.max().filter(|_| LIMITED.contains(&check)),
        is_option: place.is_none() && (default.is_some() || is_steps),
        default: match default {
            Some(Value::Duration(number) | Value::Number(number)) => Some(number.to_string()),
            Some(Value::Bool(flag)) => Some(flag.to_string()),
            _ => place.map(|(.., default)| (*default).to_owned()),
        },
        is_steps,
        core: param.name.clone(),
        steps: if is_steps { check.to_owned() } else { String::new() },
        ts: ts.to_owned(),
        rust: rust.to_owned(),
        name: snake(&js),
        before,
        expression: expression.replace("{}", &snake(&js)),
        js,
    })
}
