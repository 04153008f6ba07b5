//! The handles that JavaScript holds, and the methods of the core that it calls through them. The JavaScript half has
//! checked all arguments.

use millpond::Async;
use napi::Env;
use napi_derive::napi;

use crate::convert::{Bytes, CallResult, Fields, Ids, Members, MessageList, Pairs, Receipts, Size, duration, entries, milliseconds, unexpected};
use crate::entries::Entries;
use crate::events::{event_ids, receipts};
use crate::handle::{Handle, Held, Lease};
use crate::list::{written, written_bytes, written_text};
use crate::loops::{ {{ loops | join(', ') }}, Loop };
{% macro params(call) %}
{% for arg in call.args %}, {{ arg.name }}: {{ arg.rust }}{% endfor %}
{% if call.variant %}, {{ call.variant.option.name }}: Option<{{ call.variant.option.rust }}>{% endif %}
{% endmacro %}
{% macro given(call) %}{{ call.args | map(attribute='expression') | join(', ') }}{% endmacro %}
{% for of in classes %}
{% set numbers = of.getters | rejectattr('rust', 'equalto', 'bool') if of.is_held else [] %}

/// [`{{ of.path }}`]{{ ', and its numbers, which stay when it was given up' if numbers }}.
#[napi]
pub struct {{ of.name }}(pub(crate) {{ 'Held' if of.is_held else 'Handle' }}<{{ of.path }}<Async>>{{ ', f64' * (numbers | length) }});

impl {{ of.name }} {
    pub(crate) fn new(core: Handle<{{ of.path }}<Async>>) -> Self {
        {% for number in numbers %}
        let {{ number.name }} = core.core.{{ number.core }}() as f64;
        {% endfor %}
        Self({{ 'Held::new(core)' if of.is_held else 'core' }}{% for number in numbers %}, {{ number.name }}{% endfor %})
    }
}

#[napi]
impl {{ of.name }} {
{% for getter in of.getters %}
    /// [`{{ getter.core }}`]({{ of.path }}::{{ getter.core }}).
    #[napi(getter)]
    pub fn {{ getter.name }}(&self) -> {{ getter.rust }} {
    {% if of.is_held and getter.rust != 'bool' %}
        self.{{ loop.index }}
    {% elif of.is_held %}
        // A handle that was given up is lost and has ended.
        self.0.get(|core| core.{{ getter.core }}()).unwrap_or(true)
    {% else %}
        {{ getter.expression | replace('{}', 'self.0.core.' ~ getter.core ~ '()') }}
    {% endif %}
    }

{% endfor %}
{% if of.is_held %}
    /// Returns, as soon as it is lost or has ended otherwise, whether it was lost.
    #[napi]
    pub fn lost(&self, number: u32) -> bool {
        self.0.lost(number)
    }

{% endif %}
{% for call in of.calls %}
    /// [`{{ call.name }}`]({{ of.path }}::{{ call.name }}).
    #[napi]
    {% if call.name == 'release' and of.lease %}
    pub fn release(&self, number: u32) -> bool {
        self.0.release(number, |core| core.release())
    }
    {% elif call.is_call %}
    pub fn {{ call.name }}(&self, number: u32{{ params(call) }}) -> napi::Result<bool> {
        {% for arg in call.args if arg.before %}
        let {{ arg.name }} = {{ arg.before }};
        {% endfor %}
        {% if call.made %}
        let handle = self.0.with(());
        let convert = move |env: &Env, _, made: Option<_>| {
            CallResult::value(env, made.map(|made| {{ call.made }}::new(handle.with(made))))
        };
        {% endif %}
        let call = |core: &{{ of.path }}<Async>| {
        {% if call.variant %}
        {% set option = call.variant.option %}
            Ok(match {{ option.name }} {
                {% if call.variant.is_flag %}
                Some(true) => core.{{ call.variant.name }}({{ given(call) }}),
                _ => core.{{ call.name }}({{ given(call) }}),
                {% else %}
                Some({{ option.name }}) => core.{{ call.variant.name }}({{ given(call) }}{{ ', ' if call.args }}{{ option.expression }}),
                None => core.{{ call.name }}({{ given(call) }}),
                {% endif %}
            })
        {% else %}
            Ok(core.{{ call.name }}({{ given(call) }}))
        {% endif %}
        };
        Ok(self.0.start(number, call, {{ 'convert' if call.made else call.convert }}))
    }
    {% else %}
    pub fn {{ call.name }}(&self, env: Env{{ params(call) }}{{ ', options: Entries' if call.options }}{{ ', buffers: Option<bool>' if call.has_buffers }}) -> napi::Result<{{ call.made or call.value }}> {
        let call = |core: &{{ of.path }}<Async>| {
            {% if call.can_fail %}
            core.{{ call.name }}({{ given(call) }})
            {% elif call.value == '()' %}
            core.{{ call.name }}({{ given(call) }});
            Ok(())
            {% else %}
            Ok(core.{{ call.name }}({{ given(call) }}))
            {% endif %}
        };
        {% if not call.made %}
        self.0.at_once(&env, call){{ '.map(|made| made as f64)' if call.value == 'f64' }}
    }
        {% else %}
        let made = self.0.at_once(&env, call)?;
        {% if call.options %}
        let made = options.reader().{{ call.options }}(made)?;
        {% endif %}
        let made = self.0.with(made){{ '.buffers(buffers)' if call.has_buffers }};
        Ok({{ call.made }}{{ '(Loop::new(made))' if call.is_loop else '::new(made)' }})
    }
        {% endif %}
    {% endif %}

{% endfor %}
}
{% if of.lease %}

impl Lease for {{ of.path }}<Async> {
    const OVER: &'static str = "the {{ of.lease }} was released";

    fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.on_lost(then);
    }
}
{% endif %}
{% endfor %}
