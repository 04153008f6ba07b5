"""A read that waits lets others work, ends by Ctrl-C and by cancelling, and takes no wake-up."""

from __future__ import annotations

import asyncio
import gc
import math
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


def write(queue: Any, number: int) -> Any:
    return queue.write("t", {"n": str(number)})


@pytest.mark.parametrize("how", ["read", "read_many", "messages"])
def test_ctrl_c(url: str, name: str, how: str) -> None:
    queue = millpond.connect(url).shuffle_queue(name)
    consumer = queue.consumer("g", "c")
    loop = consumer.messages(wait=math.inf)
    with interrupted():
        if how == "read":
            consumer.read(math.inf)
        elif how == "read_many":
            consumer.read_many(10, math.inf)
        else:
            next(loop)
    write(queue, 1)
    messages = next(loop) if how == "messages" else consumer.read_many(1)
    assert [message.field("n") for message in messages] == [b"1"]


def test_an_interrupted_loop_takes_no_wake_up(url: str, name: str) -> None:
    queue = millpond.connect(never_polling(url)).shuffle_queue(name)
    kept = queue.consumer("g", "kept").messages(wait=60)
    with interrupted():
        next(kept)
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(queue.consumer("g", "c").read(60)))
    thread.start()
    time.sleep(0.2)  # it listens now
    write(queue, 1)
    thread.join(SOON)
    assert len(got) == 1


def test_ctrl_c_at_a_hung_server(own_server: Any) -> None:
    queue = millpond.connect(own_server.url, timeout=60).shuffle_queue("x")
    write(queue, 1)
    own_server.run("stop")
    for call in (lambda: write(queue, 2), queue.consumer("g", "c").read):
        with interrupted():
            call()
    own_server.run("cont")
    assert write(queue, 3)


def test_other_threads_work_while_one_waits(url: str, name: str) -> None:
    queue = millpond.connect(url).shuffle_queue(name)
    got: list[Any] = []
    waits = [lambda: queue.consumer("g", "c").read(30)] * 3
    threads = [threading.Thread(target=lambda wait=wait: got.append(wait())) for wait in waits]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    assert not got
    queue.write_many([("t", {"n": str(number)}) for number in range(3)])
    for thread in threads:
        thread.join(SOON)
    assert sorted(message.field("n") for message in got) == [b"0", b"1", b"2"]


def test_one_loop_is_for_one_thread(name: str) -> None:
    queue = millpond.connect("memory:").shuffle_queue(name)
    loop = queue.consumer("g", "c").messages(1, wait=30)
    with one_of_two_threads(lambda: next(loop)) as got:
        write(queue, 1)
    assert len(got) == 1


@pytest.mark.parametrize("url_kind", ["memory", "redis"])
def test_a_program_ends_although_threads_wait(url_kind: str, shared_server: Any) -> None:
    url = "memory:" if url_kind == "memory" else shared_server.url
    program = f"""
import asyncio, math, millpond, millpond.aio, threading, time
queue = millpond.connect({url!r}).shuffle_queue("nothing here")
def start(work):
    threading.Thread(target=work, daemon=True).start()
start(lambda: queue.consumer("g", "c").read(math.inf))
start(lambda: list(queue.consumer("g", "c").messages(wait=math.inf)))
def hammer():
    while True:
        queue.consumer("g", "c").ack(queue.consumer("g", "c").read() or [])
start(hammer)
async def main():
    consumer = millpond.aio.connect({url!r}).shuffle_queue("nothing here").consumer("g", "c")
    kept.append(asyncio.ensure_future(consumer.read(math.inf)))
    await asyncio.sleep(0.2)
kept = []
asyncio.run(main())
"""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
        assert (ended.returncode, ended.stderr) == (0, b"")


async def test_the_event_loop_runs_while_a_read_waits(url: str, name: str) -> None:
    queue = millpond.aio.connect(url).shuffle_queue(name)
    reads = [asyncio.create_task(queue.consumer("g", "c").read(30)) for _ in range(20)]
    began = time.monotonic()
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert time.monotonic() - began < SOON
    assert not any(read.done() for read in reads)
    await queue.write_many([("t", {"n": str(number)}) for number in range(20)])
    messages: list[Any] = await asyncio.wait_for(asyncio.gather(*reads), SOON)
    assert len({message.field("n") for message in messages}) == 20


