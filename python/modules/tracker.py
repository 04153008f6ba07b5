"""Queue trackers: which ids have work queued in a database of your own.

The work is in your database, in any number of rows, and only your program can read it there. The
tracker keeps the set of ids that have such work, so that a page can ask in a millisecond. *Scans*
walk through the rows and add their ids, a page at a time; *prunes* check the ids that were checked
longest ago, and remove those that have no work any more. Both are meant as slices of a
:class:`~millpond.aio.Recruiter`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, AnyStr, Callable, Generic, Optional, Union

from ..records import Pruned, Sample, Scanned, Tracked, TrackerStats
from ..tracker_values import check_function, listed, places_of
from ..values import Member, Members, Seconds
from .mode import IS_ASYNC, Returned, settled

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Pruned", "QueueTracker", "Sample", "Scanned", "Tracked", "TrackerStats"]

Row = tuple[Union[str, int], Optional[Member]]
"""Where a row of a table is, such as its primary key, and its id; None or an empty one for none."""

Rows = Callable[[Optional[str], int], Returned[Iterable[Row]]]
"""Reads a page of rows: those after a row, or the first ones, up to a number of them."""


class QueueTracker(Generic[AnyStr]):
    """The set of ids that have work queued in a database of your own; made by
    :meth:`millpond.aio.Client.queue_tracker`.

    >>> import millpond.aio
    >>> tracker = millpond.aio.connect("memory:", decode_responses=True).queue_tracker("orders")
    >>> table = [(1, "ann"), (2, "bob"), (3, "ann")]  # of a database; each row has an id
    >>> def rows(after, limit):  # select … where number > after order by number limit …
    ...     return [row for row in table if row[0] > int(after or 0)][:limit]
    >>> await tracker.scan(rows)
    Scanned(rows=3, added=2, more=False)
    >>> await tracker.is_queued("bob")
    True
    >>> table.remove((2, "bob"))  # the work is done
    >>> def done(ids):
    ...     return set(ids) - {id for _, id in table}
    >>> await tracker.prune(done)
    Pruned(checked=2, removed=1)
    >>> await tracker.are_queued(["ann", "bob"])
    [True, False]
    """

    _native: _handles.QueueTracker[AnyStr]

    async def add(self, ids: Members) -> None: ...

    async def is_queued(self, id: Member) -> bool: ...

    async def are_queued(self, ids: Members) -> list[bool]: ...

    async def len(self) -> int: ...

    async def stats(self) -> TrackerStats: ...

    async def ids(self, after: int = 0, limit: int = 25) -> list[Tracked[AnyStr]]: ...

    async def clear(self) -> int: ...

    async def scan(self, rows: Rows, limit: int = 25, round_min: Seconds = 60) -> Scanned:
        """core"""
        check_function("rows", rows, IS_ASYNC)
        after = (await self.begin_scan(limit, round_min)).row
        ids: list[Member] = []
        places = places_of(listed("rows", await settled(rows(after, limit))), ids)
        # An argument is read to its end before the next one, so the ids are complete by then.
        return await self.advance(after or "", places, ids, limit, round_min)

    async def prune(
        self, done: Callable[[list[AnyStr]], Returned[Iterable[Member]]], limit: int = 25
    ) -> Pruned:
        """core"""
        check_function("done", done, IS_ASYNC)
        sample = await self.sample(limit)
        if not sample.ids:
            return Pruned(0, 0)
        ids = listed("done", await settled(done(list(sample.ids))))
        return await self.remove(ids, sample.ids, sample.stamp)

    async def begin_scan(self, limit: int = 25, round_min: Seconds = 60) -> TrackerStats: ...

    async def advance(
        self,
        after: str,
        rows: Members,
        ids: Members,
        limit: int = 25,
        round_min: Seconds = 60,
    ) -> Scanned: ...

    async def sample(self, limit: int = 25) -> Sample[AnyStr]: ...

    async def remove(self, ids: Members, sampled: Members, stamp: int) -> Pruned: ...
