//! Tests of the model that cases are compared with.

use serde_json::Value;

use crate::adapter::repository;

use super::place::Kind;
use super::plan::Plans;

fn cases(file: &str) -> Vec<Value> {
    let path = repository().join("tests/conformance/cases/shuffle").join(file);
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// A script of the original's was called with what none of our calls can be given. After a step that
/// no call can express, what follows is skipped too if it changed the state.
const BARE: &str = "arguments that only a script can be given";
const NO_ARGUMENTS: &str = "a call without arguments";
const OTHER_QUEUE: &str = "a preferred stream of another queue";

/// The recorded steps that no call of ours can express: why, in which case, and where in it.
const UNSAID: [(&str, &str, &[usize]); 21] = [
    (BARE, "write-sid-negative", &[0]),
    (BARE, "write-second-sid-out-of-range", &[0]),
    (BARE, "write-too-few-sids", &[0]),
    (BARE, "write-streams-not-a-number", &[0]),
    (BARE, "write-odd-fields", &[0, 1]),
    (BARE, "write-ttl-too-large", &[0, 1]),
    (BARE, "write-sid-fraction", &[0, 1]),
    (BARE, "write-sid-hex", &[0, 1]),
    (BARE, "write-sid-minus-zero", &[0, 1]),
    (BARE, "write-sid-padded", &[0, 1]),
    (BARE, "write-streams-fraction", &[0, 1]),
    (BARE, "writetracking-n-above-streams", &[0]),
    (BARE, "writetracking-sid-out-of-range", &[0]),
    (BARE, "writetracking-deadline-not-a-number", &[0, 1]),
    (BARE, "empty-queue-name", &[0, 1]),
    (BARE, "read-without-group", &[0, 1]),
    (NO_ARGUMENTS, "write-refusals", &[6]),
    (NO_ARGUMENTS, "read-refusals", &[3]),
    (BARE, "negative-ttl", &[0]),
    (OTHER_QUEUE, "name-prefix-is-optional", &[4]),
    (BARE, "failed-write-leaves-none", &[0]),
];

/// The model was written from the specification; the traces were recorded. With the original's rules
/// it gives every step of them that a call of ours can express.
#[test]
fn the_original_rules_give_every_recorded_step() {
    let (mut steps, mut explained, mut rest) = (0, 0, Vec::new());
    let files = [
        "queue-handmade-01.json",
        "queue-random-01.json",
        "queue-random-02.json",
        "queue-gc-01.json",
    ];
    for case in files.into_iter().flat_map(cases) {
        let plans = Plans::new(&case);
        let plan = plans.of(Kind::Server);
        assert_eq!(plan.problem, None, "{}", case["name"]);
        // Steps of ours that were not recorded, such as a resize, are in the plan and do not count.
        let recorded = 0..case["steps"].as_array().unwrap().len();
        steps += recorded.len();
        explained += plan.explained.len();
        let missing: Vec<_> = recorded.filter(|index| !plan.explained.contains(index)).collect();
        if !missing.is_empty() {
            let why = plan.left_out.clone().unwrap_or_default();
            rest.push((why, case["name"].as_str().unwrap().to_owned(), missing));
        }
    }
    let unsaid = UNSAID.map(|(why, case, at)| (why.to_owned(), case.to_owned(), at.to_vec()));
    assert_eq!(rest, unsaid);
    assert_eq!((explained, steps), (3_235, 3_266));
}
