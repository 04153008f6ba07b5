//! Calls on a queue: which partition each event belongs to, and what to do when the map is out of date.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::config::Config;
use super::delete::Delete;
use super::id::EventId;
use super::limits::{PARTITIONS_MAX, STEP_BYTES_MAX, STEP_EVENTS_MAX};
use super::map::Map;
use super::op::Op;
use super::open::Open;
use super::partition::Partition;
use super::receive::Receipt;
use super::reshard::Wanted;
use super::route::{Route, Slot};
use super::settle::Settlement;
use super::walk::Leg;
use super::{EventQueue, NewEvent};
use crate::client::{Mode, WeakClient, closed};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::patience::Patience;
use crate::step::Operation;
use crate::step::reply::Refusal;

/// How often a call reads the map again that does not match the partitions.
const STALE_MAX: usize = 16;

/// How many moves a call that needs a whole partition waits for at most: twice as many as a reshard has.
const MOVES_MAX: usize = 2 * PARTITIONS_MAX as usize;

/// How many steps of each partition wait for a round at most, if keys are spread evenly.
const ROUND_STEPS: usize = 8;

/// The context of a call.
pub(super) struct Calls<M: Mode> {
    pub(super) client: WeakClient<M>,
    pub(super) route: Arc<Route>,
    pub(super) name: Arc<[u8]>,
}

/// An item that belongs to a part of the key space.
pub(super) trait Item: Clone {
    /// The part of the key space; `drawn` for an item that belongs to any.
    fn vslot(&self, drawn: u16) -> u16;

    /// A name that may occur only once in a step.
    fn name(&self) -> Option<Vec<u8>> {
        None
    }

    /// The item that the step needs from a partition that gives a part of the key space away.
    fn wanted(&self) -> Option<Wanted>;

    /// How many bytes it takes up in a step; 0 where the number of items is limit enough.
    fn bytes(&self) -> usize {
        0
    }
}

impl Item for NewEvent {
    fn vslot(&self, drawn: u16) -> u16 {
        self.vslot(drawn)
    }

    fn name(&self) -> Option<Vec<u8>> {
        self.dedup_id.as_ref().map(|_| self.name())
    }

    fn wanted(&self) -> Option<Wanted> {
        Item::name(self).map(Wanted::Name)
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl Item for EventId {
    fn vslot(&self, _: u16) -> u16 {
        EventId::vslot(*self)
    }

    fn wanted(&self) -> Option<Wanted> {
        Some(Wanted::Event(*self))
    }
}

impl Item for Receipt {
    fn vslot(&self, _: u16) -> u16 {
        EventId::vslot(self.id)
    }

    fn wanted(&self) -> Option<Wanted> {
        Some(Wanted::Event(self.id))
    }
}

impl Item for Settlement {
    fn vslot(&self, _: u16) -> u16 {
        EventId::vslot(self.receipt.id)
    }

    fn wanted(&self) -> Option<Wanted> {
        Some(Wanted::Event(self.receipt.id))
    }
}

/// A choice that depends on the map.
pub(super) trait Chosen {
    /// The number of a partition.
    fn number(&self) -> usize;
}

impl Chosen for usize {
    fn number(&self) -> usize {
        *self
    }
}

impl<P> Chosen for Leg<P> {
    fn number(&self) -> usize {
        self.number
    }
}

/// A step in progress, on some items with their indexes in the call.
struct Part<M: Mode, I, T: Send + 'static> {
    number: usize,
    items: Vec<(usize, I)>,
    step: M::Step<T>,
    /// Held until the result has arrived.
    _slot: Slot,
}

impl<M: Mode> Calls<M> {
    pub(super) fn new(queue: &EventQueue<M>) -> Result<Self> {
        let name = queue.name()?;
        let route = queue.client.shared(&[b"events:", &*name].concat(), || {
            let client = &queue.client;
            Route::new((!client.is_embedded()).then(|| if client.is_cluster() { 'c' } else { 's' }))
        });
        Ok(Self { client: queue.client.downgrade(), route, name })
    }

