"""Volatile hashes: fields that expire, each at its own time, with a lock for each field.

For what may be computed again: caches, sessions, results of slow calls. A field is not read any more from the moment at
which it expires, to the microsecond, on the clock of the server. With a lock, one caller computes a value that many ask
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Generic

from ..records import Acquired, FieldPage, HashStats, LockHolder, Reaped, ValueOrLock
from ..values import FieldPlace, Fields, Member, Members, Seconds

if TYPE_CHECKING:
    from . import _handles

__all__ = ["VolatileHash"]


class VolatileHash(Generic[AnyStr]):
    """A hash whose fields expire, each at its own time, with a lock for each field; made by
    :meth:`millpond.aio.Client.volatile_hash`.

    A lock is named by a field and is independent of its value. Its holder is known by its token, which the caller
    chooses, such as a random text.

    >>> import millpond.aio
    >>> hash = millpond.aio.connect("memory:", decode_responses=True).volatile_hash("pages")
    >>> found = await hash.get_or_acquire("/", "web-1", ttl=10)
    >>> found.value, found.fence is not None  # web-1 computes it
    (None, True)
    >>> found = await hash.get_or_acquire("/", "web-2", ttl=10)
    >>> found.value, 0 < found.remaining <= 10  # web-2 has to wait
    (None, True)
    >>> await hash.set_and_release("/", "web-1", "<h1>…", ttl=60)
    >>> (await hash.get_or_acquire("/", "web-2", ttl=10)).value
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

    async def renew(self, field: Member, token: Member, ttl: Seconds) -> bool: ...

    async def release(self, field: Member, token: Member) -> bool: ...

    async def holder(self, field: Member) -> LockHolder[AnyStr] | None: ...
