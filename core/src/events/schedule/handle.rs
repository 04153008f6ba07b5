//! The methods of a queue for its schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plan::{Schedule, ScheduleInfo, Ticks};
use super::read::SCHEDULE_IDS_MAX;
use super::record::{SCHEDULE_ID_BYTES_MAX, ScheduleRecord, StoredSchedule, check_own_id};
use super::{PutSchedule, ReadSchedules, RemoveSchedule, SchedulesRead, Trigger};
use crate::client::Mode;
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::events::calls::{Calls, is_stale};
use crate::events::map::{Map, contains};
use crate::events::op::Op;
use crate::events::partition::Partition;
use crate::events::reshard::Wanted;
use crate::events::vslot::vslot_of;
use crate::events::walk::{ALL, Leg, Walk};
use crate::events::{EventQueue, Published};
use crate::step::{Operation, Timestamp};

/// How often a change is retried after changes by others.
const TRIES_MAX: usize = 100;

/// The most schedules of one [`EventQueue::sync_schedules`].
pub const SYNC_SCHEDULES_MAX: usize = 10_000;

/// The most bytes of the owner of a [`EventQueue::sync_schedules`].
pub const OWNER_BYTES_MAX: usize = SCHEDULE_ID_BYTES_MAX - 1;

/// The result of putting a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PutStatus {
    /// It did not exist before.
    Created,
    /// The same schedule existed: its ticks stay as they are, unless this program has newer time zone data.
    Unchanged,
    /// It existed, and has changed: its next tick is the first one after now.
    Updated,
    /// A schedule with a higher revision exists, and stays.
    Ignored,
}

impl PutStatus {
    /// Its name in every language, such as `created`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Unchanged => "unchanged",
            Self::Updated => "updated",
            Self::Ignored => "ignored",
        }
    }
}

/// The result of [`EventQueue::sync_schedules`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncedSchedules {
    /// Whether nothing was done, since the owner has a higher revision.
    pub ignored: bool,
    /// How many did not exist before.
    pub created: u64,
    /// How many were changed.
    pub updated: u64,
    /// How many existed without a change.
    pub unchanged: u64,
    /// How many were removed.
    pub removed: u64,
}

impl<M: Mode> EventQueue<M> {
    /// Adds a schedule, or changes the one with its id; a schedule publishes an event at the times of a calendar rule.
    /// An identical schedule is left as it is, so a program may put its schedules whenever it starts; the next ticks
    /// are computed again only if the program has newer time zone data. The call replaces the whole schedule: settings
    /// that are left out have their defaults, not their previous values. A paused schedule stays paused. Returns the
    /// result.
    ///
    /// No separate process fires schedules. A consumer that receives from the queue turns the due ticks into events, so
    /// each tick fires once, however many processes there are. While no consumer receives, nothing fires; ticks that
    /// are due then fire late, as the schedule's [`missed`](super::Schedule::missed) says.
    ///
    /// Schedules are stored with the queue: after a [`delete`](Self::delete) of the queue, a `FLUSHALL` or another loss
    /// of the server's data, they are gone, and nothing fires until a program puts them again. If the server cannot be
    /// reached, the call fails, as [`configure`](Self::configure) does.
    ///
    /// ```
    /// use millpond::events::{PutStatus, Schedule};
    ///
    /// let queue = millpond::connect("memory:")?.events("jobs");
    /// let nightly = Schedule::new("nightly").cron("30 3 * * *").zone("Europe/Berlin");
    /// let nightly = nightly.payload("clean up");
    /// assert_eq!(queue.put_schedule(nightly.clone())?, PutStatus::Created);
    /// // A deploy that puts it again moves nothing.
    /// assert_eq!(queue.put_schedule(nightly)?, PutStatus::Unchanged);
    ///
    /// queue.trigger_schedule("nightly")?;
    /// let event = &queue.receive(1)?[0];
    /// assert_eq!((&*event.key, &*event.payload), (b"nightly".as_slice(), b"clean up".as_slice()));
    /// queue.ack(event)?;
    /// assert!(queue.remove_schedule("nightly")?);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or has more than [`SCHEDULE_ID_BYTES_MAX`] bytes, for an invalid cron
    /// expression or time zone, for a schedule without a rule, and for a value beyond its limits, before anything is
    /// sent.
    ///
    /// # Delivery
    /// A due tick fires once, according to the schedule that existed when it became due.
    pub fn put_schedule(&self, schedule: Schedule) -> M::Reply<PutStatus> {
        let checked = schedule.check().map(|_| schedule);
        self.call("events.put_schedule", checked, async |calls, schedule| {
            calls.put(&schedule).await
        })
    }

