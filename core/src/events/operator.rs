//! The methods of a queue for operators: reading events, redriving dead letters, purging and deleting.

use std::borrow::Borrow;

use super::calls::{Calls, is_stale};
use super::delete::Delete;
use super::fetch::Fetch;
use super::limits::STEP_EVENTS_MAX;
use super::list::Listing;
use super::map::{Map, Range, contains};
use super::purge::PurgeRange;
use super::queue::{check_count, check_ids};
use super::redrive_all::RedriveRange;
use super::vslot::vslot_of;
use super::walk::{ALL, Leg, Walk};
use super::{
    Config, Event, EventId, EventPage, EventQuery, EventQueue, EventState, List, Purge,
    PurgeFilter, Redrive, RedriveAll, RedriveFilter, Redriven,
};
use crate::client::Mode;
use crate::error::Result;

impl<M: Mode> EventQueue<M> {
    /// Reads events by their ids, in order, with their states: `None` for an event that does not exist, because it has
    /// ended and is not kept, or never existed. Does not create the queue.
    ///
    /// Events are in the state that the last step left them in: an event whose time has come, or whose lease has
    /// expired, stays scheduled or leased until a consumer receives; an expired event exists until its turn comes.
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
        self.call("events.fetch", checked, async |calls, ids| calls.fetch(ids).await)
    }

    /// Lists the events in one state over all partitions, by the time of the state and by id, page by page. Does not
    /// create the queue.
    ///
    /// Events that are [behind](EventState::Behind) another one are listed by their key, in the order in which they
    /// will be delivered; a page after an event that no longer exists begins with the first one. A page may hold fewer
    /// events than its limit and still have a next one: it ends when its payloads exceed
    /// [`STEP_BYTES_MAX`](super::STEP_BYTES_MAX), and leaves out cancelled events of a long lane. Events are in the
    /// state that the last step left them in, as for a [`fetch`](Self::fetch).
    ///
    /// The pages together contain each event that is in the state during the whole listing exactly once, even if the
    /// queue is [resharded](Self::reshard) during it. An event that was ready or behind another one is scheduled by its
    /// time once it has moved, until a consumer receives; while the events of a key move, its list of those behind may
    /// be empty.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`PAGE_MAX`](super::PAGE_MAX); for events that are behind another
    /// one without a key or with time limits, and for others with a key; `WRONG_TYPE` if a key holds something else.
    pub fn list(&self, state: EventState, query: EventQuery) -> M::Reply<EventPage> {
        self.call("events.list", query.listing(state), async |calls, listing| {
            calls.list(listing).await
        })
    }

    /// Turns dead letters into events again, which are ready or wait behind the other events of their keys, and returns
    /// the result for each.
    ///
    /// Their attempts and crashes count from 0 again, and their number of times [`redriven`](Event::redriven) rises by
    /// one. Such an event keeps its id, no longer expires, and does not get its deduplication id back, which another
    /// event may have by now. Its earlier deliveries can no longer be ended.
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
    /// `INVALID_ARGUMENT` for an event that is listed twice, and for more than
    /// [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX).
    ///
    /// # Delivery
    /// A step that is sent again after a lost connection does not redrive an event that has become a dead letter again.
    pub fn redrive(
        &self,
        ids: impl IntoIterator<Item = impl Borrow<EventId>>,
    ) -> M::Reply<Vec<Redriven>> {
        self.call("events.redrive", check_ids(ids), async |calls, ids| {
            calls.spread(ids, 0, Redrive::new, |redriven| redriven).await
        })
    }

    /// Turns all dead letters that match the filter into events again, as [`redrive`](Self::redrive) does, and returns
    /// how many. Those of each partition are redriven in the order in which they died. Events that die during the call
    /// stay dead. Does not create the queue. If the queue is [resharded](Self::reshard) during the call, each is
    /// redriven once, and the call helps to complete the move.
    ///
    /// With [`per_second`](RedriveFilter::per_second) they fire one after the other at that rate, so that the service
    /// that made them fail is not flooded; until then they are scheduled, and can be cancelled and rescheduled.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a filter with a maximum of 0 or a rate outside its limits; `WRONG_TYPE` if a key holds
    /// something else.
    ///
    /// # Delivery
    /// The call takes steps of up to [`STEP_EVENTS_MAX`] dead letters each: after an error some may have been redriven.
    pub fn redrive_all(&self, filter: RedriveFilter) -> M::Reply<u64> {
        let checked = filter.check().map(|()| filter);
        self.call("events.redrive_all", checked, async |calls, filter| {
            calls.redrive_all(filter).await
        })
    }

    /// Removes all events of a state, or those that match the filter, and returns how many. Consumers are not notified.
    /// Does not create the queue.
    ///
    /// Leased events are never removed, so [`EventState::Leased`] is refused. Events that are
    /// [behind](EventState::Behind) another event are removed by their key. When the first event of a key is removed,
    /// the next one becomes ready, and stays. The deduplication ids of removed events are remembered as long as those
    /// of other events.
    ///
    /// If the queue is [resharded](Self::reshard) during the call, no event of the state is left, and the call helps to
    /// complete the move. An event that was ready or behind another one is scheduled by its time once it has moved,
    /// until a consumer receives: also purge the scheduled events, or purge after the reshard.
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
    /// time limit, and for others with a key; `WRONG_TYPE` if a key holds something else.
    ///
    /// # Delivery
    /// The call takes steps of up to [`STEP_EVENTS_MAX`] events each: after an error some may have been removed.
    pub fn purge(&self, state: EventState, filter: PurgeFilter) -> M::Reply<u64> {
        self.call("events.purge", filter.range(state), async |calls, range| {
            calls.purge(range).await
        })
    }

    /// Deletes the queue with all its events, including leased ones, its configuration and everything that it
    /// remembers. A delivery that ends later finds no event. Using the queue afterwards creates a new one. On a server
    /// a small key of each partition stays for ten minutes, so that calls that began before find the queue deleted.
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
    /// The call takes several steps. If it fails, part of the queue may be left. The next `delete` removes the rest,
    /// and so does the next call that uses the queue, which then creates a new one.
    pub fn delete(&self) -> M::Reply<()> {
        self.call("events.delete", Ok(()), async |calls, ()| calls.delete().await)
    }
}

