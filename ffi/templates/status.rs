//! Status codes: the core's kinds of errors.

/// How a call went: `MILLPOND_OK`, or what went wrong. The numbers are the same in every language
/// and are never used again for something else. `millpond_error_kind_at` has them as a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum millpond_status {
    /// The call did what it says.
    MILLPOND_OK = 0,
    {% for of in errors %}

{{ of.comment }}MILLPOND_{{ of.name }} = {{ of.code }},
    {% endfor %}
}

pub use millpond_status::*;

/// Every status but `MILLPOND_OK`, in the order of the core's kinds.
pub(crate) const ALL: [millpond_status; {{ errors | length }}] = [
    {% for of in errors %}MILLPOND_{{ of.name }},{% endfor %}

];
