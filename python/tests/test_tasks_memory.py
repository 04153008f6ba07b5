"""Nothing grows with the number of calls to a task store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from test_memory import GROWTH_BYTES_MAX, TIMES, resident_bytes

import millpond
import millpond.aio
from millpond import Modification

CALLS = TIMES * 400
EMBEDDED_CALLS = TIMES * 3_000


def prepared(url: str) -> tuple[str, int]:
    if url.startswith("file:"):
        url += "?sync=never"
    return url, EMBEDDED_CALLS if url == "memory:" else CALLS


def use(store: Any, calls: int) -> None:
    for _ in range(0, calls, 10):
        gathered = Modification().insert_doc("n", "k", {"more": "x" * 20}, id="d")
        for number in range(4):
            gathered.insert("q", {"n": number, "more": "x" * 20})
        store.modify(gathered)
        task = store.claim("q")
        assert task.value["more"] == "x" * 20
        with pytest.raises(millpond.InvalidArgumentError):
            store.insert("")
        with pytest.raises(millpond.DependencyError):
            store.modify(Modification().delete((task.id, 7)).insert("q", 1))
        store.renew(task)
        (doc,) = store.claim_docs("n", "k")
        store.modify(Modification().delete((task.id, 2)).delete_doc(doc))
        assert store.list("q").tasks[0].claims == 0
        for job in store.worker("q").jobs():
            if job.task.value["n"] % 2:
                job.move_to("p", "why")
            else:
                job.done()
        for batch in store.claims("p", max=10):
            done = Modification()
            for one in batch:
                done.delete(one)
            store.modify(done)
        assert store.queue_stats() == []


async def use_async(store: Any, calls: int) -> None:
    async def handle(job: Any) -> Any:
        await asyncio.sleep(0)
        return job.delete() if job.task.value else None

    for _ in range(0, calls, 4 * 50):
        await asyncio.gather(*(store.insert("q", number % 2) for number in range(50)))
        await asyncio.gather(*(store.worker("q").drain(handle) for _ in range(5)))
        assert await store.are_empty("q")


def test_blocking(url: str, name: str) -> None:
    url, calls = prepared(url)
    store = millpond.connect(url).tasks(name)
    use(store, calls // 10)
    before = resident_bytes()
    use(store, calls)
    assert resident_bytes() - before < GROWTH_BYTES_MAX


def test_asyncio(url: str, name: str) -> None:
    url, calls = prepared(url)

    async def main() -> None:
        store = millpond.aio.connect(url).tasks(name)
        await use_async(store, calls // 10)
        before = resident_bytes()
        await use_async(store, calls // 2)
        assert resident_bytes() - before < GROWTH_BYTES_MAX

    asyncio.run(main())


def test_cancelled_waits() -> None:
    store = millpond.aio.connect("memory:").tasks("x")

    async def main() -> None:
        loops = store.claims("q", wait=60), store.worker("q", wait=60).jobs()
        for _ in range(20):
            for loop in loops:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(loop.__anext__(), 0.0001)

    asyncio.run(main())
    before = resident_bytes()
    for _ in range(30):
        asyncio.run(main())
    assert resident_bytes() - before < GROWTH_BYTES_MAX
