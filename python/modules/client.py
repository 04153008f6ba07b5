"""The client of a server or of an embedded engine."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, AnyStr, Generic, Literal, overload

from .. import _native
from .._native import ManualClock
from ..records import Recovery
from ..values import Member, Seconds, warn_of_recovery
from .events import EventQueue
from .ick import Ick, IckChannel
from .mode import IS_ASYNC, off_the_loop
from .recruiter import Recruiter
from .shuffle import ShuffleQueue
from .tasks import TaskStore
from .tracker import QueueTracker
from .volatile import VolatileHash, VolatileHashes

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
    clock: ManualClock | None = None,
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
    clock: ManualClock | None = None,
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
    clock: ManualClock | None = None,
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

    Results hold bytes, or str with ``decode_responses``; those of task stores are always str, and
    the keys, payloads and header values of events always bytes. A call takes at most ``timeout`` (5
    seconds), including connecting (each attempt at most ``connect_timeout``, 1 second) and retries
    (at most ``retries``, 10). The URL can hold more options, as in ``?pool=4``.

    A Redis client connects when it first has something to send; it can be created before a fork. An
    embedded engine is opened during this call, which takes as long as reading the contents of a
    ``file:``. Only one process at a time can open a ``file:``; to share queues between processes,
    use ``redis:``. With ``?repair``, a damaged ``file:`` is opened as far as it is sound.

    An embedded engine can have a ``clock``, for tests: a :class:`~millpond.ManualClock`. Clients that share an engine
    share its clock, and a client with a different clock is refused with :class:`~millpond.InvalidArgumentError`. A
    clock for a server is refused as well, since the server has its own time.

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
        clock=clock,
    )
    warn_of_recovery(native.recovery())
    return Client(native)


class Client(Generic[AnyStr]):
    """A server or an embedded engine, with access to its queues; made by :func:`connect`. Safe to
    use from many threads and event loops and, on Redis, after a fork. It closes at the end of
    an ``async with`` block.
    """

    _native: _handles.Client[AnyStr]

    def ick(self, name: Member) -> Ick[AnyStr]: ...

    def ick_channel(self, name: Member, shards: int) -> IckChannel[AnyStr]: ...

    def shuffle_queue(
        self,
        name: Member,
        *,
        streams: int | None = None,
        streams_per_shard: int | None = None,
        ttl: Seconds | None = None,
        dead_ttl: Seconds | None = None,
        track_keys: Literal["global", "queue"] = "global",
    ) -> ShuffleQueue[AnyStr]: ...

    def events(self, name: Member) -> EventQueue: ...

    def tasks(self, name: Member, *, claimant: str | None = None) -> TaskStore: ...

    def volatile_hash(self, name: Member) -> VolatileHash[AnyStr]: ...

    def volatile_hashes(self, name: Member, shards: int = 16) -> VolatileHashes[AnyStr]: ...

    def recruiter(self, name: Member) -> Recruiter: ...

    def queue_tracker(self, name: Member) -> QueueTracker[AnyStr]: ...

    async def task_stores(self) -> list[AnyStr]: ...

    def recovery(self) -> Recovery | None: ...

    async def aclose(self) -> None:
        """Closes the client: from now on calls raise :class:`~millpond.ClosedError`. What an
        embedded engine has buffered is written.
        """
        # There may be a last write to disk.
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
