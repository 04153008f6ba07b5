"""What differs between the two kinds of callers: here for blocking callers, in
:mod:`millpond.aio.mode` for callers with an event loop.
"""

from __future__ import annotations

import contextlib
import threading
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
    """What the caller's function returned."""
    return value


def off_the_loop(call: Callable[[], None]) -> None:
    """Makes a call that blocks."""
    call()


def let_go(release: Callable[[], Any], is_ending: bool) -> None:
    """Releases what is held, if that can be done."""
    with contextlib.suppress(Exception):
        release()


FAILURES: Final = Exception
"""What fails a job when its handler raises it."""


CANCELLED: Final = ()
"""What a task raises that is cancelled; a thread is not."""


def within(timeout: float | None, value: T, job: Any) -> T:
    """What a handler returned, however long that took."""
    return value


def drive(
    run: Any,
    work: Callable[[Any, float | None], None],
    tell: Callable[..., None],
    stop: Callable[[float], None],
    threads: int,
) -> None:
    """Works on the jobs of a run, on this thread and ``threads - 1`` others."""
    failures: list[BaseException] = []

    def take() -> None:
        while (events := run.next()) is not None:
            for name, *rest in events:
                if name == "job":
                    work(*rest[1:])
                else:
                    tell(*rest)

    def loop() -> None:
        try:
            take()
        except BaseException as failure:
            failures.append(failure)
            # The job is given back, and so are those of the other threads.
            stop(0)
            with contextlib.suppress(Exception):
                take()

    # Daemons, so that a second Ctrl-C does not wait for their handlers.
    others = [threading.Thread(target=loop, daemon=True) for _ in range(1, threads)]
    for thread in others:
        thread.start()
    loop()
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]


class Asked(Protocol[Found]):
    """The native half of a loop."""

    def next(self) -> Found | None:
        """The next batch, or None when the loop is over."""


class Loop(Iterator[Batch]):
    """Requests one batch after another from the native half, until it returns None."""

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
        """The batch that has arrived and that no caller has received."""
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
        """Called at the end of a ``with`` block. No request is in progress: this loop blocks."""
