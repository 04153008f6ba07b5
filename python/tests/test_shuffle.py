"""What each call of a shuffle queue does, on every backend and for both kinds of callers."""

from __future__ import annotations

import datetime
from collections import OrderedDict
from typing import Any

import pytest
import redis

import millpond


def numbered(count: int) -> list[Any]:
    return [(f"tenant-{number}", {"n": str(number)}) for number in range(count)]


def numbers(messages: list[Any]) -> list[int]:
    return [int(message.field("n")) for message in messages]


async def test_write_read_ack(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(name)
    receipt = await queue.write("tenant-7", {"task": "resize", b"image": b"a.png"})
    assert receipt.stream in millpond.shard(16, 2, "tenant-7")
    consumer = queue.consumer("g", "c")
    message = await consumer.read()
    assert message.fields == [(b"task", b"resize"), (b"image", b"a.png")]
    assert (message.stream, message.id) == (receipt.stream, receipt.id)
    assert message.deliveries == 1
    assert await consumer.read() is None
    assert await queue.pending_count("g") == 1
    assert await consumer.ack(message) == 1
    assert await consumer.ack([message, receipt]) == 0
    assert (await queue.len(), await queue.backlog(), await queue.pending_count("g")) == (1, 0, 0)


@pytest.mark.parametrize("given", ["message", "receipt", "messages", "mixed", "generator"])
async def test_what_can_be_acknowledged(connect: Any, url: str, name: str, given: str) -> None:
    queue = connect(url).shuffle_queue(name)
    first, second = await queue.write_many(numbered(2))
    consumer = queue.consumer("g", "c")
    messages = await consumer.read_many(10)
    by_id = {message.id: message for message in messages}
    one = by_id[first.id] if first.id != second.id else messages[0]
    done = {
        "message": one,
        "receipt": first,
        "messages": messages,
        "mixed": [one, millpond.Receipt(second.stream, second.id)],
        "generator": (message for message in messages),
    }[given]
    count = 1 if given in ("message", "receipt") else 2
    assert await consumer.ack_and_delete(done) == count
    assert (await queue.len(), await queue.pending_count("g")) == (2 - count, 2 - count)


async def test_every_kind_of_fields(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(bytearray(name.encode()), streams=1)
    for fields in [
        {"a": "é"},
        OrderedDict([("b", b"\xff\x00"), ("a", memoryview(b"xviewx")[1:5])]),
        [("a", "1"), ("a", "2")],
        [["a", bytearray(b"1")]],
        ((field, field) for field in "cb"),
        type("Environment", (dict,), {})(x="1"),
        {"": ""},
    ]:
        await queue.write(b"tenant", fields)
    assert [message.fields for message in await queue.consumer("g", "c").read_many(10)] == [
        [(b"a", b"\xc3\xa9")],
        [(b"b", b"\xff\x00"), (b"a", b"view")],
        [(b"a", b"1"), (b"a", b"2")],
        [(b"a", b"1")],
        [(b"c", b"c"), (b"b", b"b")],
        [(b"x", b"1")],
        [(b"", b"")],
    ]


async def test_decode_responses(connect: Any, url: str, name: str) -> None:
    queue = connect(url, decode_responses=True).shuffle_queue(name, streams=1)
    await queue.write_many([("t", {"n": "é"}), ("t", {"n": b"\xff"})])
    consumer = queue.consumer("g", "c", max_deliveries=1)
    text, other = await consumer.read_many(2)
    assert text.fields == [("n", "é")]
    assert (text.field("n"), text.field(b"n"), text.field("m")) == ("é", "é", None)
    # What is not text affects only itself.
    assert other.field("m") is None
    for look in (lambda: other.fields, lambda: other.field("n")):
        with pytest.raises(UnicodeDecodeError):
            look()
    assert "b'\\xff'" in repr(other)
    assert await consumer.ack(other) == 1
    assert (await consumer.reclaim(0, 10)).dead == 1
    (letter,) = await queue.dead_letters()
    assert (letter.group, letter.consumer, letter.message) == ("g", "c", text)


async def test_many_messages_are_placed_like_single_ones(connect: Any, url: str, name: str) -> None:
    client = connect(url, timeout=60)
    queue = client.shuffle_queue(name, streams=5, streams_per_shard=2)
    receipts = await queue.write_many(iter(numbered(200)))
    single = client.shuffle_queue(f"{name}-single", streams=5, streams_per_shard=2)
    streams = [(await single.write(key, fields)).stream for key, fields in numbered(200)]
    assert [receipt.stream for receipt in receipts] == streams
    assert sorted(numbers(await queue.consumer("g", "c").read_many(1000))) == list(range(200))
    assert await queue.write_many([]) == []


async def test_more_messages_than_a_step_takes(connect: Any, url: str, name: str) -> None:
    queue = connect(url, timeout=60).shuffle_queue(name)
    assert len(await queue.write_many(numbered(10_001))) == 10_001
    consumer = queue.consumer("g", "c")
    messages = await consumer.read_many(10_000) + await consumer.read_many(10_000)
    assert sorted(numbers(messages)) == list(range(10_001))
    assert await consumer.ack_and_delete(messages) == 10_001
    assert await queue.len() == 0


async def test_groups_and_consumers(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(name)
    await queue.write_many(numbered(10))
    one, other = queue.consumer("g", "one"), queue.consumer(b"g", b"other")
    seen = numbers(await one.read_many(4)) + numbers(await other.read_many(100))
    assert sorted(seen) == list(range(10))
    assert len(await queue.consumer("another", "one").read_many(100)) == 10


async def test_a_preferred_stream(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(name, streams=4, streams_per_shard=1)
    receipts = await queue.write_many(numbered(40))
    assert len(await queue.consumer("g", "c").read_many(1)) == 1  # the group joins
    for stream in {receipt.stream for receipt in receipts}:
        message = await queue.consumer("g", "c", prefer_stream=stream).read()
        assert message.stream == stream


async def test_the_default_stream(connect: Any, shared_server: Any, name: str) -> None:
    redis.Redis.from_url(shared_server.url).xadd(name, {"n": "1"}, id="5-1")
    queue = connect(shared_server.url).shuffle_queue(name)
    assert await queue.consumer(name, "c").read() is None
    consumer = queue.consumer(name, "c", default_stream=True)
    message = await consumer.read()
    assert (message.stream, message.id, message.fields) == (None, "5-1", [(b"n", b"1")])
    assert await consumer.renew(message) == 1
    assert await consumer.ack(millpond.Receipt(None, "5-1")) == 1


async def test_what_a_silent_consumer_left(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(name)
    await queue.write_many(numbered(3))
    silent = queue.consumer("g", "silent")
    taken = await silent.read_many(3)
    assert await silent.renew(taken) == 3
    other = queue.consumer("g", "other", max_deliveries=3)
    minute = datetime.timedelta(minutes=1)
    assert await other.reclaim(minute, 100) == millpond.Reclaimed([], 0)
    reclaimed = await other.reclaim(min_idle=0, max=2)
    assert [message.deliveries for message in reclaimed.messages] == [2, 2]
    assert reclaimed.dead == 0
    assert await silent.renew(taken) == 1
    assert await other.ack(reclaimed.messages[0]) == 1
    again = await queue.consumer("g", "other", max_deliveries=2).reclaim(0, 100)
    assert ([message.deliveries for message in again.messages], again.dead) == ([2], 1)
    (letter,) = await queue.dead_letters(10)
    lost = reclaimed.messages[1]
    assert (letter.message.id, letter.message.fields) == (lost.id, lost.fields)
    assert (letter.group, letter.consumer, letter.deliveries) == (b"g", b"other", 2)
    assert letter.id.count("-") == 1
    with pytest.raises(AttributeError):
        letter.deliveries = 0


async def test_messages_are_rejected_redriven_and_released(
    connect: Any, url: str, name: str
) -> None:
    queue = connect(url).shuffle_queue(name)
    await queue.write_many(numbered(3))
    consumer, other = queue.consumer("g", "c"), queue.consumer("g", "other")
    messages = await consumer.read_many(3)
    assert await other.reject(messages, "rejected: not its own") == 0
    assert await consumer.reject(messages[0], "rejected: nö") == 1
    assert await consumer.reject(messages[:2], "exhausted") == 1
    first, second = await queue.dead_letters()
    assert (first.reason, second.reason) == ("rejected: nö", "exhausted")
    assert await queue.dead_letters(max=9, after=first) == [second]
    assert await queue.dead_letters(9, second.id) == []
    assert await consumer.ack_each(messages) == [False, False, True]
    redriven = await queue.redrive([second, second.id, first.id])
    assert [receipt is None for receipt in redriven] == [False, True, False]
    assert await queue.redrive(first) == [None]
    again = await consumer.read_many(9)
    assert {message.id for message in again} == {redriven[0].id, redriven[2].id}
    assert await consumer.release(again, min_idle=60) == 2
    minute = datetime.timedelta(minutes=1)
    reclaimed = (await other.reclaim(minute, 9)).messages
    assert [message.deliveries for message in reclaimed] == [1, 1]
    assert await other.release(reclaimed[0], minute, delay=30) == 1
    assert await other.ack_and_delete_each(reclaimed) == [True, True]
    assert await queue.remove_idle_consumers(60) == 0
    for wrong in ("", "x" * 4097):
        with pytest.raises(millpond.InvalidArgumentError, match="the reason"):
            await consumer.reject(messages[0], wrong)
    with pytest.raises(millpond.InvalidArgumentError, match="delay"):
        await consumer.release(messages[0], 1, delay=2)
    with pytest.raises(millpond.InvalidArgumentError):
        await queue.dead_letters(9, "")
    with pytest.raises(TypeError):
        await consumer.reject(messages[0], 3)


async def test_dead_letters_stay_until_they_are_deleted(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    queue = client.shuffle_queue(name, ttl=60, dead_ttl=datetime.timedelta(days=1))
    await queue.write_many(numbered(4))
    consumer = queue.consumer("g", "c", max_deliveries=1)
    await consumer.read_many(4)
    assert (await consumer.reclaim(0, 10)).dead == 4
    letters = await queue.dead_letters()
    assert len(letters) == 4
    assert await queue.delete_dead_letters(letters[0]) == 1
    assert await queue.delete_dead_letters(letter.id for letter in letters[:2]) == 1
    assert await queue.delete_dead_letters([letters[2], letters[3].id, letters[3].id]) == 2
    assert await queue.delete_dead_letters([]) == 0
    assert await queue.dead_letters() == []
    with pytest.raises(TypeError, match="id must be str"):
        await queue.delete_dead_letters([3])
    with pytest.raises(millpond.InvalidArgumentError):
        await queue.delete_dead_letters("x")
    with pytest.raises(millpond.InvalidArgumentError, match="time to live"):
        await client.shuffle_queue(name, dead_ttl=0.5).consumer("g", "c").reclaim(0, 1)


async def test_a_queue_keeps_its_size_until_it_is_resized(
    connect: Any, url: str, name: str
) -> None:
    client = connect(url)
    await client.shuffle_queue(name, streams=5).write("t", {"n": "1"})
    with pytest.raises(millpond.InvalidArgumentError, match="has 5 streams, .* given 3:"):
        await client.shuffle_queue(name, streams=3).write("t", {"n": "2"})
    queue = client.shuffle_queue(name)
    assert (await queue.write("tenant", {"n": "3"})).stream in millpond.shard(5, 2, "tenant")
    assert await queue.resize(64) == 64
    assert (await queue.write("tenant", {"n": "4"})).stream in millpond.shard(64, 2, "tenant")
    assert await queue.resize(1) == 64
    assert (await queue.write("tenant", {"n": "5"})).stream == 0
    with pytest.raises(millpond.InvalidArgumentError, match="65536 streams, not 0"):
        await queue.resize(0)


async def test_stats(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(name, streams=3, streams_per_shard=1)
    assert await queue.stats("g") == millpond.ShuffleStats([(0, 0, 0, None)], 0, 0, 0)
    await queue.write_many(numbered(12))
    consumer = queue.consumer("g", "c")
    await consumer.ack(await consumer.read())
    taken = await consumer.read_many(2)
    stats = await queue.stats("g")
    assert (stats.len, stats.pending, stats.lag, len(stats.streams)) == (12, 2, 9, 3)
    for field in ("len", "pending", "lag"):
        assert sum(getattr(one, field) for one in stats.streams) == getattr(stats, field)
    for number, one in enumerate(stats.streams):
        is_waited_for = number in {message.stream for message in taken}
        assert (one.oldest_idle is not None) == is_waited_for
        assert one.oldest_idle is None or 0 <= one.oldest_idle < 60


async def test_what_is_not_written_to_lives_for_its_time(
    connect: Any, shared_server: Any, name: str
) -> None:
    queue = connect(shared_server.url).shuffle_queue(name, ttl=datetime.timedelta(seconds=90))
    receipt = await queue.write("t", {"n": "1"})
    server = redis.Redis.from_url(shared_server.url)
    assert 80 < server.ttl(f"{name}:s{receipt.stream}") <= 90


async def test_the_loop(connect: Any, url: str, name: str) -> None:
    queue = connect(url).shuffle_queue(name)
    await queue.write_many(numbered(10))
    consumer = queue.consumer("g", "c")
    sizes, seen = [], []
    async for batch in consumer.messages(4):
        sizes.append(len(batch))
        seen += numbers(batch)
        assert await queue.pending_count("g") == len(batch)
        await consumer.ack_and_delete(batch)
    assert (sizes, sorted(seen)) == ([4, 4, 2], list(range(10)))


async def test_errors_name_the_operation(connect: Any, shared_server: Any, name: str) -> None:
    redis.Redis.from_url(shared_server.url).set(f"{name}:meta", "x")
    queue = connect(shared_server.url).shuffle_queue(name)
    with pytest.raises(millpond.WrongTypeError, match=f"{name}:meta") as raised:
        await queue.write("t", {"a": "b"})
    assert raised.value.operation == "shuffle.write"
    with pytest.raises(millpond.WrongTypeError) as raised:
        await queue.consumer("g", "c").read(60)
    assert raised.value.operation == "shuffle.read"


def test_a_file_is_durable(tmp_path: Any) -> None:
    url = f"file:{tmp_path / 'data'}"
    with millpond.connect(url) as client:
        queue = client.shuffle_queue("x")
        queue.write_many(numbered(3))
        taken = queue.consumer("g", "c").read()
    with millpond.connect(url) as client:
        queue = client.shuffle_queue("x")
        assert (queue.len(), queue.pending_count("g")) == (3, 1)
        assert queue.consumer("g", "c").ack(taken) == 1
