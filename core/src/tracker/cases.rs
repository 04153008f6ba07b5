//! The steps of a queue tracker for the tests that walk all steps.

use std::time::Duration;

use super::*;
use crate::step::cases::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let advance = |ids| Advance::new("k", "3", ["4", "5"], ids, 2, Duration::from_secs(60));
    vec![
        case(Add::new("k", ["a", "b"]), &["2", "0"]),
        case(advance(["a", "b"]), &["[ 1 2 ]", "[ 1 0 ]", "[ 0 0 ]"]),
        case(advance(["a", ""]), &["[ 1 1 ]"]),
        case(Clear::new("k"), &["2", "0"]),
        case(Contains::new("k", ["a", "b"]), &["[ 1 0 ]"]),
        case(ReadIds::new("k", 0, 2), &["[ 'a 5 'b 6 ]", "[ 'a 5 'b 5 'c 5 ]", "[ ]"]),
        case(ReadSample::new("k", 2), &["[ 7 [ 'a 'b ] ]", "[ 7 [ ] ]"]),
        case(ReadStats::new("k"), &["[ 2 1 5 '3 ]", "[ 0 0 nil nil ]"]),
        case(Remove::new("k", ["a"], ["a", "b"], 7), &["1", "0"]),
        case(Remove::new("k", [""; 0], ["a", "b"], 7), &["0"]),
    ]
}
