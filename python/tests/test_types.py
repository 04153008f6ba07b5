"""The package is typed, the stub is that of the binary, and both kinds of callers are alike."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import millpond
import millpond.aio

PROJECT = Path(__file__).parents[1]

PROGRAM = """
import sqlite3
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Callable, Optional, TypedDict
from typing_extensions import assert_type
import millpond
import millpond.aio
import millpond.asgi
import millpond.wsgi
if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

client = millpond.connect("memory:")
ick = client.ick(b"x")
assert_type(ick.add([(1, "a"), "b", (None, b"c"), (1.5, bytearray())]), millpond.Added)
assert_type(ick.reserve(1), list[tuple[bytes, float]])
assert_type(ick.stats(), Optional[millpond.Stats[bytes]])
text = millpond.connect("memory:", decode_responses=True)
with text, text.ick("x").batches(1) as batches:
    for batch in batches:
        assert_type(batch, list[tuple[str, float]])

queue = text.shuffle_queue("x", streams=4)
assert_type(queue.write("t", {"a": b"b"}), millpond.Receipt)
receipts = queue.write_many([("t", [("a", "b"), ("a", "c")]), (b"u", {b"a": "b"})])
assert_type(receipts, list[millpond.Receipt])
consumer = queue.consumer("g", "c", prefer_stream=1)
assert_type(consumer.read(), Optional[millpond.Message[str]])
for messages in consumer.messages(wait=0.1):
    assert_type(messages[0].fields, list[tuple[str, str]])
    assert_type(messages[0].field(b"a"), Optional[str])
    assert_type(consumer.ack(messages) + consumer.renew(receipts[0]), int)
assert_type(consumer.reclaim(1, 1), millpond.Reclaimed[str])
assert_type(queue.stats("g").streams[0].oldest_idle, Optional[float])
assert_type(queue.dead_letters()[0].group, str)
assert_type(millpond.Message(None, "1-1", {b"a": b"b"}), millpond.Message[bytes])
assert_type(queue.delete_tracked("j-1"), Optional[millpond.Receipt])
assert_type(list(queue.gc(6)), list[list[str]])
assert_type(millpond.shard(4, 2, "t"), list[int])

hash = text.volatile_hash("x")
hash.set_many({"a": b"b"}, ttl=1.5)
assert_type(hash.get("a"), Optional[str])
assert_type(client.volatile_hash(b"x").get_many(["a", b"b"]), list[Optional[bytes]])
assert_type(hash.ttl("a"), Optional[float])
page = hash.fields(after=(1, "a"), limit=1)
assert_type(page, millpond.FieldPage[str])
assert_type(page.next, Optional[millpond.FieldPosition[str]])
assert_type(hash.fields(after=page.fields[0]).fields, list[millpond.HashField[str]])
assert_type(hash.acquire("a", "t", 1).fence, Optional[int])
assert_type(hash.get_or_acquire("a", "t", 1), millpond.ValueOrLock[str])
assert_type(hash.holder("a"), Optional[millpond.LockHolder[str]])
assert_type(hash.reap().next_in, Optional[float])
lock = hash.lock("a", 1)
assert_type(lock, Optional[millpond.FieldLock])
if lock is not None:
    with lock as held:
        assert_type(held, millpond.FieldLock)
        assert_type(held.fence, int)
        assert_type(held.release(), bool)
family = client.volatile_hashes("x", shards=4)
assert_type(family, millpond.VolatileHashes[bytes])
assert_type(family.hash(b"a").get("a"), Optional[bytes])
assert_type(family.reap(), millpond.Reaped)

site = client.recruiter("site")
@site.job("mail", per_second=2, budget=0.05)
def send(slice: millpond.Slice) -> int:
    assert_type(slice.remaining, float)
    assert_type(slice.is_over, bool)
    return slice.fence
kept: Callable[[millpond.Slice], int] = send
def sweep(slice: millpond.Slice) -> None:
    slice.more()
site.install("sweep", sweep, share=1, lease=timedelta(minutes=1))
duty = site.enlist(budget=0.02)
assert_type(duty, millpond.Duty)
if duty.why == "worked":
    assert_type(duty.job, Optional[str])
if duty.why == "not_a_reason":  # type: ignore[comparison-overlap]
    pass
site.on_error(lambda job, error: print(job, error.args))
assert_type(site.stats().jobs[0], millpond.JobStats)
assert_type(site.is_due, bool)
def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    return [b""]
server: WSGIApplication = millpond.wsgi.after_response(application, site, 0.02)
millpond.wsgi.after_response(application, millpond.aio.connect("memory:").recruiter("site"))  # type: ignore[arg-type]

tracker = text.queue_tracker("x")
tracker.add(["a", b"b", bytearray()])
assert_type(tracker.is_queued("a"), bool)
assert_type(tracker.are_queued({"a", "b"}), list[bool])
def rows(after: Optional[str], limit: int) -> list[tuple[int, str]]:
    return [(int(after or 0) + 1, "a")]
