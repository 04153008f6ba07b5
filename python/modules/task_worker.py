"""The workers of a task store; see :mod:`millpond.tasks`."""

from __future__ import annotations

import contextlib
import functools
import weakref
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional

from .._native import Doc, Modification, Task
from ..errors import DependencyError, InvalidArgumentError, MillpondError
from ..records import Modified, TaskId
from ..task_ends import failed, log
from ..task_values import Value
from ..values import Seconds
from .mode import Loop, Returned, let_go, settled

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Handler", "Job", "Jobs", "OnError", "Worker"]


class Worker:
    """Says how tasks are worked on; made by :meth:`TaskStore.worker`. :meth:`jobs` or :meth:`run`
    begin the work. Run several, each in a thread or a task of its own, for several tasks at a time.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> for price in (7, None):
    ...     _ = await store.insert("inbox", {"price": price})
    >>> def handle(job):
    ...     total = job.task.value["price"] * 6
    ...     return job.delete().insert("outbox", {"total": total})
    >>> await store.worker("inbox", max_attempts=1).run(handle)
    >>> [task.value for task in (await store.list("outbox")).tasks]
    [{'total': 42}]
    >>> [task.err for task in (await store.list("inbox/err")).tasks]
    ["TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'"]
    """

    _native: _handles.Worker

    def jobs(self) -> Jobs: ...

    async def run(self, handler: Handler, on_error: OnError | None = None) -> None:
        """Works until there is nothing left to do and the ``wait`` is over.

        The handler is called with a :class:`Job`; with asyncio it can be a coroutine function. The
        :class:`Modification` that it returns happens in one step, with the job's own versions; None
        deletes the task. It can raise :class:`Retry`, :class:`Move` and :class:`Release`; any other
        :class:`Exception` is a failure with its class and message, as :meth:`Job.fail` says. What
        ends a program, such as :class:`KeyboardInterrupt` or cancelling, ends the run and releases
        the task at once. Nothing is done to a job that the handler ended itself.

        A modification that the store refuses with a :class:`~millpond.DependencyError`, or that is
        invalid, is a failure too: the task is released at once, unless its lease was lost, and
        ``on_error`` is called with the job and the error. By default it is logged to the logger
        ``millpond``. The run continues. Other errors of the store end the run, and so do the
        :class:`TypeError` for anything but a modification and what ``on_error`` raises.
        """
        async with self.jobs() as jobs:
            async for job in jobs:
                try:
                    done = await settled(handler(job))
                except Exception as failure:
                    end = failed(job, failure)
                else:
                    end = job.done if done is None else functools.partial(job.finish, done)
                if job.is_ended:
                    continue
                try:
                    await end()
                except (DependencyError, InvalidArgumentError) as error:
                    # Another claimant may have the task by now.
                    with contextlib.suppress(DependencyError):
                        await failed(job, error)()
                    await settled((on_error or log)(job, error))


class Jobs(Loop["Job[Any]"]):
    """The jobs of a worker; made by :meth:`Worker.jobs`. It ends as :class:`Claims` do.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> _ = await store.insert("inbox", {"order": 7})
    >>> async for job in store.worker("inbox").jobs():
    ...     print(job.task.value)
    ...     _ = await job.done()
    {'order': 7}

    In an ``async with`` block the job that the block is left in, by an exception or by ``break``,
    is released at once, if it has not ended.

    >>> _ = await store.insert("inbox", {"order": 8})
    >>> async with store.worker("inbox").jobs() as jobs:
    ...     async for job in jobs:
    ...         break
    >>> (await store.claim("inbox")).value  # another worker has it now
    {'order': 8}
    """

    __slots__ = ("_current",)

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        # One that its user forgets is not renewed any more, so it is not kept alive here.
        self._current: weakref.ref[Job[Any]] | None = None

    async def __anext__(self) -> Job[Any]:
        self._current = None
        native: Any = await super().__anext__()
        job = Job(native)
        self._current = weakref.ref(job)
        return job

    async def _leave(self, kind: type[BaseException] | None) -> None:
        abandoned: Any = self._abandoned()
        current = self._current() if self._current else None
        self._current = None
        is_ending = kind is not None and not issubclass(kind, Exception)
        if kind is not None and issubclass(kind, MillpondError) and kind.retry != "never":
            # The store cannot be reached, and would be waited for again.
            return
        for job in (current, Job(abandoned) if abandoned else None):
            if job is not None and not job.is_ended:
                await let_go(functools.partial(job.release, 0), is_ending)


class Job(Generic[Value]):
    """A task that is being worked on; made by :class:`Jobs`.

    A native thread renews it, and the documents that it claims, three times a lease, so a busy
    handler keeps them. It ends by one of the methods that decide what happens to the task, which
    happens to the newest versions. If a job is dropped without one of these, the task stays leased
    until the lease is over.

    A job leases under a claimant of its own, ``job.task.claimant``. So no two jobs hold the same
    task or document, and only the job can end its task: :meth:`TaskStore.modify` is refused for
    it.

    What ends a job raises :class:`~millpond.DependencyError` if the lease was lost, or if something
    else that it names is not as it has to be. It can be tried again then, or ended in another way,
    while the lease lasts, which is not renewed any more.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> _ = await store.put_doc("accounts", "ann", {"balance": 7})
    >>> _ = await store.insert("inbox", {"from": "ann", "amount": 2})
    >>> async for job in store.worker("inbox").jobs():
    ...     (account,) = await job.claim_docs("accounts", job.task.value["from"])
    ...     balance = account.content["balance"] - job.task.value["amount"]
    ...     change = account.change({"balance": balance}, release=True)
    ...     done = await job.finish(job.delete().change_doc(change))
    >>> (await store.get_doc("accounts", "ann")).content
    {'balance': 5}
    """

    __slots__ = ("__weakref__", "_native", "_task")

    def __init__(self, native: _handles.Job) -> None:
        self._native: _handles.Job = native
        self._task: Task[Value] = native.task

    @property
    def task(self) -> Task[Value]:
        """The task, as it was claimed."""
        return self._task

    @property
    def handle(self) -> TaskId: ...

    @property
    def is_lost(self) -> bool: ...

    @property
    def is_ended(self) -> bool: ...

    def delete(self) -> Modification: ...

    async def claim_docs(
        self, namespace: str, key: str, wait: Seconds | None = None
    ) -> list[Doc[Any]]: ...

    async def finish(self, modification: Modification) -> Modified: ...

    async def done(self) -> Modified: ...

    async def fail(self, err: str) -> Modified: ...

    async def retry(self, err: str, delay: Seconds | None = None) -> Modified: ...

    async def move_to(self, queue: str, err: str) -> Modified: ...

    async def release(self, delay: Seconds | None = None) -> Modified: ...


Handler = Callable[[Job[Any]], Returned[Optional[Modification]]]
"""What works on a job: it returns how the job ends, or None if it is done."""

OnError = Callable[[Job[Any], MillpondError], Returned[object]]
"""Called for a job that could not end as its handler said."""
