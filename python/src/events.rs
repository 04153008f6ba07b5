//! What queues of events take and return beside what all queues do.

use std::sync::Arc;
use std::time::Duration;

use millpond::CALL_ITEMS_MAX;
use millpond::events::{
    Cancelled, DeadReason, EventId, EventPosition, EventState, Held, Missed, NewEvent, Overlap,
    PutStatus, Receipt, Redriven, Rescheduled, Schedule, Settled, Status, Token,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::convert::{self, parts, wrong_type};
use crate::fields::Fields;
use crate::generated::EventJob;
use crate::given::{Field, given, required};
use crate::handle::either;
use crate::to_python::{ToPython, decoded};
use crate::{errors, when};

#[pymethods]
impl EventJob {
    #[getter]
    fn event(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        decoded(self.text)(py, either!(&self.core, |core| core.event().clone()))
    }
}

fn id(path: &str, value: &Bound<'_, PyAny>) -> PyResult<EventId> {
    let text = match value.is_instance_of::<PyString>() {
        true => convert::text(path, value)?,
        false => {
            let wrong = |_| wrong_type(path, "an id, or an Event", value);
            convert::text(path, &value.getattr("id").map_err(wrong)?)?
        }
    };
    text.parse().map_err(|error: millpond::Error| errors::exception(value.py(), &error))
}

fn receipt(path: &str, value: &Bound<'_, PyAny>) -> PyResult<Receipt> {
    let [of, token] = parts(path, "an Event or (id, token)", ["id", "token"], value)?;
    let token = convert::bytes(&format!("{path}.token"), &token)?;
    let wrong = |_| errors::invalid(value.py(), format!("{path}.token has to have 8 bytes"));
    Ok(Receipt { id: id(&format!("{path}.id"), &of)?, token: token.try_into().map_err(wrong)? })
}

/// One, or an iterable of several.
fn many<T>(
    argument: &str,
    values: &Bound<'_, PyAny>,
    read: fn(&str, &Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if values.is_instance_of::<PyString>() || values.hasattr("id")? {
        return Ok(vec![read(argument, values)?]);
    }
    // A pair may be one or two.
    if values.is_instance_of::<PyTuple>()
        && let Ok(one) = read(argument, values)
    {
        return Ok(vec![one]);
    }
    let indexed = convert::iterable(|| argument.to_owned(), values, CALL_ITEMS_MAX)?.enumerate();
    indexed.map(|(index, value)| read(&format!("{argument}[{index}]"), &value?)).collect()
}

impl Field for Receipt {
    fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
        receipt(name, value)
    }
}

impl Field for Vec<Receipt> {
    fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
        many(name, value, receipt)
    }
}

impl Field for Vec<EventId> {
    fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
        many(name, value, id)
    }
}

impl Field for EventPosition {
    fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
        let expected = "an Event or (state_at_us, id)";
        let [at, of] = parts(name, expected, ["state_at_us", "id"], value)?;
        let state_at_us = convert::whole(&format!("{name}.state_at_us"), &at)?.unwrap_or(u64::MAX);
        Ok(Self { state_at_us, id: id(&format!("{name}.id"), &of)? })
    }
}

