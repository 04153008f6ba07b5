//! The records of a partition in the journal: the changes that its steps made, and their replay.

use std::borrow::Cow;

use super::State;
use super::bucket::Bucket;
use super::contents::{Contents, NameEntry, Outgoing, Phase, Root, Stored, Transfer};
use crate::error::{Error, Result};
use crate::events::config::Config;
use crate::events::event::Head;
use crate::events::id::EventId;
use crate::events::map::{Range, parse_ranges, text_of};
use crate::events::schedule::{ScheduleRecord, Template};
use crate::events::state::{Attempts, DeadReason, Delivery};
use crate::step::codec::{Field, Reader, effects, fields, put_bytes, put_integer};
use crate::step::{Effects, SNAPSHOT_BYTES, Snapshot, StepContext, Timestamp};

effects! {
    /// One change of a partition. It records what changed, and not what was requested, so that a later version with
    /// other rules still restores the same state.
    pub(super) enum Effect<'a> of "events" {
        Root { root: Cow<'a, Root> } = 1,
        Tick { clock: Timestamp, sequence: u64 } = 2,
        /// A new event. Its phase follows.
        Event { id: EventId, head: Cow<'a, Head>, body: &'a [u8] } = 3,
        Phase { id: EventId, phase: Phase } = 4,
        Removed { id: EventId } = 5,
        Times { id: EventId, fire_at_us: Timestamp, expires_at_us: Timestamp } = 6,
        Delivery { id: EventId, delivery: Cow<'a, Delivery> } = 7,
        Name { name: &'a [u8], named: Option<NameEntry> } = 8,
        Cleared = 9,
        Transfer { transfer: Option<Cow<'a, Transfer>> } = 10,
        Bucket { bucket: Bucket } = 11,
        Schedule { schedule: ScheduleChange<'a> } = 16,
        Template { id: &'a str, template: Option<Cow<'a, Template>> } = 17,
        /// With the time, and whether its delivery was removed.
        Cancelled { id: EventId, at: Timestamp, is_taken: bool } = 18,
    }
}

fields!(Root: generation ranges map revision config clock sequence);
fields!(Head: flags fire_at_us published_at_us expires_at_us named_until key dedup_id);
fields!(Attempts: attempts crashes redriven);
fields!(Bucket: tokens at);

/// A schedule, and when it is checked; `None` if it is removed.
pub(super) struct ScheduleChange<'a> {
    pub(super) id: &'a str,
    pub(super) schedule: Option<(Cow<'a, ScheduleRecord>, Option<Timestamp>)>,
}

/// The changes of a step, as its record.
pub(super) struct Changes(Effects);

impl Default for Changes {
    fn default() -> Self {
        Self(Effects::none())
    }
}

impl Changes {
    pub(super) fn of(context: &StepContext<'_>) -> Self {
        Self(Effects::of(context))
    }

    /// Whether there are changes; true if the engine does not record them.
    pub(super) fn are_any(&self) -> bool {
        !self.0.are_recorded() || self.0.len() > 0
    }

    pub(super) fn record(self, context: &mut StepContext<'_>) {
        self.0.record(context);
    }

    pub(super) fn note(&mut self, effect: Effect<'_>) {
        self.0.note(&effect);
    }
}

fn undecodable() -> Error {
    Effect::unreadable("does not decode")
}

impl Field<'_> for EventId {
    fn put(&self, record: &mut Vec<u8>) {
        self.as_bytes().put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let bytes: [u8; 12] = Field::read(record)?;
        Self::of_bytes(&bytes).ok_or_else(undecodable)
    }
}

/// As scripts store them.
impl Field<'_> for Vec<Range> {
    fn put(&self, record: &mut Vec<u8>) {
        text_of(self).as_str().put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        parse_ranges(Field::read(record)?).ok_or_else(undecodable)
    }
}

/// As scripts store it.
impl Field<'_> for Config {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(&self.packed(), record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Self::unpack(record.bytes()?).ok_or_else(undecodable)
    }
}

