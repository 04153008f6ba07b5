"""The table of queues and of the loops and calls that wait for what is put into them.

What holds for all of them is tested once, for each row: waiting, Ctrl-C, cancelling, forks, memory,
closed clients and wrong arguments. A new queue adds its rows here, and to `USES` of `test_memory.py`;
its own files have what is special to it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from millpond import Modification, Receipt


@dataclass(frozen=True)
class Queue:
    """A kind of queue, of which tests put numbers into one and get them back.

    A call is made as the kind of caller makes it: for asyncio it returns what is to be awaited.
    """

    name: str
    open: Callable[[Any, str], Any]
    """A client's queue by its name."""
    put: Callable[[Any, int], Any]
    """A call that puts a number, and wakes one waiter."""
    number: Callable[[Any], int]
    """The number in an item, or in a job of one."""
    takes: Callable[[Any, int], list[Any]]
    """Calls that wait for nothing and together take this many numbers."""
    end: Callable[[Any, Any], Any]
    """A call that ends what a call or a loop returned."""
    look: Callable[[Any], Any]
    """A call that changes nothing and returns what says how many numbers there are: see `size`."""
    size: Callable[[Any], int]
    worker: Any = None
    """Makes a queue's worker with options, if the queue has workers."""
    is_shared: bool = True
    """Whether consumers that work side by side on one queue get different items."""

    def __str__(self) -> str:
        return self.name

    def numbers(self, result: Any) -> list[int]:
        """The numbers in what a call or a loop returned."""
        items = result if isinstance(result, list) else [result]
        return [self.number(item) for item in items if item is not None]

    def open_many(self, client: Any, name: str, count: int) -> list[Any]:
        """Queues for consumers that work side by side: the same one if they share what is in it."""
        return [self.open(client, name if self.is_shared else f"{name}-{n}") for n in range(count)]


@dataclass(frozen=True)
class Wait:
    """A call or a loop that waits for what is put into a queue."""

    name: str
    queue: Queue
    start: Callable[[Any, Any], Any]
    """For a number of seconds: a loop over a queue, or a function that makes a call."""
    is_loop: bool = True

    def __str__(self) -> str:
        return self.name

    def begin(self, queue: Any, wait: Any = math.inf) -> Any:
        """A function that gets the next items of one loop, or makes the call each time."""
        started = self.start(queue, wait)
        if not self.is_loop:
            return started
        return getattr(started, "__anext__", None) or started.__next__

    def calls(self, queue: Any, result: Any) -> list[Callable[[], Any]]:
        """Each kind of call to a queue, and to what came out of it."""
        return [
            lambda: self.queue.look(queue),
            lambda: self.queue.put(queue, 1),
            lambda: self.queue.takes(queue, 1)[0],
            lambda: self.queue.end(queue, result),
            self.begin(queue, 0),
            self.begin(queue, math.inf),
        ]


@dataclass(frozen=True)
class Items:
    """An argument that has many items."""

    name: str
    limit: int
    item: Any
    """One that is allowed."""
    call: Callable[[Any, Any], Any]
    """A call of a client's with the argument."""


def end_tasks(store: Any, result: Any) -> Any:
    if hasattr(result, "done"):
        return result.done()
    done = Modification()
    for task in result if isinstance(result, list) else [result]:
        done.delete(task)
    return store.modify(done)


