//! The page of limits names every limit, and says what the constants and the checks say.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use millpond::events::{
    ConfigChange, EventQuery, EventState, NewEvent, RedriveFilter, Schedule, Status,
};
use millpond::shuffle::TrackKeys;
use millpond::tasks::{NewTask, TaskStore};
use millpond::{
    CALL_BYTES_MAX, CALL_ITEMS_MAX, Client, ErrorKind, ManualClock, NAME_BYTES_MAX, Options, Result,
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
        let count = print_integer((self.as_millis() / ms) as u64, "");
        match self.is_zero() {
            true => count,
            false => {
                format!("{count} {unit}{}", if count != "1" && unit.len() > 2 { "s" } else { "" })
            }
        }
    }
}

impl Printed for &str {
    fn printed(self, _: &str) -> String {
        self.to_owned()
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

print_integers!(u8, u16, u32, u64, i64, usize);

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
        ick::LEASE_MAX,
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
        shuffle::MAX_DELIVERIES_MAX,
        shuffle::DEADLINE_MAX,
        shuffle::CORDON_WITHIN_MAX,
        shuffle::TIME_DIGITS_MAX,
        tasks::ID_CHARS_MAX,
        tasks::KEY_CHARS_MAX,
        tasks::DOC_ID_CHARS_MAX,
        tasks::VALUE_BYTES_MAX,
        tasks::JSON_DEPTH_MAX,
        tasks::ERR_BYTES_MAX,
        tasks::HEADERS_MAX,
        tasks::HEADERS_BYTES_MAX,
        tasks::PRIORITY_MAX,
        tasks::TIME_MS_MAX,
        tasks::DELAY_MAX,
        tasks::DEDUP_WINDOW_MAX,
        tasks::DEDUP_IDS_MAX,
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
        events::KEY_BYTES_MAX,
        events::DEDUP_ID_BYTES_MAX,
        events::DEDUP_WINDOW_MAX,
        events::PAYLOAD_BYTES_MAX,
        events::HEADERS_MAX,
        events::HEADERS_BYTES_MAX,
        events::TIME_MS_MAX,
        events::DELAY_MAX,
        events::RECEIVE_EVENTS_MAX,
        events::PAGE_MAX,
        events::FOLLOWING_EVENTS_MAX,
        events::STEP_EVENTS_MAX,
        events::STEP_BYTES_MAX,
        events::ERR_BYTES_MAX,
        events::PARTITIONS_MAX,
        events::COUNT_MAX,
        events::RATE_MAX,
        events::CANCELLED_MAX,
        events::SYNC_SCHEDULES_MAX,
        events::SCHEDULE_ID_BYTES_MAX,
        events::OWNER_BYTES_MAX,
        events::CRON_BYTES_MAX,
        events::ZONE_BYTES_MAX,
        events::SCHEDULE_TICKS_MAX,
        events::SCHEDULE_IDS_MAX,
        volatile::FIELD_BYTES_MAX,
        volatile::VALUE_BYTES_MAX,
        volatile::FIELDS_MAX,
        volatile::TOKEN_BYTES_MAX,
        volatile::TTL_MAX,
        volatile::PAGE_MAX,
        volatile::REAP_MAX,
        volatile::SHARDS_MAX,
        volatile::DUE_HASHES_MAX,
        recruiter::JOB_BYTES_MAX,
        recruiter::JOBS_MAX,
        recruiter::RATE_MAX,
        recruiter::BURST_MAX,
        recruiter::RUNNING_MAX,
        recruiter::BUDGET_MAX,
        recruiter::LEASE_MAX,
        recruiter::IDLE_MAX,
        recruiter::DECISION_TIMEOUT_MAX,
        tracker::ID_BYTES_MAX,
        tracker::ROW_BYTES_MAX,
        tracker::IDS_MAX,
        tracker::ROUND_MAX,
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
        events::PARTITIONS_DEFAULT,
        events::LEASE_DEFAULT,
        events::MAX_ATTEMPTS_DEFAULT,
        events::MAX_CRASHES_DEFAULT,
        events::BACKOFF_MIN_DEFAULT,
        events::BACKOFF_MAX_DEFAULT,
        events::EVENTS_MAX_DEFAULT,
        events::DEDUP_IDS_MAX_DEFAULT,
        events::CONCURRENCY_DEFAULT,
        events::RATE_DEFAULT,
        events::BURST_DEFAULT,
        events::RETENTION_DEFAULT,
        events::DEDUP_WINDOW_DEFAULT,
        events::PAGE_DEFAULT,
        events::RELEASE_DELAY_DEFAULT,
        events::GRACE_DEFAULT,
        events::ZONE_DEFAULT,
        volatile::PAGE_DEFAULT,
        volatile::REAP_DEFAULT,
        volatile::SHARDS_DEFAULT,
        recruiter::BUDGET_DEFAULT,
        recruiter::LEASE_MIN_DEFAULT,
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
    PAGE.lines().filter_map(row).filter(|(name, _)| is_constant(last(name))).collect()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap()
}

/// The folders of the core with a queue.
const QUEUES: [&str; 7] = ["events", "ick", "recruiter", "shuffle", "tasks", "tracker", "volatile"];

/// Constants of a queue that are no limits of what a program gives or gets, and why.
const INTERNAL: &[(&str, &str, &[&str])] = &[
    (
        "events",
        "the size of a step's further work",
        &["DUE_MAX", "LATE_MAX", "FORGOTTEN_MAX", "DONE_MAX"],
    ),
    ("events", "the size of a step's further work", &["SKIPPED_MAX", "LOOKED_MAX", "TICKS_MAX"]),
    ("events", "where a body is stored", &["SHORT_MAX"]),
    (
        "events",
        "how often a call begins again",
        &["STALE_MAX", "MOVES_MAX", "AGAIN_MAX", "TRIES_MAX"],
    ),
    ("events", "the size of an id, and of a time in a script", &["SEQUENCE_MAX", "TIME_US_MAX"]),
    ("events", "the ids in a message", &["LISTED_MAX"]),
    ("events", "the size of a reply", &["BATCH_EVENTS_MAX", "PAGE_SCHEDULES_MAX"]),
    ("events", "the ends of a worker's step", &["ENDS_MAX"]),
    ("recruiter", "how often a process asks", &["ASK_US_MAX", "ASK_ALL_US_MAX", "AWAY_US_MAX"]),
    ("recruiter", "how often a process asks", &["WAIT_US_MAX", "BUSY_US_MAX", "REST_MAX"]),
    ("recruiter", "how far a rate is halved", &["BACKOFF_MAX", "INTERVAL_US_MAX"]),
    ("shuffle", "the ends of a worker's step", &["ENDS_MAX"]),
    ("tasks", "the tasks whose conflicts a worker counts", &["COUNTED_MAX"]),
    ("tasks", "the faults in a message", &["FAULTS_TOLD_MAX"]),
    ("tasks", "the size of a journal's table", &["CLAIMANTS_MAX"]),
    ("tasks", "the ends of a worker's step", &["ENDS_MAX", "MODIFICATIONS_MAX"]),
    ("volatile", "the size of a step's further work", &["REAPED_MAX"]),
];

const CORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src");

/// The files below a folder of the core with this extension.
fn sources(folder: &Path, extension: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => sources(&path, extension),
            false if path.extension().is_some_and(|of| of == extension) => {
                vec![std::fs::read_to_string(path).unwrap()]
            }
            false => Vec::new(),
        })
        .collect()
}

