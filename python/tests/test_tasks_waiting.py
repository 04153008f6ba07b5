"""Waiting for tasks: Ctrl-C, threads and cancelled tasks of asyncio."""

from __future__ import annotations

import asyncio
import gc
import math
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import pytest
import redis
from processes import interrupted, one_of_two_threads
from waiting import SOON, never_polling, until_async

import millpond
import millpond.aio

HOW = pytest.mark.parametrize("how", ["claims", "jobs"])


def loop_of(store: Any, how: str, wait: float = math.inf) -> Any:
    """A loop that waits."""
    if how == "claims":
        return store.claims("q", wait=wait)
    return store.worker("q", wait=wait).jobs()


def value(found: Any) -> Any:
    """The value of the task that a loop of either kind yielded."""
    return found[0].value if isinstance(found, list) else found.task.value


@HOW
def test_ctrl_c(url: str, name: str, how: str) -> None:
    store = millpond.connect(url).tasks(name)
    loop = loop_of(store, how)
    with interrupted():
        next(loop)
    store.insert("q", 1)
    assert value(next(loop)) == 1


def test_ctrl_c_ends_a_run(url: str, name: str) -> None:
    store = millpond.connect(url).tasks(name)
    with interrupted():
        store.worker("q").run(pytest.fail, stop_on_signals=False)
    store.insert("q", 1)
    with pytest.raises(KeyboardInterrupt):
        # Only when the handler runs.
        store.worker("q").run(
            lambda job: signal.raise_signal(signal.SIGINT), stop_on_signals=False
        )
    task = store.claim("q")
    assert task is not None and task.claims == 2


@HOW
def test_an_interrupted_loop_takes_no_wake_up(url: str, name: str, how: str) -> None:
    store = millpond.connect(never_polling(url)).tasks(name)
    kept = loop_of(store, how)
    with interrupted():
        next(kept)
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(next(loop_of(store, how))))
    thread.start()
    time.sleep(0.2)  # it listens now
    store.insert("q", 1)
    thread.join(SOON)
    assert [value(one) for one in got] == [1]


def test_ctrl_c_at_a_hung_server(own_server: Any) -> None:
    store = millpond.connect(own_server.url, timeout=60).tasks("x")
    store.insert("q")
    (job,) = store.worker("q").jobs()
    own_server.run("stop")
    for call in (lambda: store.insert("q"), lambda: store.claim("q"), store.time, job.done):
        with interrupted():
            call()
    own_server.run("cont")
    store.insert("q")


def test_other_threads_work_while_some_wait(url: str, name: str) -> None:
    store = millpond.connect(url).tasks(name)
    got: list[Any] = []
    waits = [lambda how=how: got.append(next(loop_of(store, how))) for how in ("claims", "jobs")]
    threads = [threading.Thread(target=wait) for wait in waits * 2]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    assert not got
    for number in range(4):
        store.insert("q", number)
    for thread in threads:
        thread.join(SOON)
    assert sorted(value(one) for one in got) == [0, 1, 2, 3]


@HOW
def test_one_loop_is_for_one_thread(name: str, how: str) -> None:
    store = millpond.connect("memory:").tasks(name)
    loop = loop_of(store, how, wait=30)
    with one_of_two_threads(lambda: next(loop)) as got:
        store.insert("q")
    assert len(got) == 1


@pytest.mark.parametrize("url_kind", ["memory", "redis"])
def test_a_program_ends_although_threads_wait(url_kind: str, shared_server: Any) -> None:
    url = "memory:" if url_kind == "memory" else shared_server.url
    program = f"""
import asyncio, math, millpond, millpond.aio, threading, time
kept = []
store = millpond.connect({url!r}).tasks("of a program that ends")
def start(work):
    threading.Thread(target=work, daemon=True).start()
start(lambda: list(store.claims("nothing", wait=math.inf)))
start(lambda: store.worker("nothing", concurrency=2).run(print))
def hammer():
    while True:
        store.insert("q", 1)
        for job in store.worker("q", lease=0.01).jobs():
            kept.append(job)
start(hammer)
async def main():
    worker = millpond.aio.connect({url!r}).tasks("nothing").worker("nothing")
    kept.append(asyncio.ensure_future(worker.run(print)))
    await asyncio.sleep(0.2)
asyncio.run(main())
"""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
        assert (ended.returncode, ended.stderr) == (0, b"")


@HOW
async def test_the_event_loop_runs_while_many_wait(url: str, name: str, how: str) -> None:
    store = millpond.aio.connect(url).tasks(name)
    waits = [asyncio.ensure_future(loop_of(store, how).__anext__()) for _ in range(20)]
    began = time.monotonic()
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert time.monotonic() - began < SOON
    assert not any(wait.done() for wait in waits)
    await asyncio.gather(*(store.insert("q", number) for number in range(20)))
    found: list[Any] = await asyncio.wait_for(asyncio.gather(*waits), SOON)
    assert sorted(value(one) for one in found) == list(range(20))


