//! What a step returns, and whether that is what a case expects.

use millpond_tests::shuffle::model::{Collected, Counts, Fields, Text};
use millpond_tests::shuffle::trace::{are_fields, string};
use serde_json::Value;

use millpond::ErrorKind;

/// What a step returns, in the model or in a language. Streams are keys, and ids are names.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StepResult {
    /// There is nothing, or nothing is expected.
    Nothing,
    Number(u64),
    Flags(Vec<bool>),
    Written(Vec<Place>),
    Redriven(Vec<Option<Place>>),
    Deleted(Option<Place>),
    Messages(Vec<Message>),
    Reclaimed {
        messages: Vec<Message>,
        dead: u64,
    },
    Stats(Counts),
    DeadLetters(Vec<Letter>),
    Values(Vec<Text>),
    Collected(Collected),
    Error(Failed),
}

/// A stream's key and the name of a message in it.
pub(super) type Place = (Text, Text);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) at: Place,
    pub(super) fields: Fields,
    pub(super) deliveries: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Letter {
    pub(super) message: Message,
    pub(super) group: Text,
    pub(super) consumer: Text,
    pub(super) deliveries: u64,
    pub(super) reason: Text,
}

/// An error: which one it has to be, or which it was and what it says.
#[derive(Clone, Debug)]
pub(super) enum Failed {
    /// One of the original, all of which are the same to us.
    Any,
    Kind(ErrorKind, String),
}

impl PartialEq for Failed {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kind(one, _), Self::Kind(other, _)) => one == other,
            _ => true,
        }
    }
}

impl StepResult {
    /// Whether a case expects this of a step.
    pub(super) fn is_expected(&self, returns: &Value) -> bool {
        let list = || returns.as_array().map_or(&[][..], Vec::as_slice);
        let error = returns["error"].as_str();
        match self {
            Self::Error(Failed::Kind(kind, _)) => error == Some(kind.name()),
            Self::Error(Failed::Any) => error.is_some(),
            _ if error.is_some() => false,
            Self::Nothing => returns.is_null() || returns == "OK",
            Self::Number(number) => returns.as_u64() == Some(*number),
            Self::Flags(flags) => {
                let said = list().iter().map(Value::as_bool);
                said.eq(flags.iter().copied().map(Some))
            }
            Self::Redriven(places) => are_all(places, list(), |place, said| match place {
                None => said.is_null(),
                Some(place) => is_place(place, said),
            }),
            Self::Written(places) if !returns.is_array() => {
                places.len() == 1 && is_place(&places[0], returns)
            }
            Self::Written(places) => are_all(places, list(), is_place),
            Self::Deleted(None) => returns.is_null(),
            Self::Deleted(Some(place)) => returns == "OK" || is_place(place, returns),
            Self::Messages(messages) => match returns {
                Value::Array(said) => are_all(messages, said, Message::is_expected),
                Value::Null => messages.is_empty(),
                said => messages.len() == 1 && messages[0].is_expected(said),
            },
            Self::Reclaimed { messages, dead } => {
                let said = returns["messages"].as_array().map_or(&[][..], Vec::as_slice);
                are_all(messages, said, Message::is_expected)
                    && returns["dead"].as_u64() == Some(*dead)
            }
            // Length and pending; ours have lag as well.
            Self::Stats(counts) => {
                let sums = [
                    counts.iter().map(|stream| stream.len).sum::<u64>(),
                    counts.iter().map(|stream| stream.pending).sum(),
                    counts.iter().map(|stream| stream.lag).sum(),
                ];
                let said = list().iter().filter_map(Value::as_u64);
                (2..=3).contains(&list().len()) && said.eq(sums[..list().len()].iter().copied())
            }
            Self::DeadLetters(letters) => are_all(letters, list(), Letter::is_expected),
            Self::Values(values) => list().iter().map(string).eq(values.iter().cloned()),
            Self::Collected(Collected { scanned, deleted, seen }) => {
                let said = returns["seen"].as_array().into_iter().flatten().map(string);
                returns["total"].as_u64() == Some(*scanned)
                    && returns["deleted"].as_u64() == Some(*deleted)
                    && said.eq(seen.iter().cloned())
            }
        }
    }
}

fn are_all<T>(found: &[T], said: &[Value], is_expected: impl Fn(&T, &Value) -> bool) -> bool {
    found.len() == said.len()
        && found.iter().zip(said).all(|(found, said)| is_expected(found, said))
}

/// An id, or `{"stream", "id"}`.
fn is_place((stream, id): &Place, said: &Value) -> bool {
    match said.as_str() {
        Some(name) => name == id,
        None => !said.is_null() && string(&said["stream"]) == *stream && string(&said["id"]) == *id,
    }
}

impl Message {
    fn is_expected(&self, said: &Value) -> bool {
        !said.is_null()
            && is_place(&self.at, said)
            && are_fields(&self.fields, &said["values"])
            // What was read was delivered once.
            && self.deliveries == said["deliveries"].as_u64().unwrap_or(1)
    }
}

impl Letter {
    fn is_expected(&self, said: &Value) -> bool {
        let message = Message { deliveries: 1, ..self.message.clone() };
        message.is_expected(&said["message"])
            && self.message.deliveries == self.deliveries
            && self.group == string(&said["group"])
            && self.consumer == string(&said["consumer"])
            && Some(self.deliveries) == said["deliveries"].as_u64()
            && self.reason
                == said.get("reason").map_or("exhausted: max_deliveries".to_owned(), string)
    }
}

impl std::fmt::Display for StepResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN_MAX: usize = 2_000;
        match self {
            Self::Error(Failed::Any) => f.write_str("an error"),
            Self::Error(Failed::Kind(kind, message)) => {
                write!(f, "the error {}: {message}", kind.name())
            }
            result => {
                let text = format!("{result:?}");
                f.write_str(text.get(..SHOWN_MAX).unwrap_or(&text))
            }
        }
    }
}
