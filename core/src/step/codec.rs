//! How numbers and byte strings are written in the journal's records.
//!
//! An integer is a LEB128 varint, a byte string its length as a varint and its bytes, a score the
//! eight bytes of the f64, little endian.

use crate::error::{Error, ErrorKind, Result};

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
        let (bytes, rest) = self.0.split_first_chunk::<8>().ok_or_else(short)?;
        self.0 = rest;
        Ok(f64::from_le_bytes(*bytes))
    }
}

/// The journal verifies its checksums, so a record that does not decode was written by other code.
fn short() -> Error {
    Error::new(ErrorKind::Corrupt, "a journal record does not decode")
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
