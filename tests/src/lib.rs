//! Millpond.
