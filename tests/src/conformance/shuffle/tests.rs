//! The model that cases are held to must not be taken on trust.

use serde_json::Value;

use crate::adapter::repository;

use super::place::Kind;
use super::plan::Plans;

fn cases(file: &str) -> Vec<Value> {
    let path = repository().join("tests/conformance/cases/shuffle").join(file);
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

/// The model was written from the specification; the traces were recorded. With the original's rules
/// it gives every step of them that a call of ours can say.
#[test]
fn the_original_rules_give_every_recorded_step() {
    let (mut steps, mut explained) = (0, 0);
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
        if plan.explained < plan.steps.len() {
            println!("{}: {} of {}", case["name"], plan.explained, plan.steps.len());
        }
        steps += plan.steps.len();
        explained += plan.explained;
    }
    println!("{explained} of {steps}");
    assert_eq!(steps, explained);
}
