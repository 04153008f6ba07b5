//! The name of a queue tracker and the keys that follow from it.

use std::sync::Arc;

use crate::error::Result;
use crate::step::tagged_name;

/// The name of a queue tracker, as its Redis keys begin with it.
#[derive(Clone, Debug)]
pub(super) struct Name(Arc<[u8]>);

impl Name {
    /// The name `name`, of at least one byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        Ok(Self(tagged_name("the name", name, b":tracker")?.into()))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The keys of the scan and of the ids.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        vec![self.0.clone(), [&*self.0, b":ids"].concat().into()]
    }
}