/// A kind, and a time, which is 0 for a kind without one.
impl Field<'_> for Phase {
    fn put(&self, record: &mut Vec<u8>) {
        let (kind, at): (u8, _) = match *self {
            Self::Scheduled(at) => (0, at),
            Self::Behind => (1, 0),
            Self::Ready(at) => (2, at),
            Self::Leased(at) => (3, at),
            Self::Retry(at) => (4, at),
            Self::Dead(at) => (5, at),
            Self::Done(at) => (7, at),
        };
        kind.put(record);
        at.put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let (kind, at) = (record.byte()?, record.integer()?);
        Ok(match kind {
            0 => Self::Scheduled(at),
            1 => Self::Behind,
            2 => Self::Ready(at),
            3 => Self::Leased(at),
            4 => Self::Retry(at),
            5 => Self::Dead(at),
            7 => Self::Done(at),
            _ => return Err(undecodable()),
        })
    }
}

impl Field<'_> for Delivery {
    fn put(&self, record: &mut Vec<u8>) {
        self.token.put(record);
        self.counts.put(record);
        self.marks().put(record);
        DeadReason::number(self.reason).put(record);
        self.err.put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let (token, counts) = (Field::read(record)?, Field::read(record)?);
        let (marked, reason) = (Self::of_marks(record.byte()?), record.byte()?);
        let (reason, err) = (DeadReason::of_number(reason), Field::read(record)?);
        Ok(Self { token, counts, reason, err, ..marked })
    }
}

/// 0 for no name, 1 for the name of an event that has not ended, 2 for that of one that has.
impl Field<'_> for Option<NameEntry> {
    fn put(&self, record: &mut Vec<u8>) {
        let Some(NameEntry { id, until }) = self else { return put_integer(0, record) };
        put_integer(until.map_or(1, |_| 2), record);
        id.put(record);
        until.unwrap_or(0).put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let kind = record.integer()?;
        if kind == 0 {
            return Ok(None);
        }
        let (id, until) = (Field::read(record)?, record.integer()?);
        Ok(Some(NameEntry { id, until: (kind == 2).then_some(until) }))
    }
}

impl Field<'_> for Option<Cow<'_, Transfer>> {
    fn put(&self, record: &mut Vec<u8>) {
        match self.as_deref() {
            None => record.push(0),
            Some(Transfer::Arriving { taken }) => {
                record.push(1);
                taken.put(record);
            }
            Some(Transfer::Leaving { ranges, left_at, sent, out }) => {
                record.push(2);
                ranges.put(record);
                left_at.put(record);
                sent.put(record);
                out.put(record);
            }
        }
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Ok(Some(Cow::Owned(match record.byte()? {
            0 => return Ok(None),
            1 => Transfer::Arriving { taken: record.integer()? },
            2 => Transfer::Leaving {
                ranges: Field::read(record)?,
                left_at: record.integer()?,
                sent: record.integer()?,
                out: Field::read(record)?,
            },
            _ => return Err(undecodable()),
        })))
    }
}

/// 0 for no batch, since batches are numbered from 1.
impl Field<'_> for Option<Outgoing> {
    fn put(&self, record: &mut Vec<u8>) {
        let Some(Outgoing { number, ids, names, schedules }) = self else {
            return put_integer(0, record);
        };
        number.put(record);
        ids.put(record);
        names.put(record);
        schedules.put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let number = record.integer()?;
        if number == 0 {
            return Ok(None);
        }
        let (ids, names) = (Field::read(record)?, Field::read(record)?);
        Ok(Some(Outgoing { number, ids, names, schedules: Field::read(record)? }))
    }
}

/// As scripts store it; empty for none.
impl Field<'_> for Option<Cow<'_, Template>> {
    fn put(&self, record: &mut Vec<u8>) {
        put_bytes(&self.as_ref().map(|template| template.packed()).unwrap_or_default(), record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        let packed = Some(record.bytes()?).filter(|packed| !packed.is_empty());
        let template = packed.map(|packed| Template::unpack(packed).ok_or_else(undecodable));
        Ok(template.transpose()?.map(Cow::Owned))
    }
}

/// The record as scripts store it, empty for none; and when the schedule is checked, 0 for never.
impl<'a> Field<'a> for ScheduleChange<'a> {
    fn put(&self, record: &mut Vec<u8>) {
        self.id.put(record);
        let schedule = self.schedule.as_ref();
        let packed = schedule.map(|(schedule, _)| schedule.packed(self.id));
        put_bytes(&packed.unwrap_or_default(), record);
        schedule.and_then(|(_, look_at)| *look_at).unwrap_or(0).put(record);
    }

