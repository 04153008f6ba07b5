"""How a job ends, as its handler says by what it returns or raises."""

from __future__ import annotations

import contextlib
import inspect
import logging
import signal
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable, ClassVar, Generic, Optional, TypeVar

from ._native import DocChange, Modification, TaskChange
from .errors import DependencyError, MillpondError, TimeoutError
from .values import Seconds

__all__ = ["Move", "Reject", "Release", "Report", "Retry"]

LOGGER = logging.getLogger("millpond")

Held = TypeVar("Held")

Ending = tuple[str, str, Optional[Seconds], Optional[str]]
"""How a failed job ends: the kind, the reason, the delay and the queue."""


class Retry(Exception):
    """Raised by a handler: try again, for this reason, after ``delay`` seconds or as the worker's
    ``backoff`` says.
    """

    def __init__(self, err: object = "", delay: Seconds | None = None) -> None:
        super().__init__(err, delay)
        self.err = str(err)
        self.delay = delay


class Move(Exception):
    """Raised by a handler of tasks: move the task to this queue, for this reason."""

    def __init__(self, queue: str, err: object = "") -> None:
        super().__init__(queue, err)
        self.queue = queue
        self.err = str(err)


class Reject(Exception):
    """Raised by a handler: put the job aside immediately, for this reason, because another attempt
    would not help.
    """

    def __init__(self, err: object = "") -> None:
        super().__init__(err)
        self.err = str(err)


class Release(Exception):
    """Raised by a handler: give the job back for another worker without counting an attempt, after
    ``delay`` seconds or a short random time.
    """

    def __init__(self, delay: Seconds | None = None) -> None:
        super().__init__(delay)
        self.delay = delay


class Late(TimeoutError):
    """The handler worked for longer than the worker's ``timeout``."""


@dataclass(frozen=True)
class Report(Generic[Held]):
    """What became of a job, or of the server; passed to a worker's ``on_event``."""

    kind: str
    """``"done"``, ``"retried"``, ``"released"``, ``"moved"`` or ``"cancelled"``. Problems are ``"dead"``: the job was
    put aside; ``"refused"``: it could not end as its handler said; ``"lost"``: another worker may have it; and, for the
    server, ``"away"`` and ``"back"``."""
    job: Held | None
    """The job; None if it concerns the whole worker."""
    error: MillpondError | None
    """The cause, if the library or the store gave one."""
    message: str
    """The whole report in one line, for logs."""


def check_handler(handler: Callable[..., Any], is_async: bool, who: str = "worker") -> None:
    """Refuses a handler whose call would not do the work."""
    if not callable(handler):
        raise TypeError(f"the handler has to be a function, not {type(handler).__name__}")
    for function in (handler, getattr(handler, "__call__", None)):  # noqa: B004
        is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        if is_generator or (inspect.iscoroutinefunction(function) and not is_async):
            kind = "generator" if is_generator else "coroutine"
            where = f"no {who} runs" if is_generator else f"only a {who} of millpond.aio awaits"
            raise TypeError(f"the handler is a {kind} function, which {where}")


_ENTRIES = {name for name in dir(Modification) if not name.startswith("_")}


def meant(value: object) -> Modification | None:
    """The modification that a handler returned. Any other value is ignored, unless it looks like a
    modification or has not run yet; then this raises.
    """
    if value is None or isinstance(value, Modification):
        return value
    several = value if isinstance(value, (list, tuple)) else [value]
    if several and all(isinstance(one, (TaskChange, DocChange)) for one in several):
        raise TypeError("the handler returned a change that is in no Modification")
    if isinstance(value, dict) and _has_entries(value):
        raise TypeError("the handler returned a dict with the keys of a Modification")
    if inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(f"the handler returned a {type(value).__name__} that nobody ran")
    return None


def no_modification(value: object) -> None:
    """The same for a handler of messages, which end without a modification."""
    if meant(value) is not None:
        raise TypeError("the handler returned a Modification, and a message ends with none")


def _has_entries(value: dict[Any, Any]) -> bool:
    """Whether all of its keys, or the key of any list in it, are names of a modification."""
    lists = [key for key, item in value.items() if isinstance(item, (list, tuple, dict))]
    return bool(value) and all(map(_is_entry, value)) or any(map(_is_entry, lists))


