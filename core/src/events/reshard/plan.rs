//! Which part of the key space moves next.

use super::super::map::{Map, Moving, Owner, Range, VSLOTS, merged};

/// The map with the next move on the way to `partitions` partitions with equal shares of the key space; `None` if no
/// move is left. Moves as little as possible.
pub(in crate::events) fn next(map: &Map, partitions: u16) -> Option<Map> {
    let wanted = usize::from(partitions);
    let (least, most) = (VSLOTS / u32::from(partitions), VSLOTS.div_ceil(u32::from(partitions)));
    let owners = &map.owners;
    let size = |number: usize| owners.get(number).map_or(0, Owner::size);
    // Partitions that are to be removed give everything away, the last one first.
    let going = (wanted..owners.len()).rev().find(|number| size(*number) > 0);
    let fullest = (0..wanted.min(owners.len())).max_by_key(|number| size(*number))?;
    let emptiest = (0..wanted).min_by_key(|number| size(*number))?;
    let (from, spare) = match going {
        Some(number) => (number, size(number)),
        None => (fullest, size(fullest).saturating_sub(least)),
    };
    let room = most - size(emptiest).min(most);
    let is_even = going.is_none() && size(fullest) <= most && size(emptiest) >= least;
    if is_even || spare.min(room) == 0 {
        return None;
    }
    let mut owners: Vec<Owner> = owners.to_vec();
    // Higher than that of all partitions that own anything, and so than that of any earlier owner of the part.
    let generation = owners.iter().map(|owner| owner.generation).max()? + 1;
    if emptiest >= owners.len() {
        owners.push(Owner { generation, ranges: Vec::new() });
    }
    let to = emptiest.min(owners.len() - 1);
    let (kept, ranges) = split(&owners[from].ranges, spare.min(room));
    let taken = ranges.iter().copied();
    owners[to] =
        Owner { generation, ranges: merged(&owners[to].ranges).into_iter().chain(taken).collect() };
    owners[from] = Owner { generation, ranges: kept };
    let moving = Some(Moving { from, to, ranges }.into());
    Some(Map { owners: owners.into(), moving, ..map.clone() })
}

/// Ranges without their last `count` parts, and these parts.
fn split(ranges: &[Range], mut count: u32) -> (Vec<Range>, Vec<Range>) {
    let (mut kept, mut taken) = (merged(ranges), Vec::new());
    while count > 0 {
        let Some((from, to)) = kept.pop() else { break };
        let size = u32::from(to - from) + 1;
        if size > count {
            let first = (u32::from(to) + 1 - count) as u16;
            kept.push((from, first - 1));
            taken.push((first, to));
            break;
        }
        taken.push((from, to));
        count -= size;
    }
    taken.reverse();
    (kept, taken)
}

#[cfg(test)]
mod tests {
    use super::super::super::Config;
    use super::*;

    /// The map after all moves to `partitions`.
    fn reshard(mut map: Map, partitions: u16) -> Map {
        let mut moved = 0;
        while let Some(next) = super::next(&map, partitions) {
            let before = next.before_move().unwrap();
            assert_eq!(before.owners.iter().map(Owner::size).sum::<u32>(), VSLOTS);
            for vslot in (0..=u16::MAX).step_by(97) {
                let is_same = map.owner_of(vslot) == next.owner_of(vslot);
                assert_eq!(is_same, next.move_of(vslot).is_none());
                assert_eq!(before.owner_of(vslot), map.owner_of(vslot));
            }
            let moving = next.moving.clone().unwrap();
            moved += Owner { generation: 0, ranges: moving.ranges.clone() }.size();
            assert!(next.owners[moving.to].generation > map.owners[moving.from].generation);
            map = next.after_move();
        }
        let sizes = map.owners.iter().map(Owner::size);
        assert!(sizes.clone().all(|size| size.abs_diff(VSLOTS / u32::from(partitions)) <= 1));
        assert_eq!((sizes.sum::<u32>(), map.owners.len()), (VSLOTS, partitions.into()));
        assert!(moved <= VSLOTS);
        map
    }

    #[test]
    fn partitions_share_evenly_after_any_change() {
        let mut map = Map::parse(1, Config::default(), "7:0000-ffff").unwrap();
        for partitions in [2, 4, 3, 1, 5, 16, 1_024, 7, 7, 2] {
            map = reshard(map, partitions);
        }
    }

    #[test]
    fn a_new_partition_takes_from_the_fullest() {
        let map = Map::parse(1, Config::default(), "7:0000-7fff 7:8000-ffff").unwrap();
        let next = super::next(&map, 4).unwrap();
        assert_eq!(
            next.text(),
            "8:0000-7fff 7:8000-ffff 8:c000-ffff 1>2:c000-ffff"
                .replace("8:0000-7fff 7:8000-ffff", "7:0000-7fff 8:8000-bfff")
        );
    }
}
