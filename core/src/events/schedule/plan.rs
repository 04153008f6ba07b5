//! Schedules as programs describe them, and the ticks that a partition is given.

use std::sync::Arc;
use std::time::Duration;

use super::calendar::Calendar;
use super::handle::OWNER_BYTES_MAX;
use super::record::{SCHEDULE_TICKS_MAX, ScheduleRecord, StoredSchedule, Template, check_own_id};
use crate::error::{Error, ErrorKind, Result, ensure, invalid};
use crate::events::config::micros;
use crate::events::event::NewEvent;
use crate::events::limits::{self, COUNT_MAX};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{Timestamp, When};

/// How far ahead ticks are computed, but at least two ticks.
const AHEAD: u64 = 3_600_000_000;
const TICKS_MIN: usize = 2;

/// The most bytes of the name of a time zone.
pub const ZONE_BYTES_MAX: usize = 256;

/// The time zone of a cron expression by default.
pub const ZONE_DEFAULT: &str = "UTC";

/// How long an event of a schedule can be received by default before it is missed, with [`Missed::Expire`].
pub const GRACE_DEFAULT: Duration = Duration::from_secs(60);

/// The shortest time between two ticks, and the shortest grace.
const EVERY_MIN: Duration = Duration::from_secs(1);

/// Which events are to be published, and when: an id and a calendar rule, which is either [`cron`](Self::cron) or
/// [`every`](Self::every).
///
/// ```
/// use std::time::Duration;
/// use millpond::events::{Missed, Overlap, Schedule};
///
/// // At 9:00 in Berlin from Monday to Friday.
/// Schedule::new("report").cron("0 9 * * mon-fri").zone("Europe/Berlin").payload("all customers");
/// // Each ten minutes; not at all if nobody receives it within 30 seconds.
/// Schedule::new("look")
///     .every(Duration::from_secs(600))
///     .missed(Missed::Expire)
///     .grace(Duration::from_secs(30))
///     .overlap(Overlap::Allow);
/// ```
///
/// # Cron expressions
/// Five fields, or six with seconds before them: minute 0 to 59, hour 0 to 23, day of the month 1 to 31, month 1 to 12
/// or `jan` to `dec`, day of the week 0 to 7 or `sun` to `sat`, of which 0 and 7 are Sunday. A field is `*`, a value,
/// or a range `1-5`, each with an optional step such as `*/15`, or a list of these with commas. If neither of the two
/// day fields begins with `*`, it is enough that one of them matches. `@yearly`, `@monthly`, `@weekly`, `@daily` and
/// `@hourly` also work.
///
/// When the clock is changed, as for daylight saving time, an expression whose minute and hour do not begin with `*`
/// means times of day: a time that is skipped fires once, at the change, and a time that comes twice fires the first
/// time. Any other expression follows elapsed time: skipped times are not made up for, and times that come twice fire
/// twice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Schedule {
    pub(super) id: Arc<str>,
    cron: Option<Arc<str>>,
    zone: Option<Arc<str>>,
    every: Option<Duration>,
    anchor_ms: Option<u64>,
    /// Its payload, headers and time to live.
    event: NewEvent,
    missed: Missed,
    grace: Duration,
    overlap: Overlap,
    from_ms: u64,
    until_ms: Option<u64>,
    pub(super) revision: u64,
    /// The owner of a [`sync_schedules`](crate::events::EventQueue::sync_schedules); empty for none.
    pub(super) owner: Arc<str>,
}

/// The handling of the event of a tick that was not received in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missed {
    /// It waits until the next tick, whose event replaces it: when consumers come back after an hour, they get only the
    /// event of the newest tick.
    #[default]
    Latest,
    /// It is dropped when the schedule's grace is over, unless it has been received by then: when consumers come back
    /// after an hour, they get the events of all ticks of the last minute, if that is the grace.
    Expire,
}

/// Whether the event of a tick waits for the event of the previous tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// One at a time: the id of the schedule is their key.
    #[default]
    Wait,
    /// They have no key, and may be worked on at the same time.
    Allow,
}

impl Missed {
    /// Its name in every language, such as `latest`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::Expire => "expire",
        }
    }
}

impl Overlap {
    /// Its name in every language, such as `wait`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Allow => "allow",
        }
    }
}

