//! The handle of a queue.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::calls::{Calls, Item, is_stale};
use super::deliveries::Deliveries;
use super::map::Map;
use super::partition::Partition;
use super::receive::Suspects;
use super::reshard::Wanted;
use super::run::Events;
use super::{
    Cancel, Cancelled, Config, ConfigChange, End, Event, EventId, Held, IfExists, NewEvent,
    Publish, Published, ReadStats, Receipt, Receive, Renew, Reschedule, Rescheduled, Settled,
    Settlement, Stats, Worker, limits,
};
use crate::client::{Async, Blocking, Client, Mode};
use crate::error::{Error, ErrorKind, Result, ensure};
use crate::step::When;
use crate::step::limits::{CALL_BYTES_MAX, CALL_ITEMS_MAX};

/// How long the deduplication ids of follow-up events in other partitions are remembered: longer than retries take. The
/// page of `ack_with` states it too.
const FOLLOWING_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// A queue of events, each of which fires at its time; made by [`Client::events`].
///
/// ```
/// use std::time::Duration;
/// use millpond::events::NewEvent;
///
/// let queue = millpond::connect("memory:")?.events("orders");
/// queue.publish(NewEvent::new("paid").key("customer-12"))?;
/// let reminder = queue.publish(NewEvent::new("remind").delay(Duration::from_secs(3_600)))?;
///
/// for event in queue.receive(10)? {
///     assert_eq!(&*event.payload, b"paid");
///     queue.ack(&event)?;
/// }
/// queue.cancel([reminder.id], false, false)?;
/// assert_eq!(queue.stats()?.events, 0);
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// Cheap to clone and to make: all handles of a client share what the process knows about a queue.
#[derive(Clone, Debug)]
pub struct EventQueue<M: Mode = Blocking> {
    pub(super) client: Client<M>,
    name: Result<Arc<[u8]>, Arc<str>>,
}

impl<M: Mode> Client<M> {
    /// The queue of events with this name. Makes no call: a queue is created at its first use, with one partition and
    /// the defaults of [`ConfigChange`], unless it was [configured](EventQueue::configure) before.
    pub fn events(&self, name: impl AsRef<[u8]>) -> EventQueue<M> {
        let name = name.as_ref();
        let checked = super::Partition::new(name, 0, 0).map(|_| name.into());
        EventQueue {
            client: self.clone(),
            name: checked.map_err(|error: Error| error.message().into()),
        }
    }
}

impl<M: Mode> EventQueue<M> {
    pub(super) fn name(&self) -> Result<Arc<[u8]>> {
        let invalid = |message: &Arc<str>| Error::new(ErrorKind::InvalidArgument, &**message);
        self.name.as_ref().map(Arc::clone).map_err(invalid)
    }

    /// The same queue, for an async client.
    pub(super) fn to_async(&self) -> EventQueue<Async> {
        EventQueue { client: self.client.to_async(), name: self.name.clone() }
    }

