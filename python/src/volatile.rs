//! What volatile hashes take beside what all queues do.

use millpond::volatile::FieldPosition;
use pyo3::prelude::*;

use crate::convert::{self, parts};
use crate::given::Field;

impl Field for FieldPosition {
    fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
        let expected = "a FieldPosition, a HashField or (expires_us, field)";
        let [expires, field] = parts(name, expected, ["expires_us", "field"], value)?;
        let expires = convert::whole(&format!("{name}.expires_us"), &expires)?;
        let field = convert::bytes(&format!("{name}.field"), &field)?;
        Ok(Self { expires_us: expires.unwrap_or(u64::MAX), field })
    }
}
