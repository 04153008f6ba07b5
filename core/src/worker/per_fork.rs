//! Values of which each process of a fork has its own copy.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::runtime::fork;
pub(crate) use crate::runtime::fork::generation;

/// A value that the child of a fork makes anew. Unlike [`PerProcess`](crate::runtime::fork::PerProcess), it reads no
/// process id, so it suits values that are read very often; it relies on
/// [`after_fork_in_child`](fork::after_fork_in_child).
pub(crate) struct PerFork<T>(ArcSwapOption<(u32, Arc<T>)>);

impl<T> PerFork<T> {
    /// This process's value. `make` may run in several threads at the same time.
    pub(crate) fn get(&self, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        let generation = fork::generation();
        if let Some(made) = &*self.0.load()
            && made.0 == generation
        {
            return made.1.clone();
        }
        let value = make();
        self.0.store(Some(Arc::new((generation, value.clone()))));
        value
    }
}

impl<T> Default for PerFork<T> {
    fn default() -> Self {
        Self(ArcSwapOption::const_empty())
    }
}
