//! Scores: how the `f64` of a sorted set is ordered, written and read.

use std::cmp::Ordering;

/// A score that sorts as Redis sorts it: by value, with `-0` equal to `0`. Never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Score(f64);

impl Score {
    /// NaN has no place in an order, so the steps refuse it before a score is made.
    pub(crate) fn new(value: f64) -> Self {
        debug_assert!(!value.is_nan(), "steps refuse NaN when they are made");
        Self(value)
    }

    pub(crate) fn value(self) -> f64 {
        self.0
    }
}

impl Eq for Score {}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).expect("a score is never NaN")
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Appends the shortest text that Redis reads back as exactly this score.
pub(crate) fn write(score: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let magnitude = score.abs();
    if magnitude < 9e15 && magnitude.fract() == 0.0 && score != 0.0 {
        // Most scores are whole: times and counters.
        out.extend_from_slice(itoa::Buffer::new().format(score as i64).as_bytes());
        return;
    }
    let done = if magnitude == 0.0 || (1e-5..1e16).contains(&magnitude) || magnitude.is_infinite() {
        write!(out, "{score}")
    } else {
        write!(out, "{score:e}")
    };
    done.expect("writing to a Vec cannot fail");
}

/// Reads a score as Redis prints it, in 17 digits or in the shortest form.
pub(crate) fn parse(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|score: &f64| !score.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(score: f64) -> String {
        let mut out = Vec::new();
        write(score, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_shortest_form_reads_back_exactly() {
        for (score, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (5.0, "5"),
            (-12.0, "-12"),
            (12.8, "12.8"),
            (1e15, "1000000000000000"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (1_763_691_473.123_456, "1763691473.123456"),
        ] {
            assert_eq!(text(score), expected);
            let back = parse(expected.as_bytes()).unwrap();
            assert_eq!(back.to_bits(), score.to_bits(), "{expected}");
        }
        assert_eq!(parse(b"nan"), None);
        assert_eq!(parse(b"12.800000000000001"), Some(12.8));
    }
}
