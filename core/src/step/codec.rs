//! How values are written in the journal's records, and read back.
//!
//! An integer is a LEB128 varint; a byte string or a text is its length as a varint and its bytes; a score is the eight
//! bytes of the f64, little endian.
//!
//! Both directions of a record come from one list: [`effects!`] has the fields of each effect, [`fields!`] those of a
//! struct.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// A value that a record holds.
pub(crate) trait Field<'a>: Sized {
    fn put(&self, record: &mut Vec<u8>);

    fn read(record: &mut Reader<'a>) -> Result<Self>;
}

/// Makes a [`Field`] of a struct: its fields, in this order.
macro_rules! fields {
    ($struct:ty: $($field:ident)+) => {
        impl<'a> $crate::step::codec::Field<'a> for $struct {
            fn put(&self, record: &mut Vec<u8>) {
                $($crate::step::codec::Field::put(&self.$field, record);)+
            }

            fn read(record: &mut $crate::step::codec::Reader<'a>) -> $crate::error::Result<Self> {
                Ok(Self { $($field: $crate::step::codec::Field::read(record)?),+ })
            }
        }
    };
}

pub(crate) use fields;

/// Defines the effects of a queue, each with its fields and its tag: one byte, and the fields in this order.
macro_rules! effects {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident<$life:lifetime> of $queue:literal {
            $($(#[$doc:meta])* $effect:ident $({ $($field:ident: $type:ty),+ })? = $tag:literal,)+
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $name<$life> {
            $($(#[$doc])* $effect $({ $($field: $type),+ })?,)+
        }

        impl<$life> $crate::step::codec::Field<$life> for $name<$life> {
            fn put(&self, record: &mut Vec<u8>) {
                match self {
                    $(Self::$effect $({ $($field),+ })? => {
                        record.push($tag);
                        $($($crate::step::codec::Field::put($field, record);)+)?
                    })+
                }
            }

            fn read(record: &mut $crate::step::codec::Reader<$life>) -> $crate::error::Result<Self> {
                Ok(match record.byte()? {
                    $($tag => {
                        Self::$effect $({ $($field: $crate::step::codec::Field::read(record)?),+ })?
                    })+
                    unknown => return Err($crate::step::codec::unknown_tag($queue, unknown)),
                })
            }
        }

        impl $name<'_> {
            /// The error of a record.
            #[allow(dead_code, reason = "some queues refuse nothing but what their fields refuse")]
            $visibility fn unreadable(what: &str) -> $crate::error::Error {
                $crate::step::codec::unreadable(&format!(concat!("of ", $queue, " {}"), what))
            }
        }
    };
}

pub(crate) use effects;

pub(crate) fn put_integer(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_integer(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_score(score: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&score.to_le_bytes());
}

/// Reads back what the functions above wrote.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Everything that has not been read yet.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.0.split_first().ok_or_else(short)?;
        self.0 = rest;
        Ok(byte)
    }

    pub(crate) fn integer(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(short())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.integer()?).map_err(|_| short())?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn score(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// The bytes that `read` consumes.
    pub(crate) fn read_by(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<&'a [u8]> {
        let before = self.0;
        read(self)?;
        Ok(&before[..before.len() - self.0.len()])
    }

    /// The fields that the whole record is made of, up to the first that does not decode.
    pub(crate) fn all<T: Field<'a>>(mut self) -> impl Iterator<Item = Result<T>> {
        std::iter::from_fn(move || (!self.is_empty()).then(|| T::read(&mut self)))
    }
}

/// The journal verifies its checksums, so a record that does not decode was written by other code.
fn short() -> Error {
    unreadable("does not decode")
}

/// The error of an effect that only a later version can have written, as the journal verifies its checksums. It is not
/// damage, which a repair would cut off.
pub(crate) fn unknown_tag(queue: &str, tag: u8) -> Error {
    let message =
        format!("a journal record of {queue} has the tag {tag}, which this version does not know");
    Error::new(ErrorKind::IncompatibleVersion, message)
}

pub(crate) fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record {what}"))
}

impl Field<'_> for u8 {
    fn put(&self, record: &mut Vec<u8>) {
        record.push(*self);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        record.byte()
    }
}

impl Field<'_> for bool {
    fn put(&self, record: &mut Vec<u8>) {
        record.push((*self).into());
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Ok(record.byte()? == 1)
    }
}

macro_rules! integers {
    ($($integer:ty)+) => {
        $(impl Field<'_> for $integer {
            fn put(&self, record: &mut Vec<u8>) {
                put_integer((*self).into(), record);
            }

            fn read(record: &mut Reader<'_>) -> Result<Self> {
                let integer = record.integer()?.try_into();
                integer.map_err(|_| unreadable("holds a number that is too large"))
            }
        })+
    };
}

integers!(u16 u32 u64);

/// As the integer with the same bits.
impl Field<'_> for i64 {
    fn put(&self, record: &mut Vec<u8>) {
        put_integer(*self as u64, record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Ok(record.integer()? as Self)
    }
}

/// A fixed number of bytes, without their length.
impl<const BYTES: usize> Field<'_> for [u8; BYTES] {
    fn put(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(self);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        record.array()
    }
}

impl<'a> Field<'a> for &'a [u8] {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(self, record);
    }

    fn read(record: &mut Reader<'a>) -> Result<Self> {
        record.bytes()
    }
}

impl Field<'_> for Arc<[u8]> {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(self, record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Ok(record.bytes()?.into())
    }
}

impl<'a> Field<'a> for &'a str {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), record);
    }

    fn read(record: &mut Reader<'a>) -> Result<Self> {
        let text = std::str::from_utf8(record.bytes()?);
        text.map_err(|_| unreadable("holds a text that is not UTF-8"))
    }
}

impl Field<'_> for Arc<str> {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let text: &str = Field::read(record)?;
        // The default is shared, and takes no memory.
        Ok(if text.is_empty() { Self::default() } else { text.into() })
    }
}

/// Preceded by their number.
impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    fn put(&self, record: &mut Vec<u8>) {
        put_integer(self.len() as u64, record);
        self.iter().for_each(|field| field.put(record));
    }

    fn read(record: &mut Reader<'a>) -> Result<Self> {
        (0..record.integer()?).map(|_| Field::read(record)).collect()
    }
}

/// Borrowed where it is written.
impl<'a, T: Field<'a> + Clone> Field<'a> for Cow<'_, T> {
    fn put(&self, record: &mut Vec<u8>) {
        (**self).put(record);
    }

    fn read(record: &mut Reader<'a>) -> Result<Self> {
        T::read(record).map(Cow::Owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_reads_back_and_short_records_are_refused() {
        let mut out = Vec::new();
        for value in [0, 1, 127, 128, 300, u64::MAX] {
            put_integer(value, &mut out);
        }
        put_bytes(b"a\0b", &mut out);
        put_score(-0.5, &mut out);
        let mut reader = Reader::new(&out);
        for value in [0, 1, 127, 128, 300, u64::MAX] {
            assert_eq!(reader.integer().unwrap(), value);
        }
        assert_eq!(reader.bytes().unwrap(), b"a\0b");
        assert_eq!(reader.score().unwrap(), -0.5);
        assert!(reader.is_empty());
        assert_eq!(reader.byte().unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(Reader::new(&[5, 1, 2]).bytes().is_err());
        assert!(Reader::new(&[0xff; 11]).integer().is_err());
    }
}
