//! Structures of {{ words }}.

#![allow(unused_imports, unused_parens, unused_variables, clippy::useless_conversion, reason = "one form for all queues")]

use std::ptr;
use std::time::Duration;

use millpond::Result;

use super::*;
use crate::caller::{Caller, invalid};
use crate::keys::{bytes, millpond_bytes, own};
use crate::options::*;
{% for of in structures %}

{{ of.comment }}#[repr(C)]
#[derive(Clone, Copy)]
pub struct {{ of.name }} {
    {% if of.is_options %}
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    {% endif %}
    {% for field in of.fields %}
{{ field.comment }}pub {{ field.own }}: {{ field.ty }},
    {% endfor %}
}
{% if of.is_options %}

growing! { {{ of.name }} {
    {% for field in of.fields if field.default not in ["", "0", "millpond_bytes::NONE", "ptr::null()"] %}
    {{ field.own }}: {{ field.default }},
    {% endfor %}
} }

impl {{ of.name }} {
    pub(crate) fn read(&self, caller: &Caller, {{ of.param }}) -> Result<{{ of.core }}> {
        {{ of.start }}
        {{ of.reads }}
        Ok(it)
    }
}
{% if of.init %}

{{ of.init }}///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn {{ of.name }}_init(options: *mut {{ of.name }}, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}
{% endif %}
{% else %}
{% set texts = of.fields | selectattr("text") | list %}
{% if of.is_returned %}

impl {{ of.name }} {
    pub(crate) fn new(
        from: &{{ of.core }},
        {% if texts %}mut cut: impl FnMut(Option<&[u8]>) -> millpond_bytes,{% endif %}
    ) -> Self {
        Self { {% for field in of.fields %}{{ field.own }}: {{ field.value }},{% endfor %} }
    }
    {% if texts and not of.is_alone %}

    /// Adds the texts, in the order of the fields.
    pub(crate) fn texts(from: &{{ of.core }}, all: &mut Vec<u8>) {
        {% for field in texts %}
        all.extend_from_slice({{ field.push }});
        {% endfor %}
    }
    {% endif %}
}
{% endif %}
{% if of.is_fixed %}

impl Element for {{ of.name }} {
    type Core<'c> = {{ of.core }};

    fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<{{ of.core }}> {
        Ok({{ of.core }} { {% for field in of.fields %}{{ field.from }}: {{ field.read }},{% endfor %} })
    }
}
{% endif %}
{% endif %}
{% endfor %}
{% for of in enums %}

{{ of.comment }}#[repr(C)]
#[derive(Clone, Copy)]
pub enum {{ of.name }} {
    {% for variant in of.variants %}
{{ variant.comment }}{{ variant.name }} = {{ loop.index }},
    {% endfor %}
}

{% if of.is_taken %}

/// The value with this number.
pub(crate) fn {{ of.own }}(number: u32) -> Result<{{ of.core }}> {
    match number {
        {% for variant in of.variants %}
        {{ loop.index }} => Ok({{ of.core }}::{{ variant.core }}),
        {% endfor %}
        _ => Err(invalid(format!(
            "{{ of.own }} is {number}; it has to be {{ of.variants | map(attribute="name") | join(" or ") }}"
        ))),
    }
}
{% endif %}
{% endfor %}
{% for of in refusals %}

{{ of.comment }}#[repr(C)]
pub struct {{ of.name }} {
    {% for list in of.lists %}
{{ list.comment }}pub {{ list.name }}: *const {{ list.ty }},
    /// How many there are.
    pub {{ list.one }}_count: usize,
    {% endfor %}
    {% for flag in of.flags %}
{{ flag.comment }}pub {{ flag.name }}: bool,
    {% endfor %}
}

/// What an error holds of a refusal: the lists, and what they point to.
pub(crate) struct Refusal {
    pub(super) lists: {{ of.name }},
    {% for list in of.lists %}
    _{{ list.name }}: Box<[{{ list.ty }}]>,
    {% endfor %}
    _core: {{ of.core }},
}

// SAFETY: the pointers point into its other parts, which are never changed or moved.
unsafe impl Send for Refusal {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Refusal {}

impl Refusal {
    pub(crate) fn new(core: &{{ of.core }}) -> Box<Self> {
        // Its texts are shared, and so do not move.
        let core = core.clone();
        {% for list in of.lists %}
        let {{ list.name }}: Box<[_]> = core.{{ list.name }}.iter().map(|id| {{ list.ty }}::new(id, own)).collect();
        {% endfor %}
        let lists = {{ of.name }} {
            {% for list in of.lists %}
            {{ list.name }}: {{ list.name }}.as_ptr(), {{ list.one }}_count: {{ list.name }}.len(),
            {% endfor %}
            {% for flag in of.flags %}{{ flag.name }}: core.{{ flag.name }}(),{% endfor %}
        };
        Box::new(Self {
            lists,
            {% for list in of.lists %}_{{ list.name }}: {{ list.name }},{% endfor %}
            _core: core,
        })
    }
}
{% endfor %}
