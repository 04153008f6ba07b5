{# Errors that are one of Python's own too. #}
{% set builtins = {
    "InvalidArgument": "ValueError",
    "InvalidUrl": "ValueError",
    "ConnectionFailed": "ConnectionError",
    "ConnectionLost": "ConnectionError",
    "Timeout": "builtins.TimeoutError",
    "AuthenticationFailed": "PermissionError",
    "PermissionDenied": "PermissionError",
    "Storage": "OSError",
} %}
"""The errors of Millpond. Every error of a call is a :class:`MillpondError`; there is one class for
each kind of error, with a code and a name that are the same in every language Millpond supports.
"""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, Literal

from .records import DocId, TaskId

__all__ = [
{% for name in (["Millpond"] + errors|map(attribute="name"))|sort %}
    "{{ name }}Error",
{% endfor %}
]


class MillpondError(Exception):
    """Something went wrong; the message is one line for people.

    >>> import millpond
    >>> try:
    ...     millpond.connect("memory:").ick("files").add([(float("nan"), "a.txt")])
    ... except millpond.MillpondError as error:
    ...     print(error.code, error.name, error.operation, error.retry)
    1 INVALID_ARGUMENT ick.add never
    """

    code: ClassVar[int] = 0
    """The stable number of the kind of error, the same in every language."""
    name: ClassVar[str] = ""
    """The stable name of the kind of error, the same in every language."""
    retry: ClassVar[Literal["never", "later", "unknown"]] = "never"
    """Whether a retry can help: ``"never"``, not until something changes; ``"later"``, nothing was
    done; ``"unknown"``, it may have been done, so check before you repeat it."""
    operation: str
    """The operation that failed, such as ``"ick.add"``; empty if there was none."""

    def __init__(self, message: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.operation = operation
{% for error in errors %}


class {{ error.name }}Error(MillpondError{{ ", " ~ builtins[error.name] if error.name in builtins }}):
{{ error.comment|docstring(4) }}

    code = {{ error.code }}
    name = "{{ error.text }}"
    retry = "{{ error.retry }}"
{% if error.name == "Dependency" %}
{% for field in dependency.fields %}
    {{ field.name }}: {{ field.annotation }}
{{ field.comment|docstring(4) }}
{% endfor %}

    def __init__(
        self, message: str = "", operation: str = "", found: list[Any] | None = None
    ) -> None:
        super().__init__(message, operation)
        # In the order in which they are declared.
        for index, (name, kind) in enumerate(DependencyError.__annotations__.items()):
            setattr(self, name, found[index] if found else [] if kind.startswith("list") else False)
{% endif %}
{% endfor %}


CLASSES: dict[int, type[MillpondError]] = {
    kind.code: kind
    for kind in (
{% for error in errors %}
        {{ error.name }}Error,
{% endfor %}
    )
}