ICK = Queue(
    "ick",
    open=lambda client, name: client.ick(name),
    put=lambda ick, number: ick.add([(number, str(number))]),
    number=lambda item: int(item[0]),
    takes=lambda ick, count: [ick.reserve(count)],
    end=lambda ick, batch: ick.commit([member for member, _ in batch]),
    look=lambda ick: ick.stats(),
    size=lambda stats: stats.total_size if stats else 0,
    is_shared=False,
)
SHUFFLE = Queue(
    "shuffle",
    open=lambda client, name: client.shuffle_queue(name),
    put=lambda queue, number: queue.write("t", {"n": str(number)}),
    number=lambda message: int(getattr(message, "message", message).field("n")),
    takes=lambda queue, count: [queue.consumer("g", "c").read() for _ in range(count)],
    end=lambda queue, messages: queue.consumer("g", "c").ack_and_delete(messages),
    look=lambda queue: queue.len(),
    size=int,
    worker=lambda queue, **options: queue.consumer("g", "c").worker(delete=True, **options),
)
TASKS = Queue(
    "tasks",
    open=lambda client, name: client.tasks(name),
    put=lambda store, number: store.insert("q", number),
    number=lambda task: getattr(task, "task", task).value,
    takes=lambda store, count: [store.claim("q") for _ in range(count)],
    end=end_tasks,
    look=lambda store: store.queues(),
    size=lambda sizes: sizes.get("q", 0),
    worker=lambda store, **options: store.worker("q", **options),
)
EVENTS = Queue(
    "events",
    open=lambda client, name: client.events(name),
    put=lambda queue, number: queue.publish(str(number)),
    number=lambda event: int(getattr(event, "event", event).payload),
    takes=lambda queue, count: [queue.receive() for _ in range(count)],
    end=lambda queue, events: queue.ack_many(events),
    look=lambda queue: queue.stats(),
    size=lambda stats: stats.events,
    worker=lambda queue, **options: queue.worker(**options),
)
VOLATILE = Queue(
    "volatile",
    open=lambda client, name: client.volatile_hash(name),
    put=lambda hash, number: hash.set(str(number), str(number), 3_600),
    number=int,
    takes=lambda hash, count: [hash.get(str(number)) for number in range(count)],
    end=lambda hash, _: hash.clear(),
    look=lambda hash: hash.stats(),
    size=lambda stats: stats.fields,
)
TRACKER = Queue(
    "tracker",
    open=lambda client, name: client.queue_tracker(name),
    put=lambda tracker, number: tracker.add([str(number)]),
    number=lambda tracked: int(tracked.id),
    takes=lambda tracker, count: [tracker.ids(limit=count)],
    end=lambda tracker, _: tracker.clear(),
    look=lambda tracker: tracker.stats(),
    size=lambda stats: stats.ids,
)
QUEUES = [ICK, SHUFFLE, TASKS, EVENTS, VOLATILE, TRACKER]

WAITS = [
    Wait("batches", ICK, lambda ick, wait: ick.batches(1, wait=wait)),
    Wait("messages", SHUFFLE, lambda queue, wait: queue.consumer("g", "c").messages(1, wait)),
    Wait("claims", TASKS, lambda store, wait: store.claims(["other", "q"], wait=wait)),
    Wait("jobs", TASKS, lambda store, wait: store.worker("q", wait=wait).jobs()),
    Wait("deliveries", EVENTS, lambda queue, wait: queue.deliveries(wait=wait)),
    Wait(
        "read",
        SHUFFLE,
        lambda queue, wait: lambda: queue.consumer("g", "c").read(wait=wait),
        is_loop=False,
    ),
    Wait(
        "read_many",
        SHUFFLE,
        lambda queue, wait: lambda: queue.consumer("g", "c").read_many(1, wait=wait),
        is_loop=False,
    ),
]
WORKERS = [kind for kind in QUEUES if kind.worker]
LOOPS = [wait for wait in WAITS if wait.is_loop]

RECEIPT = Receipt(0, "1-1")

