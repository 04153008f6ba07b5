"""Volatile hashes: fields that expire, each at its own time, with a lock for each field.

For what may be computed again: caches, sessions, results of slow calls. A field is not read any more from the moment at
which it expires, to the microsecond, on the clock of the server. With a lock, one caller computes a value that many ask
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Generic

from ..records import Acquired, FieldPage, HashStats, LockHolder, Reaped, ValueOrLock
from ..values import FieldPlace, Fields, Member, Members, Seconds
from .held import Held

if TYPE_CHECKING:
    from . import _handles

__all__ = ["FieldLock", "VolatileHash", "VolatileHashes"]


class VolatileHash(Generic[AnyStr]):
    """A hash whose fields expire, each at its own time, with a lock for each field; made by
    :meth:`millpond.aio.Client.volatile_hash`.

    A lock is named by a field and is independent of its value. Its holder is known by its token, which the caller
    chooses, such as a random text.

    >>> import millpond.aio
    >>> hash = millpond.aio.connect("memory:", decode_responses=True).volatile_hash("pages")
    >>> found = await hash.get_or_acquire("/", "req-1", ttl=10)
    >>> found.value, found.fence is not None  # req-1 computes it
    (None, True)
    >>> found = await hash.get_or_acquire("/", "req-2", ttl=10)
    >>> found.value, 0 < found.remaining <= 10  # req-2 has to wait
    (None, True)
    >>> await hash.set_and_release("/", "req-1", "<h1>…", ttl=60)
    >>> (await hash.get_or_acquire("/", "req-2", ttl=10)).value
    '<h1>…'
    """

    _native: _handles.VolatileHash[AnyStr]

    async def set(self, field: Member, value: Member, ttl: Seconds) -> None: ...

    async def set_many(self, fields: Fields, ttl: Seconds) -> None: ...

    async def set_if_absent(self, field: Member, value: Member, ttl: Seconds) -> bool: ...

    async def set_if_present(self, field: Member, value: Member, ttl: Seconds) -> bool: ...

    async def set_locked(
        self, field: Member, token: Member, value: Member, ttl: Seconds
    ) -> None: ...

    async def set_and_release(
        self, field: Member, token: Member, value: Member, ttl: Seconds
    ) -> None: ...

    async def get(self, field: Member) -> AnyStr | None: ...

    async def get_many(self, fields: Members) -> list[AnyStr | None]: ...

    async def fields(
        self,
        *,
        after: FieldPlace | None = None,
        limit: int | None = None,
        omit_values: bool = False,
    ) -> FieldPage[AnyStr]: ...

    async def ttl(self, field: Member) -> float | None: ...

    async def len(self) -> int: ...

    async def stats(self) -> HashStats: ...

    async def touch(self, field: Member, ttl: Seconds) -> bool: ...

    async def delete(self, fields: Members) -> int: ...

    async def clear(self) -> int: ...

    async def reap(self, limit: int = 5) -> Reaped: ...

    async def acquire(self, field: Member, token: Member, ttl: Seconds) -> Acquired: ...

    async def get_or_acquire(
        self, field: Member, token: Member, ttl: Seconds
    ) -> ValueOrLock[AnyStr]: ...

    async def lock(self, field: Member, ttl: Seconds) -> FieldLock | None: ...

    async def renew(self, field: Member, token: Member, ttl: Seconds) -> bool: ...

    async def release(self, field: Member, token: Member) -> bool: ...

    async def holder(self, field: Member) -> LockHolder[AnyStr] | None: ...


class FieldLock(Held):
    """The lock of a field, for as long as it is held; made by :meth:`VolatileHash.lock`.

    A native thread renews the lock, so a busy holder keeps it. Once it is lost, a set through it raises
    :class:`~millpond.LeaseLostError` and sets nothing, so a holder that was paused for too long changes nothing in the
    hash. For anything else that the lock protects, pass the fence along, and refuse a lower one than the last.
    An ``async with`` block releases the lock at its end.

    >>> import millpond.aio
    >>> hash = millpond.aio.connect("memory:", decode_responses=True).volatile_hash("pages")
    >>> lock = await hash.lock("/", 10)
    >>> (await hash.lock("/", 10)) is None  # one holder at a time
    True
    >>> async with lock:
    ...     await lock.set("<h1>…", 60)
    >>> await hash.get("/")
    '<h1>…'
    """

    __slots__ = ("_fence", "_native")

    def __init__(self, native: _handles.FieldLock) -> None:
        self._native: _handles.FieldLock = native
        # Kept, so that it can be read after the release too.
        self._fence = native.fence

    @property
    def fence(self) -> int:
        """core"""
        return self._fence

    @property
    def is_lost(self) -> bool:
        """core"""
        return self._native.is_lost

    async def set(self, value: Member, ttl: Seconds) -> None: ...

    async def release(self) -> bool:
        """core"""
        return await self._native.release()


class VolatileHashes(Generic[AnyStr]):
    """Many volatile hashes with names of their own, such as one for each user, that are reaped together; made by
    :meth:`millpond.aio.Client.volatile_hashes`.

    A family knows which of its hashes have something to remove, so a reap costs nothing for the others, however many
    there are. All programs have to give a family the same number of shards: with another one they do not see its
    hashes.

    >>> import millpond.aio
    >>> clock = millpond.ManualClock()
    >>> client = millpond.aio.connect("memory:", clock=clock)
    >>> carts = client.volatile_hashes("carts")
    >>> await carts.hash("ann").set("book", "1", ttl=60)
    >>> await carts.hash("bob").set("lamp", "2", ttl=3_600)
    >>> clock.advance(60)
    >>> (await carts.reap()).fields  # looks at the cart of ann alone
    1
    """

    _native: _handles.VolatileHashes[AnyStr]

    def hash(self, base: Member) -> VolatileHash[AnyStr]: ...

    async def reap(self, limit: int = 5) -> Reaped: ...
