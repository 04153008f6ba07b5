"""A peer that sends a byte now and then holds no call beyond its timeout."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

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


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Servers("hostile") as servers:
        yield servers.url


def test_blocking_calls(url: str) -> None:
    def took(timeout: float) -> float:
        with millpond.connect(url, timeout=timeout) as client:
            began = time.monotonic()
            with pytest.raises(millpond.TimeoutError):
                client.ick("k").add([(1.0, "x")])
            return (time.monotonic() - began) / timeout

    assert any(took(timeout) < LATE for timeout in TIMEOUTS)


def test_asyncio_calls(url: str) -> None:
    async def took(timeout: float) -> float:
        async with millpond.aio.connect(url, timeout=timeout) as client:
            began = time.monotonic()
            with pytest.raises(millpond.TimeoutError):
                await client.ick("k").add([(1.0, "x")])
            return (time.monotonic() - began) / timeout

    assert any(asyncio.run(took(timeout)) < LATE for timeout in TIMEOUTS)
