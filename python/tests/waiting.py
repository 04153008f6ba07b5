"""Waiting for a condition, and for no time by which it ought to hold: the machine may be busy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from millpond import DependencyError, Modification

SOON = 20.0
"""Seconds in which a busy machine does what takes no time; what must not happen takes longer."""


PATIENCE = 60.0
"""Seconds until a test gives up waiting for what it expects."""


def renewing(url: str) -> str:
    """The URL with leases that are renewed ten times a second, however long they are: a test sees a
    renewal soon, and loses no lease where the machine stands still.
    """
    return f"{url}?renew_every=100ms"


def never_polling(url: str) -> str:
    """The URL of a client that looks only when it is woken: what comes to a wait woke it."""
    return f"{url}?poll=never"


def until(holds: Callable[[], object]) -> None:
    """Returns once it holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it does not come to hold"
        time.sleep(0.005)


async def until_async(holds: Callable[[], object]) -> None:
    """The same, while others of the event loop run."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it does not come to hold"
        await asyncio.sleep(0.005)


async def renewals(job: Any, count: int) -> None:
    """Returns once a job was renewed this many times more."""
    version = job.handle.version + count
    await until_async(lambda: job.handle.version >= version)


async def until_not_renewed(store: Any, task_id: str) -> Any:
    """Returns the task once nothing renews it any more.

    A job beside it, which is renewed, says how long that is.
    """
    await store.insert("beside")
    job = await store.worker("beside", lease=60).jobs().__anext__()
    deadline = time.monotonic() + PATIENCE
    while True:
        # After these a renewal that was under way is over.
        await renewals(job, 3)
        (before,) = await store.fetch(task_id)
        await renewals(job, 3)
        (task,) = await store.fetch(task_id)
        if task.version == before.version:
            await job.done()
            return task
        assert time.monotonic() < deadline, "it is renewed for ever"


def delete_held(store: Any, job: Any) -> None:
    """Deletes the task of a job, which may be renewed at the same moment; by a call that blocks."""

    def is_deleted() -> bool:
        try:
            store.modify(Modification().delete(job.handle))
        except DependencyError:
            return False
        return True

    until(is_deleted)


async def delete_held_async(store: Any, job: Any) -> None:
    """The same, by a call that is awaited."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            await store.modify(Modification().delete(job.handle))
            return
        except DependencyError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)
