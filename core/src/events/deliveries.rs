//! The loop of a consumer: events when they become ready.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::key_range::KeyRange;
use super::limits::{RECEIVE_EVENTS_MAX, STEP_BYTES_MAX};
use super::map::Map;
use super::receive::{Suspects, WAITING_PLACES, Waits};
use super::{Event, EventQueue, HandOn, Partition, Receive};
use crate::client::{Async, Blocking, Client, Mode};
use crate::error::Result;
use crate::runtime::waiters::Topic;
use crate::worker::ids;
use crate::worker::poll_loop::{Found, PollLoop, Source, Waiting, iterate};

/// The loop of a consumer: batches of leased events, by default of one event. Made by [`EventQueue::deliveries`].
///
/// Asking for the next batch does not affect the one before: its events are leased until they are ended, or until the
/// lease expires. Without [`wait`](Self::wait) the loop ends when nothing is ready. A non-retryable error always ends
/// the loop.
///
/// ```
/// use millpond::events::NewEvent;
///
/// let queue = millpond::connect("memory:")?.events("orders");
/// queue.publish_many((0..3).map(|number| NewEvent::new(number.to_string())))?;
/// for batch in queue.deliveries().max(2) {
///     let batch = batch?;
///     queue.ack_many(&batch)?;
/// }
/// assert_eq!(queue.stats()?.events, 0);
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// An iterator for a blocking client, a [`Stream`](futures_core::Stream) for an async one.
pub struct Deliveries<M: Mode = Blocking>(PollLoop<Receives<M>>);

iterate! {
    /// The next batch, or `None` when the loop is over, as the [`Stream`](futures_core::Stream) yields it.
    ///
    /// # Errors
    /// As [`EventQueue::receive`].
    ///
    /// # Delivery
    /// A future that is dropped may have leased events that the caller never saw. The next call continues the dropped
    /// one.
    Deliveries yields Vec<Event>, Vec<Event>
}

impl<M: Mode> Deliveries<M> {
    pub(super) fn new(queue: EventQueue<M>) -> Self {
        Self(PollLoop::new(Receives::new(queue)))
    }

    /// How long events are leased; by default as long as the queue's configuration says.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.0.source.lease = Some(lease);
        self
    }

    /// Up to `max` events per batch; one by default.
    #[must_use]
    pub fn max(mut self, max: usize) -> Self {
        self.0.source.max = max;
        self
    }

    /// Waits up to `idle` for an event when none is ready, instead of ending immediately; the time starts again with
    /// each batch. All waiting loops of a process share one connection. An event that becomes ready, by a step or
    /// because its time has come, wakes one of them.
    #[must_use]
    pub fn wait(mut self, idle: Duration) -> Self {
        self.0.wait(Some(idle));
        self
    }

    /// Takes only events of this part of the key space, in the notation of Vitess: such as `-80`, `40-80` or `80-`, or
    /// several parts, `-40,c0-`. It has to consist of whole partitions: the two of a new queue own `-80` and `80-`, and
    /// doubling the number of partitions halves their ranges. Any other [`reshard`](EventQueue::reshard) moves as
    /// little as possible, and so can leave a partition with several parts, which the error lists. An event with
    /// neither a key nor a deduplication id belongs to an arbitrary part. By default events come from all partitions.
    ///
    /// ```
    /// use millpond::events::{Config, NewEvent};
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// let mut config = Config::default();
    /// config.partitions = 2;
    /// queue.configure(config)?;
    /// queue.publish_many((0..9).map(|customer| NewEvent::new("paid").key([customer])))?;
    /// let lower = queue.deliveries().key_range("-80").count();
    /// let upper = queue.deliveries().key_range("80-").count();
    /// assert_eq!(lower + upper, 9);
    /// assert!(queue.deliveries().key_range("-40").next().expect("a result").is_err());
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// The next batch is `INVALID_ARGUMENT` for a text that is not a range, and while a partition owns only a part of
    /// it.
    #[must_use]
    pub fn key_range(mut self, range: impl AsRef<str>) -> Self {
        self.0.source.key_range = Some(range.as_ref().into());
        self
    }

    /// Stops listening for events until the next batch is asked for; the time of [`wait`](Self::wait) then starts
    /// again. For a caller that stops asking but keeps the loop: a listening loop takes wake-ups that another waiting
    /// loop would get.
    pub fn stop_listening(&mut self) {
        self.0.stop_listening();
        self.0.source.listens = false;
    }
}

