//! The steps of a volatile hash for the tests that walk all steps.

use std::time::Duration;

use super::*;
use crate::step::cases::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let second = Duration::from_secs(1);
    let pairs = [("a", "1"), ("b", "2")];
    let set = || Set::new("k", pairs, second);
    let page = FieldQuery::new().limit(2);
    let names = page.clone().omit_values();
    vec![
        case(Acquire::new("k", "a", "me", second), &["[ 1 7 ]", "[ 0 500 ]"]),
        case(Clear::new("k"), &["2", "0"]),
        case(Delete::new("k", ["a", "b"]), &["2", "0"]),
        case(ReadDue::new("k", 3, 2), &["[ [ 'a 'b ] 0 ]", "[ [ 'a ] 500 ]", "[ [ ] ]"]),
        case(Get::new("k", ["a", "b"]), &["[ '1 '2 ]", "[ '1 nil ]", "[ nil nil ]"]),
        case(GetOrAcquire::new("k", "a", "me", second), &["[ 2 '1 ]", "[ 1 7 ]", "[ 0 500 ]"]),
        case(Reap::new("k", 5), &["[ 2 1 5 1 0 ]", "[ 0 0 0 0 900 ]", "[ 0 0 0 0 nil ]"]),
        case(
            ReadFields::new("k", page),
            &["[ [ 'a 5 '1 'b 6 '2 ] 6 'b ]", "[ [ 'a 5 '1 ] ]", "[ [ ] ]"],
        ),
        case(ReadFields::new("k", names), &["[ [ 'a 5 'b 6 ] 6 'b ]", "[ [ 'a 5 ] ]", "[ [ ] ]"]),
        case(ReadHolder::new("k", "a"), &["[ 'me 7 500 ]", "[ ]"]),
        case(ReadStats::new("k"), &["[ 2 1 1 ]", "[ 0 0 0 ]"]),
        case(ReadTtl::new("k", "a"), &["nil", "500"]),
        case(Release::new("k", "a", "me"), &["1", "0"]),
        case(Renew::new("k", "a", "me", second), &["1", "0"]),
        case(set(), &["[ 1 1 ]", "[ 0 1 ]"]),
        case(set().and_then(|set| set.under_lock("a", "me", true)), &["[ 1 1 ]"]),
        case(Touch::new("k", "a", second), &["1", "0"]),
    ]
}
