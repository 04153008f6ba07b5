"""Argument types of task stores, for blocking and asyncio callers alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, Union

from ._native import Doc, Task
from .records import DocId, TaskId

if TYPE_CHECKING:
    # The default is Any; typing in Python 3.9 has no such defaults.
    from ._fields import _T as Content
    from ._fields import _Value as Value
else:
    Content = TypeVar("Content")
    Value = TypeVar("Value", covariant=True)

__all__ = [
    "Content",
    "Texts",
    "Value",
]

Texts = Union[str, Iterable[str]]
"""A name, or several."""

Tasks = list[Task[Any]]
Docs = list[Doc[Any]]

TaskHandle = Union[Task[Any], TaskId, tuple[str, int]]
DocHandle = Union[Doc[Any], DocId, tuple[str, str, int]]
TaskHandles = Union[TaskHandle, Iterable[TaskHandle]]
DocHandles = Union[DocHandle, Iterable[DocHandle]]
