"""Wrong arguments are refused before anything is sent, with the name and the index."""

from __future__ import annotations

from typing import Any

import pytest
from kit import refused

import millpond

Invalid = millpond.InvalidArgumentError


def dying(queue: Any, max_deliveries: int) -> Any:
    return queue.consumer("g", "c", max_deliveries=max_deliveries)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda q: q.write(1, {"a": "b"}), TypeError, "shard_key must be str, bytes"),
        (lambda q: q.write("", {"a": "b"}), Invalid, "the shard key is empty"),
        (lambda q: q.write("t", {}), Invalid, "message 0 has 0 fields"),
        (lambda q: q.write("t", {"n": 1}), TypeError, "fields['n'] must be str, bytes"),
        (lambda q: q.write("t", {1: "a"}), TypeError, "the key 1 of fields must be str"),
        (lambda q: q.write("t", [("a", None)]), TypeError, "fields[0][1] must be str"),
        (lambda q: q.write("t", [("a", "b"), (3, "b")]), TypeError, "fields[1][0] must be"),
        (lambda q: q.write("t", [("a", "b", "c")]), TypeError, "fields[0] must be (field, value)"),
        (lambda q: q.write("t", ["ab"]), TypeError, "fields[0] must be (field, value), not str"),
        (lambda q: q.write("t", "ab"), TypeError, "fields must be an iterable"),
        (lambda q: q.write("t", {"a": "\udc80"}), UnicodeEncodeError, "surrogates"),
        (lambda q: q.write_many([("t", {"a": "b"}), "t"]), TypeError, "messages[1] must be (sha"),
        (lambda q: q.write_many([("t", {"a": 1})]), TypeError, "messages[0][1]['a'] must be str"),
        (lambda q: q.write_many([(1, {"a": "b"})]), TypeError, "messages[0][0] must be str"),
        (lambda q: q.write_many([("t", {"a": "b"}), ("t", {})]), Invalid, "message 1 has 0 fields"),
        (lambda q: q.write_many({"t": {"a": "b"}}), TypeError, "messages[0] must be (shard_key"),
        (lambda q: q.write_many("t"), TypeError, "messages must be an iterable"),
        (lambda q: q.pending_count(""), Invalid, "group's name is empty"),
        (lambda q: q.pending_count(None), TypeError, "group must be str, bytes"),
        (lambda q: q.stats(1), TypeError, "group must be str, bytes"),
        (lambda q: q.dead_letters("1"), TypeError, "max must be int, not str"),
        (lambda q: q.dead_letters(10_001), Invalid, "1 to 10000 dead letters"),
        (lambda q: q.consumer("", "c").read(), Invalid, "group's name is empty"),
        (lambda q: q.consumer("g", "").read(), Invalid, "consumer's name is empty"),
        (lambda q: q.consumer("g", "").read(60), Invalid, "consumer's name is empty"),
        (lambda q: q.consumer("g", "c").read_many(0), Invalid, "1 to 10000 messages, not 0"),
        (lambda q: q.consumer("g", "c").read_many(2**64), Invalid, "1 to 10000 messages, not"),
        (lambda q: q.consumer("g", "c").read_many(-1), Invalid, "max is negative"),
        (lambda q: q.consumer("g", "c").read_many(1.0), TypeError, "max must be int, not float"),
        (lambda q: q.consumer("g", "c").ack("1-1"), TypeError, "messages must be an iterable"),
        (lambda q: q.consumer("g", "c").ack(["1-1"]), TypeError, "messages[0] must be a Message"),
        (lambda q: q.consumer("g", "c").renew([None]), TypeError, "messages[0] must be a Mess"),
        (lambda q: q.consumer("g", "c").ack_and_delete(5), TypeError, "messages must be an iter"),
        (lambda q: q.consumer("g", "c").reclaim("1", 1), TypeError, "min_idle must be a number"),
        (lambda q: q.consumer("g", "c").reclaim(float("inf"), 1), Invalid, "over 100 years"),
        (lambda q: q.consumer("g", "c").reclaim(1, 0), Invalid, "1 to 10000 messages, not 0"),
        (lambda q: dying(q, 2**64).reclaim(1, 1), Invalid, "most deliveries are above 10^14"),
        (lambda q: dying(q, 10**15).reclaim(1, 1), Invalid, "most deliveries are above 10^14"),
    ],
)
async def test_calls(
    connect: Any, url: str, name: str, call: Any, error: Any, message: str
) -> None:
    queue = connect(url).shuffle_queue(name)
    await refused(lambda: call(queue), error, message)
    assert await queue.len() == 0


async def test_handles(connect: Any) -> None:
    client = connect("memory:")
    queue = client.shuffle_queue("x")
    for call, error, message in [
        (lambda: client.shuffle_queue(None), TypeError, "name must be str, bytes"),
        (lambda: client.shuffle_queue("x", streams="1"), TypeError, "streams must be int"),
        (lambda: client.shuffle_queue("x", streams=2**40), Invalid, "too large"),
        (lambda: client.shuffle_queue("x", streams=2**70), Invalid, "streams is too large"),
        (lambda: client.shuffle_queue("x", streams_per_shard=-1), Invalid, "streams_per_shard is"),
        (lambda: client.shuffle_queue("x", ttl="1"), TypeError, "ttl must be a number of seconds"),
        (lambda: client.shuffle_queue("x", 4), TypeError, "positional"),
        (lambda: queue.consumer("g", None), TypeError, "consumer must be str, bytes"),
        (lambda: queue.consumer("g", "c", prefer_stream="1"), TypeError, "prefer_stream must be"),
        (lambda: queue.consumer("g", "c", default_stream=1), TypeError, "'bool'"),
        (lambda: queue.consumer("g", "c", max_deliveries=-1), Invalid, "max_deliveries is neg"),
        (lambda: queue.consumer("g", "c").messages("1"), TypeError, "max must be int"),
    ]:
        await refused(call, error, message)


async def test_settings_that_no_queue_can_have(connect: Any) -> None:
    client = connect("memory:")
    for settings, message in [
        ({"name": ""}, "the name is empty"),
        ({"name": "x" * 100_000}, "65536 are allowed"),
        ({"streams": 0}, "1 to 65536 streams, not 0"),
        ({"streams": 2, "streams_per_shard": 3}, "a shard has 1 to 2"),
        ({"ttl": 0.5}, "between a second and 100 years"),
        ({"ttl": float("inf")}, "between a second and 100 years"),
    ]:
        queue = client.shuffle_queue(**{"name": "x", **settings})
        with pytest.raises(Invalid, match=message) as raised:
            await queue.write("t", {"a": "b"})
        assert raised.value.operation == "shuffle.write"
    assert (await client.shuffle_queue("x", streams=1).write("t", {"a": "b"})).stream == 0