/// Receives of a queue.
pub(super) struct Receives<M: Mode> {
    pub(super) queue: EventQueue<M>,
    pub(super) lease: Option<Duration>,
    /// The part of the key space to receive from; `None` for all.
    pub(super) key_range: Option<Arc<str>>,
    max: usize,
    /// Whether the receiver reports when it starts a suspect.
    pub(super) begins: bool,
    /// The numbers of the partitions whose events this listens for.
    numbers: Vec<usize>,
    /// Whether it listens.
    listens: bool,
}

/// The result of a receive from the partitions.
pub(crate) struct Received {
    pub(super) events: Vec<Event>,
    pub(super) map: Arc<Map>,
    /// The numbers of the partitions that it received from.
    numbers: Vec<usize>,
    /// For each partition that was asked: its number, in how many microseconds there may be more events, and the rank
    /// of this process among the waiting ones.
    looks: Vec<(usize, Option<u64>, Option<u32>)>,
    /// In how many microseconds the rate lets the next event through, if it alone holds up events that are ready.
    pub(super) rate_in: Option<u64>,
}

/// How much later each process after the first checks, when an event is due that no process has received.
pub(super) const ALARM_APART: Duration = Duration::from_millis(25);

/// How often one receive continues with a partition whose step has left something undone.
const AGAIN_MAX: usize = 256;

impl Received {
    /// Whether there is more to do now, so that the caller must not wait yet.
    pub(super) fn is_unfinished(&self) -> bool {
        self.looks.iter().any(|(_, next_in, _)| *next_in == Some(0))
    }
}

impl<M: Mode> Receives<M> {
    pub(super) fn new(queue: EventQueue<M>) -> Self {
        let (lease, key_range, max, begins) = (None, None, 1, false);
        Self { queue, lease, key_range, max, begins, numbers: Vec::new(), listens: false }
    }

    pub(super) fn set_max(&mut self, max: usize) {
        self.max = max.min(RECEIVE_EVENTS_MAX);
    }

    pub(super) fn ask<T: Send + 'static>(
        &self,
        then: impl FnOnce(Received) -> T + Send + 'static,
    ) -> M::Reply<T> {
        let (max, lease, listens) = (self.max, self.lease, self.listens);
        let suspects = if self.begins { Suspects::Begin } else { Suspects::Take };
        let (calls, key_range) = (Calls::new(&self.queue), self.key_range.clone());
        M::call(async move {
            Receive::check(max, lease)?;
            let key_range = key_range.as_deref().map(KeyRange::parse).transpose()?;
            calls?.receive(max, lease, key_range.as_ref(), listens, suspects).await.map(then)
        })
    }

    /// Ensures that a consumer is woken when the next events are ready: this loop, if it got nothing, or another one
    /// that waits for the same queue.
    pub(super) fn announce(&mut self, received: &Received, waiting: &mut Waiting) -> Result<()> {
        let client = &self.queue.client;
        let calls = Calls::new(&self.queue)?;
        let numbers = &received.numbers;
        let listen = || {
            let topics = numbers.iter().map(|number| calls.topics(&received.map, *number));
            let topics: Vec<_> = topics.collect::<Result<_>>()?;
            for (number, topics) in numbers.iter().zip(&topics) {
                calls.hand_on_unheard(client, *number, &topics[0]);
            }
            client.listen(topics.concat())
        };
        if *numbers != self.numbers {
            self.numbers.clone_from(numbers);
            waiting.listen_anew(listen)?;
        }
        if received.events.is_empty() {
            waiting.listen(listen)?;
        }
        self.listens = received.events.is_empty() && waiting.is_listening();
        // On a shared server, steps of other processes may go unheard. A check covers all partitions, so one is enough.
        if let (Some(interval), Some(first)) = (client.fallback_poll_interval(), numbers.first()) {
            client.wake_after(&calls.topics(&received.map, *first)?[0], interval);
        }
        for (number, next_in, place) in &received.looks {
            let topics = calls.topics(&received.map, *number)?;
            if topics.len() > 1 {
                // The step has notified the next waiting process, if there is more.
                waiting.used(&topics[0]);
                // A loop that has just begun to listen may have registered the process before the step: it checks
                // again.
                let others = client.listeners(&topics[0]) > usize::from(waiting.is_listening());
                if place.is_none() && !received.events.is_empty() && others {
                    client.wake_one(&topics[0]);
                }
            }
            if *next_in == Some(0) {
                // There is more: a wake-up for it is passed on when the listener goes.
                continue;
            }
            topics.iter().for_each(|topic| waiting.used(topic));
            let place = place.unwrap_or(0);
            if let Some(next_in) = next_in.filter(|_| place < WAITING_PLACES) {
                client.wake_after(&topics[0], Duration::from_micros(next_in) + ALARM_APART * place);
            }
        }
        Ok(())
    }
}