    fn read(record: &mut Reader<'a>) -> Result<Self> {
        let (id, packed) = (Field::read(record)?, record.bytes()?);
        let look_at = Some(record.integer()?).filter(|look_at| *look_at > 0);
        if packed.is_empty() {
            return Ok(Self { id, schedule: None });
        }
        let schedule = ScheduleRecord::unpack(packed).ok_or_else(undecodable)?;
        Ok(Self { id, schedule: Some((Cow::Owned(schedule), look_at)) })
    }
}

impl Contents {
    /// Replays a record.
    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let mut effects = Reader::new(record).all();
        while let Some(effect) = effects.next().transpose()? {
            match effect {
                Effect::Root { root } => self.set_root(root.into_owned()),
                Effect::Tick { clock, sequence } => self.tick(clock, sequence),
                Effect::Event { id, head, body } => match effects.next().transpose()? {
                    Some(Effect::Phase { id: same, phase }) if same == id => {
                        self.add(id, head.into_owned(), body.into(), phase);
                    }
                    _ => return Err(undecodable()),
                },
                Effect::Phase { id, phase } => self.put(id, phase),
                Effect::Removed { id } => self.remove(id),
                Effect::Times { id, fire_at_us, expires_at_us } => {
                    self.set_times(id, fire_at_us, expires_at_us);
                }
                Effect::Delivery { id, delivery } => self.set_delivery(id, delivery.into_owned()),
                Effect::Name { name, named } => self.set_name(name, named),
                Effect::Cleared => drop(self.clear()),
                Effect::Transfer { transfer } => self.set_transfer(transfer.map(Cow::into_owned)),
                Effect::Bucket { bucket } => self.set_bucket(bucket),
                Effect::Schedule { schedule: ScheduleChange { id, schedule } } => {
                    let schedule = schedule.map(|(record, look_at)| (record.into_owned(), look_at));
                    self.set_schedule(&id.into(), schedule);
                }
                Effect::Template { id, template } => {
                    self.set_template(&id.into(), template.map(Cow::into_owned));
                }
                Effect::Cancelled { id, at, is_taken } => self.set_cancelled(id, at, is_taken),
            }
        }
        Ok(())
    }

    /// Whether the partition is as if it had never been used.
    pub(super) fn is_unused(&self) -> bool {
        self.root.generation == 0
    }
}

impl State {
    pub(super) fn replay_record(&self, record: &[u8]) -> Result<()> {
        self.lock().replay(record)
    }

