//! Task stores: a model of what their steps do.

pub mod model;
