//! The classes whose methods convert arguments, call the core and convert the result.

#![allow(clippy::unit_arg, reason = "one form for all calls")]

use std::time::Duration;

use millpond::step::ByteList;
use millpond::{Async, Blocking};
use pyo3::prelude::*;

use crate::convert::Pairs;
use crate::errors;
use crate::fields::{Fields, Messages as Written};
use crate::given::{amount, given, required, up_to};
use crate::handle::{Handle, call, derive, either};
use crate::held::{ {{- held|join(", ") -}} };
use crate::json::{self, Given, Json};
use crate::loops::{Batches, Claims, Deliveries, Garbage, Jobs, Messages};
use crate::modification::Modification;
use crate::task::{Task, TaskChange};
use crate::to_python::{ToPython, decoded};
use crate::when::{self, When};
{% macro declared(signature) -%}
{% for param in signature.params %}
{{- param.name }}: {{ "bool" if param.annotation == "bool" else "Given<'_>" if param.default == "UNSET" else "Option<&Bound<'_, PyAny>>" if param.default == "None" or param.annotation is endingwith("| None") else "&Bound<'_, PyAny>" }},
{% endfor %}
{%- endmacro %}
{% macro with_defaults(signature, equals, unset, off) -%}
{% for param in signature.params %}
{{- "*, " if param.is_first_keyword }}{{ param.name }}{{ equals if param.default }}
{{- unset if param.default == "UNSET" else off if param.default == "False" else param.default }}{{ ", " if not loop.last }}
{%- endfor %}
{%- endmacro %}
{% macro set(step, call) -%}
{{ step.target }} = {{ "derive!(core, |core| core." ~ call ~ ")" if step.is_handle else step.target ~ "." ~ call }};
{%- endmacro %}
{% macro steps(all) %}
{% for step in all %}
{% if step.kind == "json" %}
        match json::read(py, "{{ step.name }}", {{ step.name }}, json)? {
            Json::LeftOut => {}
            Json::Absent => { {{ set(step, "no_value()") if step.is_removable }} }
            Json::Text(text) => { {{ set(step, step.name ~ "(text)") }} }
        }
{% elif step.kind == "when" %}
        match when::read(py, at, at_ms, delay)? {
            When::LeftOut => {}
            When::At(at_ms) => { {{ set(step, "at_ms(at_ms)") }} }
            When::After(delay) => { {{ set(step, step.call ~ "(delay)") }} }
        }
{% elif step.kind == "flag" %}
        if {{ step.name }} { {{ set(step, step.call) }} }
{% elif step.kind == "each" %}
        for name in {{ step.name }} { {{ set(step, step.call) }} }
{% elif step.kind == "some" %}
        if let Some({{ step.name }}) = {{ step.name }} { {{ set(step, step.call) }} }
{% else %}
        {{ set(step, step.call) }}
{% endif %}
{% endfor %}
{% endmacro %}
{% macro before(call) %}
{% for one in call.reads %}
{% set read = one.function ~ '("' ~ one.name ~ '", ' ~ one.name ~ (", " ~ one.max if one.max) ~ ")?" %}
{% if not one.is_optional %}
        let {{ one.name }}{{ ": " ~ one.ty if one.ty != "_" }} = {{ read }};
{% elif one.function == "given" %}
        let {{ one.name }}: Option<{{ one.ty }}> = {{ read }};
{% else %}
        let {{ one.name }}: Option<{{ one.ty }}> = match {{ one.name }} { Some({{ one.name }}) => Some({{ read }}), None => None };
{% endif %}
{% endfor %}
{% if call.options %}
        let {{ "mut " if call.steps }}{{ call.options.name }} = {{ call.options.made }};
        {{- steps(call.steps) }}
{% endif %}
{% endmacro %}
{% for class in handles %}
{% if class.is_handle and class.name not in held %}

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct {{ class.name }} {
    pub(crate) core: Handle<{{ class.path }}, {{ class.path }}<Async>>,
    pub(crate) text: bool,
}

