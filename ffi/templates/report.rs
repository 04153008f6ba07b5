//! The kinds of reports of workers.

use std::ffi::CStr;

use millpond::ReportKind;

{{ comment }}#[repr(C)]
#[derive(Clone, Copy)]
pub enum millpond_report_kind {
    {% for kind in kinds %}

{{ kind.comment }}MILLPOND_REPORT_{{ kind.name | upper }} = {{ loop.index }},
    {% endfor %}
}

/// All kinds, from number 1 on, and their names.
pub(crate) const ALL: [(ReportKind, &CStr); {{ kinds | length }}] = [
    {% for kind in kinds %}(ReportKind::{{ kind.name }}, c"{{ kind.name | lower }}"),{% endfor %}

];
