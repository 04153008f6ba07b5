//! The steps of an Ick for the tests that walk all steps.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::step::cases::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let second = Duration::from_secs(1);
    let token: Token = Arc::from(b"token".as_slice());
    vec![
        case(Acquire::new("k", token.clone(), second), &["1", "0"]),
        case(Add::new("k", [(1.0, "a"), (2.0, "b")]), &["[ 1 1 ]", "[ 2 0 ]", "[ 0 0 ]"]),
        case(Commit::new("k", ["a", "b"]), &["2", "0"]),
        case(Delete::new("k"), &["3", "0"]),
        case(Exchange::new("k", 2, ["a"]), &["[ 'a '1 'b '2.5 ]", "[ ]"]),
        case(Peek::new("k", Set::Producer, 2), &["[ 'a '1 'b '-inf ]", "[ ]"]),
        case(
            ReadStats::new("k"),
            &["nil", "[ 'ick.v1 1 2 '1 '1 '2 '3 ]", "[ 'ick.v1 0 0 nil nil nil nil ]"],
        ),
        case(Release::new("k", token.clone()), &["1", "0"]),
        case(Renew::new("k", token.clone(), second), &["1", "0"]),
        case(Reserve::new("k", 2), &["[ 'a '1 'b '2.5 ]", "[ ]"]),
        case(Add::new("k", [(1.0, ""); 0]), &["[ 0 0 ]"]),
        case(Reserve::new("k", 1).map(|step| step.fenced(token.clone())), &["[ ]"]),
        case(Commit::new("k", ["a"]).map(|step| step.fenced(token.clone())), &["1"]),
        case(Exchange::new("k", 1, ["a"]).map(|step| step.fenced(token)), &["[ ]"]),
    ]
}