fn is_constant(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_uppercase() || letter == '_';
    name.len() > 1 && name.chars().all(is_letter)
}

/// The names of the constants that a module makes or exports, but for the version of a library or a layout.
fn exported(module: &str) -> BTreeSet<String> {
    let source = std::fs::read_to_string(Path::new(CORE).join(module)).unwrap();
    let uses = source.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let words = uses.flat_map(|path| path.split(is_between));
    let own = source.split("\npub const ").skip(1).filter_map(|rest| rest.split(':').next());
    let is_value = |name: &&str| is_constant(name) && *name != "VERSION";
    words.chain(own).filter(is_value).map(str::to_owned).collect()
}

/// The names of the constants in a folder's Rust files, whoever sees them: those of their modules and, if `inner`, those
/// in other items.
fn constants_in(folder: &Path, inner: bool) -> BTreeSet<String> {
    let sources = sources(folder, "rs");
    let lines = sources.iter().flat_map(|source| source.lines());
    let lines = lines.filter(|line| inner || !line.starts_with(' '));
    let names = lines.filter_map(|line| line.split_once("const ")?.1.split(':').next());
    names.filter(|name| is_constant(name)).map(str::to_owned).collect()
}

#[test]
fn each_constant_has_its_row() {
    let mut names = exported("lib.rs");
    for queue in QUEUES {
        let exported = exported(&format!("{queue}/mod.rs"));
        names.extend(exported.iter().map(|name| format!("{queue}::{name}")));
    }
    let rows: BTreeMap<_, _> = rows().into_iter().collect();
    assert_eq!(
        rows.keys().copied().collect::<BTreeSet<_>>(),
        names.iter().map(String::as_str).collect()
    );
    assert_eq!(rows, constants().into_iter().collect(), "the page, and the values");
}

