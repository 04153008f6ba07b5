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

The queues are described in :mod:`millpond.ick`, :mod:`millpond.shuffle`, :mod:`millpond.tasks` and
:mod:`millpond.events`, hashes whose fields expire in :mod:`millpond.volatile`, background work in
small slices in :mod:`millpond.recruiter`, and which ids have work in a database of your own in
:mod:`millpond.tracker`; :mod:`millpond.aio` has the same for asyncio. :mod:`millpond.wsgi` and
:mod:`millpond.asgi` are for web applications.
"""

from . import aio
from ._native import VERSION as __version__
from ._native import ManualClock
from .client import Client, connect
from .errors import (
    AlreadyExistsError,
    AuthenticationFailedError,
    CancelledError,
    ClosedError,
    ConnectionFailedError,
    ConnectionLostError,
    CorruptError,
    CrossSlotError,
    DeadLetterError,
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
    QueueFullError,
    ServerError,
    StorageError,
    TimeoutError,
    UnavailableError,
    WrongTypeError,
)
from .event_values import NewEvent, Schedule
from .events import Deliveries, EventJob, EventQueue, EventWorker
from .ick import Batches, ConsumerLease, Ick, IckChannel
from .records import (
    Acquired,
    Added,
    DeadLetter,
    DocId,
    DocPage,
    DocPosition,
    Duty,
    Event,
    EventConfig,
    EventPage,
    EventPosition,
    EventStats,
    FieldPage,
    FieldPosition,
    HashField,
    HashStats,
    JobCounts,
    JobStats,
    LockHolder,
    Modified,
    NamespaceStats,
    Position,
    Pruned,
    Published,
    QueueStats,
    Reaped,
    Reclaimed,
    Recovery,
    RecruiterStats,
    Renewed,
    Sample,
    Scanned,
    ScheduleInfo,
    ShuffleStats,
    StreamStats,
    Swept,
    SyncedSchedules,
    TaskId,
    TaskPage,
    Tracked,
    TrackerStats,
    ValueOrLock,
)
from .recruiter import Recruiter, Slice
from .shuffle import (
    Garbage,
    Message,
    Messages,
    Receipt,
    ShuffleConsumer,
    ShuffleJob,
    ShuffleQueue,
    ShuffleWorker,
    shard,
)
from .tasks import (
    Claims,
    Doc,
    DocChange,
    Job,
    Jobs,
    Modification,
    Move,
    Reject,
    Release,
    Report,
    Retry,
    Task,
    TaskChange,
    TaskStore,
    Worker,
)
from .tracker import QueueTracker
from .values import UNSET, Stats, Unset
from .volatile import FieldLock, VolatileHash, VolatileHashes

__all__ = [
    "UNSET",
    "Acquired",
    "Added",
    "AlreadyExistsError",
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
    "DeadLetterError",
    "DeadLetter",
    "Deliveries",
    "DependencyError",
    "Doc",
    "DocChange",
    "DocId",
    "DocPage",
    "DocPosition",
    "Duty",
    "Event",
    "EventConfig",
    "EventJob",
    "EventPage",
    "EventPosition",
    "EventQueue",
    "EventStats",
    "EventWorker",
    "FieldLock",
    "FieldPage",
    "FieldPosition",
    "ForkedError",
    "Garbage",
    "HashField",
    "HashStats",
    "Ick",
    "IckChannel",
    "IncompatibleVersionError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidUrlError",
    "Job",
    "JobCounts",
    "JobStats",
    "Jobs",
    "LeaseLostError",
    "LockHolder",
    "LockedError",
    "ManualClock",
    "Message",
    "Messages",
    "MillpondError",
    "Modification",
    "Modified",
    "Move",
    "NamespaceStats",
    "NewEvent",
    "OutOfMemoryError",
    "PermissionDeniedError",
    "Position",
    "Pruned",
    "Published",
    "QueueFullError",
    "QueueStats",
    "QueueTracker",
    "Reaped",
    "Receipt",
    "Reclaimed",
    "Recovery",
    "Recruiter",
    "RecruiterStats",
    "Reject",
    "Release",
    "Renewed",
    "Report",
    "Retry",
    "Sample",
    "Scanned",
    "Schedule",
    "ScheduleInfo",
    "ServerError",
    "ShuffleConsumer",
    "ShuffleJob",
    "ShuffleQueue",
    "ShuffleStats",
    "ShuffleWorker",
    "Slice",
    "Stats",
    "StorageError",
    "StreamStats",
    "Swept",
    "SyncedSchedules",
    "Task",
    "TaskChange",
    "TaskId",
    "TaskPage",
    "TaskStore",
    "TimeoutError",
    "Tracked",
    "TrackerStats",
    "UnavailableError",
    "Unset",
    "ValueOrLock",
    "VolatileHash",
    "VolatileHashes",
    "Worker",
    "WrongTypeError",
    "__version__",
    "aio",
    "connect",
    "shard",
]
