//! The map of a queue: its configuration, and which partition owns which part of the key space. It is stored in
//! partition 0.

use std::sync::Arc;

use super::config::Config;
use super::partition::Partition;
use crate::error::Result;

/// How many parts the key space has.
pub(super) const VSLOTS: u32 = 1 << 16;

/// A range of the key space, both ends included.
pub(super) type Range = (u16, u16);

/// The map of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Rises with each change of the configuration.
    pub revision: u64,
    /// How the queue treats its events.
    pub config: Config,
    /// The ranges of each partition.
    pub(super) owners: Arc<[Owner]>,
    /// The number by which partitions divide the limits of the queue, as last configured.
    pub(super) told: u16,
    /// The part of the key space that is in transit to another partition, which already owns it.
    pub(super) moving: Option<Arc<Moving>>,
}

/// A part of the key space that is in transit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moving {
    /// The number of the partition that gives it away.
    pub(super) from: usize,
    /// The number of the partition that gets it.
    pub(super) to: usize,
    pub(super) ranges: Vec<Range>,
}

/// The ranges of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) generation: u32,
    pub(super) ranges: Vec<Range>,
}

impl Map {
    /// The map of this configuration and text.
    pub(super) fn parse(revision: u64, mut config: Config, text: &str) -> Option<Self> {
        let is_moving = |text: &&str| text.contains('>');
        let moving = match text.split(' ').find(is_moving) {
            Some(moving) => Some(Arc::new(Moving::parse(moving)?)),
            None => None,
        };
        let owners = text.split(' ').filter(|text| !is_moving(text));
        let owners: Arc<[_]> = owners.map(Owner::parse).collect::<Option<_>>()?;
        let count = owners.len().try_into().ok()?;
        let told = std::mem::replace(&mut config.partitions, count);
        let is_there = |number: usize| number < owners.len();
        let size: u32 = owners.iter().map(Owner::size).sum();
        let is_sound =
            size == VSLOTS && moving.as_ref().is_none_or(|of| is_there(of.from) && is_there(of.to));
        is_sound.then_some(Self { revision, config, owners, told, moving })
    }

    /// The form that [`parse`](Self::parse) reads.
    pub(super) fn text(&self) -> String {
        let owner = |owner: &Owner| format!("{}:{}", owner.generation, text_of(&owner.ranges));
        let mut texts: Vec<_> = self.owners.iter().map(owner).collect();
        if let Some(moving) = &self.moving {
            texts.push(format!("{}>{}:{}", moving.from, moving.to, text_of(&moving.ranges)));
        }
        texts.join(" ")
    }

    /// Which partition owns this part of the key space.
    pub(super) fn owner_of(&self, vslot: u16) -> usize {
        self.owners.iter().position(|owner| contains(&owner.ranges, vslot)).unwrap_or(0)
    }

    /// The map before the move in progress, if there is one.
    pub(super) fn before_move(&self) -> Option<Self> {
        let Moving { from, to, ranges } = &**self.moving.as_ref()?;
        let mut owners = self.owners.to_vec();
        owners[*to].ranges.retain(|range| !ranges.contains(range));
        owners[*from].ranges.extend_from_slice(ranges);
        Some(Self { owners: owners.into(), moving: None, ..self.clone() })
    }

    /// The map after the move in progress: without the move, and without the last partitions if they own nothing.
    pub(super) fn after_move(&self) -> Self {
        let owning = self.owners.iter().rposition(|owner| !owner.ranges.is_empty());
        let owners = self.owners[..owning.map_or(1, |last| last + 1)].into();
        Self { owners, moving: None, ..self.clone() }
    }

    /// The move that this part of the key space is in.
    pub(super) fn move_of(&self, vslot: u16) -> Option<&Arc<Moving>> {
        self.moving.as_ref().filter(|moving| contains(&moving.ranges, vslot))
    }

    /// The number by which the limits are divided: while the number of partitions changes, the larger one, so that all
    /// partitions together never exceed the limits of the queue.
    pub(super) fn shares(&self) -> u16 {
        self.told.max(self.config.partitions)
    }

    /// The configuration as partitions store it.
    pub(super) fn divided(&self) -> Config {
        Config { partitions: self.shares(), ..self.config.clone() }
    }

    /// Whether the partition with this number gives a part away, or gets it.
    pub(super) fn is_moving(&self, number: usize) -> bool {
        self.moving.as_ref().is_some_and(|moving| [moving.from, moving.to].contains(&number))
    }

    /// The partition with this number; with generation 0 if this map does not have it.
    pub(super) fn partition(&self, name: &[u8], number: usize) -> Result<Partition> {
        let generation = self.owners.get(number).map_or(0, |owner| owner.generation);
        Partition::new(name, number as u16, generation)
    }
}

/// The highest generation in a map: its queue has had no higher one.
pub(super) fn last_generation(text: &str) -> u32 {
    let owners = text.split(' ').filter_map(|owner| owner.split_once(':')?.0.parse().ok());
    owners.max().unwrap_or(0)
}

impl Moving {
    fn parse(text: &str) -> Option<Self> {
        let (numbers, ranges) = text.split_once(':')?;
        let (from, to) = numbers.split_once('>')?;
        let ranges = parse_ranges(ranges)?;
        Some(Self { from: from.parse().ok()?, to: to.parse().ok()?, ranges })
    }
}

