#![doc = include_str!("README.md")]

mod arrive;
#[cfg(all(test, feature = "embedded"))]
mod beside;
mod export;
mod import;
mod leave;
#[cfg(all(test, feature = "schedules", feature = "embedded"))]
mod model;
mod moved;
mod plan;
mod remap;
mod thaw;

pub use arrive::Arrive;
pub(super) use arrive::Before;
pub(super) use export::{BATCH_EVENTS, Wanted};
pub use export::{Batch, Export};
pub use import::{Import, Imported};
pub use leave::{Leave, Left};
pub use moved::Moved;
pub(super) use moved::{MovedEvent, MovedSchedule, What};
pub use remap::Remap;
pub use thaw::Thaw;

use super::calls::{Calls, is_stale, stale};
use super::map::{Map, Moving};
use super::{Config, EventQueue, limits};
use crate::client::Mode;
use crate::error::{Result, invalid};

/// How many batches a step of resharding moves.
const STEP_BATCHES: usize = 20;

/// How many batches a waiting consumer moves if the move does not seem to advance.
const HELP_BATCHES: usize = 5;

impl<M: Mode> EventQueue<M> {
    /// Changes the queue's number of partitions, and moves as few events as possible. The queue is created if it does
    /// not exist.
    ///
    /// The queue stays in use, but the two partitions between which events move deliver nothing until those events have
    /// arrived: some 40 s for a million events. Nothing is lost or delivered out of order, and leases and their tokens
    /// stay valid. A repeated call continues where an earlier one stopped. Waiting consumers also complete a move that
    /// no caller drives any more, but do not begin another one: until the call has returned, `config` shows its
    /// progress. Consumers of a `key_range` fail with `INVALID_ARGUMENT` when a partition owns only a part of it.
    ///
    /// ```
    /// use millpond::events::NewEvent;
    ///
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// queue.publish_many((0..9).map(|number| NewEvent::new("paid").key([number])))?;
    /// queue.reshard(4)?;
    /// assert_eq!(queue.config()?.expect("it is there").partitions, 4);
    /// assert_eq!(queue.receive(10)?.len(), 9);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a number outside 1 to [`PARTITIONS_MAX`](super::PARTITIONS_MAX), or above the queue's
    /// `concurrency`; `WRONG_TYPE` if a key holds something else.
    ///
    /// # Delivery
    /// The call takes many steps. After an error some events have moved and the others have not: make the call again.
    pub fn reshard(&self, partitions: usize) -> M::Reply<()> {
        self.call("events.reshard", check(partitions), async |calls, partitions| {
            while calls.reshard(partitions).await?.is_some() {}
            Ok(())
        })
    }

    /// Does a part of [`reshard`](Self::reshard), of about 10,000 events at most, for a caller that shows its progress
    /// or that may stop. Returns how many events and other items this call has moved; 0 if nothing is left to do. Call
    /// it until then, because two partitions deliver nothing before that.
    ///
    /// ```
    /// let queue = millpond::connect("memory:")?.events("orders");
    /// while queue.reshard_step(2)? > 0 {}
    /// assert_eq!(queue.config()?.expect("it is there").partitions, 2);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`reshard`](Self::reshard).
    pub fn reshard_step(&self, partitions: usize) -> M::Reply<u64> {
        self.call("events.reshard", check(partitions), async |calls, partitions| {
            loop {
                match calls.reshard(partitions).await? {
                    Some(0) => {}
                    moved => break Ok(moved.unwrap_or(0)),
                }
            }
        })
    }
}

/// The result of a part of a move.
enum Carried {
    /// A batch of this many items has moved.
    Batch(u64),
    /// All batches have moved; their count, or 0 if that is not known.
    All(u64),
}

/// The batches of a move, as the caller knows them.
#[derive(Default)]
struct Taken {
    /// The number of the last batch that the new partition has taken.
    number: u64,
    /// The number of the last batch that the caller has sent.
    last: u64,
}

fn check(partitions: usize) -> Result<u16> {
    let most = limits::PARTITIONS_MAX;
    let allowed = u16::try_from(partitions).ok().filter(|count| (1..=most).contains(count));
    allowed.ok_or_else(|| invalid(format!("a queue has 1 to {most} partitions, not {partitions}")))
}

impl<M: Mode> Calls<M> {
    /// Begins the next move, or continues the one in progress. Returns how much has moved; `None` if the queue has
    /// `partitions`.
    async fn reshard(&self, partitions: u16) -> Result<Option<u64>> {
        let mut patience = self.patience();
        loop {
            match self.reshard_by_map(partitions).await {
                Err(error) if is_stale(&error) && patience.is_left() => {}
                result => return result,
            }
        }
    }

