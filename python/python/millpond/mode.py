"""What differs between the two kinds of callers: here for those that block, in
:mod:`millpond.aio.mode` for those with an event loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Callable, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
Batch = TypeVar("Batch")
Found = TypeVar("Found", covariant=True)

IS_ASYNC: Final = False

Returned = Annotated[T, "what a function of the caller's returns"]


def settled(value: T) -> T:
    """What a function of the caller's returned."""
    return value


def off_the_loop(call: Callable[[], None]) -> None:
    """Makes a call that blocks."""
    call()


def let_go(release: Callable[[], Any], is_ending: bool) -> None:
    """Releases what is held, if that can be done."""
    with contextlib.suppress(Exception):
        release()


class Asked(Protocol[Found]):
    """The native half of a loop."""

    def next(self) -> Found | None:
        """The next batch, or None when the loop is over."""


class Loop(Iterator[Batch]):
    """Asks the native half for one batch after the other, until it returns None."""

    __slots__ = ("_native",)

    def __init__(self, native: Asked[Batch]) -> None:
        self._native = native

    def __next__(self) -> Batch:
        batch = self._native.next()
        if batch is None:
            raise StopIteration
        return batch

    @property
    def _is_abandoned(self) -> bool:
        """Whether a batch was requested that no caller has received."""
        return False

    def _abandoned(self) -> Batch | None:
        """The batch that has come and that no caller has received."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(kind)

    def _leave(self, kind: type[BaseException] | None) -> None:
        """What a block does at its end. No request is under way: this loop blocks."""
