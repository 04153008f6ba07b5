//! Tests that measure their process, and need it for themselves.

mod exhausted;
mod memory;
mod shuffle_idle;
