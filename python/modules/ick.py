"""Ick: a dirty list with write-folding and two-phase commit.

For sync pipelines (database to search index, crawlers, repair jobs): producers flag documents as
dirty; one consumer takes batches, processes them, and commits. A document that is flagged again
while it is processed is processed again. A document that is flagged often does not move back in the
order, since a member keeps its lowest score.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, AnyStr, Generic, Literal

from ..records import Added
from ..values import Member, Members, Pairs, Seconds, Stats
from .held import Held
from .mode import Loop

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Batches", "ConsumerLease", "Ick", "IckChannel"]


class Ick(Generic[AnyStr]):
    """An Ick by its name; made by :meth:`millpond.aio.Client.ick`.

    >>> import millpond.aio
    >>> ick = millpond.aio.connect("memory:", decode_responses=True).ick("files")
    >>> await ick.add([(2.0, "b.txt"), (1.0, "a.txt")])
    Added(new=2, lowered=0)
    >>> await ick.reserve(10)
    [('a.txt', 1.0), ('b.txt', 2.0)]
    >>> await ick.add([(3.0, "a.txt")])  # dirty again while it is being worked on
    Added(new=1, lowered=0)
    >>> await ick.commit(["a.txt", "b.txt"])
    2
    >>> await ick.reserve(10)  # not forgotten
    [('a.txt', 3.0)]
    """

    _native: _handles.Ick[AnyStr]

    async def add(self, pairs: Pairs) -> Added: ...

    async def reserve(self, max: int, backwash: bool = False) -> list[tuple[AnyStr, float]]: ...

    async def commit(self, members: Members) -> int: ...

    async def exchange(
        self, max: int, members: Members = (), backwash: bool = False
    ) -> list[tuple[AnyStr, float]]: ...

    async def stats(self) -> Stats[AnyStr] | None:
        """core"""
        return Stats._of(await self._native.stats())

    async def peek(
        self, max: int, set: Literal["producer", "consumer"] = "producer"
    ) -> list[tuple[AnyStr, float]]: ...

    async def delete(self, unlink: bool = False) -> int: ...

    async def lease(self, ttl: Seconds) -> ConsumerLease[AnyStr] | None: ...

    def batches(self, max: int, wait: Seconds | None = None) -> Batches[AnyStr]: ...


class Batches(Loop[list[tuple[AnyStr, float]]]):
    """A consumer's loop. Requesting the next batch commits the previous one, in the same round trip.

    >>> import millpond.aio
    >>> ick = millpond.aio.connect("memory:", decode_responses=True).ick("files")
    >>> (await ick.add([(1, "a.txt"), (2, "b.txt"), (3, "c.txt")])).new
    3
    >>> async for batch in ick.batches(2):
    ...     print([member for member, score in batch])
    ['a.txt', 'b.txt']
    ['c.txt']
    >>> (await ick.stats()).total_size
    0

    A loop that is left by an exception, or by ``break``, leaves its batch reserved: the next
    reserve returns it again. At the end of an ``async with`` block the last batch is committed,
    even after a ``break``, but not if an exception ends the block.

    >>> (await ick.add([(1, "a.txt"), (2, "b.txt")])).new
    2
    >>> async with ick.batches(1) as batches:
    ...     async for batch in batches:
    ...         break
    >>> await ick.reserve(10)
    [('b.txt', 2.0)]
    """

    __slots__ = ()
    _native: _handles.Batches[AnyStr]

    async def commit(self) -> int:
        """Commits the last batch, for a loop that is left early; returns how many of its members
        were still reserved.
        """
        # The abandoned request has committed the batch before it, and no caller has received
        # what it may have returned.
        if self._is_abandoned:
            return 0
        return await self._native.commit()

    async def _leave(self, kind: type[BaseException] | None) -> None:
        if kind is None:
            await self.commit()
        await super()._leave(kind)


class ConsumerLease(Held, Generic[AnyStr]):
    """The right to consume an Ick, for as long as it is held; made by :meth:`Ick.lease`.

    A native thread renews the lease, so a busy consumer keeps it. Calls through the lease carry its
    token: once it is lost they raise :class:`~millpond.LeaseLostError` and do nothing, so a
    consumer that was paused for too long cannot commit what another one is processing.
    An ``async with`` block releases the lease at its end.

    >>> import millpond.aio
    >>> ick = millpond.aio.connect("memory:", decode_responses=True).ick("files")
    >>> (await ick.add([(1, "a.txt")])).new
    1
    >>> lease = await ick.lease(30)
    >>> (await ick.lease(30)) is None  # one consumer at a time
    True
    >>> async with lease:
    ...     async for batch in lease.batches(100):
    ...         print(batch)
    [('a.txt', 1.0)]
    """

    _native: _handles.ConsumerLease[AnyStr]

    @property
    def is_lost(self) -> bool:
        """core"""
        return self._native.is_lost

    async def reserve(self, max: int) -> list[tuple[AnyStr, float]]: ...

    async def commit(self, members: Members) -> int: ...

    async def exchange(self, max: int, members: Members = ()) -> list[tuple[AnyStr, float]]: ...

    def batches(self, max: int, wait: Seconds | None = None) -> Batches[AnyStr]: ...

    async def release(self) -> bool:
        """core"""
        return await self._native.release()


class IckChannel(Generic[AnyStr]):
    """Several Icks that share the members of one dirty list, so that as many consumers can work at
    the same time; made by :meth:`millpond.aio.Client.ick_channel`. The Icks are named ``name/0``,
    ``name/1`` and so on; a member is always in the same one.

    >>> import millpond.aio
    >>> channel = millpond.aio.connect("memory:").ick_channel("files", 4)
    >>> await channel.add([(1, "a.txt"), (2, "b.txt"), (3, "c.txt")])
    Added(new=3, lowered=0)
    >>> sum([len(batch) async for batch in channel.batches(range(4), 100)])
    3
    """

    _native: _handles.IckChannel[AnyStr]

    @property
    def shards(self) -> int: ...

    @property
    def readable(self) -> int: ...

    def draining(self, earlier: int) -> IckChannel[AnyStr]: ...

    def ick(self, number: int) -> Ick[AnyStr]: ...

    def ick_of(self, member: Member) -> int: ...

    async def add(self, pairs: Pairs) -> Added: ...

    def batches(
        self, numbers: Iterable[int], max: int, wait: Seconds | None = None
    ) -> Batches[AnyStr]: ...
