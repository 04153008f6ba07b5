//! A schedule as a partition holds it.

use std::sync::Arc;

use crate::error::{Result, ensure};
use crate::events::id::EventId;
use crate::events::vslot::vslot_of;
use crate::step::Timestamp;
use crate::step::time::is_set_back;

/// The most bytes of the id of a schedule, which is a key.
pub const SCHEDULE_ID_BYTES_MAX: usize = 256;

/// The most ticks of a schedule that a partition holds.
pub const SCHEDULE_TICKS_MAX: usize = 64;

/// A schedule as a partition holds it: SCHEDULE of `ticks.lua`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleRecord {
    /// Whether a tick replaces the event of the previous tick if that was not received.
    pub is_latest: bool,
    /// Whether the id is the key of its events.
    pub is_in_order: bool,
    /// Whether no ticks follow the stored ones.
    pub ends: bool,
    /// Whether it is paused, and so has no ticks.
    pub is_paused: bool,
    /// How long its events live, in microseconds; 0 for no limit.
    pub ttl_us: u64,
    /// Its next ticks, in microseconds since the Unix epoch.
    pub ticks: Vec<Timestamp>,
    /// Rises with each change.
    pub version: u64,
    /// How many ticks were not received in time.
    pub missed: u64,
    /// The last tick that has passed, in microseconds since the Unix epoch; 0 for none.
    pub passed_us: Timestamp,
    /// The event of that tick, or of an earlier one; the smallest id for none.
    pub last: EventId,
    /// The first of those ticks that fired without a gap up to the last one; 0 for none.
    pub fired_from_us: Timestamp,
    /// The last of those ticks, if it fired by a clock that was ahead; 0 if it is the last one that has passed.
    pub fired_upto_us: Timestamp,
    /// The version of the time zone data from which its ticks were computed, such as 202606 for 2026f; 0 if they need
    /// none.
    pub zones: u32,
}

/// A schedule that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSchedule {
    /// Its id.
    pub id: Arc<str>,
    /// When it fires.
    pub record: ScheduleRecord,
    /// Its rule and the body of its events.
    pub template: Template,
}

/// The template of a schedule's events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Template {
    /// Its rule, which only clients read.
    pub rule: Arc<[u8]>,
    /// The body of its events.
    pub body: Arc<[u8]>,
}

/// Flags of a schedule.
pub(in crate::events) mod flag {
    /// A tick replaces the event of the previous tick if no consumer has received it.
    pub(in crate::events) const LATEST: u8 = 1;
    /// The id is the key of its events.
    pub(in crate::events) const IN_ORDER: u8 = 2;
    /// No other ticks follow the stored ones.
    pub(in crate::events) const ENDS: u8 = 4;
    /// Not used in scripts.
    pub(super) const PAUSED: u8 = 8;
    /// It has the two numbers that say which ticks have fired.
    pub(in crate::events) const FIRED: u8 = 16;
}

const FORMAT: u8 = 1;

