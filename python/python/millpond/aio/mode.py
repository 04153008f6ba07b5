"""What differs between the two kinds of callers: here for callers with an event loop, in
:mod:`millpond.mode` for blocking callers. Everything else is written once, in this folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Final, Protocol, TypeVar, Union

from ..outcomes import Late, Release

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
Batch = TypeVar("Batch")
Found = TypeVar("Found", covariant=True)

IS_ASYNC: Final = True

Returned = Union[T, Awaitable[T]]
"""What the caller's function returns: a value, or an awaitable of it."""


async def settled(value: Returned[T]) -> T:
    """What the caller's function returned."""
    return await value if inspect.isawaitable(value) else value


async def off_the_loop(call: Callable[[], None]) -> None:
    """Makes a call that blocks."""
    await asyncio.to_thread(call)


async def let_go(release: Callable[[], Awaitable[Any]], is_ending: bool) -> None:
    """Releases what is held, if that can be done. A task that is ending does not wait for it."""
    with contextlib.suppress(Exception):
        released = asyncio.ensure_future(release())
        released.add_done_callback(lambda done: done.cancelled() or done.exception())
        if not is_ending:
            await released


FAILURES: Final = (Exception, asyncio.CancelledError)
"""What fails a job when its handler raises it."""


CANCELLED: Final = asyncio.CancelledError
"""What a task raises that is cancelled."""


async def within(timeout: float | None, value: Returned[T], job: Any) -> T:
    """What a handler returned, within this time and for as long as the worker holds the job."""
    if not inspect.isawaitable(value):
        return value
    try:
        if timeout is None:
            return await value
        work = asyncio.ensure_future(value)
        try:
            return await asyncio.wait_for(work, timeout)
        except asyncio.TimeoutError:
            if work.cancelled():
                raise Late(f"it took longer than {timeout:g}s") from None
            raise
    except asyncio.CancelledError:
        # A run that is cancelled together with its jobs gives them back now.
        await asyncio.sleep(0)
        # Messages cannot be cancelled.
        if job.is_lost or getattr(job, "is_cancelled", False):
            raise Release(0) from None
        raise


async def drive(
    run: Any,
    work: Callable[[Any, float | None], Awaitable[None]],
    tell: Callable[..., Awaitable[None]],
    stop: Callable[[float], None],
    threads: int,
) -> None:
    """Works on the jobs of a run, each in a task. This loop makes no threads."""
    tasks: dict[int, asyncio.Future[None]] = {}
    failures: list[BaseException] = []

    def is_done(number: int, task: asyncio.Future[None]) -> None:
        del tasks[number]
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            failures.append(failure)
            stop(0)

    async def take(begins: bool) -> None:
        # Kept here: if this is cancelled before it has seen jobs that have arrived, they are given back.
        asked = run.next()
        while (events := await asked) is not None:
            for name, *rest in events:
                if name == "job" and begins:
                    number, *job = rest
                    tasks[number] = asyncio.ensure_future(work(*job))
                    tasks[number].add_done_callback(functools.partial(is_done, number))
                elif name == "lost" and rest[0] in tasks:
                    tasks[rest[0]].cancel()
                elif name == "report":
                    await tell(*rest)
                elif name == "failed":
                    raise rest[0]
            asked = run.next()

    try:
        await take(True)
    except BaseException:
        stop(0)
        # Lets what is given back reach the store.
        await take(False)
        raise
    finally:
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    if failures:
        raise failures[0]


class Asked(Protocol[Found]):
    """The native half of a loop."""

    def next(self) -> Awaitable[Found | None]:
        """The next batch, or None when the loop is over."""


class Loop(AsyncIterator[Batch]):
    """Requests one batch after another from the native half, until it returns None."""

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
        # A task can be cancelled after its batch has arrived and before it has seen it. That batch
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
        """The batch that has arrived and that no caller has received; a pending request is cancelled."""
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
        """Stops listening. A batch that has arrived is kept, in case the loop continues."""
        if self._asked is not None and not self._asked.done():
            self._asked.cancel()
