"""What calls of task stores take and return, for blocking and asyncio callers alike."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union

from ._native import Doc, Task

if TYPE_CHECKING:
    # Any by default, which the typing of Python 3.9 does not have.
    from ._native import _T as Content
    from ._native import _Value as Value
else:
    Content = TypeVar("Content")
    Value = TypeVar("Value", covariant=True)

__all__ = [
    "Content",
    "DocId",
    "DocPage",
    "DocPosition",
    "Modified",
    "NamespaceStats",
    "Position",
    "QueueStats",
    "Renewed",
    "TaskId",
    "TaskPage",
    "Texts",
    "Value",
]

Texts = Union[str, Iterable[str]]
"""A name, or several."""


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class TaskId(NamedTuple):
    """A task at a version."""

    id: str
    """The task's id."""
    version: int
    """The version that it has to have."""


class DocId(NamedTuple):
    """A document at a version."""

    namespace: str
    """The document's namespace."""
    id: str
    """The document's id."""
    version: int
    """The version that it has to have."""


Tasks = list[Task[Any]]
Docs = list[Doc[Any]]

TaskHandle = Union[Task[Any], TaskId, tuple[str, int]]
DocHandle = Union[Doc[Any], DocId, tuple[str, str, int]]
TaskHandles = Union[TaskHandle, Iterable[TaskHandle]]
DocHandles = Union[DocHandle, Iterable[DocHandle]]


class Modified(NamedTuple):
    """What a modification did, each list in its order."""

    inserted: Tasks
    """The tasks that were inserted; without those that were skipped."""
    changed: Tasks
    """The tasks that were changed, as they are now."""
    inserted_docs: Docs
    """The documents that were inserted; without those that were skipped."""
    changed_docs: Docs
    """The documents that were changed, as they are now."""


class Renewed(NamedTuple):
    """What was renewed, in the order of the arguments."""

    tasks: list[TaskId]
    """The tasks at their new versions."""
    docs: list[DocId]
    """The documents at their new versions."""
    at_ms: int
    """Until when all are held, in milliseconds since the Unix epoch."""

    @property
    def at(self) -> datetime.datetime:
        """The same as ``at_ms``, as a datetime in UTC."""
        return _EPOCH + datetime.timedelta(milliseconds=self.at_ms)

    @classmethod
    def _of(cls, values: tuple[list[tuple[str, int]], list[tuple[str, str, int]], int]) -> Renewed:
        tasks, docs, at_ms = values
        return cls([TaskId(*task) for task in tasks], [DocId(*doc) for doc in docs], at_ms)


class Position(NamedTuple):
    """Where a task stands in the order of its queue: by time, and by id where that is the same."""

    at_ms: int
    """The task's ``at_ms``."""
    id: str
    """The task's id."""


class TaskPage(NamedTuple):
    """One page of a queue."""

    tasks: Tasks
    """The tasks, by time and id."""
    next: Position | None
    """What the next page comes after; None for the last page."""

    @classmethod
    def _of(cls, values: tuple[Tasks, tuple[int, str] | None]) -> TaskPage:
        tasks, after = values
        return cls(tasks, None if after is None else Position(*after))


class DocPosition(NamedTuple):
    """Where a document stands in the order of its namespace."""

    key: str
    """The document's primary key."""
    secondary_key: str
    """The document's secondary key."""
    id: str
    """The document's id."""


class DocPage(NamedTuple):
    """One page of a namespace."""

    docs: Docs
    """The documents, by primary key, secondary key and id."""
    next: DocPosition | None
    """What the next page comes after; None for the last page."""

    @classmethod
    def _of(cls, values: tuple[Docs, tuple[str, str, str] | None]) -> DocPage:
        docs, after = values
        return cls(docs, None if after is None else DocPosition(*after))


class QueueStats(NamedTuple):
    """What is in a queue: ``size`` is the sum of ``available``, ``claimed`` and ``future``."""

    queue: str
    """The queue's name."""
    size: int
    """All tasks."""
    available: int
    """Tasks that can be claimed now."""
    claimed: int
    """Tasks that cannot be claimed now and were claimed before."""
    future: int
    """Tasks that cannot be claimed now and never were."""
    max_claims: int
    """How often the task was claimed that was claimed most."""


class NamespaceStats(NamedTuple):
    """What is in a namespace."""

    namespace: str
    """The namespace's name."""
    size: int
    """All documents."""
    claimed: int
    """Documents that are claimed now."""
