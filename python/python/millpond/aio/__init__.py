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

The examples in the documentation of this package are as ``python -m asyncio`` runs them, where
``await`` needs no function around it. A client can be used on several event loops, each in a thread
of its own. Concurrent calls share connections and travel together. A call whose task is cancelled
is sent all the same.

An embedded engine completes most calls at once. So that timeouts, cancelling and Ctrl-C work all
the same, a call lets the loop run first if that has not run for a millisecond.
"""

from .client import Client, connect
from .events import Deliveries, EventJob, EventQueue, EventWorker
from .ick import Batches, ConsumerLease, Ick, IckChannel
from .shuffle import (
    Garbage,
    Messages,
    ShuffleConsumer,
    ShuffleJob,
    ShuffleQueue,
    ShuffleWorker,
)
from .tasks import Claims, Job, Jobs, TaskStore, Worker

__all__ = [
    "Batches",
    "Claims",
    "Client",
    "ConsumerLease",
    "Deliveries",
    "EventJob",
    "EventQueue",
    "EventWorker",
    "Garbage",
    "Ick",
    "IckChannel",
    "Job",
    "Jobs",
    "Messages",
    "ShuffleConsumer",
    "ShuffleJob",
    "ShuffleQueue",
    "ShuffleWorker",
    "TaskStore",
    "Worker",
    "connect",
]
