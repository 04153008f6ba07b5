"""Task stores: work that is claimed, and completed in one step together with its results.

A store holds tasks in queues, and documents beside them. There are two ways to change it: a *claim*
leases an available task to one claimant, and a *modification* inserts, changes and deletes tasks
and documents, all or nothing. So a worker deletes the task that it has completed and inserts the
next one in a single step, and nothing is lost or duplicated if it dies before or after.

Each task has a version, which every claim, renewal and change increments. A modification with a
stale version is refused with a :class:`~millpond.DependencyError`: a worker whose lease has
expired, and whose task another worker has claimed, can do no harm.

Delivery is at least once: a task is available again when its lease expires. Order is not
guaranteed, but as a rule the oldest tasks of the highest priority come first.

Names and JSON texts are str here, regardless of the client's ``decode_responses``. A value is any
JSON value. ``json`` gives and takes the JSON text instead, byte for byte, for long numbers and for
values that are only passed on.
"""

from __future__ import annotations

import builtins
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from .._native import Doc, DocChange, Modification, Task, TaskChange
from ..records import (
    DocPage,
    DocPosition,
    Modified,
    NamespaceStats,
    Position,
    QueueStats,
    Renewed,
    Swept,
    TaskPage,
)
from ..outcomes import Move, Reject, Release, Report, Retry
from ..task_values import Content, DocHandles, Docs, TaskHandles, Tasks, Texts
from ..values import UNSET, Fields, Seconds, Unset
from .mode import Loop
from .task_worker import Job, Jobs, Worker

if TYPE_CHECKING:
    from . import _handles

__all__ = [
    "Claims",
    "Doc",
    "DocChange",
    "Job",
    "Jobs",
    "Modification",
    "Move",
    "Reject",
    "Release",
    "Report",
    "Retry",
    "Task",
    "TaskChange",
    "TaskStore",
    "Worker",
]


