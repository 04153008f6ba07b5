"""A wait ends by what comes, by its time and by the client's end, for both kinds of callers."""

from __future__ import annotations

import asyncio
import datetime
import time
from typing import Any

import kit
import pytest
from kit import awaited, each_loop, each_wait
from waiting import SOON, until_async

import millpond


def in_a_thread(work: Any) -> Any:
    """A future of a coroutine that may block."""
    return asyncio.get_running_loop().run_in_executor(None, asyncio.run, work)


@each_wait
async def test_a_wait_ends_by_its_time(
    connect: Any, url: str, name: str, how: kit.Wait
) -> None:
    queue = how.queue.open(connect(url), name)
    for wait, seconds in [(0, 0), (0.1, 0.1), (datetime.timedelta(milliseconds=100), 0.1)]:
        began = time.monotonic()
        assert not await awaited(how.begin(queue, wait))
        assert seconds <= time.monotonic() - began < SOON


@each_wait
async def test_a_wait_ends_by_what_comes(
    connect: Any, url: str, name: str, how: kit.Wait
) -> None:
    queue = how.queue.open(connect(url), name)
    seen: list[int] = []

    async def consume() -> None:
        call = how.begin(queue, 60)
        while len(seen) < 3:
            seen.extend(how.queue.numbers(await call()))

    consumed = in_a_thread(consume())
    for number in range(3):
        await asyncio.sleep(0.1)  # it waits now
        await how.queue.put(queue, number)
        await until_async(lambda: len(seen) > number)  # noqa: B023
    await asyncio.wait_for(consumed, SOON)
    assert seen == [0, 1, 2]


@each_wait
async def test_a_wait_ends_when_its_client_is_closed(
    connect: Any, url: str, name: str, how: kit.Wait
) -> None:
    client = connect(url)
    queue = how.queue.open(client, name)

    async def wait() -> None:
        await how.begin(queue)()

    waiting = in_a_thread(wait())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await client.aclose()
    with pytest.raises(millpond.ClosedError):
        await asyncio.wait_for(waiting, SOON)


@each_wait
async def test_a_closed_client_refuses_every_call(
    connect: Any, url: str, name: str, how: kit.Wait
) -> None:
    async with connect(url) as client:
        queue = how.queue.open(client, name)
        await how.queue.put(queue, 1)
        call = how.begin(queue, 0)
        result = await call()
    for refused in [*how.calls(queue, result), call]:
        with pytest.raises(millpond.ClosedError):
            await refused()
    await client.aclose()


@each_loop
async def test_a_loop_that_waits_for_nothing_ends_when_nothing_is_left(
    connect: Any, url: str, name: str, how: kit.Wait
) -> None:
    queue = how.queue.open(connect(url), name)
    for number in range(3):
        await how.queue.put(queue, number)
    seen: list[int] = []
    async for result in how.start(queue, None):
        seen += how.queue.numbers(result)
        await how.queue.end(queue, result)
    assert sorted(seen) == [0, 1, 2]
    assert how.queue.size(await how.queue.look(queue)) == 0
