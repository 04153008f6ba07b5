//! The handles of {{ words }}, and the calls that convert arguments, call the core and convert the result.

#![allow(unused_imports, clippy::useless_conversion, reason = "one form for all calls")]

use std::ffi::c_char;
use std::time::Duration;

use super::*;
use crate::caller::{self, Caller};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::keys::*;
use crate::options::*;
use crate::status::millpond_status;
{% for handle in handles %}
{% if handle.name %}

{{ handle.comment }}pub struct millpond_{{ handle.name }} {
    _private: (),
}
{% endif %}
{% for function in handle.functions %}

{{ function.comment }}#[unsafe(no_mangle)]
pub unsafe extern "C" fn {{ function.name }}(
    {{ function.params }} error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.{{ "run" if function.waits else "local" }}(error, || {
        {{ function.body }}
        Ok(())
    })
}
{% endfor %}
{% if handle.name %}

{{ handle.free }}#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ handle.name }}_free({{ handle.own }}: *mut millpond_{{ handle.name }}) {
    caller::free({{ handle.own }});
}
{% endif %}
{% endfor %}
