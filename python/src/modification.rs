//! A modification that a caller gathers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use millpond::tasks;
use pyo3::prelude::*;

/// Inserts, changes, deletes and dependencies on tasks and documents, for :meth:`TaskStore.modify`: all
/// happen or none does. Each method adds an entry and returns the modification. A task or document may
/// be named only once; 100,000 entries are allowed.
///
/// >>> import millpond
/// >>> store = millpond.connect("memory:").tasks("shop")
/// >>> task = store.insert("inbox", 1)
/// >>> done = millpond.Modification().delete(task).insert("outbox", 2)
/// >>> store.modify(done).inserted[0].queue
/// 'outbox'
/// >>> try:
/// ...     store.modify(done)
/// ... except millpond.DependencyError as error:  # the task is gone
/// ...     error.deletes == [(task.id, task.version)]
/// True
#[pyclass(frozen, module = "millpond.tasks")]
#[derive(Default)]
pub(crate) struct Modification {
    gathered: Mutex<tasks::Modification>,
}

impl Modification {
    pub(crate) fn new(gathered: tasks::Modification) -> Self {
        Self { gathered: Mutex::new(gathered) }
    }

    /// What has been gathered so far.
    pub(crate) fn core(&self) -> tasks::Modification {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, tasks::Modification> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry, which has been read already: no Python code runs under the lock.
    pub(crate) fn with<'py>(
        this: &Bound<'py, Self>,
        entry: impl FnOnce(tasks::Modification) -> tasks::Modification,
    ) -> PyResult<Bound<'py, Self>> {
        let mut gathered = this.get().lock();
        *gathered = entry(std::mem::take(&mut *gathered));
        drop(gathered);
        Ok(this.clone())
    }
}

#[pymethods]
impl Modification {
    #[new]
    fn empty() -> Self {
        Self::default()
    }

    /// How many entries there are.
    fn __len__(&self) -> usize {
        self.lock().len()
    }
}