impl Schedule {
    /// A schedule with this id, which has no rule yet. The id is the key of its events, unless these may
    /// [overlap](Self::overlap).
    pub fn new(id: impl AsRef<str>) -> Self {
        Self {
            id: id.as_ref().into(),
            cron: None,
            zone: None,
            every: None,
            anchor_ms: None,
            event: NewEvent::new(b""),
            missed: Missed::Latest,
            grace: GRACE_DEFAULT,
            overlap: Overlap::Wait,
            from_ms: 0,
            until_ms: None,
            revision: 0,
            owner: "".into(),
        }
    }

    /// It fires when the clock of its [zone](Self::zone) matches a cron expression: minute, hour, day of the month,
    /// month and day of the week, or six fields with the second before these, or a word such as `@daily`.
    pub fn cron(self, expression: impl AsRef<str>) -> Self {
        Self { cron: Some(expression.as_ref().into()), ..self }
    }

    /// The time zone of a cron expression, a name of the tz database such as `Europe/Berlin`, whose data ships with
    /// Millpond; `UTC` by default.
    pub fn zone(self, zone: impl AsRef<str>) -> Self {
        Self { zone: Some(zone.as_ref().into()), ..self }
    }

    /// It fires at a fixed interval of a second or more. An event that is received late does not delay the next one.
    pub fn every(self, length: Duration) -> Self {
        Self { every: Some(length), ..self }
    }

    /// One of the times of [`every`](Self::every), in milliseconds since the Unix epoch; 0 by default.
    pub fn anchor_ms(self, at_ms: u64) -> Self {
        Self { anchor_ms: Some(at_ms), ..self }
    }

    /// The payload of its events, at most [`PAYLOAD_BYTES_MAX`](crate::events::PAYLOAD_BYTES_MAX) bytes; empty by
    /// default.
    pub fn payload(self, payload: impl AsRef<[u8]>) -> Self {
        let mut event = self.event;
        event.payload = payload.as_ref().into();
        Self { event, ..self }
    }

