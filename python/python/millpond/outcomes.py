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
from typing import Any, Callable, Generic, Optional, TypeVar

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


def check_handler(handler: Callable[..., Any], is_async: bool) -> None:
    """Refuses a handler whose call would not do the work."""
    if not callable(handler):
        raise TypeError(f"the handler has to be a function, not {type(handler).__name__}")
    for function in (handler, getattr(handler, "__call__", None)):  # noqa: B004
        is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        if is_generator or (inspect.iscoroutinefunction(function) and not is_async):
            kind = "generator" if is_generator else "coroutine"
            where = "no worker runs" if is_generator else "only a worker of millpond.aio awaits"
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


class SignalHandlers:
    """The signal handlers of a program while a worker runs. An exception that one of them raises in the middle of a job
    is not a failure of that job, but goes to the caller of the worker. SIGALRM is left out, as alarms limit the time of
    jobs.
    """

    NAMES = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._raised: BaseException | None = None

    def have_raised(self, failure: BaseException) -> bool:
        """Whether this is the last exception that one of them raised."""
        return failure is self._raised

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in signal.Signals:
            handler = signal.getsignal(number) if number.name in self.NAMES else None
            if callable(handler) and handler is not signal.default_int_handler:
                self._before[number] = (handler, self._noting(handler))
                signal.signal(number, self._before[number][1])

    def __exit__(self, *_: object) -> None:
        for number, (handler, noting) in self._before.items():
            if signal.getsignal(number) is noting:
                signal.signal(number, handler)
        self._before.clear()
        self._raised = None

    def _noting(self, handler: Callable[[int, Any], object]) -> Callable[[int, Any], None]:
        def call(number: int, frame: Any) -> None:
            try:
                handler(number, frame)
            except BaseException as raised:
                self._raised = raised
                raise

        return call


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[Seconds], None], within: Seconds) -> Iterator[None]:
    """On the main thread SIGTERM and SIGINT stop the worker, and a second signal stops it immediately. A third one does
    what it did before.
    """
    before: dict[int, Any] = {}
    is_stopping = False

    def put_back() -> None:
        while before:
            number, handler = before.popitem()
            if handler is not None:
                signal.signal(number, handler)

    def on_signal(number: int, frame: object) -> None:
        nonlocal is_stopping
        if is_stopping:
            put_back()
        stop(0 if is_stopping else within)
        is_stopping = True

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, on_signal)
    try:
        yield
    finally:
        put_back()
