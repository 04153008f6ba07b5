"""How a job ends whose handler raised something."""

from __future__ import annotations

import logging
import traceback
from typing import Any, Callable

from .errors import MillpondError
from .values import Seconds

__all__ = ["Move", "Release", "Retry"]

_LOGGER = logging.getLogger("millpond")


class Retry(Exception):
    """Raised by a handler of :meth:`Worker.run`: retry the task, for this reason, after
    ``delay`` seconds or as the worker's ``backoff`` says.
    """

    def __init__(self, err: object = "", delay: Seconds | None = None) -> None:
        super().__init__(err, delay)
        self.err = str(err)
        self.delay = delay


class Move(Exception):
    """Raised by a handler of :meth:`Worker.run`: move the task to this queue, for this reason."""

    def __init__(self, queue: str, err: object = "") -> None:
        super().__init__(queue, err)
        self.queue = queue
        self.err = str(err)


class Release(Exception):
    """Raised by a handler of :meth:`Worker.run`: release the task for another worker without
    counting an attempt, after ``delay`` seconds or a short random time; see :meth:`Job.release`.
    """

    def __init__(self, delay: Seconds | None = None) -> None:
        super().__init__(delay)
        self.delay = delay


def failed(job: Any, failure: Exception) -> Callable[[], Any]:
    """How a job ends whose handler raised this."""
    if isinstance(failure, Retry):
        err, delay = _text(failure.err), failure.delay
        return lambda: job.retry(err, delay)
    if isinstance(failure, Move):
        queue, err = failure.queue, _text(failure.err)
        return lambda: job.move_to(queue, err)
    if isinstance(failure, Release):
        after = failure.delay
        return lambda: job.release(after)
    err = _text("".join(traceback.format_exception_only(type(failure), failure)).strip())
    return lambda: job.fail(err)


def log(job: Any, error: MillpondError) -> None:
    """Logs a job that could not end as its handler said."""
    task = job.task
    _LOGGER.warning("the end of task %s of queue %s was refused: %s", task.id, task.queue, error)


def _text(err: str) -> str:
    """What can be sent of a message: parts of a file name in it may be no text."""
    return err.encode(errors="replace").decode()
