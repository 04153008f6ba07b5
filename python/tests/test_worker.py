"""What the workers of all queues do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import kit
import pytest
import uvloop
from kit import each_worker, refused
from servers import WORKSPACE
from waiting import PATIENCE, SOON, until, until_async

import millpond
import millpond.aio
from millpond import Modification


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


async def values_end(connect: Any, kind: kit.Queue, values: list[Any]) -> list[str]:
    """How jobs end whose handler returns these values: done, or why they failed."""
    queue = kind.open(connect("memory:"), "values")
    for number in range(len(values)):
        await kind.put(queue, number)
    ends: dict[int, str] = {}
    await kind.worker(queue).drain(
        lambda job: None if kind.number(job) in ends else values[kind.number(job)],
        lambda job, error: ends.setdefault(kind.number(job), str(error)),
        lambda report: ends.setdefault(kind.number(report.job), report.kind),
    )
    return [ends[number] for number in range(len(values))]


@each_worker
async def test_what_a_handler_may_return(connect: Any, kind: kit.Queue) -> None:
    table = WORKSPACE / "tests/fixtures/handler-results/cases.json"
    cases = json.loads(table.read_text())["cases"]
    ends = await values_end(connect, kind, [case["value"] for case in cases])
    wrong = {
        case["name"]: end
        for case, end in zip(cases, ends)
        if (case["ends"] == "done") != (end == "done") or case.get("key", "") not in end
    }
    assert not wrong


@each_worker
async def test_what_only_looks_like_a_result(connect: Any, kind: kit.Queue) -> None:
    change = millpond.connect("memory:").tasks("x").insert("q").change()
    dropped = [millpond.JobCounts(1, 0, 0, 0), millpond.Release, {7: 1}, {"changes": 1}, [{"depends": 1}], (), object(), [[change]]]
    assert await values_end(connect, kind, dropped) == ["done"] * len(dropped)
    told = {
        "a change that is in no Modification": change,
        "a list with a change that is in no Modification": (7, change),
        "a list with a modification": [Modification()],
        "a dict with the key 'Put-Docs', as if it were a modification": {7: 7, "Put-Docs": ()},
        "a dict with the key 7, as if it were a modification": {7: (), 8: []},
        "a list with a dict with the key 'depends', as if it were a modification": [{"depends": [1]}],
    }
    advice = {
        "tasks": ": return a Modification, such as `job.delete().insert(queue, value)`",
        "shuffle": ", and a message ends without one",
        "events": ", and an event ends without one: publish what follows from it with `ack_with`",
    }[kind.name]
    assert await values_end(connect, kind, list(told.values())) == [
        f"the handler returned {what}{advice}" for what in told
    ]


@pytest.mark.parametrize("kind", [kit.SHUFFLE, kit.EVENTS], ids=str)
async def test_messages_and_events_end_without_a_modification(connect: Any, kind: kit.Queue) -> None:
    (why,) = await values_end(connect, kind, [Modification()])
    assert why.startswith("the handler returned a modification, and a")


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


@contextlib.contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    """A program that has a signal handler."""
    before = signal.signal(number, handler)
    try:
        yield
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


def sends(count: int, number: int, lost: list[bool]) -> Any:
    """A handler in whose job this many signals arrive."""

    def handle(job: Any) -> None:
        for _ in range(count):
            signal.raise_signal(number)
            lost.append(job.is_lost)

    return handle


def raising(ends: type[BaseException]) -> Any:
    def handler(number: int, frame: Any) -> None:
        raise ends

    return handler


@pytest.mark.parametrize("number", HANDLED)
@each_worker
async def test_a_signal_stops_a_run_and_reaches_the_program(
    connect: Any, kind: kit.Queue, number: int
) -> None:
    queue = kind.open(connect("memory:"), "jobs")
    for _ in range(2):
        await kind.put(queue, 1)
    seen: list[int] = []
    with handled(number, lambda number, frame: seen.append(number)):
        counts = await kind.worker(queue, concurrency=1).run(sends(1, number, []))
        assert (counts.done, seen) == (1, [number])
        signal.raise_signal(number)
        assert seen == [number] * 2


async def test_each_signal_reaches_the_program(connect: Any) -> None:
    store = connect("memory:").tasks("x")
    await store.insert("q")
    seen: list[int] = []
    lost: list[bool] = []
    with handled(signal.SIGTERM, lambda number, frame: seen.append(number)):
        await store.worker("q").run(sends(3, signal.SIGTERM, lost))
    assert (seen, lost) == ([signal.SIGTERM] * 3, [False, True, True])


@pytest.mark.parametrize("ends", [SystemExit, KeyboardInterrupt, LookupError])
def test_what_a_signal_handler_raises_waits_for_the_job(ends: Any) -> None:
    store = millpond.connect("memory:").tasks("x")
    store.insert("q")
    with handled(signal.SIGTERM, raising(ends)), pytest.raises(ends):
        store.worker("q").run(sends(1, signal.SIGTERM, []))
    assert store.queues() == {}


@pytest.mark.parametrize("ends", [SystemExit, KeyboardInterrupt, LookupError])
def test_what_a_signal_handler_raises_waits_for_the_jobs_of_all_runs(name: str, ends: Any) -> None:
    store = millpond.connect(f"memory:{name}").tasks("x")
    for queue in "pq":
        store.insert(queue)
    begun: list[Any] = []

    async def handle(job: Any) -> None:
        begun.append(job)
        await until_async(lambda: len(begun) == 2)
        if job is begun[0]:
            signal.raise_signal(signal.SIGTERM)

    async def main() -> None:
        store = millpond.aio.connect(f"memory:{name}").tasks("x")
        await asyncio.gather(*(store.worker(queue).run(handle) for queue in "pq"))

    with handled(signal.SIGTERM, raising(ends)), pytest.raises(ends):
        asyncio.run(main())
    assert store.queues() == {}


def test_what_a_signal_handler_raises_at_the_third_signal_ends_the_run() -> None:
    store = millpond.connect("memory:").tasks("x")
    store.insert("q")
    lost: list[bool] = []
    with handled(signal.SIGTERM, raising(LookupError)), pytest.raises(LookupError):
        store.worker("q").run(sends(3, signal.SIGTERM, lost))
    assert lost == [False, True]


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_signal_reaches_the_event_loop_once(loop: Any) -> None:
    seen: list[int] = []

    async def main() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, seen.append, 1)
        store = millpond.aio.connect("memory:").tasks("x")
        await store.insert("q")
        counts = await store.worker("q").run(sends(1, signal.SIGTERM, []))
        assert counts.done == 1
        await until_async(lambda: seen)
        signal.raise_signal(signal.SIGTERM)
        await until_async(lambda: len(seen) > 1)
        assert seen == [1, 1]

    running = loop()
    try:
        running.run_until_complete(main())
    finally:
        running.close()


async def test_a_handler_that_is_installed_later_stays(connect: Any) -> None:
    store = connect("memory:").tasks("x")
    await store.insert("q")
    worker = store.worker("q")
    seen: list[int] = []
    replaced: list[Any] = []

    def later(number: int, frame: Any) -> None: ...

    def handle(job: Any) -> None:
        replaced.append(signal.signal(signal.SIGTERM, later))
        worker.stop()

    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        await worker.run(handle)
        # As a server does that has ended: what it puts back stops no worker any more.
        assert signal.signal(signal.SIGTERM, *replaced) is later
        signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


LATER = """
import signal, millpond
store = millpond.connect("memory:").tasks("x")
store.insert("q")
worker = store.worker("q")
replaced = []
def handle(job):
    replaced.append(signal.signal(signal.SIGTERM, print))
    worker.stop()
worker.run(handle)
signal.signal(signal.SIGTERM, *replaced)
signal.raise_signal(signal.SIGTERM)
"""


def test_a_handler_that_is_put_back_too_late_ends_the_program() -> None:
    ended = subprocess.run([sys.executable, "-c", LATER], timeout=PATIENCE)
    assert ended.returncode == -signal.SIGTERM


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
