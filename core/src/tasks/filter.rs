//! Which queues or namespaces to include.

use std::sync::Arc;

use super::limits;
use crate::error::{Result, ensure};
use crate::step::ByteList;

/// The most queues or namespaces in one reply.
pub const STATS_MAX: usize = 100_000;

/// The most exact names and prefixes of a [`Filter`].
pub const FILTER_NAMES_MAX: usize = 10_000;

/// Which queues or namespaces to include: those with one of the exact names or prefixes, or all if none is given. Up
/// to [`FILTER_NAMES_MAX`] names and prefixes are allowed.
///
/// ```
/// use millpond::tasks::Filter;
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// store.insert("mail/in", "1")?;
/// store.insert("mail/out", "2")?;
/// store.insert("other", "3")?;
/// let sizes = store.queues(Filter::new().prefix("mail/"))?;
/// assert_eq!(sizes.len(), 2);
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Filter {
    exact: Vec<Arc<str>>,
    prefixes: Vec<Arc<str>>,
    limit: Option<usize>,
}

impl Filter {
    /// All queues or namespaces.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also the one with this name.
    pub fn exact(mut self, name: impl AsRef<str>) -> Self {
        self.exact.push(name.as_ref().into());
        self
    }

    /// Also those whose names begin with this prefix.
    pub fn prefix(mut self, prefix: impl AsRef<str>) -> Self {
        self.prefixes.push(prefix.as_ref().into());
        self
    }

    /// At most this many, the first by name; [`STATS_MAX`] by default.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Whether it has any names or prefixes.
    pub(super) fn names_any(&self) -> bool {
        !(self.exact.is_empty() && self.prefixes.is_empty())
    }

    pub(super) fn limit_or_most(&self) -> usize {
        self.limit.unwrap_or(STATS_MAX)
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        !self.names_any()
            || self.exact.iter().any(|exact| **exact == *name)
            || self.prefixes.iter().any(|prefix| name.starts_with(&**prefix))
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_limit = (1..=STATS_MAX).contains(&self.limit_or_most());
        ensure!(is_limit, "the limit has to be 1 to {STATS_MAX}");
        let names = self.exact.len() + self.prefixes.len();
        ensure!(
            names <= FILTER_NAMES_MAX,
            "at most {FILTER_NAMES_MAX} names and prefixes are allowed"
        );
        self.exact.iter().try_for_each(|name| limits::queue(name))
    }

    /// As the scripts take it: the limit, the number of exact names, the exact names, and the prefixes.
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push_number(self.limit_or_most() as u64);
        args.push_number(self.exact.len() as u64);
        self.exact.iter().chain(&self.prefixes).for_each(|name| args.push(name.as_bytes()));
    }
}
