//! Counting.

use super::{Failure, Model, Stream};

/// What a stream holds for a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamCounts {
    /// Entries.
    pub len: u64,
    /// Messages delivered to the group and not acknowledged.
    pub pending: u64,
    /// Messages not yet delivered to it.
    pub lag: u64,
}

/// What each stream of a queue holds for a group.
pub type Counts = Vec<StreamCounts>;

impl Model {
    fn counted(&self, name: &str) -> Result<Vec<Option<&Stream>>, Failure> {
        let streams = self.stream_count(name)?;
        (0..streams).map(|index| self.stream(&format!("{name}:s{index}"))).collect()
    }

    fn sum(&self, name: &str, of: impl Fn(&Stream) -> usize) -> Result<u64, Failure> {
        Ok(self.counted(name)?.into_iter().flatten().map(|stream| of(stream) as u64).sum())
    }

    /// How many entries there are.
    pub fn len(&self, name: &str) -> Result<u64, Failure> {
        self.sum(name, |stream| stream.entries.len())
    }

    /// How many messages are not yet delivered to some group, or not acknowledged by it.
    pub fn backlog(&self, name: &str) -> Result<u64, Failure> {
        self.sum(name, Stream::backlog)
    }

    /// How many messages are pending for a group.
    pub fn pending_count(&self, name: &str, group: &str) -> Result<u64, Failure> {
        self.sum(name, |stream| stream.groups.get(group).map_or(0, |group| group.pending.len()))
    }

    /// What each stream holds for a group.
    pub fn stats(&self, name: &str, group: &str) -> Result<Counts, Failure> {
        let counts = |stream: Option<&Stream>| {
            let Some(stream) = stream else { return StreamCounts::default() };
            let len = stream.entries.len() as u64;
            let Some(group) = stream.groups.get(group) else {
                return StreamCounts { len, pending: 0, lag: len };
            };
            let (pending, lag) = (group.pending.len() as u64, stream.undelivered(group) as u64);
            StreamCounts { len, pending, lag }
        };
        Ok(self.counted(name)?.into_iter().map(counts).collect())
    }
}