impl {{ class.name }} {
    pub(crate) fn new(core: Handle<{{ class.path }}, {{ class.path }}<Async>>, text: bool) -> Self {
        Self { core, text }
    }

    fn core(&self, _: Python<'_>) -> PyResult<&Handle<{{ class.path }}, {{ class.path }}<Async>>> {
        Ok(&self.core)
    }
}
{% endif %}
{% for mode in ["Blocking", "Async"] if class.is_handle %}

impl ToPython for {{ class.path }}<{{ mode }}> {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        Ok(Bound::new(py, {{ class.name }}::new(Handle::{{ mode }}(self), text))?.into_any())
    }
}
{% endfor %}

#[pymethods]
impl {{ class.name }} {
{% for call in class.calls %}

{% if class.is_handle %}
    {{ "#[getter]" if call.signature.is_property }}
    fn {{ call.signature.name }}(&self, py: Python<'_>, {{ declared(call.signature) }}) -> PyResult<{{ call.made if call.kind == "make" else "Py<PyAny>" }}> {
        {{ before(call) }}
{% if call.kind == "call" %}
        let core = self.core(py)?;
{% if call.of %}
        match {{ call.of }} {
{% for (pattern, expression) in call.arms %}
            {{ pattern }} => call!(py, core, |core| core.{{ expression }}, decoded(self.text)),
{% endfor %}
        }
{% else %}
        call!(py, core, |core| core.{{ call.arms[0][1] }}, decoded(self.text))
{% endif %}
{% elif call.kind == "ask" %}
        let core = self.core(py)?;
{% set found = "either!(core, |core| core." ~ call.arms[0][1] ~ (")" if call.can_fail else ".to_owned())") %}
{% set found = found if call.is_quick else "py.detach(|| " ~ found ~ ")" %}
        decoded(self.text)(py, {{ "errors::answer(py, " ~ found ~ ")?" if call.can_fail else found }})
{% else %}
        let {{ "mut " if call.steps }}core = derive!(self.core(py)?, |core| {{ "errors::answer(py, core." ~ call.arms[0][1] ~ ")?" if call.can_fail else "core." ~ call.arms[0][1] }});
        {{ steps(call.steps) }}
        Ok({{ call.made }}::new(core, self.text))
{% endif %}
    }
{% else %}
{% for line in call.comment|lines(96) %}
    ///{{ " " if line }}{{ line }}
{% endfor %}
    #[pyo3(signature = ({{ with_defaults(call.signature, " = ", "Given(None)", "false") }}), text_signature = "($self, {{ with_defaults(call.signature, "=", "millpond.UNSET", "False") }})")]
    fn {{ call.signature.name }}<'py>(this: &Bound<'py, Self>, {{ declared(call.signature) }}) -> PyResult<Bound<'py, {{ class.name if call.kind == "entry" else call.made }}>> {
        {{ "let py = this.py();" if call.kind != "entry" or call.steps }}
        {{ before(call) }}
{% if call.kind == "entry" and call.arms %}
        Self::with(this, |core| core.{{ call.arms[0][1] }})
{% else %}
        let mut core = this.get().core.{{ "clone()" if call.kind == "entry" else call.arms[0][1] }};
        {{ steps(call.steps) }}
        Bound::new(py, {{ class.name if call.kind == "entry" else call.made }} { core })
{% endif %}
    }
{% endif %}
{% endfor %}
}
{% endfor %}
{% for enum in enums %}

impl crate::given::Field for {{ enum.path }} {
    fn read(name: &str, value: &Bound<'_, PyAny>, _: usize) -> PyResult<Self> {
        match &*String::read(name, value, 0)? {
{% for (variant, word) in enum.variants %}
            "{{ word }}" => Ok(Self::{{ variant }}),
{% endfor %}
            other => {
                let message = format!("{name} is {other:?}; it has to be {% for (_, word) in enum.variants %}\"{{ word }}\"{{ " or " if not loop.last }}{% endfor %}");
                Err(errors::invalid(value.py(), message))
            }
        }
    }
}
{% endfor %}
