//! What shuffle queues are compared with: a model written from the specification, and the
//! traces that were recorded from the system that introduced them.

mod ids;
pub mod model;
pub mod trace;
