//! Proves that the conformance kit can fail, and that it follows recordings without marks.

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
        ("tasks", include_str!("wrong/tasks.json")),
        ("volatile", include_str!("wrong/volatile.json")),
        ("recruiter", include_str!("wrong/recruiter.json")),
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

#[test]
fn a_part_of_the_cases_is_another_one_for_another_seed() {
    let (_, all) = run("unmarked", &[]);
    let parts: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .map(|seed| run("unmarked", &["--one-in", "2", "--seed", seed]).1)
        .collect();
    assert!(parts.iter().all(|part| last_line(part) != last_line(&all)), "{parts:?}");
    let heads: Vec<_> = parts.iter().map(|part| part.lines().next()).collect();
    assert!(heads[0].is_some_and(|head| head.ends_with("one in 2, seed a")), "{heads:?}");
    let again = run("unmarked", &["--one-in", "2", "--seed", "a"]).1;
    assert_eq!(last_line(&again), last_line(&parts[0]));
}

/// What is changed in an adapter's input or output: `s/this/that/`, on which backend it has to be
/// noticed.
type Lie = (&'static str, &'static str, &'static str);

const SHUFFLE_LIES: [Lie; 14] = [
    ("request", r#"s/"ack_and_delete"/"ack"/"#, "memory"),
    ("request", r#"s/"ack_and_delete"/"ack"/"#, "redis"),
    ("request", r#"s/"ttl_ms":86400000/"ttl_ms":3600000/"#, "redis"),
    ("request", r#"s/{"utf8":"c1"}/{"utf8":"c9"}/"#, "redis"),
    ("request", r#"s/{"utf8":"c1"}/{"utf8":"c9"}/"#, "memory"),
    ("request", r#"s/"shard_key":{"utf8":"k3"}/"shard_key":{"utf8":"k0"}/"#, "memory"),
    ("request", r#"s/"ack"/"renew"/"#, "memory"),
    ("request", r#"s/"max_deliveries":2/"max_deliveries":3/"#, "memory"),
    ("response", r#"s/"stream":1/"stream":0/"#, "memory"),
    ("response", r#"s/"deliveries":2/"deliveries":1/"#, "memory"),
    ("response", r#"s/"deliveries":1/"deliveries":0/"#, "memory"),
    ("response", r#"s/"lag":1/"lag":0/"#, "memory"),
    ("response", r#"s/INVALID_ARGUMENT/WRONG_TYPE/;s/"code":1,/"code":5,/"#, "memory"),
    ("response", r#"s/"result":.*/"unsupported":"the call write is not known"}/"#, "memory"),
];

const TASKS_LIES: [Lie; 20] = [
    ("request", r#"s/"claimant":"B"/"claimant":"A"/"#, "memory"),
    ("request", r#"s/"claimant":"B"/"claimant":"A"/"#, "redis"),
    ("request", r#"s/"skip_colliding":true/"skip_colliding":false/"#, "memory"),
    ("request", r#"s/"after_ms":60000/"after_ms":0/"#, "memory"),
    ("request", r#"s/"value":"\([^"]*\)"/"value":" \1"/"#, "redis"),
    ("request", r#"s/"depends":/"ignored":/"#, "memory"),
    ("request", r#"s/"doc_depends":/"ignored":/"#, "memory"),
    ("request", r#"s/"max":3/"max":2/"#, "memory"),
    ("request", r#"s/"lease_ms":0/"lease_ms":1000/"#, "memory"),
    ("request", r#"s/"attempt":2/"attempt":3/"#, "memory"),
    ("request", r#"s/"ttl_ms":/"ignored":/"#, "memory"),
    ("request", r#"s/"retry":"[^"]*"/"retry":""/"#, "memory"),
    ("response", r#"s/"claims":1/"claims":0/"#, "memory"),
    ("response", r#"s/"deletes":\[\["y",1\]\]/"deletes":[]/"#, "memory"),
    ("response", r#"s/"doc_claims":\[\[/"doc_claims":[["x","y",1],[/"#, "memory"),
    ("response", r#"s/"value":null/"value":"null"/"#, "redis"),
    ("response", r#"s/"modified_ms":[0-9]*/"modified_ms":1/"#, "redis"),
    ("response", r#"s/ x is not at/ is not at/"#, "memory"),
    ("response", r#"s/DEPENDENCY/WRONG_TYPE/;s/"code":22,/"code":4,/"#, "memory"),
    ("response", r#"s/"result":.*/"unsupported":"the call modify is not known"}/"#, "memory"),
];

const VOLATILE_LIES: [Lie; 21] = [
    ("request", r#"s/"ttl_ms":60000/"ttl_ms":600000/"#, "memory"),
    ("request", r#"s/"ttl_ms":60}/"ttl_ms":6000}/"#, "memory"),
    ("request", r#"s/"set_if_absent"/"set_if_present"/"#, "memory"),
    ("request", r#"s/"set_locked"/"set_and_release"/"#, "memory"),
    ("request", r#"s/"set_and_release"/"set_locked"/"#, "memory"),
    ("request", r#"s/"token":{"utf8":"B"}/"token":{"utf8":"A"}/"#, "memory"),
    ("request", r#"s/"limit":2/"limit":3/"#, "memory"),
    ("request", r#"s/"omit_values":true/"omit_values":false/"#, "memory"),
    ("request", r#"s/"after":/"ignored":/"#, "memory"),
    ("request", r#"s/{"name":"two"}/{"name":"one"}/"#, "memory"),
    ("request", r#"s/{"name":"pages"}/{"name":"books"}/"#, "redis"),
    ("request", r#"s/"clear"/"len"/"#, "memory"),
    ("response", r#"s/"value":"[^"]*"/"value":"x"/"#, "memory"),
    ("response", r#"s/"expires_us":[0-9]*/"expires_us":1/"#, "memory"),
    ("response", r#"s/"expires_us":\([0-9]*\)[0-9],/"expires_us":\10,/"#, "redis"),
    ("response", r#"s/"fence":[0-9]*/"fence":1/"#, "memory"),
    ("response", r#"s/"remaining_ms":[0-9.]*/"remaining_ms":null/"#, "memory"),
    ("response", r#"s/"expired":[1-9]/"expired":0/"#, "memory"),
    ("response", r#"s/"more":true/"more":false/"#, "memory"),
    ("response", r#"s/LEASE_LOST/WRONG_TYPE/;s/"code":14,/"code":4,/"#, "memory"),
    ("response", r#"s/"result":.*/"unsupported":"the call set is not known"}/"#, "memory"),
];

const RECRUITER_LIES: [Lie; 14] = [
    ("request", r#"s/"times":/"ignored":/"#, "memory"),
    ("request", r#"s/"budget_ms":/"ignored":/"#, "memory"),
    ("request", r#"s/"share":0.7/"share":0.2/"#, "memory"),
    ("request", r#"s/"raises":"[^"]*"/"returns":1/"#, "memory"),
    ("request", r#"s/"abort":true/"abort":false/"#, "memory"),
    ("request", r#"s/"stop"/"is_due"/"#, "memory"),
    ("request", r#"s/"uninstall"/"wake"/"#, "memory"),
    ("response", r#"s/"recruited":true/"recruited":false/"#, "memory"),
    ("response", r#"s/"why":"over_duty"/"why":"not_drawn"/"#, "memory"),
    ("response", r#"s/"message":"[^"]*"/"message":""/"#, "memory"),
    ("response", r#"s/"remaining_ms":[0-9.]*/"remaining_ms":60000/"#, "memory"),
    ("response", r#"s/"items":[0-9]*,"job":"c"/"items":1,"job":"c"/"#, "redis"),
    ("response", r#"s/"enlisted":0,/"enlisted":1,/"#, "memory"),
    ("response", r#"s/"result":.*/"unsupported":"the call install is not known"}/"#, "memory"),
];

#[test]
fn an_adapter_that_lies_is_found_out() {
    let files = ["shuffle/ours-acking.json", "shuffle/ours-wrong-arguments.json"];
    find_out(&files, &SHUFFLE_LIES);
    let files = ["dependency", "holding", "retries", "skip-colliding"];
    find_out(&files.map(|file| format!("tasks/{file}.json")), &TASKS_LIES);
    let files = ["values", "expiry", "pages", "locks"];
    find_out(&files.map(|file| format!("volatile/{file}.json")), &VOLATILE_LIES);
    let files = ["installing", "slices"];
    find_out(&files.map(|file| format!("recruiter/{file}.json")), &RECRUITER_LIES);
}

fn find_out(files: &[impl AsRef<Path>], lies: &[Lie]) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let liar = folder.path().join("liar");
    let script =
        "#!/bin/sh\nsed -u -e \"$REQUEST\" | \"$ADAPTER\" adapter | sed -u -e \"$RESPONSE\"\n";
    std::fs::write(&liar, script).unwrap();
    std::fs::set_permissions(&liar, std::fs::Permissions::from_mode(0o755)).unwrap();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    for file in files {
        let copy = file.as_ref().file_name().unwrap();
        std::fs::copy(cases.join(file), folder.path().join(copy)).unwrap();
    }
    let run = |request: &str, response: &str, backend: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_millpond-conformance"))
            .args(["--adapters", "rust", "--backends", backend])
            .arg(folder.path())
            .env("MILLPOND_RUST_ADAPTER", &liar)
            .env("ADAPTER", env!("CARGO_BIN_EXE_millpond-conformance"))
            .env("REQUEST", request)
            .env("RESPONSE", response)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    for backend in ["memory", "redis"] {
        let (is_good, text) = run("", "", backend);
        assert!(is_good, "one that does not lie: {text}");
    }
    for (which, lie, backend) in lies {
        let (request, response) = if *which == "request" { (*lie, "") } else { ("", *lie) };
        let (is_good, text) = run(request, response, backend);
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

/// Whatever hangs: the adapter here, which the kit itself would wait for longer than it may.
#[test]
fn a_run_that_hangs_is_named_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let hangs = folder.path().join("hangs");
    std::fs::write(&hangs, "#!/bin/sh\necho $$ > \"$0.pid\"\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&hangs, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_millpond-conformance"))
        .args(["--adapters", "python", "--backends", "memory"])
        .arg(folder.path())
        .env("MILLPOND_PYTHON", &hangs)
        .env("MILLPOND_TEST_SECONDS_MAX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("HANGS: the first call in python did not end within 1s"), "{said}");
    assert!(!output.status.success());
    let pid = std::fs::read_to_string(folder.path().join("hangs.pid")).unwrap();
    millpond_tests::servers::wait_until("the adapter is killed", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // Until its parent has waited for it, it is dead but listed.
        stat.is_err() || stat.unwrap().contains(") Z ")
    });
}
