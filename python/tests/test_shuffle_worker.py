"""Workers of shuffle queues."""

from __future__ import annotations

import asyncio
from typing import Any

from waiting import until, until_async

import millpond
import millpond.aio
from millpond import Reject, Release


async def test_a_worker_ends_messages_as_its_handler_says(
    connect: Any, url: str, name: str
) -> None:
    queue = connect(url, decode_responses=True).shuffle_queue(f"{{{name}}}")
    ends = ["none", "value", "reject", "release", "error", "coroutine"]
    await queue.write_many([("t", {"end": end}) for end in ends])
    seen: list[str] = []

    async def unawaited() -> None: ...

    def handle(job: Any) -> Any:
        end = job.message.field("end")
        seen.append(end)
        if seen.count(end) > 1:
            return None
        if end in ("reject", "release", "error"):
            raise {"reject": Reject("why"), "release": Release(0), "error": ValueError("x")}[end]
        # A worker of an event loop awaits the first.
        return lambda: unawaited() if end == "coroutine" else {"inserts": []}

    told: list[Any] = []
    events: list[Any] = []
    worker = queue.consumer("g", "c").worker(delete=True, backoff=0, backoff_max=0)
    await worker.drain(
        handle, lambda job, error: told.append(error), lambda report: events.append(report)
    )
    assert sorted(set(seen)) == sorted(ends)
    assert [letter.reason for letter in await queue.dead_letters()] == ["rejected: why"]
    assert "ValueError" in [type(error).__name__ for error in told]
    assert {report.kind for report in events} >= {"done", "dead", "released", "retried"}
    assert {report.job.message.field("end") for report in events} == set(ends)


async def test_a_stop_gives_back_what_runs(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(f"{{{name}}}")
    await queue.write_many([("t", {"n": str(number)}) for number in range(3)])
    worker = queue.consumer("g", "c").worker(concurrency=1, prefetch=2, delete=True)
    seen: list[Any] = []

    def handle(job: Any) -> None:
        seen.append(job)
        worker.stop(0.05)
        until(lambda: job.is_lost)

    await worker.run(handle)
    assert len(seen) == 1
    other = queue.consumer("g", "d").worker(delete=True)
    assert (await other.drain(lambda job: seen.append(job))).done == 3
    assert await queue.len() == 0


async def test_a_coroutine_is_cancelled_at_its_timeout(url: str, name: str) -> None:
    queue = millpond.aio.connect(url).shuffle_queue(f"{{{name}}}")
    await queue.write("t", {"n": "1"})
    worker = queue.consumer("g", "c", max_deliveries=1).worker(timeout=0.05)
    cancelled: list[Any] = []

    async def handle(job: Any) -> None:
        assert 0 < job.time_left <= 0.05
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.append(job)

    run = asyncio.ensure_future(worker.run(handle, print))
    await until_async(lambda: cancelled)
    worker.stop()
    await run
    assert not cancelled[0].is_lost