    /// Removes a schedule, and returns whether it existed. Events of past ticks stay.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn remove_schedule(&self, id: impl AsRef<str>) -> M::Reply<bool> {
        self.of_schedule("events.remove_schedule", id, async |calls, id| {
            if calls.look().await?.is_none() {
                return Ok(false);
            }
            calls.remove_schedule(&id, 0).await
        })
    }

    /// Reads a schedule, if it exists.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn get_schedule(&self, id: impl AsRef<str>) -> M::Reply<Option<ScheduleInfo>> {
        self.of_schedule("events.get_schedule", id, async |calls, id| {
            if calls.look().await?.is_none() {
                return Ok(None);
            }
            calls.read_one(&id).await?.1.as_ref().map(ScheduleInfo::of).transpose()
        })
    }

    /// Reads all schedules, by their ids.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    pub fn list_schedules(&self) -> M::Reply<Vec<ScheduleInfo>> {
        self.call("events.list_schedules", Ok(()), async |calls, ()| {
            calls.read_all().await?.values().map(ScheduleInfo::of).collect()
        })
    }

    /// Pauses a schedule: its ticks pass without events. Returns whether it exists.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn pause_schedule(&self, id: impl AsRef<str>) -> M::Reply<bool> {
        self.of_schedule("events.pause_schedule", id, async |calls, id| {
            calls.set_schedule_paused(&id, true).await
        })
    }

    /// Resumes a schedule after a [`pause_schedule`](Self::pause_schedule), with its first tick after now. Returns
    /// whether it exists.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn resume_schedule(&self, id: impl AsRef<str>) -> M::Reply<bool> {
        self.of_schedule("events.resume_schedule", id, async |calls, id| {
            calls.set_schedule_paused(&id, false).await
        })
    }

    /// Publishes an event of a schedule now, even if it is paused; its ticks stay as they are. Returns the result, if
    /// there is such a schedule.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn trigger_schedule(&self, id: impl AsRef<str>) -> M::Reply<Option<Published>> {
        self.of_schedule("events.trigger_schedule", id, async |calls, id| {
            if calls.look().await?.is_none() {
                return Ok(None);
            }
            calls.on_schedule(&id, |at, op| Trigger::new(at, op, &id)).await
        })
    }

    /// Makes the schedules of an owner match a list: puts each of them, and removes all others that were put for this
    /// owner. For a program that declares all its schedules at each start. The revision applies to all of them: a call
    /// with a lower revision than an earlier call for this owner changes nothing. An id belongs to one owner: of two
    /// owners that list it, the one with the higher revision gets it. Returns the result.
    ///
    /// ```
    /// use millpond::events::Schedule;
    ///
    /// let queue = millpond::connect("memory:")?.events("jobs");
    /// let hourly = |id| Schedule::new(id).cron("@hourly");
    /// queue.sync_schedules("billing", 1, [hourly("a"), hourly("b")])?;
    /// let synced = queue.sync_schedules("billing", 2, [hourly("b")])?;
    /// assert_eq!((synced.unchanged, synced.removed), (1, 1));
    /// assert!(queue.sync_schedules("billing", 1, [hourly("a")])?.ignored);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`put_schedule`](Self::put_schedule); also for an owner that is empty, and for an id that is listed twice.
    ///
    /// # Delivery
    /// The call is not one step: after an error a part of it may have been done, and repeating the call does the rest.
    pub fn sync_schedules(
        &self,
        owner: impl AsRef<str>,
        revision: u64,
        schedules: impl IntoIterator<Item = Schedule>,
    ) -> M::Reply<SyncedSchedules> {
        let owner: Arc<str> = owner.as_ref().into();
        let mut all = BTreeMap::new();
        let mut add = |schedule: Schedule| {
            let schedule = schedule.owned_by(&owner, revision);
            schedule.check()?;
            let (id, is_new) = (schedule.id.clone(), !all.contains_key(&schedule.id));
            ensure!(is_new, "the schedule {id:?} comes twice");
            all.insert(id, schedule);
            ensure!(
                all.len() <= SYNC_SCHEDULES_MAX,
                "up to {SYNC_SCHEDULES_MAX} schedules are synchronized"
            );
            Ok(())
        };
        let checked = check_owner(&owner, revision)
            .and_then(|()| schedules.into_iter().try_for_each(&mut add))
            .map(|()| (owner.clone(), all));
        self.call("events.sync_schedules", checked, async move |calls, (owner, all)| {
            calls.sync(&owner, revision, all).await
        })
    }

    fn of_schedule<T: Send + 'static, F>(
        &self,
        operation: &'static str,
        id: impl AsRef<str>,
        body: impl FnOnce(Calls<M>, Arc<str>) -> F + Send + 'static,
    ) -> M::Reply<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let id: Arc<str> = id.as_ref().into();
        self.call(operation, check_own_id(&id).map(|()| id), body)
    }
}

