//! One stream of a queue: its messages, and what each group has of them.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use super::journal::Effect;
use crate::error::Result;
use crate::shuffle::message::MessageId;
use crate::step::Timestamp;

#[derive(Default)]
pub(in crate::shuffle) struct StreamState {
    /// Fields and values as in the journal: one piece of memory a message.
    pub(super) entries: BTreeMap<MessageId, Box<[u8]>>,
    /// The id of the last message that was written.
    pub(super) last: MessageId,
    pub(super) groups: BTreeMap<Arc<[u8]>, Group>,
    pub(super) expires: Timestamp,
}

#[derive(Default)]
pub(super) struct Group {
    /// Messages up to this one were delivered to the group.
    pub(super) last: MessageId,
    /// How many messages are after it.
    pub(super) lag: u64,
    pub(super) pending: BTreeMap<MessageId, Pending>,
}

#[derive(Clone)]
pub(super) struct Pending {
    pub(super) consumer: Arc<[u8]>,
    pub(super) delivered: Timestamp,
    pub(super) deliveries: u64,
}

impl StreamState {
    pub(in crate::shuffle) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Messages that some group still has to get or to acknowledge.
    pub(in crate::shuffle) fn backlog(&self) -> u64 {
        let of_group = |group: &Group| group.pending.len() as u64 + group.lag;
        let most = self.groups.values().map(of_group).max();
        most.unwrap_or(u64::MAX).min(self.len())
    }

    /// Whether everything was delivered to, and acknowledged by, every group.
    pub(super) fn is_drained(&self) -> bool {
        let is_done = |group: &Group| group.lag == 0 && group.pending.is_empty();
        self.entries.is_empty() || !self.groups.is_empty() && self.groups.values().all(is_done)
    }

    pub(super) fn add(&mut self, id: MessageId, entry: Box<[u8]>) {
        self.last = self.last.max(id);
        self.entries.insert(id, entry);
        self.groups.values_mut().for_each(|group| group.lag += 1);
    }

    pub(super) fn join(&mut self, group: Arc<[u8]>, last: MessageId) {
        let lag = self.entries.range((Excluded(last), Unbounded)).count() as u64;
        self.groups.insert(group, Group { last, lag, pending: BTreeMap::new() });
    }

    /// Gives the next messages to a consumer of a group that has joined.
    pub(super) fn deliver(
        &mut self,
        group: &[u8],
        consumer: &[u8],
        now: Timestamp,
        count: u64,
    ) -> Vec<MessageId> {
        let Some(group) = self.groups.get_mut(group).filter(|group| group.lag > 0) else {
            return Vec::new();
        };
        let next = self.entries.range((Excluded(group.last), Unbounded));
        let ids: Vec<_> = next.map(|(id, _)| *id).take(count as usize).collect();
        let consumer: Arc<[u8]> = consumer.into();
        for id in &ids {
            let pending = Pending { consumer: consumer.clone(), delivered: now, deliveries: 1 };
            group.pending.insert(*id, pending);
            group.last = *id;
        }
        group.lag -= ids.len() as u64;
        ids
    }

    /// Deletes a message; returns whether it was there.
    pub(super) fn remove(&mut self, id: MessageId) -> bool {
        let removed = self.entries.remove(&id).is_some();
        if removed {
            self.groups.values_mut().filter(|group| group.last < id).for_each(|g| g.lag -= 1);
        }
        removed
    }

    pub(super) fn group_mut(&mut self, name: &[u8]) -> Result<&mut Group> {
        let group = self.groups.get_mut(name);
        group.ok_or_else(|| Effect::unreadable("is about a group that is not there"))
    }
}