#[test]
fn each_bound_is_public_or_internal() {
    for queue in QUEUES {
        let is_bound = |name: &String| name.ends_with("_MAX") || name.ends_with("_DEFAULT");
        let bounds: BTreeSet<_> =
            constants_in(&Path::new(CORE).join(queue), true).into_iter().filter(is_bound).collect();
        let public = exported(&format!("{queue}/mod.rs"));
        let hidden: BTreeSet<_> = bounds.difference(&public).map(String::as_str).collect();
        let of_queue = INTERNAL.iter().filter(|(of, ..)| *of == queue);
        let internal: BTreeSet<_> = of_queue.flat_map(|(.., names)| *names).copied().collect();
        assert_eq!(hidden, internal, "of {queue}: what is not exported, and what is INTERNAL");
    }
}

/// The names of the numbers that a folder's scripts make.
fn numbers_in_scripts(folder: &Path) -> BTreeSet<String> {
    let sources = sources(folder, "lua");
    let lines = sources.iter().flat_map(|source| source.lines());
    let locals =
        lines.filter_map(|line| line.trim_start().strip_prefix("local ")?.split_once(" = "));
    let pairs = locals.flat_map(|(names, values)| names.split(", ").zip(values.split(", ")));
    let numbers =
        pairs.filter(|(_, value)| value.starts_with(|digit: char| digit.is_ascii_digit()));
    numbers.map(|(name, _)| name.to_owned()).collect()
}

/// A state's `constants()` give the scripts of its queue what both engines need.
#[test]
fn no_constant_is_made_in_rust_and_in_a_script() {
    for queue in QUEUES {
        let folders = [queue, "step"].map(|folder| Path::new(CORE).join(folder));
        let of_scripts: BTreeSet<_> =
            folders.iter().flat_map(|folder| numbers_in_scripts(folder)).collect();
        let of_rust = folders.iter().flat_map(|folder| constants_in(folder, false)).collect();
        let twice: Vec<_> = of_scripts.intersection(&of_rust).collect();
        assert!(twice.is_empty(), "of {queue}: {twice:?}");
    }
}

