"""Volatile hashes: fields that expire, each at its own time, with locks."""

from __future__ import annotations

import asyncio
import ctypes
import shlex
import sys
from datetime import timedelta
from typing import Any

import pytest
import redis
from kit import refused
from waiting import PATIENCE, renewing, until_async

import millpond
from millpond import FieldPosition, HashField, HashStats, LeaseLostError, Reaped

HOUR = 3_600
Invalid = millpond.InvalidArgumentError


async def test_fields_are_set_and_read(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    assert await hash.get("a") is None
    assert await hash.set("a", b"\xff\x00", HOUR) is None
    assert await hash.set_many({"b": "2", "c": b""}, timedelta(hours=2)) is None
    assert await hash.set_many(((field, field) for field in ["", b"\xfe"]), 0.5 * HOUR) is None
    assert await hash.get("a") == b"\xff\x00"
    assert await hash.get_many(["c", "x", b"b", "", bytearray(b"\xfe")]) == [b"", None, b"2", b"", b"\xfe"]
    assert await hash.len() == 5
    assert await hash.stats() == HashStats(fields=5, expired=0, locks=0)
    assert 0.5 * HOUR < await hash.ttl("a") <= HOUR
    assert await hash.touch("a", 3 * HOUR) is True
    assert 2 * HOUR < await hash.ttl("a") <= 3 * HOUR
    assert (await hash.touch("x", HOUR), await hash.ttl("x")) == (False, None)
    assert await hash.delete(["a", "x", "b"]) == 2
    assert (await hash.clear(), await hash.clear(), await hash.len()) == (3, 0, 0)


async def test_fields_are_set_on_a_condition(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    assert await hash.set_if_present("a", "0", HOUR) is False
    assert await hash.set_if_absent("a", "1", HOUR) is True
    assert await hash.set_if_absent("a", "2", HOUR) is False
    assert await hash.get("a") == b"1"
    assert await hash.set_if_present(field="a", value="3", ttl=HOUR) is True
    assert await hash.get("a") == b"3"


async def test_a_field_that_has_expired_is_not_there(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    await hash.set("a", "1", 0.001)
    await asyncio.sleep(0.01)
    assert (await hash.get("a"), await hash.ttl("a"), await hash.len()) == (None, None, 0)
    assert await hash.touch("a", HOUR) is False
    assert await hash.reap() == Reaped(fields=1, locks=0, orphans=0, more=False, next_in=None)


@pytest.mark.parametrize("scheme", ["memory", "file"])
async def test_times_by_a_clock(connect: Any, scheme: str, name: str, tmp_path: Any) -> None:
    clock = millpond.ManualClock()
    url = {"memory": "memory:", "file": f"file:{tmp_path}"}[scheme]
    hash = connect(url, clock=clock).volatile_hash(name)
    await hash.set_many({"a": "1", "b": "2"}, 60)
    await hash.set("c", "3", timedelta(seconds=90, microseconds=1))
    fence = (await hash.acquire("lock", "me", 75)).fence
    clock.advance(45)
    assert (await hash.ttl("a"), await hash.ttl("c")) == (15.0, 45.000001)
    assert await hash.reap(limit=10) == Reaped(0, 0, 0, more=False, next_in=15.0)
    clock.advance(14.999)
    assert await hash.get("a") == b"1"
    clock.advance(0.001)
    assert await hash.get_many(["a", "b", "c"]) == [None, None, b"3"]
    assert await hash.stats() == HashStats(fields=1, expired=2, locks=1)
    assert await hash.reap(1) == Reaped(1, 0, 0, more=True, next_in=0.0)
    assert await hash.reap(1) == Reaped(1, 0, 0, more=False, next_in=15.0)
    assert (await hash.acquire("lock", "you", 60)) == (None, 15.0)
    assert await hash.renew("lock", "me", 20) is True
    assert (await hash.holder("lock")).remaining == 20.0
    clock.advance(20)
    assert await hash.holder("lock") is None
    assert (await hash.acquire("lock", "you", 60)).fence > fence


async def test_pages(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    assert await hash.fields() == millpond.FieldPage(fields=[], next=None)
    for number in range(5):
        await hash.set(str(number), f"value {number}", HOUR - number)
    page = await hash.fields(limit=2)
    assert [(field.field, field.value) for field in page.fields] == [(b"4", b"value 4"), (b"3", b"value 3")]
    last = page.fields[-1]
    assert page.next == FieldPosition(last.expires_us, b"3")
    assert page.fields[0].expires_us < last.expires_us
    after = [page.next, last, (last.expires_us, "3"), HashField("3", None, last.expires_us)]
    for place in after:
        page = await hash.fields(after=place, omit_values=True)
        assert [(field.field, field.value) for field in page.fields] == [(b"2", None), (b"1", None), (b"0", None)]
        assert page.next is None
    beyond = await hash.fields(after=(2**70, b""))
    assert beyond.fields == []


async def test_decode_responses(connect: Any, url: str, name: str) -> None:
    hash = connect(url, decode_responses=True).volatile_hash(name)
    await hash.set("é", "à", HOUR)
    assert await hash.get("é") == "à"
    assert await hash.get_many(["x", b"\xc3\xa9"]) == [None, "à"]
    (field,) = (await hash.fields()).fields
    assert (field.field, field.value) == ("é", "à")
    assert (await hash.fields(after=field)).fields == []
    assert (await hash.get_or_acquire("é", "t", HOUR)).value == "à"
    await hash.acquire("é", b"\xc3\xa9", HOUR)
    assert (await hash.holder("é")).token == "é"
    await hash.set("bytes", b"\xff", HOUR)
    with pytest.raises(UnicodeDecodeError):
        await hash.get("bytes")


async def test_locks(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    taken = await hash.acquire("a", "me", HOUR)
    assert taken.fence > 0 and taken.remaining is None
    assert await hash.acquire("a", b"me", HOUR) == taken
    refused = await hash.acquire("a", "you", HOUR)
    assert refused.fence is None and 0 < refused.remaining <= HOUR
    holder = await hash.holder("a")
    assert (holder.token, holder.fence) == (b"me", taken.fence)
    assert 0 < holder.remaining <= HOUR
    assert (await hash.stats()).locks == 1

    assert await hash.renew("a", "you", HOUR) is False
    assert await hash.renew("a", "me", 3 * HOUR) is True
    assert (await hash.holder("a")).remaining > HOUR
    assert await hash.set_locked("a", "me", "1", HOUR) is None
    with pytest.raises(LeaseLostError):
        await hash.set_locked("a", "you", "2", HOUR)
    with pytest.raises(LeaseLostError):
        await hash.set_and_release("a", "you", "2", HOUR)
    assert await hash.get("a") == b"1"

    assert await hash.release("a", "you") is False
    assert await hash.release("a", "me") is True
    assert await hash.holder("a") is None
    assert (await hash.acquire("b", "you", HOUR)).fence > taken.fence


async def test_one_of_many_computes_a_value(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    computed: list[str] = []

    async def value(token: str) -> Any:
        while True:
            found = await hash.get_or_acquire("/", token, HOUR)
            assert [found.value, found.fence, found.remaining].count(None) == 2
            if found.value is not None:
                return found.value
            if found.fence is not None:
                computed.append(token)
                await asyncio.sleep(0)
                await hash.set_and_release("/", token, f"by {token}", HOUR)
            await asyncio.sleep(0.001)

    values = await asyncio.gather(*(value(f"web-{number}") for number in range(20)))
    assert len(computed) == 1
    assert set(values) == {f"by {computed[0]}".encode()}
    assert await hash.stats() == HashStats(fields=1, expired=0, locks=0)


async def test_a_lock_is_held_until_the_end_of_its_block(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    async with await hash.lock("a", timedelta(minutes=1)) as lock:
        assert not lock.is_lost
        assert (await hash.holder("a")).fence == lock.fence > 0
        assert await hash.lock("a", 60) is None
        other = await hash.lock("b", 60)
        assert await lock.set("1", HOUR) is None
    assert await hash.get("a") == b"1"
    assert await hash.holder("a") is None
    assert (await hash.holder("b")).fence == other.fence
    assert lock.is_lost
    assert await lock.release() is False
    with pytest.raises(LeaseLostError, match="the lock was released"):
        await lock.set("2", HOUR)

    with pytest.raises(ZeroDivisionError):
        async with await hash.lock("a", 60) as again:
            1 / 0
    assert again.fence > lock.fence
    assert await hash.holder("a") is None
    assert await other.release() is True
    assert await hash.get("a") == b"1"


async def test_a_lock_that_is_collected_is_released(connect: Any, url: str, name: str) -> None:
    hash = connect(url).volatile_hash(name)
    lock = await hash.lock("a", HOUR)
    assert await hash.lock("a", HOUR) is None
    del lock

    async def until_free() -> None:
        while await hash.holder("a") is not None:
            await asyncio.sleep(0.005)

    await asyncio.wait_for(until_free(), PATIENCE)


@pytest.mark.parametrize("scheme", ["memory", "file"])
async def test_a_lost_lock_sets_nothing(connect: Any, scheme: str, name: str, tmp_path: Any) -> None:
    clock = millpond.ManualClock()
    url = {"memory": "memory:", "file": f"file:{tmp_path}"}[scheme]
    hash = connect(renewing(url), clock=clock).volatile_hash(name)
    lock = await hash.lock("a", 60)
    await lock.set("1", HOUR)
    clock.advance(60)
    other = await hash.lock("a", 60)
    assert other.fence > lock.fence
    with pytest.raises(LeaseLostError) as raised:
        await lock.set("2", HOUR)
    assert raised.value.operation == "volatile.set"
    assert await hash.get("a") == b"1"
    await until_async(lambda: lock.is_lost)
    assert await lock.release() is False
    assert await hash.lock("a", 60) is None, "the other one still has it"
    await other.set("3", HOUR)
    assert await hash.get("a") == b"3"
    assert await other.release() is True


# Ends once the lock of the field has been renewed three times.
WATCH = """
import redis, sys, time
server, seen = redis.Redis.from_url(sys.argv[1]), set()
end = time.monotonic() + float(sys.argv[3])
while len(seen) <= 3:
    assert time.monotonic() < end, "it is not renewed"
    seen.add(server.zscore(sys.argv[2], "a"))
    time.sleep(0.01)
"""


async def test_a_lock_is_renewed_while_its_holder_keeps_the_gil(
    connect: Any, shared_server: Any, name: str
) -> None:
    hash = connect(renewing(shared_server.url)).volatile_hash(name)
    key = f"vhash-lockz:{{{name}}}"
    watch = [sys.executable, "-c", WATCH, shared_server.url, key, str(PATIENCE)]
    async with await hash.lock("a", 60) as lock:
        # During this call neither the event loop nor another thread of Python runs.
        assert ctypes.PyDLL(None).system(shlex.join(watch).encode()) == 0
        assert not lock.is_lost
        await lock.set("1", HOUR)
    assert await hash.get("a") == b"1"


async def test_hashes_of_a_family_are_independent(connect: Any, url: str, name: str) -> None:
    client = connect(url, decode_responses=True)
    family = client.volatile_hashes(name, shards=4)
    for number in range(20):
        await family.hash(f"{number}").set("a", f"value {number}", HOUR)
    async with await family.hash("0").lock("a", 60) as lock:
        assert await family.hash("0").lock("a", 60) is None
        async with await family.hash("1").lock("a", 60):
            await lock.set("changed", HOUR)
    again = client.volatile_hashes(name.encode(), 4)
    values = [await again.hash(f"{number}".encode()).get("a") for number in range(20)]
    assert values == ["changed", *(f"value {number}" for number in range(1, 20))]
    assert await again.hash("7").clear() == 1
    assert (await again.hash("7").len(), await again.hash("8").len()) == (0, 1)
    assert await client.volatile_hash(name).len() == 0


@pytest.mark.parametrize("scheme", ["memory", "file"])
async def test_a_family_reaps_what_has_expired(connect: Any, scheme: str, name: str, tmp_path: Any) -> None:
    clock = millpond.ManualClock()
    url = {"memory": "memory:", "file": f"file:{tmp_path}"}[scheme]
    family = connect(url, clock=clock).volatile_hashes(name)
    for number in range(50):
        await family.hash(f"{number}").set("a", "1", HOUR)
    await family.hash("7").set("b", "1", 60)
    assert await family.reap() == Reaped(0, 0, 0, more=False, next_in=60.0)
    clock.advance(60)
    assert (await family.hash("7").stats()).expired == 1
    assert await family.reap(limit=10) == Reaped(1, 0, 0, more=False, next_in=HOUR - 60.0)
    assert await family.hash("7").stats() == HashStats(fields=1, expired=0, locks=0)
    clock.advance(HOUR)
    assert await family.reap(20) == Reaped(20, 0, 0, more=True, next_in=0.0)
    assert await family.reap(1_000) == Reaped(30, 0, 0, more=False, next_in=None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda client: client.volatile_hashes(7), TypeError, "name must be str, bytes"),
        (lambda client: client.volatile_hashes("x", "4"), TypeError, "shards must be int"),
        (lambda client: client.volatile_hashes("x", -1), Invalid, "shards is negative"),
        (lambda client: client.volatile_hashes("x").hash(7), TypeError, "base must be str, bytes"),
        (lambda client: client.volatile_hashes("x", 0).hash("b").get("a"), Invalid, "1 to 1024 shards, not 0"),
        (lambda client: client.volatile_hashes("x", 1_025).reap(), Invalid, "1 to 1024 shards, not 1025"),
        (lambda client: client.volatile_hashes("x", 2**70), Invalid, "shards is too large"),
        (lambda client: client.volatile_hashes("").reap(), Invalid, "empty"),
        (lambda client: client.volatile_hashes("x").hash("").len(), Invalid, "empty"),
        (lambda client: client.volatile_hashes("x").reap(0), Invalid, "1 to 1000 fields and locks"),
    ],
)
async def test_arguments_of_a_family(connect: Any, call: Any, error: Any, message: str) -> None:
    await refused(lambda: call(connect("memory:")), error, message)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda hash: hash.set(7, "v", 1), TypeError, "field must be str, bytes"),
        (lambda hash: hash.set("f", None, 1), TypeError, "value must be str, bytes"),
        (lambda hash: hash.set("f", "v", "1"), TypeError, "ttl must be a number of seconds or a timedelta"),
        (lambda hash: hash.set("f", "v", None), TypeError, "ttl must be a number of seconds or a timedelta"),
        (lambda hash: hash.set("f", "v", 0), Invalid, "between a millisecond and 100 years"),
        (lambda hash: hash.set("f", "v", -1), Invalid, "ttl is -1"),
        (lambda hash: hash.set("f", "v", float("inf")), Invalid, "between a millisecond and 100 years"),
        (lambda hash: hash.set("f" * 65_537, "v", 1), Invalid, "65536 are allowed"),
        (lambda hash: hash.set_many({}, 1), Invalid, "names no field"),
        (lambda hash: hash.set_many({"f": 1}, 1), TypeError, "fields['f'] must be str, bytes"),
        (lambda hash: hash.set_many([("f", "v"), ("g",)], 1), TypeError, "fields[1] must be (field, value)"),
        (lambda hash: hash.set_many([("f", "v"), ("g", 1)], 1), TypeError, "fields[1][1] must be str, bytes"),
        (lambda hash: hash.set_many({f"{n}": "" for n in range(10_001)}, 1), Invalid, "at most 10000"),
        (lambda hash: hash.get_many("abc"), TypeError, "fields must be an iterable"),
        (lambda hash: hash.get_many([]), Invalid, "names no field"),
        (lambda hash: hash.get_many(["a", 1]), TypeError, "fields[1] must be str, bytes"),
        (lambda hash: hash.delete("abc"), TypeError, "fields must be an iterable"),
        (lambda hash: hash.fields(limit=0), Invalid, "1 to 1000 fields, not 0"),
        (lambda hash: hash.fields(limit="1"), TypeError, "limit must be int"),
        (lambda hash: hash.fields(after="f"), TypeError, "after must be a FieldPosition, a HashField or"),
        (lambda hash: hash.fields(after=("f", 1)), TypeError, "after.expires_us must be int"),
        (lambda hash: hash.fields(after=(1, 1)), TypeError, "after.field must be str, bytes"),
        (lambda hash: hash.reap(1_001), Invalid, "1 to 1000 fields and locks"),
        (lambda hash: hash.acquire("f", "", 1), Invalid, "the token is empty"),
        (lambda hash: hash.acquire("f", "t" * 65, 1), Invalid, "64 are allowed"),
        (lambda hash: hash.acquire("f", "t", 10**10), Invalid, "between a millisecond and 100 years"),
        (lambda hash: hash.release("f", 1), TypeError, "token must be str, bytes"),
        (lambda hash: hash.lock(1, 1), TypeError, "field must be str, bytes"),
        (lambda hash: hash.lock("f", "1"), TypeError, "ttl must be a number of seconds or a timedelta"),
        (lambda hash: hash.lock("f", 0), Invalid, "between a millisecond and 100 years"),
        (lambda hash: hash.lock("f" * 65_537, 1), Invalid, "65536 are allowed"),
    ],
)
async def test_arguments(connect: Any, call: Any, error: Any, message: str) -> None:
    hash = connect("memory:").volatile_hash("x")
    await refused(lambda: call(hash), error, message)
    assert await hash.stats() == HashStats(fields=0, expired=0, locks=0)


async def test_a_key_that_holds_something_else(connect: Any, shared_server: Any, name: str) -> None:
    redis.Redis.from_url(shared_server.url).set(f"vhash-map:{{{name}}}", "text")
    hash = connect(shared_server.url).volatile_hash(name)
    with pytest.raises(millpond.WrongTypeError) as raised:
        await hash.get("a")
    assert raised.value.operation == "volatile.get"