    /// Runs a call of several steps, unless its arguments are invalid. Its errors name the operation.
    pub(super) fn call<I: Send + 'static, T: Send + 'static, F>(
        &self,
        operation: &'static str,
        input: Result<I>,
        body: impl FnOnce(Calls<M>, I) -> F + Send + 'static,
    ) -> M::Reply<T>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let calls = Calls::new(self);
        let all = async move { body(calls?, input?).await };
        M::call(async move { all.await.map_err(|error| error.renamed(operation)) })
    }

    /// Publishes an event, which fires now or at a given time.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an event beyond its limits, before anything is sent; `ALREADY_EXISTS` if its
    /// deduplication id is taken and the event asks for this error; `QUEUE_FULL` if its partition holds as many events
    /// or deduplication ids as its configuration allows; `WRONG_TYPE` if a key holds something else. In all cases
    /// nothing was added.
    ///
    /// # Delivery
    /// A step that is sent again after a lost connection adds nothing twice. After `CONNECTION_LOST` or `TIMEOUT` the
    /// event may or may not have been added; publishing it again with the same deduplication id adds it once.
    pub fn publish(&self, event: NewEvent) -> M::Reply<Published> {
        self.call("events.publish", event.check().map(|()| vec![event]), async |calls, events| {
            let published = calls.publish(events).await?;
            Ok(published[0])
        })
    }

    /// Publishes many events, each as [`publish`](Self::publish) would, and returns the result for each, in order.
    ///
    /// # Errors
    /// As [`publish`](Self::publish); also `INVALID_ARGUMENT` for more than [`CALL_ITEMS_MAX`] events or
    /// [`CALL_BYTES_MAX`] bytes.
    ///
    /// # Delivery
    /// The events of each partition take one atomic step for up to [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX) events
    /// and [`STEP_BYTES_MAX`](super::STEP_BYTES_MAX), and several for more: after an error some of these steps may have
    /// been done.
    pub fn publish_many(
        &self,
        events: impl IntoIterator<Item = NewEvent>,
    ) -> M::Reply<Vec<Published>> {
        let events = check_all(events);
        self.call("events.publish_many", events, async |calls, events| calls.publish(events).await)
    }

    /// Leases up to `max` ready events for the configured time, those that have been ready for longest first. No other
    /// consumer gets them until they [fail](Self::nack) or the lease expires. Fewer than `max` events are returned if
    /// no other event can be received now, if the events have more than [`STEP_BYTES_MAX`](super::STEP_BYTES_MAX), or
    /// if 256 steps were not enough for everything that had become due.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `max` of 0 or above [`RECEIVE_EVENTS_MAX`](super::RECEIVE_EVENTS_MAX); `WRONG_TYPE` if
    /// a key holds something else.
    ///
    /// # Delivery
    /// At least once. After `CONNECTION_LOST` or `TIMEOUT` events may have been leased that no caller received: they
    /// are delivered again when their lease expires.
    pub fn receive(&self, max: usize) -> M::Reply<Vec<Event>> {
        let checked = Receive::check(max, None);
        self.call("events.receive", checked, async move |calls, ()| {
            Ok(calls.receive(max, None, None, false, Suspects::Take).await?.events)
        })
    }

    /// The consumer's loop: batches of events, when they become ready. See [`Deliveries`].
    pub fn deliveries(&self) -> Deliveries<M> {
        Deliveries::new(self.clone())
    }

    /// A worker, which receives events, renews their leases while they are processed, and ends their deliveries. See
    /// [`Worker`].
    pub fn worker(&self) -> Worker<M> {
        Worker::new(Events { queue: self.clone() }, Default::default())
    }

    /// Ends a delivery: the event is done, and it is deleted or kept for the `retention` of the queue.
    ///
    /// # Errors
    /// `LEASE_LOST` if the event has been delivered again, or its delivery has ended in another way. It is not an error
    /// if this delivery has already ended the event.
    ///
    /// # Delivery
    /// An event whose lease has expired can still be acknowledged as long as no other consumer has received it.
    pub fn ack(&self, delivery: impl Into<Receipt>) -> M::Reply<()> {
        self.end(delivery.into(), End::Done)
    }

    /// Reports that processing an event failed, and why. The event is delivered again after the backoff of the
    /// configuration, or after the given delay; if that was its last attempt, it becomes a dead letter. The other
    /// events of its key wait until then.
    ///
    /// The last [`ERR_BYTES_MAX`](super::ERR_BYTES_MAX) bytes of `err` are kept.
    ///
    /// # Errors
    /// As [`ack`](Self::ack); `INVALID_ARGUMENT` for a time above [`DELAY_MAX`](super::DELAY_MAX).
    pub fn nack(
        &self,
        delivery: impl Into<Receipt>,
        err: impl Into<String>,
        after: impl Into<Option<Duration>>,
    ) -> M::Reply<()> {
        self.end(delivery.into(), End::Failed(err.into(), after.into()))
    }

    /// Gives an event back, as if it had not been delivered. It is available immediately, or after the given delay.
    ///
    /// # Errors
    /// As [`nack`](Self::nack).
    pub fn release(
        &self,
        delivery: impl Into<Receipt>,
        after: impl Into<Option<Duration>>,
    ) -> M::Reply<()> {
        self.end(delivery.into(), End::Released(after.into()))
    }

    /// Makes an event a dead letter with this reason; the next event of its key becomes ready.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    pub fn dead_letter(
        &self,
        delivery: impl Into<Receipt>,
        reason: impl Into<String>,
    ) -> M::Reply<()> {
        self.end(delivery.into(), End::Dead(reason.into()))
    }

    fn end(&self, receipt: Receipt, end: End) -> M::Reply<()> {
        let operation = match end {
            End::Done => "events.ack",
            End::Failed(..) => "events.nack",
            End::Released(_) => "events.release",
            End::Dead(_) => "events.dead_letter",
        };
        let checked = end.check().map(|()| vec![Settlement { receipt, end }]);
        self.call(operation, checked, async |calls, ends| match calls.settle(ends).await?[0] {
            Settled::Lost => Err(taken_over()),
            _ => Ok(()),
        })
    }

    /// Ends many deliveries as [`ack`](Self::ack) does, and returns the result for each, in order.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an event that is listed twice, and for more than [`CALL_ITEMS_MAX`].
    pub fn ack_many<D: Into<Receipt>>(
        &self,
        deliveries: impl IntoIterator<Item = D>,
    ) -> M::Reply<Vec<Settled>> {
        let end = |delivery: D| Settlement { receipt: delivery.into(), end: End::Done };
        self.settle_many(deliveries.into_iter().map(end))
    }

    /// Ends many deliveries, each as specified, and returns the result for each, in order.
    ///
    /// # Errors
    /// As [`ack_many`](Self::ack_many); `INVALID_ARGUMENT` for a time above [`DELAY_MAX`](super::DELAY_MAX).
    pub fn settle_many(
        &self,
        ends: impl IntoIterator<Item = Settlement>,
    ) -> M::Reply<Vec<Settled>> {
        let ends: Vec<_> = ends.into_iter().collect();
        let checked = check_count(ends.len())
            .and_then(|()| limits::distinct(ends.iter().map(|end| &end.receipt.id)))
            .and_then(|()| ends.iter().try_for_each(|end| end.end.check()));
        self.call("events.settle_many", checked.map(|()| ends), async |calls, ends| {
            calls.settle(ends).await
        })
    }

    /// Ends a delivery as [`ack`](Self::ack) does, and publishes follow-up events in the same step, both or neither;
    /// only follow-up events that belong to another partition are published before that step. Follow-up events are
    /// never refused because the queue is full. Returns the result for each event, in order.
    ///
    /// ```
    /// use millpond::events::NewEvent;
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// queue.publish(NewEvent::new("paid").key("7"))?;
    /// let paid = &queue.receive(1)?[0];
    /// queue.ack_with(paid, [NewEvent::new("ship").key("7")])?;
    /// assert_eq!(&*queue.receive(1)?[0].payload, b"ship");
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ack`](Self::ack) and [`publish_many`](Self::publish_many), in which case the delivery has not ended and no
    /// follow-up event of its partition was added, but those of other partitions may have been added; `LEASE_LOST` also
    /// for an event that has ended, since its follow-up events can no longer be published. `INVALID_ARGUMENT` for more
    /// than [`FOLLOWING_EVENTS_MAX`](super::FOLLOWING_EVENTS_MAX) events, in which case nothing was done.
    ///
    /// # Delivery
    /// In a queue with several partitions, follow-up events with other keys may belong to another partition than the
    /// delivery. These are published first, and stay if the call fails afterwards. A follow-up event with a key gets a
    /// deduplication id that is derived from the delivered event and from its position among the follow-up events,
    /// unless it has its own; in other partitions the id is remembered for 24 hours. So if the call is repeated, or the
    /// event delivered again, the same follow-up events in the same order are added once, even if the number of
    /// partitions has changed.
    pub fn ack_with(
        &self,
        delivery: impl Into<Receipt>,
        events: impl IntoIterator<Item = NewEvent>,
    ) -> M::Reply<Vec<Published>> {
        let receipt = delivery.into();
        let checked = check_all(events).and_then(|events| {
            let count = events.len();
            ensure!(
                count <= limits::FOLLOWING_EVENTS_MAX,
                "{count} events follow from one; {} are allowed",
                limits::FOLLOWING_EVENTS_MAX
            );
            Publish::check(&events)?;
            Ok(events)
        });
        self.call("events.ack_with", checked, async move |calls, events| {
            calls.ack_with(receipt, events).await
        })
    }

    /// Renews the leases of events: they last for the given time from now, or for the configured time. Returns for each
    /// whether it is still held.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a lease below a millisecond or above [`DELAY_MAX`](super::DELAY_MAX), and more than
    /// [`CALL_ITEMS_MAX`] events.
    pub fn renew<D: Into<Receipt>>(
        &self,
        deliveries: impl IntoIterator<Item = D>,
        lease: impl Into<Option<Duration>>,
    ) -> M::Reply<Vec<Held>> {
        let held: Vec<Receipt> = deliveries.into_iter().map(Into::into).collect();
        let lease = lease.into();
        let checked = check_count(held.len()).and_then(|()| lease.map_or(Ok(()), limits::lease));
        self.call("events.renew", checked.map(|()| held), async move |calls, held| {
            let make = |partition, _, held| Renew::new(partition, held, lease);
            calls.spread(held, 0, make, |renewed| renewed.held).await
        })
    }

    /// Removes events that are not leased, in any state, including dead letters. With `also_running`, the holders of
    /// leased events are told to stop when they next renew the lease, and these events are not retried. With `force`,
    /// leased events are removed too, immediately: the next event of the key becomes ready, and later calls of their
    /// holders are refused with `LEASE_LOST`. This is the call that ends a hung delivery. The deduplication id of a
    /// cancelled event is free immediately. Returns the result for each.
    ///
    /// ```
    /// use std::time::Duration;
    /// use millpond::events::{Cancelled, NewEvent};
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// let reminder = queue.publish(NewEvent::new("remind").delay(Duration::from_secs(60)))?;
    /// assert_eq!(queue.cancel([reminder.id], false, false)?, [Cancelled::Removed]);
    ///
    /// queue.publish(NewEvent::new("hangs"))?;
    /// let hangs = &queue.receive(1)?[0];
    /// assert_eq!(queue.cancel([hangs.id], true, false)?, [Cancelled::Running]);
    /// assert_eq!(queue.cancel([hangs.id], false, true)?, [Cancelled::Removed]);
    /// assert_eq!(queue.ack(hangs).unwrap_err().kind(), millpond::ErrorKind::LeaseLost);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an event that is listed twice, and for more than [`CALL_ITEMS_MAX`].
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the events may or may not have been cancelled; cancelling again is safe and
    /// tells which: for ten minutes a cancelled event is reported as removed, also if its holder stopped because it was
    /// told to. An event that does not exist has ended in another way, such as by an `ack`. A partition remembers up to
    /// 100,000 cancelled events, and a reshard forgets those of the keys that it moves.
    pub fn cancel(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
        also_running: bool,
        force: bool,
    ) -> M::Reply<Vec<Cancelled>> {
        self.call("events.cancel", check_ids(ids), async move |calls, ids| {
            let make = |partition, _, ids| {
                Cancel::new(partition, ids, also_running).map(|step| step.force(force))
            };
            calls.spread(ids, 0, make, |cancelled| cancelled).await
        })
    }

    /// Reschedules events whose time has not come: they fire after the given delay. An event that waits for its retry
    /// is retried then. Returns the result for each.
    ///
    /// ```
    /// use std::time::Duration;
    /// use millpond::events::{NewEvent, Rescheduled};
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// let reminder = queue.publish(NewEvent::new("remind").delay(Duration::from_secs(60)))?;
    /// let moved = queue.reschedule([reminder.id], Duration::from_secs(3_600))?;
    /// assert_eq!(moved, [Rescheduled::Rescheduled]);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel); `INVALID_ARGUMENT` for a delay above [`DELAY_MAX`](super::DELAY_MAX).
    pub fn reschedule(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
        delay: Duration,
    ) -> M::Reply<Vec<Rescheduled>> {
        self.reschedule_to(ids, When::After(delay))
    }

    /// Reschedules events whose time has not come, and those that wait for their retry, to a time in milliseconds since
    /// the Unix epoch; a time in the past means now. Returns the result for each.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel); `INVALID_ARGUMENT` for a time after the year 2199.
    pub fn reschedule_at_ms(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
        at_ms: u64,
    ) -> M::Reply<Vec<Rescheduled>> {
        self.reschedule_to(ids, When::At(at_ms))
    }

    fn reschedule_to(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
        at: When,
    ) -> M::Reply<Vec<Rescheduled>> {
        let checked = limits::when(at).and_then(|()| check_ids(ids));
        self.call("events.reschedule", checked, async move |calls, ids| {
            let make = |partition, _, ids| Reschedule::new(partition, ids, at);
            calls.spread(ids, 0, make, |rescheduled| rescheduled).await
        })
    }

    /// How many events there are in each state, over all partitions. Does not create the queue.
    ///
    /// Partitions are read one after the other. If the queue is [resharded](Self::reshard) during the call, each event
    /// is counted once, unless events move faster than two partitions can be read, 16 times in a row: then the events
    /// that are being moved may be counted twice or not at all.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    pub fn stats(&self) -> M::Reply<Stats> {
        self.call("events.stats", Ok(()), async |calls, ()| calls.stats().await)
    }

    /// Changes the configuration of the queue, and creates the queue if it does not exist. Settings that the change
    /// leaves out stay as they are, or have their defaults in a new queue: slowing down a queue undoes nothing else.
    /// Programs that configure different settings do not undo each other; programs that set the same one to different
    /// values do, each time that one of them starts. When the call returns, every partition has the change. A program
    /// can make this call at each of its starts: it does not end a pause, unless the change says so, or undo a
    /// [`reshard`](Self::reshard), as the number of partitions only applies to a new queue. If the server cannot be
    /// reached, the call fails; the run of a worker waits until the server responds.
    ///
    /// ```
    /// use millpond::events::ConfigChange;
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// let start = ConfigChange::new().partitions(4).max_attempts(5);
    /// queue.configure(start.clone())?;
    /// queue.configure(ConfigChange::new().rate(10))?;
    ///
    /// queue.reshard(8)?;
    /// queue.pause()?;
    /// queue.configure(start)?;
    /// let config = queue.config()?.expect("it is there");
    /// assert_eq!((config.max_attempts, config.rate), (5, 10));
    /// assert_eq!((config.partitions, config.paused), (8, true));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a value beyond its limits, and for one that conflicts with the rest of the configuration,
    /// such as a `concurrency` below the number of partitions that the queue has, or a `burst` without a `rate`.
    pub fn configure(&self, change: impl Into<ConfigChange>) -> M::Reply<()> {
        let change = change.into();
        self.call("events.configure", change.check().map(|()| change), async |calls, change| {
            let apply = |known: Option<&Config>| {
                let mut config = change.of(known.unwrap_or(&Config::default()));
                config.partitions = known.map_or(config.partitions, |known| known.partitions);
                config.check()?;
                Ok(config)
            };
            calls.configure(apply).await
        })
    }

    /// The configuration of the queue; `None` if the queue does not exist.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    pub fn config(&self) -> M::Reply<Option<Config>> {
        self.call("events.config", Ok(()), async |calls, ()| {
            Ok(calls.look().await?.map(|map| map.config.clone()))
        })
    }

    /// Stops the delivery of events: when the call returns, no consumer receives an event. Leased events can still be
    /// ended, and events can still be published.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    pub fn pause(&self) -> M::Reply<()> {
        self.set_paused("events.pause", true)
    }

    /// Resumes delivery after a [`pause`](Self::pause).
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    pub fn resume(&self) -> M::Reply<()> {
        self.set_paused("events.resume", false)
    }

    fn set_paused(&self, operation: &'static str, paused: bool) -> M::Reply<()> {
        self.call(operation, Ok(()), async move |calls, ()| {
            let change = |known: Option<&Config>| {
                Ok(Config { paused, ..known.cloned().unwrap_or_default() })
            };
            calls.configure(change).await
        })
    }
}

