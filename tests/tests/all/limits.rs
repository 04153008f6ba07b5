//! The page of limits names every limit, and says what the constants and the checks say.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use millpond::shuffle::TrackKeys;
use millpond::tasks::{NewTask, TaskStore};
use millpond::{
    CALL_BYTES_MAX, CALL_ITEMS_MAX, Client, ErrorKind, NAME_BYTES_MAX, Options, Result,
};
use millpond::{events, ick, recruiter, shuffle, tasks, tracker, volatile};

const PAGE: &str = include_str!("../../../core/src/LIMITS.md");

/// A value as the page prints it.
trait Printed {
    fn printed(self, name: &str) -> String;
}

impl Printed for Duration {
    fn printed(self, _: &str) -> String {
        // A year of 365.25 days.
        let units = [
            (31_557_600_000, "year"),
            (86_400_000, "day"),
            (3_600_000, "hour"),
            (1_000, "s"),
            (1, "ms"),
        ];
        let fits = |(ms, _): &(u128, &str)| self.as_millis().is_multiple_of(*ms);
        let (ms, unit) = units.into_iter().find(fits).unwrap();
        let count = self.as_millis() / ms;
        format!("{count} {unit}{}", if count > 1 && unit.len() > 2 { "s" } else { "" })
    }
}

impl Printed for f64 {
    fn printed(self, name: &str) -> String {
        match self.fract() == 0.0 {
            true => print_integer(self as u64, name),
            false => self.to_string(),
        }
    }
}

fn print_integer(value: u64, name: &str) -> String {
    if name.contains("BYTES") {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")];
        let (bytes, unit) =
            units.into_iter().find(|(bytes, _)| value.is_multiple_of(*bytes)).unwrap();
        return format!("{} {unit}", value / bytes);
    }
    let digits = value.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).unwrap()
}

macro_rules! print_integers {
    ($($integer:ty),*) => {
        $(impl Printed for $integer {
            fn printed(self, name: &str) -> String {
                print_integer(u64::try_from(self).unwrap(), name)
            }
        })*
    };
}

print_integers!(u8, u32, u64, i64, usize);

macro_rules! constants {
    ($($constant:path),* $(,)?) => {
        vec![$((stringify!($constant), $constant.printed(stringify!($constant)))),*]
    };
}