async def test_a_thousand_calls_share_a_connection(shared_server: Any, name: str) -> None:
    client = millpond.aio.connect(shared_server.url, client_name=name)
    store = client.tasks(name)
    await asyncio.gather(*(store.insert("q", number) for number in range(1000)))
    tasks: list[Any] = await asyncio.gather(*(store.claim("q") for _ in range(1000)))
    assert sorted(task.value for task in tasks) == list(range(1000))
    listed = redis.Redis.from_url(shared_server.url).client_list()
    assert [one["name"] for one in listed].count(name) == 1


@HOW
async def test_a_cancelled_loop_goes_on(url: str, name: str, how: str) -> None:
    store = millpond.aio.connect(url).tasks(name)
    loop = loop_of(store, how)
    for _ in range(5):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(loop.__anext__(), 0.05)
    await store.insert("q", 1)
    assert value(await asyncio.wait_for(loop.__anext__(), SOON)) == 1


@HOW
async def test_a_cancelled_wait_takes_no_wake_up(url: str, name: str, how: str) -> None:
    store = millpond.aio.connect(never_polling(url)).tasks(name)
    kept = loop_of(store, how)
    for _ in range(3):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kept.__anext__(), 0.05)
    waiting = asyncio.ensure_future(loop_of(store, how).__anext__())
    await asyncio.sleep(0.05)  # it listens now
    await store.insert("q", 1)
    assert value(await asyncio.wait_for(waiting, SOON)) == 1


@HOW
async def test_a_cancelled_wait_leaves_nothing_behind(url: str, name: str, how: str) -> None:
    loop: Any = loop_of(millpond.aio.connect(url).tasks(name), how)._native
    future = loop.next()
    await asyncio.sleep(0.05)
    assert not future.done()
    future.cancel()
    left = weakref.ref(future)
    del future
    await until_async(lambda: gc.collect() >= 0 and left() is None)


@HOW
async def test_what_came_with_the_cancellation_is_kept(url: str, name: str, how: str) -> None:
    store = millpond.aio.connect(url).tasks(name)
    loop: Any = loop_of(store, how)
    task = asyncio.create_task(loop.__anext__())
    await asyncio.sleep(0.1)
    asked: Any = loop._asked
    inserted = asyncio.ensure_future(store.insert("q", 1))
    # The task may come before the insert is known to be done.
    while not asked.done():
        await asyncio.sleep(0)
    task.cancel()  # it has its task, but has not run since
    await inserted
    with pytest.raises(asyncio.CancelledError):
        await task
    assert value(await loop.__anext__()) == 1


async def test_a_block_releases_the_job_that_came_with_the_cancellation(
    url: str, name: str
) -> None:
    store = millpond.aio.connect(url).tasks(name)

    async def work(jobs: Any) -> None:
        async with jobs:
            await jobs.__anext__()

    jobs: Any = loop_of(store, "jobs")
    task = asyncio.create_task(work(jobs))
    await asyncio.sleep(0.1)
    asked = jobs._asked
    inserted = asyncio.ensure_future(store.insert("q", 1))
    while not asked.done():
        await asyncio.sleep(0)
    task.cancel()
    await inserted
    with pytest.raises(asyncio.CancelledError):
        await task
    (found,) = await store.claims("q", wait=10).__anext__()
    assert found.claims == 2


async def test_a_block_stops_listening(url: str, name: str) -> None:
    store = millpond.aio.connect(never_polling(url)).tasks(name)
    async with store.claims("q", wait=math.inf) as kept:
        waiting = asyncio.create_task(kept.__anext__())
        await asyncio.sleep(0.05)  # it listens now
    with pytest.raises(asyncio.CancelledError):
        await waiting
    other = asyncio.create_task(store.claims("q", wait=math.inf).__anext__())
    await asyncio.sleep(0.05)
    await store.insert("q", 1)
    assert value(await asyncio.wait_for(other, SOON)) == 1


async def test_a_loop_can_go_on_after_an_error(own_server: Any) -> None:
    store = millpond.aio.connect(own_server.url, timeout=2).tasks("x")
    await store.insert("q", 1)
    await store.insert("q", 2)
    loop = store.claims("q")
    assert len(await loop.__anext__()) == 1
    own_server.run("stop")
    with pytest.raises(millpond.TimeoutError):
        await loop.__anext__()
    own_server.run("cont")
    # The claim whose reply was lost may have leased the second one.
    assert [len(batch) async for batch in loop] in ([1], [])
    assert (await store.queue_stats())[0].claimed == 2
