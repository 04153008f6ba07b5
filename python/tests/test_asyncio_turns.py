"""An event loop gets its turn although an embedded engine completes calls at once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Any

import kit
import pytest
import uvloop
from kit import each_wait

import millpond.aio

ENDLESS = 60.0
"""How long work goes on that nobody stops, in seconds: longer than any test of it may take."""


async def put_take_end(kind: kit.Queue, client: Any, until: float) -> None:
    queue = kind.open(client, "x")
    while time.monotonic() < until:
        await kind.put(queue, 0)
        await kind.end(queue, await kind.takes(queue, 1)[0])


async def put_wait_end(how: kit.Wait, client: Any, until: float) -> None:
    queue = how.queue.open(client, "x")
    call = how.begin(queue, 60)
    while time.monotonic() < until:
        await how.queue.put(queue, 1)
        await how.queue.end(queue, await call())


async def run_a_worker(kind: kit.Queue, client: Any, until: float) -> None:
    queue = kind.open(client, "x")

    async def handle(job: Any) -> None:
        if time.monotonic() < until:
            await kind.put(queue, 1)

    await kind.put(queue, 1)
    await kind.worker(queue).drain(handle)


async def take_batches(client: Any, until: float) -> None:
    ick = client.ick("x")
    await ick.add([(1, str(number)) for number in range(1_000_000)])
    async for _ in ick.batches(1):
        if time.monotonic() > until:
            break


async def take_messages(client: Any, until: float) -> None:
    queue = client.shuffle_queue("x")
    await queue.write_many([("t", {"n": "1"})] * 300_000)
    async for _ in queue.consumer("g", "c").messages(1):
        if time.monotonic() > until:
            break


async def be_refused(client: Any, until: float) -> None:
    queue = client.shuffle_queue("x")
    while time.monotonic() < until:
        with pytest.raises(millpond.InvalidArgumentError):
            await queue.write("", {})


async def run_tasks(client: Any, until: float) -> None:
    def handle(job: Any) -> Any:
        return job.delete().insert("q") if time.monotonic() < until else None

    store = client.tasks("x")
    await store.insert("q")
    await store.worker("q").drain(handle)


WORK = {work.__name__: work for work in (take_batches, take_messages, be_refused, run_tasks)}
WORK |= {f"put_take_end {kind}": partial(put_take_end, kind) for kind in kit.QUEUES}
WORK |= {f"put_wait_end {how}": partial(put_wait_end, how) for how in kit.WAITS}
WORK |= {f"run_a_worker {kind}": partial(run_a_worker, kind) for kind in kit.WORKERS}


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_a_timeout_ends_work(work: Any, new_loop: Any) -> None:
    async def main() -> None:
        client = millpond.aio.connect("memory:")
        began = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work(client, began + ENDLESS), 0.5)
        assert time.monotonic() - began < ENDLESS / 2

    loop = new_loop()
    loop.run_until_complete(main())
    loop.close()


@each_wait
async def test_other_tasks_run(url: str, how: kit.Wait) -> None:
    client = millpond.aio.connect(url)
    work = asyncio.create_task(put_wait_end(how, client, time.monotonic() + ENDLESS))
    began = time.monotonic()
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert time.monotonic() - began < ENDLESS / 2
    assert not work.done()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


def test_ctrl_c() -> None:
    program = """
import asyncio, millpond.aio
async def main():
    queue = millpond.aio.connect("memory:").shuffle_queue("x")
    print("begins", flush=True)
    while True:
        await queue.delete_tracked("x")
asyncio.run(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=ENDLESS)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert errors.endswith("KeyboardInterrupt\n")


async def test_cancelling_loses_no_batch() -> None:
    """Nothing was taken, and nothing committed, for a call that waits for its turn."""
    ick = millpond.aio.connect("memory:").ick("x")
    members = {str(number).encode() for number in range(20_000)}
    await ick.add([(1, member) for member in members])
    batches = ick.batches(1)
    seen = set()
    cancelled = 0

    async def take() -> None:
        async for batch in batches:
            seen.add(batch[0][0])

    while seen != members and cancelled < len(members):
        task = asyncio.create_task(take())
        await asyncio.sleep(0)
        if not task.done():
            cancelled += task.cancel()
        await asyncio.wait([task])
    assert cancelled > 10
    assert seen == members
