//! The fields of the classes that are written in Rust: their constructor and getters.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::doc::Doc;
use crate::given::{given, required};
use crate::json::{self, Given};
use crate::task::Task;
use crate::when;

type NewArgs<'py> = PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)>;
{% macro signature(class, unset, equals) -%}
{% for field in class.fields %}
{{- "*, " if field.is_json }}{{ field.name }}
{{- "" if field.is_needed else equals ~ (unset if field.is_json else "None") }}
{{- ", json" ~ equals ~ unset if field.is_json }}{{ ", " if not loop.last }}
{%- endfor %}
{%- endmacro %}
{% for class in classes %}

#[pymethods]
impl {{ class.name }} {
    #[new]
    #[pyo3(signature = ({{ signature(class, "Given(None)", " = ") }}), text_signature = "({{ signature(class, "millpond.UNSET", "=") }})")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn of(py: Python<'_>, {% for field in class.fields %}{{ field.name }}: {{ "&Bound<'_, PyAny>" if field.is_needed else "Given<'_>, json: Given<'_>" if field.is_json else "Option<&Bound<'_, PyAny>>" }}, {% endfor %}) -> PyResult<Self> {
        Ok(Self::new({{ class.path }} {
{% for field in class.fields %}
{% if field.is_json %}
            {{ field.name }}: json::read(py, "{{ field.name }}", {{ field.name }}, json)?.text(),
{% elif field.is_needed %}
            {{ field.name }}: required("{{ field.name }}", {{ field.name }})?,
{% else %}
            {{ field.name }}: given("{{ field.name }}", {{ field.name }})?{{ ".unwrap_or_default()" if not field.is_optional }},
{% endif %}
{% endfor %}
        }))
    }
{% for field in class.fields if not field.is_json %}

{% for line in field.comment|lines(96) %}
    ///{{ " " if line }}{{ line }}
{% endfor %}
    #[getter]
{% if field.annotation is startingwith("str") %}
    fn {{ field.name }}(&self) -> {{ "Option<&str>" if field.is_optional else "&str" }} {
        {{ "" if field.is_optional else "&" }}self.core.{{ field.name }}{{ ".as_deref()" if field.is_optional }}
{% elif field.annotation is startingwith("dict") %}
    fn {{ field.name }}<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::fields::dict(py, &self.core.{{ field.name }})
{% else %}
    fn {{ field.name }}(&self) -> {{ "Option<u64>" if field.is_optional else "u" ~ field.bits }} {
        self.core.{{ field.name }}
{% endif %}
    }
{% if field.at %}

    /// The same as ``{{ field.name }}``, as a datetime in UTC{{ "; None for never" if field.is_optional }}.
    #[getter]
{% if field.is_optional %}
    fn {{ field.at }}<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.{{ field.name }}.map(|ms| when::from_ms(py, ms)).transpose()
{% else %}
    fn {{ field.at }}<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        when::from_ms(py, self.core.{{ field.name }})
{% endif %}
    }
{% endif %}
{% endfor %}

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> NewArgs<'py> {
        let named = PyDict::new(py);
{% for field in class.fields if not field.is_positional %}
{% set name = "json" if field.is_json else field.name %}
        named.set_item("{{ name }}", self.{{ name }}({{ "py)?" if field.annotation is startingwith("dict") else ")" }})?;
{% endfor %}
        Ok((({% for field in class.fields if field.is_positional %}self.{{ field.name }}(), {% endfor %}).into_pyobject(py)?, named))
    }
}
{% endfor %}
