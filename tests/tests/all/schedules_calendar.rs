//! When schedules tick: against a table that another implementation made, and where clocks are changed.

use std::collections::BTreeMap;
use std::time::Duration;

use millpond::events::Schedule;

/// Expression, zone, a time, and the three ticks after it, in seconds since the Unix epoch.
const TABLE: &str = include_str!("../../fixtures/cron/table.tsv");

fn ticks(schedule: &Schedule, after: u64, count: usize) -> Vec<u64> {
    let mut last = after * 1_000;
    let next = |_| {
        last = schedule.next_ms(last).expect("it is right")?;
        Some(last / 1_000)
    };
    (0..count).map_while(next).collect()
}

#[test]
fn cron_table() {
    assert_eq!(TABLE.lines().count(), 2_000);
    let mut wrong = BTreeMap::new();
    for row in TABLE.lines() {
        let fields: Vec<_> = row.split('\t').collect();
        let numbers: Vec<u64> =
            fields[2..].iter().map(|field| field.parse().expect("a number")).collect();
        let found = ticks(&Schedule::new("s").cron(fields[0]).zone(fields[1]), numbers[0], 3);
        if found != numbers[1..] {
            wrong.insert(row, found);
        }
    }
    assert!(wrong.is_empty(), "{} rows: {wrong:#?}", wrong.len());
}

/// The seconds since the Unix epoch of a time in UTC.
fn utc(text: &str) -> u64 {
    let number = |range: std::ops::Range<usize>| text[range].parse::<u64>().expect("a number");
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let before: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let days = before + lengths[..month as usize - 1].iter().sum::<u64>() + day - 1;
    days * 86_400 + number(11..13) * 3_600 + number(14..16) * 60
}

/// The ticks of an expression in a zone behind a time, all as times in UTC.
#[track_caller]
fn expect(expression: &str, zone: &str, after: &str, expected: &[&str]) {
    let found = ticks(&Schedule::new("s").cron(expression).zone(zone), utc(after), expected.len());
    let expected: Vec<_> = expected.iter().map(|text| utc(text)).collect();
    assert_eq!(found, expected, "{expression} in {zone} after {after}");
}

#[test]
fn dst_gap_fixed() {
    // 2:00 is 3:00.
    expect(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-28 12:00",
        &["2026-03-29 01:00", "2026-03-30 00:30"],
    );
    expect(
        "0,15,30 2 * * *",
        "Europe/Berlin",
        "2026-03-28 12:00",
        &["2026-03-29 01:00", "2026-03-30 00:00"],
    );
    // What the clock shows then fires with what it skipped, once.
    expect(
        "0 2-3 * * *",
        "Europe/Berlin",
        "2026-03-28 12:00",
        &["2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 01:00"],
    );
    expect(
        "30 2 * * *",
        "America/New_York",
        "2026-03-07 12:00",
        &["2026-03-08 07:00", "2026-03-09 06:30"],
    );
    // 2:00 is 2:30.
    expect(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03 00:00",
        &["2026-10-03 15:30", "2026-10-04 15:15"],
    );
    // Midnight is 1:00.
    expect(
        "0 0 * * *",
        "America/Sao_Paulo",
        "2018-11-03 12:00",
        &["2018-11-04 03:00", "2018-11-05 02:00"],
    );
    // There is no 30 December.
    expect(
        "0 12 * * *",
        "Pacific/Apia",
        "2011-12-29 12:00",
        &["2011-12-29 22:00", "2011-12-30 10:00", "2011-12-30 22:00"],
    );
    // 1:00 is 3:00.
    expect(
        "30 1 * * *",
        "Antarctica/Troll",
        "2026-03-28 12:00",
        &["2026-03-29 01:00", "2026-03-29 23:30"],
    );
    // Summer time ends and begins again around Ramadan.
    expect(
        "30 2 * * *",
        "Africa/Casablanca",
        "2026-03-21 12:00",
        &["2026-03-22 02:00", "2026-03-23 01:30"],
    );
}

#[test]
fn dst_gap_interval() {
    expect(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-03-29 00:10",
        &["2026-03-29 00:30", "2026-03-29 01:00", "2026-03-29 01:30"],
    );
    expect("*/15 2 * * *", "Europe/Berlin", "2026-03-28 12:00", &["2026-03-30 00:00"]);
    expect(
        "30 * * * *",
        "Europe/Berlin",
        "2026-03-29 00:00",
        &["2026-03-29 00:30", "2026-03-29 01:30"],
    );
    expect(
        "0 */2 * * *",
        "America/New_York",
        "2026-03-08 04:00",
        &["2026-03-08 05:00", "2026-03-08 08:00"],
    );
    expect(
        "*/20 * * * *",
        "Australia/Lord_Howe",
        "2026-10-03 15:00",
        &["2026-10-03 15:10", "2026-10-03 15:40", "2026-10-03 16:00"],
    );
    expect(
        "0 */12 * * *",
        "Pacific/Apia",
        "2011-12-29 20:00",
        &["2011-12-29 22:00", "2011-12-30 10:00", "2011-12-30 22:00"],
    );
    expect(
        "0 * * * *",
        "Antarctica/Troll",
        "2026-03-29 00:00",
        &["2026-03-29 01:00", "2026-03-29 02:00"],
    );
}

