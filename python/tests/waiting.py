"""Waiting for a condition, and for no time by which it ought to hold: the machine may be busy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

SOON = 20.0
"""Seconds in which a busy machine does what takes no time; what must not happen takes longer."""


def until(holds: Callable[[], object]) -> None:
    """Returns once it holds."""
    deadline = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < deadline, "it does not come to hold"
        time.sleep(0.005)


async def until_async(holds: Callable[[], object]) -> None:
    """The same, while others of the event loop run."""
    deadline = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < deadline, "it does not come to hold"
        await asyncio.sleep(0.005)