impl<M: Mode> Calls<M> {
    async fn fetch(&self, ids: Vec<EventId>) -> Result<Vec<Option<Event>>> {
        let mut map = self.look_for::<Fetch>().await?;
        let (make, mut patience) =
            (|partition, _, ids| Fetch::new(partition, ids), self.patience());
        while let Some(known) = map {
            // Items in transit leave the old partition only once they are in the new one.
            let mut old = vec![None; ids.len()];
            if let Some(before) = known.before_move() {
                old = self.read(&before, ids.clone(), make, |read| read).await?;
            }
            let new = self.read(&known, ids.clone(), make, |read| read).await?;
            let read: Vec<_> = new.into_iter().zip(old).map(|(new, old)| new.or(old)).collect();
            if read.iter().all(Option::is_some) || !patience.is_left() {
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
        let (mut page, mut patience) = (EventPage::default(), self.patience());
        let Some(mut map) = self.look_for::<List>().await? else { return Ok(page) };
        let mut walk = Walk::over(part_of(listing.state, &listing.key), ());
        while let Some(leg) = walk.next(&map)? {
            match self.list_leg(&map, &leg, &listing).await {
                Ok(of) if listing.state == EventState::Behind => {
                    // The key has only this leg, whose events are in the order of the lane.
                    return Ok(of);
                }
                Ok(of) => {
                    listing.merge(&mut page, of);
                    walk.advance(&leg.ranges, None);
                    patience = self.patience();
                }
                Err(error) if is_stale(&error) && patience.is_left() => match self.look().await? {
                    Some(now) => map = now,
                    None => return Ok(EventPage::default()),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(page)
    }

    /// A page of a part of the key space.
    async fn list_leg(&self, map: &Map, leg: &Leg<()>, listing: &Listing) -> Result<EventPage> {
        let mut page = EventPage::default();
        for number in leg.numbers(map) {
            let partition = self.partition(map, number)?;
            let of = self.step(Ok(List::of(partition, listing.clone()))).await?;
            page.next = [page.next, of.next].into_iter().flatten().min();
            for event in of.events {
                let is_new = page.events.iter().all(|known| known.id != event.id);
                if is_new && contains(&leg.ranges, event.id.vslot()) {
                    page.events.push(event);
                }
            }
            if listing.state == EventState::Behind && !page.events.is_empty() {
                break;
            }
        }
        Ok(page)
    }

    async fn redrive_all(&self, filter: RedriveFilter) -> Result<u64> {
        if self.look_for::<RedriveAll>().await?.is_none() {
            return Ok(0);
        }
        let (mut walk, mut redriven) = (Walk::over(ALL, filter.range()), 0);
        while redriven < filter.most() {
            let most = (filter.most() - redriven).min(STEP_EVENTS_MAX as u64) as usize;
            let make = |partition, op, leg: &Leg<RedriveRange>| {
                RedriveAll::of(partition, op, leg.at.clone().of(leg, redriven), most)
            };
            let Some((leg, step)) = self.on_one(|map| walk.next(map), make).await? else { break };
            redriven += step.redriven;
            walk.advance(&leg.ranges, step.left);
        }
        Ok(redriven)
    }

    async fn purge(&self, range: PurgeRange) -> Result<u64> {
        if self.look_for::<Purge>().await?.is_none() {
            return Ok(0);
        }
        let (mut walk, mut removed) = (Walk::over(part_of(range.state, &range.key), range), 0);
        let make = |partition, op, leg: &Leg<PurgeRange>| {
            let range = leg.at.clone();
            Ok(Purge::of(partition, op, PurgeRange { span: range.span.of(leg), ..range }))
        };
        while let Some((leg, step)) = self.on_one(|map| walk.next(map), make).await? {
            removed += step.removed;
            walk.advance(&leg.ranges, step.left);
        }
        Ok(removed)
    }

    async fn delete(&self) -> Result<()> {
        self.remove_all(self.numbered(0).map(Delete::begin)).await
    }

    /// Removes the queue, with this as the first step.
    pub(super) async fn remove_all(&self, begin: Result<Delete>) -> Result<()> {
        let begun = self.step(begin).await?;
        if let Some(begun) = begun {
            // With a damaged map only partition 0 is known: the rest of other partitions is removed by the calls that
            // find it.
            let map = Map::parse(0, Config::default(), &begun.map).unwrap_or_default();
            for number in 1..map.owners.len() {
                self.remove(self.partition(&map, number)?).await?;
            }
            self.remove(self.numbered(0)?.of_generation(begun.generation)).await?;
        }
        self.route.set_map(None);
        Ok(())
    }
}

/// The part of the key space that events of a state are in: all, or that of their key.
fn part_of(state: EventState, key: &[u8]) -> Range {
    match state {
        EventState::Behind => (vslot_of(key), vslot_of(key)),
        _ => ALL,
    }
}
