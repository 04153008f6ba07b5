//! What Millpond is held to, and the servers it is held to it on.
//!
//! Nothing here is published: it is the shared ground of the test suites of every language. Rust
//! uses it as a library, the others through the program `millpond-test-servers`.

pub mod proxy;
pub mod servers;
pub mod shuffle;
