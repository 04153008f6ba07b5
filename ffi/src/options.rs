//! Options: structures whose fields may be left at their defaults.

use millpond::Result;

use crate::caller::{Caller, invalid};

/// A `bool` in a structure. C may leave any byte there, and not every byte is a valid Rust `bool`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct c_bool(u8);

impl c_bool {
    pub(crate) const FALSE: Self = Self(0);

    pub(crate) fn is_true(self) -> bool {
        self.0 != 0
    }
}

impl Caller {
    /// The options of a call, where NULL stands for none.
    pub(crate) fn options<T: Copy>(&self, options: *const T, none: T) -> Result<T> {
        let count = usize::from(!options.is_null());
        let options = self.array(|| "options".to_owned(), options, count)?;
        Ok(options.first().copied().unwrap_or(none))
    }
}

/// The value of an option, unless it was not set.
pub(crate) fn given<T: TryFrom<i64>>(option: &str, value: i64) -> Result<Option<T>> {
    match value {
        -1 => Ok(None),
        _ => T::try_from(value)
            .map(Some)
            .map_err(|_| invalid(format!("{option} is {value}, which is out of range"))),
    }
}