    /// The headers of its events: each a name with any bytes as its value.
    pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self { event: self.event.headers(headers), ..self }
    }

    /// How long after its time an event is dropped if it has not been received by then. Once it has been received it
    /// does not expire.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { event: self.event.ttl(ttl), ..self }
    }

    /// The handling of an event that was not received in time; [`Missed::Latest`] by default.
    pub fn missed(self, missed: Missed) -> Self {
        Self { missed, ..self }
    }

    /// How long an event can be received before it is missed, with [`Missed::Expire`]; [`GRACE_DEFAULT`] by default. An
    /// event that was received within it is not missed, even if it is delivered again later.
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Whether the events of the schedule wait for each other; [`Overlap::Wait`] by default.
    pub fn overlap(self, overlap: Overlap) -> Self {
        Self { overlap, ..self }
    }

    /// The time before which there is no tick, in milliseconds since the Unix epoch.
    pub fn from_ms(self, from_ms: u64) -> Self {
        Self { from_ms, ..self }
    }

    /// The time from which on there is no tick, in milliseconds since the Unix epoch.
    pub fn until_ms(self, until_ms: u64) -> Self {
        Self { until_ms: Some(until_ms), ..self }
    }

    /// A number that rises with each change of the program that puts the schedule: putting a schedule with a lower
    /// revision than the existing one changes nothing. 0 by default.
    pub fn revision(self, revision: u64) -> Self {
        Self { revision, ..self }
    }

    pub(super) fn owned_by(self, owner: &Arc<str>, revision: u64) -> Self {
        Self { owner: owner.clone(), revision, ..self }
    }

    /// The first tick after a time, in milliseconds since the Unix epoch.
    ///
    /// ```
    /// use millpond::events::Schedule;
    ///
    /// // The clock was set from 2:00 to 3:00 on the 29th of March 2026.
    /// let schedule = Schedule::new("nightly").cron("30 2 * * *").zone("Europe/Berlin");
    /// assert_eq!(schedule.next_ms(1_774_738_800_000)?, Some(1_774_746_000_000));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an invalid cron expression or zone, for a value beyond its limits, and for a schedule
    /// without a rule or with two.
    pub fn next_ms(&self, after_ms: u64) -> Result<Option<u64>> {
        let plan = self.check()?;
        Ok(plan.next(after_ms.saturating_mul(1_000)).map(|next| next / 1_000))
    }

    /// Refuses an invalid schedule.
    pub(super) fn check(&self) -> Result<Plan> {
        check_own_id(&self.id)?;
        self.event.check()?;
        ensure!(self.grace >= EVERY_MIN, "the grace has to be a second or more");
        limits::delay("grace", self.grace)?;
        limits::when(When::At(self.from_ms))?;
        limits::when(When::At(self.until_ms.unwrap_or(0)))?;
        let bytes = self.owner.len();
        ensure!(bytes <= OWNER_BYTES_MAX, "the owner has {bytes} bytes");
        ensure!(!self.owner.contains('\0'), "the owner holds a NUL character");
        ensure!(self.revision <= COUNT_MAX, "the revision is 2^53 or more");
        let calendar = match (&self.cron, self.every) {
            (Some(text), None) => {
                ensure!(
                    self.anchor_ms.is_none(),
                    "an anchor is for every, and this schedule has cron"
                );
                let zone = self.zone.as_deref().unwrap_or(ZONE_DEFAULT);
                let bytes = zone.len();
                ensure!(bytes <= ZONE_BYTES_MAX, "the time zone has {bytes} bytes");
                Calendar::cron(text, zone)?
            }
            (None, Some(length)) => {
                ensure!(
                    self.zone.is_none(),
                    "a time zone is for cron, and this schedule has every"
                );
                ensure!(length >= EVERY_MIN, "ticks are a second or more apart, not {length:?}");
                limits::delay("time between ticks", length)?;
                let anchor_ms = self.anchor_ms.unwrap_or(0);
                limits::when(When::At(anchor_ms))?;
                Calendar::every(length, anchor_ms * 1_000)
            }
            _ => {
                let message =
                    format!("the schedule {:?} has to have either cron or every", self.id);
                return Err(invalid(message));
            }
        };
        let until_us = self.until_ms.map_or(Timestamp::MAX, |until| until * 1_000);
        Ok(Plan { calendar, from_us: self.from_ms * 1_000, until_us })
    }

    /// Whether it is the same apart from its owner and revision.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let plain = |schedule: &Self| Self { revision: 0, owner: "".into(), ..schedule.clone() };
        plain(self) == plain(other)
    }

    /// Its record in a partition, with these ticks, which others may follow.
    pub(super) fn record(&self, ticks: Ticks) -> ScheduleRecord {
        let ttl_us = self.event.ttl.map(micros);
        let grace_us = (self.missed == Missed::Expire).then(|| micros(self.grace));
        ScheduleRecord {
            is_latest: self.missed == Missed::Latest,
            is_in_order: self.overlap == Overlap::Wait,
            ends: ticks.ends,
            zones: ticks.zones,
            ttl_us: ttl_us.into_iter().chain(grace_us).min().unwrap_or(0),
            ticks: ticks.ticks,
            ..ScheduleRecord::default()
        }
    }

    pub(super) fn template(&self) -> Template {
        let mut rule = vec![FORMAT];
        match &self.cron {
            Some(text) => {
                rule.push(0);
                put_bytes(text.as_bytes(), &mut rule);
                put_bytes(self.zone.as_deref().unwrap_or(ZONE_DEFAULT).as_bytes(), &mut rule);
            }
            None => {
                rule.push(1);
                put_integer(micros(self.every.unwrap_or_default()), &mut rule);
                put_integer(self.anchor_ms.unwrap_or(0), &mut rule);
            }
        }
        rule.extend([self.missed as u8, self.overlap as u8]);
        let ttl = self.event.ttl.map_or(0, micros);
        let until_ms = self.until_ms.map_or(0, |until| until + 1);
        for number in [micros(self.grace), self.from_ms, until_ms, ttl, self.revision] {
            put_integer(number, &mut rule);
        }
        put_bytes(self.owner.as_bytes(), &mut rule);
        Template::new(rule, self.event.body())
    }

    /// The schedule with this id that [`template`](Self::template) packed.
    pub(super) fn unpack(id: &Arc<str>, template: &Template) -> Result<Self> {
        let corrupt = || Error::new(ErrorKind::Corrupt, "a schedule does not decode");
        let mut reader = Reader::new(&template.rule);
        ensure_format(reader.byte()?)?;
        let text = |bytes: &[u8]| Ok(Arc::from(std::str::from_utf8(bytes).map_err(|_| corrupt())?));
        let mut schedule = Self::new(id);
        match reader.byte()? {
            0 => {
                schedule.cron = Some(text(reader.bytes()?)?);
                schedule.zone = Some(text(reader.bytes()?)?);
            }
            1 => {
                schedule.every = Some(Duration::from_micros(reader.integer()?));
                schedule.anchor_ms = Some(reader.integer()?);
            }
            _ => return Err(corrupt()),
        }
        schedule.missed = match reader.byte()? {
            0 => Missed::Latest,
            1 => Missed::Expire,
            _ => return Err(corrupt()),
        };
        schedule.overlap = match reader.byte()? {
            0 => Overlap::Wait,
            1 => Overlap::Allow,
            _ => return Err(corrupt()),
        };
        schedule.grace = Duration::from_micros(reader.integer()?);
        schedule.from_ms = reader.integer()?;
        schedule.until_ms = reader.integer()?.checked_sub(1);
        let ttl = reader.integer()?;
        schedule.revision = reader.integer()?;
        schedule.owner = text(reader.bytes()?)?;
        schedule.event = NewEvent::of_body(&template.body)?;
        schedule.event.ttl = (ttl > 0).then(|| Duration::from_micros(ttl));
        Ok(schedule)
    }
}

