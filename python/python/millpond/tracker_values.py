"""What a program's functions return to a queue tracker, for blocking and asyncio callers alike."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, TypeVar

from .values import Member

__all__ = ["check_function", "listed", "places_of"]

Item = TypeVar("Item")

# A text would be taken for its letters, and a dict for its keys.
_NO_LISTS = (str, bytes, bytearray, memoryview, Mapping)
_NO_ROWS = (*_NO_LISTS, set, frozenset)


def check_function(name: str, function: Callable[..., Any], is_async: bool) -> None:
    """Refuses what cannot be called, and functions whose call returns no iterable."""
    if not callable(function):
        raise TypeError(f"{name} must be a function, not {type(function).__name__}")
    for called in (function, getattr(function, "__call__", None)):  # noqa: B004
        if inspect.isasyncgenfunction(called):
            raise TypeError(f"{name} is an async generator function, which no tracker runs")
        if inspect.iscoroutinefunction(called) and not is_async:
            raise TypeError(
                f"{name} is a coroutine function, which only a tracker of millpond.aio awaits"
            )


def listed(name: str, returned: Iterable[Item]) -> Iterable[Item]:
    """What a function returned, which has to be a list or anything like it."""
    if isinstance(returned, _NO_LISTS) or not isinstance(returned, Iterable):
        if inspect.iscoroutine(returned):
            returned.close()
        found = type(returned).__name__
        raise TypeError(f"{name} must return an iterable, such as a list, not {found}")
    return returned


def places_of(rows: Iterable[Iterable[object]], ids: list[Member]) -> Iterator[str]:
    """Where each row is. Its id is appended to ``ids`` first, empty for none.

    The rows may have no end, so the call that counts them reads them.
    """
    if isinstance(rows, (set, frozenset)):
        # The next scan goes on after the last row.
        raise TypeError(f"rows must return the rows in order, not a {type(rows).__name__}")
    for index, row in enumerate(rows):
        if isinstance(row, _NO_ROWS) or not isinstance(row, Iterable):
            raise TypeError(f"rows[{index}] must be (row, id), not {type(row).__name__}")
        parts = tuple(row)
        if len(parts) != 2:
            found = f"a {type(row).__name__} of {len(parts)}"
            raise TypeError(f"rows[{index}] must be (row, id), not {found}")
        place, id = parts
        if isinstance(place, bool) or not isinstance(place, (str, int)):
            raise TypeError(f"rows[{index}][0] must be str or int, not {type(place).__name__}")
        if id is not None and not isinstance(id, (str, bytes, bytearray, memoryview)):
            expected = "str, bytes, bytearray, memoryview or None"
            raise TypeError(f"rows[{index}][1] must be {expected}, not {type(id).__name__}")
        ids.append(b"" if id is None else id)
        # The text of an enum's member is its name.
        yield place if isinstance(place, str) else str(int(place))
