//! Tests that measure their process, and need it for themselves.

mod memory;
mod shuffle_idle;