fn check_owner(owner: &str, revision: u64) -> Result<()> {
    ensure!(!owner.is_empty(), "the owner is empty");
    check_own_id(&owner_id(owner).replace('\0', " "))?;
    ensure!(!owner.contains('\0'), "the owner holds a NUL character");
    ensure!(revision < 1 << 53, "the revision is 2^53 or more");
    Ok(())
}

/// The id of the schedule without ticks that stores the revision of an owner.
fn owner_id(owner: &str) -> String {
    format!("\0{owner}")
}

impl<M: Mode> Calls<M> {
    async fn read_schedules(&self, ids: &[Arc<str>]) -> Result<SchedulesRead> {
        let Some(first) = ids.first() else { return Ok(SchedulesRead::default()) };
        let make = |partition, _| ReadSchedules::of(partition, ids.to_vec());
        let wanted: Vec<_> = ids.iter().cloned().map(Wanted::Schedule).collect();
        self.on_vslot(vslot_of(first.as_bytes()), &wanted, make).await
    }

    /// Runs a step on a schedule.
    async fn on_schedule<O: Operation>(
        &self,
        id: &Arc<str>,
        make: impl Fn(Partition, Op) -> Result<O>,
    ) -> Result<O::Output> {
        self.on_vslot(vslot_of(id.as_bytes()), &[Wanted::Schedule(id.clone())], make).await
    }

    /// The time, and the schedule of this id.
    async fn read_one(&self, id: &Arc<str>) -> Result<(Timestamp, Option<StoredSchedule>)> {
        let mut read = self.read_schedules(std::slice::from_ref(id)).await?;
        Ok((read.now_us, read.schedules.pop()))
    }

