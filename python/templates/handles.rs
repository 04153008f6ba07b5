//! The classes whose methods convert arguments, call the core and convert the result.

use std::time::Duration;

use millpond::step::ByteList;
use millpond::{Async, Blocking};
use pyo3::prelude::*;

use crate::convert::Pairs;
use crate::errors;
use crate::fields::{Fields, Messages as Written};
use crate::given::{amount, given, required, up_to};
use crate::handle::{Handle, call, derive, either};
use crate::json::{self, Given, Json};
use crate::lease::ConsumerLease;
use crate::loops::{Batches, Claims, Garbage, Jobs, Messages};
use crate::modification::Modification;
use crate::task::{Task, TaskChange};
use crate::to_python::{ToPython, decoded, plain};
use crate::when::{self, When};
{% for class in handles %}
{% if class.is_handle and class.name != "ConsumerLease" %}

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
    fn {{ call.signature.name }}(&self, py: Python<'_>, {{ call.declared }}) -> PyResult<{{ call.made if call.kind == "make" else "Py<PyAny>" }}> {
        {{ call.before|join("\n") }}
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
        plain(py, py.detach(|| either!(core, |core| core.{{ call.arms[0][1] }}.to_owned())))
{% else %}
        let {{ "mut " if call.after }}core = derive!(self.core(py)?, |core| {{ "errors::answer(py, core." ~ call.arms[0][1] ~ ")?" if call.can_fail else "core." ~ call.arms[0][1] }});
        {{ call.after|join("\n") }}
        Ok({{ call.made }}::new(core, self.text))
{% endif %}
    }
{% else %}
{% for line in call.comment|lines(96) %}
    ///{{ " " if line }}{{ line }}
{% endfor %}
    #[pyo3(signature = ({{ call.defaults }}), text_signature = "($self, {{ call.shown }})")]
    fn {{ call.signature.name }}<'py>(this: &Bound<'py, Self>, {{ call.declared }}) -> PyResult<Bound<'py, {{ class.name if call.kind == "entry" else call.made }}>> {
        {{ "let py = this.py();" if not call.arms or "(py," in call.before|join or call.kind == "make" or call.kind == "ask" }}
        {{ call.before|join("\n") }}
{% if call.kind == "entry" and call.arms %}
        Self::with(this, |core| core.{{ call.arms[0][1] }})
{% else %}
        let mut core = this.get().core.{{ "clone()" if call.kind == "entry" else call.arms[0][1] }};
        {{ call.after|join("\n") }}
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
                let message = format!("{name} is {other:?}; it has to be {{ enum.words }}");
                Err(errors::invalid(value.py(), message))
            }
        }
    }
}
{% endfor %}
