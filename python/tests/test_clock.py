"""A clock that tests move, in place of sleeping."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from processes import in_child

import millpond
import millpond.aio

HOUR = timedelta(hours=1)


def test_stands_still_at_the_present_or_at_a_time() -> None:
    before = time.time_ns() // 1_000_000
    clock = millpond.ManualClock()
    assert before <= clock.now_ms <= time.time_ns() // 1_000_000
    time.sleep(0.01)
    at = datetime(2026, 1, 1, tzinfo=timezone(HOUR))
    clock = millpond.ManualClock(at)
    assert clock.now == at and clock.now.tzinfo == timezone.utc
    clock.advance(1.5)
    clock.advance(HOUR)
    assert clock.now == at + HOUR + timedelta(seconds=1.5)
    assert clock.now_ms == millpond.ManualClock(at_ms=clock.now_ms).now_ms
    assert repr(clock).startswith("ManualClock(datetime.datetime(2026, 1, 1, 0, 0, 1, 500000, ")
    clock.advance(float("inf"))
    assert clock.now.year == 9999


def test_arguments() -> None:
    clock: Any = millpond.ManualClock(at_ms=0)
    for wrong, kind in [
        (lambda: clock.advance(-1), millpond.InvalidArgumentError),
        (lambda: clock.advance("1"), TypeError),
        (lambda: millpond.ManualClock(datetime.now()), millpond.InvalidArgumentError),
        (lambda: millpond.ManualClock(at_ms=-1), millpond.InvalidArgumentError),
        (lambda: millpond.connect("memory:", clock=1), TypeError),  # type: ignore[call-overload]
    ]:
        with pytest.raises(kind):
            wrong()
    assert clock.now_ms == 0


@pytest.mark.parametrize("connect", [millpond.connect, millpond.aio.connect])
def test_a_server_has_its_own_time(connect: Any) -> None:
    with pytest.raises(millpond.InvalidArgumentError, match="a server's time is the server's"):
        connect("redis://127.0.0.1:1", clock=millpond.ManualClock())


def test_those_that_share_an_engine_share_its_clock(tmp_path: Path) -> None:
    for url in ["memory:python's clock", f"file:{tmp_path}"]:
        clock = millpond.ManualClock(at_ms=1_000)
        first = millpond.connect(url, clock=clock)
        others = [millpond.connect(url), millpond.connect(url, clock=clock)]
        with pytest.raises(millpond.InvalidArgumentError, match="another clock"):
            millpond.connect(url, clock=millpond.ManualClock(at_ms=1_000))
        clock.advance(1)
        assert [client.tasks("q").time() for client in [first, *others]] == [2_000] * 3


def test_an_advance_wakes_threads_that_wait() -> None:
    clock = millpond.ManualClock()
    store = millpond.connect("memory:", clock=clock).tasks("shop")
    worker = store.worker("mails")
    claimed: list[Any] = []
    waiting = [
        threading.Thread(target=lambda: claimed.extend(next(store.claims("inbox", wait=60)))),
        threading.Thread(target=lambda: worker.run(lambda job: worker.stop())),
    ]
    for thread in waiting:
        thread.start()
    store.insert("inbox", delay=HOUR)
    store.insert("mails", delay=HOUR)
    time.sleep(0.05)
    clock.advance(HOUR - timedelta(milliseconds=1))
    assert store.worker(["inbox", "mails"]).drain(print).done == 0 and claimed == []
    clock.advance(0.001)
    for thread in waiting:
        thread.join(10)
        assert not thread.is_alive()
    assert len(claimed) == 1
    # A lease that nobody renews is over by the clock.
    assert store.claim("inbox") is None
    clock.advance(30)
    assert store.claim("inbox") is not None


def test_a_child_of_a_fork_moves_its_own() -> None:
    clock = millpond.ManualClock(at_ms=0)
    store = millpond.connect("memory:", clock=clock).tasks("shop")
    waiting = threading.Thread(target=lambda: next(store.claims("q", wait=60)))
    waiting.start()
    time.sleep(0.05)

    def work() -> None:
        clock.advance(1)
        own = millpond.connect("memory:", clock=clock).tasks("shop")
        clock.advance(1)
        assert own.time() == clock.now_ms == 2_000

    in_child(work)
    assert clock.now_ms == 0
    store.insert("q", delay=HOUR)
    clock.advance(HOUR)
    waiting.join(10)
    assert not waiting.is_alive()


async def test_an_advance_wakes_tasks_that_wait() -> None:
    clock = millpond.ManualClock()
    store = millpond.aio.connect("memory:", clock=clock).tasks("shop")
    await store.insert("inbox", 7, delay=HOUR)

    async def claim() -> Any:
        return await anext_of(store.claims("inbox", wait=60))

    waiting = asyncio.create_task(claim())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    clock.advance(HOUR)
    batch = await asyncio.wait_for(waiting, 10)
    assert [task.value for task in batch] == [7]


async def anext_of(loop: Any) -> Any:
    """The next batch of a loop, also on Python 3.9."""
    return await loop.__anext__()
