//! The id of an event.

use std::fmt;

use crate::error::{Error, Result, invalid};

/// The id of an event. It tells where the event is, and is never used for another event of its queue. Of events that
/// fire at the same time, the one with the smaller id was published first, and comes first.
///
/// ```
/// use millpond::events::EventId;
///
/// let id: EventId = "00000080000000000g00".parse()?;
/// assert_eq!(id.to_string(), "00000080000000000g00");
/// assert!(id > EventId::MIN);
/// assert_eq!("an id".parse::<EventId>().unwrap_err().kind(), millpond::ErrorKind::InvalidArgument);
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId([u8; 12]);

/// Digits of base 32 in the order of their values, so that texts sort as ids do.
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

impl EventId {
    /// The smallest id.
    pub const MIN: Self = Self([0; 12]);

    /// The largest id.
    pub(super) const MAX: Self = Self([u8::MAX; 12]);

    /// The largest sequence.
    pub(super) const SEQUENCE_MAX: u64 = (1 << 48) - 1;

    pub(super) fn new(generation: u32, sequence: u64, vslot: u16) -> Self {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&generation.to_be_bytes());
        bytes[4..10].copy_from_slice(&sequence.to_be_bytes()[2..]);
        bytes[10..].copy_from_slice(&vslot.to_be_bytes());
        Self(bytes)
    }

    /// The id of these bytes.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The part of the key space that the event belongs to.
    pub(super) fn vslot(self) -> u16 {
        u16::from_be_bytes([self.0[10], self.0[11]])
    }

    pub(super) fn as_bytes(&self) -> &[u8; 12] {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 96 bits and four zero bits make twenty digits.
        let bits = self.0.iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte)) << 4;
        let text: String =
            (0..20).map(|at| char::from(DIGITS[(bits >> (95 - 5 * at) & 31) as usize])).collect();
        f.pad(&text)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for EventId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte);
        let digits: Option<Vec<_>> = text.as_bytes().iter().map(digit).collect();
        let bits = digits.filter(|digits| digits.len() == 20).and_then(|digits| {
            let bits = digits.iter().fold(0_u128, |bits, digit| bits << 5 | *digit as u128);
            (bits & 15 == 0).then_some(bits >> 4)
        });
        let bits = bits.ok_or_else(|| {
            // A text that was passed by mistake may be a payload.
            let text: String = text.chars().take(40).collect();
            invalid(format!("{text:?} is no id of an event, which has twenty digits of base 32"))
        })?;
        Ok(Self::of_bytes(&bits.to_be_bytes()[4..]).unwrap_or(Self::MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_sort_as_ids_do_and_read_back() {
        let ids = [
            EventId::MIN,
            EventId::new(0, 0, 1),
            EventId::new(0, 1, 0),
            EventId::new(1, 0, 0xffff),
            EventId::new(1, EventId::SEQUENCE_MAX, 7),
            EventId::new(u32::MAX, EventId::SEQUENCE_MAX, 0xffff),
        ];
        for pair in ids.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(pair[0].to_string() < pair[1].to_string());
        }
        for id in ids {
            assert_eq!(id.to_string().parse::<EventId>().unwrap(), id);
            assert_eq!(id.to_string().len(), 20);
        }
        assert!("vvvvvvvvvvvvvvvvvvvv".parse::<EventId>().is_err());
        assert!("0000000000000000000".parse::<EventId>().is_err());
    }
}
