//! The records of a partition in the journal: what its steps did, and how it comes back from that.

use std::sync::Arc;

use super::State;
use super::bucket::Bucket;
use super::contents::{Contents, NameEntry, Outgoing, Phase, Root, Transfer};
use crate::error::{Error, ErrorKind, Result};
use crate::events::config::Config;
use crate::events::event::Head;
use crate::events::id::EventId;
use crate::events::map::{parse_ranges, text_of};
use crate::events::schedule::{ScheduleRecord, Template};
use crate::events::state::{Attempts, DeadReason, Delivery};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{Effects, Snapshot, StepContext, Timestamp};

/// Effects in the journal: they say what changed, not what was asked, so that a later version with other rules still
/// makes the same state of them.
mod tag {
    pub(super) const ROOT: u8 = 1;
    pub(super) const TICK: u8 = 2;
    pub(super) const EVENT: u8 = 3;
    pub(super) const PHASE: u8 = 4;
    pub(super) const REMOVED: u8 = 5;
    pub(super) const TIMES: u8 = 6;
    pub(super) const DELIVERY: u8 = 7;
    pub(super) const NAME: u8 = 8;
    pub(super) const CLEARED: u8 = 9;
    pub(super) const TRANSFER: u8 = 10;
    pub(super) const BUCKET: u8 = 11;
    pub(super) const SCHEDULE: u8 = 16;
    pub(super) const TEMPLATE: u8 = 17;
    pub(super) const CANCELLED: u8 = 18;
}

/// Bytes in one snapshot record: large enough to be cheap, small enough to be read in pieces.
const SNAPSHOT_BYTES: usize = 256 * 1024;

