//! A walk over the key space: which parts of it a call still has to work on. A reshard may move any part meanwhile, so a
//! part is done once a step has been refused by no partition that owns it, and partitions are not counted.

use super::id::EventId;
use super::limits;
use super::list::EventPosition;
use super::map::{Map, Range, difference, intersection, text_of};
use crate::error::{Error, ErrorKind, Result};
use crate::step::reply::{Replies, malformed};
use crate::step::{ByteList, Timestamp};

/// All of the key space.
pub(super) const ALL: Range = (0, u16::MAX);

/// What a walk has left: parts of the key space, each with how far the walk is in it.
#[derive(Clone, Debug)]
pub(super) struct Walk<P> {
    left: Vec<(Vec<Range>, P)>,
}

/// What a walk does next: a part of the key space that one partition owns.
#[derive(Clone, Debug)]
pub(super) struct Leg<P> {
    /// The number of the partition.
    pub(super) number: usize,
    pub(super) ranges: Vec<Range>,
    /// Whether the partition owns nothing else.
    pub(super) is_all: bool,
    /// How far the walk is.
    pub(super) at: P,
}

impl<P> Leg<P> {
    /// The partitions that what is in the part may be in. What is on its way leaves the old partition when it is in the
    /// new one, so it is looked for in this order, and what is in both is the same.
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

    /// Notes how far the walk is in a part; `None` at the end of it.
    pub(super) fn advance(&mut self, ranges: &[Range], at: Option<P>) {
        for (left, _) in &mut self.left {
            *left = difference(left, ranges);
        }
        self.left.retain(|(left, _)| !left.is_empty());
        self.left.extend(at.map(|at| (ranges.to_vec(), at)));
    }
}

/// The events in one state that the steps of a call work on, as far as they are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The last time of the state that counts.
    pub(super) until: Timestamp,
    /// When the call began, by the clock of the partition; `None` for now. What gets into the state later is left.
    pub(super) begun: Option<Timestamp>,
    /// What comes after this position; `None` for all.
    pub(super) after: Option<EventPosition>,
    /// What belongs to these parts of the key space; empty for all.
    pub(super) ranges: Vec<Range>,
}

impl Span {
    /// All whose time of the state is earlier than `before`.
    pub(super) fn before(before: Option<Timestamp>) -> Self {
        let before = before.unwrap_or(limits::TIME_US_MAX).min(limits::TIME_US_MAX);
        let until = before.saturating_sub(1);
        Self { until, begun: None, after: None, ranges: Vec::new() }
    }

    /// As a leg of a walk has it.
    pub(super) fn of<P>(self, leg: &Leg<P>) -> Self {
        let ranges = if leg.is_all { Vec::new() } else { leg.ranges.clone() };
        Self { ranges, ..self }
    }

    /// As `span.lua` takes it.
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push_number(self.until);
        args.push_number(self.begun.unwrap_or(0));
        EventPosition::push(self.after.as_ref(), args);
        args.push(text_of(&self.ranges).as_bytes());
    }

    /// What a step left, by its reply from the time at which the call began on; `None` for nothing.
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
        // Half of it moves away, behind a part that is not begun.
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
