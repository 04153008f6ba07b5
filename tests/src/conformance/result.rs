//! What a call returned.

use std::collections::BTreeMap;
use std::fmt;

use millpond::ErrorKind;
use serde_json::Value;

use crate::Result;
use crate::call::Call;
use crate::state::{Pair, read_pairs, write_pairs};
use crate::value::{bytes, score, shown};

/// What a call returned, in any language.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepResult {
    /// There is no such Ick.
    Nothing,
    Count(u64),
    Added {
        new: u64,
        lowered: u64,
    },
    Batch(Vec<Pair>),
    Stats(Stats),
    Error(Refusal),
}

/// The fields of stats that are there, by their names.
pub(crate) type Stats = BTreeMap<String, Field>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    Text(Vec<u8>),
    Number(f64),
}

/// An error of Millpond's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    /// Of a modification that was refused: why, as an adapter writes it.
    pub(crate) dependency: Value,
}

impl StepResult {
    /// Reads what `call` returned, as a case file or an adapter writes it.
    pub(crate) fn read(call: &Call, value: &Value) -> Result<Self> {
        let unreadable = || format!("no result of this call: {value}");
        Ok(match call {
            Call::Add(_) => {
                // A case has both in a list, an adapter by their names.
                let (new, lowered) = match value.as_array().map(Vec::as_slice) {
                    Some([new, lowered]) => (new, lowered),
                    _ => (&value["new"], &value["lowered"]),
                };
                let (new, lowered) = new.as_u64().zip(lowered.as_u64()).ok_or_else(unreadable)?;
                Self::Added { new, lowered }
            }
            Call::Reserve { .. } | Call::Exchange { .. } => {
                Self::Batch(read_pairs(value.as_array().ok_or_else(unreadable)?)?)
            }
            Call::Commit(_) | Call::Delete { .. } => {
                Self::Count(value.as_u64().ok_or_else(unreadable)?)
            }
            Call::Stats if value.is_null() => Self::Nothing,
            Call::Stats => Self::Stats(read_stats(value)?),
            Call::Redis(_) | Call::Inexpressible(_) => return Err(unreadable()),
        })
    }
}

/// Reads the fields of stats; one that is null is not there.
pub(crate) fn read_stats(value: &Value) -> Result<Stats> {
    let fields = value.as_object().ok_or_else(|| format!("no stats: {value}"))?;
    let there = fields.iter().filter(|(_, value)| !value.is_null());
    there.map(|(name, value)| Ok((name.clone(), Field::read(name, value)?))).collect()
}

impl Field {
    fn read(name: &str, value: &Value) -> Result<Self> {
        if name == "ver" || name == "key" || name.ends_with("_key") {
            bytes(value).map(Self::Text)
        } else {
            score(value).map(Self::Number)
        }
    }
}

impl Refusal {
    /// Reads `{"code", "name", "message"}` and maybe `"dependency"`, whose code and name belong together.
    pub(crate) fn read(value: &Value) -> Result<Self> {
        let code = value["code"].as_u64().and_then(|code| u32::try_from(code).ok());
        let kind = code.and_then(ErrorKind::from_code);
        let kind = kind.filter(|kind| value["name"].as_str() == Some(kind.name()));
        let kind = kind.ok_or_else(|| format!("no error of Millpond's table: {value}"))?;
        let message = value["message"].as_str().unwrap_or_default().to_owned();
        Ok(Self { kind, message, dependency: value["dependency"].clone() })
    }
}

impl fmt::Display for StepResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Added { new, lowered } => write!(f, "{new} new, {lowered} lowered"),
            Self::Batch(pairs) => write_pairs(pairs, f),
            Self::Stats(stats) => write_stats(stats, f),
            Self::Error(refusal) => {
                write!(f, "the error {}: {}", refusal.kind.name(), refusal.message)
            }
        }
    }
}

pub(crate) fn write_stats(stats: &Stats, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, (name, field)) in stats.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        match field {
            Field::Text(text) => write!(f, "{name} {}", shown(text))?,
            Field::Number(number) => write!(f, "{name} {number:?}")?,
        }
    }
    Ok(())
}