/// A `NewEvent`, or its payload alone.
fn new_event(path: &str, value: &Bound<'_, PyAny>) -> PyResult<NewEvent> {
    let of = |name: &str| -> PyResult<_> {
        let part =
            value.getattr(name).map_err(|_| wrong_type(path, "a NewEvent or a payload", value))?;
        Ok(Some(part).filter(|part| !part.is_none()))
    };
    let named = |name: &str| format!("{path}.{name}");
    if convert::with_bytes(|| path.to_owned(), value, |_| ()).is_ok() {
        return Ok(NewEvent::new(convert::bytes(path, value)?));
    }
    let mut event = NewEvent::new(match of("payload")? {
        Some(payload) => convert::bytes(&named("payload"), &payload)?,
        None => Vec::new(),
    });
    if let Some(key) = of("key")? {
        event = event.key(convert::bytes(&named("key"), &key)?);
    }
    let [at, at_ms, delay] = [of("at")?, of("at_ms")?, of("delay")?];
    match when::read(value.py(), at.as_ref(), at_ms.as_ref(), delay.as_ref())? {
        when::When::LeftOut => {}
        when::When::At(at_ms) => event = event.at_ms(at_ms),
        when::When::After(delay) => event = event.delay(delay),
    }
    if let Some(ttl) = given::<Duration>(&named("ttl"), of("ttl")?.as_ref())? {
        event = event.ttl(ttl);
    }
    if let Some(id) = given::<String>(&named("dedup_id"), of("dedup_id")?.as_ref())? {
        event = event.dedup_id(id);
    }
    if let Some(window) = given::<Duration>(&named("dedup_window"), of("dedup_window")?.as_ref())? {
        event = event.dedup_window(window);
    }
    if let Some(if_exists) = of("if_exists")? {
        event = event.if_exists(required(&named("if_exists"), &if_exists)?);
    }
    if let Some(headers) = of("headers")? {
        let headers: Fields = required(&named("headers"), &headers)?;
        event = event.headers(headers.iter());
    }
    Ok(event)
}

impl Field for Vec<NewEvent> {
    fn read(name: &str, values: &Bound<'_, PyAny>, max: usize) -> PyResult<Self> {
        let indexed = convert::iterable(|| name.to_owned(), values, max)?.enumerate();
        indexed.map(|(index, value)| new_event(&format!("{name}[{index}]"), &value?)).collect()
    }
}

/// A `Schedule`.
fn schedule(path: &str, value: &Bound<'_, PyAny>) -> PyResult<Schedule> {
    let named = |name: &str| format!("{path}.{name}");
    let of = |name: &str| value.getattr(name).map_err(|_| wrong_type(path, "a Schedule", value));
    let mut schedule = Schedule::new(convert::text(&named("id"), &of("id")?)?);
    macro_rules! set {
        ($($name:ident: $ty:ty),+) => {$(
            let part = Some(of(stringify!($name))?).filter(|part| !part.is_none());
            if let Some(part) = given::<$ty>(&named(stringify!($name)), part.as_ref())? {
                schedule = schedule.$name(part);
            }
        )+};
    }
    set!(cron: String, zone: String, every: Duration, anchor_ms: u64, payload: Vec<u8>);
    set!(ttl: Duration, missed: Missed, grace: Duration, overlap: Overlap);
    set!(from_ms: u64, until_ms: u64, revision: u64);
    let headers = of("headers")?;
    if !headers.is_none() {
        let headers: Fields = required(&named("headers"), &headers)?;
        schedule = schedule.headers(headers.iter());
    }
    Ok(schedule)
}

impl Field for Vec<Schedule> {
    fn read(name: &str, values: &Bound<'_, PyAny>, max: usize) -> PyResult<Self> {
        let indexed = convert::iterable(|| name.to_owned(), values, max)?.enumerate();
        indexed.map(|(index, value)| schedule(&format!("{name}[{index}]"), &value?)).collect()
    }
}

macro_rules! names {
    ($($ty:ty),+) => {$(
        impl ToPython for $ty {
            fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
                self.name().into_bound_py_any(py)
            }
        }
    )+};
}

names!(Cancelled, DeadReason, EventState, Held, PutStatus, Redriven, Rescheduled, Settled, Status);

impl ToPython for EventId {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        self.to_string().into_bound_py_any(py)
    }
}

impl ToPython for Arc<[u8]> {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        Ok(PyBytes::new(py, &self).into_any())
    }
}

impl ToPython for Token {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        Ok(PyBytes::new(py, &self).into_any())
    }
}

impl ToPython for millpond::tasks::Headers {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        Ok(crate::fields::dict(py, &self)?.into_any())
    }
}
