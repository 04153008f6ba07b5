//! Proves that the conformance kit can fail, and that it follows recordings that nobody marked.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const BACKENDS: usize = 3;

fn run(folder: &str, arguments: &[&str]) -> (Output, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/selftest").join(folder);
    let output = Command::new(env!("CARGO_BIN_EXE_millpond-conformance"))
        .args(["--adapters", "rust", "--backends", "memory,file,redis"])
        .args(arguments)
        .env("CONFORMANCE_DIR", folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

#[test]
fn every_wrong_case_fails_on_every_backend() {
    let (output, text) = run("wrong", &[]);
    assert!(!output.status.success());
    let cases: Value = serde_json::from_str(include_str!("wrong/cases.json")).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    for backend in ["memory", "file", "redis"] {
        for case in cases {
            let name = case["name"].as_str().unwrap();
            let failure = format!("rust on {backend}: cases: {name}: ");
            assert!(text.contains(&failure), "no {failure:?} in\n{text}");
        }
        assert!(text.contains(&format!("rust on {backend}: cases: the name \"wrong\": ")));
    }
    assert_eq!(last_line(&text), format!("0 passed, {} failed", (cases.len() + 1) * BACKENDS));
    for told in
        ["step 1 (ickreserve)", "expected [\"a\" 1.0000000000000002]", "found    [\"a\" 1.0]"]
    {
        assert!(text.contains(told), "no {told:?} in\n{text}");
    }
}

#[test]
fn recordings_without_marks_are_followed_and_what_is_not_built_is_skipped() {
    let (output, text) = run("unmarked", &[]);
    // Nine cases: three need a server, and the one of the types is no case for Rust.
    assert_eq!(last_line(&text), "18 passed, 0 failed", "{text}");
    assert!(output.status.success());
    assert!(text.contains("skipped: shuffle is not built yet: rust on file 1"), "{text}");
    assert!(text.contains("skipped: raw Redis set-up: rust on file 3"), "{text}");
}

#[test]
fn a_run_without_cases_or_without_its_adapter_fails() {
    let (output, text) = run("none", &[]);
    assert!(!output.status.success());
    assert_eq!(last_line(&text), "0 passed, 1 failed");

    let (output, text) = run("unmarked", &["--adapters", "rust,cobol", "--backends", "memory"]);
    assert!(!output.status.success());
    assert!(text.contains("cobol: adapters.json has no such language"), "{text}");
    assert!(last_line(&text).ends_with(" passed, 1 failed"), "{text}");

    let output = Command::new(env!("CARGO_BIN_EXE_millpond-conformance"))
        .args(["--adapters", "python", "--backends", "memory"])
        .env("MILLPOND_PYTHON", "/bin/false")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success());
    assert!(text.contains("python: the adapter "), "{text}");
    assert_eq!(last_line(&text), "0 passed, 1 failed");
}
