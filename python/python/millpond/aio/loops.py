"""What the loops of consumers have in common on an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

Batch = TypeVar("Batch")


class Loop(AsyncIterator[Batch]):
    """Asks the native half for one batch after the other, until it returns None."""

    __slots__ = ("_asked", "_is_asking", "_native")

    def __init__(self, native: Any) -> None:
        self._native = native
        self._asked: asyncio.Future[Batch | None] | None = None
        self._is_asking = False

    async def __anext__(self) -> Batch:
        if self._is_asking:
            raise RuntimeError(
                "another task is requesting a batch; each task needs a loop of its own"
            )
        # A task can be cancelled after its batch has come and before it has seen it. That batch
        # would be lost if another was requested, so it is kept for the next caller.
        if self._asked is None or self._asked.cancelled():
            self._asked = self._native.next()
        self._is_asking = True
        try:
            batch = await self._asked
        except Exception:
            self._asked = None
            raise
        finally:
            self._is_asking = False
        self._asked = None
        if batch is None:
            raise StopAsyncIteration
        return batch
