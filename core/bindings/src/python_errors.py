"""What can go wrong. Every exception is a :class:`MillpondError`; there is one class for each kind
of error, with a code and a name that are the same in every language Millpond has.
"""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, Literal

from .records import DocId, TaskId

__all__ = [
{names}]


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
    """Whether the same call can help: ``"never"``, not before something changes; ``"later"``,
    nothing was done; ``"unknown"``, it may have been done, so check before you repeat it."""
    operation: str
    """The operation that failed, such as ``"ick.add"``; empty if there was none."""

    def __init__(self, message: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.operation = operation
