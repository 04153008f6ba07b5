"""Tracked messages: deleted by a value of theirs, cordoned and collected after their deadline."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis

import millpond

PAST = 1_000_000_000


def own(connect: Any, url: str, name: str, **options: Any) -> Any:
    """A queue with tracking keys of its own: the servers of tests are shared."""
    return connect(url, **options).shuffle_queue(name, track_keys="queue")


def job(number: int) -> dict[str, str]:
    return {"job": f"j-{number}", "task": "resize"}


async def collected(garbage: Any) -> list[Any]:
    return [value async for values in garbage for value in values]


async def test_delete_by_value(connect: Any, url: str, name: str) -> None:
    queue = own(connect, url, name)
    receipt = await queue.write_tracked("t", job(1), "job")
    await queue.write_tracked("t", {"task": "untracked"}, "job")
    taken = await queue.write_tracked(b"t", list(job(2).items()), b"job", None)
    messages = await queue.consumer("g", "c").read_many(10)
    assert len(messages) == 3
    assert await queue.delete_tracked(b"j-1") == receipt
    assert await queue.delete_tracked("j-1") is None
    assert await queue.delete_tracked("j-2") == taken
    assert await queue.delete_tracked("") is None
    assert (await queue.len(), await queue.pending_count("g")) == (1, 1)


async def test_global_keys(connect: Any, shared_server: Any, name: str) -> None:
    client = connect(shared_server.url)
    receipt = await client.shuffle_queue(name).write_tracked("t", {"job": name}, "job")
    server = redis.Redis.from_url(shared_server.url)
    assert server.zscore("meta:deadlines", name) == pytest.approx(time.time() + 86_400, abs=60)
    assert not server.exists(f"{name}:meta:deadlines")
    assert await client.shuffle_queue("another").delete_tracked(name) == receipt


async def test_many_in_one_step(connect: Any, url: str, name: str) -> None:
    queue = own(connect, url, name)
    receipts = await queue.write_tracked_many([(f"t-{n}", job(n)) for n in range(5)], "job")
    for number, receipt in enumerate(receipts):
        assert await queue.delete_tracked(f"j-{number}") == receipt
    await queue.write_tracked_many([("t", job(n)) for n in range(3)], b"job", PAST)
    assert sorted(await collected(queue.gc())) == [b"j-0", b"j-1", b"j-2"]
    with pytest.raises(millpond.InvalidArgumentError):
        await queue.write_tracked_many([("t", job(1))], "")
    with pytest.raises(TypeError):
        await queue.write_tracked_many([("t", job(1))], "job", "now")


async def test_a_record_that_names_no_message(connect: Any, shared_server: Any, name: str) -> None:
    queue = own(connect, shared_server.url, name)
    server = redis.Redis.from_url(shared_server.url)
    server.hset(f"{name}:meta:cancelation", "j-1", "{}")
    for _ in range(2):
        with pytest.raises(millpond.CorruptError, match="it is left as it is"):
            await queue.delete_tracked("j-1")
    assert server.hget(f"{name}:meta:cancelation", "j-1") == b"{}"


async def test_cordon(connect: Any, url: str, name: str) -> None:
    queue = own(connect, url, name)
    now = int(time.time())
    for number, deadline in enumerate([now - 5, now - 500, now + 500, now - 50]):
        await queue.write_tracked("t", job(number), "job", deadline)
    assert await queue.cordon_deadline_exceeded(100) == [b"j-3", b"j-0"]
    assert await queue.cordon_deadline_exceeded(100) == []
    assert await queue.len() == 4
    assert sorted(await collected(queue.gc())) == [b"j-0", b"j-1", b"j-3"]
    assert await queue.delete_tracked("j-0") is None
    assert await queue.delete_tracked("j-2") is not None


async def test_gc(connect: Any, url: str, name: str) -> None:
    queue = own(connect, url, name, timeout=60)
    for number in range(30):
        await queue.write_tracked("t", job(number), "job", PAST + number)
    garbage = queue.gc()
    assert (garbage.scanned, garbage.deleted) == (0, 0)
    first = await garbage.__anext__()
    assert garbage.deleted == 0
    # A loop that stops early leaves that batch for the next collection.
    garbage = queue.gc()
    values = await collected(garbage)
    assert sorted(values) == sorted(f"j-{number}".encode() for number in range(30))
    assert set(first) <= set(values)
    assert garbage.deleted == 30
    assert garbage.scanned >= 30
    assert await collected(queue.gc()) == []
    assert await queue.len() == 30


async def test_gc_of_some_digits(connect: Any, url: str, name: str) -> None:
    queue = own(connect, url, name)
    now = int(time.time())
    await queue.write_tracked("t", job(1), "job", PAST)
    await queue.write_tracked("t", job(2), "job", now - 1)
    # The first digit of the time is 1 until 2033, as is that of both.
    assert str(now)[0] == "1"
    assert await collected(queue.gc(time_digits=2)) == [b"j-2"]
    assert await collected(queue.gc(time_digits=1)) == [b"j-1"]


async def test_a_batch_that_cannot_be_decoded_is_not_deleted(
    connect: Any, url: str, name: str
) -> None:
    queue = own(connect, url, name, decode_responses=True)
    await queue.write_tracked("t", {"job": b"\xff"}, "job", PAST)
    garbage = queue.gc()
    with pytest.raises(UnicodeDecodeError):
        await garbage.__anext__()
    with pytest.raises(StopAsyncIteration):
        await garbage.__anext__()
    assert (garbage.deleted, garbage.scanned) == (0, 1)
    if url != "memory:":  # another client shares nothing of that
        assert await collected(own(connect, url, name).gc()) == [b"\xff"]


async def test_decoded_values(connect: Any, url: str, name: str) -> None:
    queue = own(connect, url, name, decode_responses=True)
    await queue.write_tracked("t", {"job": "é"}, "job", int(time.time()) - 5)
    assert await queue.cordon_deadline_exceeded(60.5) == ["é"]
    assert await collected(queue.gc()) == ["é"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda q: q.write_tracked("t", job(1), ""), ValueError, "has no name"),
        (lambda q: q.write_tracked("t", job(1), 5), TypeError, "track_field must be str, bytes"),
        (lambda q: q.write_tracked("t", job(1), "job", "5"), TypeError, "deadline must be int"),
        (lambda q: q.write_tracked("t", job(1), "job", 1.5), TypeError, "deadline must be int"),
        (lambda q: q.write_tracked("t", job(1), "job", True), TypeError, "not bool"),
        (lambda q: q.write_tracked("t", job(1), "job", 2**54), ValueError, "2^53 seconds"),
        (lambda q: q.write_tracked("t", job(1), "job", 2**64), ValueError, "fit into 64 bits"),
        (lambda q: q.write_tracked("t", {}, "job"), ValueError, "message 0 has 0 fields"),
        (lambda q: q.delete_tracked(None), TypeError, "value must be str, bytes"),
        (lambda q: q.cordon_deadline_exceeded("1"), TypeError, "within must be a number"),
        (lambda q: q.cordon_deadline_exceeded(-1), ValueError, "within is -1"),
        (lambda q: q.gc("1").__anext__(), TypeError, "time_digits must be int"),
        (lambda q: q.gc(-1).__anext__(), ValueError, "time_digits is negative"),
        (lambda q: q.gc(0).__anext__(), ValueError, "digits"),
        (lambda q: q.gc(256).__anext__(), ValueError, "digits"),
    ],
)
async def test_wrong_arguments(
    connect: Any, url: str, name: str, call: Any, error: Any, message: str
) -> None:
    queue = own(connect, url, name)
    with pytest.raises(error, match=message.replace("^", r"\^")):
        await call(queue)
    assert await queue.len() == 0


def test_where_the_records_are(connect: Any) -> None:
    with pytest.raises(millpond.InvalidArgumentError, match='track_keys is "both"'):
        connect("memory:").shuffle_queue("x", track_keys="both")
