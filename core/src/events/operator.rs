//! What those do who look after a queue: its methods to read events, redrive dead letters, purge and delete.

use std::borrow::Borrow;

use super::calls::Calls;
use super::delete::Delete;
use super::fetch::Fetch;
use super::limits::STEP_EVENTS_MAX;
use super::list::Listing;
use super::map::Map;
use super::purge::PurgeRange;
use super::queue::{check_count, check_ids};
use super::vslot::vslot_of;
use super::{
    Config, Event, EventId, EventPage, EventQuery, EventQueue, EventState, List, Purge,
    PurgeFilter, Redrive, RedriveAll, RedriveFilter, Redriven,
};
use crate::client::Mode;
use crate::error::Result;
use crate::step::reply::malformed;

impl<M: Mode> EventQueue<M> {
    /// Reads events by their ids, in their order, with what they wait for: `None` for one that is not there, as it has
    /// ended and is not kept, or never was. Makes no queue.
    ///
    /// An event is as the last step left it: one whose time or lease is over is scheduled or leased until somebody
    /// receives, one that has expired is there until its turn comes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use millpond::events::{EventState, NewEvent};
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// let reminder = queue.publish(NewEvent::new("remind").delay(Duration::from_secs(60)))?;
    /// let event = queue.fetch([reminder.id])?.remove(0).expect("its time has not come");
    /// assert_eq!((event.state, event.state_at_us), (EventState::Scheduled, reminder.fire_at_us));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) ids; `WRONG_TYPE` if a key holds
    /// something else.
    pub fn fetch(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
    ) -> M::Reply<Vec<Option<Event>>> {
        let ids: Vec<EventId> = ids.into_iter().map(|id| *id.borrow()).collect();
        let checked = check_count(ids.len()).map(|()| ids);
        self.call(checked, async |calls, ids| calls.fetch(ids).await)
    }

    /// Lists the events of one state over all partitions, by the time of that and by id, page by page. Makes no queue.
    ///
    /// Events that are [behind](EventState::Behind) another one are listed by its key, in the order in which they come;
    /// a page that comes after one that is not there any more begins with the first. A page may hold fewer events than
    /// its limit and still have a next one: it ends when payloads make more than 8 MiB, and leaves out what was
    /// cancelled in a long lane. Events are as the last step left them, as for a [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above 1,000; for events that are behind another one without a key or with
    /// bounds of time, and for others with a key; `WRONG_TYPE` if a key holds something else.
    pub fn list(&self, state: EventState, query: EventQuery) -> M::Reply<EventPage> {
        self.call(query.listing(state), async |calls, listing| calls.list(listing).await)
    }

    /// Makes dead letters events again that are ready, or come behind the others of their keys, and returns what became
    /// of each.
    ///
    /// Their attempts and crashes count from 0 again, and they are [`redriven`](Event::redriven) once more. Such an
    /// event keeps its id, does not expire any more, and does not take its deduplication id again, which may be another
    /// event's by now. No earlier delivery of it can be ended any more.
    ///
    /// ```
    /// use millpond::events::{NewEvent, Redriven};
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// queue.publish(NewEvent::new("a"))?;
    /// let event = queue.receive(1)?.remove(0);
    /// queue.dead_letter(&event, "no such customer")?;
    /// assert_eq!(queue.redrive([event.id])?, [Redriven::Redriven]);
    /// let again = queue.receive(1)?.remove(0);
    /// assert_eq!((again.id, again.attempts, again.redriven), (event.id, 1, 1));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an event that comes twice, and more than [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX).
    ///
    /// # Delivery
    /// A step that is sent again for a lost connection redrives nothing twice that died again meanwhile.
    pub fn redrive(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
    ) -> M::Reply<Vec<Redriven>> {
        self.call(check_ids(ids), async |calls, ids| {
            calls.spread(ids, 0, Redrive::new, |redriven| redriven).await
        })
    }

    /// Makes all dead letters events again that the filter lets through, as [`redrive`](Self::redrive) does, and
    /// returns how many. Of each partition those come first that died first. What dies while this runs stays dead.
    /// Makes no queue.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a filter of at most 0; `WRONG_TYPE` if a key holds something else.
    ///
    /// # Delivery
    /// Steps of up to 1,000 dead letters each: after an error some may be redriven.
    pub fn redrive_all(&self, filter: RedriveFilter) -> M::Reply<u64> {
        let checked = filter.check().map(|()| filter);
        self.call(checked, async |calls, filter| calls.redrive_all(filter).await)
    }

