//! When something is to be available: a time on the clock, or a time from now.

use std::time::Duration;

use pyo3::prelude::*;

use crate::{convert, errors};

/// How a caller gives a time.
pub(crate) enum When {
    LeftOut,
    At(u64),
    After(Duration),
}

/// Reads the arguments `at_ms` and `delay`.
pub(crate) fn read(
    py: Python<'_>,
    at_ms: Option<&Bound<'_, PyAny>>,
    delay: Option<&Bound<'_, PyAny>>,
) -> PyResult<When> {
    Ok(match (at_ms, delay) {
        (None, None) => When::LeftOut,
        // What does not fit is refused as any other time that is too far away.
        (Some(at), None) => When::At(convert::whole("at_ms", at)?.unwrap_or(u64::MAX)),
        (None, Some(delay)) => When::After(convert::duration("delay", delay)?),
        (Some(_), Some(_)) => {
            let message = "at_ms and delay are both given; only one is allowed";
            return Err(errors::invalid(py, message.to_owned()));
        }
    })
}
