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
    """Runs a handler for the tasks of some queues; made by :meth:`TaskStore.worker`. :meth:`run`
    works until it is stopped, on ``concurrency`` jobs at a time, and :meth:`drain` until nothing is
    left.

    If the handler returns a :class:`Modification`, it is applied in one step, to the newest
    versions of what the job holds. The task is deleted unless the modification changes it; after
    any other return value, the task is deleted too. A handler can also raise :class:`Move`. A job
    that the handler has already ended is left as it is.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> for price in (7, None):
    ...     _ = await store.insert("inbox", {"price": price})
    >>> def handle(job):
    ...     total = job.task.value["price"] * 6
    ...     return job.delete().insert("outbox", {"total": total})
    >>> worker = store.worker("inbox", max_attempts=1)
    >>> await worker.drain(handle, on_error=lambda job, error: print(type(error).__name__))
    DeadLetterError
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

    If an ``async with`` block is left during a job, by an exception or by ``break``, that job is
    released immediately unless it has ended.

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
        # A job that its user drops is no longer renewed, so it is not kept alive here.
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
            # The store cannot be reached; a release would wait for it again.
            return
        for job in (current, Job(abandoned) if abandoned else None):
            if job is not None and not job.is_ended:
                await let_go(functools.partial(job.release, 0), is_ending)


class Job(Generic[Value]):
    """A task that is being worked on; made by :class:`Jobs`.

    A native thread renews the task, and the documents that the job claims, three times per lease,
    so a busy handler keeps them. A job is ended by one of the methods that decide what happens to
    the task; they act on the newest versions. If a job is dropped without calling one of these, the
    task stays leased until the lease expires.

    A job leases under its own claimant, ``job.task.claimant``. So no two jobs hold the same
    task or document, and only the job can end its task: :meth:`TaskStore.modify` is refused for
    it.

    The methods that end a job raise :class:`~millpond.LeaseLostError` if the lease was lost, and
    :class:`~millpond.DependencyError` if something else that they name is not as required. After
    such an error the call can be repeated, or the job ended in another way, while the lease lasts;
    the lease is no longer renewed.

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
    def is_last_attempt(self) -> bool: ...

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
