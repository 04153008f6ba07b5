"""Queues for services in several languages that share one Redis, or no server at all.

>>> import millpond
>>> client = millpond.connect("memory:", decode_responses=True)
>>> files = client.ick("files")
>>> files.add([(1.0, "a.txt"), (2.0, "b.txt")])
Added(new=2, lowered=0)
>>> for batch in files.batches(100):
...     print(batch)
[('a.txt', 1.0), ('b.txt', 2.0)]
>>> jobs = client.shuffle_queue("jobs")
>>> receipt = jobs.write("tenant-7", {"image": "a.png"})
>>> consumer = jobs.consumer("workers", "worker-1")
>>> message = consumer.read()
>>> message.field("image"), consumer.ack_and_delete(message)
('a.png', 1)
>>> store = client.tasks("shop")
>>> task = store.insert("inbox", {"order": 7})
>>> for job in store.worker("inbox").jobs():
...     done = job.finish(job.delete().insert("outbox", {"invoice": 7}))
>>> store.queues()
{'outbox': 1}

The queues are described in :mod:`millpond.ick`, :mod:`millpond.shuffle` and :mod:`millpond.tasks`;
the same for asyncio is in :mod:`millpond.aio`.
"""

from . import aio
from ._native import VERSION as __version__
from .client import Client, connect
from .errors import (
    AuthenticationFailedError,
    CancelledError,
    ClosedError,
    ConnectionFailedError,
    ConnectionLostError,
    CorruptError,
    CrossSlotError,
    DependencyError,
    ForkedError,
    IncompatibleVersionError,
    InternalError,
    InvalidArgumentError,
    InvalidUrlError,
    LeaseLostError,
    LockedError,
    MillpondError,
    OutOfMemoryError,
    PermissionDeniedError,
    ServerError,
    StorageError,
    TimeoutError,
    UnavailableError,
    WrongTypeError,
)
from .ick import Batches, ConsumerLease, Ick, IckChannel
from .records import (
    Added,
    DeadLetter,
    DocId,
    DocPage,
    DocPosition,
    Modified,
    NamespaceStats,
    Position,
    QueueStats,
    Reclaimed,
    Recovery,
    Renewed,
    ShuffleStats,
    StreamStats,
    TaskId,
    TaskPage,
)
from .shuffle import Garbage, Message, Messages, Receipt, ShuffleConsumer, ShuffleQueue, shard
from .tasks import (
    Claims,
    Doc,
    DocChange,
    Job,
    Jobs,
    Modification,
    Move,
    Release,
    Retry,
    Task,
    TaskChange,
    TaskStore,
    Worker,
)
from .values import UNSET, Stats, Unset

__all__ = [
    "UNSET",
    "Added",
    "AuthenticationFailedError",
    "Batches",
    "CancelledError",
    "Claims",
    "Client",
    "ClosedError",
    "ConnectionFailedError",
    "ConnectionLostError",
    "ConsumerLease",
    "CorruptError",
    "CrossSlotError",
    "DeadLetter",
    "DependencyError",
    "Doc",
    "DocChange",
    "DocId",
    "DocPage",
    "DocPosition",
    "ForkedError",
    "Garbage",
    "Ick",
    "IckChannel",
    "IncompatibleVersionError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidUrlError",
    "Job",
    "Jobs",
    "LeaseLostError",
    "LockedError",
    "Message",
    "Messages",
    "MillpondError",
    "Modification",
    "Modified",
    "Move",
    "NamespaceStats",
    "OutOfMemoryError",
    "PermissionDeniedError",
    "Position",
    "QueueStats",
    "Receipt",
    "Reclaimed",
    "Recovery",
    "Release",
    "Renewed",
    "Retry",
    "ServerError",
    "ShuffleConsumer",
    "ShuffleQueue",
    "ShuffleStats",
    "Stats",
    "StorageError",
    "StreamStats",
    "Task",
    "TaskChange",
    "TaskId",
    "TaskPage",
    "TaskStore",
    "TimeoutError",
    "UnavailableError",
    "Unset",
    "Worker",
    "WrongTypeError",
    "__version__",
    "aio",
    "connect",
    "shard",
]
