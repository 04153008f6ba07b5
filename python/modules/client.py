"""The client of a server or of an embedded engine."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, AnyStr, Generic, Literal, overload

from .. import _native
from ..records import Recovery
from ..values import Member, Seconds, warn_of_recovery
from .ick import Ick, IckChannel
from .mode import IS_ASYNC, off_the_loop
from .shuffle import ShuffleQueue
from .tasks import TaskStore

if TYPE_CHECKING:
    from . import _handles

__all__ = ["Client", "connect"]


@overload
def connect(
    url: str,
    *,
    decode_responses: Literal[False] = False,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    retries: int | None = None,
    username: str | None = None,
    password: str | None = None,
    client_name: str | None = None,
) -> Client[bytes]: ...
@overload
def connect(
    url: str,
    *,
    decode_responses: Literal[True],
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    retries: int | None = None,
    username: str | None = None,
    password: str | None = None,
    client_name: str | None = None,
) -> Client[str]: ...
def connect(
    url: str,
    *,
    decode_responses: bool = False,
    timeout: Seconds | None = None,
    connect_timeout: Seconds | None = None,
    retries: int | None = None,
    username: str | None = None,
    password: str | None = None,
    client_name: str | None = None,
) -> Client[Any]:
    """Connects to a server or opens an embedded engine.

    ==========================================  ==================================================
    ``memory:``                                 embedded, gone with the client
    ``memory:name``                             embedded, shared in the process
    ``file:dir``                                embedded and durable, in this directory
    ``redis://user:password@host:6379/db``      one server; ``rediss:`` for TLS
    ``redis+unix:///path/to/socket``            one server on a Unix socket
    ``redis+sentinel://host,host2/service/db``  follows failovers
    ``redis+cluster://host,host2``              Redis Cluster
    ==========================================  ==================================================

    Results hold bytes, or str with ``decode_responses``. A call takes at most ``timeout`` (5
    seconds), connecting (each time at most ``connect_timeout``, 1 second) and trying again (at
    most ``retries``, 10) included. The URL can hold more options, as in ``?pool=4``.

    A Redis client connects when it first has something to send; it can be made before a fork. An
    embedded engine is opened here and now, which takes as long as reading what a ``file:`` holds.
    One process at a time opens a ``file:``; processes share queues over ``redis:``. With
    ``?repair`` a damaged one is opened as far as it is sound.

    >>> import millpond.aio
    >>> async with millpond.aio.connect("memory:") as client:
    ...     await client.ick("files").add([(1.0, "a.txt")])
    Added(new=1, lowered=0)
    """
    native = _native.connect(
        url,
        is_async=IS_ASYNC,
        decode_responses=decode_responses,
        timeout=timeout,
        connect_timeout=connect_timeout,
        retries=retries,
        username=username,
        password=password,
        client_name=client_name,
    )
    warn_of_recovery(native.recovery())
    return Client(native)


class Client(Generic[AnyStr]):
    """A server or an embedded engine, and the access to its queues; made by :func:`connect`.
    Safe to use from many threads and event loops and, on Redis, after a fork. It closes at the end
    of an ``async with`` block.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _handles.Client[AnyStr]) -> None:
        self._native: _handles.Client[AnyStr] = native

    def ick(self, name: Member) -> Ick[AnyStr]:
        """core"""
        return Ick(self._native.ick(name))

    def ick_channel(self, name: Member, shards: int) -> IckChannel[AnyStr]:
        """The channel of 1 to 65,536 Icks of this name. Makes no call."""
        return IckChannel(self._native.ick_channel(name, shards))

    def shuffle_queue(
        self,
        name: Member,
        *,
        streams: int | None = None,
        streams_per_shard: int | None = None,
        ttl: Seconds | None = None,
        dead_ttl: Seconds | None = None,
        track_keys: Literal["global", "queue"] = "global",
    ) -> ShuffleQueue[AnyStr]:
        """The shuffle queue of this name. Makes no call.

        ``streams`` is how many streams the queue has, 1 to 65,536. The first write to a queue sets
        it; a write to one that has another number is refused, and
        :meth:`ShuffleQueue.resize` changes it. By default writers use the number that the queue
        has, and a new queue gets 16; readers need not set it. Each tenant has
        ``streams_per_shard`` of them, by default 2, or all if there are fewer.

        A stream lives for ``ttl`` seconds after it was last written to. **When that time is over
        the stream is deleted with all that is in it, unprocessed messages too.** By default nothing
        that is written expires. All writers of a queue should have the same.

        Dead letters stay until they are deleted, or for ``dead_ttl`` seconds: each
        :meth:`ShuffleConsumer.reclaim` deletes those that are older. Both times are at least a
        second, at most 100 years.

        ``track_keys`` says where the records of tracked messages are: in three keys that all queues
        of a server share, or, as a cluster needs it, in three of this queue.
        """
        native = self._native.shuffle_queue(
            name, streams, streams_per_shard, ttl, dead_ttl, track_keys
        )
        return ShuffleQueue(native)

    def tasks(self, name: Member, *, claimant: str | None = None) -> TaskStore:
        """The task store of this name. Makes no call.

        ``claimant`` says the name that claims are made under: 1 to 64 characters, 16 random
        hexadecimal digits for each store by default. It is no secret: any program that uses a
        claimant's name can do what that claimant can. Each job of a worker has a claimant of its
        own: this one, cut to 47 characters, ``/`` and 16 random hexadecimal digits. So two jobs
        never hold the same task or document, and :meth:`TaskStore.modify` is refused for what a
        job holds. What a job's end delays to a time in the future, this claimant holds until then.
        """
        return TaskStore(self._native.tasks(name, claimant))

    def recovery(self) -> Recovery | None:
        """What opening the engine of a ``file:`` found; None for another URL. Makes no call.

        ``connect`` warns (a :class:`RuntimeWarning`) of what an operator should know, such as
        bytes that were cut off; files that lost data in a way that no crash explains raise
        :class:`~millpond.CorruptError`. What is not detected is listed in the documentation of the
        Rust method ``Client::recovery``.

        >>> import millpond.aio
        >>> print(millpond.aio.connect("memory:").recovery())
        None
        """
        return self._native.recovery()

    async def aclose(self) -> None:
        """Closes the client: calls raise :class:`~millpond.ClosedError` from now on, and what an
        embedded engine has buffered is written.
        """
        # The disk may have to take a last write.
        await off_the_loop(self._native.close)

    async def __aenter__(self) -> Client[AnyStr]:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