impl<M: Mode> Calls<M> {
    async fn publish(&self, events: Vec<NewEvent>) -> Result<Vec<Published>> {
        // Events with neither a key nor a deduplication id go to one part of the key space, so that a call is one step.
        let drawn = self.client.draw() as u16;
        let make = |partition, op, events| Publish::new(partition, op, events, drawn);
        self.spread(events, drawn, make, |published| published).await
    }
}

impl<M: Mode> Calls<M> {
    async fn stats(&self) -> Result<Stats> {
        let (mut counted, mut patience) = (BTreeMap::new(), self.patience());
        while let Some(map) = self.look_for::<ReadStats>().await? {
            match self.stats_by(&map, &mut counted).await {
                Err(error) if is_stale(&error) && patience.is_left() => {}
                Err(error) if is_stale(&error) => {
                    // The moves are faster than this: count the events where they are.
                    let mut stats = Stats::default();
                    for number in 0..map.owners.len() {
                        stats.add(self.count(self.numbered(number)?, None).await?.0);
                    }
                    return Ok(stats);
                }
                result => return result,
            }
        }
        Ok(self.count(self.numbered(0)?, None).await?.0)
    }

    /// Counts the partitions of this map that are not counted yet; earlier counts of unchanged partitions stay. Events
    /// in transit are counted in one of the two partitions: the new one counts what has arrived, and the old one the
    /// rest.
    async fn stats_by(
        &self,
        map: &Map,
        counted: &mut BTreeMap<usize, (u32, Stats)>,
    ) -> Result<Stats> {
        let ends = map.moving.as_ref().map(|of| [of.to, of.from]);
        let is_moving = |number: &usize| ends.is_some_and(|ends| ends.contains(number));
        let is_same = |number: &usize, generation: u32| {
            map.owners.get(*number).is_some_and(|owner| owner.generation == generation)
        };
        counted.retain(|number, (of, _)| is_same(number, *of) && !is_moving(number));
        for number in (0..map.owners.len()).filter(|number| !is_moving(number)) {
            if let Entry::Vacant(entry) = counted.entry(number) {
                let (stats, _) = self.count(self.partition(map, number)?, None).await?;
                entry.insert((map.owners[number].generation, stats));
            }
        }
        let mut stats = Stats::default();
        counted.values().for_each(|(_, of)| stats.add(*of));
        if let Some([to, from]) = ends {
            let (new, arrived) = self.count(self.partition(map, to)?, None).await?;
            let (old, _) = self.count(self.partition(map, from)?, arrived).await?;
            stats.add(new);
            stats.add(old);
        }
        Ok(stats)
    }

