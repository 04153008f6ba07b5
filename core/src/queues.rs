//! The table of queues: one row for each kind. A new queue is its folder, a line in `lib.rs` and a row here.

#[cfg(test)]
mod wrong_replies;

use std::sync::Arc;

use crate::kind::Kind;
use crate::step::State;
use crate::{events, ick, recruiter, shuffle, tasks, tracker, volatile};

/// All kinds of queues, by their numbers.
static KINDS: [Kind; 8] = [
    ick::KIND,
    shuffle::KIND,
    shuffle::TRACKING,
    tasks::KIND,
    events::KIND,
    recruiter::KIND,
    volatile::KIND,
    tracker::KIND,
];

/// All kinds of queues, for tools that show what is there.
///
/// ```
/// let names: Vec<_> = millpond::kinds().iter().map(|kind| kind.name).collect();
/// assert_eq!(names, ["ick", "shuffle", "shuffle.tracking", "tasks", "events", "recruiter", "volatile",
///     "tracker"]);
/// ```
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

/// An empty state of the kind with this number, if there is one.
pub(crate) fn empty_state(number: u8) -> Option<Arc<dyn State>> {
    KINDS.iter().find(|kind| kind.number == number).map(|kind| (kind.empty_state)())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_of_one_kind_each() {
        for (index, kind) in kinds().iter().enumerate() {
            for other in &kinds()[..index] {
                assert!(other.number < kind.number && other.name != kind.name, "{kind:?}");
            }
        }
    }

    #[test]
    fn every_kind_has_statistics_of_a_queue_that_was_never_used() {
        let client = crate::connect("memory:").unwrap();
        for kind in kinds() {
            let statistics = kind.statistics(&client, "never").unwrap();
            assert!(statistics.iter().all(|statistic| statistic.value == 0), "{kind:?}");
            assert!(kind.statistics(&client, vec![b'x'; 70_000]).is_err(), "{kind:?}");
        }
    }
}
