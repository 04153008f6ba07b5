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

TIMEOUT = 0.4
TOLERANCE = 0.1

# A machine that is busy with other things may be late itself: one of this many calls is in time.
ATTEMPTS = 25

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
    def call(url: str) -> float:
        with millpond.connect(url, timeout=TIMEOUT) as client:
            began = time.monotonic()
            with pytest.raises(ERRORS):
                client.ick("k").add([(1.0, member(url, urls))])
            return time.monotonic() - began

    def least(url: str) -> float:
        # A call that is in time is not followed by another.
        took = (call(url) for _ in range(ATTEMPTS))
        return next((one for one in took if one < TIMEOUT + TOLERANCE), 60)

    with ThreadPoolExecutor(len(urls)) as threads:
        took = dict(zip(urls, threads.map(least, urls)))
    assert max(took.values()) < TIMEOUT + TOLERANCE, took


def test_asyncio_calls(urls: list[str]) -> None:
    async def call(url: str) -> float:
        async with millpond.aio.connect(url, timeout=TIMEOUT) as client:
            began = time.monotonic()
            with pytest.raises(ERRORS):
                await client.ick("k").add([(1.0, member(url, urls))])
            return time.monotonic() - began

    async def least(url: str) -> float:
        for _ in range(ATTEMPTS):
            took = await call(url)
            if took < TIMEOUT + TOLERANCE:
                return took
        return 60

    async def all_urls() -> list[float]:
        return await asyncio.gather(*map(least, urls))

    took = dict(zip(urls, asyncio.run(all_urls())))
    assert max(took.values()) < TIMEOUT + TOLERANCE, took