/// Whether these ranges contain this part of the key space.
pub(super) fn contains(ranges: &[Range], vslot: u16) -> bool {
    ranges.iter().any(|(from, to)| (*from..=*to).contains(&vslot))
}

/// The same ranges in order, merged into as few as possible.
pub(super) fn merged(ranges: &[Range]) -> Vec<Range> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<Range> = Vec::with_capacity(sorted.len());
    for (from, to) in sorted {
        match merged.last_mut() {
            Some(last) if last.1 != u16::MAX && last.1 + 1 == from => last.1 = to,
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The parts of these ranges that are also in the other ones.
pub(super) fn intersection(ranges: &[Range], others: &[Range]) -> Vec<Range> {
    let both = |of: &Range, other: &Range| (of.0.max(other.0), of.1.min(other.1));
    let pairs = ranges.iter().flat_map(|of| others.iter().map(move |other| both(of, other)));
    pairs.filter(|(from, to)| from <= to).collect()
}

/// The parts of these ranges that are not in the other ones.
pub(super) fn difference(ranges: &[Range], others: &[Range]) -> Vec<Range> {
    let mut left = ranges.to_vec();
    for (from, to) in others {
        let parts = left.iter().flat_map(|of| {
            let before = from.checked_sub(1).map(|end| (of.0, of.1.min(end)));
            let behind = to.checked_add(1).map(|first| (of.0.max(first), of.1));
            before.into_iter().chain(behind)
        });
        left = parts.filter(|(from, to)| from <= to).collect();
    }
    left
}

impl Owner {
    /// How many parts of the key space it has.
    pub(super) fn size(&self) -> u32 {
        self.ranges
            .iter()
            .map(|(from, to)| (u32::from(*to) + 1).saturating_sub((*from).into()))
            .sum()
    }

    fn parse(text: &str) -> Option<Self> {
        let (generation, ranges) = text.split_once(':')?;
        Some(Self { generation: generation.parse().ok()?, ranges: parse_ranges(ranges)? })
    }
}

/// The ranges of this many partitions, of equal size, by number.
pub(super) fn even_ranges(partitions: u16) -> Vec<Range> {
    let first = |number: u32| number * VSLOTS / u32::from(partitions);
    (0..u32::from(partitions))
        .map(|number| (first(number) as u16, (first(number + 1) - 1) as u16))
        .collect()
}

/// Ranges as scripts store them.
pub(super) fn text_of(ranges: &[Range]) -> String {
    let texts: Vec<_> = ranges.iter().map(|(from, to)| format!("{from:04x}-{to:04x}")).collect();
    texts.join(",")
}

/// Reads a text of [`text_of`].
pub(super) fn parse_ranges(text: &str) -> Option<Vec<Range>> {
    let bound = |text: &str| u16::from_str_radix(text, 16).ok();
    let range = |text: &str| {
        let (from, to) = text.split_once('-')?;
        Some((bound(from)?, bound(to)?))
    };
    text.split(',').filter(|text| !text.is_empty()).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_share_the_key_space() {
        for partitions in [1, 2, 3, 16, 1_000] {
            let ranges = even_ranges(partitions);
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, u16::MAX));
            assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
        }
    }

    #[test]
    fn ranges_are_compared() {
        let ranges = [(0, 9), (20, 29), (0xff00, 0xffff)];
        assert_eq!(
            intersection(&ranges, &[(5, 24), (0xffff, 0xffff)]),
            [(5, 9), (20, 24), (0xffff, 0xffff)]
        );
        assert_eq!(
            difference(&ranges, &[(5, 24), (0xffff, 0xffff)]),
            [(0, 4), (25, 29), (0xff00, 0xfffe)]
        );
        assert_eq!(
            difference(&ranges, &[(22, 22)]),
            [(0, 9), (20, 21), (23, 29), (0xff00, 0xffff)]
        );
        assert_eq!(difference(&ranges, &[(0, 0xffff)]), []);
        assert_eq!(intersection(&ranges, &[]), []);
    }

    #[test]
    fn texts_read_back() {
        let text = "7:0000-3fff,c000-ffff 9:4000-bfff";
        let map = Map::parse(3, Config::default(), text).unwrap();
        let owners = [(0, 0), (0x3fff, 0), (0x4000, 1), (0xbfff, 1), (0xffff, 0)];
        for (vslot, owner) in owners {
            assert_eq!(map.owner_of(vslot), owner);
        }
        assert_eq!(text_of(&map.owners[0].ranges), "0000-3fff,c000-ffff");
        assert_eq!((map.config.partitions, map.owners[1].generation), (2, 9));
        assert_eq!(map.text(), text);
        let text = "9:0000-7fff 9:8000-ffff 0>1:8000-ffff";
        let map = Map::parse(3, Config::default(), text).unwrap();
        assert_eq!((map.text().as_str(), map.owners.len()), (text, 2));
        assert!(map.move_of(0x8000).is_some() && map.move_of(0x7fff).is_none());
        for wrong in ["", "7", "7:0000-fffe", "7:0000-ffff 0>1:8000-ffff", "7:0000-ffff 0>0"] {
            assert!(Map::parse(3, Config::default(), wrong).is_none());
        }
    }
}
