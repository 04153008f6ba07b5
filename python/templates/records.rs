//! Conversion of records to Python.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::to_python::{ToPython, class, data_class, named_tuple};
{% for record in records + [dependency] %}

impl ToPython for {{ record.path }} {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
{% for field in record.fields if field.is_getter %}
        let {{ field.name }} = self.{{ field.name }}();
{% endfor %}
        let Self { {% for field in record.fields if not field.is_getter %}{{ field.name }}, {% endfor %}.. } = self;
        let values = [
{% for field in record.fields %}
            {{ "(\"" ~ field.name ~ "\", " if record.is_generic }}{{ field.name }}.to_python(py, text)?{{ ")" if record.is_generic }},
{% endfor %}
        ];
{% if record.name == "Dependency" %}
        Ok(PyList::new(py, values)?.into_any())
{% elif record.is_generic %}
        data_class(class!(py, "{{ record.name }}"), values)
{% else %}
        named_tuple(class!(py, "{{ record.name }}"), PyTuple::new(py, values)?)
{% endif %}
    }
}
{% endfor %}