    /// Begins a step.
    fn begin<O: Operation>(&self, step: Result<O>) -> Result<M::Step<O::Output>> {
        Ok(M::step(&self.client.upgrade().ok_or_else(closed)?, step))
    }

    pub(super) async fn step<O: Operation>(&self, step: Result<O>) -> Result<O::Output> {
        self.begin(step)?.await
    }

    /// The partition with this number, of any generation.
    pub(super) fn numbered(&self, number: usize) -> Result<Partition> {
        Partition::new(&self.name, number as u16, 0)
    }

    /// The partition with this number, as the map has it.
    pub(super) fn partition(&self, map: &Map, number: usize) -> Result<Partition> {
        map.partition(&self.name, number)
    }

    /// How long a call keeps retrying if the partitions do not match its map and it makes no progress.
    pub(super) fn patience(&self) -> Patience {
        let timeout = self.client.upgrade().and_then(|client| client.call_timeout());
        Patience::new(STALE_MAX, timeout)
    }

    /// Reads the map of the queue, if there is one.
    pub(super) async fn look(&self) -> Result<Option<Arc<Map>>> {
        let map = self.step(self.numbered(0).map(Open::look)).await?;
        self.note(map)
    }

    /// Stores the map that partition 0 has.
    fn note(&self, map: Option<Map>) -> Result<Option<Arc<Map>>> {
        if map.as_ref().is_some_and(|map| map.owners.is_empty()) {
            let message = "the map of the queue's partitions is damaged";
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(self.route.set_map(map))
    }

    /// Reads the map for a call of this step, which names an error.
    pub(super) async fn look_for<O: Operation>(&self) -> Result<Option<Arc<Map>>> {
        self.look().await.map_err(named::<O>)
    }

    /// The map of the queue, which is created if it does not exist.
    pub(super) async fn map(&self) -> Result<Arc<Map>> {
        match self.route.map() {
            Some(map) => Ok(map),
            None => self.create(1, Config::default()).await,
        }
    }

    /// The same for a call of this step, which names an error.
    pub(super) async fn map_for<O: Operation>(&self) -> Result<Arc<Map>> {
        self.map().await.map_err(named::<O>)
    }

    /// Creates the queue, or gives it this configuration if its own has a lower revision; returns the resulting map.
    pub(super) async fn create(&self, revision: u64, config: Config) -> Result<Arc<Map>> {
        let step = self.numbered(0).and_then(|root| Open::create(root, revision, config))?;
        let mut patience = self.patience();
        let map = loop {
            match self.step(Ok(step.clone())).await {
                // The client that deletes it may be gone: finish the deletion.
                Err(error) if is_stale(&error) && patience.is_left() => {
                    self.remove_all(self.numbered(0).map(Delete::go_on)).await?;
                }
                result => break result?,
            }
        };
        let missing = || Error::new(ErrorKind::Internal, "a queue was created but does not exist");
        self.note(map)?.ok_or_else(missing)
    }

    /// Reads the map again after a partition did not match this one, and creates the partition if it is missing.
    pub(super) async fn refresh(&self, map: &Map, number: usize) -> Result<()> {
        let read = self.create(1, Config::default()).await?;
        if *read != *map {
            return Ok(());
        }
        if let Some(moving) = map.moving.as_ref().filter(|of| [of.from, of.to].contains(&number)) {
            self.catch_up(map, moving).await?;
        } else if number > 0 {
            self.open(map, number).await?;
        }
        Ok(())
    }

    /// Creates a partition as in this map, or gives it the map's configuration; false if the queue has been deleted or
    /// resharded since.
    async fn open(&self, map: &Map, number: usize) -> Result<bool> {
        for is_last in [false, true] {
            match self.step(Open::part(&self.name, map, number)).await {
                Err(error) if is_stale(&error) => {}
                result => return Ok(result?.is_some()),
            }
            if is_last || map.is_moving(number) {
                break;
            }
            // The partition may be left over from an earlier queue of this name that was used while it was deleted.
            let earlier = map.owners[number].generation.saturating_sub(1);
            self.remove(self.numbered(number)?.of_generation(earlier)).await?;
        }
        Ok(false)
    }

    /// Removes a partition, unless it has a later generation by now.
    pub(super) async fn remove(&self, partition: Partition) -> Result<()> {
        let mut step = Some(Delete::new(partition));
        while let Some(part) = step {
            step = part.next(self.step(Ok(part.clone())).await?);
        }
        Ok(())
    }

    /// Changes the configuration, and does not return before every partition has it.
    pub(super) async fn configure(
        &self,
        change: impl Fn(Option<&Config>) -> Result<Config>,
    ) -> Result<()> {
        let mut patience = self.patience();
        while patience.is_left() {
            let known = self.look().await?;
            let config = change(known.as_ref().map(|map| &map.config))?;
            let shares = known.as_ref().map_or(config.partitions, |map| map.shares());
            let revision = match &known {
                Some(map) if map.config == config && map.told == shares => map.revision,
                Some(map) => map.revision + 1,
                None => 1,
            };
            if self.set_config(revision, config, shares).await? {
                return Ok(());
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "other clients keep changing the configuration"))
    }

    /// Gives each partition this configuration and its share of the limits, unless the queue has another one of this
    /// revision by now.
    pub(super) async fn set_config(
        &self,
        revision: u64,
        config: Config,
        shares: u16,
    ) -> Result<bool> {
        let is_told = |map: &Map| map.config == config && map.told == shares;
        let made = self.create(revision, Config { partitions: shares, ..config.clone() }).await?;
        let (mut map, mut patience, mut number) = (made.clone(), self.patience(), 1);
        while is_told(&map) && map.revision == made.revision {
            // The partitions of a move learn of the move first: otherwise one that does not exist yet could not be
            // configured.
            if let Some(moving) = &map.moving {
                self.catch_up(&map, moving).await?;
            }
            while number < map.owners.len() && self.open(&map, number).await? {
                (number, patience) = (number + 1, self.patience());
            }
            if number >= map.owners.len() {
                return Ok(true);
            }
            let Some(next) = self.look().await?.filter(|_| patience.is_left()) else { break };
            map = next;
        }
        Ok(false)
    }

    /// Runs a step that may need the whole partition.
    pub(super) async fn on<O: Operation>(
        &self,
        number: usize,
        make: impl Fn(Partition, Op) -> Result<O>,
    ) -> Result<O::Output> {
        let choose = |map: &Map| Ok(Some(number % map.owners.len()));
        let output = self.on_one(choose, |partition, op, _| make(partition, op)).await?;
        output.map(|(_, output)| output).ok_or_else(gone)
    }

    /// Runs a step on the partition, if any, that is chosen by the current map; otherwise like [`on`](Self::on). Also
    /// returns what was chosen.
    pub(super) async fn on_one<C: Chosen, O: Operation>(
        &self,
        choose: impl Fn(&Map) -> Result<Option<C>>,
        make: impl Fn(Partition, Op, &C) -> Result<O>,
    ) -> Result<Option<(C, O::Output)>> {
        let slot = self.route.slot();
        let (mut patience, mut moves) = (self.patience(), 0);
        loop {
            let map = self.map_for::<O>().await?;
            let Some(chosen) = choose(&map)? else { return Ok(None) };
            let number = chosen.number();
            let partition = self.partition(&map, number);
            let step = partition.and_then(|partition| make(partition, slot.op(), &chosen));
            match self.step(step).await {
                Err(error) if is_on_its_way(&error) && moves < MOVES_MAX => {
                    self.complete().await?;
                    moves += 1;
                }
                Err(error) if is_stale(&error) && patience.is_left() => {
                    self.refresh(&map, number).await?;
                }
                result => return Ok(Some((chosen, result?))),
            }
        }
    }

    /// Runs a step on the partition that owns a part of the key space, after it has got the wanted items of that part.
    #[cfg(feature = "schedules")]
    pub(super) async fn on_vslot<O: Operation>(
        &self,
        vslot: u16,
        wanted: &[Wanted],
        make: impl Fn(Partition, Op) -> Result<O>,
    ) -> Result<O::Output> {
        let slot = self.route.slot();
        let mut patience = self.patience();
        loop {
            let map = self.map_for::<O>().await?;
            let number = map.owner_of(vslot);
            let pulled = match map.move_of(vslot) {
                Some(moving) => self.pull(&map, moving, wanted.to_vec()).await,
                None => Ok(()),
            };
            let step = self.partition(&map, number).and_then(|of| make(of, slot.op()));
            let result = match pulled {
                Ok(()) => self.step(step).await,
                Err(error) => Err(error),
            };
            match result {
                Err(error) if is_stale(&error) && patience.is_left() => {
                    self.refresh(&map, number).await?;
                }
                result => return result,
            }
        }
    }

    /// Runs steps on the partitions that own these items, with as many items each as fit, and returns the result for
    /// each item, in their order. The items of one partition are processed in their order.
    pub(super) async fn spread<I: Item, O: Operation, T>(
        &self,
        items: Vec<I>,
        drawn: u16,
        make: impl Fn(Partition, Op, Vec<I>) -> Result<O>,
        split: impl Fn(O::Output) -> Vec<T>,
    ) -> Result<Vec<T>> {
        let mut results: Vec<Option<T>> = items.iter().map(|_| None).collect();
        let mut items = items.into_iter().enumerate();
        let (mut waiting, mut patience) = (Vec::new(), self.patience());
        while !waiting.is_empty() || items.len() > 0 {
            let map = self.map_for::<O>().await?;
            // A round goes through all waiting items, so their number must not grow with the call.
            let room = ROUND_STEPS * STEP_EVENTS_MAX * map.owners.len();
            waiting.extend(items.by_ref().take(room.saturating_sub(waiting.len())));
            let round = match self.pull_items(&map, &waiting, drawn).await? {
                None => self.round(&map, waiting, drawn, &make, &split, &mut results).await?,
                stale => Round { left: waiting, stale },
            };
            if let Some((number, error)) = round.stale {
                if !patience.is_left() {
                    return Err(error);
                }
                self.refresh(&map, number).await?;
            } else {
                patience = self.patience();
            }
            waiting = round.left;
        }
        all_of(results)
    }

    /// Reads items where this map says that they are, even if the partitions differ; otherwise like
    /// [`spread`](Self::spread).
    pub(super) async fn read<I: Item, O: Operation, T>(
        &self,
        map: &Map,
        items: Vec<I>,
        make: impl Fn(Partition, Op, Vec<I>) -> Result<O>,
        split: impl Fn(O::Output) -> Vec<T>,
    ) -> Result<Vec<T>> {
        let mut results: Vec<Option<T>> = items.iter().map(|_| None).collect();
        let mut waiting: Vec<_> = items.into_iter().enumerate().collect();
        while !waiting.is_empty() {
            let round = self.round(map, waiting, 0, &make, &split, &mut results).await?;
            waiting = round.left;
        }
        all_of(results)
    }

    /// Ensures that the partitions that own these items have what a step needs of them. Returns a partition that does
    /// not match the map.
    async fn pull_items<I: Item>(
        &self,
        map: &Map,
        items: &[(usize, I)],
        drawn: u16,
    ) -> Result<Option<(usize, Error)>> {
        let Some(moving) = &map.moving else { return Ok(None) };
        let moves = items.iter().filter(|(_, item)| map.move_of(item.vslot(drawn)).is_some());
        let wanted = moves.filter_map(|(_, item)| item.wanted()).collect();
        match self.pull(map, moving, wanted).await {
            Err(error) if is_stale(&error) => Ok(Some((moving.from, error))),
            result => result.map(|()| None),
        }
    }

    /// The partition that this event belongs to; if the event exists, it is there.
    pub(super) async fn home_of(&self, id: EventId) -> Result<Partition> {
        let mut patience = self.patience();
        while patience.is_left() {
            let map = self.look().await?.ok_or_else(gone)?;
            match self.pull_items(&map, &[(0, id)], 0).await? {
                None => return self.partition(&map, map.owner_of(id.vslot())),
                Some((number, _)) => self.refresh(&map, number).await?,
            }
        }
        Err(gone())
    }

    /// Runs one step on each partition that owns some of these items. Items without a result are left for another
    /// round, and so are those after a full step.
    async fn round<I: Item, O: Operation, T>(
        &self,
        map: &Map,
        items: Numbered<I>,
        drawn: u16,
        make: &impl Fn(Partition, Op, Vec<I>) -> Result<O>,
        split: &impl Fn(O::Output) -> Vec<T>,
        results: &mut [Option<T>],
    ) -> Result<Round<I>> {
        let (parts, mut left) = divide(items, map, drawn);
        let mut steps: Vec<Part<M, I, O::Output>> = Vec::with_capacity(parts.len());
        for (number, items) in parts {
            let slot = self.route.slot();
            let all = items.iter().map(|(_, item)| item.clone()).collect();
            let step =
                self.partition(map, number).and_then(|partition| make(partition, slot.op(), all));
            steps.push(Part { number, items, step: self.begin(step)?, _slot: slot });
        }
        let (mut failed, mut stale) = (None, None);
        for Part { number, mut items, step, _slot } in steps {
            match step.await {
                Ok(output) => {
                    let output = split(output);
                    left.extend(items.drain(output.len().clamp(1, items.len())..));
                    for ((index, _), result) in items.into_iter().zip(output) {
                        results[index] = Some(result);
                    }
                }
                Err(error) if is_stale(&error) => {
                    left.extend(items);
                    stale = Some((number, error));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        left.sort_unstable_by_key(|(index, _)| *index);
        failed.map_or(Ok(Round { left, stale }), Err)
    }
}

/// The rest of a call after a round of steps.
struct Round<I> {
    left: Numbered<I>,
    /// A partition that does not match the map.
    stale: Option<(usize, Error)>,
}

fn all_of<T>(results: Vec<Option<T>>) -> Result<Vec<T>> {
    let missing = || Error::new(ErrorKind::Internal, "a step returned too little");
    results.into_iter().collect::<Option<_>>().ok_or_else(missing)
}

/// Items with their indexes in a call.
type Numbered<I> = Vec<(usize, I)>;

/// A step that is being filled.
struct Filling<I> {
    items: Numbered<I>,
    bytes: usize,
    names: HashSet<Vec<u8>>,
    is_full: bool,
}

impl<I: Item> Filling<I> {
    /// Whether the item fits; after one that does not, no other does.
    fn takes(&mut self, item: &I) -> bool {
        self.bytes += item.bytes();
        let is_large = self.bytes > STEP_BYTES_MAX && !self.items.is_empty();
        let is_known = item.name().is_some_and(|name| !self.names.insert(name));
        self.is_full |= is_large || is_known || self.items.len() == STEP_EVENTS_MAX;
        !self.is_full
    }
}

/// The items of the next step of each partition, and the rest for later steps.
fn divide<I: Item>(
    items: Numbered<I>,
    map: &Map,
    drawn: u16,
) -> (BTreeMap<usize, Numbered<I>>, Numbered<I>) {
    let empty = || Filling { items: Vec::new(), bytes: 0, names: HashSet::new(), is_full: false };
    let (mut parts, mut left) = (BTreeMap::new(), Vec::new());
    for (index, item) in items {
        let part = parts.entry(map.owner_of(item.vslot(drawn))).or_insert_with(empty);
        let to = if part.takes(&item) { &mut part.items } else { &mut left };
        to.push((index, item));
    }
    (parts.into_iter().map(|(number, part)| (number, part.items)).collect(), left)
}

fn gone() -> Error {
    stale("the queue is not there")
}

/// The error that the partitions do not match the map.
pub(super) fn stale(what: &str) -> Error {
    Refusal::Stale.error(what)
}

/// The error of a call that reads the map before it does this step.
fn named<O: Operation>(error: Error) -> Error {
    match error.operation() == Open::NAME {
        true => error.renamed(O::NAME),
        false => error,
    }
}

/// Whether a step did nothing because it needs the whole partition and a part of it is in transit.
fn is_on_its_way(error: &Error) -> bool {
    Refusal::of(error) == Some(Refusal::Moving)
}

/// Whether a step did nothing because the partition does not match the map.
pub(super) fn is_stale(error: &Error) -> bool {
    Refusal::of(error) == Some(Refusal::Stale)
}
