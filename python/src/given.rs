//! Fields that a caller gives to a constructor, each as its type in the core wants it.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::convert;

/// A field; one that is not given has its empty value.
pub(crate) trait Field: Default {
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self>;
}

pub(crate) fn given<T: Field>(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<T> {
    value.map_or_else(|| Ok(T::default()), |value| T::read(name, value))
}

pub(crate) fn required<T: Field>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    T::read(name, value)
}

impl Field for Arc<str> {
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(convert::text(name, value)?.into())
    }
}

impl Field for u64 {
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        convert::large_size(name, value)
    }
}

impl Field for u32 {
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        convert::small_size(name, value)
    }
}

/// What does not fit is refused as any other that is too high.
impl Field for u8 {
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let fits = convert::whole(name, value)?.map(u8::try_from);
        Ok(fits.and_then(Result::ok).unwrap_or(u8::MAX))
    }
}

impl<T: Field> Field for Option<T> {
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        T::read(name, value).map(Some)
    }
}
