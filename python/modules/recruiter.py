"""Recruiters: background work in small slices, done by any process that has a moment to spare.

There is no cron, no daemon and no leader. A process that has answered a request, or that found nothing to do,
*enlists*: now and then it is *recruited*, and does one *slice* of a job's work, within a budget of time. That suits work
that any process may do, in small parts and at no fixed time: removing what has expired, comparing a cache with a
database, sending mail slowly.

A job has one of two kinds of rate. ``per_second`` is the number of slices that all processes together run in a second,
however many enlist. A ``share`` is the part of all enlistments that run the job, drawn by lot with no call to a server.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Callable, Optional, TypeVar

from ..errors import MillpondError
from ..outcomes import LOGGER, SignalHandlers, check_handler, stopped_by_signals
from ..records import Duty, JobStats, RecruiterStats
from ..recruiter_values import Why, items
from ..values import Seconds
from .mode import CANCELLED, IS_ASYNC, Returned, settled

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Duty", "JobStats", "Recruiter", "RecruiterStats", "Slice", "Why"]

Handler = Callable[["Slice"], Returned[Optional[int]]]
"""Does a slice, and returns how many items it worked on."""

OnError = Callable[[Optional[str], Exception], Returned[object]]
"""Called with each error, and the id of the job if it is a handler's."""

Installed = TypeVar("Installed", bound=Handler)


class Recruiter:
    """Background work in small slices, done by any process that has a moment to spare; made by
    :meth:`millpond.aio.Client.recruiter`.

    Jobs and settings are those of this object. How often the process asks the server, and what it has to report, is
    shared by all recruiters of the same name and servers in the process; so all of them should have the same jobs.

    >>> import millpond.aio
    >>> recruiter = millpond.aio.connect("memory:").recruiter("site")
    >>> mails = ["to ann", "to bob"]
    >>> @recruiter.job("mail", share=1, budget=0.02)
    ... def send(slice):
    ...     sent = 0
    ...     while mails and not slice.is_over:
    ...         mails.pop()
    ...         sent += 1
    ...     return sent  # 0 says that there was nothing to do
    >>> duty = await recruiter.enlist()  # after a response, or when a queue was empty
    >>> duty.job, duty.why
    ('mail', 'worked')
    """

    __slots__ = ("_handlers", "_native", "_on_error")

    def __init__(self, native: _handles.Recruiter) -> None:
        self._native: _handles.Recruiter = native
        self._handlers: dict[str, Handler] = {}
        self._on_error: OnError | None = None

    def install(
        self,
        id: str,
        handler: Handler,
        *,
        per_second: float | None = None,
        share: float | None = None,
        burst: int | None = None,
        budget: Seconds | None = None,
        max_running: int | None = None,
        lease: Seconds | None = None,
        idle_max: Seconds | None = None,
    ) -> None:
        """core"""
        check_handler(handler, IS_ASYNC, "recruiter")
        self._native.install(id, per_second, share, burst, budget, max_running, lease, idle_max)
        self._handlers[id] = handler

    def job(
        self,
        id: str,
        *,
        per_second: float | None = None,
        share: float | None = None,
        burst: int | None = None,
        budget: Seconds | None = None,
        max_running: int | None = None,
        lease: Seconds | None = None,
        idle_max: Seconds | None = None,
    ) -> Callable[[Installed], Installed]:
        """:meth:`install` as a decorator. The function stays what it is."""

        def install(handler: Installed) -> Installed:
            self.install(
                id,
                handler,
                per_second=per_second,
                share=share,
                burst=burst,
                budget=budget,
                max_running=max_running,
                lease=lease,
                idle_max=idle_max,
            )
            return handler

        return install

    def uninstall(self, job: str) -> bool:
        """core"""
        # In this order: the id is free for another thread's handler when the core has removed the job.
        self._handlers.pop(job, None)
        return self._native.uninstall(job)

    def on_error(self, hook: OnError) -> None:
        """core"""
        if not callable(hook):
            raise TypeError(f"the hook has to be a function, not {type(hook).__name__}")
        self._on_error = hook

    async def enlist(self, budget: Seconds | None = None) -> Duty:
        """core"""
        begun = self._native.decide(budget)
        if begun is None:
            begun, error = await self._native.ask(budget)
            if error is not None:
                await self._report(None, error)
        if isinstance(begun, Duty):
            return begun
        return await self._work(begun, SignalHandlers())

    async def run(self, *, stop_on_signals: bool = True) -> None:
        """core"""
        signals = SignalHandlers()
        stopped: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if stop_on_signals:
            stopped = stopped_by_signals(lambda within: self.stop(), 0)
        with stopped, signals:
            slices = self._native.slices()
            while True:
                try:
                    native = await slices.next()
                except MillpondError as error:
                    if error.retry == "never":
                        raise
                    await self._report(None, error)
                    continue
                if native is None:
                    return
                await self._work(native, signals)

    @property
    def is_due(self) -> bool: ...

    async def wake(self, job: str) -> None: ...

    def stop(self) -> None: ...

    async def stats(self) -> RecruiterStats: ...

    def set_duty_max(self, part: float) -> None: ...

    def set_decision_timeout(self, timeout: Seconds) -> None: ...

    async def _work(self, native: _handles.Slice, signals: SignalHandlers) -> Duty:
        """Does a slice. What a handler raises is no error of the caller's, unless it ends the program."""
        handler = self._handlers.get(native.job)
        if handler is None:
            # It was uninstalled a moment ago.
            native.abort()
            return native.end(0)
        try:
            return native.end(items(await settled(handler(Slice(native)))))
        except Exception as failure:
            duty = native.fail()
            if signals.have_raised(failure):
                raise
            await self._report(native.job, failure)
            return duty
        except CANCELLED:
            # It says nothing about the work.
            native.abort()
            native.end(0)
            raise
        except BaseException:
            native.fail()
            raise

    async def _report(self, job: str | None, error: Exception) -> None:
        hook = self._on_error
        if hook is not None:
            try:
                await settled(hook(job, error))
            except Exception:
                LOGGER.exception("%r failed", hook)
        elif job is None:
            LOGGER.error("no slice: %s", error)
        else:
            LOGGER.error("the job %s failed", job, exc_info=error)


class Slice:
    """One slice of a job's work; passed to the handler of a :class:`Recruiter`.

    The handler stops when the slice ``is_over``; it is not interrupted.

    >>> import millpond.aio
    >>> clock = millpond.ManualClock()
    >>> recruiter = millpond.aio.connect("memory:", clock=clock).recruiter("site")
    >>> @recruiter.job("count", share=1, budget=0.5)
    ... def count(slice):
    ...     done = 0
    ...     while not slice.is_over:
    ...         clock.advance(0.2)  # the work
    ...         done += 1
    ...     slice.more()
    ...     return done
    >>> await recruiter.enlist()
    Duty(recruited=True, job='count', took=0.6, why='worked')
    """

    _native: _handles.Slice

    @property
    def job(self) -> str: ...

    @property
    def budget(self) -> float: ...

    @property
    def remaining(self) -> float: ...

    @property
    def is_over(self) -> bool: ...

    @property
    def fence(self) -> int: ...

    @property
    def is_lost(self) -> bool: ...

    def more(self) -> None: ...

    def abort(self) -> None: ...

    def __str__(self) -> str:
        return f"a slice of {self.job}"
