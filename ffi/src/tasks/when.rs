//! How long to lease.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::LEASE_DEFAULT;

use crate::options::given;

/// The time of a lease, or the default.
pub(super) fn lease(lease_ms: i64) -> Result<Duration> {
    let given = given("lease_ms", lease_ms)?;
    Ok(given.map_or(LEASE_DEFAULT, Duration::from_millis))
}
