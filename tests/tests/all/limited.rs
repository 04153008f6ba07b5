//! What ends suites that hang: `tests/limited`, on commands that hang on purpose.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use millpond_tests::servers::wait_until;

fn limited(arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("limited"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(seconds: &str, script: &str) -> (Output, String, String) {
    let output = limited(&[seconds, "sh", "-c", script]).output().expect("there is a shell");
    let [said, complained] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output, said, complained)
}

/// Whether a process with this id runs, other than one that was not waited for.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_test_of_cargo_that_hangs_is_named_and_ended() {
    // What cargo test prints; the second test ended, and only some names say what was expected of them.
    let (output, said, complained) = run(
        "61",
        "echo 'test a::waits has been running for over 60 seconds'
         echo 'test b::waits has been running for over 60 seconds'
         echo 'test b::waits - should panic ... ok'
         while sleep 0.1; do echo 'test c ... ok'; done",
    );
    assert_eq!(output.status.code(), Some(124), "{said}");
    assert_eq!(complained, "\nHANGS: test a::waits did not end within 61 s, and is ended now\n");
    assert!(said.contains("test b::waits - should panic ... ok\ntest c ... ok\n"), "{said}");
}

#[test]
fn what_is_silent_is_ended_with_all_that_it_started() {
    let (output, said, complained) =
        run("2", "trap '' TERM INT; sleep 600 & echo $!; printf 'Suite#test = '; wait");
    assert_eq!(output.status.code(), Some(124), "{said}");
    assert!(
        complained.contains("HANGS: what followed \"Suite#test = \" did not end"),
        "{complained}"
    );
    let started = said.lines().next().expect("a pid");
    wait_until("it is killed too", || !is_alive(started));
}

#[test]
fn what_ends_by_itself_keeps_its_words_and_its_status() {
    let (output, said, complained) = run("60", "echo one >&2; echo; printf ' two\\\\n'; exit 7");
    assert_eq!((output.status.code(), &*said, &*complained), (Some(7), "one\n\n two\\n", ""));
}

#[test]
fn a_suite_that_names_its_tests_is_ended_by_its_child() {
    let limited = limited(&[]).get_program().to_owned();
    let script = "exec 3> >(exec \"$0\" 1 --parent); echo quick >&3; echo slow >&3; sleep 600";
    let began = Instant::now();
    let output = Command::new("bash").args(["-c", script]).arg(limited).output().expect("bash");
    assert!(!output.status.success());
    assert!(began.elapsed() < Duration::from_secs(60));
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(complained.contains("HANGS: slow did not end within 1 s"), "{complained}");
}

#[test]
fn a_suite_that_says_that_it_is_through_is_left_alone() {
    let limited = limited(&[]).get_program().to_owned();
    let script =
        "exec 3> >(exec \"$0\" 1 --parent); echo quick >&3; echo >&3; sleep 3; echo through";
    let output = Command::new("bash").args(["-c", script]).arg(limited).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "through\n");
    assert!(output.status.success());
}
