"""What can go wrong. Every exception is a :class:`MillpondError`; there is one class for each kind
of error, with a code and a name that are the same in every language Millpond has.
"""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, Literal

from . import _native
from .task_values import DocId, TaskId

__all__ = [
    "AuthenticationFailedError",
    "CancelledError",
    "ClosedError",
    "ConnectionFailedError",
    "ConnectionLostError",
    "CorruptError",
    "CrossSlotError",
    "DependencyError",
    "ForkedError",
    "IncompatibleVersionError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidUrlError",
    "LeaseLostError",
    "LockedError",
    "MillpondError",
    "OutOfMemoryError",
    "PermissionDeniedError",
    "ServerError",
    "StorageError",
    "TimeoutError",
    "UnavailableError",
    "WrongTypeError",
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
    """Whether the same call can help: ``"never"``, not before something changes; ``"later"``,
    nothing was done; ``"unknown"``, it may have been done, so check before you repeat it."""
    operation: str
    """The operation that failed, such as ``"ick.add"``; empty if there was none."""

    def __init__(self, message: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.operation = operation


class InvalidArgumentError(MillpondError, ValueError):
    """An argument has a wrong value or size. Nothing was sent."""


class InvalidUrlError(MillpondError, ValueError):
    """The URL or an option of the client is wrong. Nothing was sent."""


class CrossSlotError(MillpondError):
    """This name cannot be used on a cluster: its keys would lie in different slots."""


class WrongTypeError(MillpondError):
    """A key of the queue holds data of another kind."""


class IncompatibleVersionError(MillpondError):
    """The data was written by a version of the format that this version does not know."""


class ConnectionFailedError(MillpondError, ConnectionError):
    """No connection could be made. Nothing was sent."""


class ConnectionLostError(MillpondError, ConnectionError):
    """The connection broke after the call was sent: it may or may not have been done."""


class TimeoutError(MillpondError, builtins.TimeoutError):
    """No reply came in time: the call may or may not have been done."""


class AuthenticationFailedError(MillpondError, PermissionError):
    """The server refused the user or the password."""


class PermissionDeniedError(MillpondError, PermissionError):
    """The server's access rules forbid this user the call."""


class UnavailableError(MillpondError):
    """The server is there but cannot do it now: loading, failing over, busy or read-only."""


class OutOfMemoryError(MillpondError):
    """The server has no memory left for writes."""


class ServerError(MillpondError):
    """The server returned an error that Millpond has no kind for."""


class LeaseLostError(MillpondError):
    """The lease has expired or another client holds it: nothing was done."""


class LockedError(MillpondError):
    """Another process holds this directory; processes share queues over ``redis:``."""


class CorruptError(MillpondError):
    """Stored data is damaged, or lacks what was on disk, in a way that no crash explains.

    ``?repair`` opens what lies before the damage.
    """


class StorageError(MillpondError, OSError):
    """The disk refused a write; what was not acknowledged may be lost."""


class ForkedError(MillpondError):
    """The embedded engine was opened before a fork; a child process has to open its own."""


class ClosedError(MillpondError):
    """The client was closed."""


class CancelledError(MillpondError):
    """The caller cancelled. It is not what asyncio raises in a task that is cancelled."""


class InternalError(MillpondError):
    """A bug in Millpond."""


class DependencyError(MillpondError):
    """A task or a document is not as a modification says: nothing was done. It lists all that is
    not.

    >>> import millpond
    >>> store = millpond.connect("memory:").tasks("shop")
    >>> try:
    ...     store.modify(millpond.Modification().delete(("t1", 3)))
    ... except millpond.DependencyError as error:
    ...     print(error.deletes, error.has_missing)
    [TaskId(id='t1', version=3)] True
    """

    inserts: list[TaskId]
    """Tasks to insert whose id is taken, with the current version."""
    changes: list[TaskId]
    """Tasks to change that are missing at the given version."""
    deletes: list[TaskId]
    """Tasks to delete that are missing at the given version."""
    depends: list[TaskId]
    """Tasks to depend on that are missing at the given version."""
    claims: list[TaskId]
    """Tasks to delete or to change that another claimant holds."""
    doc_inserts: list[DocId]
    """Documents to insert whose id is taken, with the current version."""
    doc_changes: list[DocId]
    """Documents to change that are missing at the given version."""
    doc_deletes: list[DocId]
    """Documents to delete that are missing at the given version."""
    doc_depends: list[DocId]
    """Documents to depend on that are missing at the given version."""
    doc_claims: list[DocId]
    """Documents to delete, to change or to claim that another claimant holds."""
    has_missing: bool
    """Whether a task is missing at the given version."""
    has_missing_docs: bool
    """Whether a document is missing at the given version."""
    has_claims: bool
    """Whether another claimant holds a task."""
    has_claimed_docs: bool
    """Whether another claimant holds a document."""
    has_collisions: bool
    """Whether an id is taken."""
    only_claims: bool
    """Whether the only problem is that others hold something: the same can succeed later."""

    def __init__(self, message: str = "", operation: str = "", found: Any = None) -> None:
        super().__init__(message, operation)
        tasks, docs, answers = found or ([[]] * 5, [[]] * 5, [False] * 6)
        for name, entries in zip(_TASKS, tasks):
            setattr(self, name, [TaskId(*entry) for entry in entries])
        for name, entries in zip(_DOCS, docs):
            setattr(self, name, [DocId(*entry) for entry in entries])
        for name, answer in zip(_ANSWERS, answers):
            setattr(self, name, answer)


# In the order in which the native half returns them.
_TASKS = ("inserts", "changes", "deletes", "depends", "claims")
_DOCS = tuple(f"doc_{name}" for name in _TASKS)
_ANSWERS = (
    "has_missing",
    "has_missing_docs",
    "has_claims",
    "has_claimed_docs",
    "has_collisions",
    "only_claims",
)


def _class_of(code: int, name: str, retry: str) -> type[MillpondError]:
    """Fills in a class from the core's table. CONNECTION_LOST is the kind of
    ConnectionLostError.
    """
    found: type[MillpondError] = globals()[name.title().replace("_", "") + "Error"]
    found.code = code
    found.name = name
    found.retry = retry  # type: ignore[assignment]
    return found


CLASSES: dict[int, type[MillpondError]] = {
    code: _class_of(code, name, retry) for code, name, retry in _native.ERROR_KINDS
}
