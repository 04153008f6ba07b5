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
    let files = [
        ("cases", include_str!("wrong/cases.json")),
        ("shuffle", include_str!("wrong/shuffle.json")),
    ];
    // One is no case but a name.
    let mut count = 1;
    for (file, content) in files {
        let cases: Value = serde_json::from_str(content).unwrap();
        let cases = cases["cases"].as_array().unwrap();
        count += cases.len();
        for (backend, case) in
            ["memory", "file", "redis"].iter().flat_map(|b| cases.iter().map(move |c| (b, c)))
        {
            let name = case.get("name").unwrap_or(&case["category"]).as_str().unwrap();
            let failure = format!("rust on {backend}: {file}: {name}: ");
            assert!(text.contains(&failure), "no {failure:?} in\n{text}");
        }
    }
    for backend in ["memory", "file", "redis"] {
        assert!(text.contains(&format!("rust on {backend}: cases: the name \"wrong\": ")));
    }
    assert_eq!(last_line(&text), format!("0 passed, {} failed", count * BACKENDS));
    for told in
        ["step 1 (ickreserve)", "expected [\"a\" 1.0000000000000002]", "found    [\"a\" 1.0]"]
    {
        assert!(text.contains(told), "no {told:?} in\n{text}");
    }
}

#[test]
fn recordings_without_marks_are_followed_to_where_ours_do_otherwise() {
    let (output, text) = run("unmarked", &[]);
    // Nine cases of Icks: three need a server, and the one of the types is no case for Rust. Five of
    // shuffle queues: one is about the arguments of a script.
    assert_eq!(last_line(&text), "30 passed, 0 failed", "{text}");
    assert!(output.status.success());
    let script = "skipped: arguments that only a script can be given: rust on file 1";
    assert!(text.contains(script), "{text}");
    assert!(text.contains("skipped: raw Redis set-up: rust on file 3"), "{text}");
    assert!(text.contains("passed but for a step: raw Redis set-up: rust on file 1"), "{text}");
}

/// What an adapter is told or says instead: `s/this/that/`, on which backend it has to be noticed.
const LIES: [(&str, &str, &str); 13] = [
    ("ask", r#"s/"delete":true/"delete":false/"#, "memory"),
    ("ask", r#"s/"delete":true/"delete":false/"#, "redis"),
    ("ask", r#"s/"ttl":86400/"ttl":3600/"#, "redis"),
    ("ask", r#"s/"consumer":"c1"/"consumer":"c9"/"#, "redis"),
    ("ask", r#"s/"consumer":"c1"/"consumer":"c9"/"#, "memory"),
    ("ask", r#"s/"shard_key":"k3"/"shard_key":"k0"/"#, "memory"),
    ("ask", r#"s/"call":"shuffle_ack"/"call":"shuffle_extend"/"#, "memory"),
    ("ask", r#"s/"max_deliveries":2/"max_deliveries":3/"#, "memory"),
    ("answer", r#"s/"stream":1/"stream":0/"#, "memory"),
    ("answer", r#"s/"deliveries":2/"deliveries":1/"#, "memory"),
    ("answer", r#"s/"lag":1/"lag":0/"#, "memory"),
    ("answer", r#"s/INVALID_ARGUMENT/WRONG_TYPE/;s/"code":1,/"code":5,/"#, "memory"),
    ("answer", r#"s/"result":.*/"unsupported":"shuffle_write is not there"}/"#, "memory"),
];

#[test]
fn an_adapter_that_lies_is_found_out() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let liar = folder.path().join("liar");
    let script = "#!/bin/sh\nsed -u -e \"$ASK\" | \"$ADAPTER\" adapter | sed -u -e \"$ANSWER\"\n";
    std::fs::write(&liar, script).unwrap();
    std::fs::set_permissions(&liar, std::fs::Permissions::from_mode(0o755)).unwrap();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases/shuffle");
    for file in ["ours-acking.json", "ours-wrong-arguments.json"] {
        std::fs::copy(cases.join(file), folder.path().join(file)).unwrap();
    }
    let run = |ask: &str, answer: &str, backend: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_millpond-conformance"))
            .args(["--adapters", "ruby", "--backends", backend])
            .arg(folder.path())
            .env("MILLPOND_RUBY", &liar)
            .env("ADAPTER", env!("CARGO_BIN_EXE_millpond-conformance"))
            .env("ASK", ask)
            .env("ANSWER", answer)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    for backend in ["memory", "redis"] {
        let (is_good, text) = run("", "", backend);
        assert!(is_good, "one that does not lie: {text}");
    }
    for (which, lie, backend) in LIES {
        let (ask, answer) = if which == "ask" { (lie, "") } else { ("", lie) };
        let (is_good, text) = run(ask, answer, backend);
        assert!(!is_good, "{which} {lie} on {backend}: {text}");
    }
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
