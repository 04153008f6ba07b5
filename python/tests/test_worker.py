"""What the workers of all queues do."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import kit
import pytest
from kit import each_worker, refused
from waiting import SOON, until

import millpond
import millpond.aio


@each_worker
async def test_a_worker_goes_on_when_its_server_was_away(
    connect: Any, own_server: Any, kind: kit.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "millpond")
    queue = kind.open(millpond.connect(own_server.url), "jobs")
    worker = kind.worker(kind.open(connect(own_server.url), "jobs"))

    def produce() -> bool:
        try:
            kind.put(queue, 1)
        except millpond.MillpondError:
            return False  # not connected again yet
        return True

    told: list[str] = []

    def on_event(report: Any) -> None:
        told.append(report.kind)
        if report.kind == "away":
            own_server.run("restart")
        elif report.kind == "back":
            until(produce)
        elif len(told) == 1:
            own_server.run("kill")
        else:
            worker.stop()

    assert produce()
    await worker.run(lambda job: None, on_event=on_event)
    assert told == ["done", "away", "back", "done"]
    away, back = caplog.records
    assert (away.levelname, back.levelname) == ("ERROR", "WARNING")
    assert "the server is back" in back.getMessage()


@each_worker
async def test_what_cannot_be_a_handler(kind: kit.Queue) -> None:
    async def coroutine(job: Any) -> None: ...

    def generator(job: Any) -> Any:
        yield

    queue = kind.open(millpond.connect("memory:"), "x")
    kind.put(queue, 1)
    for handler, message in [
        (coroutine, "the handler is a coroutine function"),
        (generator, "the handler is a generator function"),
        (None, "the handler has to be a function, not NoneType"),
    ]:
        await refused(lambda: kind.worker(queue).run(handler), TypeError, message)  # noqa: B023
    (taken,) = kind.takes(queue, 1)
    assert kind.numbers(taken) == [1]


HANDLED = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
async def test_runs_that_overlap_share_the_signals(order: list[int], leaves: bool) -> None:
    client = millpond.aio.connect("memory:")
    recruiter = client.recruiter("site")
    recruiter.install("a", lambda slice: None, per_second=1)
    recruited = recruiter.run(stop_on_signals=not leaves)
    workers: list[Any] = [kit.TASKS.worker(client.tasks(name)) for name in "ab"]
    before = [signal.getsignal(number) for number in HANDLED]
    runs = [asyncio.ensure_future(run) for run in (recruited, *(worker.run(print) for worker in workers))]
    await asyncio.sleep(0)
    for number in order[:2]:
        [recruiter, *workers][number].stop()
        await runs[number]
    # It stops the one that is left.
    if leaves and order[2] == 0:
        recruiter.stop()
    else:
        signal.raise_signal(signal.SIGTERM)
    await asyncio.gather(*runs)
    assert [signal.getsignal(number) for number in HANDLED] == before


@each_worker
async def test_a_run_that_is_cancelled_gives_back_its_job(
    url: str, name: str, kind: kit.Queue
) -> None:
    queue = kind.open(millpond.aio.connect(url), name)
    await kind.put(queue, 1)
    began = asyncio.Event()

    async def handle(job: Any) -> None:
        began.set()
        await asyncio.sleep(60)

    run = asyncio.ensure_future(kind.worker(queue).run(handle))
    await asyncio.wait_for(began.wait(), SOON)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    # It is there at once, so the attempt did not count.
    seen: list[int] = []
    await kind.worker(queue).drain(lambda job: seen.append(kind.number(job)))
    assert seen == [1]
