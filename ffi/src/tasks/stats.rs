//! Statistics of queues and of namespaces.

use millpond::Result;
use millpond::tasks::{Filter, NamespaceStats, QueueStats};

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, given, growing};
use crate::status::millpond_status;

/// What is in a queue: `size` is the sum of `available`, `claimed` and `future`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_queue_stats {
    /// The queue's name.
    pub queue: millpond_bytes,
    /// All tasks.
    pub size: u64,
    /// Tasks that can be claimed now.
    pub available: u64,
    /// Tasks that cannot be claimed now and were claimed before.
    pub claimed: u64,
    /// Tasks that cannot be claimed now and never were.
    pub future: u64,
    /// How often the task was claimed that was claimed most.
    pub max_claims: u64,
}

impl millpond_task_queue_stats {
    pub(super) fn new(stats: &QueueStats, queue: millpond_bytes) -> Self {
        let &QueueStats { size, available, claimed, future, max_claims, .. } = stats;
        Self { queue, size, available, claimed, future, max_claims: max_claims.into() }
    }
}

/// What is in a namespace.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_namespace_stats {
    /// The namespace's name.
    pub namespace_name: millpond_bytes,
    /// All documents.
    pub size: u64,
    /// Documents that are claimed now.
    pub claimed: u64,
}

impl millpond_task_namespace_stats {
    pub(super) fn new(stats: &NamespaceStats, namespace_name: millpond_bytes) -> Self {
        Self { namespace_name, size: stats.size, claimed: stats.claimed }
    }
}

/// Which queues or namespaces to include: those with one of the exact names or prefixes; all if
/// none is given. `millpond_tasks_filter_init` fills it; then set what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_tasks_filter {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// The exact names.
    pub exact: *const millpond_bytes,
    /// How many there are.
    pub exact_count: usize,
    /// What names begin with.
    pub prefixes: *const millpond_bytes,
    /// How many there are.
    pub prefix_count: usize,
    /// How many at most, the first by name. `MILLPOND_NOT_SET`: the default, 100,000, the most.
    pub limit: i64,
}

growing! {
    millpond_tasks_filter = Self {
        size: size_of::<Self>(),
        exact: std::ptr::null(),
        exact_count: 0,
        prefixes: std::ptr::null(),
        prefix_count: 0,
        limit: NOT_SET,
    };
}

impl Caller {
    fn filter(&self, filter: *const millpond_tasks_filter) -> Result<Filter> {
        let millpond_tasks_filter { exact, exact_count, prefixes, prefix_count, limit, .. } =
            self.options("filter", filter)?;
        let exact = self.texts("exact", exact, exact_count)?;
        let prefixes = self.texts("prefixes", prefixes, prefix_count)?;
        let filter = exact.into_iter().fold(Filter::new(), Filter::exact);
        let filter = prefixes.into_iter().fold(filter, Filter::prefix);
        Ok(match given("limit", limit)? {
            Some(limit) => filter.limit(limit),
            None => filter,
        })
    }
}

/// Fills a filter with its defaults. Does nothing for NULL.
///
///     millpond_bytes prefix = {"mail/", 5};
///     millpond_tasks_filter filter;
///     millpond_tasks_filter_init(&filter, sizeof filter);
///     filter.prefixes = &prefix;
///     filter.prefix_count = 1;
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_filter_init(
    filter: *mut millpond_tasks_filter,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(filter, size);
}

/// What is in the queues that hold tasks, by name: exact at one point in time for each queue, and
/// counted without reading the tasks. `filter` may be NULL.
///
/// `result` is set to the `queues`, which the caller frees with `millpond_tasks_result_free`, or on
/// failure to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
/// 100,000; else as `millpond_tasks_fetch`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_queue_stats(
    store: *mut millpond_tasks_store,
    filter: *const millpond_tasks_filter,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        result.set(Parts::queues(&store.queue_stats(caller.filter(filter)?)?));
        Ok(())
    })
}

/// Whether none of these queues holds a task.
///
/// Errors: as `millpond_tasks_queue_stats`; also `MILLPOND_INVALID_ARGUMENT` for a filter that
/// names nothing.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_are_empty(
    store: *mut millpond_tasks_store,
    filter: *const millpond_tasks_filter,
    empty: *mut bool,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let empty = caller.out("empty", empty, false)?;
        let store = caller.held::<Store>("store", store)?;
        empty.set(store.are_empty(caller.filter(filter)?)?);
        Ok(())
    })
}

/// What is in the namespaces that hold documents, by name. `filter` may be NULL.
///
/// `result` is set to the `namespaces`, which the caller frees with `millpond_tasks_result_free`,
/// or on failure to NULL.
///
/// Errors: as `millpond_tasks_queue_stats`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_namespace_stats(
    store: *mut millpond_tasks_store,
    filter: *const millpond_tasks_filter,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        result.set(Parts::namespaces(&store.namespace_stats(caller.filter(filter)?)?));
        Ok(())
    })
}