impl<M: Mode> Calls<M> {
    /// The topics for the events of a partition. Only this process is notified on the first one.
    fn topics(&self, map: &Map, number: usize) -> Result<Vec<Topic>> {
        let partition = self.partition(map, number)?;
        let own = self.route.process.as_ref().map(|process| partition.topic_of(process));
        Ok(own.into_iter().chain([partition.topic()]).collect())
    }

    /// Whether this process keeps waiting after a receive; `None` if it does not listen, or cannot be reached.
    fn waits(&self, partition: &Partition, listens: bool) -> Option<Waits> {
        let process = self.route.process.clone()?;
        let listeners = self.client.upgrade()?.listeners(&partition.topic_of(&process));
        let if_taken = listeners > usize::from(listens);
        (listeners > 0).then_some(Waits { process, if_empty: true, if_taken })
    }

    /// Passes on a notification about a partition when no loop of this process listens any more.
    fn hand_on_unheard(&self, client: &Client<M>, number: usize, topic: &Topic) {
        let Some(process) = self.route.process.clone() else { return };
        let (client_of, name, of) =
            (client.to_async().downgrade(), self.name.clone(), topic.clone());
        let unheard = move || {
            let Some(client) = client_of.upgrade() else { return };
            let (queue, process, topic) = (client.events(&name), process.clone(), of.clone());
            let Ok(calls) = Calls::new(&queue) else { return };
            // It continues without being awaited.
            drop(Async::call(async move {
                let make = |partition, _| Ok(HandOn::new(partition, process.clone()));
                calls.on(number, make).await?;
                // A loop that has just begun to listen may have registered the process before the step: it checks
                // again.
                client.wake_one(&topic);
                Ok(())
            }));
        };
        client.on_unheard(topic, Arc::new(unheard));
    }

    /// Leases up to `max` events, from one partition after the other; `listens` says whether the loop listens.
    pub(super) async fn receive(
        &self,
        max: usize,
        lease: Option<Duration>,
        key_range: Option<&KeyRange<'_>>,
        listens: bool,
        suspects: Suspects,
    ) -> Result<Received> {
        let of = |map: &Map| match key_range {
            Some(range) => range.partitions(map),
            None => Ok((0..map.owners.len()).collect()),
        };
        let mut map = self.map_for::<Receive>().await?;
        let numbers = match of(&map) {
            Ok(numbers) => numbers,
            // The range may fit partitions that are not known here yet.
            Err(error) => {
                map = self.look().await?.ok_or(error)?;
                of(&map)?
            }
        };
        let first = self.route.next_turn();
        let mut waiting: VecDeque<_> = (0..numbers.len())
            .map(|turn| numbers[first.wrapping_add(turn) % numbers.len()])
            .collect();
        let (chosen, mut asked) = (map.clone(), numbers.clone());
        let (events, looks) = (Vec::new(), Vec::new());
        let mut received = Received { events, map, numbers, looks, rate_in: None };
        let (mut bytes, mut again) = (0, 0);
        while let Some(number) = waiting.pop_front() {
            let left = max - received.events.len();
            let is_asked = |map: &Map| match std::ptr::eq(map, &*chosen) {
                true => Ok(Some(number)),
                false => Ok(of(map)?.contains(&number).then_some(number)),
            };
            let make = |partition, op, _: &usize| {
                let (token, seed) = (ids::unique_bytes(), self.client.draw() as u32);
                let waits = self.waits(&partition, listens);
                // A suspect comes alone, whichever partition it is in.
                let suspects = if left == max { suspects } else { Suspects::Leave };
                let step = Receive::new(partition, op, left, lease, token, seed)?;
                Ok(step.waits(waits).with(suspects))
            };
            match self.on_one(is_asked, make).await {
                Ok(None) => {}
                Ok(Some((_, of))) => {
                    bytes += of.events.iter().map(|event| event.payload.len()).sum::<usize>();
                    // Held up by a suspect, which is left for the next receive.
                    let is_held_up =
                        of.ready > 0 && of.events.is_empty() && !received.events.is_empty();
                    // A lease of an earlier step may be over by now.
                    let is_current = |event: &Event| of.events.iter().all(|of| of.id != event.id);
                    received.events.retain(is_current);
                    received.events.extend(of.events);
                    // The received events are processed even if this fails: the next receive tries again.
                    let is_refilled = self.refill(&of.refills).await.unwrap_or(false);
                    let next_in = if is_refilled { Some(0) } else { of.next_in };
                    // A step handles a part of the due items, and may have made nothing ready.
                    let has_room = received.events.len() < max && bytes <= STEP_BYTES_MAX;
                    if next_in == Some(0) && has_room && !is_held_up && again < AGAIN_MAX {
                        again += 1;
                        waiting.push_front(number);
                    } else {
                        received.looks.push((number, next_in, of.place));
                        let rate_in = next_in.filter(|_| of.waits_for_rate);
                        received.rate_in = received.rate_in.into_iter().chain(rate_in).min();
                    }
                }
                Err(error) if received.events.is_empty() => return Err(error),
                // The events received so far are leased, and have to be processed.
                Err(_) => break,
            }
            let is_suspect = |event: &Event| received.map.config.is_suspect(event.crashes);
            if received.events.len() == max || received.events.last().is_some_and(is_suspect) {
                break;
            }
            // Other partitions may own the events by now.
            if waiting.is_empty()
                && let Some(Ok(numbers)) = self.route.map().map(|map| of(&map))
            {
                waiting.extend(numbers.into_iter().filter(|number| !asked.contains(number)));
                asked.extend(&waiting);
            }
        }
        if let Some(map) = self.route.map() {
            received.map = map;
        }
        if received.events.is_empty() && received.map.moving.is_some() {
            self.help(&received.map.clone()).await?;
            if let Some(map) = self.look().await? {
                received.map = map;
            }
        }
        match of(&received.map) {
            Ok(numbers) => received.numbers = numbers,
            Err(error) if received.events.is_empty() => return Err(error),
            // The next receive returns the error.
            Err(_) => received.numbers.clear(),
        }
        Ok(received)
    }
}