/// Each constant with its value.
fn constants() -> Vec<(&'static str, String)> {
    constants![
        CALL_ITEMS_MAX,
        CALL_BYTES_MAX,
        NAME_BYTES_MAX,
        ick::MEMBER_BYTES_MAX,
        ick::BATCH_MEMBERS_MAX,
        ick::SIZE_MAX,
        ick::SHARDS_MAX,
        shuffle::STREAMS_MAX,
        shuffle::FIELDS_MAX,
        shuffle::VALUE_BYTES_MAX,
        shuffle::BATCH_MESSAGES_MAX,
        shuffle::BATCH_BYTES_MAX,
        shuffle::BATCH_STRINGS_MAX,
        shuffle::READ_MESSAGES_MAX,
        shuffle::ACK_MESSAGES_MAX,
        shuffle::REASON_BYTES_MAX,
        shuffle::TTL_MAX,
        shuffle::DEADLINE_MAX,
        tasks::ID_CHARS_MAX,
        tasks::KEY_CHARS_MAX,
        tasks::DOC_ID_CHARS_MAX,
        tasks::VALUE_BYTES_MAX,
        tasks::JSON_DEPTH_MAX,
        tasks::ERR_BYTES_MAX,
        tasks::HEADERS_MAX,
        tasks::HEADERS_BYTES_MAX,
        tasks::PRIORITY_MAX,
        tasks::DELAY_MAX,
        tasks::CLAIM_TASKS_MAX,
        tasks::CLAIM_KEYS_MAX,
        tasks::CLAIM_QUEUES_MAX,
        tasks::DOCS_WAIT_MAX,
        tasks::CONFLICTS_MAX,
        tasks::MODIFICATION_ENTRIES_MAX,
        tasks::MODIFICATION_BYTES_MAX,
        tasks::PAGE_MAX,
        tasks::SWEEP_TASKS_MAX,
        tasks::STATS_MAX,
        tasks::FILTER_NAMES_MAX,
        volatile::FIELD_BYTES_MAX,
        volatile::VALUE_BYTES_MAX,
        volatile::FIELDS_MAX,
        volatile::TOKEN_BYTES_MAX,
        volatile::TTL_MAX,
        volatile::PAGE_MAX,
        volatile::REAP_MAX,
        volatile::SHARDS_MAX,
        recruiter::JOB_BYTES_MAX,
        recruiter::JOBS_MAX,
        recruiter::RATE_MAX,
        recruiter::BURST_MAX,
        recruiter::RUNNING_MAX,
        tracker::ID_BYTES_MAX,
        tracker::ROW_BYTES_MAX,
        tracker::IDS_MAX,
        tracker::ROUND_MAX,
        events::SYNC_SCHEDULES_MAX,
        shuffle::STREAMS_DEFAULT,
        shuffle::STREAMS_PER_SHARD_DEFAULT,
        shuffle::DEADLINE_DEFAULT,
        shuffle::LEASE_DEFAULT,
        shuffle::BACKOFF_DEFAULT,
        shuffle::MAX_DELIVERIES_DEFAULT,
        shuffle::KEEP_CONSUMERS_DEFAULT,
        tasks::LEASE_DEFAULT,
        tasks::BACKOFF_DEFAULT,
        tasks::BACKOFF_MAX_DEFAULT,
        tasks::MAX_ATTEMPTS_DEFAULT,
        tasks::MAX_CRASHES_DEFAULT,
        tasks::RELEASE_DELAY_DEFAULT,
        tasks::PAGE_DEFAULT,
        tasks::SWEEP_TASKS_DEFAULT,
        volatile::PAGE_DEFAULT,
        volatile::REAP_DEFAULT,
        volatile::SHARDS_DEFAULT,
        recruiter::BUDGET_DEFAULT,
        recruiter::IDLE_MAX_DEFAULT,
        recruiter::DECISION_TIMEOUT_DEFAULT,
        recruiter::DUTY_MAX_DEFAULT,
        tracker::LIMIT_DEFAULT,
        tracker::ROUND_DEFAULT,
    ]
}

/// The first two cells of the rows that begin with a constant.
fn rows() -> Vec<(&'static str, String)> {
    let row = |line: &'static str| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name, rest.split_once(" |")?.0.to_owned()))
    };
    let is_constant = |name: &str| !last(name).contains(|letter: char| letter.is_lowercase());
    PAGE.lines().filter_map(row).filter(|(name, _)| is_constant(name)).collect()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap()
}

/// The names of the public constants in the sources of this folder that are no texts.
fn public_constants(folder: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            public_constants(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(path).unwrap();
            let constants = source.lines().filter_map(|line| line.strip_prefix("pub const "));
            let of_values = constants.filter(|constant| !constant.contains(": &str"));
            names.extend(of_values.map(|constant| constant.split(':').next().unwrap().to_owned()));
        }
    }
}