def _is_entry(key: object) -> bool:
    return isinstance(key, str) and (key in _ENTRIES or key.rstrip("s") in _ENTRIES)


def ending(failure: BaseException) -> Ending:
    """How a job ends whose handler raised this."""
    if isinstance(failure, Retry):
        return "retry", _text(failure.err), failure.delay, None
    if isinstance(failure, Move):
        return "move", _text(failure.err), None, failure.queue
    if isinstance(failure, Reject):
        return "reject", _text(failure.err), None, None
    if isinstance(failure, Release):
        return "release", "", failure.delay, None
    if isinstance(failure, Late):
        return "error", f"timeout: {failure}", None, None
    err = "".join(traceback.format_exception_only(type(failure), failure)).strip()
    return "error", _text(err), None, None


def is_said(failure: BaseException) -> bool:
    """Whether this exception says how the job ends, or that documents are held by others, which is
    no failure.
    """
    is_taken = isinstance(failure, DependencyError) and failure.operation == "tasks.claim_docs"
    return is_taken or isinstance(failure, (Retry, Move, Reject, Release))


def _text(err: str) -> str:
    """The part of a message that can be sent: a file name in it may not be valid text."""
    return err.encode(errors="replace").decode()


class Noting:
    """A signal handler of the program's, which notes what it raises."""

    raised: ClassVar[BaseException | None] = None

    def __init__(self, handler: Callable[[int, Any], object]) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: Any) -> None:
        try:
            self.handler(number, frame)
        except BaseException as raised:
            Noting.raised = raised
            raise


class SignalHandlers:
    """The signal handlers of a program while a worker runs. An exception that one of them raises in the middle of a job
    is not a failure of that job, but goes to the caller of the worker. SIGALRM is left out, as alarms limit the time of
    jobs.
    """

    NAMES = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    # The workers of an event loop end in any order, so the last one puts back what all have changed.
    _noting: ClassVar[list[tuple[int, Noting]]] = []
    _workers: ClassVar[int] = 0

    def __init__(self) -> None:
        self._is_one = False

    def have_raised(self, failure: BaseException) -> bool:
        """Whether this is the last exception that one of them raised."""
        return failure is Noting.raised

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._is_one = True
        SignalHandlers._workers += 1
        for number in signal.Signals:
            handler = signal.getsignal(number) if number.name in self.NAMES else None
            is_plain = handler is signal.default_int_handler or isinstance(handler, Noting)
            if callable(handler) and not is_plain:
                noting = Noting(handler)
                signal.signal(number, noting)
                self._noting.append((number, noting))

    def __exit__(self, *_: object) -> None:
        if not self._is_one:
            return
        self._is_one = False
        SignalHandlers._workers -= 1
        if self._workers:
            return
        while self._noting:
            number, noting = self._noting.pop()
            handler: object = signal.getsignal(number)
            if handler is noting:
                signal.signal(number, noting.handler)
        Noting.raised = None


@dataclass(eq=False)
class Stoppable:
    """A worker that SIGTERM and SIGINT stop."""

    stop: Callable[[Seconds], None]
    within: Seconds
    is_stopping: bool = False


# One handler stops all workers, for the same reason.
_STOPPABLE: list[Stoppable] = []
_BEFORE: dict[int, Any] = {}


def _stop_all(number: int, frame: object) -> None:
    if all(worker.is_stopping for worker in _STOPPABLE):
        _put_back()
    for worker in list(_STOPPABLE):
        worker.stop(0 if worker.is_stopping else worker.within)
        worker.is_stopping = True


def _put_back() -> None:
    while _BEFORE:
        number, handler = _BEFORE.popitem()
        if isinstance(handler, Noting) and not SignalHandlers._workers:
            handler = handler.handler
        if handler is not None:
            signal.signal(number, handler)


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[Seconds], None], within: Seconds) -> Iterator[None]:
    """On the main thread SIGTERM and SIGINT stop the worker, and a second signal stops it immediately. A third one does
    what it did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    worker = Stoppable(stop, within)
    _STOPPABLE.append(worker)
    if not _BEFORE:
        for number in (signal.SIGTERM, signal.SIGINT):
            _BEFORE[number] = signal.signal(number, _stop_all)
    try:
        yield
    finally:
        _STOPPABLE.remove(worker)
        if not _STOPPABLE:
            _put_back()
