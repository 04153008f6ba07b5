# The fields of classes of the native half.

import datetime
from types import GenericAlias
from typing import Any, Generic

from typing_extensions import Self, TypeVar

from .values import UNSET, Unset

_Value = TypeVar("_Value", covariant=True, default=Any)
_T = TypeVar("_T", default=Any)
{% for class in classes %}

class {{ class.name }}Fields(Generic[_Value]):
    def __new__(
        cls,
{% for field in class.fields %}
{{ "        *,\n" if field.is_json -}}
{% if field.is_json %}
        {{ field.name }}: _Value | Unset = UNSET,
        json: str | Unset | None = UNSET,
{% else %}
        {{ field.name }}: {{ field.annotation if field.is_needed else field.annotation|replace(" | None", "") ~ " | None = None" }},
{% endif %}
{% endfor %}
    ) -> Self: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
{% for field in class.fields %}
    @property
    def {{ field.name }}(self) -> {{ "_Value" if field.is_json else field.annotation }}: ...
{% if field.is_json %}
    @property
    def json(self) -> str | None: ...
{% elif field.at %}
    @property
    def {{ field.at }}(self) -> {{ field.annotation|replace("int", "datetime.datetime") }}: ...
{% endif %}
{% endfor %}
    def __getnewargs_ex__(self) -> Any: ...
{% endfor %}
