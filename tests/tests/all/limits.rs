//! The page of limits names every limit, and says what the constants and the checks say.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use millpond::events::{
    Config, ConfigChange, EventQuery, EventState, NewEvent, RedriveFilter, Schedule, Status,
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
        events::SYNC_SCHEDULES_MAX,
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
    limits_of_events(&client);
    limits_of_schedules(&client);
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

fn limits_of_events(client: &Client) {
    let queue = client.events("queue");
    let publish = |event| queue.publish(event).map(drop);
    let bytes = |count| vec![b'x'; count];
    let key = |count| publish(NewEvent::new("").key(bytes(count)));
    check("the key of an event", "up to 256 bytes", [key(0), key(256)], vec![key(257)]);
    let named = |id: &str| publish(NewEvent::new("").dedup_id(id));
    check(
        "a deduplication id",
        "1 to 128 bytes, no NUL",
        [named("x"), named(&"x".repeat(128))],
        vec![named(""), named(&"x".repeat(129)), named("x\0")],
    );
    let window = |time| publish(NewEvent::new("").dedup_id("w").dedup_window(time));
    check(
        "how long a deduplication id is remembered",
        "up to 7 days",
        [window(Duration::ZERO), window(7 * DAY)],
        vec![window(7 * DAY + MS)],
    );
    let payload = |count| publish(NewEvent::new(bytes(count)));
    check(
        "the payload of an event",
        "up to 16 MiB",
        [payload(0), payload(16 << 20)],
        vec![payload((16 << 20) + 1)],
    );
    let headers = |count: usize, size: usize| {
        let names = (0..count).map(|number| format!("{number:02}"));
        publish(NewEvent::new("").headers(names.map(|name| (name, bytes(size - 2)))))
    };
    check(
        "the headers of an event",
        "up to 64, and 16 KiB of names and values",
        [headers(64, 256), headers(1, 16 << 10)],
        vec![headers(65, 2), headers(64, 257), headers(1, (16 << 10) + 1)],
    );
    let at = |ms| publish(NewEvent::new("").at_ms(ms));
    // date -u -d @7258118399 is 2199-12-31 23:59:59.
    check(
        "a time for an event",
        "until the end of the year 2199",
        [at(0), at(7_258_118_399_999)],
        vec![at(7_258_118_400_000)],
    );
    let delay = |time| publish(NewEvent::new("").delay(time));
    let configure = |change: ConfigChange| client.events("configured").configure(change);
    let change = ConfigChange::new;
    let beyond = CENTURY + MS;
    check(
        "a delay, a backoff, a `retention`",
        "up to 100 years",
        [delay(CENTURY), configure(change().backoff_max(CENTURY).retention(CENTURY))],
        vec![
            delay(beyond),
            configure(change().backoff_max(beyond)),
            configure(change().backoff_min(beyond)),
            configure(change().retention(beyond)),
        ],
    );
    let ttl = |time| publish(NewEvent::new("").ttl(time));
    check(
        "the time to live of an event",
        "1 ms to 100 years",
        [ttl(MS), ttl(CENTURY)],
        vec![ttl(MS / 2), ttl(beyond)],
    );
    let lease = |time| configure(change().lease(time));
    let work = |time| queue.worker().lease(time).drain(|_: &events::Job| ()).map(drop);
    check(
        "the lease of an event",
        "1 ms to 100 years",
        [lease(MS), lease(CENTURY)],
        vec![lease(MS / 2), lease(beyond), work(MS / 2), work(beyond)],
    );
    let receive = |max| queue.receive(max).map(drop);
    check(
        "the events of a receive",
        "1 to 1,000",
        [receive(1), receive(1_000)],
        vec![receive(0), receive(1_001)],
    );
    let list = |max| queue.list(EventState::Ready, EventQuery::new().limit(max)).map(drop);
    check(
        "the events of a page of `list`",
        "1 to 1,000",
        [list(1), list(1_000)],
        vec![list(0), list(1_001)],
    );
    let ack_with = |count: usize, size| {
        let queue = client.events("followed");
        queue.publish(NewEvent::new(""))?;
        let event = queue.receive(1)?.remove(0);
        queue.ack_with(&event, vec![NewEvent::new(bytes(size)); count]).map(drop)
    };
    check(
        "the events that follow in an `ack_with`",
        "up to 100, and 8 MiB if they are several",
        [ack_with(100, 1), ack_with(1, 16 << 20)],
        vec![ack_with(101, 1), ack_with(2, (4 << 20) + 1)],
    );
    let partitions =
        |count| client.events(format!("of {count}")).configure(change().partitions(count));
    check(
        "the `partitions` of a queue",
        "1 to 1,024",
        [partitions(1), partitions(1_024)],
        vec![partitions(0), partitions(1_025), queue.reshard(0), queue.reshard(1_025)],
    );
    let rate = |rate, burst| configure(change().rate(rate).burst(burst));
    let most = 1_000_000_000;
    check(
        "the `rate` and the `burst` of a queue",
        "0 to 1,000,000,000 events; a burst needs a rate",
        [rate(most, most), rate(0, 0)],
        vec![rate(most + 1, 0), rate(1, most + 1), rate(0, 1)],
    );
    let redrive = |rate| queue.redrive_all(RedriveFilter::new().per_second(rate)).map(drop);
    check(
        "the rate of a `redrive_all`",
        "1 to 1,000,000,000 events a second",
        [redrive(1), redrive(most)],
        vec![redrive(0), redrive(most + 1)],
    );
    let of_four = client.events("of four");
    of_four.configure(change().partitions(4)).unwrap();
    let concurrency = |most| of_four.configure(change().concurrency(most));
    check(
        "the `concurrency` of a queue",
        "0 (no limit), or from the number of its partitions to 2^53 - 1",
        [concurrency(4), concurrency((1 << 53) - 1)],
        vec![concurrency(3), concurrency(1 << 53)],
    );
    concurrency(0).unwrap();
    let held = |most| configure(change().events_max(most));
    let names = |most| configure(change().dedup_ids_max(most));
    check(
        "`events_max`, `dedup_ids_max` of a partition",
        "0 to 2^53 - 1; only for `events_max` is 0 no limit",
        [held((1 << 53) - 1), names((1 << 53) - 1)],
        vec![held(1 << 53), names(1 << 53)],
    );
}