class TaskStore:
    """A store of tasks and documents by its name; made by :meth:`millpond.aio.Client.tasks`.
    A modification cannot span several stores.

    Names of queues have up to 65,536 bytes; ids, claimants and namespaces up to 64 characters; ids
    of documents up to 1,025; values up to 16 MiB. Calls raise :class:`TypeError` or
    :class:`~millpond.InvalidArgumentError` for wrong arguments, before anything is sent, and
    :class:`~millpond.WrongTypeError` or :class:`~millpond.IncompatibleVersionError` if the keys
    hold something else. A value with an object that JSON cannot represent, such as a set, raises
    :class:`TypeError`, and a str that UTF-8 cannot encode raises :class:`UnicodeEncodeError`.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> _ = await store.insert("inbox", {"order": 7})
    >>> task = await store.claim("inbox")
    >>> task.value
    {'order': 7}
    >>> # Done with one and on with the next, in one step: both happen or neither does.
    >>> done = millpond.Modification().delete(task).insert("outbox", {"invoice": 7})
    >>> [task.queue for task in (await store.modify(done)).inserted]
    ['outbox']
    >>> await store.queues()
    {'outbox': 1}
    """

    _native: _handles.TaskStore

    @property
    def claimant(self) -> str: ...

    @overload
    async def insert(
        self,
        queue: str,
        value: Content | Unset = UNSET,
        *,
        json: str | Unset | None = UNSET,
        id: str | None = None,
        at: datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int = 0,
        err: str = "",
        priority: int = 0,
        ttl: Seconds | None = None,
        dedup_window: Seconds | None = None,
        headers: Fields | None = None,
        skip_colliding: Literal[False] = False,
    ) -> Task[Content]: ...
    @overload
    async def insert(
        self,
        queue: str,
        value: Content | Unset = UNSET,
        *,
        json: str | Unset | None = UNSET,
        id: str | None = None,
        at: datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int = 0,
        err: str = "",
        priority: int = 0,
        ttl: Seconds | None = None,
        dedup_window: Seconds | None = None,
        headers: Fields | None = None,
        skip_colliding: bool,
    ) -> Task[Content] | None: ...
    async def insert(
        self,
        queue: str,
        value: Any = UNSET,
        *,
        json: str | Unset | None = UNSET,
        id: str | None = None,
        at: datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int = 0,
        err: str = "",
        priority: int = 0,
        ttl: Seconds | None = None,
        dedup_window: Seconds | None = None,
        headers: Fields | None = None,
        skip_colliding: bool = False,
    ) -> Task[Any] | None:
        """Inserts one task, with any JSON value, or with a JSON text as ``json``, or without a
        value. To insert more than one, see :class:`Modification`.

        The task can be claimed immediately; or from ``at`` on, a datetime with a time zone; or from
        ``at_ms`` on, in milliseconds since the Unix epoch; or after ``delay`` seconds. Of the
        available tasks of a queue, those with the highest ``priority``, 0 to 9, are claimed first.
        After ``ttl`` seconds the task is deleted, whether done or not, leased or not. ``attempt``
        and ``err`` say how often it was tried before and what went wrong. ``headers`` are names
        with bytes, for metadata that is not part of the value: up to 64 headers, and 16 KiB in
        total.

        Its ``id`` is unique in the store, 16 random hexadecimal digits by default. If the id is
        taken, this raises :class:`~millpond.DependencyError`, or with ``skip_colliding`` returns
        None and does nothing. After :class:`~millpond.ConnectionLostError` or
        :class:`~millpond.TimeoutError` the task may or may not exist; if you chose its id, you can
        insert it again as long as it exists, and for ``dedup_window`` seconds, up to 7 days, after it
        has ended. Without a window its id is free when it has ended, and the same insert adds a new
        task.
        """
        gathered = Modification().insert(
            queue,
            value,
            json=json,
            id=id,
            at=at,
            at_ms=at_ms,
            delay=delay,
            attempt=attempt,
            err=err,
            priority=priority,
            ttl=ttl,
            dedup_window=dedup_window,
            headers=headers,
            skip_colliding=skip_colliding,
        )
        inserted = (await self.modify(gathered)).inserted
        return inserted[0] if inserted else None

    async def modify(self, modification: Modification) -> Modified: ...

    async def claim(self, queues: Texts, lease: Seconds = 30) -> Task[Any] | None: ...

    async def claim_many(self, queues: Texts, max: int, lease: Seconds = 30) -> Tasks: ...

    def claims(
        self, queues: Texts, max: int = 1, wait: Seconds | None = None, lease: Seconds = 30
    ) -> Claims: ...

    def worker(
        self,
        queues: Texts,
        *,
        concurrency: int = 10,
        prefetch: int = 0,
        timeout: Seconds | None = None,
        budget: Seconds | None = None,
        wait: Seconds | None = None,
        lease: Seconds = 30,
        backoff: Seconds = 30,
        backoff_max: Seconds = 3_600,
        max_attempts: int = 20,
        max_crashes: int = 3,
        error_queue: str | None = None,
    ) -> Worker: ...

    async def renew(
        self, tasks: TaskHandles = (), docs: DocHandles = (), lease: Seconds = 30
    ) -> Renewed: ...

    async def cancel(self, ids: Texts, force: bool = False) -> builtins.list[bool]: ...

    async def fetch(self, ids: Texts) -> Tasks: ...

    async def list(
        self,
        queue: str,
        *,
        after: Position | Task[Any] | tuple[int, str] | None = None,
        limit: int | None = None,
        claimant: str | None = None,
        omit_values: bool = False,
    ) -> TaskPage: ...

    async def queues(
        self, exact: Texts = (), prefixes: Texts = (), limit: int | None = None
    ) -> dict[str, int]: ...

    async def are_empty(self, exact: Texts = (), prefixes: Texts = ()) -> bool: ...

    async def queue_stats(
        self, exact: Texts = (), prefixes: Texts = (), limit: int | None = None
    ) -> builtins.list[QueueStats]: ...

    async def pause(self, queue: str) -> None: ...

    async def resume(self, queue: str) -> None: ...

    async def purge(
        self,
        queue: str,
        *,
        after: Position | Task[Any] | tuple[int, str] | None = None,
        limit: int | None = None,
        available: bool = False,
        claimed: bool = False,
        future: bool = False,
        claimant: str | None = None,
        err: str | None = None,
        include_held: bool = False,
    ) -> Swept: ...

    async def move_tasks(
        self,
        queue: str,
        to: str,
        *,
        after: Position | Task[Any] | tuple[int, str] | None = None,
        limit: int | None = None,
        available: bool = False,
        claimed: bool = False,
        future: bool = False,
        claimant: str | None = None,
        err: str | None = None,
        include_held: bool = False,
    ) -> Swept: ...

    async def redrive(
        self,
        queue: str,
        to: str,
        *,
        after: Position | Task[Any] | tuple[int, str] | None = None,
        limit: int | None = None,
        available: bool = False,
        claimed: bool = False,
        future: bool = False,
        claimant: str | None = None,
        err: str | None = None,
        include_held: bool = False,
    ) -> Swept: ...

    async def claim_docs(self, namespace: str, keys: Texts, lease: Seconds = 30) -> Docs: ...

    async def get_doc(self, namespace: str, key: str, secondary_key: str = "") -> Doc[Any] | None: ...

    async def put_doc(
        self,
        namespace: str,
        key: str,
        content: Content | Unset = UNSET,
        *,
        json: str | Unset = UNSET,
        id: str | None = None,
        secondary_key: str | None = None,
    ) -> Doc[Content]:
        """Inserts a document, or replaces the content of the document with this ``id``, in one
        step, and returns the current document. Without an ``id``, that is the document of these
        keys. ``content`` is any JSON value; ``json`` is the JSON text instead. The document's
        claimant stays the same.

        Raises :class:`~millpond.DependencyError` if another claimant holds it, or if a document
        with other keys has its ``id``. After :class:`~millpond.ConnectionLostError` or
        :class:`~millpond.TimeoutError` the call may have taken effect; sent again, it replaces what
        others have put in the meantime.
        """
        gathered = Modification().put_doc(
            namespace, key, content, json=json, id=id, secondary_key=secondary_key
        )
        done = await self.modify(gathered)
        return done.inserted_docs[0]

    async def fetch_docs(self, namespace: str, ids: Texts) -> Docs: ...

    async def list_docs(
        self,
        namespace: str,
        *,
        start: str | None = None,
        end: str | None = None,
        after: DocPosition | Doc[Any] | tuple[str, str, str] | None = None,
        limit: int | None = None,
        omit_contents: bool = False,
    ) -> DocPage: ...

    async def namespace_stats(
        self, exact: Texts = (), prefixes: Texts = (), limit: int | None = None
    ) -> builtins.list[NamespaceStats]: ...

    async def time(self) -> int: ...


class Claims(Loop[Tasks]):
    """The loop of a claimant; made by :meth:`TaskStore.claims`. Requesting the next batch does not
    change the previous one: its tasks are leased until they are deleted or changed, or until the
    lease expires.

    >>> import millpond.aio
    >>> store = millpond.aio.connect("memory:").tasks("shop")
    >>> for page in (1, 2, 3):
    ...     _ = await store.insert("print", {"page": page})
    >>> async for tasks in store.claims("print", max=2):
    ...     done = millpond.Modification()
    ...     for task in tasks:
    ...         _ = done.delete(task)
    ...     _ = await store.modify(done)
    >>> await store.are_empty("print")
    True

    A loop that is left by an exception or by ``break`` leaves its tasks leased, because it cannot
    know which of them are done. After :class:`~millpond.ConnectionLostError` or
    :class:`~millpond.TimeoutError`, and after the call for the next batch was cancelled or ended by
    Ctrl-C, tasks may be leased that the loop never received. An ``async with`` block stops
    listening at its end.
    """

    __slots__ = ()
    _native: _handles.Claims
