"""Shuffle queues: many tenants share one queue, and one tenant's burst delays only itself.

A queue is a number of streams, and each tenant writes to a few of them only, its shard: always to
the one of these with the least to do. Consumers read from all streams in turn. A tenant that
writes a thousand times more than the others fills its own streams, and the other tenants have
others.

Messages are delivered at least once: a delivered message belongs to its consumer until it is
acknowledged, and another consumer reclaims what a dead one left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, AnyStr, Generic

from .._native import Message, Receipt, shard
from ..records import DeadLetter, ShuffleStats
from ..values import Fields, Member, Seconds, Written, letter_ids
from .mode import Loop
from .shuffle_consumer import Messages, ShuffleConsumer

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Garbage", "Message", "Messages", "Receipt", "ShuffleConsumer", "ShuffleQueue", "shard"]


class ShuffleQueue(Generic[AnyStr]):
    """A shuffle queue by its name; made by :meth:`millpond.aio.Client.shuffle_queue`.

    Calls raise :class:`TypeError` or :class:`~millpond.InvalidArgumentError` for wrong arguments,
    before anything is sent; :class:`~millpond.WrongTypeError` if a key of the queue holds something
    else, and then nothing has changed; and :class:`~millpond.CrossSlotError` on a cluster if the
    name holds no ``{tag}`` or, for tracked messages, if their records are in the global keys.

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

    __slots__ = ("_native",)

    def __init__(self, native: _handles.ShuffleQueue[AnyStr]) -> None:
        self._native: _handles.ShuffleQueue[AnyStr] = native

    async def write(self, shard_key: Member, fields: Fields) -> Receipt:
        """Writes one message of a tenant, to the stream of its shard that has the least to do, and
        returns where it is.

        ``fields`` is a mapping, or pairs of a field and its value, which may have a field several
        times; their order is kept. A message has 1 to 32,768 of them, each at most 64 MiB.

        After :class:`~millpond.ConnectionLostError` or :class:`~millpond.TimeoutError` the message
        may or may not be written; written again it may be there twice.
        """
        return await self._native.write(shard_key, fields)

    async def write_many(self, messages: Written) -> list[Receipt]:
        """Writes many messages, pairs of a shard key and fields, as :meth:`write` would one after
        the other. Returns where they are, in their order. A message that is refused refuses all.

        One atomic step for up to 10,000 messages and 16 MiB, several for more: after an error the
        first of these may be done.
        """
        return await self._native.write_many(messages)

    async def write_tracked(
        self, shard_key: Member, fields: Fields, track_field: Member, deadline: int | None = None
    ) -> Receipt:
        """Writes one message of a tenant, as :meth:`write`, and remembers where it is by the value
        of its field ``track_field``, so that :meth:`delete_tracked` finds it. Of two messages with
        the same value the later one is tracked; one without that field, or with nothing in it, is
        written and not tracked.

        ``deadline`` is in whole seconds since the Unix epoch, at most 2^53; None, or 0, is the
        server's time plus the queue's ``ttl``, or a day without one. The record stays until the
        message is deleted by its value, or the record is collected: see :meth:`gc`.
        """
        return await self._native.write_tracked(shard_key, fields, track_field, deadline)

    async def write_tracked_many(
        self, messages: Written, track_field: Member, deadline: int | None = None
    ) -> list[Receipt]:
        """Writes many messages, pairs of a shard key and fields, and remembers where they are, as
        :meth:`write_tracked` would one after the other with the same ``track_field`` and
        ``deadline``. Returns where they are, in their order. A message that is refused refuses all.

        One atomic step for up to 10,000 messages and 16 MiB, several for more: after an error the
        first of these may be done.
        """
        return await self._native.write_tracked_many(messages, track_field, deadline)

    async def resize(self, streams: int) -> int:
        """Changes the number of streams, 1 to 65,536: more at once, fewer as soon as those beyond
        have nothing left to deliver or to acknowledge. Until then writers spread over the new
        number already and readers still read from all; a later write or resize removes the others.
        Returns how many streams the queue has now. A queue that was never written to is created
        with this number.

        Clients with another number of ``streams`` are refused from then on.
        """
        return await self._native.resize(streams)

    async def delete_tracked(self, value: Member) -> Receipt | None:
        """Deletes the message that is tracked by this value, for all groups, delivered or not.
        Returns where it was, or None if there is none (any more). With the global keys it is found
        in any queue. A consumer that works on the message is not stopped.

        Raises :class:`~millpond.CorruptError` if the record of this value names no message; it is
        left as it is.

        After :class:`~millpond.ConnectionLostError` or :class:`~millpond.TimeoutError` it may be
        done; repeated, it returns None then.
        """
        return await self._native.delete_tracked(value)

    async def cordon_deadline_exceeded(self, within: Seconds) -> list[AnyStr]:
        """Takes the values whose deadline passed not longer ago than ``within`` (whole seconds; a
        part of one counts as one) out of the deadlines, in one step, so that of several callers
        one gets each. Returns them by deadline. They are garbage from then on; their messages stay
        until they are deleted.

        After :class:`~millpond.ConnectionLostError` or :class:`~millpond.TimeoutError` values may
        be cordoned that no caller received; :meth:`gc` returns them again.
        """
        return await self._native.cordon_deadline_exceeded(within)

    def gc(self, time_digits: int | None = None) -> Garbage[AnyStr]:
        """Collects what is recorded of tracked messages whose deadline has passed, those that were
        cordoned first; see :class:`Garbage`.

        With ``time_digits``, 1 to 10, it scans only deadlines that begin with as many of the first
        digits of the time: with 6, those of the same 10,000 seconds. What was cordoned is scanned
        in any case.
        """
        return Garbage(self._native.gc(time_digits))

    def consumer(
        self,
        group: Member,
        consumer: Member,
        *,
        prefer_stream: int | None = None,
        default_stream: bool = False,
        max_deliveries: int = 0,
    ) -> ShuffleConsumer[AnyStr]:
        """A consumer of a group. Each message goes to one consumer of each group; a group begins
        with what the queue holds when it first reads. Makes no call.

        It reads from ``prefer_stream`` first, as long as that has messages. With
        ``default_stream`` it also reads from the stream at the queue's own name, whose group has
        that name too: a plain stream becomes a shuffle queue while its writers move. A message
        that was delivered ``max_deliveries`` times and is reclaimed then becomes a dead letter;
        with 0 it never does.
        """
        native = self._native.consumer(
            group, consumer, prefer_stream, default_stream, max_deliveries
        )
        return ShuffleConsumer(native)

    async def len(self) -> int:
        """How many entries the streams hold, finished ones that were not deleted included."""
        return await self._native.len()

    async def backlog(self) -> int:
        """How many messages are not yet delivered to some group, or not acknowledged by it."""
        return await self._native.backlog()

    async def pending_count(self, group: Member) -> int:
        """How many messages were delivered to a group and are not acknowledged."""
        return await self._native.pending_count(group)

    async def stats(self, group: Member) -> ShuffleStats:
        """What each stream holds for a group, and the sums."""
        return await self._native.stats(group)

    async def dead_letters(self, max: int = 100) -> list[DeadLetter[AnyStr]]:
        """Up to ``max`` messages that were delivered too often, the oldest first; at most 10,000.
        They stay in the stream at ``<queue>:dead`` until they are deleted or the queue's
        ``dead_ttl`` is over. See :meth:`ShuffleConsumer.reclaim`.
        """
        return await self._native.dead_letters(max)

    async def delete_dead_letters(
        self, letters: DeadLetter[AnyStr] | str | Iterable[DeadLetter[AnyStr] | str]
    ) -> int:
        """Deletes dead letters, passed as they were read or by their ids. Returns how many of
        these there were. Deleting twice is safe; above 10,000 letters it takes several steps.
        """
        return await self._native.delete_dead_letters(letter_ids(letters))


class Garbage(Loop[list[AnyStr]]):
    """Values of tracked messages whose deadline has passed, in batches; made by
    :meth:`ShuffleQueue.gc`. Asking for the next batch deletes what is recorded of the last one;
    a loop that stops early leaves that one for the next collection. The messages themselves
    stay.

    With ``decode_responses`` a batch with a value that is not UTF-8 raises
    :class:`UnicodeDecodeError`, ends the collection and is not deleted.

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
        """How many entries were scanned so far."""
        return self._native.counts()[0]

    @property
    def deleted(self) -> int:
        """How many records were deleted so far."""
        return self._native.counts()[1]