fn limits_of_schedules(client: &Client) {
    let queue = client.events("schedules");
    let put = |schedule| queue.put_schedule(schedule).map(drop);
    let hourly = |id: usize| put(Schedule::new("x".repeat(id)).cron("@hourly"));
    let cron = |count: usize| put(Schedule::new("cron").cron(format!("{:count$}", "0 0 1 1 *")));
    let zone = |name: &str| put(Schedule::new("zone").cron("@hourly").zone(name));
    check(
        "its id, its time zone, its cron expression",
        "1 to 256 bytes",
        [hourly(256), cron(256)],
        vec![hourly(0), hourly(257), cron(257), zone(""), zone(&"x".repeat(257))],
    );
    let owned = |count: usize| queue.sync_schedules("x".repeat(count), 1, []).map(drop);
    check(
        "the owner of a sync",
        "1 to 255 bytes",
        [owned(1), owned(255)],
        vec![owned(0), owned(256)],
    );
    let second = Duration::from_secs(1);
    let every = |time| put(Schedule::new("every").every(time));
    let grace = |time| put(Schedule::new("grace").cron("@hourly").grace(time));
    check(
        "the time between two ticks, the `grace`",
        "1 s to 100 years",
        [every(second), grace(CENTURY)],
        vec![every(second - MS), every(CENTURY + MS), grace(second - MS), grace(CENTURY + MS)],
    );
}

/// The default of this setting, as the page says.
fn default_of(setting: &str) -> Option<&'static str> {
    let (_, defaults) = PAGE.split_once("# Defaults\n")?;
    let row = format!("| {setting} | ");
    defaults.lines().find_map(|line| line.strip_prefix(&row))?.split(" |").next()
}

#[test]
fn defaults_of_events() -> Result<()> {
    let config = Config::default();
    let number = |value: u64| print_integer(value, "");
    for (setting, value) in [
        ("partitions", number(config.partitions.into())),
        ("lease", config.lease.printed("")),
        ("max_attempts", number(config.max_attempts.into())),
        ("max_crashes", number(config.max_crashes.into())),
        ("backoff_min", config.backoff_min.printed("")),
        ("backoff_max", config.backoff_max.printed("")),
        ("events_max", number(config.events_max)),
        ("dedup_ids_max", number(config.dedup_ids_max)),
        ("concurrency", number(config.concurrency)),
        ("rate", number(config.rate)),
        ("burst", number(config.burst)),
        ("retention", number(config.retention.as_micros() as u64)),
    ] {
        assert_eq!(default_of(&format!("`{setting}`")), Some(value.as_str()), "{setting}");
    }

    let clock = Arc::new(ManualClock::new());
    let client = Options::parse("memory:")?.clock(clock.clone()).connect()?;
    let queue = client.events("queue");
    let publish = || queue.publish(NewEvent::new("").dedup_id("x")).map(|event| event.status);
    assert_eq!(default_of("how long a deduplication id is remembered"), Some("5 minutes"));
    publish()?;
    queue.ack(&queue.receive(1)?[0])?;
    clock.advance(Duration::from_secs(5 * 60) - MS);
    assert_eq!(publish()?, Status::Duplicate);
    clock.advance(MS);
    assert_eq!(publish()?, Status::Created);

    assert_eq!(default_of("the events of a page of `list`"), Some("100"));
    queue.publish_many(vec![NewEvent::new(""); 200])?;
    let page = queue.list(EventState::Ready, EventQuery::new())?;
    assert_eq!(page.events.len(), 100);
    Ok(())
}
