//! The kit itself: tests of what the cases are compared with.

use millpond::ick::Name;

use crate::adapter::repository;
use crate::call::{Argument, Call};
use crate::case::{Body, read_folder};
use crate::model;
use crate::result::StepResult;
use crate::returns::Returns;
use crate::state::State;

/// The model was written from the specification; the cases were recorded. They agree.
#[test]
fn the_model_agrees_with_every_case() {
    let mut steps = 0;
    for case in read_folder(&repository().join("tests/conformance/cases/ick")).unwrap() {
        let Body::Steps(body) = &case.body else { continue };
        let mut states = vec![State::NOTHING; body.names.len()];
        // The model knows no raw commands, so it ends where one of them matters.
        let is_ours = |step: &&crate::case::Step| !matches!(step.call, Call::Redis(_));
        for (index, step) in body.steps.iter().take_while(is_ours).enumerate() {
            let Argument::Plain(name) = &step.name else { continue };
            let before = &states[step.told];
            let Some((returns, after)) = model::outcome(before, name, &step.call) else { continue };
            let agrees = match &returns {
                Returns::StepResult(result) => step.returns.accepts(result),
                _ => returns.is_error() && step.returns.is_error(),
            };
            assert!(agrees, "{} step {index}: {returns}, not {}", case.name, step.returns);
            let agrees = step.state.as_ref().is_none_or(|state| state.accepts(&after));
            assert!(agrees, "{} step {index}: state {after}", case.name);
            states[step.told] = after;
            steps += 1;
        }
    }
    assert!(steps > 7_000, "only {steps} steps were looked at");
}

#[test]
fn the_library_derives_the_recorded_keys() {
    let cases = read_folder(&repository().join("tests/conformance/cases/ick")).unwrap();
    let keys = cases.iter().filter_map(|case| match &case.body {
        Body::Keys(keys) => Some(keys),
        _ => None,
    });
    let mut count = 0;
    for keys in keys {
        let name = Name::new(&keys.name).unwrap();
        assert_eq!(*name.flag_key(), *keys.name);
        assert_eq!(*name.producer_key(), *keys.producer);
        assert_eq!(*name.consumer_key(), *keys.consumer);
        count += 1;
    }
    assert_eq!(count, 20);
}

#[test]
fn stats_are_recorded_or_exact_and_nothing_else() {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let recorded = read(r#"{"pset_size": 1, "pset_min": 1.2}"#);
    let returns = Returns::read(&Call::Stats, Some(&recorded), &read(r#"{"pset_min": 1.23}"#));
    let returns = returns.unwrap();
    let accepts = |text| returns.accepts(&StepResult::read(&Call::Stats, &read(text)).unwrap());
    assert!(accepts(r#"{"pset_size": 1, "pset_min": 1.2}"#));
    assert!(accepts(r#"{"pset_size": 1, "pset_min": 1.23, "pset_max": null}"#));
    assert!(!accepts(r#"{"pset_size": 1, "pset_min": 1.21}"#));
    assert!(!accepts(r#"{"pset_size": 1}"#));
    assert!(!accepts(r#"{"pset_size": 1, "pset_min": 1.2, "pset_max": 1.2}"#));
}
