//! The name of a recruiter and the keys that follow from it.

use std::sync::Arc;

use crate::error::Result;
use crate::step::tagged_name;

/// The name of a recruiter, as all its Redis keys begin with it.
#[derive(Clone, Debug)]
pub(super) struct Name(Arc<[u8]>);

impl Name {
    /// The name `name`, of at least one byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        Ok(Self(tagged_name("the name", name, b":steal")?.into()))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The keys of the jobs and of the counters.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        vec![self.0.clone(), self.with(":stats")]
    }

    /// The key of the slices of a job that are running.
    pub(super) fn running_key(&self, job: &str) -> Arc<[u8]> {
        self.with(&format!(":running:{job}"))
    }

    fn with(&self, end: &str) -> Arc<[u8]> {
        [&*self.0, end.as_bytes()].concat().into()
    }
}
