//! Optional times.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::{LEASE_DEFAULT, When};

use crate::caller::invalid;
use crate::options::given;

/// A time on the clock or a delay from now; of both at most one.
pub(super) fn when(
    of: &impl Fn(&str) -> String,
    at_ms: i64,
    delay_ms: i64,
) -> Result<Option<When>> {
    let at = given(&of("at_ms"), at_ms)?.map(When::At);
    let delay = given(&of("delay_ms"), delay_ms)?;
    let after = delay.map(|delay_ms| When::After(Duration::from_millis(delay_ms)));
    match (at, after) {
        (Some(_), Some(_)) => {
            Err(invalid(format!("{} and {} are both given", of("at_ms"), of("delay_ms"))))
        }
        (at, after) => Ok(at.or(after)),
    }
}

/// How long to lease.
pub(super) fn lease(lease_ms: i64) -> Result<Duration> {
    let given = given("lease_ms", lease_ms)?;
    Ok(given.map_or(LEASE_DEFAULT, Duration::from_millis))
}
