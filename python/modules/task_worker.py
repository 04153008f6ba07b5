"""The workers of a task store; see :mod:`millpond.tasks`."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any, Generic

from .._native import Doc, Modification, Task
from ..errors import MillpondError
from ..outcomes import meant
from ..records import Modified, TaskId
from ..task_values import Texts, Value
from ..values import Seconds
from .mode import Loop, let_go
from .working import Runner

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Job", "Jobs", "Worker"]


class Worker(Runner["Job[Any]"]):
    """Says how tasks are worked on; made by :meth:`TaskStore.worker`. :meth:`run` works until it is
    stopped, with ``concurrency`` jobs at a time, and :meth:`drain` until nothing is left.

    The :class:`Modification` that a handler returns happens in one step, with the job's own versions.
    The task is deleted unless the modification changes it, and also after any other value. A handler can also raise :class:`Move`. Nothing is done
    to a job that the handler ended itself.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> for price in (7, None):
    ...     _ = await store.insert("inbox", {"price": price})
    >>> def handle(job):
    ...     total = job.task.value["price"] * 6
    ...     return job.delete().insert("outbox", {"total": total})
    >>> worker = store.worker("inbox", max_attempts=1)
    >>> await worker.drain(handle, on_error=lambda job, error: print(type(error).__name__))
    TypeError
    MillpondError
    JobCounts(done=1, retried=0, dead=1, others=0)
    >>> [task.value for task in (await store.list("outbox")).tasks]
    [{'total': 42}]
    >>> [task.err for task in (await store.list("inbox/err")).tasks]
    ["exhausted: TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'"]
    """

    _native: _handles.Worker
    _meant = staticmethod(meant)

    def jobs(self) -> Jobs: ...

    def stop(self, within: Seconds = 25) -> None: ...


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

    What ends a job raises :class:`~millpond.LeaseLostError` if the lease was lost, and
    :class:`~millpond.DependencyError` if something else that it names is not as it has to be. It can be tried again then, or ended in another way,
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
    def is_cancelled(self) -> bool: ...

    @property
    def is_ended(self) -> bool: ...

    @property
    def time_left(self) -> float | None: ...

    def __str__(self) -> str:
        return f"task {self._task.id} of queue {self._task.queue}"

    def delete(self) -> Modification: ...

    async def claim_docs(
        self, namespace: str, keys: Texts, wait: Seconds | None = None
    ) -> list[Doc[Any]]: ...

    async def finish(self, modification: Modification) -> Modified: ...

    async def done(self) -> Modified: ...

    async def fail(self, err: str) -> Modified: ...

    async def retry(self, err: str, delay: Seconds | None = None) -> Modified: ...

    async def move_to(self, queue: str, err: str) -> Modified: ...

    async def release(self, delay: Seconds | None = None) -> Modified: ...


Worker._job = Job
