"""Task stores: work that is claimed, and finished together with what comes of it.

A store holds tasks in queues, and documents beside them. There are two ways to change it: a *claim*
leases an available task to one claimant, and a *modification* inserts, changes and deletes tasks
and documents, all of it or nothing. So a worker deletes the task that it has done and inserts what
follows in one step, and nothing is lost or doubled if it dies before or after.

Each task has a version, which every claim, renewal and change raises. A modification with a stale
version is refused with a :class:`~millpond.DependencyError`: a worker whose lease is over, and
whose task another one has claimed, can do no harm.

Delivery is at least once: a task is available again when its lease is over. Order is not
guaranteed, but the oldest tasks of the highest priority come first, nearly.

Names and JSON texts are str here, whatever the client's ``decode_responses``. A value is anything
that JSON has; ``json`` gives and takes the text instead, byte for byte, where numbers are long or a
value is only passed on.
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
    TaskPage,
)
from ..task_ends import Move, Release, Retry
from ..task_values import Content, DocHandles, Docs, TaskHandles, Tasks, Texts
from ..values import UNSET, Seconds, Unset
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
    "Release",
    "Retry",
    "Task",
    "TaskChange",
    "TaskStore",
    "Worker",
]


class TaskStore:
    """A store of tasks and documents by its name; made by :meth:`millpond.aio.Client.tasks`.
    Everything that one modification spans is in one store.

    Names of queues have up to 65,536 bytes, ids, claimants and namespaces up to 64 characters, ids
    of documents up to 1,025, values up to 16 MiB. Calls raise :class:`TypeError` or
    :class:`~millpond.InvalidArgumentError` for wrong arguments, before anything is sent, and
    :class:`~millpond.WrongTypeError` or :class:`~millpond.IncompatibleVersionError` if the keys
    hold something else.

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

    __slots__ = ("_native",)

    def __init__(self, native: _handles.TaskStore) -> None:
        self._native: _handles.TaskStore = native

    @property
    def claimant(self) -> str:
        """Who claims."""
        return self._native.claimant

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
        skip_colliding: bool = False,
    ) -> Task[Any] | None:
        """Inserts one task, with a value that JSON has, or with a JSON text as ``json``, or without
        a value. For more than one, see :class:`Modification`.

        It can be claimed at once, or from ``at`` on, a datetime with a time zone, or from ``at_ms``
        on, in milliseconds since the Unix epoch, or after ``delay`` seconds. Of the available tasks
        of a queue those with the highest ``priority``, 0 to 9, are claimed first. After ``ttl``
        seconds the task is deleted, done or not, leased or not. ``attempt`` and ``err`` say how
        often it was tried before and what went wrong.

        Its ``id`` is unique in the store, 16 random hexadecimal digits by default. If it is taken,
        raises :class:`~millpond.DependencyError`, or with ``skip_colliding`` returns None and does
        nothing. After :class:`~millpond.ConnectionLostError` or :class:`~millpond.TimeoutError` the
        task may or may not be there; with an id of its own it can be inserted again.
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
            skip_colliding=skip_colliding,
        )
        inserted = (await self.modify(gathered)).inserted
        return inserted[0] if inserted else None

    async def modify(self, modification: Modification) -> Modified:
        """Does all of a modification, or nothing.

        Raises :class:`~millpond.DependencyError` if something is not as it has to be, with a list
        of all that is not; then nothing has changed. After :class:`~millpond.ConnectionLostError`
        or
        :class:`~millpond.TimeoutError` it is done as a whole or not at all; :meth:`fetch` shows
        which. Sent again, what it changed or deleted is not there at that version any more, so
        nothing is done twice unless it only inserts; give inserts an id of your own then.
        """
        return await self._native.modify(modification)

    async def claim(self, queues: Texts, lease: Seconds = 30) -> Task[Any] | None:
        """core"""
        return await self._native.claim(queues, lease)

    async def claim_many(self, queues: Texts, max: int, lease: Seconds = 30) -> Tasks:
        """core"""
        return await self._native.claim_many(queues, max, lease)

    def claims(
        self, queues: Texts, max: int = 1, wait: Seconds | None = None, lease: Seconds = 30
    ) -> Claims:
        """The loop of claims: batches of up to ``max`` leased tasks; see :class:`Claims`.

        Without ``wait`` it ends when nothing is available. Otherwise it ends when nothing was for
        ``wait`` seconds; ``math.inf`` is forever.
        """
        return Claims(self._native.claims(queues, max, wait, lease))

    def worker(
        self,
        queues: Texts,
        *,
        wait: Seconds | None = None,
        lease: Seconds = 30,
        backoff: Seconds = 30,
        backoff_max: Seconds = 3_600,
        max_attempts: int = 0,
        max_claims: int = 0,
        error_queue: str | None = None,
    ) -> Worker:
        """A worker for these queues, which renews what it works on, retries what failed, and
        moves what fails too often to the error queue; see :class:`Worker`.

        With ``wait`` it waits for this many seconds for a task when none is available, instead of
        ending at once. A task that failed is delayed for ``backoff`` seconds, then twice as long
        each time up to ``backoff_max``, each time minus a random part of up to a half. After
        ``max_attempts`` it goes to the ``error_queue``, by default the queue that it is in with
        ``/err`` appended. A task that was claimed more often than ``max_claims`` since it was last
        inserted, changed or released goes there too and to no handler, as it may be what kills the
        workers: only expired leases count. For both 0, the default, is never.
        """
        native = self._native.worker(
            queues, wait, lease, backoff, backoff_max, max_attempts, max_claims, error_queue
        )
        return Worker(native)

    async def renew(
        self, tasks: TaskHandles = (), docs: DocHandles = (), lease: Seconds = 30
    ) -> Renewed:
        """core"""
        return await self._native.renew(tasks, docs, lease)

    async def fetch(self, ids: Texts) -> Tasks:
        """core"""
        return await self._native.fetch(ids)

    async def list(
        self,
        queue: str,
        *,
        after: Position | Task[Any] | tuple[int, str] | None = None,
        limit: int | None = None,
        claimant: str | None = None,
        omit_values: bool = False,
    ) -> TaskPage:
        """A page of a queue's tasks, by time and id: the first, or the one ``after`` a position.
        It reads up to ``limit`` tasks, 1,000 by default, at most 10,000.

        With a ``claimant`` there are only tasks that are this one's or available; a page may hold
        fewer then, or none, and still have a next one. Pages are not one snapshot: a task that is
        claimed between two pages may be on both or on none.
        """
        return await self._native.list(queue, after, limit, claimant, omit_values)

    async def queues(
        self, exact: Texts = (), prefixes: Texts = (), limit: int | None = None
    ) -> dict[str, int]:
        """core"""
        return dict(await self._native.queues(exact, prefixes, limit))

    async def are_empty(self, exact: Texts = (), prefixes: Texts = ()) -> bool:
        """core"""
        return await self._native.are_empty(exact, prefixes)

    async def queue_stats(
        self, exact: Texts = (), prefixes: Texts = (), limit: int | None = None
    ) -> builtins.list[QueueStats]:
        """core"""
        return await self._native.queue_stats(exact, prefixes, limit)

    async def claim_docs(self, namespace: str, key: str, lease: Seconds = 30) -> Docs:
        """core"""
        return await self._native.claim_docs(namespace, key, lease)

    async def get_doc(self, namespace: str, key: str, secondary_key: str = "") -> Doc[Any] | None:
        """core"""
        return await self._native.get_doc(namespace, key, secondary_key)

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
        """Inserts a document, or replaces the content of the one of its ``id``, in one step, and
        returns it as it is now. Without an ``id`` that is the document of its keys. Its
        ``content`` is a value that JSON has, or the JSON text itself as ``json``. The document's
        claimant stays the same.

        Raises :class:`~millpond.DependencyError` if another claimant holds it, or a document of
        other keys has its ``id``. After :class:`~millpond.ConnectionLostError` or
        :class:`~millpond.TimeoutError` it may be done; sent again, it replaces what others put
        meanwhile.
        """
        gathered = Modification().put_doc(
            namespace, key, content, json=json, id=id, secondary_key=secondary_key
        )
        done = await self.modify(gathered)
        return done.inserted_docs[0]

    async def fetch_docs(self, namespace: str, ids: Texts) -> Docs:
        """core"""
        return await self._native.fetch_docs(namespace, ids)

    async def list_docs(
        self,
        namespace: str,
        *,
        start: str | None = None,
        end: str | None = None,
        after: DocPosition | Doc[Any] | tuple[str, str, str] | None = None,
        limit: int | None = None,
        omit_contents: bool = False,
    ) -> DocPage:
        """A page of a namespace's documents, by primary key, secondary key and id: from the
        primary key ``start`` on, up to ``end`` and without it, ``after`` a position, up to
        ``limit``, 1,000 by default and at most 10,000.
        """
        return await self._native.list_docs(namespace, start, end, after, limit, omit_contents)

    async def namespace_stats(
        self, exact: Texts = (), prefixes: Texts = (), limit: int | None = None
    ) -> builtins.list[NamespaceStats]:
        """core"""
        return await self._native.namespace_stats(exact, prefixes, limit)

    async def time(self) -> int:
        """core"""
        return await self._native.time()


class Claims(Loop[Tasks]):
    """The loop of a claimant; made by :meth:`TaskStore.claims`. Asking for the next batch changes
    nothing about the one before: its tasks are leased until they are deleted or changed, or until
    the lease is over.

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

    A loop that is left by an exception or by ``break`` leaves its tasks leased: which of them are
    done, it cannot know. After :class:`~millpond.ConnectionLostError` or
    :class:`~millpond.TimeoutError`, and after the call for the next batch was cancelled or ended by
    Ctrl-C, tasks may be leased that it never received. An ``async with`` block stops listening at
    its end.
    """

    __slots__ = ()
    _native: _handles.Claims
