//! A walk over the key space: the parts on which a call still has to work. A reshard may move any part during the walk.
//! So a part is done when the partition that owns it has done the step without refusing it; partitions are not counted.

use super::id::EventId;
use super::limits;
use super::list::EventPosition;
use super::map::{Map, Range, difference, intersection, text_of};
use crate::error::{Error, ErrorKind, Result};
use crate::step::reply::{Replies, malformed};
use crate::step::{ByteList, Timestamp};

/// All of the key space.
pub(super) const ALL: Range = (0, u16::MAX);

/// The rest of a walk: parts of the key space, each with the position of the walk in it.
#[derive(Clone, Debug)]
pub(super) struct Walk<P> {
    left: Vec<(Vec<Range>, P)>,
}

/// The next leg of a walk: a part of the key space that one partition owns.
#[derive(Clone, Debug)]
pub(super) struct Leg<P> {
    /// The number of the partition.
    pub(super) number: usize,
    pub(super) ranges: Vec<Range>,
    /// Whether the partition owns nothing else.
    pub(super) is_all: bool,
    /// The position of the walk in the part.
    pub(super) at: P,
}

impl<P> Leg<P> {
    /// The partitions that may hold the items of the part. An item in transit leaves the old partition only once it is
    /// in the new one, so they are searched in this order, and an item that is in both is the same.
    pub(super) fn numbers(&self, map: &Map) -> impl Iterator<Item = usize> {
        let moving = map.moving.as_ref().filter(|of| of.to == self.number);
        let moving = moving.filter(|of| !intersection(&of.ranges, &self.ranges).is_empty());
        moving.map(|of| of.from).into_iter().chain([self.number])
    }
}

impl<P: Clone> Walk<P> {
    pub(super) fn over(range: Range, at: P) -> Self {
        Self { left: vec![(vec![range], at)] }
    }

    /// The next part by this map; `None` at the end.
    pub(super) fn next(&self, map: &Map) -> Result<Option<Leg<P>>> {
        let Some((left, at)) = self.left.last() else { return Ok(None) };
        let owns = |owner: &super::map::Owner| !intersection(left, &owner.ranges).is_empty();
        let number = map.owners.iter().position(owns).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, "the map of the queue has no owner of a part")
        })?;
        let owned = &map.owners[number].ranges;
        let ranges = intersection(left, owned);
        let is_all = difference(owned, &ranges).is_empty();
        Ok(Some(Leg { number, ranges, is_all, at: at.clone() }))
    }

    /// Stores the position of the walk in a part; `None` at its end.
    pub(super) fn advance(&mut self, ranges: &[Range], at: Option<P>) {
        for (left, _) in &mut self.left {
            *left = difference(left, ranges);
        }
        self.left.retain(|(left, _)| !left.is_empty());
        self.left.extend(at.map(|at| (ranges.to_vec(), at)));
    }
}

/// The events in one state that the steps of a call still have to process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The last time of the state that counts.
    pub(super) until: Timestamp,
    /// When the call began, by the clock of the partition; `None` for now. Events that enter the state later are
    /// skipped.
    pub(super) begun: Option<Timestamp>,
    /// The position after which the events come; `None` for all.
    pub(super) after: Option<EventPosition>,
    /// The parts of the key space that the events belong to; empty for all.
    pub(super) ranges: Vec<Range>,
}

impl Span {
    /// All events whose time of the state is earlier than `before`.
    pub(super) fn before(before: Option<Timestamp>) -> Self {
        let before = before.unwrap_or(limits::TIME_US_MAX).min(limits::TIME_US_MAX);
        let until = before.saturating_sub(1);
        Self { until, begun: None, after: None, ranges: Vec::new() }
    }

    /// The span within a leg of a walk.
    pub(super) fn of<P>(self, leg: &Leg<P>) -> Self {
        let ranges = if leg.is_all { Vec::new() } else { leg.ranges.clone() };
        Self { ranges, ..self }
    }

    /// Appends it as `span.lua` reads it.
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push_number(self.until);
        args.push_number(self.begun.unwrap_or(0));
        EventPosition::push(self.after.as_ref(), args);
        args.push(text_of(&self.ranges).as_bytes());
    }

    /// The rest after a step, from its reply, beginning with the time at which the call began; `None` if nothing is
    /// left.
    pub(super) fn decode_left(&self, mut replies: Replies) -> Result<Option<Self>> {
        let begun = Some(replies.next()?.number()?);
        let after = replies.all(1, |replies| {
            let state_at_us = replies.next()?.number()?;
            let id = EventId::of_bytes(&replies.next()?.bytes()?).ok_or_else(malformed)?;
            Ok(EventPosition { state_at_us, id })
        })?;
        Ok(after.first().map(|after| Self { begun, after: Some(*after), ..self.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn map(text: &str) -> Map {
        Map::parse(1, Config::default(), text).unwrap()
    }

    #[test]
    fn a_walk_ends_when_all_parts_are_done_whoever_owns_them() {
        let mut walk = Walk::over(ALL, 0);
        let before = map("7:0000-7fff 7:8000-ffff");
        let leg = walk.next(&before).unwrap().unwrap();
        assert_eq!((leg.number, leg.is_all, leg.at), (0, true, 0));
        walk.advance(&leg.ranges, Some(1));
        // Half of it moves away, after a part that the walk has not begun.
        let after = map("8:0000-3fff 8:8000-ffff,4000-7fff");
        let leg = walk.next(&after).unwrap().unwrap();
        assert_eq!((leg.number, &*leg.ranges, leg.is_all), (0, &[(0, 0x3fff)][..], true));
        walk.advance(&leg.ranges, None);
        let leg = walk.next(&after).unwrap().unwrap();
        assert_eq!((leg.number, &*leg.ranges, leg.at), (1, &[(0x4000, 0x7fff)][..], 1));
        assert!(!leg.is_all);
        walk.advance(&leg.ranges, None);
        let leg = walk.next(&after).unwrap().unwrap();
        assert_eq!((leg.number, &*leg.ranges, leg.at), (1, &[(0x8000, 0xffff)][..], 0));
        walk.advance(&leg.ranges, None);
        assert!(walk.next(&after).unwrap().is_none());
    }

    #[test]
    fn a_map_with_a_gap_is_refused() {
        let (map, mut walk) = (map("7:0000-7fff 7:0000-7fff"), Walk::over(ALL, ()));
        let leg = walk.next(&map).unwrap().unwrap();
        walk.advance(&leg.ranges, None);
        assert_eq!(walk.next(&map).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
