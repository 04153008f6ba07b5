"""Nothing grows with the number of calls."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path
from typing import Any

import pytest

import millpond
import millpond.aio

# `make test-all` makes ten times as many calls, and finds leaks a tenth as large.
TIMES = 10 if os.environ.get("MILLPOND_DEEP") else 1
CALLS = TIMES * 20_000
GROWTH_BYTES_MAX = 8 * 1024 * 1024


def resident_bytes() -> int:
    gc.collect()
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def use(ick: Any, calls: int) -> None:
    for number in range(0, calls, 5):
        members = [f"{number}-{one}" for one in range(10)]
        ick.add([(1.0, member) for member in members])
        ick.reserve(10)
        with pytest.raises(millpond.InvalidArgumentError):
            ick.add([(float("nan"), "x")])
        ick.stats()
        ick.commit(members)


async def use_async(client: Any, name: str, calls: int) -> None:
    async def one(number: int) -> None:
        ick = client.ick(f"{name}{number}")
        await ick.add([(1.0, f"{member}") for member in range(10)])
        await ick.stats()
        await ick.reserve(10)
        async with ick.batches(10) as batches:
            async for _ in batches:
                pass

    for _ in range(0, calls, 5 * 50):
        await asyncio.gather(*(one(number) for number in range(50)))


@pytest.mark.timeout(400)
def test_blocking(url: str, name: str) -> None:
    calls = CALLS
    if url.startswith("file:"):
        url += "?sync=never"
    elif url == "memory:":
        calls = TIMES * 100_000
    ick = millpond.connect(url).ick(name)
    use(ick, calls // 10)
    before = resident_bytes()
    use(ick, calls)
    assert resident_bytes() - before < GROWTH_BYTES_MAX


@pytest.mark.timeout(400)
def test_asyncio(url: str, name: str) -> None:
    if url.startswith("file:"):
        url += "?sync=never"

    async def main() -> None:
        client = millpond.aio.connect(url)
        await use_async(client, name, CALLS // 10)
        before = resident_bytes()
        await use_async(client, name, CALLS)
        assert resident_bytes() - before < GROWTH_BYTES_MAX

    asyncio.run(main())


def test_loops_and_cancelled_waits() -> None:
    client = millpond.aio.connect("memory:")

    async def main() -> None:
        for _ in range(20):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.ick("x").batches(1, wait=60).__anext__(), 0.0001)

    asyncio.run(main())
    before = resident_bytes()
    for _ in range(200):
        asyncio.run(main())
    assert resident_bytes() - before < GROWTH_BYTES_MAX
