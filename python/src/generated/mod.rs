//! What the generator writes, from the core's own items: `make bindings`.

mod classes;
mod records;