#[test]
fn each_constant_has_its_row() {
    let mut names = Vec::new();
    public_constants(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src")), &mut names);
    names.sort_unstable();
    let rows = rows();
    let mut listed: Vec<_> = rows.iter().map(|(name, _)| last(name).to_owned()).collect();
    listed.sort_unstable();
    assert_eq!(listed, names, "the page, and the public constants of the core");
    let constants = constants();
    assert_eq!(rows.len(), constants.len());
    for (row, constant) in rows.into_iter().zip(constants) {
        assert_eq!(row, constant, "the page, and the value");
    }
}

/// Holds a row of the limits without a constant against what is taken and what is refused.
#[track_caller]
fn check<T>(argument: &str, range: &str, taken: [Result<T>; 2], refused: Vec<Result<T>>) {
    let row = format!("| {argument} | {range} | ");
    let row = PAGE.lines().find_map(|line| line.strip_prefix(&row));
    let kind = match row.unwrap_or_else(|| panic!("the page has no row {argument} | {range}")) {
        "refused |" => ErrorKind::InvalidArgument,
        "`INVALID_URL` |" => ErrorKind::InvalidUrl,
        other => panic!("{argument}: {other}"),
    };
    for result in taken {
        assert_eq!(result.err().map(|error| error.to_string()), None, "{argument}");
    }
    for result in refused {
        assert_eq!(result.err().map(|error| error.kind()), Some(kind), "{argument}");
    }
}

const MS: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(86_400);
const CENTURY: Duration = tasks::DELAY_MAX;

#[test]
fn limits_without_a_constant() -> Result<()> {
    let client = millpond::connect("memory:")?;
    let lease = |ttl| client.ick("ick").lease(ttl).map(drop);
    check(
        "the lease of an Ick's consumer",
        "1 ms to 1 day",
        [lease(MS), lease(DAY)],
        vec![lease(MS / 2), lease(DAY + MS)],
    );
    let queue = client.shuffle_queue("queue").track_keys(TrackKeys::Queue);
    let reclaim = |max| {
        let consumer = queue.consumer("group", "consumer").max_deliveries(max);
        consumer.reclaim(Duration::ZERO, 1).map(drop)
    };
    let most = 10_u64.pow(14);
    check(
        "`max_deliveries`",
        "0 (never) to 10^14",
        [reclaim(0), reclaim(most)],
        vec![reclaim(most + 1)],
    );
    let most = Duration::from_secs(10_u64.pow(15));
    let cordon = |within| queue.cordon_deadline_exceeded(within).map(drop);
    check(
        "how long ago a deadline passed, to cordon",
        "below 10^15 s",
        [cordon(Duration::ZERO), cordon(most - DAY)],
        vec![cordon(most)],
    );
    let gc = |digits| queue.gc().time_digits(digits).try_for_each(|values| values.map(drop));
    check("the digits of a time, for `gc`", "1 to 10", [gc(1), gc(10)], vec![gc(0), gc(11)]);
    limits_of_tasks(&client);
    let url = |option: &str| Options::parse(&format!("redis://localhost?{option}")).map(drop);
    check(
        "`timeout`, `connect_timeout` in a URL",
        "above 0, up to 365 days",
        [url("timeout=1ms"), url("connect_timeout=525600m")],
        vec![url("timeout=0s"), url("timeout=525601m"), url("connect_timeout=525601m")],
    );
    Ok(())
}

fn limits_of_tasks(client: &Client) {
    let store = client.tasks("store");
    let insert =
        |store: &TaskStore, task| store.modify(tasks::Modification::new().insert(task)).map(drop);
    let ttl = |ttl| insert(&store, NewTask::new("ttl").ttl(ttl));
    check(
        "a time to live of a task",
        "1 ms to 100 years",
        [ttl(MS), ttl(CENTURY)],
        vec![ttl(MS / 2), ttl(CENTURY + MS)],
    );
    let work = |lease| store.worker(["none"]).lease(lease).jobs().try_for_each(|job| job.map(drop));
    check(
        "the lease of a worker's tasks or messages",
        "1 ms to 100 years",
        [work(MS), work(CENTURY)],
        vec![work(MS / 2), work(CENTURY + MS)],
    );
    let at = |ms| insert(&store, NewTask::new("at").at_ms(ms));
    // date -u -d @253402300799 is 9999-12-31 23:59:59.
    check(
        "a time for a task or a document",
        "until the end of the year 9999",
        [at(0), at(253_402_300_799_999)],
        vec![at(253_402_300_800_000)],
    );
}
