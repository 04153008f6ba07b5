//! Times on the clock, as milliseconds since the Unix epoch or as datetimes, and times from now.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDateTime, PyDelta, PyDeltaAccess, PyTzInfo};

use crate::{convert, errors};

/// How a caller gives a time.
pub(crate) enum When {
    LeftOut,
    At(u64),
    After(Duration),
}

/// Reads the arguments `at`, `at_ms` and `delay`.
pub(crate) fn read(
    py: Python<'_>,
    at: Option<&Bound<'_, PyAny>>,
    at_ms: Option<&Bound<'_, PyAny>>,
    delay: Option<&Bound<'_, PyAny>>,
) -> PyResult<When> {
    Ok(match (at, at_ms, delay) {
        (None, None, None) => When::LeftOut,
        (Some(at), None, None) => When::At(to_ms("at", at)?),
        // What does not fit is refused as any other time that is too far away.
        (None, Some(at), None) => When::At(convert::whole("at_ms", at)?.unwrap_or(u64::MAX)),
        (None, None, Some(delay)) => When::After(convert::duration("delay", delay)?),
        _ => {
            let message = "more than one of at, at_ms and delay is given; only one is allowed";
            return Err(errors::invalid(py, message.to_owned()));
        }
    })
}

/// The milliseconds of `at` or `at_ms`, of which there is none with a delay.
#[pyfunction(name = "_at_ms")]
pub(crate) fn fixed(
    py: Python<'_>,
    at: Option<&Bound<'_, PyAny>>,
    at_ms: Option<&Bound<'_, PyAny>>,
    delay: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<u64>> {
    match read(py, at, at_ms, delay)? {
        When::At(ms) => Ok(Some(ms)),
        When::After(_) => Ok(None),
        When::LeftOut => {
            Err(errors::invalid(py, "one of at, at_ms and delay has to be given".to_owned()))
        }
    }
}

/// The milliseconds of a datetime; a part of one counts as one, so that nothing is early.
pub(crate) fn to_ms(argument: &str, at: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = at.py();
    let Ok(time) = at.cast::<PyDateTime>() else {
        return Err(convert::wrong_type(argument, "a datetime", at));
    };
    if time.call_method0("utcoffset")?.is_none() {
        let message = format!(
            "{argument} has no time zone, so it is no point in time; for local time write \
             {argument}.astimezone()"
        );
        return Err(errors::invalid(py, message));
    }
    let since = time.sub(epoch(py)?)?.cast_into::<PyDelta>()?;
    let (days, seconds) = (i64::from(since.get_days()), i64::from(since.get_seconds()));
    let part_ms = (i64::from(since.get_microseconds()) + 999) / 1_000;
    u64::try_from((days * 86_400 + seconds) * 1_000 + part_ms)
        .map_err(|_| errors::invalid(py, format!("{argument} is before the year 1970")))
}

/// The datetime of milliseconds, in UTC.
pub(crate) fn from_ms(py: Python<'_>, ms: u64) -> PyResult<Bound<'_, PyAny>> {
    let days = i32::try_from(ms / 86_400_000).unwrap_or(i32::MAX);
    let (seconds, micros) = ((ms / 1_000 % 86_400) as i32, (ms % 1_000 * 1_000) as i32);
    epoch(py)?.add(PyDelta::new(py, days, seconds, micros, false)?)
}

fn epoch(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let epoch = EPOCH.get_or_try_init(py, || {
        let utc = PyTzInfo::utc(py)?;
        let epoch = PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?;
        PyResult::Ok(epoch.into_any().unbind())
    })?;
    Ok(epoch.bind(py))
}
