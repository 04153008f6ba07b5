"""How a worker runs its jobs, the same for all queues."""

from __future__ import annotations

import logging
from typing import Any, Callable, ClassVar, Generic, Optional, TypeVar

from ..outcomes import (
    LOGGER,
    Reject,
    Report,
    SignalHandlers,
    check_handler,
    ending,
    is_said,
    stopped_by_signals,
)
from ..records import JobCounts
from ..values import Seconds
from .mode import FAILURES, IS_ASYNC, Returned, drive, settled, within

Held = TypeVar("Held")

Handler = Callable[[Held], Returned[object]]
"""Works on a job, and returns or raises how it ends."""

OnError = Callable[[Optional[Held], Exception], Returned[object]]
"""Called for each problem, with the job if it concerns one."""

OnEvent = Callable[[Report[Held]], Returned[object]]
"""Called with what became of each job."""


class Runner(Generic[Held]):
    """What the workers of all queues have in common."""

    __slots__ = ()
    _native: Any
    # What makes a job, and what reads what a handler returned.
    _job: ClassVar[Any]
    _meant: ClassVar[Any]

    async def run(
        self,
        handler: Handler[Held],
        on_error: OnError[Held] | None = None,
        on_event: OnEvent[Held] | None = None,
        *,
        stop_on_signals: bool = True,
        stop_within: Seconds = 25,
    ) -> JobCounts:
        """Works until it is stopped, by :meth:`stop` or by SIGTERM or SIGINT, and returns what it
        did. If the server is unreachable, it keeps trying until the server responds; a
        non-retryable error, such as a wrong password, is raised.

        The handler is called with a job. With asyncio it can be a coroutine function, and each job
        runs in a separate task; otherwise the jobs run on ``concurrency`` threads, including this
        one. The handler can raise :class:`Retry`, :class:`Reject` and :class:`Release`; any other
        :class:`Exception` is a failure with its class and message, and the job is tried again
        later. An exception that ends a program, such as :class:`KeyboardInterrupt` or a
        cancellation, gives the running jobs back and is raised. So is whatever is raised by a
        handler of SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 or SIGUSR2 that the program installed
        before; for a signal that stops the worker, it is raised when the running jobs have ended.

        With asyncio, a handler is cancelled when its lease is lost or its task was cancelled, and
        when it takes longer than the worker's ``timeout``, which is a failure. Without asyncio, the
        handler can check the job: ``is_lost``, ``is_cancelled``, ``time_left``.

        :param handler: what does the work; a return value that is not a modification is dropped, or
          is a failure if it looks like one
        :param on_error: called with the job, or None, and the error: for exceptions of the handler,
          jobs that are put aside, leases that are lost, ends that are refused, and a server that
          becomes unreachable or responds again. By default all of this is logged to the logger
          ``millpond``.
        :param on_event: called with a :class:`Report` on each job that ended, for metrics
        :param stop_on_signals: whether SIGTERM and SIGINT stop the worker, if this is the main
          thread; a second signal stops it immediately, and a third one does what it did before; a
          handler that the program installed before is called each time as well
        :param stop_within: how long such a stop waits for running jobs, in seconds
        """
        working = Working(self, handler, on_error, on_event)
        return await working.run(stop_on_signals, stop_within)

    async def drain(
        self,
        handler: Handler[Held],
        on_error: OnError[Held] | None = None,
        on_event: OnEvent[Held] | None = None,
    ) -> JobCounts:
        """Works until nothing is available, and returns what it did. For tests, and for programs
        that cron starts. Errors of the connection are raised. Without asyncio, this thread does all
        the work.
        """
        return await Working(self, handler, on_error, on_event).drain()


class Working(Generic[Held]):
    """A worker with its handler and its hooks."""

    def __init__(
        self,
        worker: Runner[Held],
        handler: Handler[Held],
        on_error: OnError[Held] | None,
        on_event: OnEvent[Held] | None,
    ) -> None:
        check_handler(handler, IS_ASYNC)
        self._native = worker._native
        self._job, self._meant = type(worker)._job, type(worker)._meant
        self._handler = handler
        self._on_error = on_error
        self._on_event = on_event
        self._signals = SignalHandlers()
        # What handlers raised in last attempts, by the names of their jobs: the cause of the report that one is put aside.
        self._causes: dict[str, tuple[Held, BaseException]] = {}

    async def run(self, stop_on_signals: bool, stop_within: Seconds) -> JobCounts:
        """Works until the worker is stopped."""
        self._run = self._native.start(False, self._on_event is not None)
        if not stop_on_signals:
            return await self._drive(self._run.concurrency)
        with stopped_by_signals(self._native.stop, stop_within):
            return await self._drive(self._run.concurrency)

    async def drain(self) -> JobCounts:
        """Works until nothing is available."""
        self._run = self._native.start(True, True)
        return await self._drive(1)

    async def _drive(self, threads: int) -> JobCounts:
        with self._signals:
            try:
                await drive(self._run, self._work, self._tell, self._native.stop, threads)
            finally:
                # These put no job aside in the end.
                for job, failure in self._causes.values():
                    if not isinstance(failure, Reject):
                        await self._fail(job, failure)
        counts: JobCounts = self._run.counts()
        return counts

    async def _work(self, native: Any, timeout: float | None) -> None:
        job = self._job(native)
        try:
            returned = await within(timeout, self._handler(job), native)
            self._run.end(native, self._meant(returned))
        except FAILURES as failure:
            if self._signals.have_raised(failure):
                raise
            try:
                is_cause = self._end_failed(native, job, failure)
            except (TypeError, ValueError) as wrong:
                # What the handler raised cannot be read.
                failure = wrong
                is_cause = self._end_failed(native, job, failure)
            if not is_cause and not is_said(failure):
                await self._fail(job, failure)

        except SystemExit as ended:
            # It ends the program, but counts as an attempt: otherwise one such job would end all programs forever.
            if not self._signals.have_raised(ended):
                kind, *rest = ending(ended)
                self._run.fail(native, kind, *rest)
            raise

    def _end_failed(self, native: Any, job: Any, failure: BaseException) -> bool:
        """Ends a job whose handler raised this. Returns whether it is the cause of another report, which comes."""
        is_cause = isinstance(failure, Reject) or (job.is_last_attempt and not is_said(failure))
        if is_cause:
            self._causes[str(job)] = job, failure
        self._run.fail(native, *ending(failure))
        return is_cause

    async def _fail(self, job: Held, failure: BaseException) -> None:
        if self._on_error is not None:
            return await self._call(self._on_error, job, failure)
        LOGGER.error("%s failed", job, exc_info=failure)

    async def _tell(
        self, kind: str, native: Any, error: Any, message: str, is_trouble: bool
    ) -> None:
        job = None if native is None else self._job(native)
        if self._on_event is not None:
            await self._call(self._on_event, Report(kind, job, error, message))
        if not is_trouble:
            return
        cause = self._causes.pop(str(job), (job, None))[1] if kind == "dead" else None
        if self._on_error is not None:
            error.__cause__ = cause or error.__cause__
            await self._call(self._on_error, job, error)
        else:
            why = None if isinstance(cause, Reject) else cause
            LOGGER.log(logging.WARNING if kind == "back" else logging.ERROR, "%s", message, exc_info=why)

    async def _call(self, hook: Callable[..., Returned[object]], *told: object) -> None:
        try:
            await settled(hook(*told))
        except Exception as raised:
            if self._signals.have_raised(raised):
                raise
            LOGGER.exception("%r failed", hook)