    /// Removes all events of a state, or those that the filter lets through, and returns how many. Nothing is told to
    /// anybody. Makes no queue.
    ///
    /// What is leased is never removed, so [`EventState::Leased`] is refused. Those that are
    /// [behind](EventState::Behind) another event are removed by its key. When the first event of a key is removed the
    /// next one is ready, and stays. The deduplication ids of removed events are remembered as long as those of others.
    ///
    /// ```
    /// use millpond::events::{EventState, NewEvent, PurgeFilter};
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// queue.publish_many((0..3).map(|number| NewEvent::new(number.to_string()).key("k")))?;
    /// assert_eq!(queue.purge(EventState::Behind, PurgeFilter::new().key("k"))?, 2);
    /// assert_eq!(queue.purge(EventState::Ready, PurgeFilter::new())?, 1);
    /// assert_eq!(queue.stats()?.events, 0);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for events that are leased, for events that are behind another one without a key or with a
    /// bound of time, and for others with a key; `WRONG_TYPE` if a key holds something else.
    ///
    /// # Delivery
    /// Steps of up to 1,000 events each: after an error some may be removed.
    pub fn purge(&self, state: EventState, filter: PurgeFilter) -> M::Reply<u64> {
        self.call(filter.range(state), async |calls, range| calls.purge(range).await)
    }

    /// Deletes the queue with all its events, those too that are leased, its configuration and what it remembers. A
    /// delivery that ends later finds its event gone. Whoever uses the queue afterwards makes it again, as a new one.
    ///
    /// ```
    /// use millpond::events::NewEvent;
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// queue.publish(NewEvent::new("a"))?;
    /// queue.delete()?;
    /// assert_eq!((queue.config()?, queue.stats()?.events), (None, 0));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    ///
    /// # Delivery
    /// Several steps. While they run the queue is `UNAVAILABLE` for others; after an error it stays so until it is
    /// deleted again, which goes on where this stopped.
    pub fn delete(&self) -> M::Reply<()> {
        self.call(Ok(()), async |calls, ()| calls.delete().await)
    }
}

impl<M: Mode> Calls<M> {
    async fn fetch(&self, ids: Vec<EventId>) -> Result<Vec<Option<Event>>> {
        let mut map = self.look().await?;
        let make = |partition, _, ids| Fetch::new(partition, ids);
        while let Some(known) = map {
            // What is on its way leaves the old partition when it is in the new one.
            let mut old = vec![None; ids.len()];
            if let Some(before) = known.before_move() {
                old = self.read(&before, ids.clone(), make, |read| read).await?;
            }
            let new = self.read(&known, ids.clone(), make, |read| read).await?;
            let read: Vec<_> = new.into_iter().zip(old).map(|(new, old)| new.or(old)).collect();
            if read.iter().all(Option::is_some) {
                return Ok(read);
            }
            map = self.look().await?;
            if map.as_ref() == Some(&known) {
                return Ok(read);
            }
        }
        Ok(vec![None; ids.len()])
    }

    async fn list(&self, mut listing: Listing) -> Result<EventPage> {
        let Some(map) = self.look().await? else { return Ok(EventPage::default()) };
        let mut page = EventPage::default();
        for number in partitions(&map, listing.state, &listing.key) {
            let partition = self.numbered(number)?;
            let of = self.step(Ok(List::of(partition, listing.clone()))).await?;
            if listing.state == EventState::Behind {
                // It is the only one, and in the order of the lane.
                return Ok(of);
            }
            listing.merge(&mut page, of);
        }
        Ok(page)
    }

    async fn redrive_all(&self, filter: RedriveFilter) -> Result<u64> {
        let Some(map) = self.look().await? else { return Ok(0) };
        let mut redriven = 0;
        for number in 0..map.owners.len() {
            let mut left = Some(filter.range());
            while let Some(range) = left.filter(|_| redriven < filter.most()) {
                let most = (filter.most() - redriven).min(STEP_EVENTS_MAX as u64) as usize;
                let make = |partition, op| RedriveAll::of(partition, op, range.clone(), most);
                let step = self.on(number, make).await?;
                redriven += step.redriven;
                left = step.left;
            }
        }
        Ok(redriven)
    }

    async fn purge(&self, range: PurgeRange) -> Result<u64> {
        let Some(map) = self.look().await? else { return Ok(0) };
        let mut removed = 0;
        for number in partitions(&map, range.state, &range.key) {
            let mut left = Some(range.clone());
            while let Some(range) = left {
                let make = |partition, op| Ok(Purge::of(partition, op, range.clone()));
                let step = self.on(number, make).await?;
                removed += step.removed;
                left = step.left;
            }
        }
        Ok(removed)
    }

    async fn delete(&self) -> Result<()> {
        let begun = self.step(self.numbered(0).map(Delete::begin)).await?;
        if let Some(begun) = begun {
            let map = Map::parse(0, Config::default(), &begun.map).ok_or_else(malformed)?;
            for number in 1..map.owners.len() {
                self.remove(self.partition(&map, number)?).await?;
            }
            self.remove(self.numbered(0)?.of_generation(begun.generation)).await?;
        }
        self.route.set_map(None);
        Ok(())
    }
}

/// The partitions that have events of a state: all, or that of their key.
fn partitions(map: &Map, state: EventState, key: &[u8]) -> std::ops::Range<usize> {
    match state {
        EventState::Behind => {
            let owner = map.owner_of(vslot_of(key));
            owner..owner + 1
        }
        _ => 0..map.owners.len(),
    }
}
