"""Queues of events: what fires at its time, in order by its key."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import redis
from servers import Servers

import millpond
import millpond.aio
from millpond import InvalidArgumentError, NewEvent, Reject, Release, Retry, Schedule


async def test_an_event_is_received_once_and_ends(connect: Any, url: str, name: str) -> None:
    queue = connect(url).events(name)
    published = await queue.publish(b"\xff\x00", key="c", headers={"a": "1"})
    assert published.status == "created"
    (event,) = await queue.receive(10)
    assert (event.payload, event.key, event.attempts) == (b"\xff\x00", b"c", 1)
    assert event.headers == {"a": b"1"}
    assert await queue.receive(10) == []
    assert await queue.renew(event, lease=60) == ["held"]
    await queue.nack(event, "no printer", after=0)
    with pytest.raises(millpond.LeaseLostError):
        await queue.ack(event)
    (again,) = await queue.receive()
    assert (again.err, again.attempts) == ("no printer", 2)
    assert await queue.ack_many([event]) == ["lost"]
    await queue.ack_with(again, ["ship", NewEvent("bill", delay=3_600)])
    assert [event.payload for event in await queue.receive(10)] == [b"ship"]
    assert await queue.fetch(published) == [None]


async def test_an_event_of_a_transaction(connect: Any, shared_server: Servers, name: str) -> None:
    for decodes in (False, True):
        queue = connect(shared_server.url, decode_responses=decodes).events(name)
        command = await queue.publish_call(b"\xff\x00", key="k", headers={"a": "1"})
        server = redis.Redis.from_url(shared_server.url, decode_responses=True)
        server.script_flush()
        pipe = server.pipeline().set(f"{name}:order", "paid").execute_command(*command)
        _, published = pipe.execute()
        (event,) = await queue.receive()
        assert (event.id, event.payload, event.key) == (published, b"\xff\x00", b"k")
        await queue.ack(event)
        assert server.get(f"{name}:order") == "paid"
    with pytest.raises(InvalidArgumentError):
        await queue.publish_call("paid", dedup_id="a", if_exists="error")
    with pytest.raises(InvalidArgumentError, match="memory: and file: have no transactions"):
        await connect("memory:").events(name).publish_call("paid")


async def test_schedules(connect: Any, url: str, name: str) -> None:
    queue = connect(url).events(name)
    put = await queue.put_schedule(
        "s", every=timedelta(hours=1), payload=b"\xff", headers={"a": "1"}, missed="expire", grace=5
    )
    assert put == "created"
    (info,) = await queue.list_schedules()
    assert (info.every, info.cron, info.payload, info.paused) == (3600.0, None, b"\xff", False)
    triggered = await queue.trigger_schedule("s")
    (event,) = await queue.receive(10)
    assert (event.id, event.key, event.headers) == (triggered.id, b"s", {"a": b"1"})
    # Both ways to say it mean the same.
    schedules = [Schedule("s", every=3_600, payload=b"\xff", headers={"a": b"1"}, missed="expire", grace=5)]
    assert (await queue.sync_schedules("app", 1, schedules)).unchanged == 1
    assert (await queue.sync_schedules("app", 2, ())).removed == 1
    assert await queue.get_schedule("s") is None


async def test_names_and_times(connect: Any, url: str, name: str) -> None:
    queue = connect(url).events(name)
    at = datetime(2096, 10, 2, 7, 6, 40, 123_001, tzinfo=timezone.utc)
    at_ms = 4_000_000_000_124  # a part of a millisecond counts as one
    first = await queue.publish("x", at=at, dedup_id="cart")
    again = await queue.publish("x", dedup_id="cart")
    assert (again.status, again.id) == ("duplicate", first.id)
    with pytest.raises(millpond.AlreadyExistsError):
        await queue.publish("x", dedup_id="cart", if_exists="error")
    (event,) = await queue.fetch(first)
    assert event.fire_at_us == at_ms * 1_000
    later = at + timedelta(microseconds=1)
    assert await queue.reschedule([first.id, "0" * 20], at=later) == ["rescheduled", "gone"]
    (moved,) = await queue.fetch(first)
    assert moved.fire_at_us == at_ms * 1_000
    assert await queue.reschedule(first, at_ms=at_ms + 1) == ["rescheduled"]
    replaced = await queue.publish("y", delay=1.5, dedup_id="cart", if_exists="replace")
    assert replaced.status == "replaced"
    assert [await queue.cancel(replaced), await queue.cancel([replaced])] == [["removed"], ["removed"]]
    expired = await queue.publish("z", ttl=timedelta(milliseconds=1))
    await asyncio.sleep(0.01)
    assert (await queue.receive(), await queue.fetch(expired)) == ([], [None])


async def test_loops_wait(connect: Any, url: str, name: str) -> None:
    queue = connect(url).events(name)
    await queue.publish("later", delay=0.1)
    payloads: list[bytes] = []
    async for events in queue.deliveries(max=10, wait=60):
        payloads += [event.payload for event in events]
        if len(payloads) == 2:
            break
        await queue.publish("now")
    assert payloads == [b"later", b"now"]


async def test_a_worker_ends_events_as_its_handler_says(connect: Any, url: str, name: str) -> None:
    queue = connect(url).events(name)
    await queue.configure(max_attempts=2, backoff_min=0.001, backoff_max=0.001)
    raised = {"retry": Retry("busy", delay=0), "reject": Reject("never"), "release": Release(0)}
    ends = ["none", "error", "modification", *raised]
    await queue.publish_many(ends)
    seen: list[str] = []

    def handle(job: Any) -> Any:
        end = job.event.payload.decode()
        seen.append(end)
        if end == "modification":
            return millpond.Modification().insert("q")
        if seen.count(end) == 1 and end in raised:
            raise raised[end]
        if seen.count(end) == 1 and end == "error":
            raise ValueError("of the application")
        return None

    told: set[bytes] = set()
    reports: dict[str, list[bytes]] = {"done": [], "dead": []}
    worker = queue.worker()
    while len(reports["done"]) < 4 or len(reports["dead"]) < 2:
        await worker.drain(
            handle,
            lambda job, error: told.add(job.event.payload),
            lambda report: reports.setdefault(report.kind, []).append(report.job.event.payload),
        )
    assert sorted(reports["done"]) == [b"error", b"none", b"release", b"retry"]
    assert sorted(reports["dead"]) == [b"modification", b"reject"]
    assert told == {b"error", b"modification", b"reject"}
    dead = (await queue.list("dead")).events
    assert sorted(event.reason for event in dead) == ["exhausted", "rejected"]
    assert await queue.redrive_all(reason="rejected") == 1
    assert await queue.purge("dead") == 1
    stats = await queue.stats()
    assert (stats.ready, stats.dead) == (1, 0)


async def test_a_stop_gives_back_what_runs(connect: Any, url: str, name: str) -> None:
    queue = connect(url).events(name)
    await queue.publish_many([NewEvent(str(number), key="one") for number in range(3)])
    worker = queue.worker(concurrency=3)
    order: list[int] = []

    def handle(job: Any) -> None:
        order.append(int(job.event.payload))
        if len(order) == 3:
            worker.stop(0)
            raise Release(0)

    await worker.run(handle, stop_on_signals=False)
    assert order == [0, 1, 2]
    (last,) = await queue.receive(10)
    assert (last.payload, last.attempts) == (b"2", 1)


@pytest.mark.parametrize(
    ("call", "says", "kind"),
    [
        (lambda queue: queue.publish(7), "payload", TypeError),
        (lambda queue: queue.publish("x", key=7), "key", TypeError),
        (lambda queue: queue.publish("x", delay="1"), "delay", TypeError),
        (lambda queue: queue.publish("x", delay=-1), "delay", InvalidArgumentError),
        (lambda queue: queue.publish("x", delay=1, at_ms=1), "only one", InvalidArgumentError),
        (lambda queue: queue.publish("x", at=datetime(2026, 1, 1)), "zone", InvalidArgumentError),
        (lambda queue: queue.publish("x", if_exists="never"), "if_exists", InvalidArgumentError),
        (lambda queue: queue.publish("x", dedup_id=7), "dedup_id", TypeError),
        (lambda queue: queue.publish("x", headers=7), "headers", TypeError),
        (lambda queue: queue.publish_many("x"), "events", TypeError),
        (lambda queue: queue.publish_many(["x", 7]), r"events\[1\]", TypeError),
        (lambda queue: queue.receive(0), "1 to 1000 events, not 0", InvalidArgumentError),
        (lambda queue: queue.receive("1"), "max", TypeError),
        (lambda queue: queue.ack("x"), "delivery", TypeError),
        (lambda queue: queue.cancel("no id"), '"no id" is no id', InvalidArgumentError),
        (lambda queue: queue.cancel([7]), "ids", TypeError),
        (lambda queue: queue.reschedule([]), "one of at, at_ms and delay", InvalidArgumentError),
        (lambda queue: queue.reschedule([], at="x"), "at must be a datetime", TypeError),
        (lambda queue: queue.list("waiting"), "state", InvalidArgumentError),
        (lambda queue: queue.configure(partitions=0), "partitions", InvalidArgumentError),
        (lambda queue: queue.put_schedule("s"), "either cron or every", InvalidArgumentError),
        (lambda queue: queue.put_schedule("s", cron=7), "cron", TypeError),
        (lambda queue: queue.put_schedule("s", every=1, missed="x"), "missed", InvalidArgumentError),
        (lambda queue: queue.sync_schedules("app", 1, ["s"]), r"schedules\[0\]", TypeError),
        (
            lambda queue: queue.sync_schedules("app", 1, [Schedule("s", every="1")]),
            r"schedules\[0\].every",
            TypeError,
        ),
    ],
)
async def test_arguments(connect: Any, call: Any, says: str, kind: type[Exception]) -> None:
    queue = connect("memory:").events("x")
    with pytest.raises(kind, match=says):
        await call(queue)
    assert (await queue.stats()).events == 0


WORKER = """
import sys, millpond
queue = millpond.connect(sys.argv[1], timeout=2).events(sys.argv[2])
print("ready", flush=True)
queue.worker(concurrency=2).run(lambda job: print(job.event.payload.decode(), flush=True))
print("stopped", queue.stats().events, flush=True)
"""


def test_a_worker_goes_on_through_a_restart_and_ends_on_sigterm(
    own_server: Servers, name: str
) -> None:
    queue = millpond.connect(own_server.url).events(name)
    command = [sys.executable, "-c", WORKER, own_server.url, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stdout
            assert worker.stdout.readline() == "ready\n"
            queue.publish("before")
            assert worker.stdout.readline() == "before\n"
            own_server.run("restart")
            published = None
            while published is None:
                try:
                    published = queue.publish("after", dedup_id="after")
                except millpond.MillpondError:
                    pass
            assert worker.stdout.readline() == "after\n"
            os.kill(worker.pid, signal.SIGTERM)
            assert worker.stdout.read() == "stopped 0\n"
        except BaseException:
            worker.kill()  # as leaving the block waits for it
            raise
    assert worker.returncode == 0
