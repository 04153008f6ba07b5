"""A task store on Redis works in every child of a fork, whatever its parent waits for."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from processes import in_child
from waiting import PATIENCE, renewing, until

import millpond
import millpond.aio
from millpond import Modification


@pytest.mark.parametrize("used", [False, True])
def test_a_store_works_in_a_child(shared_server: Any, name: str, used: bool) -> None:
    store = millpond.connect(shared_server.url).tasks(name)
    kept = store.claims("q", wait=math.inf)
    if used:
        store.insert("q", "parent")
        assert len(next(kept)) == 1

    def work() -> None:
        ids = set()
        for number in range(100):
            ids.add(store.insert("q", number).id)
        assert len(ids) == 100
        seen = []
        store.worker("q").drain(lambda job: seen.append(job.task.value))
        assert sorted(seen) == list(range(100))
        assert list(store.claims("q", wait=0.05)) == []

    in_child(work)
    assert store.queues() == ({"q": 1} if used else {})
    store.insert("q", "after")
    assert [task.value for task in next(kept)] == ["after"]


def test_forks_while_threads_wait_and_jobs_renew(shared_server: Any, name: str) -> None:
    client = millpond.connect(renewing(shared_server.url))
    store = client.tasks(name)
    store.insert("job")
    (job,) = store.worker("job", lease=60).jobs()
    got: list[Any] = []
    waits = [lambda: got.append(next(store.claims("q", wait=60)))] * 3
    threads = [threading.Thread(target=wait) for wait in waits]
    for thread in threads:
        thread.start()
    time.sleep(0.2)

    def work() -> None:
        own = client.tasks(f"{name}-child")
        assert list(own.claims("q", wait=0.02)) == []
        threading.Timer(0.05, lambda: own.insert("q", 1)).start()
        for own_job in own.worker("q", wait=60, lease=60).jobs():
            until(lambda: own_job.handle.version > own_job.task.version)  # its own timer renews it
            assert not own_job.is_lost
            own_job.done()
            break

    for _ in range(5):
        in_child(work)
    assert not got
    version = job.handle.version
    until(lambda: job.handle.version >= version + 3)
    # The store comes to have what the parent knows, so nobody else renewed it.
    until(lambda: job.handle.version == store.fetch(job.task.id)[0].version)
    assert not job.is_lost
    job.done()
    for number in range(3):
        store.insert("q", number)
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(batch[0].value for batch in got) == [0, 1, 2]


def test_a_job_belongs_to_its_process(shared_server: Any, name: str) -> None:
    store = millpond.connect(shared_server.url).tasks(name)
    store.insert("q")
    (job,) = store.worker("q", lease=60).jobs()

    def work() -> None:
        calls: list[Any] = [job.done, lambda: job.retry("why"), lambda: job.claim_docs("n", "k")]
        for call in calls:
            with pytest.raises(millpond.ForkedError):
                call()
        assert store.queues() == {"q": 1}

    in_child(work)
    job.done()
    assert store.queues() == {}


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_embedded_store_belongs_to_its_process(kind: str, tmp_path: Path) -> None:
    client = millpond.connect("memory:" if kind == "memory" else f"file:{tmp_path / 'data'}")
    store = client.tasks("x")
    store.insert("job")
    store.insert("q", 1)
    (job,) = store.worker("job").jobs()
    loop = store.claims("q", wait=math.inf)
    jobs = store.worker("q", wait=math.inf).jobs()

    def work() -> None:
        calls: list[Any] = [store.time, lambda: store.claim("q"), lambda: store.insert("q")]
        for call in [*calls, lambda: next(loop), lambda: next(jobs), job.done]:
            with pytest.raises(millpond.ForkedError):
                call()

    in_child(work)
    job.done()
    assert len(next(loop)) == 1


def test_asyncio_in_a_child(shared_server: Any, name: str) -> None:
    store = millpond.aio.connect(shared_server.url).tasks(name)
    kept = store.claims("nothing", wait=math.inf)

    async def work() -> None:
        gathered = Modification()
        for number in range(100):
            gathered.insert("q", number)
        await store.modify(gathered)
        seen = []
        await store.worker("q").drain(lambda job: seen.append(job.task.value))
        assert sorted(seen) == list(range(100))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kept.__anext__(), 0.05)

    asyncio.run(work())
    for _ in range(5):
        in_child(lambda: asyncio.run(work()))
    asyncio.run(work())
    assert asyncio.run(store.queues()) == {}
