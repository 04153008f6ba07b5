"""Shuffle queues: many tenants share one queue, and one tenant's burst delays only itself.

A queue consists of several streams. Each tenant writes to only a few of them, its shard: always to
the stream of the shard that has the least to do. Consumers read from all streams in turn. A tenant
that writes a thousand times more than the others fills its own streams; the other tenants have
other streams.

Messages are delivered at least once: a delivered message belongs to its consumer until it is
acknowledged, and another consumer reclaims what a dead consumer left behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, AnyStr, Generic

from .._native import Message, Receipt, shard
from ..records import DeadLetter, ShuffleStats
from ..values import Fields, Member, Seconds, Written, letter_ids
from .mode import Loop
from .shuffle_consumer import Messages, ShuffleConsumer
from .shuffle_worker import ShuffleJob, ShuffleWorker

if TYPE_CHECKING:
    from . import _handles

__all__ = [
    "Garbage",
    "Message",
    "Messages",
    "Receipt",
    "ShuffleConsumer",
    "ShuffleJob",
    "ShuffleQueue",
    "ShuffleWorker",
    "shard",
]


class ShuffleQueue(Generic[AnyStr]):
    """A shuffle queue by its name; made by :meth:`millpond.aio.Client.shuffle_queue`.

    Calls raise :class:`TypeError` or :class:`~millpond.InvalidArgumentError` for wrong arguments,
    before anything is sent; :class:`~millpond.WrongTypeError` if a key of the queue holds something
    else, in which case nothing has changed; and :class:`~millpond.CrossSlotError` on a cluster if
    the name contains no ``{tag}`` or, for tracked messages, if their records are in the global
    keys.

    >>> import millpond.aio
    >>> client = millpond.aio.connect("memory:", decode_responses=True)
    >>> queue = client.shuffle_queue("jobs", streams=64, streams_per_shard=4)
    >>> receipt = await queue.write("tenant-7", {"task": "resize", "image": "a.png"})
    >>> receipt.stream in millpond.shard(64, 4, "tenant-7")
    True
    >>> consumer = queue.consumer("workers", "worker-1")
    >>> message = await consumer.read()
    >>> message.field("image")
    'a.png'
    >>> await consumer.ack_and_delete(message)
    1
    >>> await queue.backlog()
    0
    """

    _native: _handles.ShuffleQueue[AnyStr]

    async def write(self, shard_key: Member, fields: Fields) -> Receipt: ...

    async def write_many(self, messages: Written) -> list[Receipt]: ...

    async def write_tracked(
        self, shard_key: Member, fields: Fields, track_field: Member, deadline: int | None = None
    ) -> Receipt: ...

    async def write_tracked_many(
        self, messages: Written, track_field: Member, deadline: int | None = None
    ) -> list[Receipt]: ...

    async def resize(self, streams: int) -> int: ...

    async def delete_tracked(self, value: Member) -> Receipt | None: ...

    async def cordon_deadline_exceeded(self, within: Seconds) -> list[AnyStr]: ...

    def gc(self, time_digits: int | None = None) -> Garbage[AnyStr]: ...

    def consumer(
        self,
        group: Member,
        consumer: Member,
        *,
        prefer_stream: int | None = None,
        default_stream: bool = False,
        max_deliveries: int = 20,
    ) -> ShuffleConsumer[AnyStr]: ...

    async def len(self) -> int: ...

    async def backlog(self) -> int: ...

    async def pending_count(self, group: Member) -> int: ...

    async def stats(self, group: Member) -> ShuffleStats: ...

    async def dead_letters(
        self, max: int = 100, after: DeadLetter[AnyStr] | str | None = None
    ) -> list[DeadLetter[AnyStr]]:
        """core"""
        return await self._native.dead_letters(max, None if after is None else letter_ids(after)[0])

    async def delete_dead_letters(
        self, letters: DeadLetter[AnyStr] | str | Iterable[DeadLetter[AnyStr] | str]
    ) -> int:
        """core"""
        return await self._native.delete_dead_letters(letter_ids(letters))

    async def redrive(
        self, letters: DeadLetter[AnyStr] | str | Iterable[DeadLetter[AnyStr] | str]
    ) -> list[Receipt | None]:
        """core"""
        return await self._native.redrive(letter_ids(letters))

    async def remove_idle_consumers(self, min_idle: Seconds) -> int: ...


class Garbage(Loop[list[AnyStr]]):
    """Values of tracked messages whose deadline has passed, in batches; made by
    :meth:`ShuffleQueue.gc`. Requesting the next batch deletes the records of the previous one; a
    loop that stops early leaves the records of its last batch for the next collection. The messages
    themselves stay.

    With ``decode_responses``, a batch with a value that is not UTF-8 raises
    :class:`UnicodeDecodeError`, ends the collection, and is not deleted.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:", decode_responses=True).shuffle_queue("jobs")
    >>> fields = {"job": "j-1", "task": "resize"}
    >>> receipt = await queue.write_tracked("tenant-7", fields, "job", deadline=1_000_000_000)
    >>> garbage = queue.gc()
    >>> async for values in garbage:
    ...     print(values)
    ['j-1']
    >>> garbage.deleted
    1
    >>> await queue.delete_tracked("j-1") is None  # the record is deleted
    True
    """

    __slots__ = ()
    _native: _handles.Garbage[AnyStr]

    @property
    def scanned(self) -> int:
        """core"""
        return self._native.counts()[0]

    @property
    def deleted(self) -> int:
        """core"""
        return self._native.counts()[1]