assert_type(tracker.scan(rows, round_min=timedelta(minutes=1)), millpond.Scanned)
assert_type(tracker.scan(lambda after, limit: ((name, None) for name in "ab")).more, bool)
assert_type(tracker.scan(lambda after, limit: sqlite3.connect("").execute("")).rows, int)
def done(ids: list[str]) -> set[str]:
    return set(ids)
assert_type(tracker.prune(done, 10), millpond.Pruned)
assert_type(client.queue_tracker(b"x").prune(lambda ids: [*ids, "a"]).checked, int)
assert_type(tracker.ids()[0], millpond.Tracked[str])
assert_type(client.queue_tracker("x").ids(1, 1)[0].id, bytes)
assert_type(tracker.begin_scan(10).row, Optional[str])
assert_type(tracker.advance("", ["1"], [b""], 10, 0.5).added, int)
assert_type(tracker.stats().oldest, Optional[int])
sample = tracker.sample()
assert_type(sample, millpond.Sample[str])
assert_type(tracker.remove(sample.ids[:1], sample.ids, sample.stamp), millpond.Pruned)
assert_type(tracker.len() + tracker.clear(), int)

store = text.tasks("x", claimant="me")
task = store.insert("q", {"n": 1}, delay=1, priority=2)
assert_type(task, millpond.Task[dict[str, int]])
assert_type(task.value, dict[str, int])
assert_type(task.at, datetime)
assert_type(task.expires, Optional[datetime])
assert_type(store.insert("q", skip_colliding=True, at=task.at), Optional[millpond.Task])
assert_type(store.claim("q"), Optional[millpond.Task])
assert_type(store.claim_many(["q"], 2, lease=1.5), list[millpond.Task])
gathered = millpond.Modification().insert("q", json="1").delete(task).depend(("a", 1))
gathered = gathered.change(task.change(json=None).retry("why")).insert_doc("n", "k", [1])
assert_type(store.modify(gathered.put_doc("n", "l", 1)).inserted_docs, list[millpond.Doc])
assert_type(store.put_doc("n", "k", json="1", secondary_key="s"), millpond.Doc)
assert_type(store.get_doc("n", "k", "s"), Optional[millpond.Doc])
assert_type(store.renew(task).tasks[0].version, int)
assert_type(store.list("q").next, Optional[millpond.Position])
assert_type(store.list_docs("n", after=("a", "b", "c")).docs, list[millpond.Doc])
assert_type(store.queues(prefixes="a"), dict[str, int])
assert_type(store.queue_stats()[0].max_claims, int)
for tasks in store.claims("q", wait=0.1):
    assert_type(tasks, list[millpond.Task])

def handle(job: millpond.Job) -> Optional[millpond.Modification]:
    assert_type(job.claim_docs("n", "k"), list[millpond.Doc])
    if job.is_lost:
        raise millpond.Retry("why", 5)
    return job.delete()

class Order(TypedDict):
    price: int

def sell(job: millpond.Job[Order]) -> None:
    assert_type(job.task.value["price"], int)
    order: Optional[millpond.Task[Order]] = store.claim("q")

store.worker("q", max_attempts=2).run(handle)
assert_type(store.worker("q", timeout=1).drain(sell), millpond.JobCounts)

def count(report: millpond.Report[millpond.Job]) -> None:
    assert_type(report.error, Optional[millpond.MillpondError])

store.worker("q").run(handle, print, count, stop_within=1)

def resize(job: millpond.ShuffleJob[str]) -> None:
    assert_type(job.message, millpond.Message[str])
    assert_type(job.time_left, Optional[float])

consumer.worker(delete=True).run(resize)
with store.worker("q").jobs() as jobs, store.claims("q") as claims, consumer.messages() as loop:
    assert_type(jobs, millpond.Jobs)
    assert_type(next(claims), list[millpond.Task])
    assert_type(next(loop), list[millpond.Message[str]])
for job in store.worker(["q"]).jobs():
    assert_type(job.handle, millpond.TaskId)
    assert_type(job.done(), millpond.Modified)
try:
    pass
except millpond.DependencyError as error:
    assert_type(error.doc_claims, list[millpond.DocId])

async def handle_later(job: millpond.aio.Job) -> Optional[millpond.Modification]:
    assert_type(await job.claim_docs("n", "k"), list[millpond.Doc])
    return None

