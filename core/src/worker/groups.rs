//! The results of ends that are sent in several steps.

use std::sync::{Arc, Mutex};

use crate::error::{Error, Result};
use crate::runtime::sync::lock;

/// Calls back with all results once each group has its own.
pub(crate) struct Groups<E>(Mutex<State<E>>);

type Results<E> = Vec<(E, Result<()>)>;

struct State<E> {
    results: Results<E>,
    /// How many groups have no result yet.
    left: usize,
    done: Option<Box<dyn FnOnce(Results<E>) + Send>>,
}

impl<E> Groups<E> {
    /// Waits for this many groups, in addition to the results that are already known.
    pub(crate) fn new(
        known: Results<E>,
        groups: usize,
        done: impl FnOnce(Results<E>) + Send + 'static,
    ) -> Arc<Self> {
        let state = State { results: known, left: groups + 1, done: Some(Box::new(done)) };
        let all = Arc::new(Self(Mutex::new(state)));
        all.add_each([]);
        all
    }

    /// One group has this result, for each of its ends.
    pub(crate) fn add(&self, group: Vec<E>, result: Result<()>) {
        let copy = |result: &Result<()>| result.as_ref().map_err(Error::copy).copied();
        self.add_each(group.into_iter().map(|end| (end, copy(&result))).collect::<Vec<_>>());
    }

    /// One group has these results.
    pub(crate) fn add_each(&self, results: impl IntoIterator<Item = (E, Result<()>)>) {
        let mut state = lock(&self.0);
        state.results.extend(results);
        state.left -= 1;
        let done = if state.left == 0 { state.done.take() } else { None };
        if let Some(done) = done {
            let results = std::mem::take(&mut state.results);
            drop(state);
            done(results);
        }
    }
}