    /// Writes the contents of the partition.
    pub(super) fn write_snapshot(&self, out: &mut dyn Snapshot) {
        let contents = self.lock();
        out.begin();
        let mut effects = Effects::after(Vec::new());
        effects.note(&Effect::Root { root: Cow::Borrowed(&contents.root) });
        let transfer = contents.transfer.as_ref().map(Cow::Borrowed);
        effects.note(&Effect::Transfer { transfer });
        if let Some(bucket) = contents.bucket {
            effects.note(&Effect::Bucket { bucket });
        }
        // The events of a lane in its order, and all others in any order.
        let behind = contents.lanes.values().flat_map(|lane| &lane.behind);
        let others = contents.events.iter().filter(|(_, stored)| stored.phase != Phase::Behind);
        for id in others.map(|(id, _)| id).chain(behind).copied() {
            let Stored { head, body, phase, delivery } = &contents.events[&id];
            effects.note(&Effect::Event { id, head: Cow::Borrowed(head), body });
            effects.note(&Effect::Phase { id, phase: *phase });
            if let Some(delivery) = delivery {
                effects.note(&Effect::Delivery { id, delivery: Cow::Borrowed(delivery) });
            }
            effects.flush(SNAPSHOT_BYTES, out);
        }
        for (name, named) in &contents.names {
            effects.note(&Effect::Name { name, named: Some(*named) });
            effects.flush(SNAPSHOT_BYTES, out);
        }
        for (id, at, is_taken) in contents.cancelled.iter() {
            effects.note(&Effect::Cancelled { id, at, is_taken });
            effects.flush(SNAPSHOT_BYTES, out);
        }
        for (id, record) in &contents.schedules {
            let template = contents.templates.get(id).map(Cow::Borrowed);
            effects.note(&Effect::Template { id, template });
            let schedule = Some((Cow::Borrowed(record), contents.looks.get(id).copied()));
            effects.note(&Effect::Schedule { schedule: ScheduleChange { id, schedule } });
            effects.flush(SNAPSHOT_BYTES, out);
        }
        effects.flush(1, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::events::event::flag;
    use crate::step::stored;

    fn id(sequence: u64) -> EventId {
        EventId::new(3, sequence, 0xabcd)
    }

    fn head(flags: u8) -> Head {
        Head {
            flags,
            fire_at_us: 300,
            published_at_us: 128,
            expires_at_us: 70_000,
            named_until: 0,
            key: b"k\0".as_slice().into(),
            dedup_id: "d\u{e9}".into(),
        }
    }

    fn root() -> Root {
        Root {
            generation: 300,
            ranges: vec![(0, 0x7fff), (0xff00, 0xffff)],
            map: "300:0000-7fff,ff00-ffff 7:8000-feff".into(),
            revision: 9,
            config: Config { rate: 5, burst: 7, paused: true, ..Config::default() },
            clock: 1_763_691_473_123_456,
            sequence: 1 << 40,
        }
    }

    fn delivery() -> Delivery {
        Delivery {
            token: *b"\0token\x80\xff",
            counts: Attempts { attempts: 300, crashes: 2, redriven: 1 },
            is_cancelled: true,
            is_settled: true,
            reason: Some(DeadReason::Crashed),
            err: "it fail\u{e9}d".into(),
            ..Delivery::default()
        }
    }

    fn schedule() -> ScheduleRecord {
        ScheduleRecord {
            is_latest: true,
            ticks: vec![500, 600],
            version: 3,
            last: id(1),
            fired_from_us: 100,
            ..ScheduleRecord::default()
        }
    }

    fn leaving(out: Option<Outgoing>) -> Transfer {
        Transfer::Leaving { ranges: vec![(0x7f00, 0x7fff)], left_at: 77, sent: 200, out }
    }

    /// Records with one change each.
    fn records() -> Vec<(&'static str, Vec<u8>)> {
        let (mut contents, mut records) = (Contents::default(), Vec::new());
        let mut note = |name, change: &dyn Fn(&mut Contents)| {
            contents.changes = Changes(Effects::after(Vec::new()));
            change(&mut contents);
            let changes = std::mem::take(&mut contents.changes);
            records.push((name, changes.0.into_record()));
        };
        let phases = [
            ("behind", Phase::Behind),
            ("ready", Phase::Ready(1)),
            ("leased", Phase::Leased(200)),
            ("retry", Phase::Retry(u64::MAX)),
            ("dead", Phase::Dead(4)),
            ("done", Phase::Done(5)),
        ];
        let out = || Outgoing {
            number: 201,
            ids: vec![id(1), id(2)],
            names: vec![b"name".as_slice().into()],
            schedules: vec!["s".into(), "\u{e9}".into()],
        };
        note("root", &|contents| contents.set_root(root()));
        note("tick", &|contents| contents.tick(1_763_691_473_123_457, (1 << 40) + 1));
        note("event", &|contents| {
            contents.add(id(1), head(0), b"body".as_slice().into(), Phase::Scheduled(300));
        });
        for (name, phase) in phases {
            note(name, &|contents| contents.put(id(1), phase));
        }
        note("times", &|contents| contents.set_times(id(1), 301, 0));
        note("delivery", &|contents| contents.set_delivery(id(1), delivery()));
        note("unbegun delivery", &|contents| {
            let (has_run_out, is_unbegun) = (true, true);
            let marked = Delivery { has_run_out, is_unbegun, ..Delivery::default() };
            contents.set_delivery(id(1), marked);
        });
        note("removed", &|contents| contents.remove(id(1)));
        let name = |until| Some(NameEntry { id: id(1), until });
        note("name of a live event", &|contents| contents.set_name(b"n\0", name(None)));
        note("name of an ended event", &|contents| contents.set_name(b"n\0", name(Some(300))));
        note("free name", &|contents| contents.set_name(b"n\0", None));
        note("arriving", &|contents| {
            contents.set_transfer(Some(Transfer::Arriving { taken: 300 }));
        });
        note("leaving", &|contents| contents.set_transfer(Some(leaving(None))));
        note("leaving batch", &|contents| contents.set_transfer(Some(leaving(Some(out())))));
        note("no transfer", &|contents| contents.set_transfer(None));
        note("bucket", &|contents| contents.set_bucket(Bucket { tokens: 3_000_000, at: 12 }));
        note("cancelled", &|contents| contents.set_cancelled(id(4), 11, false));
        note("cancelled with force", &|contents| contents.set_cancelled(id(5), 12, true));
        note("template", &|contents| {
            contents.set_template(&"s".into(), Some(Template::new(*b"rule", *b"body")));
        });
        note("schedule", &|contents| contents.set_schedule(&"s".into(), Some((schedule(), None))));
        note("no schedule", &|contents| contents.set_schedule(&"s".into(), None));
        note("no template", &|contents| contents.set_template(&"s".into(), None));
        note("cleared", &|contents| _ = contents.clear());
        // The contents of the snapshot.
        note("rest", &|contents| {
            contents.set_transfer(Some(leaving(Some(out()))));
            contents.set_bucket(Bucket { tokens: 3_000_000, at: 12 });
            let body = b"body".as_slice();
            let add = |contents: &mut Contents, number, phase| {
                contents.add(id(number), head(flag::KEYED), body.into(), phase);
            };
            add(contents, 7, Phase::Ready(9));
            contents.set_delivery(id(7), delivery());
            add(contents, 9, Phase::Behind);
            add(contents, 8, Phase::Behind);
            contents.set_name(b"n\0", name(Some(300)));
            contents.set_cancelled(id(5), 12, true);
            contents.set_schedule(&"s".into(), Some((schedule(), Some(400))));
            contents.set_template(&"s".into(), Some(Template::new(*b"rule", *b"body")));
        });
        records
    }

    #[test]
    fn records_are_stored_as_before() {
        stored::check::<State>(include_str!("journal.hex"), &records());
    }

    /// A replay makes its changes through the methods that record them.
    #[test]
    fn a_replay_notes_what_it_reads() {
        let mut contents = Contents::default();
        for (name, record) in records() {
            contents.changes = Changes(Effects::after(Vec::new()));
            contents.replay(&record).unwrap();
            let noted = std::mem::take(&mut contents.changes).0.into_record();
            assert_eq!(noted, record, "{name}");
        }
    }

    #[test]
    fn records_that_no_version_writes_are_refused() {
        let phase = |kind| [&[4], &id(1).as_bytes()[..], &[kind, 0]].concat();
        let transfer = vec![10, 3];
        let text = vec![17, 1, 0xff, 0];
        let template = vec![17, 1, b's', 2, 0, 0];
        let schedule = vec![16, 1, b's', 1, 1, 0];
        let mut event = Effects::after(Vec::new());
        event.note(&Effect::Event { id: id(1), head: Cow::Owned(head(0)), body: &[] });
        let without_phase = event.into_record();
        let of_another = [&*without_phase, &[4], id(2).as_bytes(), &[2, 0]].concat();
        let damaged = [phase(6), phase(8), transfer, text, template, schedule];
        for record in damaged.into_iter().chain([without_phase, of_another]) {
            let error = stored::replayed::<State>(&[&record]).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{record:?}");
        }
        stored::replayed::<State>(&[&phase(7)]).unwrap();
    }
}
