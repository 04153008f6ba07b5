//! The rules for a JSON text: every language must be able to read it. Checked before anything is sent.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::limits::VALUE_BYTES_MAX;
use crate::error::{Result, ensure, invalid};

/// How deeply arrays and objects of a value or a content may be nested: the limit of Ruby's parser.
pub const JSON_DEPTH_MAX: usize = 100;

pub(super) fn check(what: &str, text: &str) -> Result<()> {
    let len = text.len();
    ensure!(len <= VALUE_BYTES_MAX, "the {what} has {len} bytes; {VALUE_BYTES_MAX} are allowed");
    let mut parser = serde_json::Deserializer::from_str(text);
    // The parser's error message quotes nothing of the text.
    let read = Nested { levels_left: JSON_DEPTH_MAX }.deserialize(&mut parser);
    read.and_then(|()| parser.end()).map_err(|error| {
        invalid(format!("the {what} is not a JSON text that every language can read: {error}"))
    })
}

/// Reads a value and keeps nothing of it. It is parsed in full, since `IgnoredAny` accepts numbers that no float can
/// hold and halves of surrogate pairs.
#[derive(Clone, Copy)]
struct Nested {
    levels_left: usize,
}

impl Nested {
    fn inner<E: Error>(self) -> Result<Self, E> {
        match self.levels_left.checked_sub(1) {
            Some(levels_left) => Ok(Self { levels_left }),
            None => Err(E::custom(format_args!("it is nested more than {JSON_DEPTH_MAX} deep"))),
        }
    }
}

/// Visits of scalars, of which nothing is kept.
macro_rules! accept {
    ($($visit:ident: $scalar:ty),+) => {$(
        fn $visit<E>(self, _: $scalar) -> Result<(), E> {
            Ok(())
        }
    )+};
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    accept!(visit_bool: bool, visit_u64: u64, visit_i64: i64, visit_f64: f64, visit_str: &str);

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while values.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while entries.next_entry_seed(inner, inner)?.is_some() {}
        Ok(())
    }
}