/// One change of a partition.
pub(super) enum Effect<'a> {
    Root(&'a Root),
    Tick(Timestamp, u64),
    Event(EventId, &'a Head, &'a [u8]),
    Phase(EventId, Phase),
    Removed(EventId),
    Times(EventId, Timestamp, Timestamp),
    Delivery(EventId, &'a Delivery),
    Name(&'a [u8], Option<NameEntry>),
    Cleared,
    Transfer(Option<&'a Transfer>),
    Bucket(Bucket),
    /// With when, and whether its delivery was taken away.
    Cancelled(EventId, Timestamp, bool),
    /// With when it is looked at; nothing if it is removed.
    Schedule(&'a str, Option<&'a (ScheduleRecord, Option<Timestamp>)>),
    Template(&'a str, Option<&'a Template>),
}

/// What a step changed, as its record.
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

    /// Whether anything was noted, as far as it is recorded; unsure for an engine that is not durable.
    pub(super) fn are_any(&self) -> bool {
        !self.0.are_recorded() || self.0.len() > 0
    }

    pub(super) fn record(self, context: &mut StepContext<'_>) {
        self.0.record(context);
    }

    pub(super) fn note(&mut self, effect: Effect<'_>) {
        let effects = &mut self.0;
        match effect {
            Effect::Root(root) => effects.write(tag::ROOT, |out| {
                put_integer(root.generation.into(), out);
                put_bytes(text_of(&root.ranges).as_bytes(), out);
                put_bytes(root.map.as_bytes(), out);
                put_integer(root.revision, out);
                put_bytes(&root.config.packed(), out);
                put_integer(root.clock, out);
                put_integer(root.sequence, out);
            }),
            Effect::Tick(clock, sequence) => effects.write(tag::TICK, |out| {
                put_integer(clock, out);
                put_integer(sequence, out);
            }),
            Effect::Event(id, head, body) => effects.write(tag::EVENT, |out| {
                put_id(id, out);
                out.push(head.flags);
                for time in
                    [head.fire_at_us, head.published_at_us, head.expires_at_us, head.named_until]
                {
                    put_integer(time, out);
                }
                put_bytes(&head.key, out);
                put_bytes(head.dedup_id.as_bytes(), out);
                put_bytes(body, out);
            }),
            Effect::Phase(id, phase) => effects.write(tag::PHASE, |out| {
                put_id(id, out);
                let (kind, at) = match phase {
                    Phase::Nowhere => (6, 0),
                    Phase::Scheduled(at) => (0, at),
                    Phase::Behind => (1, 0),
                    Phase::Ready(at) => (2, at),
                    Phase::Leased(at) => (3, at),
                    Phase::Retry(at) => (4, at),
                    Phase::Dead(at) => (5, at),
                    Phase::Done(at) => (7, at),
                };
                out.push(kind);
                put_integer(at, out);
            }),
            Effect::Removed(id) => effects.write(tag::REMOVED, |out| put_id(id, out)),
            Effect::Times(id, fire_at_us, expires_at_us) => effects.write(tag::TIMES, |out| {
                put_id(id, out);
                put_integer(fire_at_us, out);
                put_integer(expires_at_us, out);
            }),
            Effect::Delivery(id, delivery) => effects.write(tag::DELIVERY, |out| {
                put_id(id, out);
                out.extend_from_slice(&delivery.token);
                let Attempts { attempts, crashes, redriven } = delivery.counts;
                for count in [attempts, crashes, redriven] {
                    put_integer(count.into(), out);
                }
                out.extend([delivery.marks(), DeadReason::number(delivery.reason)]);
                put_bytes(delivery.err.as_bytes(), out);
            }),
            Effect::Cleared => effects.write(tag::CLEARED, |_| {}),
            Effect::Transfer(transfer) => effects.write(tag::TRANSFER, |out| match transfer {
                None => out.push(0),
                Some(Transfer::Arriving { taken }) => {
                    out.push(1);
                    put_integer(*taken, out);
                }
                Some(Transfer::Leaving { ranges, left_at, sent, out: batch }) => {
                    out.push(2);
                    put_bytes(text_of(ranges).as_bytes(), out);
                    put_integer(*left_at, out);
                    put_integer(*sent, out);
                    // A batch has a number from 1.
                    let Some(Outgoing { number, ids, names, schedules }) = batch else {
                        return put_integer(0, out);
                    };
                    put_integer(*number, out);
                    put_integer(ids.len() as u64, out);
                    ids.iter().for_each(|id| put_id(*id, out));
                    put_integer(names.len() as u64, out);
                    names.iter().for_each(|name| put_bytes(name, out));
                    put_integer(schedules.len() as u64, out);
                    schedules.iter().for_each(|id| put_bytes(id.as_bytes(), out));
                }
            }),
            Effect::Bucket(Bucket { tokens, at }) => effects.write(tag::BUCKET, |out| {
                put_integer(tokens, out);
                put_integer(at, out);
            }),
            Effect::Cancelled(id, at, is_taken) => effects.write(tag::CANCELLED, |out| {
                put_id(id, out);
                put_integer(at, out);
                out.push(is_taken.into());
            }),
            Effect::Schedule(id, schedule) => effects.write(tag::SCHEDULE, |out| {
                put_bytes(id.as_bytes(), out);
                let packed = schedule.map(|(record, _)| record.packed(id)).unwrap_or_default();
                put_bytes(&packed, out);
                put_integer(schedule.and_then(|(_, look_at)| *look_at).unwrap_or(0), out);
            }),
            Effect::Template(id, template) => effects.write(tag::TEMPLATE, |out| {
                put_bytes(id.as_bytes(), out);
                put_bytes(&template.map(Template::packed).unwrap_or_default(), out);
            }),
            Effect::Name(name, named) => effects.write(tag::NAME, |out| {
                put_bytes(name, out);
                put_integer(named.map_or(0, |named| named.until.map_or(1, |_| 2)), out);
                if let Some(NameEntry { id, until }) = named {
                    put_id(id, out);
                    put_integer(until.unwrap_or(0), out);
                }
            }),
        }
    }
}

fn put_id(id: EventId, out: &mut Vec<u8>) {
    out.extend_from_slice(id.as_bytes());
}

fn corrupt() -> Error {
    Error::new(ErrorKind::Corrupt, "a journal record of events does not decode")
}

fn fixed<const BYTES: usize>(reader: &mut Reader<'_>) -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    for byte in &mut bytes {
        *byte = reader.byte()?;
    }
    Ok(bytes)
}

fn id_of(reader: &mut Reader<'_>) -> Result<EventId> {
    EventId::of_bytes(&fixed::<12>(reader)?).ok_or_else(corrupt)
}

fn str_of(reader: &mut Reader<'_>) -> Result<Arc<str>> {
    Ok(std::str::from_utf8(reader.bytes()?).map_err(|_| corrupt())?.into())
}

fn count_of(reader: &mut Reader<'_>) -> Result<u16> {
    reader.integer()?.try_into().map_err(|_| corrupt())
}

fn transfer_of(reader: &mut Reader<'_>) -> Result<Option<Transfer>> {
    Ok(match reader.byte()? {
        0 => None,
        1 => Some(Transfer::Arriving { taken: reader.integer()? }),
        2 => {
            let ranges = parse_ranges(&str_of(reader)?).ok_or_else(corrupt)?;
            let (left_at, sent) = (reader.integer()?, reader.integer()?);
            let out = match reader.integer()? {
                0 => None,
                number => {
                    let ids = (0..reader.integer()?).map(|_| id_of(reader));
                    let ids = ids.collect::<Result<_>>()?;
                    let names = (0..reader.integer()?).map(|_| Ok(reader.bytes()?.into()));
                    let names = names.collect::<Result<_>>()?;
                    let schedules = (0..reader.integer()?).map(|_| str_of(reader));
                    let schedules = schedules.collect::<Result<_>>()?;
                    Some(Outgoing { number, ids, names, schedules })
                }
            };
            Some(Transfer::Leaving { ranges, left_at, sent, out })
        }
        _ => return Err(corrupt()),
    })
}

impl Contents {
    /// Does again what one effect says.
    fn replay(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        match reader.byte()? {
            tag::ROOT => {
                let generation = reader.integer()?.try_into().map_err(|_| corrupt())?;
                let ranges = parse_ranges(&str_of(reader)?).ok_or_else(corrupt)?;
                let map = str_of(reader)?;
                let revision = reader.integer()?;
                let config = Config::unpack(reader.bytes()?).ok_or_else(corrupt)?;
                let (clock, sequence) = (reader.integer()?, reader.integer()?);
                self.set_root(Root { generation, ranges, map, revision, config, clock, sequence });
            }
            tag::TICK => {
                let clock = reader.integer()?;
                self.tick(clock, reader.integer()?);
            }
            tag::EVENT => {
                let id = id_of(reader)?;
                let flags = reader.byte()?;
                let (fire_at_us, published_at_us) = (reader.integer()?, reader.integer()?);
                let (expires_at_us, named_until) = (reader.integer()?, reader.integer()?);
                let (key, dedup_id) = (reader.bytes()?.into(), str_of(reader)?);
                let head = Head {
                    flags,
                    fire_at_us,
                    published_at_us,
                    expires_at_us,
                    named_until,
                    key,
                    dedup_id,
                };
                self.store(id, head, reader.bytes()?.into());
            }
            tag::PHASE => {
                let id = id_of(reader)?;
                let (kind, at) = (reader.byte()?, reader.integer()?);
                self.put(
                    id,
                    match kind {
                        0 => Phase::Scheduled(at),
                        1 => Phase::Behind,
                        2 => Phase::Ready(at),
                        3 => Phase::Leased(at),
                        4 => Phase::Retry(at),
                        5 => Phase::Dead(at),
                        7 => Phase::Done(at),
                        _ => return Err(corrupt()),
                    },
                );
            }
            tag::REMOVED => {
                let id = id_of(reader)?;
                self.remove(id);
            }
            tag::TIMES => {
                let id = id_of(reader)?;
                let fire_at_us = reader.integer()?;
                self.set_times(id, fire_at_us, reader.integer()?);
            }
            tag::DELIVERY => {
                let (id, token) = (id_of(reader)?, fixed(reader)?);
                let counts = Attempts {
                    attempts: count_of(reader)?,
                    crashes: count_of(reader)?,
                    redriven: count_of(reader)?,
                };
                let (marks, reason) = (reader.byte()?, reader.byte()?);
                let delivery = Delivery {
                    token,
                    counts,
                    is_cancelled: marks & 1 != 0,
                    has_run_out: marks & 2 != 0,
                    is_settled: marks & 4 != 0,
                    is_unbegun: marks & 16 != 0,
                    reason: DeadReason::of_number(reason),
                    err: str_of(reader)?,
                };
                self.set_delivery(id, delivery);
            }
            tag::NAME => {
                let name = reader.bytes()?;
                let named = match reader.integer()? {
                    0 => None,
                    kind => {
                        let id = id_of(reader)?;
                        let until = reader.integer()?;
                        Some(NameEntry { id, until: (kind == 2).then_some(until) })
                    }
                };
                self.set_name(name, named);
            }
            tag::CLEARED => _ = self.clear(),
            tag::TRANSFER => {
                let transfer = transfer_of(reader)?;
                self.set_transfer(transfer);
            }
            tag::BUCKET => {
                let tokens = reader.integer()?;
                self.set_bucket(Bucket { tokens, at: reader.integer()? });
            }
            tag::CANCELLED => {
                let (id, at) = (id_of(reader)?, reader.integer()?);
                self.set_cancelled(id, at, reader.byte()? == 1);
            }
            tag::SCHEDULE => {
                let (id, packed) = (str_of(reader)?, reader.bytes()?);
                let look_at = Some(reader.integer()?).filter(|look_at| *look_at > 0);
                let is_there = !packed.is_empty();
                let record = is_there.then(|| ScheduleRecord::unpack(packed).ok_or_else(corrupt));
                self.set_schedule(&id, record.transpose()?.map(|record| (record, look_at)));
            }
            tag::TEMPLATE => {
                let (id, packed) = (str_of(reader)?, reader.bytes()?);
                let is_there = !packed.is_empty();
                let template = is_there.then(|| Template::unpack(packed).ok_or_else(corrupt));
                self.set_template(&id, template.transpose()?);
            }
            _ => return Err(corrupt()),
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
        let (mut contents, mut reader) = (self.lock(), Reader::new(record));
        while !reader.is_empty() {
            contents.replay(&mut reader)?;
        }
        Ok(())
    }

    /// Writes all that the partition holds.
    pub(super) fn write_snapshot(&self, out: &mut dyn Snapshot) {
        let contents = self.lock();
        out.begin();
        let mut changes = Changes(Effects::after(Vec::new()));
        changes.note(Effect::Root(&contents.root));
        changes.note(Effect::Transfer(contents.transfer.as_ref()));
        if let Some(bucket) = contents.bucket {
            changes.note(Effect::Bucket(bucket));
        }
        let mut flush = |changes: &mut Changes, most: usize| {
            if changes.0.len() > most {
                let full = std::mem::replace(changes, Changes(Effects::after(Vec::new())));
                out.record(&full.0.into_record());
            }
        };
        // Those of a lane in its order, and all others in any.
        let behind = contents.lanes.values().flat_map(|lane| &lane.behind);
        let others = contents.events.iter().filter(|(_, stored)| stored.phase != Phase::Behind);
        for id in others.map(|(id, _)| id).chain(behind) {
            let stored = &contents.events[id];
            changes.note(Effect::Event(*id, &stored.head, &stored.body));
            changes.note(Effect::Phase(*id, stored.phase));
            if let Some(delivery) = &stored.delivery {
                changes.note(Effect::Delivery(*id, delivery));
            }
            flush(&mut changes, SNAPSHOT_BYTES);
        }
        for (name, named) in &contents.names {
            changes.note(Effect::Name(name, Some(*named)));
            flush(&mut changes, SNAPSHOT_BYTES);
        }
        for (id, at, is_taken) in contents.cancelled.iter() {
            changes.note(Effect::Cancelled(id, at, is_taken));
            flush(&mut changes, SNAPSHOT_BYTES);
        }
        for (id, record) in &contents.schedules {
            let schedule = (record.clone(), contents.looks.get(id).copied());
            changes.note(Effect::Template(id, contents.templates.get(id)));
            changes.note(Effect::Schedule(id, Some(&schedule)));
            flush(&mut changes, SNAPSHOT_BYTES);
        }
        flush(&mut changes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// The records of one change each.
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
        // What the snapshot is of.
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

    /// A replay makes its changes by the methods that note them.
    #[test]
    fn a_replay_notes_what_it_reads() {
        let mut contents = Contents::default();
        for (name, record) in records() {
            contents.changes = Changes(Effects::after(Vec::new()));
            let mut reader = Reader::new(&record);
            while !reader.is_empty() {
                contents.replay(&mut reader).unwrap();
            }
            let noted = std::mem::take(&mut contents.changes).0.into_record();
            assert_eq!(noted, record, "{name}");
        }
    }

    #[test]
    fn records_that_no_version_writes_are_refused() {
        let phase = |kind| [&[tag::PHASE], &id(1).as_bytes()[..], &[kind, 0]].concat();
        let transfer = vec![tag::TRANSFER, 3];
        let text = vec![tag::TEMPLATE, 1, 0xff, 0];
        let template = vec![tag::TEMPLATE, 1, b's', 2, 0, 0];
        let schedule = vec![tag::SCHEDULE, 1, b's', 1, 1, 0];
        for record in [phase(6), phase(8), transfer, text, template, schedule] {
            let error = stored::replayed::<State>(&[&record]).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{record:?}");
        }
        stored::replayed::<State>(&[&phase(7)]).unwrap();
    }
}
