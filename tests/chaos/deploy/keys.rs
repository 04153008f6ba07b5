//! The order of the events of a key.

use std::collections::BTreeMap;

use super::{Outcome, key_of};

/// A handler of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Handler {
    began: u64,
    number: u64,
    /// Nothing if its process was killed before.
    ended: Option<u64>,
}

/// The handlers of the events of each key.
#[derive(Default)]
pub(super) struct Keys(BTreeMap<u64, Vec<Handler>>);

impl Keys {
    /// Notes a handler of a job, such as `event-7`, which began and ended at these times of the system's clock.
    pub(super) fn take(&mut self, job: &str, began: u64, ended: Option<u64>) {
        let number = job.strip_prefix("event-").and_then(|number| number.parse().ok());
        if let Some((number, key)) = number.and_then(|number| Some((number, key_of(number)?))) {
            self.0.entry(key).or_default().push(Handler { began, number, ended });
        }
    }

    /// Of each key no two handlers ran at a time, and they came in the order of publishing: that of the numbers, as an
    /// event that follows is published later than all that do not, and in the order of those that it follows from.
    pub(super) fn check(&self) -> Outcome<()> {
        for (key, handlers) in &self.0 {
            let mut handlers = handlers.clone();
            handlers.sort_unstable();
            for pair in handlers.windows(2) {
                let [before, after] = [pair[0], pair[1]];
                if before.ended.is_some_and(|ended| ended > after.began) {
                    return Err(format!("of key {key} {before:?} was at work beside {after:?}"));
                }
                if before.number > after.number {
                    return Err(format!("of key {key} {before:?} came before {after:?}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(handlers: &[(&str, u64, Option<u64>)]) -> Outcome<()> {
        let mut keys = Keys::default();
        handlers.iter().for_each(|(job, began, ended)| keys.take(job, *began, *ended));
        keys.check()
    }

    #[test]
    fn it_sees_events_of_a_key_at_once_and_out_of_order() {
        let (first, second) = (("event-4", 0, Some(10)), ("event-204", 20, Some(30)));
        assert_eq!(
            check(&[second, ("event-4", 15, Some(18)), first, ("event-4", 12, None)]),
            Ok(())
        );
        // Those of other keys, or of none, and other jobs.
        assert_eq!(check(&[first, ("event-8", 5, Some(8)), ("event-5", 6, None)]), Ok(()));
        assert_eq!(check(&[first, ("task-204", 5, Some(8))]), Ok(()));

        let beside = check(&[first, ("event-1000004", 9, None)]).unwrap_err();
        assert!(beside.contains("was at work beside"), "{beside}");
        let early = check(&[("event-1000004", 1, Some(2)), second]).unwrap_err();
        assert!(early.contains("came before"), "{early}");
    }
}
