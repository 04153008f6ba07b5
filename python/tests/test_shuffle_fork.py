"""A shuffle queue on Redis works in every child of a fork, whatever its parent waits for."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from processes import in_child

import millpond
import millpond.aio


@pytest.mark.parametrize("used", [False, True])
def test_a_queue_works_in_a_child(shared_server: Any, name: str, used: bool) -> None:
    queue = millpond.connect(shared_server.url).shuffle_queue(name)
    consumer = queue.consumer("g", "c")
    kept = consumer.messages(wait=math.inf)
    if used:
        queue.write("t", {"n": "parent"})
        assert len(next(kept)) == 1

    def work() -> None:
        queue.write_many([("t", {"n": str(number)}) for number in range(100)])
        child = queue.consumer("g", "child")
        batches = list(child.messages(30, wait=0.1))
        assert sum(len(batch) for batch in batches) == 100
        assert sum(child.ack(batch) for batch in batches) == 100
        assert child.read(0.05) is None

    in_child(work)
    assert queue.pending_count("g") == used
    queue.write("t", {"n": "after"})
    assert [message.field("n") for message in next(kept)] == [b"after"]


def test_forks_while_threads_wait(shared_server: Any, name: str) -> None:
    client = millpond.connect(shared_server.url)
    queue = client.shuffle_queue(name)
    got: list[Any] = []
    reads = [lambda: got.append(queue.consumer("g", "c").read(60))] * 4
    threads = [threading.Thread(target=read) for read in reads]
    for thread in threads:
        thread.start()
    time.sleep(0.2)

    def work() -> None:
        own = client.shuffle_queue(f"{name}-child")
        assert own.consumer("g", "c").read(0.02) is None
        threading.Timer(0.05, lambda: own.write("t", {"n": "1"})).start()
        message = own.consumer("g", "c").read(60)
        assert message is not None
        assert own.consumer("g", "c").ack_and_delete(message) == 1

    for _ in range(10):
        in_child(work)
    assert not got
    queue.write_many([("t", {"n": str(number)}) for number in range(4)])
    for thread in threads:
        thread.join(20)
    assert {message.field("n") for message in got} == {b"0", b"1", b"2", b"3"}


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_embedded_queue_belongs_to_its_process(kind: str, tmp_path: Path) -> None:
    client = millpond.connect("memory:" if kind == "memory" else f"file:{tmp_path / 'data'}")
    queue = client.shuffle_queue("x")
    queue.write("t", {"n": "1"})
    consumer = queue.consumer("g", "c")
    loop = consumer.messages(wait=math.inf)

    def work() -> None:
        calls: list[Any] = [queue.len, consumer.read, lambda: consumer.read(60)]
        for call in [*calls, lambda: next(loop), lambda: queue.write("t", {"n": "2"})]:
            with pytest.raises(millpond.ForkedError):
                call()

    in_child(work)
    assert len(next(loop)) == 1


def test_asyncio_in_a_child(shared_server: Any, name: str) -> None:
    queue = millpond.aio.connect(shared_server.url).shuffle_queue(name)
    kept = queue.consumer("g", "parent").messages(wait=math.inf)

    async def work() -> None:
        await asyncio.gather(*(queue.write("t", {"n": str(number)}) for number in range(100)))
        consumer = queue.consumer("g", "c")
        seen = [message async for batch in consumer.messages(7) for message in batch]
        assert len(seen) == await consumer.ack_and_delete(seen) == 100
        for wait in (consumer.read(math.inf), kept.__anext__()):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(wait, 0.05)

    asyncio.run(work())
    for _ in range(5):
        in_child(lambda: asyncio.run(work()))
    asyncio.run(work())
    assert asyncio.run(queue.len()) == 0
