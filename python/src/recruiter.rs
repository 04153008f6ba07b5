//! Recruiters: the core decides what runs, and Python calls the handlers.

use std::time::Duration;

use millpond::recruiter::{self, Begun, Duty, NewJob, Why};
use millpond::{Error, Mode};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors;
use crate::generated::Recruiter;
use crate::given::{given, required};
use crate::handle::{Handle, block, derive, either};
use crate::loops::{Slices, start_waiting};
use crate::to_python::ToPython;

#[pymethods]
impl Recruiter {
    /// Installs a job, whose handler Python keeps.
    #[expect(clippy::too_many_arguments, reason = "they are keywords, and one function reads them")]
    fn install(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        per_second: Option<&Bound<'_, PyAny>>,
        share: Option<&Bound<'_, PyAny>>,
        burst: Option<&Bound<'_, PyAny>>,
        budget: Option<&Bound<'_, PyAny>>,
        max_running: Option<&Bound<'_, PyAny>>,
        lease: Option<&Bound<'_, PyAny>>,
        idle_max: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut job = NewJob::new(required::<String>("id", id)?);
        macro_rules! set {
            ($($name:ident: $ty:ty),+) => {$(
                if let Some(value) = given::<$ty>(stringify!($name), $name)? {
                    job = job.$name(value);
                }
            )+};
        }
        set!(per_second: f64, share: f64, burst: u32, max_running: u32);
        set!(budget: Duration, lease: Duration, idle_max: Duration);
        errors::answer(py, either!(&self.core, |core| core.install_job(job)))
    }

    /// What an enlistment does without the server: why nothing runs, or a slice; None if it has to ask. It keeps the
    /// interpreter's lock: nothing here waits, and a thread that releases the lock may wait long to get it back.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        budget: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let budget = given("budget", budget)?;
        either!(&self.core, |core| {
            let begun = core.decide(budget).map(|begun| parts(py, begun)).transpose()?;
            Ok(begun.map(|(begun, _)| begun))
        })
    }

    /// What it does after it asked, and the server's error, if there was one.
    fn ask(&self, py: Python<'_>, budget: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let budget = given("budget", budget)?;
        match &self.core {
            Handle::Blocking(core) => block(py, || core.ask(budget), asked),
            // A slice that comes after its caller was cancelled must not stay.
            Handle::Async(core) => start_waiting(py, || core.ask(budget), asked),
        }
    }

    /// The loop that `run` is built on.
    fn slices(&self) -> Slices {
        let core = derive!(&self.core, |core| core.slices().wait(Duration::MAX).yield_errors());
        Slices::new(core, self.text)
    }
}

fn asked<M: Mode>(py: Python<'_>, begun: Begun<M>) -> PyResult<Py<PyAny>>
where
    recruiter::Slice<M>: ToPython,
{
    let (begun, error) = parts(py, begun)?;
    let error = error.map(|error| errors::exception(py, &error).into_value(py));
    (begun, error).into_py_any(py)
}

/// A slice, or why there is none, and the server's error.
fn parts<M: Mode>(py: Python<'_>, begun: Begun<M>) -> PyResult<(Bound<'_, PyAny>, Option<Error>)>
where
    recruiter::Slice<M>: ToPython,
{
    Ok(match begun {
        Begun::Slice(slice) => (slice.to_python(py, false)?, None),
        Begun::Dismissed(duty, error) => (dismissed(py, duty)?, error),
    })
}

/// The same object each time for a reason: most enlistments run nothing.
fn dismissed(py: Python<'_>, duty: Duty) -> PyResult<Bound<'_, PyAny>> {
    static DUTIES: [PyOnceLock<Py<PyAny>>; Why::Stopped as usize + 1] =
        [const { PyOnceLock::new() }; Why::Stopped as usize + 1];
    let Some(made) = DUTIES.get(duty.why as usize) else { return duty.to_python(py, false) };
    let made = made.get_or_try_init(py, || PyResult::Ok(duty.to_python(py, false)?.unbind()))?;
    Ok(made.bind(py).clone())
}

impl ToPython for Why {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        self.name().into_bound_py_any(py)
    }
}
