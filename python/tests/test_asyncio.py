"""What only an event loop can get wrong: cancelling, closing, many loops and the end of it all."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
import redis
import uvloop
from waiting import SOON, until_async

import millpond
import millpond.aio


async def test_a_thousand_calls_share_a_connection(shared_server: Any, name: str) -> None:
    client = millpond.aio.connect(shared_server.url, client_name=name)
    ick = client.ick(name)
    answers = await asyncio.gather(*(ick.add([(n, str(n))]) for n in range(1000)))
    assert answers == [millpond.Added(1, 0)] * 1000
    assert len(await ick.reserve(2000)) == 1000
    listed = redis.Redis.from_url(shared_server.url).client_list()
    assert [one["name"] for one in listed].count(name) == 1


async def test_the_loop_runs_while_a_call_waits(own_server: Any) -> None:
    ick = millpond.aio.connect(own_server.url, timeout=60).ick("x")
    await ick.add([(1, "a")])
    own_server.run("stop")
    call = asyncio.create_task(ick.add([(1, "b")]))
    began = time.monotonic()
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert time.monotonic() - began < SOON
    assert not call.done()
    own_server.run("cont")
    assert (await call).new == 1


async def test_cancelled_calls_are_skipped(own_server: Any) -> None:
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    ick = millpond.aio.connect(own_server.url, timeout=60).ick("x")
    await ick.add([(1, "a")])
    own_server.run("stop")
    calls = [asyncio.create_task(ick.add([(1, str(n))])) for n in range(100)]
    await asyncio.sleep(0.1)
    for call in calls[::2]:
        call.cancel()
    own_server.run("cont")
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
    assert answers[1::2] == [millpond.Added(1, 0)] * 50
    # They were sent all the same.
    assert (await ick.stats()).pset_size == 101
    assert not errors


async def test_a_cancelled_wait_loses_no_batch(url: str, name: str) -> None:
    ick = millpond.aio.connect(url).ick(name)
    batches = ick.batches(10, wait=math.inf)
    for _ in range(5):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(batches.__anext__(), 0.05)
    await ick.add([(1, "a")])
    assert await asyncio.wait_for(batches.__anext__(), SOON) == [(b"a", 1.0)]
    assert (await ick.stats()).cset_size == 1


async def test_a_cancelled_wait_takes_no_wake_up(name: str) -> None:
    async with millpond.aio.connect("memory:") as client:
        ick = client.ick(name)
        given_up = ick.batches(1, wait=60)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(given_up.__anext__(), 0.05)
        waiting = asyncio.ensure_future(ick.batches(1, wait=60).__anext__())
        await asyncio.sleep(0.05)  # it listens now
        await ick.add([(1, "a")])
        assert await asyncio.wait_for(waiting, SOON) == [(b"a", 1.0)]


async def test_a_batch_that_came_with_the_cancellation_is_not_committed(
    url: str, name: str
) -> None:
    ick = millpond.aio.connect(url).ick(name)
    batches = ick.batches(10, wait=math.inf)
    task = asyncio.create_task(batches.__anext__())
    await asyncio.sleep(0.1)
    asked: Any = batches._asked
    added = asyncio.ensure_future(ick.add([(1, "a")]))
    # The batch may come before the add is known to be done.
    while not asked.done():
        await asyncio.sleep(0)
    task.cancel()  # it has its batch, but has not run since
    await added
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await batches.commit() == 0
    assert await batches.__anext__() == [(b"a", 1.0)]
    assert (await ick.stats()).cset_size == 1
    assert await batches.commit() == 1


async def test_a_loop_can_go_on_after_an_error(own_server: Any) -> None:
    ick = millpond.aio.connect(own_server.url, timeout=2).ick("x")
    await ick.add([(1, "a"), (2, "b")])
    batches = ick.batches(1)
    assert await batches.__anext__() == [(b"a", 1.0)]
    own_server.run("stop")
    with pytest.raises(millpond.TimeoutError):
        await batches.__anext__()
    own_server.run("cont")
    assert await batches.__anext__() == [(b"b", 2.0)]


async def test_one_loop_over_batches_is_for_one_task(name: str) -> None:
    ick = millpond.aio.connect("memory:").ick(name)
    batches = ick.batches(1, wait=math.inf)
    task = asyncio.create_task(batches.__anext__())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="another task"):
        await batches.__anext__()
    await ick.add([(1, "a")])
    assert await task == [(b"a", 1.0)]


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


async def test_cancelled_waits_leave_nothing_behind(shared_server: Any, name: str) -> None:
    client = millpond.aio.connect(shared_server.url)
    server = redis.Redis.from_url(shared_server.url)
    for number in range(20):
        with pytest.raises(asyncio.TimeoutError):
            waiting = client.ick(f"{name}-{number}").batches(1, wait=math.inf).__anext__()
            await asyncio.wait_for(waiting, 0.05)
    await until_async(lambda: server.pubsub_channels(f"{name}*") == [])
