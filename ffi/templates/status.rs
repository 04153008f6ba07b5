//! Status codes: the core's kinds of errors.

/// The result of a call: `MILLPOND_OK`, or what went wrong. The numbers are the same in every language
/// and are never reused. `millpond_error_kind_at` returns them as a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum millpond_status {
    /// The call succeeded.
    MILLPOND_OK = 0,
    {% for of in errors %}

{{ of.comment }}MILLPOND_{{ of.name }} = {{ of.code }},
    {% endfor %}
}

pub use millpond_status::*;

/// Every status except `MILLPOND_OK`, in the order of the core's kinds.
pub(crate) const ALL: [millpond_status; {{ errors | length }}] = [
    {% for of in errors %}MILLPOND_{{ of.name }},{% endfor %}

];
