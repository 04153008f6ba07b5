//! The name of a queue and the keys that follow from it.

use std::sync::Arc;

use crate::error::Result;
use crate::step::check_name;

/// The name of a shuffle queue, with the Redis keys that the wire contract derives from it.
#[derive(Clone, Debug)]
pub(super) struct Name(Arc<Keys>);

#[derive(Debug)]
struct Keys {
    queue: Arc<[u8]>,
    meta: Arc<[u8]>,
    notifications: Arc<[u8]>,
    dead: Arc<[u8]>,
}

impl Name {
    /// The name `name`, of at least a byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        check_name("the name", name)?;
        Ok(Self(Arc::new(Keys {
            queue: name.into(),
            meta: [name, b":meta"].concat().into(),
            notifications: [name, b":notifications"].concat().into(),
            dead: [name, b":dead"].concat().into(),
        })))
    }

    /// The name itself.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0.queue
    }

    /// The name itself, which is the key of the default stream.
    pub(super) fn queue_key(&self) -> Arc<[u8]> {
        self.0.queue.clone()
    }

    /// The key of the stream of notifications, which is also what listeners wait for.
    pub(super) fn notifications_key(&self) -> Arc<[u8]> {
        self.0.notifications.clone()
    }

    /// The keys of every step. The streams' are made in the scripts; with these three in one slot
    /// they are too.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        vec![self.0.queue.clone(), self.0.meta.clone(), self.0.notifications.clone()]
    }

    /// The keys of a step that has to do with dead letters, whose stream is ours alone.
    pub(super) fn keys_with_dead(&self) -> Vec<Arc<[u8]>> {
        let mut keys = self.keys();
        keys.push(self.0.dead.clone());
        keys
    }
}
