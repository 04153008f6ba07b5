//! One call of a case: a call of the library, or a raw command.

use serde_json::{Value, json};

use crate::Result;
use crate::generator;
use crate::value::{bytes, score, wire_score};
use crate::wire::{labelled, of_ick};

/// An argument that is of its type, or something else that the library has to refuse.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument<T> {
    Plain(T),
    /// As it goes to an adapter.
    Odd(Value),
}

pub(crate) type Name = Argument<Vec<u8>>;
pub(crate) type Member = Argument<Vec<u8>>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Add(Vec<(Argument<f64>, Member)>),
    Reserve {
        max: Argument<u64>,
        backwash: bool,
    },
    Commit(Vec<Member>),
    Exchange {
        max: Argument<u64>,
        members: Vec<Member>,
        backwash: bool,
    },
    Stats,
    Delete {
        unlink: bool,
    },
    /// A command for the server itself, as set-up.
    Redis(Vec<Vec<u8>>),
    /// The arguments have a form that only the recorded language has.
    Inexpressible(&'static str),
}

impl Call {
    /// Reads the `call` and `args` of a step.
    pub(crate) fn read(step: &Value) -> Result<Self> {
        let args = &step["args"];
        let name = step["call"].as_str().unwrap_or_default();
        if let Some(raw) = args["raw"].as_array() {
            return Self::read_raw(name, raw, &args["kw"]);
        }
        let backwash = args["backwash"].as_bool().unwrap_or(false);
        Ok(match name {
            "ickadd" => {
                let generated = |member, score: Option<f64>| {
                    let score = score.ok_or("a generator of pairs has a score")?;
                    Ok((Argument::Plain(score), Argument::Plain(member)))
                };
                Self::Add(generator::items(&args["pairs"], &pair, &generated)?)
            }
            "ickreserve" => Self::Reserve { max: size(&args["max_size"]), backwash },
            "ickcommit" => Self::Commit(members(&args["members"])?),
            "ickexchange" => Self::Exchange {
                max: size(&args["reserve_size"]),
                members: members(&args["members"])?,
                backwash,
            },
            "ickstats" => Self::Stats,
            "ickdel" => Self::Delete { unlink: false },
            "ickunlink" => Self::Delete { unlink: true },
            "redis" => {
                let words = args["command"].as_array().ok_or("a raw command is a list")?;
                Self::Redis(words.iter().map(bytes).collect::<Result<_>>()?)
            }
            unknown => return Err(format!("unknown call \"{unknown}\"")),
        })
    }

    /// Reads arguments that are given just as the recorded language had them: one flat list.
    fn read_raw(name: &str, raw: &[Value], keywords: &Value) -> Result<Self> {
        // What is true in the recorded language; the others have a bool there.
        let backwash = match &keywords["backwash"] {
            Value::Null | Value::Bool(false) => false,
            value => value.get("json").is_none_or(|json| json.as_bool() == Some(true)),
        };
        Ok(match (name, raw) {
            ("ickadd", raw) if raw.len() % 2 == 1 => {
                Self::Inexpressible("scores and members that are no pairs")
            }
            ("ickadd", raw) => Self::Add(
                raw.chunks(2).map(|pair| (raw_score(&pair[0]), raw_string(&pair[1]))).collect(),
            ),
            ("ickreserve", []) => Self::Reserve { max: Argument::Plain(0), backwash },
            ("ickreserve", [max]) => Self::Reserve { max: size(max), backwash },
            ("ickcommit", raw) => Self::Commit(raw.iter().map(raw_string).collect()),
            ("ickexchange", [max, members @ ..]) => Self::Exchange {
                max: size(max),
                members: members.iter().map(raw_string).collect(),
                backwash,
            },
            ("ickstats", []) => Self::Stats,
            ("ickdel", []) => Self::Delete { unlink: false },
            ("ickunlink", []) => Self::Delete { unlink: true },
            _ => Self::Inexpressible("another number of arguments than the call has"),
        })
    }

    /// The request for an adapter; none for what is not a call of the library.
    pub(crate) fn request(&self, name: &Name) -> Option<Value> {
        let list = |members: &[Member]| members.iter().map(Member::wire).collect::<Value>();
        let (call, arguments) = match self {
            Self::Add(pairs) => {
                let pair = |(score, member): &(Argument<f64>, Member)| {
                    json!([score.wire(), member.wire()])
                };
                ("add", json!({"pairs": pairs.iter().map(pair).collect::<Value>()}))
            }
            Self::Reserve { max, backwash } => {
                ("reserve", json!({"max": max.wire(), "backwash": backwash}))
            }
            Self::Commit(members) => ("commit", json!({"members": list(members)})),
            Self::Exchange { max, members, backwash } => {
                let (max, members) = (max.wire(), list(members));
                ("exchange", json!({"max": max, "members": members, "backwash": backwash}))
            }
            Self::Stats => ("stats", json!({})),
            Self::Delete { unlink } => (if *unlink { "unlink" } else { "delete" }, json!({})),
            Self::Redis(_) | Self::Inexpressible(_) => return None,
        };
        Some(of_ick(&name.wire(), call, arguments))
    }
}

impl<T> Argument<T> {
    /// Whether it is of its type.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

impl Argument<f64> {
    fn wire(&self) -> Value {
        match self {
            Self::Plain(score) => wire_score(*score),
            Self::Odd(value) => value.clone(),
        }
    }
}

impl Argument<u64> {
    fn wire(&self) -> Value {
        match self {
            Self::Plain(size) => json!(size),
            Self::Odd(value) => value.clone(),
        }
    }
}

impl Argument<Vec<u8>> {
    /// Reads a name or member that is labelled with its type.
    pub(crate) fn labelled(value: &Value) -> Self {
        raw_string(value)
    }

    pub(crate) fn wire(&self) -> Value {
        match self {
            Self::Plain(bytes) => labelled(bytes),
            Self::Odd(value) => value.clone(),
        }
    }
}

fn pair(value: &Value) -> Result<(Argument<f64>, Member)> {
    let score = score(&value[0]).map_or_else(|_| Argument::Odd(value[0].clone()), Argument::Plain);
    Ok((score, Argument::Plain(bytes(&value[1])?)))
}

fn members(list: &Value) -> Result<Vec<Member>> {
    let explicit = |member: &Value| Ok(Argument::Plain(bytes(member)?));
    generator::items(list, &explicit, &|member, _| Ok(Argument::Plain(member)))
}

/// A size; one that is left out is 0.
fn size(value: &Value) -> Argument<u64> {
    let plain = match value {
        Value::Null => Some(0),
        value => value.as_u64().or_else(|| value["int"].as_str()?.parse().ok()),
    };
    plain.map_or_else(|| Argument::Odd(unlabelled(value)), Argument::Plain)
}

fn raw_score(value: &Value) -> Argument<f64> {
    score(value).map_or_else(|_| Argument::Odd(unlabelled(value)), Argument::Plain)
}

fn raw_string(value: &Value) -> Argument<Vec<u8>> {
    let string = value.get("string").unwrap_or(value);
    bytes(string).map_or_else(|_| Argument::Odd(unlabelled(value)), Argument::Plain)
}

/// A labelled value as it goes to an adapter: null, bools and lists without their label.
fn unlabelled(value: &Value) -> Value {
    match value {
        Value::Object(label) if label.len() == 1 => {
            if let Some(plain) = label.get("json") {
                return plain.clone();
            }
            match label.get("array").and_then(Value::as_array) {
                Some(items) => items.iter().map(unlabelled).collect(),
                None => value.clone(),
            }
        }
        _ => value.clone(),
    }
}
