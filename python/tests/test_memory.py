"""Nothing grows with the number of calls."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import kit
import pytest
from kit import each_wait

import millpond
import millpond.aio
from millpond import Modification

# `make test-all` makes ten times as many calls, and finds leaks a tenth as large.
TIMES = 10 if os.environ.get("MILLPOND_DEEP") else 1
GROWTH_BYTES_MAX = 8 * 1024 * 1024


def resident_bytes() -> int:
    gc.collect()
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def use_ick(ick: Any) -> None:
    members = [str(number) for number in range(10)]
    ick.add([(1.0, member) for member in members])
    ick.reserve(10)
    with pytest.raises(millpond.InvalidArgumentError):
        ick.add([(float("nan"), "x")])
    ick.stats()
    ick.commit(members)


async def use_ick_async(ick: Any) -> None:
    await ick.add([(1.0, f"{member}") for member in range(10)])
    await ick.stats()
    await ick.reserve(10)
    async with ick.batches(10) as batches:
        async for _ in batches:
            pass


def use_shuffle(queue: Any) -> None:
    consumer = queue.consumer("g", "c")
    queue.write_many(
        (f"tenant-{number}", {"n": str(number), "more": "x" * 20}) for number in range(10)
    )
    message = consumer.read()
    messages = consumer.read_many(9)
    assert message.fields[0] != messages[-1].fields[1]
    consumer.renew(messages)
    consumer.ack_and_delete(message)
    consumer.ack_and_delete(messages)
    with pytest.raises(millpond.InvalidArgumentError):
        queue.write("", {"a": "b"})
    assert consumer.read() is None
    queue.write_tracked("t", {"job": "j-1"}, "job")
    queue.delete_tracked("j-1")


async def use_shuffle_async(queue: Any) -> None:
    consumer = queue.consumer("g", "c")
    await queue.write_many([("t", {"n": "1"}), ("u", {"n": "2"})])
    await queue.stats("g")
    async for batch in consumer.messages(10):
        await consumer.ack_and_delete(batch)
    async for _ in queue.gc():
        pass


def use_tasks(store: Any) -> None:
    gathered = Modification().insert_doc("n", "k", {"more": "x" * 20}, id="d")
    for number in range(4):
        gathered.insert("q", {"n": number, "more": "x" * 20})
    store.modify(gathered)
    task = store.claim("q")
    assert task.value["more"] == "x" * 20
    with pytest.raises(millpond.InvalidArgumentError):
        store.insert("")
    with pytest.raises(millpond.DependencyError):
        store.modify(Modification().delete((task.id, 7)).insert("q", 1))
    store.renew(task)
    (doc,) = store.claim_docs("n", "k")
    store.modify(Modification().delete((task.id, 2)).delete_doc(doc))
    assert store.list("q").tasks[0].claims == 0
    for job in store.worker("q").jobs():
        if job.task.value["n"] % 2:
            job.move_to("p", "why")
        else:
            job.done()
    for batch in store.claims("p", max=10):
        done = Modification()
        for one in batch:
            done.delete(one)
        store.modify(done)
    assert store.queue_stats() == []


async def use_tasks_async(store: Any) -> None:
    async def handle(job: Any) -> Any:
        await asyncio.sleep(0)
        return job.delete() if job.task.value else None

    await asyncio.gather(store.insert("q", 0), store.insert("q", 1))
    await store.worker("q").drain(handle)
    assert await store.are_empty("q")


def use_events(queue: Any) -> None:
    queue.publish_many([millpond.NewEvent("x" * 20, key="k", headers={"a": "1"}), "y"])
    with pytest.raises(millpond.InvalidArgumentError):
        queue.publish("x", delay=-1)
    events = queue.receive(10)
    queue.renew(events)
    queue.ack_many(events)
    queue.worker().drain(lambda job: None)
    for event in queue.list("ready").events:
        queue.cancel(event.id)
    assert queue.stats().events == 0


async def use_events_async(queue: Any) -> None:
    async def handle(job: Any) -> None:
        await asyncio.sleep(0)

    await queue.publish_many(["1", "2"])
    async for events in queue.deliveries():
        await queue.ack_many(events)
    await queue.publish("3")
    await queue.worker().drain(handle)
    assert (await queue.stats()).events == 0


def use_volatile(hash: Any) -> None:
    hash.set_many({str(number): "x" * 20 for number in range(10)}, 60)
    with pytest.raises(millpond.InvalidArgumentError):
        hash.set("x", "y", 0)
    page = hash.fields(limit=5)
    assert len(hash.fields(after=page.next).fields) == 5
    assert hash.acquire("lock", "me", 60).fence
    assert hash.holder("lock").token == b"me"
    with pytest.raises(millpond.LeaseLostError):
        hash.set_locked("lock", "you", "x", 60)
    hash.set_and_release("lock", "me", "x", 60)
    with hash.lock("lock", 60) as lock:
        lock.set("x", 60)
    assert hash.get_many(["lock", "none"]) == [b"x", None]
    assert hash.clear() == 11


async def use_volatile_async(hash: Any) -> None:
    assert (await hash.get_or_acquire("a", "me", 60)).fence
    await hash.set_and_release("a", "me", "x" * 20, 60)
    assert (await hash.get_or_acquire("a", "you", 60)).value
    async with await hash.lock("a", 60) as lock:
        await lock.set("x", 60)
    await hash.reap()
    assert await hash.delete(["a"]) == 1


def use_recruiter(recruiter: Any) -> None:
    def fail(slice: Any) -> None:
        raise ValueError("x" * 20)

    recruiter.set_duty_max(1)
    recruiter.on_error(lambda job, error: None)
    for handler, why in [(lambda slice: 7, "worked"), (fail, "failed")]:
        recruiter.install("a", handler, share=1)
        assert recruiter.enlist(0.01).why == why
        assert recruiter.uninstall("a")
    with pytest.raises(millpond.InvalidArgumentError):
        recruiter.install("a", fail)
    recruiter.install("b", lambda slice: 0, per_second=1_000)
    for _ in range(10):
        recruiter.enlist()
    recruiter.uninstall("b")
    assert recruiter.enlist().why == "no_jobs"
    recruiter.wake("b")
    recruiter.stats()


async def use_recruiter_async(recruiter: Any) -> None:
    async def work(slice: Any) -> None:
        await asyncio.sleep(0)
        slice.more()

    recruiter.set_duty_max(1)
    for options in [{"share": 1}, {"per_second": 1_000}]:
        recruiter.install("a", work, **options)
        await recruiter.enlist()
        recruiter.uninstall("a")
    await recruiter.stats()


def use_tracker(tracker: Any) -> None:
    def fail(*given: Any) -> None:
        raise ValueError("x" * 20)

    tracker.clear()
    assert tracker.scan(lambda after, limit: ((n, f"id {n}") for n in range(10)), 10).more
    tracker.add(["x", b"y"])
    assert tracker.are_queued(["x", "z"]) == [True, False]
    assert tracker.is_queued("id 1")
    with pytest.raises(millpond.InvalidArgumentError):
        tracker.add([])
    with pytest.raises(ValueError):
        tracker.scan(fail)
    with pytest.raises(TypeError):
        tracker.scan(lambda after, limit: [(10, "a"), 11])
    with pytest.raises(ValueError):
        tracker.prune(fail)
    assert tracker.prune(lambda ids: ids) == (1, 1)
    assert tracker.prune(lambda ids: (id for id in ids if id != b"x")) == (11, 10)
    assert [tracked.id for tracked in tracker.ids()] == [b"x"]
    assert tracker.stats().row == "9"


async def use_tracker_async(tracker: Any) -> None:
    async def rows(after: Any, limit: int) -> Any:
        await asyncio.sleep(0)
        return [(n, f"id {n}") for n in range(10)]

    async def done(ids: Any) -> Any:
        await asyncio.sleep(0)
        return ids

    await tracker.scan(rows)
    await tracker.add(["x" * 20])
    assert (await tracker.prune(done)).removed == 11
    assert await tracker.len() == 0


class Use(NamedTuple):
    """How a queue is used, and how often: a step is slower on Redis and in a file."""

    open: Callable[[Any, str], Any]
    blocking: Callable[[Any], None]
    awaited: Callable[[Any], Any]
    rounds: int
    rounds_in_memory: int


def shuffle(client: Any, name: str) -> Any:
    return client.shuffle_queue(name, streams=4, track_keys="queue")


def recruiter(client: Any, name: str) -> Any:
    return client.recruiter(name)


USES = {
    "ick": Use(kit.ICK.open, use_ick, use_ick_async, 4_000, 20_000),
    "shuffle": Use(shuffle, use_shuffle, use_shuffle_async, 120, 2_000),
    "tasks": Use(kit.TASKS.open, use_tasks, use_tasks_async, 40, 300),
    "events": Use(kit.EVENTS.open, use_events, use_events_async, 120, 1_000),
    "volatile": Use(kit.VOLATILE.open, use_volatile, use_volatile_async, 400, 4_000),
    "tracker": Use(kit.TRACKER.open, use_tracker, use_tracker_async, 400, 4_000),
    "recruiter": Use(recruiter, use_recruiter, use_recruiter_async, 400, 4_000),
}
each_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


def prepared(url: str, use: Use) -> tuple[str, int]:
    if url.startswith("file:"):
        url += "?sync=never"
    return url, TIMES * (use.rounds_in_memory if url == "memory:" else use.rounds)


@each_use
@pytest.mark.timeout(400)
def test_blocking(url: str, name: str, use: Use) -> None:
    url, rounds = prepared(url, use)
    queue = use.open(millpond.connect(url), name)

    def work(rounds: int) -> None:
        for _ in range(rounds):
            use.blocking(queue)

    work(rounds // 10)
    before = resident_bytes()
    work(rounds)
    assert resident_bytes() - before < GROWTH_BYTES_MAX


@each_use
@pytest.mark.timeout(400)
def test_asyncio(url: str, name: str, use: Use) -> None:
    url, rounds = prepared(url, use)

    async def main() -> None:
        client = millpond.aio.connect(url)

        async def work(rounds: int) -> None:
            for _ in range(0, rounds, 50):
                queues = [use.open(client, f"{name}{number}") for number in range(50)]
                await asyncio.gather(*map(use.awaited, queues))

        await work(rounds // 10)
        before = resident_bytes()
        await work(rounds)
        assert resident_bytes() - before < GROWTH_BYTES_MAX

    asyncio.run(main())


@each_wait
def test_cancelled_waits(how: kit.Wait) -> None:
    client = millpond.aio.connect("memory:")

    async def main() -> None:
        queue = how.queue.open(client, "x")
        kept = how.begin(queue, 60)
        for _ in range(20):
            for call in (kept, how.begin(queue, 60)):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(call(), 0.0001)

    asyncio.run(main())
    before = resident_bytes()
    for _ in range(100):
        asyncio.run(main())
    assert resident_bytes() - before < GROWTH_BYTES_MAX