impl<M: Mode> Source for Receives<M> {
    type Mode = M;
    type Output = Received;
    type Item = Vec<Event>;

    fn ask(&mut self, _: Instant, _: bool) -> M::Reply<Received> {
        Self::ask(self, |received| received)
    }

    fn handle(
        &mut self,
        result: Result<Received>,
        waiting: &mut Waiting,
    ) -> Result<Found<Vec<Event>>> {
        let received = result?;
        self.announce(&received, waiting)?;
        Ok(match received.events.is_empty() {
            true if received.is_unfinished() => Found::Nothing,
            true => Found::Idle(None),
            false => Found::Item(received.events),
        })
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use std::future::Future;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use crate::Options;
    use crate::client::simulated::{Fate, decide};
    use crate::events::{ConfigChange, NewEvent};
    use crate::runtime::clock::ManualClock;

    fn whole<T>(call: impl Future<Output = T>) -> T {
        let mut call = std::pin::pin!(call);
        loop {
            if let Poll::Ready(output) = call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                return output;
            }
        }
    }

    /// A receive takes several steps, for example on a server that is restarted, and may take longer than a lease.
    #[test]
    fn an_event_that_is_leased_again_within_a_receive_is_returned_once() {
        decide(|_, _| Fate::Runs);
        let clock = Arc::new(ManualClock::at(1_790_000_000_000_000));
        let client = Options::parse("memory:").expect("a URL").clock(clock.clone()).connect();
        let queue = client.expect("an engine").to_simulated().events("orders");
        let change = ConfigChange::new().backoff_min(Duration::ZERO).backoff_max(Duration::ZERO);
        whole(queue.configure(change.lease(Duration::from_secs(1)))).expect("it is new");
        // More than a step makes ready, so that the receive continues after the first event.
        let event =
            |number: u32| NewEvent::new(number.to_string()).key("k").delay(Duration::from_secs(1));
        whole(queue.publish_many((0..2_500).map(event))).expect("there is room");
        decide(move |_, _| {
            clock.advance(Duration::from_secs(2));
            Fate::Runs
        });
        let events = whole(queue.receive(10)).expect("there is one");
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(events[0].attempts > 1, "{events:?}");
        whole(queue.renew(&events, None)).expect("they are different ones");
    }
}
