"""What only an event loop can get wrong: cancelling, closing, many loops and the end of it all."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import kit
import pytest
import redis
import uvloop
from kit import LOOPS, awaited, each_loop, each_queue, each_wait
from waiting import SOON, never_polling, until_async

import millpond
import millpond.aio


@each_queue
async def test_a_thousand_calls_share_a_connection(
    shared_server: Any, name: str, kind: kit.Queue
) -> None:
    queue = kind.open(millpond.aio.connect(shared_server.url, client_name=name), name)
    await asyncio.gather(*(kind.put(queue, number) for number in range(1000)))
    results: list[Any] = await asyncio.gather(*kind.takes(queue, 1000))
    numbers = [number for result in results for number in kind.numbers(result)]
    assert sorted(numbers) == list(range(1000))
    listed = redis.Redis.from_url(shared_server.url).client_list()
    assert [one["name"] for one in listed].count(name) == 1


async def turns() -> None:
    """Returns when the event loop has had many turns, none of which took long."""
    began = time.monotonic()
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert time.monotonic() - began < SOON


@each_queue
async def test_the_loop_runs_while_a_call_waits(own_server: Any, kind: kit.Queue) -> None:
    queue = kind.open(millpond.aio.connect(own_server.url, timeout=60), "x")
    await kind.put(queue, 1)
    own_server.run("stop")
    call = asyncio.ensure_future(kind.look(queue))
    await turns()
    assert not call.done()
    own_server.run("cont")
    assert kind.size(await call) == 1


@each_wait
async def test_the_loop_runs_while_many_wait(url: str, name: str, how: kit.Wait) -> None:
    queues = how.queue.open_many(millpond.aio.connect(url), name, 20)
    waits = [asyncio.ensure_future(how.begin(queue)()) for queue in queues]
    await turns()
    assert not any(wait.done() for wait in waits)
    await asyncio.gather(*(how.queue.put(queue, number) for number, queue in enumerate(queues)))
    results: list[Any] = await asyncio.wait_for(asyncio.gather(*waits), SOON)
    numbers = [number for result in results for number in how.queue.numbers(result)]
    assert sorted(numbers) == list(range(20))


@each_queue
async def test_cancelled_calls_are_sent_all_the_same(own_server: Any, kind: kit.Queue) -> None:
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    queue = kind.open(millpond.aio.connect(own_server.url, timeout=60), "x")
    await kind.put(queue, 100)
    own_server.run("stop")
    calls = [asyncio.ensure_future(kind.put(queue, number)) for number in range(100)]
    await asyncio.sleep(0.1)
    for call in calls[::2]:
        call.cancel()
    own_server.run("cont")
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
    assert not any(isinstance(answer, BaseException) for answer in answers[1::2])
    assert kind.size(await kind.look(queue)) == 101
    assert not errors


async def given_up(call: Any) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(call(), 0.05)


@each_wait
async def test_a_cancelled_wait_goes_on(url: str, name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.aio.connect(url), name)
    call = how.begin(queue)
    for _ in range(5):
        await given_up(call)
    await how.queue.put(queue, 1)
    assert how.queue.numbers(await asyncio.wait_for(call(), SOON)) == [1]
    assert how.queue.size(await how.queue.look(queue)) == 1


@each_wait
async def test_a_cancelled_wait_takes_no_wake_up(url: str, name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.aio.connect(never_polling(url)), name)
    kept = how.begin(queue, 60)
    for _ in range(3):
        await given_up(kept)
    waiting = asyncio.ensure_future(how.begin(queue, 60)())
    await asyncio.sleep(0.05)  # it listens now
    await how.queue.put(queue, 1)
    assert how.queue.numbers(await asyncio.wait_for(waiting, SOON)) == [1]


async def leaves_nothing_behind(future: Any) -> None:
    await asyncio.sleep(0.05)
    assert not future.done()
    future.cancel()
    left = weakref.ref(future)
    del future
    await until_async(lambda: gc.collect() >= 0 and left() is None)


@each_loop
async def test_a_cancelled_loop_leaves_nothing_behind(url: str, name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.aio.connect(url), name)
    await leaves_nothing_behind(how.start(queue, 60)._native.next())


async def test_a_cancelled_read_leaves_nothing_behind(url: str, name: str) -> None:
    consumer: Any = millpond.aio.connect(url).shuffle_queue(name).consumer("g", "c")
    await leaves_nothing_behind(consumer._native.read(60))


async def cancelled_with_its_batch(kind: kit.Queue, queue: Any, loop: Any, waits: Any) -> None:
    """Puts 1, and cancels a task that waits in a loop when its batch has come and it has not run."""
    task = asyncio.ensure_future(waits)
    await asyncio.sleep(0.1)
    asked = loop._asked
    put = asyncio.ensure_future(kind.put(queue, 1))
    # The batch may come before the put is known to be done.
    while not asked.done():
        await asyncio.sleep(0)
    task.cancel()
    await put
    with pytest.raises(asyncio.CancelledError):
        await task


@each_loop
async def test_a_batch_that_came_with_the_cancellation_is_kept(
    url: str, name: str, how: kit.Wait
) -> None:
    queue = how.queue.open(millpond.aio.connect(url), name)
    loop = how.start(queue, math.inf)
    await cancelled_with_its_batch(how.queue, queue, loop, loop.__anext__())
    assert how.queue.numbers(await loop.__anext__()) == [1]


async def test_a_batch_that_came_with_the_cancellation_is_not_committed(
    url: str, name: str
) -> None:
    ick = millpond.aio.connect(url).ick(name)
    batches = ick.batches(10, wait=math.inf)
    await cancelled_with_its_batch(kit.ICK, ick, batches, batches.__anext__())
    assert await batches.commit() == 0
    assert await batches.__anext__() == [(b"1", 1.0)]
    stats: Any = await ick.stats()
    assert stats.cset_size == 1
    assert await batches.commit() == 1


async def test_a_block_releases_the_job_that_came_with_the_cancellation(
    url: str, name: str
) -> None:
    store = millpond.aio.connect(url).tasks(name)
    jobs = store.worker("q", wait=math.inf).jobs()

    async def work() -> None:
        async with jobs:
            await jobs.__anext__()

    await cancelled_with_its_batch(kit.TASKS, store, jobs, work())
    (task,) = await store.claims("q", wait=10).__anext__()
    assert task.claims == 2


@each_loop
async def test_a_block_stops_listening(url: str, name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.aio.connect(never_polling(url)), name)
    async with how.start(queue, math.inf) as kept:
        waiting = asyncio.ensure_future(kept.__anext__())
        await asyncio.sleep(0.05)  # it listens now
    with pytest.raises(asyncio.CancelledError):
        await waiting
    other = asyncio.ensure_future(how.begin(queue)())
    await asyncio.sleep(0.05)
    await how.queue.put(queue, 1)
    assert how.queue.numbers(await asyncio.wait_for(other, SOON)) == [1]


@each_loop
async def test_a_loop_can_go_on_after_an_error(own_server: Any, how: kit.Wait) -> None:
    kind = how.queue
    queue = kind.open(millpond.aio.connect(own_server.url, timeout=2), "x")
    await kind.put(queue, 1)
    await kind.put(queue, 2)
    call = how.begin(queue, 0)
    (first,) = kind.numbers(await call())
    own_server.run("stop")
    with pytest.raises(millpond.TimeoutError):
        await call()
    own_server.run("cont")
    # The call whose reply was lost may have leased the second one, where it does not come again.
    rest = kind.numbers(await awaited(call))
    assert rest == [3 - first] or (kind.is_shared and rest == [])
    assert await awaited(call) is None
    # Nothing is lost, and nothing is left for others; the Ick's loop has committed what it had.
    assert kind.size(await kind.look(queue)) == (2 if kind.is_shared else 0)
    assert not await kind.takes(queue, 1)[0]


@each_loop
async def test_one_loop_is_for_one_task(name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.aio.connect("memory:"), name)
    call = how.begin(queue)
    task = asyncio.ensure_future(call())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="another task"):
        await call()
    await how.queue.put(queue, 1)
    assert how.queue.numbers(await task) == [1]


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_many_loops_in_many_threads(shared_server: Any, name: str, new_loop: Any) -> None:
    client = millpond.aio.connect(shared_server.url)
    failures = []

    async def work(thread: int, turn: int) -> None:
        ick = client.ick(f"{name}-{thread}-{turn}")
        members = [str(n) for n in range(50)]
        await asyncio.gather(*(ick.add([(1, member)]) for member in members))
        seen = [member async for batch in ick.batches(7) for member, _ in batch]
        assert sorted(seen) == sorted(member.encode() for member in members)
        assert [batch async for batch in ick.batches(7, wait=0.05)] == []

    def run(thread: int) -> None:
        try:
            for turn in range(5):
                loop = new_loop()
                loop.run_until_complete(work(thread, turn))
                loop.close()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failures


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_loop_closed_with_calls_under_way(own_server: Any, new_loop: Any) -> None:
    client = millpond.aio.connect(own_server.url, timeout=60)
    native = client._native.ick("x")
    descriptors = set(os.listdir("/proc/self/fd"))
    for _ in range(20):
        loop = new_loop()

        async def leave() -> None:
            for number in range(50):
                native.add([(1, str(number))])
            native.batches(10, math.inf).next()

        loop.run_until_complete(client.ick("x").stats())
        own_server.run("stop")
        loop.run_until_complete(leave())
        loop.close()
        own_server.run("cont")
    loop = new_loop()
    assert loop.run_until_complete(client.ick("x").stats()).pset_size == 50
    loop.close()
    assert len(set(os.listdir("/proc/self/fd")) - descriptors) < 8


@pytest.mark.parametrize("ending", ["return", "exit", "leave the loop", "raise"])
def test_a_program_ends_with_calls_under_way(own_server: Any, ending: str) -> None:
    program = f"""
import asyncio, math, millpond.aio, sys
ick = millpond.aio.connect({own_server.url!r}, timeout=60).ick("x")
async def main():
    await ick.add([(1, "a")])
    calls = [asyncio.create_task(ick.add([(1, str(n))])) for n in range(1000)]
    calls.append(asyncio.create_task(ick.batches(1, wait=math.inf).__anext__()))
    await asyncio.sleep(0)
    if {ending!r} == "exit":
        sys.exit(0)
    if {ending!r} == "raise":
        raise KeyError
if {ending!r} == "leave the loop":
    kept = asyncio.new_event_loop()
    kept.run_until_complete(main())
else:
    asyncio.run(main())
"""
    for _ in range(10):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
        assert ended.returncode == (1 if ending == "raise" else 0), ended.stderr
        if ending in ("return", "exit"):
            assert ended.stderr == b""


def test_no_loop_no_call() -> None:
    ick = millpond.aio.connect("memory:").ick("x")
    with pytest.raises(RuntimeError, match="no running event loop"):
        ick.add([(1, "a")]).send(None)