ITEMS = {
    "ick add": Items("pairs", 1_000_000, "m", lambda c, v: c.ick("x").add(v)),
    "ick channel add": Items("pairs", 1_000_000, "m", lambda c, v: c.ick_channel("x", 2).add(v)),
    "ick commit": Items("members", 1_000_000, "m", lambda c, v: c.ick("x").commit(v)),
    "ick exchange": Items("members", 250_000, "m", lambda c, v: c.ick("x").exchange(1, v)),
    "write": Items("fields", 32_768, ("f", "v"), lambda c, v: c.shuffle_queue("x").write("t", v)),
    "write_many": Items(
        "messages", 1_000_000, ("t", []), lambda c, v: c.shuffle_queue("x").write_many(v)
    ),
    "shuffle ack": Items(
        "messages", 1_000_000, RECEIPT, lambda c, v: c.shuffle_queue("x").consumer("g", "c").ack(v)
    ),
    "claim": Items("queues", 1_000, "q", lambda c, v: c.tasks("x").claim(v)),
    "claim_many": Items("queues", 1_000, "q", lambda c, v: c.tasks("x").claim_many(v, 1)),
    "fetch": Items("ids", 10_000, "t", lambda c, v: c.tasks("x").fetch(v)),
    "fetch_docs": Items("ids", 10_000, "d", lambda c, v: c.tasks("x").fetch_docs("n", v)),
    "claim_docs": Items("keys", 1_000, "k", lambda c, v: c.tasks("x").claim_docs("n", v)),
    "renew tasks": Items("tasks", 100_000, ("t", 1), lambda c, v: c.tasks("x").renew(v)),
    "renew docs": Items("docs", 100_000, ("n", "d", 1), lambda c, v: c.tasks("x").renew([], v)),
    "queues exact": Items("exact", 10_000, "q", lambda c, v: c.tasks("x").queues(v)),
    "queues prefixes": Items("prefixes", 10_000, "q", lambda c, v: c.tasks("x").queues((), v)),
    "publish_many": Items("events", 1_000_000, "e", lambda c, v: c.events("x").publish_many(v)),
    "set_many": Items(
        "fields", 10_000, ("f", "v"), lambda c, v: c.volatile_hash("x").set_many(v, 60)
    ),
    "get_many": Items("fields", 10_000, "f", lambda c, v: c.volatile_hash("x").get_many(v)),
    "delete fields": Items("fields", 10_000, "f", lambda c, v: c.volatile_hash("x").delete(v)),
    "add ids": Items("ids", 1_000, "i", lambda c, v: c.queue_tracker("x").add(v)),
    "are_queued": Items("ids", 1_000, "i", lambda c, v: c.queue_tracker("x").are_queued(v)),
    "advance rows": Items("rows", 1_000, "r", lambda c, v: c.queue_tracker("x").advance("", v, [])),
    "advance ids": Items("ids", 1_000, "i", lambda c, v: c.queue_tracker("x").advance("", [], v)),
    "remove ids": Items("ids", 1_000, "i", lambda c, v: c.queue_tracker("x").remove(v, ["i"], 1)),
    "remove sampled": Items(
        "sampled", 1_000, "i", lambda c, v: c.queue_tracker("x").remove([], v, 1)
    ),
    "cancel": Items("ids", 1_000_000, "0" * 20, lambda c, v: c.events("x").cancel(v)),
}

each_items = pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS)
each_queue = pytest.mark.parametrize("kind", QUEUES, ids=str)
each_worker = pytest.mark.parametrize("kind", WORKERS, ids=str)
each_wait = pytest.mark.parametrize("how", WAITS, ids=str)
each_loop = pytest.mark.parametrize("how", LOOPS, ids=str)


def returned(call: Callable[[], Any]) -> Any:
    """What a call that blocks returned; None if it was a loop's and that is over."""
    try:
        return call()
    except StopIteration:
        return None


async def awaited(call: Callable[[], Any]) -> Any:
    """What a call that is awaited returned; None if it was a loop's and that is over."""
    try:
        return await call()
    except StopAsyncIteration:
        return None


async def refused(call: Callable[[], Any], error: type[BaseException], message: str) -> None:
    """Makes a call of either kind of caller, which has to raise an error with this message."""
    with pytest.raises(error) as raised:
        result = call()
        if inspect.isawaitable(result):
            await result
    assert message in str(raised.value)
