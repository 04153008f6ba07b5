"""The queues for asyncio: the same names as in :mod:`millpond`, and every call is awaited.

>>> import asyncio
>>> import millpond.aio
>>> async def main():
...     async with millpond.aio.connect("memory:", decode_responses=True) as client:
...         files = client.ick("files")
...         await files.add([(1.0, "a.txt"), (2.0, "b.txt")])
...         async for batch in files.batches(100):
...             print(batch)
>>> asyncio.run(main())
[('a.txt', 1.0), ('b.txt', 2.0)]

The examples in the documentation of this package are written for ``python -m asyncio``, where
``await`` needs no enclosing function. A client can be used on several event loops, each in a
separate thread. Concurrent calls share connections and are sent together. If the task of a call is
cancelled, the call is still sent.

An embedded engine completes most calls immediately. So that timeouts, cancellation and Ctrl-C still
work, a call first lets the event loop run if the loop has not run for a millisecond.
"""

from .client import Client, connect
from .events import Deliveries, EventJob, EventQueue, EventWorker
from .ick import Batches, ConsumerLease, Ick, IckChannel
from .recruiter import Recruiter, Slice
from .shuffle import (
    Garbage,
    Messages,
    ShuffleConsumer,
    ShuffleJob,
    ShuffleQueue,
    ShuffleWorker,
)
from .tasks import Claims, Job, Jobs, TaskStore, Worker
from .tracker import QueueTracker
from .volatile import FieldLock, VolatileHash, VolatileHashes

__all__ = [
    "Batches",
    "Claims",
    "Client",
    "ConsumerLease",
    "Deliveries",
    "EventJob",
    "EventQueue",
    "EventWorker",
    "FieldLock",
    "Garbage",
    "Ick",
    "IckChannel",
    "Job",
    "Jobs",
    "Messages",
    "QueueTracker",
    "Recruiter",
    "ShuffleConsumer",
    "ShuffleJob",
    "ShuffleQueue",
    "ShuffleWorker",
    "Slice",
    "TaskStore",
    "VolatileHash",
    "VolatileHashes",
    "Worker",
    "connect",
]
