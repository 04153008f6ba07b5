"""The consumers of a shuffle queue; see :mod:`millpond.shuffle`."""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Generic

from .._native import Message
from ..records import Reclaimed
from ..values import Seconds, Taken
from .mode import Loop
from .shuffle_worker import ShuffleWorker

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Messages", "ShuffleConsumer"]


class ShuffleConsumer(Generic[AnyStr]):
    """One consumer in a consumer group of a queue; made by :meth:`ShuffleQueue.consumer`.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:").shuffle_queue("jobs")
    >>> _ = await queue.write_many([("a", {"n": "1"}), ("b", {"n": "2"}), ("c", {"n": "3"})])
    >>> consumer = queue.consumer("workers", "worker-1")
    >>> messages = await consumer.read_many(2)
    >>> await consumer.ack(messages)
    2
    >>> lost = await consumer.read()  # and then the consumer dies
    >>> reclaimed = await queue.consumer("workers", "worker-2").reclaim(min_idle=0, max=100)
    >>> [(message.id == lost.id, message.deliveries) for message in reclaimed.messages]
    [(True, 2)]
    """

    _native: _handles.ShuffleConsumer[AnyStr]

    async def read(self, wait: Seconds | None = None) -> Message[AnyStr] | None:
        """Reads the next message. If there is none, waits up to ``wait`` seconds for one
        (``math.inf`` waits without limit), then returns None. Waiting costs the server almost
        nothing.

        A delivered message belongs to the consumer until it is acknowledged; reading the next one
        does not acknowledge it. After :class:`~millpond.ConnectionLostError` or
        :class:`~millpond.TimeoutError`, and after the call was cancelled or ended by Ctrl-C, a
        message may be pending that the consumer never received, until it is reclaimed.
        """
        return await self._native.read(wait)

    async def read_many(self, max: int, wait: Seconds | None = None) -> list[Message[AnyStr]]:
        """Reads up to ``max`` messages, at most 10,000, in one step: the same ones that ``max``
        calls of :meth:`read` would return. If there is none, it waits up to ``wait`` seconds.
        """
        return await self._native.read_many(max, wait)

    def messages(self, max: int = 100, wait: Seconds | None = None) -> Messages[AnyStr]: ...

    def worker(
        self,
        *,
        concurrency: int = 10,
        prefetch: int = 0,
        timeout: Seconds | None = None,
        budget: Seconds | None = None,
        lease: Seconds = 60,
        backoff: Seconds = 30,
        backoff_max: Seconds = 60,
        delete: bool = False,
        keep_consumers: Seconds = 3_600,
    ) -> ShuffleWorker[AnyStr]: ...

    async def ack(self, messages: Taken) -> int: ...

    async def ack_and_delete(self, messages: Taken) -> int: ...

    async def ack_each(self, messages: Taken) -> list[bool]: ...

    async def ack_and_delete_each(self, messages: Taken) -> list[bool]: ...

    async def renew(self, messages: Taken) -> int: ...

    async def release(self, messages: Taken, min_idle: Seconds, delay: Seconds = 0) -> int: ...

    async def reject(self, messages: Taken, reason: str) -> int: ...

    async def reclaim(self, min_idle: Seconds, max: int) -> Reclaimed[AnyStr]: ...


class Messages(Loop[list[Message[AnyStr]]]):
    """A consumer's loop. A message is done only when it is acknowledged: requesting the next batch
    does not acknowledge the previous one.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:", decode_responses=True).shuffle_queue("jobs")
    >>> receipts = await queue.write_many([("b", {"image": "1.png"}), ("b", {"image": "2.png"})])
    >>> consumer = queue.consumer("workers", "worker-1")
    >>> async for batch in consumer.messages():
    ...     for message in batch:
    ...         print(message.field("image"))
    ...     await consumer.ack_and_delete(batch)
    1.png
    2.png
    2

    So if a loop is left by an exception or by ``break``, messages that were not acknowledged stay
    with the group. After :class:`~millpond.ConnectionLostError` or :class:`~millpond.TimeoutError`,
    and after the call for the next batch was cancelled or ended by Ctrl-C, messages may be pending
    that the loop never received, until they are reclaimed. An ``async with`` block stops listening
    at its end.
    """

    __slots__ = ()
    _native: _handles.Messages[AnyStr]
