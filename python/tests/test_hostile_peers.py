"""A peer that sends a byte now and then, or reads nothing, holds no call beyond its timeout."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers import Servers

import millpond
import millpond.aio

LATE = 1.9
"""A call that takes more times its timeout than this is late."""

TIMEOUTS = [0.4 * 2**number for number in range(6)]
"""In seconds.

A machine that is busy may be late itself. A call that is late is made again with twice the time, so
that only what takes longer than it may on a machine of any speed is late each time.
"""

LARGE = b"x" * (8 << 20)
ERRORS = (millpond.TimeoutError, millpond.ConnectionFailedError, millpond.UnavailableError)


@pytest.fixture(scope="module")
def urls() -> Iterator[list[str]]:
    with Servers("hostile") as servers:
        yield servers.url.split()


def member(url: str, urls: list[str]) -> bytes:
    # The last one never reads: it takes only what the buffers hold.
    return LARGE if url == urls[-1] else b"x"


def test_blocking_calls(urls: list[str]) -> None:
    def call(url: str, timeout: float) -> float:
        with millpond.connect(url, timeout=timeout) as client:
            began = time.monotonic()
            with pytest.raises(ERRORS):
                client.ick("k").add([(1.0, member(url, urls))])
            return time.monotonic() - began

    def calls(url: str) -> list[float]:
        took: list[float] = []
        for timeout in TIMEOUTS:
            took.append(call(url, timeout) / timeout)
            if took[-1] < LATE:
                break
        return took

    with ThreadPoolExecutor(len(urls)) as threads:
        took = dict(zip(urls, threads.map(calls, urls)))
    assert max(calls[-1] for calls in took.values()) < LATE, took


def test_asyncio_calls(urls: list[str]) -> None:
    async def call(url: str, timeout: float) -> float:
        async with millpond.aio.connect(url, timeout=timeout) as client:
            began = time.monotonic()
            with pytest.raises(ERRORS):
                await client.ick("k").add([(1.0, member(url, urls))])
            return time.monotonic() - began

    async def calls(url: str) -> list[float]:
        took: list[float] = []
        for timeout in TIMEOUTS:
            took.append(await call(url, timeout) / timeout)
            if took[-1] < LATE:
                break
        return took

    async def all_urls() -> list[list[float]]:
        return await asyncio.gather(*map(calls, urls))

    took = dict(zip(urls, asyncio.run(all_urls())))
    assert max(calls[-1] for calls in took.values()) < LATE, took
