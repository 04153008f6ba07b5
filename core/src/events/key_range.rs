//! Parts of the key space that a consumer takes events from, in the notation of Vitess.

use super::map::{Map, Range, merged};
use crate::error::{Result, invalid};

/// Parts of the key space, such as `-80`, `40-80` or `-40,c0-`: each from one bound up to but excluding another one. A
/// bound is the first 2 or 4 hexadecimal digits of a part; a range without it extends to that end of the key space.
pub(super) struct KeyRange<'a> {
    text: &'a str,
    ranges: Vec<Range>,
}

impl<'a> KeyRange<'a> {
    /// # Errors
    /// `INVALID_ARGUMENT` for an invalid text.
    pub(super) fn parse(text: &'a str) -> Result<Self> {
        let ranges = text.split(',').map(parse).collect::<Option<Vec<_>>>();
        let wrong = || {
            invalid(format!(
                "{text:?} is not a key range such as -80, 40-80 or 80-, with bounds of 2 or 4 hexadecimal digits"
            ))
        };
        Ok(Self { text, ranges: merged(&ranges.ok_or_else(wrong)?) })
    }

    /// The numbers of the partitions that own it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it covers only a part of a partition.
    pub(super) fn partitions(&self, map: &Map) -> Result<Vec<usize>> {
        let mut numbers = Vec::new();
        for (number, owner) in map.owners.iter().enumerate() {
            let parts = owner.ranges.iter().map(|owned| self.parts_of(owned)).sum::<u32>();
            match parts {
                0 => {}
                _ if parts == owner.size() => numbers.push(number),
                _ => {
                    let (text, owned) = (self.text, shown(&owner.ranges));
                    return Err(invalid(format!(
                        "key range {text:?} does not consist of whole partitions: partition {number} owns {owned}"
                    )));
                }
            }
        }
        Ok(numbers)
    }

    /// How many parts of the range it covers.
    fn parts_of(&self, (from, to): &Range) -> u32 {
        let both = |range: &Range| {
            (u32::from(*to.min(&range.1)) + 1).saturating_sub((*from.max(&range.0)).into())
        };
        self.ranges.iter().map(both).sum()
    }
}

fn parse(text: &str) -> Option<Range> {
    let (from, to) = text.split_once('-')?;
    let to = bound(to, 1 << 16)?.checked_sub(1)?;
    let range = (bound(from, 0)?.try_into().ok()?, to.try_into().ok()?);
    (range.0 <= range.1).then_some(range)
}

fn bound(digits: &str, end: u32) -> Option<u32> {
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match digits.len() {
        0 => Some(end),
        2 if is_hexadecimal => Some(u32::from_str_radix(digits, 16).ok()? << 8),
        4 if is_hexadecimal => u32::from_str_radix(digits, 16).ok(),
        _ => None,
    }
}

/// Ranges in the notation of consumers.
fn shown(ranges: &[Range]) -> String {
    let bound = |vslot: u16| match vslot {
        0 => String::new(),
        _ if vslot & 0xff == 0 => format!("{:02x}", vslot >> 8),
        _ => format!("{vslot:04x}"),
    };
    let range = |(from, to): &Range| format!("{}-{}", bound(*from), bound(to.wrapping_add(1)));
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn partitions(text: &str, of: &str) -> Result<Vec<usize>> {
        KeyRange::parse(text)?.partitions(&Map::parse(1, Config::default(), of).unwrap())
    }

    #[test]
    fn a_range_is_of_whole_partitions() {
        let map = "7:0000-3fff,c000-ffff 7:4000-7fff 7:8000-bfff 7:";
        for (text, numbers) in [
            ("-", &[0, 1, 2][..]),
            ("40-c0", &[1, 2]),
            ("4000-8000", &[1]),
            ("80-C0", &[2]),
            ("-40,c0-", &[0]),
            ("c0-,40-80,-40", &[0, 1]),
        ] {
            assert_eq!(partitions(text, map).unwrap(), numbers, "{text}");
        }
        for (text, owned) in [
            ("-40", "partition 0 owns -40,c0-"),
            ("40-7fff", "partition 1 owns 40-80"),
            ("bfff-c0", "partition 2 owns 80-c0"),
        ] {
            let error = partitions(text, map).unwrap_err();
            assert!(error.message().contains(owned), "{error}");
        }
        assert!(partitions("-5555", "7:0000-5554 7:5555-ffff").is_ok());
        assert!(partitions("-55", "7:0000-5554 7:5555-ffff").is_err());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "80", "8-", "-080", "80-80", "80-40", "-00", "-+1", "-40,", "40-80-c0"] {
            assert!(partitions(text, "7:0000-ffff").is_err(), "{text}");
        }
    }
}
