//! Fields and their values, to set.

use millpond::Result;

use crate::caller::Caller;
use crate::keys::millpond_bytes;
use crate::options::Element;

/// A field to set, and its value: any bytes. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_hash_pair {
    /// The field.
    pub field: millpond_bytes,
    /// Its value.
    pub value: millpond_bytes,
}

impl Element for millpond_hash_pair {
    type Core<'c> = (&'c [u8], &'c [u8]);

    fn read<'c>(
        &self,
        caller: &'c Caller,
        of: impl Fn(&str) -> String,
    ) -> Result<(&'c [u8], &'c [u8])> {
        let field = caller.given_bytes(|| of("field"), self.field)?;
        Ok((field, caller.given_bytes(|| of("value"), self.value)?))
    }
}