/// The version of the format of stored rules.
const FORMAT: u8 = 1;

fn ensure_format(format: u8) -> Result<()> {
    if format == FORMAT {
        return Ok(());
    }
    let message = format!("unrecognized layout {format} of a schedule, expected {FORMAT}");
    Err(Error::new(ErrorKind::IncompatibleVersion, message))
}

/// A valid schedule, and when it ticks.
pub(super) struct Plan {
    calendar: Calendar,
    from_us: Timestamp,
    until_us: Timestamp,
}

/// The next ticks of a schedule.
pub(super) struct Ticks {
    ticks: Vec<Timestamp>,
    /// No others follow.
    ends: bool,
    /// As in [`ScheduleRecord::zones`].
    zones: u32,
}

impl Ticks {
    /// The ticks of a paused schedule.
    pub(super) const NONE: Self = Self { ticks: Vec::new(), ends: false, zones: 0 };

    /// The record with these ticks, otherwise unchanged.
    pub(super) fn into_record(self, record: &ScheduleRecord) -> ScheduleRecord {
        let Self { ticks, ends, zones } = self;
        ScheduleRecord { ticks, ends, zones, ..record.clone() }
    }
}

impl Plan {
    fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let next = self.calendar.next(after.max(self.from_us.saturating_sub(1)))?;
        Some(next).filter(|next| *next < self.until_us)
    }

    /// The first tick after `after` that has not fired.
    fn next_of(&self, record: &ScheduleRecord, after: Timestamp) -> Option<Timestamp> {
        let next = self.next(after)?;
        if record.has_fired(next) { self.next(record.fired_upto_us) } else { Some(next) }
    }

    /// The ticks after now, or after the last one that has passed: those within an hour from now, or at least two.
    pub(super) fn after(&self, record: &ScheduleRecord, now: Timestamp) -> Ticks {
        self.behind(record, Vec::new(), now.max(record.passed_us), now)
    }

    /// Whether the ticks of a schedule were computed by a clock that was ahead, and are too late.
    pub(super) fn is_late(&self, record: &ScheduleRecord, now: Timestamp) -> bool {
        let is_before = |next| record.ticks.first().is_none_or(|first| next < *first);
        record.is_ahead(now) && self.next_of(record, now).is_some_and(is_before)
    }

    /// Whether the ticks of a schedule were computed from older time zone data than this plan has.
    pub(super) fn is_newer(&self, record: &ScheduleRecord) -> bool {
        !record.is_paused && record.zones < self.calendar.zones()
    }

    /// The ticks of a schedule that is running out of them: the remaining ones, then those that have passed unnoticed
    /// and count, and the next ones. Of ticks from older time zone data only the due ones stay. Ticks that are added to
    /// those from newer data are computed again by the next client that has this data.
    pub(super) fn refill(&self, record: &ScheduleRecord, now: Timestamp) -> Ticks {
        if self.is_late(record, now) {
            return self.after(record, now);
        }
        let mut ticks = record.ticks.clone();
        let mut known = record.passed_us;
        if self.is_newer(record) {
            ticks.retain(|tick| *tick <= now);
            // The version is the time of the last change: until then the older data applied.
            known = known.max(record.version);
        }
        known = known.max(ticks.last().copied().unwrap_or(0));
        if known < now {
            ticks.extend(self.passed(record, known, now));
        }
        // If too many have passed, the last ones of these; and all next ones.
        let (room, passed) =
            (SCHEDULE_TICKS_MAX - TICKS_MIN, ticks.partition_point(|tick| *tick <= now));
        ticks.drain(..ticks.len().saturating_sub(room).min(passed));
        let after = ticks.last().copied().unwrap_or(0).max(now);
        self.behind(record, ticks, after, now)
    }

    /// The ticks that have passed after a known one: only the last one, if a tick replaces the earlier ones; otherwise
    /// all that have not expired, or the last one if these are too many.
    fn passed(&self, record: &ScheduleRecord, known: Timestamp, now: Timestamp) -> Vec<Timestamp> {
        const MOST: usize = SCHEDULE_TICKS_MAX - TICKS_MIN;
        let after = known.max(self.from_us.saturating_sub(1));
        if !record.is_latest {
            let since = after.max(now.saturating_sub(record.ttl_us));
            let next = |last: &Timestamp| self.next_of(record, *last).filter(|next| *next <= now);
            let all = std::iter::successors(next(&since), next);
            let all: Vec<_> = all.take(MOST + 1).collect();
            if all.len() <= MOST {
                return all;
            }
        }
        let upto = now.min(self.until_us.saturating_sub(1));
        let last = self.calendar.last(after, upto);
        last.into_iter().filter(|last| !record.has_fired(*last)).collect()
    }

    fn behind(
        &self,
        record: &ScheduleRecord,
        mut ticks: Vec<Timestamp>,
        after: Timestamp,
        now: Timestamp,
    ) -> Ticks {
        let zones = self.calendar.zones();
        let (mut last, mut coming) = (after, ticks.iter().filter(|tick| **tick > now).count());
        while ticks.len() < SCHEDULE_TICKS_MAX && (coming < TICKS_MIN || last < now + AHEAD) {
            let Some(next) = self.next_of(record, last) else {
                return Ticks { ticks, ends: true, zones };
            };
            ticks.push(next);
            (last, coming) = (next, coming + 1);
        }
        Ticks { ticks, ends: false, zones }
    }
}