async def test_a_thousand_calls_share_a_connection(shared_server: Any, name: str) -> None:
    client = millpond.aio.connect(shared_server.url, client_name=name)
    queue = client.shuffle_queue(name)
    receipts = await asyncio.gather(*(write(queue, number) for number in range(1000)))
    assert len(set(receipts)) == 1000
    consumer = queue.consumer("g", "c")
    messages: list[Any] = await asyncio.gather(*(consumer.read() for _ in range(1000)))
    assert len({message.field("n") for message in messages}) == 1000
    listed = redis.Redis.from_url(shared_server.url).client_list()
    assert [one["name"] for one in listed].count(name) == 1


async def test_a_cancelled_loop_goes_on(url: str, name: str) -> None:
    queue = millpond.aio.connect(url).shuffle_queue(name)
    loop = queue.consumer("g", "c").messages(wait=math.inf)
    for _ in range(5):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(loop.__anext__(), 0.05)
    await write(queue, 1)
    (message,) = await asyncio.wait_for(loop.__anext__(), SOON)
    assert message.field("n") == b"1"


@pytest.mark.parametrize("how", ["read", "messages"])
async def test_a_cancelled_wait_takes_no_wake_up(url: str, name: str, how: str) -> None:
    queue = millpond.aio.connect(never_polling(url)).shuffle_queue(name)
    consumer = queue.consumer("g", "c")
    kept = consumer.messages(wait=60)
    for _ in range(3):
        with pytest.raises(asyncio.TimeoutError):
            wait = consumer.read(60) if how == "read" else kept.__anext__()
            await asyncio.wait_for(wait, 0.05)
    waiting = asyncio.ensure_future(consumer.read(60))
    await asyncio.sleep(0.05)  # it listens now
    await write(queue, 1)
    message = await asyncio.wait_for(waiting, SOON)
    assert message is not None


@pytest.mark.parametrize("how", ["read", "messages"])
async def test_a_cancelled_wait_leaves_nothing_behind(url: str, name: str, how: str) -> None:
    native: Any = millpond.aio.connect(url).shuffle_queue(name).consumer("g", "c")._native
    loop = native.messages(1, 60)
    future = native.read(60) if how == "read" else loop.next()
    await asyncio.sleep(0.05)
    assert not future.done()
    future.cancel()
    left = weakref.ref(future)
    del future
    await until_async(lambda: gc.collect() >= 0 and left() is None)


async def test_a_batch_that_came_with_the_cancellation_is_kept(url: str, name: str) -> None:
    queue = millpond.aio.connect(url).shuffle_queue(name)
    loop: Any = queue.consumer("g", "c").messages(wait=math.inf)
    task = asyncio.create_task(loop.__anext__())
    await asyncio.sleep(0.1)
    asked: Any = loop._asked
    written = asyncio.ensure_future(write(queue, 1))
    # The batch may come before the write is known to be done.
    while not asked.done():
        await asyncio.sleep(0)
    task.cancel()  # it has its batch, but has not run since
    await written
    with pytest.raises(asyncio.CancelledError):
        await task
    (message,) = await loop.__anext__()
    assert message.field("n") == b"1"


async def test_one_loop_is_for_one_task(name: str) -> None:
    queue = millpond.aio.connect("memory:").shuffle_queue(name)
    loop = queue.consumer("g", "c").messages(1, wait=math.inf)
    task = asyncio.create_task(loop.__anext__())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="another task"):
        await loop.__anext__()
    await write(queue, 1)
    assert len(await task) == 1


async def test_cancelled_calls_are_sent_all_the_same(own_server: Any) -> None:
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    queue = millpond.aio.connect(own_server.url, timeout=60).shuffle_queue("x")
    await write(queue, 0)
    own_server.run("stop")
    calls = [asyncio.create_task(write(queue, number)) for number in range(100)]
    await asyncio.sleep(0.1)
    for call in calls[::2]:
        call.cancel()
    own_server.run("cont")
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
    assert all(isinstance(answer, millpond.Receipt) for answer in answers[1::2])
    assert await queue.len() == 101
    assert not errors


async def test_a_loop_can_go_on_after_an_error(own_server: Any) -> None:
    queue = millpond.aio.connect(own_server.url, timeout=2).shuffle_queue("x")
    await queue.write_many([("t", {"n": "1"}), ("t", {"n": "2"})])
    loop = queue.consumer("g", "c").messages(1)
    assert len(await loop.__anext__()) == 1
    own_server.run("stop")
    with pytest.raises(millpond.TimeoutError):
        await loop.__anext__()
    own_server.run("cont")
    # The read whose reply was lost may have read the second one, which is then to be reclaimed.
    seen = [len(batch) async for batch in loop]
    assert seen in ([1], [])
    assert await queue.pending_count("g") == 2
