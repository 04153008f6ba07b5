//! Nothing grows with the number of calls. Alone in its process, whose size is measured.

use std::fs;

const CALLS: u64 = 1_000_000;
const GROWTH_BYTES_MAX: u64 = 4 * 1024 * 1024;

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("there is /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says RSS");
    let kibibytes = line.trim().trim_end_matches(" kB").parse::<u64>().expect("in kB");
    kibibytes * 1024
}

/// Adds, reads, fails and commits, five calls a turn.
fn call(ick: &millpond::ick::Ick, calls: u64) {
    for number in 0..calls / 5 {
        let members = [format!("{number}-a"), format!("{number}-b")];
        assert_eq!(ick.add(members.iter().map(|member| (1.0, member))).expect("it adds").new, 2);
        assert_eq!(ick.reserve(10).expect("it reserves").len(), 2);
        ick.add([(f64::NAN, "x")]).expect_err("a NaN is refused");
        assert!(ick.stats().expect("it reads").is_some());
        assert_eq!(ick.commit(&members).expect("it commits"), 2);
    }
}

#[test]
fn a_million_calls_leave_nothing_behind() {
    let client = millpond::connect("memory:").expect("it opens");
    let ick = client.ick("files");
    call(&ick, CALLS / 10);
    let before = resident_bytes();
    call(&ick, CALLS);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{CALLS} calls left {grown} bytes");
}