/// An existing schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleInfo {
    /// Its id.
    pub id: Arc<str>,
    /// The cron expression, if it has one.
    pub cron: Option<Arc<str>>,
    /// The zone of the cron expression.
    pub zone: Option<Arc<str>>,
    /// The time between two ticks, if it has a fixed interval.
    pub every: Option<Duration>,
    /// The payload of its events.
    pub payload: Arc<[u8]>,
    /// Whether it is paused.
    pub paused: bool,
    /// Its next tick, in microseconds since the Unix epoch, if it is known.
    pub next_us: Option<Timestamp>,
    /// Its last tick, in microseconds since the Unix epoch.
    pub passed_us: Option<Timestamp>,
    /// How many of its ticks are known not to have been received in time.
    pub missed: u64,
    /// Its revision.
    pub revision: u64,
    /// The owner that synchronizes it; empty if there is none.
    pub owner: Arc<str>,
}

impl ScheduleInfo {
    pub(super) fn of(stored: &StoredSchedule) -> Result<Self> {
        let StoredSchedule { id, record, template } = stored;
        let Schedule { cron, zone, every, event, revision, owner, .. } =
            Schedule::unpack(id, template)?;
        Ok(Self {
            id: id.clone(),
            cron,
            zone,
            every,
            payload: event.payload,
            paused: record.is_paused,
            next_us: record.ticks.first().copied(),
            passed_us: Some(record.passed_us).filter(|passed| *passed > 0),
            missed: record.missed,
            revision,
            owner,
        })
    }
}
