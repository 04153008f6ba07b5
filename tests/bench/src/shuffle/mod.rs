//! Shuffle queues: what a message costs the server, how many go through it, and embedded.

mod embedded;
mod server_time;
mod throughput;

use crate::Outcome;
use crate::report::Report;

/// Tenants whose messages a batch holds.
const TENANTS: usize = 40;

const STREAMS: [u32; 4] = [1, 16, 64, 256];

pub(crate) fn measure(report: &mut Report) -> Outcome {
    server_time::measure(report)?;
    throughput::measure(report)?;
    embedded::measure(report)
}

pub(crate) fn tenant(n: usize) -> String {
    (n * 7 % TENANTS).to_string()
}

/// A message of 2 fields with 56 bytes in all.
fn fields(n: usize) -> [(&'static str, String); 2] {
    [("task", format!("resize-{n:08}")), ("image", "https://example.org/images/1.png".to_owned())]
}
