"""A peer that sends a byte now and then holds no call beyond its timeout."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from servers import Servers

import millpond
import millpond.aio

TIMEOUT = 10.0
"""In seconds: so long that no machine holds a call up for as long again."""

LATE = 1.9
"""A call that takes more times its timeout than this is late."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Servers("hostile") as servers:
        yield servers.url


def test_blocking_calls(url: str) -> None:
    with millpond.connect(url, timeout=TIMEOUT) as client:
        began = time.monotonic()
        with pytest.raises(millpond.TimeoutError):
            client.ick("k").add([(1.0, "x")])
        assert time.monotonic() - began < LATE * TIMEOUT


def test_asyncio_calls(url: str) -> None:
    async def took() -> float:
        async with millpond.aio.connect(url, timeout=TIMEOUT) as client:
            began = time.monotonic()
            with pytest.raises(millpond.TimeoutError):
                await client.ick("k").add([(1.0, "x")])
            return time.monotonic() - began

    assert asyncio.run(took()) < LATE * TIMEOUT