    async fn reshard_by_map(&self, partitions: u16) -> Result<Option<u64>> {
        let map = self.create(1, Config::default()).await?;
        Config { partitions, ..map.config.clone() }.check()?;
        // Each partition gets its smaller share of the limits before there are more partitions, and its larger one
        // after there are fewer.
        if partitions > map.shares() && map.config.rate.max(map.config.concurrency) > 0 {
            self.set_config(map.revision + 1, map.config.clone(), partitions).await?;
            return Ok(Some(0));
        }
        let map = match (&map.moving, plan::next(&map, partitions)) {
            (Some(_), _) => map,
            (None, None) => {
                let revision = map.revision + u64::from(map.told != partitions);
                let is_told = self.set_config(revision, map.config.clone(), partitions).await?;
                return Ok((!is_told).then_some(0));
            }
            (None, Some(next)) => {
                self.prepare(&map, &next).await?;
                self.remap(&map, &next).await?;
                return Ok(Some(0));
            }
        };
        self.carry(&map, STEP_BATCHES).await.map(Some)
    }

    /// Ensures that the partitions of the next move that own something exist before it. Once a move is in progress,
    /// only the move creates its partitions.
    async fn prepare(&self, map: &Map, next: &Map) -> Result<()> {
        let moving = next.moving.iter().flat_map(|moving| [moving.from, moving.to]);
        for number in moving.filter(|number| *number < map.owners.len()) {
            match self.step(self.partition(map, number).map(Export::peek)).await {
                Err(error) if is_stale(&error) => {
                    self.refresh(map, number).await?;
                    return Err(error);
                }
                result => drop(result?),
            }
        }
        Ok(())
    }

    /// Completes the move in progress, if there is one, but not a later one.
    pub(super) async fn complete(&self) -> Result<()> {
        let mut patience = self.patience();
        let Some(first) = self.look().await?.filter(|map| map.moving.is_some()) else {
            return Ok(());
        };
        let mut map = first.clone();
        while map.moving == first.moving && map.owners == first.owners {
            match self.carry(&map, STEP_BATCHES).await {
                Err(error) if is_stale(&error) && patience.is_left() => {}
                result => drop(result?),
            }
            let Some(next) = self.look().await? else { break };
            map = next;
        }
        Ok(())
    }

    /// Moves events of a move that no client seems to drive.
    pub(super) async fn help(&self, map: &Map) -> Result<()> {
        let Some(moving) = &map.moving else { return Ok(()) };
        match self.step(self.partition(map, moving.from).map(Export::peek)).await {
            Ok(now) => {
                let at = (map.owners[moving.from].generation, now.number);
                if self.route.has_stood_still(at) {
                    match self.carry(map, HELP_BATCHES).await {
                        Err(error) if !is_stale(&error) => return Err(error),
                        _ => {}
                    }
                }
                Ok(())
            }
            Err(error) if is_stale(&error) => self.catch_up(map, moving).await,
            Err(error) => Err(error),
        }
    }

    /// Moves batches of the move in progress, and ends it if nothing is left. Returns how much has moved.
    async fn carry(&self, map: &Map, batches: usize) -> Result<u64> {
        let Some(moving) = &map.moving else { return Ok(0) };
        let (mut moved, mut taken) = (0, Taken::default());
        for _ in 0..batches {
            let is_stale_by = match self.carry_batch(map, moving, &mut taken).await {
                Ok(Carried::Batch(more)) => {
                    moved += more;
                    continue;
                }
                Ok(Carried::All(batches)) => self.finish(map, moving, batches).await,
                Err(error) => Err(error),
            };
            return match is_stale_by {
                Ok(()) => Ok(moved),
                // Another client has ended the move, or begun another one.
                Err(error) if is_stale(&error) && self.look().await?.as_deref() != Some(map) => {
                    Ok(moved)
                }
                Err(error) => Err(error),
            };
        }
        Ok(moved)
    }

    /// Moves a batch. The first batch of a caller may have moved already.
    async fn carry_batch(&self, map: &Map, moving: &Moving, taken: &mut Taken) -> Result<Carried> {
        if taken.number == 0 && self.join(map, moving).await?.is_none() {
            return Ok(Carried::All(0));
        }
        let from = self.partition(map, moving.from)?;
        let batch = self.step(Ok(Export::new(from, taken.number, None))).await?;
        if batch.is_over {
            return Ok(Carried::All(batch.number));
        }
        self.hand_over(map, moving, batch, taken).await.map(Carried::Batch)
    }