impl ScheduleRecord {
    pub(in crate::events) fn packed(&self, id: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(52 + 8 * self.ticks.len());
        let flags = [
            (self.is_latest, flag::LATEST),
            (self.is_in_order, flag::IN_ORDER),
            (self.ends, flag::ENDS),
            (self.is_paused, flag::PAUSED),
            (self.fired_from_us > 0, flag::FIRED),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, one)| all | one);
        out.extend([FORMAT, flags]);
        for number in [self.version, self.ttl_us, self.missed, self.passed_us] {
            out.extend(number.to_be_bytes());
        }
        out.extend(self.last.as_bytes());
        out.extend(vslot_of(id.as_bytes()).to_be_bytes());
        out.extend(self.zones.to_be_bytes());
        let fired = [self.fired_from_us, self.fired_upto_us];
        let fired = fired.iter().filter(|_| self.fired_from_us > 0);
        for tick in fired.chain(&self.ticks) {
            out.extend(tick.to_be_bytes());
        }
        out
    }

    pub(in crate::events) fn unpack(packed: &[u8]) -> Option<Self> {
        let ([format, flags], rest) = packed.split_first_chunk()?;
        let (numbers, rest) = rest.split_first_chunk::<32>()?;
        let (last, rest) = rest.split_first_chunk::<12>()?;
        let (_, rest) = rest.split_first_chunk::<2>()?;
        let (zones, ticks) = rest.split_first_chunk()?;
        let (ticks, more) = ticks.as_chunks::<8>();
        let (fired, ticks) =
            ticks.split_at_checked(if flags & flag::FIRED != 0 { 2 } else { 0 })?;
        let fired = |at: usize| fired.get(at).map_or(0, |tick| u64::from_be_bytes(*tick));
        let number = |at: usize| Some(u64::from_be_bytes(*numbers[8 * at..].first_chunk()?));
        let is = |one| flags & one != 0;
        (*format == FORMAT && more.is_empty()).then_some(Self {
            is_latest: is(flag::LATEST),
            is_in_order: is(flag::IN_ORDER),
            ends: is(flag::ENDS),
            is_paused: is(flag::PAUSED),
            ttl_us: number(1)?,
            ticks: ticks.iter().map(|tick| u64::from_be_bytes(*tick)).collect(),
            version: number(0)?,
            missed: number(2)?,
            passed_us: number(3)?,
            last: EventId::of_bytes(last)?,
            fired_from_us: fired(0),
            fired_upto_us: fired(1),
            zones: u32::from_be_bytes(*zones),
        })
    }

    /// The record at a time. If the last tick that has passed is in the future, it passed by a clock that was ahead:
    /// the ticks that fired do not fire again.
    pub(in crate::events) fn at(mut self, now: Timestamp) -> Self {
        if self.passed_us > now {
            if self.fired_from_us > 0 {
                self.fired_upto_us = self.fired_upto_us.max(self.passed_us);
            }
            self.passed_us = 0;
        }
        self
    }

    /// Whether its last change was by a clock that was far ahead: its ticks may be too late.
    pub(in crate::events) fn is_ahead(&self, now: Timestamp) -> bool {
        is_set_back(self.version, now)
    }

    /// Whether this tick fired by a clock that was ahead.
    pub(super) fn has_fired(&self, tick: Timestamp) -> bool {
        self.fired_from_us <= tick && tick <= self.fired_upto_us
    }

    pub(super) fn check(&self) -> Result<()> {
        let ticks = self.ticks.len();
        ensure!(
            ticks <= SCHEDULE_TICKS_MAX,
            "a schedule has {ticks} ticks; {SCHEDULE_TICKS_MAX} are allowed"
        );
        ensure!(self.ticks.is_sorted_by(|one, next| one < next), "the ticks do not rise");
        Ok(())
    }
}

impl Template {
    /// The template with this rule, and a body as [`NewEvent`](crate::events::NewEvent) packs it.
    pub fn new(rule: impl Into<Arc<[u8]>>, body: impl Into<Arc<[u8]>>) -> Self {
        Self { rule: rule.into(), body: body.into() }
    }

    pub(in crate::events) fn packed(&self) -> Vec<u8> {
        [&(self.rule.len() as u32).to_be_bytes(), &*self.rule, &*self.body].concat()
    }

    pub(in crate::events) fn unpack(packed: &[u8]) -> Option<Self> {
        let (length, rest) = packed.split_first_chunk()?;
        let (rule, body) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        Some(Self { rule: rule.into(), body: body.into() })
    }
}

/// Refuses an invalid id of a schedule, and an id that is reserved for an owner.
pub(super) fn check_own_id(id: &str) -> Result<()> {
    check_id(id)?;
    ensure!(!id.contains('\0'), "the schedule's id holds a NUL character");
    Ok(())
}

/// Refuses an invalid id of a schedule.
pub(super) fn check_id(id: &str) -> Result<()> {
    let bytes = id.len();
    ensure!(bytes > 0, "the schedule's id is empty");
    ensure!(
        bytes <= SCHEDULE_ID_BYTES_MAX,
        "the schedule's id has {bytes} bytes; {SCHEDULE_ID_BYTES_MAX} are allowed"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back() {
        let record = ScheduleRecord {
            is_latest: true,
            ends: true,
            ttl_us: 7,
            ticks: vec![5, 9],
            version: 3,
            missed: 2,
            passed_us: 4,
            last: EventId::MAX,
            zones: 202_606,
            ..ScheduleRecord::default()
        };
        let fired = ScheduleRecord { fired_from_us: 1, fired_upto_us: 8, ..record.clone() };
        for record in [record, fired] {
            assert_eq!(ScheduleRecord::unpack(&record.packed("id")), Some(record));
        }
        assert_eq!(ScheduleRecord::unpack(&[1; 53]), None);
        let template = Template::new(*b"rule", *b"body");
        assert_eq!(Template::unpack(&template.packed()), Some(template));
    }
}
