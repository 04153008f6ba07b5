"""What calls return: records with named fields, for blocking and asyncio callers alike."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, AnyStr, Generic, NamedTuple

from ._native import Doc, Message, Task
from .event_values import DeadReason, EventState, Status
from .recruiter_values import Why

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

__all__ = [
{% for name in records|map(attribute="name")|sort %}
    "{{ name }}",
{% endfor %}
]
{% for record in records %}


{{ "@dataclass(frozen=True)\n" if record.is_generic -}}
class {{ record.name }}({{ "Generic[AnyStr]" if record.is_generic else "NamedTuple" }}):
{{ record.comment|docstring(4) }}

{% for field in record.fields %}
    {{ field.name }}: {{ field.annotation }}
{{ field.comment|docstring(4) }}
{% endfor %}
{% for field in record.fields if field.at %}

    @property
    def {{ field.at }}(self) -> datetime.datetime{{ " | None" if field.is_optional }}:
        """The same as ``{{ field.name }}``, as a datetime in UTC."""
{% if field.is_optional %}
        if self.{{ field.name }} is None:
            return None
{% endif %}
        return _EPOCH + datetime.timedelta(milliseconds=self.{{ field.name }})
{% endfor %}
{% endfor %}
