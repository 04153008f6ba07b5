//! A clock that tests move.

use std::sync::Arc;

use millpond::Clock;
use pyo3::prelude::*;

use crate::{convert, when};

/// A clock that stands still until it is told to move, for tests: what is due in an hour is due when
/// the clock was advanced by an hour, and whoever waits for it is woken, from here and from
/// :mod:`millpond.aio`.
///
/// It stands at ``at``, a datetime, or at ``at_ms`` in milliseconds since the Unix epoch, and by
/// default at the present. An embedded engine is opened with it: ``connect("memory:", clock=clock)``.
/// Clients that share an engine share its clock.
///
/// It is the engine's clock of times, delays and leases. The rest goes by the system's time: how long
/// a call waits, a worker's timeout, and when a lease is renewed. So an advance by more than a lease
/// ends it, as if its holder had been stopped for that long.
///
/// >>> from datetime import timedelta
/// >>> import millpond
/// >>> clock = millpond.ManualClock(at_ms=1_700_000_000_000)
/// >>> client = millpond.connect("memory:", clock=clock)
/// >>> clock.advance(timedelta(minutes=1))
/// >>> client.tasks("shop").time() - 1_700_000_000_000
/// 60000
#[pyclass(frozen, module = "millpond")]
pub(crate) struct ManualClock {
    pub(crate) core: Arc<millpond::ManualClock>,
}

#[pymethods]
impl ManualClock {
    #[new]
    #[pyo3(signature = (at = None, *, at_ms = None))]
    fn new(
        py: Python<'_>,
        at: Option<&Bound<'_, PyAny>>,
        at_ms: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let core = match when::read(py, at, at_ms, None)? {
            when::When::At(ms) => millpond::ManualClock::at(ms.saturating_mul(1_000)),
            _ => millpond::ManualClock::new(),
        };
        Ok(Self { core: Arc::new(core) })
    }

    /// The time that it shows, in UTC.
    #[getter]
    fn now<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        when::from_ms(py, self.now_ms())
    }

    /// The same, in milliseconds since the Unix epoch.
    #[getter]
    fn now_ms(&self) -> u64 {
        self.core.now() / 1_000
    }

    /// Moves the clock forward, in seconds or by a timedelta, at most to the end of the year 9999, and
    /// wakes those who wait for what is due then.
    ///
    /// :param time: in seconds, or a timedelta
    /// :raises InvalidArgumentError: for less than no time
    fn advance(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<()> {
        let time = convert::duration("time", time)?;
        py.detach(|| self.core.advance(time));
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("ManualClock({})", self.now(py)?.repr()?))
    }
}
