//! The lock of a field.

use millpond::Result;
use millpond::volatile::FieldLock;

use crate::lease::{Holder, Lease};

impl Holder for FieldLock {
    const NAME: &'static str = "lock";

    /// The fence.
    type Id = u64;

    fn id(&self) -> u64 {
        self.fence()
    }

    fn is_lost(&self) -> bool {
        FieldLock::is_lost(self)
    }

    fn release(self) -> Result<bool> {
        FieldLock::release(self)
    }
}

impl Lease<FieldLock> {
    pub(super) fn fence(&self) -> u64 {
        self.id
    }
}