    /// Gives a batch to the new partition. The old partition removes only what the new one reports to have taken.
    async fn hand_over(
        &self,
        map: &Map,
        moving: &Moving,
        batch: Batch,
        taken: &mut Taken,
    ) -> Result<u64> {
        let (number, moved) = (batch.number, batch.moved.len() as u64);
        if number == 0 {
            return Ok(0);
        }
        if number <= taken.last {
            return Err(stale("a batch is not taken"));
        }
        let has = self.step(Ok(Import::new(self.partition(map, moving.to)?, batch))).await?;
        *taken = Taken { number: has.taken, last: number };
        Ok(if has.is_new { moved } else { 0 })
    }

    /// Ensures that both partitions know of the move. Returns when the first one gave its part away; `None` if all of
    /// it has left.
    async fn join(&self, map: &Map, moving: &Moving) -> Result<Option<Left>> {
        let from = self.partition(map, moving.from)?;
        let kept = map.owners[moving.from].ranges.clone();
        let left = self.step(Ok(Leave::new(from, kept, moving.ranges.clone()))).await?;
        // After the end of a move the second partition may have been removed, and must not be created again.
        if let Some(left) = left {
            self.arrive(map, moving, left).await?;
        }
        Ok(left)
    }

    async fn arrive(&self, map: &Map, moving: &Moving, left: Left) -> Result<()> {
        let to = self.partition(map, moving.to)?;
        let step = Arrive::new(&self.name, map, moving.to, left)?;
        match self.step(Ok(step.clone())).await {
            // Partition 0 stands for the queue, and is removed last when that is deleted.
            Err(error) if is_stale(&error) && moving.to > 0 => {
                // The partition may be left over from an earlier queue of this name that was used while it was deleted.
                let earlier = to.generation.saturating_sub(1);
                self.remove(to.of_generation(earlier)).await?;
                self.step(Ok(step)).await.map(drop)
            }
            result => result.map(drop),
        }
    }

    /// Ensures that both partitions know of the move, or that it ends, unless another one has begun.
    pub(super) async fn catch_up(&self, map: &Map, moving: &Moving) -> Result<()> {
        let result = match self.join(map, moving).await {
            Ok(None) => self.finish(map, moving, 0).await,
            result => result.map(drop),
        };
        match result {
            Err(error) if !is_stale(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Moves the wanted items before all others.
    pub(super) async fn pull(&self, map: &Map, moving: &Moving, wanted: Vec<Wanted>) -> Result<()> {
        let mut taken = Taken::default();
        for wanted in wanted.chunks(BATCH_EVENTS) {
            loop {
                let from = self.partition(map, moving.from)?;
                let step = Export::new(from, taken.number, Some(wanted.to_vec()));
                let batch = match self.step(Ok(step)).await {
                    // The partition owned nothing any more, and has been removed.
                    Err(error) if is_stale(&error) && self.is_over(map, moving).await? => {
                        return Ok(());
                    }
                    batch => batch?,
                };
                if batch.number == 0 || batch.is_over {
                    break;
                }
                self.hand_over(map, moving, batch, &mut taken).await?;
            }
        }
        Ok(())
    }

    /// Whether all items have left.
    async fn is_over(&self, map: &Map, moving: &Moving) -> Result<bool> {
        Ok(self.join(map, moving).await?.is_none())
    }

    /// Ends a move of which nothing is left; `batches` is their number, 0 if it is not known.
    async fn finish(&self, map: &Map, moving: &Moving, batches: u64) -> Result<()> {
        let (from, to) = (self.partition(map, moving.from)?, self.partition(map, moving.to)?);
        match self.step(Ok(Import::end(to.clone(), batches))).await {
            Err(error) if is_stale(&error) => {
                // If no other client has continued, the first partition is lost, as on a server that has lost its
                // memory.
                if self.look().await?.as_deref() != Some(map) {
                    return Err(error);
                }
                self.arrive(map, moving, Left::default()).await?;
                self.step(Ok(Import::end(to, batches))).await?;
            }
            result => drop(result?),
        }
        let after = map.after_move();
        match self.step(Ok(Thaw::new(from, moving.from >= after.owners.len()))).await {
            // The partition has been removed already.
            Err(error) if is_stale(&error) && self.is_over(map, moving).await? => {}
            result => drop(result?),
        }
        self.remap(map, &after).await
    }

    /// Changes the map, unless another client has, and reads it again.
    async fn remap(&self, map: &Map, next: &Map) -> Result<()> {
        let step = self.numbered(0).map(|root| Remap::new(root, map.text(), next.text()));
        self.step(step).await?;
        self.look().await.map(drop)
    }
}
