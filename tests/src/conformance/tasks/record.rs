//! The records of a store: MessagePack, of which they use arrays, texts and whole numbers.

use crate::Result;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Number(u64),
    Text(Vec<u8>),
}

/// Reads a record: an array of texts and numbers, and nothing behind it.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Item>> {
    let mut reader = Reader(bytes);
    let count = match reader.byte()? {
        byte @ 0x90..=0x9f => u64::from(byte & 0x0f),
        0xdc => reader.number(2)?,
        other => return Err(format!("a record is an array, not {other:#x}")),
    };
    let items = (0..count).map(|_| reader.item()).collect::<Result<_>>()?;
    match reader.0 {
        [] => Ok(items),
        rest => Err(format!("a record has {} bytes too many", rest.len())),
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn item(&mut self) -> Result<Item> {
        Ok(match self.byte()? {
            byte @ 0x00..=0x7f => Item::Number(byte.into()),
            byte @ 0xa0..=0xbf => self.text(u64::from(byte & 0x1f))?,
            byte @ (0xd9..=0xdb) => {
                let length = self.number(1 << (byte - 0xd9))?;
                self.text(length)?
            }
            byte @ 0xcc..=0xcf => Item::Number(self.number(1 << (byte - 0xcc))?),
            // Signed ones, which hold no negative number here.
            byte @ 0xd0..=0xd3 => {
                let bytes = 1 << (byte - 0xd0);
                let number = self.number(bytes)?;
                if number >> (bytes * 8 - 1) != 0 {
                    return Err("a record holds a negative number".to_owned());
                }
                Item::Number(number)
            }
            other => return Err(format!("a record holds no {other:#x}")),
        })
    }

    fn text(&mut self, length: u64) -> Result<Item> {
        Ok(Item::Text(self.take(length as usize)?.to_vec()))
    }

    /// A number of this many bytes, the highest first.
    fn number(&mut self, bytes: usize) -> Result<u64> {
        let bytes = self.take(bytes)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("a record is cut off")?;
        self.0 = rest;
        Ok(taken)
    }
}
