//! What a case expects a call to return.

use std::fmt;

use millpond::ErrorKind;
use serde_json::Value;

use crate::Result;
use crate::call::Call;
use crate::digest::Digest;
use crate::result::{Stats, StepResult, read_stats, write_stats};
use crate::value::shown;

/// What a case expects a call to return.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Returns {
    StepResult(StepResult),
    /// A batch that is too long to be written out.
    Batch(Digest),
    /// Stats whose scores may be the recorded ones or the exact ones.
    Stats {
        recorded: Stats,
        exact: Stats,
    },
    /// An error of one of these kinds, with these in its message.
    Error {
        kinds: Vec<ErrorKind>,
        mentions: Vec<Vec<u8>>,
    },
    /// The reply to a raw command.
    Reply(Value),
    /// The case says nothing.
    Unspecified,
}

impl Returns {
    /// Reads the `returns` of a step, or of its mark.
    pub(crate) fn read(call: &Call, returns: Option<&Value>, lossy: &Value) -> Result<Self> {
        let Some(returns) = returns else { return Ok(Self::Unspecified) };
        if let Some(error) = returns["error"].as_str() {
            let kinds = kinds(error, returns["message"].as_str().unwrap_or_default());
            return Ok(Self::Error { kinds, mentions: Vec::new() });
        }
        if let Call::Redis(_) | Call::Inexpressible(_) = call {
            return Ok(Self::Reply(returns.clone()));
        }
        if returns.get("card").is_some() {
            return Digest::read(returns).map(Self::Batch);
        }
        match StepResult::read(call, returns)? {
            StepResult::Stats(recorded) if lossy.is_object() => {
                let mut exact = recorded.clone();
                exact.extend(read_stats(lossy)?);
                Ok(Self::Stats { recorded, exact })
            }
            result => Ok(Self::StepResult(result)),
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }

    /// Whether this is what was returned.
    pub(crate) fn accepts(&self, found: &StepResult) -> bool {
        match (self, found) {
            (Self::StepResult(result), found) => result == found,
            (Self::Batch(digest), StepResult::Batch(pairs)) => digest.accepts(pairs),
            (Self::Stats { recorded, exact }, StepResult::Stats(found)) => {
                found.keys().eq(recorded.keys())
                    && found.iter().all(|(name, field)| {
                        recorded.get(name) == Some(field) || exact.get(name) == Some(field)
                    })
            }
            (Self::Error { kinds, mentions }, StepResult::Error(refusal)) => {
                let mentioned = |text: &Vec<u8>| {
                    std::str::from_utf8(text).is_ok_and(|text| refusal.message.contains(text))
                };
                kinds.contains(&refusal.kind) && mentions.iter().all(mentioned)
            }
            (Self::Unspecified, _) => true,
            _ => false,
        }
    }
}

/// The kinds that a recorded error can have with us. The texts of the recorded system's own
/// scripts tell nothing; only the first words of the others do.
fn kinds(error: &str, message: &str) -> Vec<ErrorKind> {
    let ours = ErrorKind::ALL.iter().copied().find(|kind| kind.name() == error);
    if let Some(kind) = ours {
        return vec![kind];
    }
    if error == "ArgumentError" {
        vec![ErrorKind::InvalidArgument]
    } else if message.starts_with("WRONGTYPE") || message.starts_with("ick defense") {
        vec![ErrorKind::WrongType]
    } else if message.starts_with("unrecognized ick version") {
        vec![ErrorKind::IncompatibleVersion]
    } else {
        vec![ErrorKind::InvalidArgument, ErrorKind::WrongType, ErrorKind::IncompatibleVersion]
    }
}

impl fmt::Display for Returns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepResult(result) => result.fmt(f),
            Self::Batch(digest) => digest.fmt(f),
            Self::Stats { recorded, exact } => {
                write_stats(exact, f)?;
                f.write_str(" (or the inexact ")?;
                write_stats(recorded, f)?;
                f.write_str(")")
            }
            Self::Error { kinds, mentions } => {
                let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
                write!(f, "the error {}", names.join(" or "))?;
                for (index, mention) in mentions.iter().enumerate() {
                    let and = if index == 0 { " that names" } else { " and" };
                    write!(f, "{and} {}", shown(mention))?;
                }
                Ok(())
            }
            Self::Reply(reply) => write!(f, "{reply}"),
            Self::Unspecified => f.write_str("any result"),
        }
    }
}