    async fn read_all(&self) -> Result<BTreeMap<Arc<str>, StoredSchedule>> {
        let (mut all, mut walk, mut patience) =
            (BTreeMap::new(), Walk::over(ALL, ()), self.patience());
        while let Some(map) = self.look().await? {
            let Some(leg) = walk.next(&map)? else { break };
            match self.read_leg(&map, &leg).await {
                Ok(read) => {
                    all.extend(read);
                    walk.advance(&leg.ranges, None);
                    patience = self.patience();
                }
                Err(error) if is_stale(&error) && patience.is_left() => {
                    self.refresh(&map, leg.number).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Reads the schedules of a part of the key space.
    async fn read_leg(
        &self,
        map: &Map,
        leg: &Leg<()>,
    ) -> Result<BTreeMap<Arc<str>, StoredSchedule>> {
        let mut all = BTreeMap::new();
        for number in leg.numbers(map) {
            let mut after: Option<Arc<[u8]>> = None;
            loop {
                let page = ReadSchedules::page(self.partition(map, number)?, after);
                let page = self.step(Ok(page)).await?;
                let is_in = |id: &str| contains(&leg.ranges, vslot_of(id.as_bytes()));
                let own =
                    page.schedules.into_iter().filter(|of| !of.id.contains('\0') && is_in(&of.id));
                all.extend(own.map(|stored| (stored.id.clone(), stored)));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(all)
    }

    /// Changes a schedule to the one that `change` returns for the current time and the stored schedule, if it returns
    /// one.
    async fn change<T: Copy>(
        &self,
        id: &Arc<str>,
        change: impl Fn(Timestamp, Option<&StoredSchedule>) -> Result<(T, Option<Change>)>,
    ) -> Result<T> {
        for _ in 0..TRIES_MAX {
            let (now, stored) = self.read_one(id).await?;
            let (outcome, wanted) = change(now, stored.as_ref())?;
            let Some((schedule, ticks, is_paused)) = wanted else { return Ok(outcome) };
            let version = stored.map_or(0, |stored| stored.record.version);
            let mut record = schedule.record(ticks);
            record.is_paused = is_paused;
            let make = |partition, op| {
                let (record, template) = (record.clone(), Some(schedule.template()));
                PutSchedule::new(partition, op, id, version, record, template)
            };
            if self.on_schedule(id, make).await? {
                return Ok(outcome);
            }
        }
        Err(contended())
    }

    async fn put(&self, wanted: &Schedule) -> Result<PutStatus> {
        let (id, plan) = (&wanted.id, wanted.check()?);
        // Rounded as it will be stored.
        let wanted = &Schedule::unpack(id, &wanted.template())?;
        self.change(id, |now, stored| {
            let Some(StoredSchedule { record, template, .. }) = stored else {
                let ticks = plan.after(&ScheduleRecord::default(), now);
                return Ok((PutStatus::Created, Some((wanted.clone(), ticks, false))));
            };
            let known = Schedule::unpack(id, template)?;
            let paused = record.is_paused;
            if wanted.revision < known.revision {
                return Ok((PutStatus::Ignored, None));
            }
            let is_as_it_would_be =
                || !plan.is_newer(record) && (paused || !plan.is_late(record, now));
            if known == *wanted && is_as_it_would_be() {
                return Ok((PutStatus::Unchanged, None));
            }
            let is_like = known.is_like(wanted);
            let ticks = match is_like {
                _ if paused => Ticks::NONE,
                true => plan.refill(record, now),
                false => plan.after(record, now),
            };
            let status = if is_like { PutStatus::Unchanged } else { PutStatus::Updated };
            Ok((status, Some((wanted.clone(), ticks, paused))))
        })
        .await
    }

    async fn set_schedule_paused(&self, id: &Arc<str>, paused: bool) -> Result<bool> {
        if self.look().await?.is_none() {
            return Ok(false);
        }
        self.change(id, |now, stored| {
            let Some(StoredSchedule { record, template, .. }) = stored else {
                return Ok((false, None));
            };
            if record.is_paused == paused {
                return Ok((true, None));
            }
            let schedule = Schedule::unpack(id, template)?;
            let ticks = match paused {
                true => Ticks::NONE,
                false => schedule.check()?.after(record, now),
            };
            Ok((true, Some((schedule, ticks, paused))))
        })
        .await
    }

    async fn remove_schedule(&self, id: &Arc<str>, version: u64) -> Result<bool> {
        let make = |partition, op| RemoveSchedule::new(partition, op, id, version);
        self.on_schedule(id, make).await
    }

    /// Stores the revision of an owner, unless a higher one is stored; returns the stored revision.
    async fn claim(&self, owner: &Arc<str>, revision: u64) -> Result<u64> {
        let id: Arc<str> = owner_id(owner).into();
        self.change(&id, |_, stored| {
            let known = stored.map(|stored| Schedule::unpack(&id, &stored.template)).transpose()?;
            match known.map(|known| known.revision) {
                Some(known) if known >= revision => Ok((known, None)),
                _ => {
                    let mark = Schedule::new(&id).every(std::time::Duration::from_secs(1));
                    let mark = mark.owned_by(owner, revision);
                    Ok((revision, Some((mark, Ticks::NONE, true))))
                }
            }
        })
        .await
    }

    async fn sync(
        &self,
        owner: &Arc<str>,
        revision: u64,
        wanted: BTreeMap<Arc<str>, Schedule>,
    ) -> Result<SyncedSchedules> {
        let mut synced = SyncedSchedules::default();
        if self.claim(owner, revision).await? > revision {
            return Ok(SyncedSchedules { ignored: true, ..synced });
        }
        for schedule in wanted.values() {
            match self.put(schedule).await? {
                PutStatus::Created => synced.created += 1,
                PutStatus::Updated => synced.updated += 1,
                PutStatus::Unchanged => synced.unchanged += 1,
                PutStatus::Ignored => {}
            }
        }
        // A concurrent call with a higher revision either removes what it does not list before this call ends, or is
        // found here; then this call removes what it has put.
        let is_overtaken = self.claim(owner, revision).await? > revision;
        for (id, stored) in self.read_all().await? {
            let known = Schedule::unpack(&id, &stored.template)?;
            let is_old = known.revision < revision || !wanted.contains_key(&id);
            let goes = if is_overtaken { known.revision == revision } else { is_old };
            let is_own = known.owner == *owner && known.revision <= revision;
            if is_own && goes && self.remove_schedule(&id, stored.record.version).await? {
                synced.removed += 1;
            }
        }
        Ok(synced)
    }

    /// Gives schedules of a partition more ticks; returns whether one of these is due.
    pub(in crate::events) async fn refill(&self, ids: &[Arc<str>]) -> Result<bool> {
        let mut is_due = false;
        let mut left: BTreeSet<Arc<str>> = ids.iter().cloned().collect();
        while !left.is_empty() {
            let some: Vec<_> = left.iter().take(SCHEDULE_IDS_MAX).cloned().collect();
            left.retain(|id| !some.contains(id));
            let read = self.read_schedules(&some).await?;
            for StoredSchedule { id, record, template } in read.schedules {
                // A schedule of a later version is left to clients of that version.
                let plan = Schedule::unpack(&id, &template).and_then(|schedule| schedule.check());
                let Ok(plan) = plan else { continue };
                let filled = plan.refill(&record, read.now_us);
                let filled = filled.into_record(&record);
                let has_come = filled.ticks.first().is_some_and(|tick| *tick <= read.now_us);
                let make = |partition, op| {
                    PutSchedule::new(partition, op, &id, record.version, filled.clone(), None)
                };
                // If another client has changed it, that client has computed its ticks.
                let is_done = self.on_schedule(&id, make).await?;
                is_due |= is_done && has_come;
            }
        }
        Ok(is_due)
    }
}

/// A schedule, its ticks, and whether it is paused.
type Change = (Schedule, Ticks, bool);

fn contended() -> Error {
    Error::new(ErrorKind::Unavailable, "other clients keep changing the schedule")
}