    async fn count(&self, partition: Partition, has: Option<u64>) -> Result<(Stats, Option<u64>)> {
        self.step(ReadStats::new(partition).map(|step| step.without(has))).await
    }

    async fn ack_with(&self, receipt: Receipt, events: Vec<NewEvent>) -> Result<Vec<Published>> {
        let mut published = vec![None; events.len()];
        let mut patience = self.patience();
        loop {
            let map = self.map().await?;
            match self.ack_with_map(&map, receipt, &events, &mut published).await {
                Err(error) if is_stale(&error) && patience.is_left() => {
                    self.refresh(&map, map.owner_of(receipt.id.vslot())).await?;
                }
                result => break result?,
            }
        }
        Ok(published.into_iter().flatten().collect())
    }

    /// Does the part that is not done yet, unless the map has changed since.
    async fn ack_with_map(
        &self,
        map: &Map,
        receipt: Receipt,
        events: &[NewEvent],
        published: &mut [Option<Published>],
    ) -> Result<()> {
        let drawn = receipt.id.vslot();
        let home = map.owner_of(drawn);
        let left = events.iter().enumerate().filter(|(index, _)| published[*index].is_none());
        let (own, elsewhere): (Vec<_>, Vec<_>) =
            left.partition(|(_, event)| map.owner_of(event.vslot(drawn)) == home);
        let follow = |(index, event): &(usize, &NewEvent), window| {
            let event = NewEvent::clone(event);
            // Without a key it belongs to the partition of the delivery, for any number of partitions.
            if event.dedup_id.is_some() || event.key.is_empty() {
                return event;
            }
            let id = format!("{}/{index}", receipt.id);
            event.dedup_id(id).dedup_window(window).if_exists(IfExists::Ignore)
        };
        let others = elsewhere.iter().map(|event| follow(event, FOLLOWING_WINDOW)).collect();
        let first = self.publish(others).await?;
        for ((index, _), event) in elsewhere.into_iter().zip(first) {
            published[index] = Some(event);
        }
        // An earlier delivery may have published some of them while they belonged to another partition. The id is not
        // remembered, as these are added when the delivery ends, which happens once.
        let all: Vec<_> = own.iter().map(|event| follow(event, Duration::ZERO)).collect();
        if let Some(moving) = &map.moving {
            let is_moving = |vslot| map.move_of(vslot).is_some();
            let names = all.iter().filter(|event| is_moving(event.vslot(drawn)));
            let receipt = is_moving(drawn).then_some(Wanted::Event(receipt.id));
            let wanted = names.filter_map(Item::wanted).chain(receipt).collect();
            self.pull(map, moving, wanted).await?;
        }
        let slot = self.route.slot();
        let step = Publish::done(self.partition(map, home)?, slot.op(), all, receipt);
        for ((index, _), event) in own.into_iter().zip(self.step(step).await?) {
            published[index] = Some(event);
        }
        Ok(())
    }
}

pub(super) fn check_count(count: usize) -> Result<()> {
    ensure!(count <= CALL_ITEMS_MAX, "a call takes {CALL_ITEMS_MAX} events, not {count}");
    Ok(())
}

pub(super) fn check_ids(
    ids: impl IntoIterator<Item = impl Borrow<EventId>>,
) -> Result<Vec<EventId>> {
    let ids: Vec<EventId> = ids.into_iter().map(|id| *id.borrow()).collect();
    check_count(ids.len())?;
    limits::distinct(&ids)?;
    Ok(ids)
}

fn check_all(events: impl IntoIterator<Item = NewEvent>) -> Result<Vec<NewEvent>> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for event in events {
        event.check()?;
        bytes += event.bytes();
        all.push(event);
        check_count(all.len())?;
        ensure!(bytes <= CALL_BYTES_MAX, "a call takes {CALL_BYTES_MAX} bytes of events");
    }
    Ok(all)
}

pub(super) fn taken_over() -> Error {
    Error::new(ErrorKind::LeaseLost, "another consumer has the event, or its delivery has ended")
}
