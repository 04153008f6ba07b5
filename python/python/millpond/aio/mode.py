"""What differs between the two kinds of callers: here for those with an event loop, in
:mod:`millpond.mode` for those that block. All else is written once, in this folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Final, Protocol, TypeVar, Union

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
Batch = TypeVar("Batch")
Found = TypeVar("Found", covariant=True)

IS_ASYNC: Final = True

Returned = Union[T, Awaitable[T]]
"""What a function of the caller's returns: a value, or an awaitable of it."""


async def settled(value: Returned[T]) -> T:
    """What a function of the caller's returned."""
    return await value if inspect.isawaitable(value) else value


async def off_the_loop(call: Callable[[], None]) -> None:
    """Makes a call that blocks."""
    await asyncio.to_thread(call)


async def let_go(release: Callable[[], Awaitable[Any]], is_ending: bool) -> None:
    """Releases what is held, if that can be done. A task that is ending waits for nothing."""
    with contextlib.suppress(Exception):
        released = asyncio.ensure_future(release())
        released.add_done_callback(lambda done: done.cancelled() or done.exception())
        if not is_ending:
            await released


class Asked(Protocol[Found]):
    """The native half of a loop."""

    def next(self) -> Awaitable[Found | None]:
        """The next batch, or None when the loop is over."""


class Loop(AsyncIterator[Batch]):
    """Asks the native half for one batch after the other, until it returns None."""

    __slots__ = ("_asked", "_is_asking", "_native")

    def __init__(self, native: Asked[Batch]) -> None:
        self._native = native
        self._asked: asyncio.Future[Batch | None] | None = None
        self._is_asking = False

    async def __anext__(self) -> Batch:
        if self._is_asking:
            raise RuntimeError(
                "another task is requesting a batch; each task needs a loop of its own"
            )
        # A task can be cancelled after its batch has come and before it has seen it. That batch
        # would be lost if another was requested, so it is kept for the next caller.
        if self._asked is None or self._asked.cancelled():
            self._asked = asyncio.ensure_future(self._native.next())
        self._is_asking = True
        try:
            batch = await self._asked
        except Exception:
            self._asked = None
            raise
        finally:
            self._is_asking = False
        self._asked = None
        if batch is None:
            raise StopAsyncIteration
        return batch

    @property
    def _is_abandoned(self) -> bool:
        """Whether a batch was requested that no caller has received."""
        return self._asked is not None

    def _abandoned(self) -> Batch | None:
        """The batch that has come and that no caller has received; a request is cancelled."""
        asked, self._asked = self._asked, None
        if asked is None or asked.cancel() or asked.cancelled() or asked.exception():
            return None
        return asked.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._leave(kind)

    async def _leave(self, kind: type[BaseException] | None) -> None:
        """Stops listening. A batch that has come is kept, should the loop go on."""
        if self._asked is not None and not self._asked.done():
            self._asked.cancel()
