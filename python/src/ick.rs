//! The sizes and score ranges of an Ick.

use millpond::ick::Stats;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::convert::text_or_bytes;
use crate::to_python::ToPython;

impl ToPython for Stats {
    /// The values of the Python class, in its order.
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        let (pset_min, pset_max) = self.producer_range.unzip();
        let (cset_min, cset_max) = self.consumer_range.unzip();
        let (total_min, total_max) = self.total_range().unzip();
        let keys = (
            &self.version,
            text_or_bytes(py, &self.key, text)?,
            text_or_bytes(py, &self.producer_key, text)?,
            text_or_bytes(py, &self.consumer_key, text)?,
        );
        let sizes = (self.producer_size, self.consumer_size, self.total_size());
        let scores = (pset_min, pset_max, cset_min, cset_max, total_min, total_max);
        (keys, sizes, scores).into_bound_py_any(py)
    }
}