async def main() -> None:
    async with millpond.aio.connect("memory:", decode_responses=True) as client:
        store = client.tasks("x")
        assert_type(await store.claim("q", 5), Optional[millpond.Task])
        async for tasks in store.claims("q"):
            assert_type(tasks, list[millpond.Task])
        await store.worker("q").run(handle_later)
        assert_type(await store.worker("q").drain(handle_later), millpond.JobCounts)
        async for job in store.worker("q").jobs():
            assert_type(await job.release(), millpond.Modified)
        ick = client.ick("x")
        assert_type(await ick.add(["a"]), millpond.Added)
        async with store.claims("q") as claims, client:
            assert_type(claims, millpond.aio.Claims)
        lease = await ick.lease(1)
        assert_type(lease, Optional[millpond.aio.ConsumerLease[str]])
        async for batch in ick.batches(1, wait=1):
            assert_type(batch, list[tuple[str, float]])
        consumer = client.shuffle_queue("x").consumer("g", "c")
        assert_type(await consumer.read(1), Optional[millpond.Message[str]])
        async for messages in consumer.messages(1, wait=1):
            assert_type(messages, list[millpond.Message[str]])
            assert_type(await consumer.ack_and_delete(messages), int)
        assert_type(await client.volatile_hash("x").get("a"), Optional[str])
        assert_type(await client.volatile_hashes("x").hash("a").get("a"), Optional[str])
        lock = await client.volatile_hash("x").lock("a", 1)
        assert_type(lock, Optional[millpond.aio.FieldLock])
        if lock is not None:
            async with lock as held:
                assert_type(held, millpond.aio.FieldLock)
                assert_type(await held.release(), bool)

        tracker = client.queue_tracker("x")
        async def rows_later(after: Optional[str], limit: int) -> list[tuple[str, Optional[bytes]]]:
            return [("a", None)]
        async def done_later(ids: list[str]) -> list[str]:
            return ids
        assert_type(await tracker.scan(rows_later), millpond.Scanned)
        assert_type(await tracker.scan(rows), millpond.Scanned)
        assert_type(await tracker.prune(done_later), millpond.Pruned)
        assert_type(await tracker.prune(done), millpond.Pruned)
        assert_type(await tracker.sample(), millpond.Sample[str])
        assert_type((await tracker.ids())[0].id, str)

        site = client.recruiter("site")
        @site.job("mail", per_second=2)
        async def send(slice: millpond.aio.Slice) -> Optional[int]:
            return None
        assert_type(await site.enlist(), millpond.Duty)
        async def application(scope: Any, receive: Any, send: Any) -> None: ...
        await millpond.asgi.after_response(application, site)({}, None, None)

site.install("mail", lambda slice: "sent", share=1)  # type: ignore[arg-type, return-value]
ick.add([(1, 2)])  # type: ignore[list-item]
ick.reserve("1")  # type: ignore[arg-type]
ick.peek(1, set="both")  # type: ignore[arg-type]
queue.write("t", {"a": 1})  # type: ignore[arg-type]
client.shuffle_queue("x", track_keys="both")  # type: ignore[arg-type]
consumer.ack("1-1")  # type: ignore[arg-type]
hash.get_many([1])  # type: ignore[list-item]
tracker.add([1])  # type: ignore[list-item]
tracker.scan(lambda after, limit: [(1, 2)])  # type: ignore[list-item]
tracker.prune(lambda ids: 7)  # type: ignore[arg-type, return-value]
store.claim(1)  # type: ignore[arg-type]
store.insert("q", priority="1")  # type: ignore[call-overload]
gathered.delete("t")  # type: ignore[arg-type]
gathered.change(task)  # type: ignore[arg-type]
"""


def check(*command: str) -> None:
    ran = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd="/")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_package(tmp_path: Path) -> None:
    check("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "millpond")


def test_the_stub(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    # What every native module has and no stub names.
    allowed.write_text("millpond._native.__all__\n")
    check("mypy.stubtest", "millpond._native", "--allowlist", str(allowed))


def test_a_program_of_users(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    check("mypy", "--strict", "--warn-unused-ignores", str(program))
    # Its errors are not mypy's, whose comments it takes for any of its own.
    check("pyright", "--pythonpath", sys.executable, str(program))


HANDLES = ["Batches", "Client", "ConsumerLease", "Ick", "IckChannel"]
HANDLES += ["Garbage", "Messages", "ShuffleConsumer", "ShuffleJob", "ShuffleQueue", "ShuffleWorker"]
HANDLES += ["Claims", "FieldLock", "Job", "Jobs", "QueueTracker", "Recruiter", "Slice", "TaskStore", "VolatileHash", "VolatileHashes", "Worker"]


@pytest.mark.parametrize("name", HANDLES)
def test_both_kinds_of_callers_are_alike(name: str) -> None:
    def parameters(found: Any) -> dict[str, Any]:
        members = inspect.getmembers(found, inspect.isfunction)
        return {
            # The one default that differs.
            name: str(inspect.signature(member)).replace("int' = 10", "int' = 1")
            for name, member in members
            if not name.startswith("_")
        }

    def properties(found: Any) -> set[str]:
        return {name for name, _ in inspect.getmembers(found, lambda one: type(one) is property)}

    blocking, awaited = getattr(millpond, name), getattr(millpond.aio, name)
    found = {
        "close" if name == "aclose" else name: own for name, own in parameters(awaited).items()
    }
    assert parameters(blocking) == found
    assert properties(blocking) == properties(awaited)


def test_connect_is_alike() -> None:
    blocking, awaited = inspect.signature(millpond.connect), inspect.signature(millpond.aio.connect)
    assert blocking.parameters == awaited.parameters
