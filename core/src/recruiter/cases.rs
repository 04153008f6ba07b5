//! The steps of a recruiter for the tests that walk all steps.

use super::recruit::Offer;
use super::report::{Ending, JobReport};
use super::*;
use crate::step::cases::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let name = || name::Name::new(b"k");
    let offer = |job: &str, max_running| Offer {
        job: job.into(),
        interval_us: 1_000,
        burst: 1,
        max_running,
        lease_us: 5_000,
        backoff_max: 3,
    };
    let report = JobReport { job: "a".into(), bad: -1, has_more: false, backoff_max: 3 };
    let counters = vec![("a:worked".to_owned(), 1), (":worked".to_owned(), 1)];
    let recruit = name().map(|name| Recruit {
        name,
        offers: vec![offer("a", 0), offer("b", 1)],
        reports: vec![report.clone()],
        counters: counters.clone(),
    });
    let ending = Ending { job: "a".into(), fence: 7 };
    let ends =
        name().map(|name| Report { name, ending: Some(ending), reports: vec![report], counters });
    let reports =
        name().map(|name| Report { name, ending: None, reports: Vec::new(), counters: Vec::new() });
    vec![
        case(
            recruit,
            &["[ 2 0 7 900 0 0 ]", "[ 0 0 0 0 500 0 ]", "[ 0 0 0 900 500 1 ]", "[ 1 3 7 0 0 0 ]"],
        ),
        case(ends, &["1", "0"]),
        case(reports, &["0"]),
        case(
            name().map(|name| ReadStats { name }),
            &["[ [ 'a 1 7 ] [ 'a:worked '3 ':worked '3 ] ]", "[ [ ] [ ] ]"],
        ),
    ]
}
