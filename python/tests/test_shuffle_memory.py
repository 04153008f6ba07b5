"""Nothing grows with the number of calls to a shuffle queue."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from test_memory import GROWTH_BYTES_MAX, TIMES, resident_bytes

import millpond
import millpond.aio

CALLS = TIMES * 1_200
EMBEDDED_CALLS = TIMES * 20_000


def prepared(url: str) -> tuple[str, int]:
    if url.startswith("file:"):
        url += "?sync=never"
    return url, EMBEDDED_CALLS if url == "memory:" else CALLS


def use(queue: Any, calls: int) -> None:
    consumer = queue.consumer("g", "c")
    written = [(f"tenant-{number}", {"n": str(number), "more": "x" * 20}) for number in range(10)]
    for _ in range(0, calls, 10):
        queue.write_many(written)
        message = consumer.read()
        messages = consumer.read_many(9)
        assert message.fields[0] != messages[-1].fields[1]
        consumer.extend(messages)
        consumer.ack_and_delete(message)
        consumer.ack_and_delete(messages)
        with pytest.raises(millpond.InvalidArgumentError):
            queue.write("", {"a": "b"})
        assert consumer.read() is None
        queue.write_tracked("t", {"job": "j-1"}, "job")
        queue.delete_tracked("j-1")


async def use_async(client: Any, name: str, calls: int) -> None:
    async def one(number: int) -> None:
        queue = client.shuffle_queue(f"{name}{number}", streams=2, track_keys="queue")
        consumer = queue.consumer("g", "c")
        await queue.write_many([("t", {"n": "1"}), ("u", {"n": "2"})])
        await queue.stats("g")
        async for batch in consumer.messages(10):
            await consumer.ack_and_delete(batch)
        async for _ in queue.gc():
            pass

    for _ in range(0, calls, 6 * 50):
        await asyncio.gather(*(one(number) for number in range(50)))


def test_blocking(url: str, name: str) -> None:
    url, calls = prepared(url)
    queue = millpond.connect(url).shuffle_queue(name, streams=4, track_keys="queue")
    use(queue, calls // 10)
    before = resident_bytes()
    use(queue, calls)
    assert resident_bytes() - before < GROWTH_BYTES_MAX


def test_asyncio(url: str, name: str) -> None:
    url, calls = prepared(url)

    async def main() -> None:
        client = millpond.aio.connect(url)
        await use_async(client, name, calls // 10)
        before = resident_bytes()
        await use_async(client, name, calls // 2)
        assert resident_bytes() - before < GROWTH_BYTES_MAX

    asyncio.run(main())


def test_cancelled_waits() -> None:
    client = millpond.aio.connect("memory:")
    consumer = client.shuffle_queue("x").consumer("g", "c")

    async def main() -> None:
        loop = consumer.messages(wait=60)
        for _ in range(20):
            for wait in (consumer.read(60), loop.__anext__()):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(wait, 0.0001)

    asyncio.run(main())
    before = resident_bytes()
    for _ in range(30):
        asyncio.run(main())
    assert resident_bytes() - before < GROWTH_BYTES_MAX