/// Holds a row of the page against what is taken and what is refused.
#[track_caller]
fn check<T>(row: &str, taken: [Result<T>; 2], refused: Vec<Result<T>>) {
    let start = format!("| {row} | ");
    let line = PAGE.lines().find(|line| line.starts_with(&start));
    let line = line.unwrap_or_else(|| panic!("the page has no row {row}"));
    let kind = match line.rsplit(" | ").next().unwrap() {
        "refused |" => ErrorKind::InvalidArgument,
        "`INVALID_URL` |" => ErrorKind::InvalidUrl,
        other => panic!("{row}: {other}"),
    };
    for result in taken {
        assert_eq!(result.err().map(|error| error.to_string()), None, "{row}");
    }
    for result in refused {
        assert_eq!(result.err().map(|error| error.kind()), Some(kind), "{row}");
    }
}

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn limits_are_those_of_the_page() -> Result<()> {
    let client = millpond::connect("memory:")?;
    let lease = |ttl| client.ick("ick").lease(ttl).map(drop);
    check(
        "`ick::LEASE_MAX`",
        [lease(MS), lease(ick::LEASE_MAX)],
        vec![lease(MS / 2), lease(ick::LEASE_MAX + MS)],
    );
    let queue = client.shuffle_queue("queue").track_keys(TrackKeys::Queue);
    let reclaim = |max| {
        let consumer = queue.consumer("group", "consumer").max_deliveries(max);
        consumer.reclaim(Duration::ZERO, 1).map(drop)
    };
    let most = shuffle::MAX_DELIVERIES_MAX;
    check("`shuffle::MAX_DELIVERIES_MAX`", [reclaim(0), reclaim(most)], vec![reclaim(most + 1)]);
    let most = shuffle::CORDON_WITHIN_MAX;
    let cordon = |within| queue.cordon_deadline_exceeded(within).map(drop);
    check(
        "`shuffle::CORDON_WITHIN_MAX`",
        [cordon(Duration::ZERO), cordon(most)],
        vec![cordon(most + MS)],
    );
    let most = shuffle::TIME_DIGITS_MAX;
    let gc = |digits| queue.gc().time_digits(digits).try_for_each(|values| values.map(drop));
    check("`shuffle::TIME_DIGITS_MAX`", [gc(1), gc(most)], vec![gc(0), gc(most + 1)]);
    limits_of_tasks(&client);
    limits_of_events(&client);
    limits_of_schedules(&client);
    limits_of_recruiters(&client);
    let most = volatile::DUE_HASHES_MAX;
    let due = |limit| volatile::ReadDue::new("family", 0, limit).map(drop);
    check("`volatile::DUE_HASHES_MAX`", [due(1), due(most)], vec![due(0), due(most + 1)]);
    let url = |option: &str| Options::parse(&format!("redis://localhost?{option}")).map(drop);
    check(
        "`timeout`, `connect_timeout` in a URL",
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
    let work = |lease| store.worker(["none"]).lease(lease).jobs().try_for_each(|job| job.map(drop));
    let most = tasks::DELAY_MAX;
    for limited in [&ttl as &dyn Fn(Duration) -> Result<()>, &work] {
        check(
            "`tasks::DELAY_MAX`",
            [limited(MS), limited(most)],
            vec![limited(MS / 2), limited(most + MS)],
        );
    }
    let at = |ms| insert(&store, NewTask::new("at").at_ms(ms));
    let most = tasks::TIME_MS_MAX;
    check("`tasks::TIME_MS_MAX`", [at(0), at(most)], vec![at(most + 1)]);
}

fn limits_of_recruiters(client: &Client) {
    let recruiter = client.recruiter("recruiter");
    let install = |job| {
        recruiter.uninstall("job");
        recruiter.install(job, |_: &recruiter::Slice| Ok(0)).map(drop)
    };
    let job = || recruiter::NewJob::new("job").per_second(1.0);
    let budget = |time| install(job().budget(time));
    let most = recruiter::BUDGET_MAX;
    check(
        "`recruiter::BUDGET_MAX`",
        [budget(MS), budget(most)],
        vec![budget(MS / 2), budget(most + MS)],
    );
    let lease = |time| install(job().budget(SECOND).lease(time));
    let most = recruiter::LEASE_MAX;
    check(
        "`recruiter::LEASE_MAX`",
        [lease(SECOND), lease(most)],
        vec![lease(SECOND - MS), lease(most + MS)],
    );
    let idle = |time| install(job().idle_max(time));
    let most = recruiter::IDLE_MAX;
    check("`recruiter::IDLE_MAX`", [idle(Duration::ZERO), idle(most)], vec![idle(most + MS)]);
    let decision = |time| recruiter.set_decision_timeout(time);
    let most = recruiter::DECISION_TIMEOUT_MAX;
    check(
        "`recruiter::DECISION_TIMEOUT_MAX`",
        [decision(MS), decision(most)],
        vec![decision(MS / 2), decision(most + MS)],
    );
}

fn limits_of_events(client: &Client) {
    let queue = client.events("queue");
    let publish = |event| queue.publish(event).map(drop);
    let bytes = |count| vec![b'x'; count];
    let key = |count| publish(NewEvent::new("").key(bytes(count)));
    let most = events::KEY_BYTES_MAX;
    check("`events::KEY_BYTES_MAX`", [key(0), key(most)], vec![key(most + 1)]);
    let named = |id: &str| publish(NewEvent::new("").dedup_id(id));
    let most = events::DEDUP_ID_BYTES_MAX;
    check(
        "`events::DEDUP_ID_BYTES_MAX`",
        [named("x"), named(&"x".repeat(most))],
        vec![named(""), named(&"x".repeat(most + 1)), named("x\0")],
    );
    let window = |time| publish(NewEvent::new("").dedup_id("w").dedup_window(time));
    let most = events::DEDUP_WINDOW_MAX;
    check(
        "`events::DEDUP_WINDOW_MAX`",
        [window(Duration::ZERO), window(most)],
        vec![window(most + MS)],
    );
    let payload = |count| publish(NewEvent::new(bytes(count)));
    let most = events::PAYLOAD_BYTES_MAX;
    check("`events::PAYLOAD_BYTES_MAX`", [payload(0), payload(most)], vec![payload(most + 1)]);
    let headers = |count: usize, size: usize| {
        let names = (0..count).map(|number| format!("{number:02}"));
        publish(NewEvent::new("").headers(names.map(|name| (name, bytes(size - 2)))))
    };
    let (most, size) = (events::HEADERS_MAX, events::HEADERS_BYTES_MAX);
    check("`events::HEADERS_MAX`", [headers(1, 2), headers(most, 2)], vec![headers(most + 1, 2)]);
    check(
        "`events::HEADERS_BYTES_MAX`",
        [headers(most, size / most), headers(1, size)],
        vec![headers(most, size / most + 1), headers(1, size + 1)],
    );
    let at = |ms| publish(NewEvent::new("").at_ms(ms));
    let most = events::TIME_MS_MAX;
    check("`events::TIME_MS_MAX`", [at(0), at(most)], vec![at(most + 1)]);
    let configure = |change: ConfigChange| client.events("configured").configure(change);
    let change = ConfigChange::new;
    let delay = |time| publish(NewEvent::new("").delay(time));
    let (most, beyond) = (events::DELAY_MAX, events::DELAY_MAX + MS);
    check(
        "`events::DELAY_MAX`",
        [delay(most), configure(change().backoff_max(most).retention(most))],
        vec![
            delay(beyond),
            configure(change().backoff_max(beyond)),
            configure(change().backoff_min(beyond)),
            configure(change().retention(beyond)),
        ],
    );
    let ttl = |time| publish(NewEvent::new("").ttl(time));
    let lease = |time| configure(change().lease(time));
    let work = |time| queue.worker().lease(time).drain(|_: &events::Job| ()).map(drop);
    for limited in [&ttl as &dyn Fn(Duration) -> Result<()>, &lease, &work] {
        check(
            "`events::DELAY_MAX`",
            [limited(MS), limited(most)],
            vec![limited(MS / 2), limited(beyond)],
        );
    }
    let receive = |max| queue.receive(max).map(drop);
    let most = events::RECEIVE_EVENTS_MAX;
    check(
        "`events::RECEIVE_EVENTS_MAX`",
        [receive(1), receive(most)],
        vec![receive(0), receive(most + 1)],
    );
    let list = |max| queue.list(EventState::Ready, EventQuery::new().limit(max)).map(drop);
    let most = events::PAGE_MAX;
    check("`events::PAGE_MAX`", [list(1), list(most)], vec![list(0), list(most + 1)]);
    let ack_with = |count: usize, size| {
        let queue = client.events("followed");
        queue.publish(NewEvent::new(""))?;
        let event = queue.receive(1)?.remove(0);
        queue.ack_with(&event, vec![NewEvent::new(bytes(size)); count]).map(drop)
    };
    let (most, size) = (events::FOLLOWING_EVENTS_MAX, events::STEP_BYTES_MAX / 2);
    check(
        "`events::FOLLOWING_EVENTS_MAX`",
        [ack_with(most, 1), ack_with(1, events::PAYLOAD_BYTES_MAX)],
        vec![ack_with(most + 1, 1), ack_with(2, size + 1)],
    );
    let partitions =
        |count| client.events(format!("of {count}")).configure(change().partitions(count));
    let most = events::PARTITIONS_MAX;
    check(
        "`events::PARTITIONS_MAX`",
        [partitions(1), partitions(most)],
        vec![
            partitions(0),
            partitions(most + 1),
            queue.reshard(0),
            queue.reshard((most + 1).into()),
        ],
    );
    let rate = |rate, burst| configure(change().rate(rate).burst(burst));
    let redrive = |rate| queue.redrive_all(RedriveFilter::new().per_second(rate)).map(drop);
    let most = events::RATE_MAX;
    check(
        "`events::RATE_MAX`",
        [rate(most, most), rate(0, 0)],
        vec![rate(most + 1, 0), rate(1, most + 1), rate(0, 1)],
    );
    check("`events::RATE_MAX`", [redrive(1), redrive(most)], vec![redrive(0), redrive(most + 1)]);
    let of_four = client.events("of four");
    of_four.configure(change().partitions(4)).unwrap();
    let concurrency = |most| of_four.configure(change().concurrency(most));
    let held = |most| configure(change().events_max(most));
    let names = |most| configure(change().dedup_ids_max(most));
    let revision = |number| {
        queue.put_schedule(Schedule::new("revised").cron("@hourly").revision(number)).map(drop)
    };
    let most = events::COUNT_MAX;
    check(
        "`events::COUNT_MAX`",
        [concurrency(4), concurrency(most)],
        vec![concurrency(3), concurrency(most + 1)],
    );
    for limited in [&held as &dyn Fn(u64) -> Result<()>, &names, &revision] {
        check("`events::COUNT_MAX`", [limited(0), limited(most)], vec![limited(most + 1)]);
    }
}

fn limits_of_schedules(client: &Client) {
    let queue = client.events("schedules");
    let put = |schedule| queue.put_schedule(schedule).map(drop);
    let hourly = |id: usize| put(Schedule::new("x".repeat(id)).cron("@hourly"));
    let most = events::SCHEDULE_ID_BYTES_MAX;
    check(
        "`events::SCHEDULE_ID_BYTES_MAX`",
        [hourly(1), hourly(most)],
        vec![hourly(0), hourly(most + 1)],
    );
    let cron = |count: usize| put(Schedule::new("cron").cron(format!("{:count$}", "0 0 1 1 *")));
    let most = events::CRON_BYTES_MAX;
    check("`events::CRON_BYTES_MAX`", [cron(0), cron(most)], vec![cron(most + 1)]);
    let zone = |name: &str| put(Schedule::new("zone").cron("@hourly").zone(name));
    check(
        "`events::ZONE_BYTES_MAX`",
        [zone("UTC"), zone("Europe/Berlin")],
        vec![zone(""), zone(&"x".repeat(events::ZONE_BYTES_MAX + 1))],
    );
    let owned = |count: usize| queue.sync_schedules("x".repeat(count), 1, []).map(drop);
    let most = events::OWNER_BYTES_MAX;
    check("`events::OWNER_BYTES_MAX`", [owned(1), owned(most)], vec![owned(0), owned(most + 1)]);
    let every = |time| put(Schedule::new("every").every(time));
    let grace = |time| put(Schedule::new("grace").cron("@hourly").grace(time));
    let most = events::DELAY_MAX;
    for limited in [&every as &dyn Fn(Duration) -> Result<()>, &grace] {
        check(
            "`events::DELAY_MAX`",
            [limited(SECOND), limited(most)],
            vec![limited(SECOND - MS), limited(most + MS)],
        );
    }
}

#[test]
fn defaults_are_those_of_the_page() -> Result<()> {
    let clock = Arc::new(ManualClock::new());
    let client = Options::parse("memory:")?.clock(clock.clone()).connect()?;
    let queue = client.events("queue");
    let publish = || queue.publish(NewEvent::new("").dedup_id("x")).map(|event| event.status);
    publish()?;
    queue.ack(&queue.receive(1)?[0])?;
    clock.advance(events::DEDUP_WINDOW_DEFAULT - MS);
    assert_eq!(publish()?, Status::Duplicate);
    clock.advance(MS);
    assert_eq!(publish()?, Status::Created);

    queue.publish_many(vec![NewEvent::new(""); 2 * events::PAGE_DEFAULT])?;
    let page = queue.list(EventState::Ready, EventQuery::new())?;
    assert_eq!(page.events.len(), events::PAGE_DEFAULT);
    Ok(())
}