#[test]
fn dst_overlap_fixed() {
    // 3:00 is 2:00.
    expect(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24 12:00",
        &["2026-10-25 00:30", "2026-10-26 01:30"],
    );
    // Asked for between the two.
    expect("45 2 * * *", "Europe/Berlin", "2026-10-25 01:00", &["2026-10-26 01:45"]);
    expect("0 3 * * *", "Europe/Berlin", "2026-10-25 00:00", &["2026-10-25 02:00"]);
    expect(
        "30 1 * * *",
        "America/New_York",
        "2026-10-31 12:00",
        &["2026-11-01 05:30", "2026-11-02 06:30"],
    );
    // 2:00 is 1:30.
    expect(
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04 12:00",
        &["2026-04-04 14:45", "2026-04-05 15:15"],
    );
    // Midnight is 23:00 of the day before.
    expect(
        "30 23 * * *",
        "America/Sao_Paulo",
        "2018-02-17 12:00",
        &["2018-02-18 01:30", "2018-02-19 02:30"],
    );
    // 3:00 is 1:00.
    expect(
        "30 2 * * *",
        "Antarctica/Troll",
        "2026-10-24 12:00",
        &["2026-10-25 00:30", "2026-10-26 02:30"],
    );
    // 3:00 is 2:00 as Ramadan begins.
    expect(
        "30 2 * * *",
        "Africa/Casablanca",
        "2026-02-14 12:00",
        &["2026-02-15 01:30", "2026-02-16 02:30"],
    );
}

#[test]
fn dst_overlap_interval() {
    expect(
        "*/30 * * * *",
        "Europe/Berlin",
        "2026-10-25 00:10",
        &["2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30", "2026-10-25 02:00"],
    );
    expect(
        "*/30 2 * * *",
        "Europe/Berlin",
        "2026-10-24 12:00",
        &[
            "2026-10-25 00:00",
            "2026-10-25 00:30",
            "2026-10-25 01:00",
            "2026-10-25 01:30",
            "2026-10-26 01:00",
        ],
    );
    expect(
        "30 * * * *",
        "America/New_York",
        "2026-11-01 05:00",
        &["2026-11-01 05:30", "2026-11-01 06:30", "2026-11-01 07:30"],
    );
    expect(
        "*/20 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04 14:30",
        &["2026-04-04 14:40", "2026-04-04 15:10"],
    );
    expect(
        "0 * * * *",
        "America/Sao_Paulo",
        "2018-02-18 01:00",
        &["2018-02-18 02:00", "2018-02-18 03:00"],
    );
    expect(
        "0 2 * * */1",
        "Antarctica/Troll",
        "2026-10-24 12:00",
        &["2026-10-25 00:00", "2026-10-26 02:00"],
    );
    expect(
        "0 */1 * * *",
        "Antarctica/Troll",
        "2026-10-25 00:30",
        &["2026-10-25 01:00", "2026-10-25 02:00", "2026-10-25 03:00"],
    );
}

#[test]
fn feb_29() {
    expect("0 0 29 2 *", "UTC", "2024-03-01 00:00", &["2028-02-29 00:00", "2032-02-29 00:00"]);
    expect("0 0 29 2 *", "UTC", "2096-03-01 00:00", &["2104-02-29 00:00"]);
    expect("0 0 31 * *", "UTC", "2026-01-31 00:00", &["2026-03-31 00:00", "2026-05-31 00:00"]);
}

#[test]
fn dom_or_dow() {
    // The 13th, and Fridays.
    expect(
        "0 0 13 * fri",
        "UTC",
        "2026-11-01 00:00",
        &[
            "2026-11-06 00:00",
            "2026-11-13 00:00",
            "2026-11-20 00:00",
            "2026-11-27 00:00",
            "2026-12-04 00:00",
            "2026-12-11 00:00",
            "2026-12-13 00:00",
        ],
    );
    // Mondays on odd days, as one of the two begins with `*`.
    expect("0 0 */2 * 1", "UTC", "2026-11-01 00:00", &["2026-11-09 00:00", "2026-11-23 00:00"]);
    // Sunday has two numbers.
    expect("0 0 * * 7", "UTC", "2026-11-01 00:00", &["2026-11-08 00:00"]);
    expect("0 0 * * 0", "UTC", "2026-11-01 00:00", &["2026-11-08 00:00"]);
    expect("0 0 * * 5-7", "UTC", "2026-11-06 00:00", &["2026-11-07 00:00", "2026-11-08 00:00"]);
}

#[test]
fn every_anchor_no_drift() {
    let every = Schedule::new("s").every(Duration::from_secs(90));
    assert_eq!(ticks(&every, 1_000, 3), [1_080, 1_170, 1_260]);
    assert_eq!(ticks(&every, 1_080, 1), [1_170]);
    let anchored = every.clone().anchor_ms(7_000_000_000);
    assert_eq!(ticks(&anchored, 1_000, 2), [1_060, 1_150]);
    let next = anchored.next_ms(6_999_999_999).expect("it is right");
    assert_eq!(next, Some(7_000_000_000));
    let bounded = every.from_ms(1_080_000).until_ms(1_260_000);
    assert_eq!(ticks(&bounded, 0, 5), [1_080, 1_170]);
}

#[test]
fn what_is_no_schedule_is_refused() {
    let new = || Schedule::new("s");
    let second = Duration::from_secs(1);
    for schedule in [
        new().cron("0 0 * *"),
        new().cron("0 0 30 2 *"),
        new().cron("0 0 * * *").zone("Europe/Atlantis"),
        new().cron("0 0 * * *").zone(""),
        new().every(Duration::from_millis(999)),
        new().every(second).grace(Duration::ZERO),
        new().every(second).ttl(Duration::ZERO),
        new(),
        new().payload("no rule"),
        new().every(second).cron("0 0 * * *"),
        new().every(second).zone("UTC"),
        new().cron("0 0 * * *").anchor_ms(0),
        Schedule::new("").every(second),
        Schedule::new("\0s").every(second),
        Schedule::new("s".repeat(257)).every(second),
    ] {
        let error = schedule.next_ms(0).expect_err("it is wrong");
        assert_eq!(error.kind(), millpond::ErrorKind::InvalidArgument, "{schedule:?}");
    }
}
