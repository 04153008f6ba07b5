"""What each call does, on every backend and for both kinds of callers."""

from __future__ import annotations

import datetime
import math
import time
from typing import Any

import pytest
from waiting import renewing, until_async

import millpond


async def test_add_reserve_commit(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(name)
    assert await ick.add([(2, b"b"), (1.5, "a"), (9, "c")]) == millpond.Added(new=3, lowered=0)
    added = await ick.add([(1, "c"), (5, "a")])
    assert (added.new, added.lowered) == (0, 1)
    assert await ick.reserve(2) == [(b"c", 1.0), (b"a", 1.5)]
    await ick.add([(7, "c")])
    assert await ick.commit(["c", "a", "nobody"]) == 2
    assert await ick.reserve(10) == [(b"b", 2.0), (b"c", 7.0)]
    assert isinstance((await ick.reserve(1))[0][1], float)


async def test_score_left_out_is_the_servers_time(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(name)
    await ick.add(["a", b"b", (None, "c"), (1, "d")])
    scores = dict(await ick.peek(10))
    assert scores.pop(b"d") == 1
    assert len(scores) == 3
    assert all(abs(score - time.time()) < 60 for score in scores.values())


async def test_every_kind_of_bytes(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(bytearray(name.encode()))
    members = ["é", b"\xff\x00", bytearray(b"array"), memoryview(b"xviewx")[1:5]]
    await ick.add((number, member) for number, member in enumerate(members))
    batch = [b"\xc3\xa9", b"\xff\x00", b"array", b"view"]
    assert [member for member, _ in await ick.reserve(10)] == batch
    assert await ick.commit(members) == 4
    assert await ick.commit({}) == 0


async def test_decode_responses(connect: Any, url: str, name: str) -> None:
    client = connect(url, decode_responses=True)
    ick = client.ick(name)
    await ick.add([(1, "é")])
    assert await ick.reserve(1) == [("é", 1.0)]
    stats = await ick.stats()
    assert stats.key == name
    assert stats.pset_key == f"{name}/ick/{{{name}}}/pset"
    await ick.add([(0, b"\xff")])
    with pytest.raises(UnicodeDecodeError):
        await ick.peek(1)


async def test_a_batch_that_cannot_be_decoded_is_not_committed(
    connect: Any, url: str, name: str
) -> None:
    ick = connect(url, decode_responses=True).ick(name)
    await ick.add([(0, b"\xff")])
    batches = ick.batches(10)
    with pytest.raises(UnicodeDecodeError):
        await batches.__anext__()
    with pytest.raises(StopAsyncIteration):
        await batches.__anext__()
    assert await batches.commit() == 0
    assert (await ick.stats()).cset_size == 1


async def test_exchange_and_backwash(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(name)
    await ick.add([(5, "e"), (6, "f")])
    assert await ick.exchange(1) == [(b"e", 5.0)]
    await ick.add([(1, "a")])
    assert await ick.reserve(1) == [(b"e", 5.0)]
    assert await ick.reserve(1, backwash=True) == [(b"a", 1.0)]
    assert await ick.exchange(2, ["a"], backwash=True) == [(b"e", 5.0), (b"f", 6.0)]
    assert await ick.exchange(max=2, members=["e", "f"]) == []


async def test_stats_peek_delete(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(name)
    assert await ick.stats() is None
    await ick.add([(1, "a"), (2, "b"), (math.inf, "c")])
    await ick.reserve(1)
    stats = await ick.stats()
    assert stats == millpond.Stats(
        ver="ick.v1",
        key=name.encode(),
        pset_key=f"{name}/ick/{{{name}}}/pset".encode(),
        cset_key=f"{name}/ick/{{{name}}}/cset".encode(),
        pset_size=2,
        cset_size=1,
        total_size=3,
        pset_min=2.0,
        pset_max=math.inf,
        cset_min=1.0,
        cset_max=1.0,
        total_min=1.0,
        total_max=math.inf,
    )
    with pytest.raises(AttributeError):
        stats.pset_size = 0
    assert await ick.peek(1) == [(b"b", 2.0)]
    assert await ick.peek(5, set="consumer") == [(b"a", 1.0)]
    assert await ick.delete() == 3
    assert await ick.delete(unlink=True) == 0
    assert await ick.stats() is None
    assert await ick.add([]) == (0, 0)
    assert (await ick.stats()).total_min is None


async def test_more_members_than_a_step_takes(connect: Any, url: str, name: str) -> None:
    ick = connect(url, timeout=60).ick(name)
    members = [str(number) for number in range(250_001)]
    assert (await ick.add((1, member) for member in members)).new == len(members)
    await ick.reserve(len(members))
    assert await ick.commit(members) == len(members)


async def test_batches_commit_what_was_done(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(name)
    await ick.add([(1, "a"), (2, "b"), (3, "c")])
    seen = []
    async for batch in ick.batches(2):
        seen.append([member for member, _ in batch])
        assert (await ick.stats()).cset_size == len(batch)
    assert seen == [[b"a", b"b"], [b"c"]]
    assert (await ick.stats()).total_size == 0


async def test_a_loop_that_an_exception_ends_keeps_its_batch(
    connect: Any, url: str, name: str
) -> None:
    ick = connect(url).ick(name)
    await ick.add([(1, "a"), (2, "b")])
    with pytest.raises(ZeroDivisionError):
        async for _ in ick.batches(1):
            raise ZeroDivisionError
    assert await ick.reserve(1) == [(b"a", 1.0)]
    with pytest.raises(ZeroDivisionError):
        async with ick.batches(1) as batches:
            async for _ in batches:
                raise ZeroDivisionError
    assert await ick.reserve(1) == [(b"a", 1.0)]


async def test_a_block_that_ends_well_commits_the_last_batch(
    connect: Any, url: str, name: str
) -> None:
    ick = connect(url).ick(name)
    await ick.add([(1, "a"), (2, "b"), (3, "c")])
    async with ick.batches(1) as batches:
        async for _ in batches:
            break
    assert await ick.reserve(3) == [(b"b", 2.0), (b"c", 3.0)]
    batches = ick.batches(3)
    await batches.__anext__()
    assert await batches.commit() == 2
    assert await batches.commit() == 0
    async with ick.batches(1):
        pass


async def test_lease(connect: Any, url: str, name: str) -> None:
    ick = connect(url).ick(name)
    await ick.add([(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    async with await ick.lease(datetime.timedelta(seconds=30)) as lease:
        assert not lease.is_lost
        assert await ick.lease(30) is None
        assert await lease.reserve(1) == [(b"a", 1.0)]
        assert await lease.commit(["a"]) == 1
        assert await lease.exchange(1) == [(b"b", 2.0)]
        assert await lease.exchange(1, ["b"]) == [(b"c", 3.0)]
        assert [len(batch) async for batch in lease.batches(1)] == [1, 1]
    assert lease.is_lost
    assert await lease.release() is False
    with pytest.raises(millpond.LeaseLostError):
        await lease.reserve(1)
    again = await ick.lease(30)
    assert await again.release() is True


async def test_a_lost_lease_is_noticed_and_refused(
    connect: Any, shared_server: Any, name: str
) -> None:
    import redis

    ick = connect(renewing(shared_server.url)).ick(name)
    await ick.add([(1, "a")])
    server: Any = redis.Redis.from_url(shared_server.url)
    key = f"{name}/ick/{{{name}}}/lease"
    lease = await ick.lease(60)
    for _ in range(2):
        assert server.expire(key, 50)
        await until_async(lambda: server.ttl(key) > 50)  # it is renewed
    assert await lease.reserve(1) == [(b"a", 1.0)]
    server.delete(key)
    with pytest.raises(millpond.LeaseLostError) as raised:
        await lease.commit(["a"])
    assert raised.value.operation == "ick.commit"
    await until_async(lambda: lease.is_lost)
    assert (await ick.stats()).cset_size == 1


async def test_channel(connect: Any, url: str, name: str) -> None:
    channel = connect(url).ick_channel(name, 3)
    assert (channel.shards, channel.readable) == (3, 3)
    members = [str(number) for number in range(20)]
    assert (await channel.add((1, member) for member in members)).new == 20
    number = channel.ick_of("7")
    assert b"7" in dict(await channel.ick(number).peek(20))
    seen = [member async for batch in channel.batches([0, 1, 2], 4) for member, _ in batch]
    assert sorted(seen) == sorted(member.encode() for member in members)
    assert channel.draining(8).readable == 8
    for wrong in [[3], []]:
        with pytest.raises(millpond.InvalidArgumentError):
            channel.batches(wrong, 1)


def test_a_file_is_durable_and_held_by_one(tmp_path: Any) -> None:
    url = f"file:{tmp_path / 'data'}"
    with millpond.connect(url) as client:
        client.ick("x").add([(1, "a")])
    with millpond.connect(url) as client:
        assert client.ick("x").reserve(1) == [(b"a", 1.0)]
