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


_SCALARS = (type(None), bool, int, float, str, bytes)
_STEPS = ("insert", "change", "delete", "depend")
_NAMES = {"modification", *_STEPS}
_NAMES |= {name for step in ("put", *_STEPS) for name in (f"doc{step}", f"{step}doc")}


def meant(value: object) -> Modification | None:
    """The modification that a handler of tasks returned. Any other value is dropped, unless it looks like a
    modification or has not run yet; then this raises.
    """
    if isinstance(value, Modification):
        return value
    _check_dropped(value, ": return a Modification, such as `job.delete().insert(queue, value)`")
    return None


def no_modification_of_message(value: object) -> None:
    """The same for a handler of messages."""
    _check_dropped(value, ", and a message ends without one")


def no_modification_of_event(value: object) -> None:
    """The same for a handler of events."""
    advice = "publish what follows from it with `ack_with`"
    _check_dropped(value, f", and an event ends without one: {advice}")


def _check_dropped(value: object, advice: str) -> None:
    """Raises if nobody would drop this value."""
    like = _like_modification(value)
    if like is not None:
        raise TypeError(f"the handler returned {like}{advice}")
    if inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError(f"the handler returned a {type(value).__name__} that nobody ran")


def _like_modification(value: object, is_in_list: bool = False) -> str | None:
    """What this value is, if it is a modification, or looks like one."""
    if isinstance(value, Modification):
        return "a modification"
    if isinstance(value, (TaskChange, DocChange)):
        return "a change that is in no Modification"
    if isinstance(value, dict):
        # The number of rows that a database changed is a result.
        keys = [key for key, item in value.items() if _is_name(key) and not isinstance(item, _SCALARS)]
        if not keys and not is_in_list and all(isinstance(item, (list, tuple)) for item in value.values()):
            keys = list(value)
        return f"a dict with the key {keys[0]!r}, as if it were a modification" if keys else None
    if isinstance(value, (list, tuple)) and not is_in_list:
        found = (_like_modification(one, is_in_list=True) for one in value)
        return next((f"a list with {like}" for like in found if like), None)
    return None


def _is_name(key: object) -> bool:
    """Whether this is the name of a part of a modification, in any spelling."""
    return isinstance(key, str) and "".join(filter(str.isalpha, key.lower())).removesuffix("s") in _NAMES


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
            if number.name in self.NAMES:
                self.note(number)

    @classmethod
    def note(cls, number: int) -> None:
        """Notes what the handler of this signal raises, as long as a worker runs."""
        handler = signal.getsignal(number)
        is_plain = handler is signal.default_int_handler or isinstance(handler, (Noting, Stopping))
        if cls._workers and callable(handler) and not is_plain:
            noting = Noting(handler)
            signal.signal(number, noting)
            cls._noting.append((number, noting))

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


class Stopping:
    """A signal handler that stops all workers, and calls the program's own handler that was there before. What that one
    raises is raised again when the workers have stopped, as it would interrupt the jobs that the stop waits for.
    """

    NUMBERS = (signal.SIGTERM, signal.SIGINT)
    workers: ClassVar[list[Stoppable]] = []
    raised: ClassVar[BaseException | None] = None

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, number: int, frame: object) -> None:
        if not self.workers:
            return self._leave(number, frame)
        if all(worker.is_stopping for worker in self.workers):
            self.put_back()
        for worker in list(self.workers):
            worker.stop(0 if worker.is_stopping else worker.within)
            worker.is_stopping = True
        if self._is_program_handler():
            try:
                self.before(number, frame)
            except BaseException as raised:
                Stopping.raised = raised

    def _leave(self, number: int, frame: object) -> None:
        """Does what was done before. A handler that was installed during a run may put this one back after it."""
        if callable(self.before):
            self.before(number, frame)
        elif self.before == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _is_program_handler(self) -> bool:
        # What `asyncio.run` installs takes the place of Python's own.
        name = getattr(getattr(self.before, "func", None), "__qualname__", None)
        is_default = self.before is signal.default_int_handler or name == "Runner._on_sigint"
        return callable(self.before) and not is_default

    @classmethod
    def install(cls) -> None:
        for number in cls.NUMBERS:
            before: Any = signal.getsignal(number)
            if isinstance(before, Noting):
                before = before.handler
            if not isinstance(before, Stopping):
                # A handler that is not from Python cannot be called, nor put back.
                signal.signal(number, Stopping(signal.SIG_DFL if before is None else before))

    @classmethod
    def put_back(cls) -> None:
        for number in cls.NUMBERS:
            handler: object = signal.getsignal(number)
            if isinstance(handler, Stopping):
                signal.signal(number, handler.before)
                SignalHandlers.note(number)


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[Seconds], None], within: Seconds) -> Iterator[None]:
    """On the main thread SIGTERM and SIGINT stop the worker, and a second signal stops it immediately. A third one does
    what it did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    worker = Stoppable(stop, within)
    Stopping.workers.append(worker)
    Stopping.install()
    try:
        yield
    finally:
        Stopping.workers.remove(worker)
        if not Stopping.workers:
            Stopping.put_back()
            raised, Stopping.raised = Stopping.raised, None
            if raised is not None:
                raise raised
