//! The state of an Ick: what its three keys hold.

use std::fmt;

use serde_json::Value;

use crate::Result;
use crate::digest::Digest;
use crate::value::{bytes, score, shown};

/// A member and its score.
pub(crate) type Pair = (Vec<u8>, f64);

/// What was found in the three keys of an Ick.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) flag: Flag,
    pub(crate) producer: Set,
    pub(crate) consumer: Set,
}

/// What the key of the version flag holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Flag {
    Absent,
    Text(Vec<u8>),
    /// A key of another type, by its name.
    Other(String),
}

/// What the key of a set holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Set {
    /// The members in Redis' order; no key is no member.
    Members(Vec<Pair>),
    Other(String),
}

/// What a case says of the three keys; nothing of a key that it does not name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected {
    flag: Option<Flag>,
    producer: Option<ExpectedSet>,
    consumer: Option<ExpectedSet>,
}

#[derive(Clone, Debug, PartialEq)]
enum ExpectedSet {
    Set(Set),
    Digest(Digest),
}

impl State {
    /// Nothing at all: no Ick of this name.
    pub(crate) const NOTHING: Self =
        Self { flag: Flag::Absent, producer: Set::EMPTY, consumer: Set::EMPTY };
}

impl Set {
    pub(crate) const EMPTY: Self = Self::Members(Vec::new());

    /// The members, none where there is another type.
    pub(crate) fn members(&self) -> &[Pair] {
        match self {
            Self::Members(members) => members,
            Self::Other(_) => &[],
        }
    }

    /// Whether Redis has a key for it.
    pub(crate) fn is_there(&self) -> bool {
        *self != Self::EMPTY
    }
}

impl Expected {
    /// Reads the `state` of a step.
    pub(crate) fn read(state: &Value) -> Result<Self> {
        Ok(Self {
            flag: state.get("ver").map(read_flag).transpose()?,
            producer: state.get("pset").map(ExpectedSet::read).transpose()?,
            consumer: state.get("cset").map(ExpectedSet::read).transpose()?,
        })
    }

    /// Whether this is what was found.
    pub(crate) fn accepts(&self, found: &State) -> bool {
        let accepts = |expected: &Option<ExpectedSet>, found| {
            expected.as_ref().is_none_or(|expected| expected.accepts(found))
        };
        self.flag.as_ref().is_none_or(|flag| *flag == found.flag)
            && accepts(&self.producer, &found.producer)
            && accepts(&self.consumer, &found.consumer)
    }
}

impl From<State> for Expected {
    fn from(state: State) -> Self {
        Self {
            flag: Some(state.flag),
            producer: Some(ExpectedSet::Set(state.producer)),
            consumer: Some(ExpectedSet::Set(state.consumer)),
        }
    }
}

impl ExpectedSet {
    fn read(value: &Value) -> Result<Self> {
        if let Some(kind) = value["type"].as_str() {
            return Ok(Self::Set(Set::Other(kind.to_owned())));
        }
        match value.as_array() {
            Some(pairs) => Ok(Self::Set(Set::Members(read_pairs(pairs)?))),
            None => Digest::read(value).map(Self::Digest),
        }
    }

    fn accepts(&self, found: &Set) -> bool {
        match (self, found) {
            (Self::Set(set), found) => set == found,
            (Self::Digest(digest), Set::Members(members)) => digest.accepts(members),
            (Self::Digest(_), Set::Other(_)) => false,
        }
    }
}

/// Reads `[[member, score], …]`.
pub(crate) fn read_pairs(pairs: &[Value]) -> Result<Vec<Pair>> {
    pairs.iter().map(|pair| Ok((bytes(&pair[0])?, score(&pair[1])?))).collect()
}

fn read_flag(value: &Value) -> Result<Flag> {
    match (value, value["type"].as_str()) {
        (Value::Null, _) => Ok(Flag::Absent),
        (_, Some(kind)) => Ok(Flag::Other(kind.to_owned())),
        (text, None) => bytes(text).map(Flag::Text),
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ver {}, pset {}, cset {}", self.flag, self.producer, self.consumer)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(flag) = &self.flag {
            write!(f, "ver {flag}")?;
            separator = ", ";
        }
        for (name, set) in [("pset", &self.producer), ("cset", &self.consumer)] {
            match set {
                Some(ExpectedSet::Set(set)) => write!(f, "{separator}{name} {set}")?,
                Some(ExpectedSet::Digest(digest)) => write!(f, "{separator}{name} {digest}")?,
                None => continue,
            }
            separator = ", ";
        }
        Ok(())
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Text(text) => f.write_str(&shown(text)),
            Self::Other(kind) => write!(f, "a {kind}"),
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Members(members) => write_pairs(members, f),
            Self::Other(kind) => write!(f, "a {kind}"),
        }
    }
}

/// Writes pairs for people: all of a short list, or the ends of a long one and its digest.
pub(crate) fn write_pairs(pairs: &[Pair], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SHOWN_MAX: usize = 24;
    if pairs.len() > SHOWN_MAX {
        return write!(f, "{}", Digest::of(pairs));
    }
    f.write_str("[")?;
    for (index, (member, score)) in pairs.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(f, "{separator}{} {score:?}", shown(member))?;
    }
    f.write_str("]")
}
