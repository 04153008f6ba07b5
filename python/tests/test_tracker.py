"""Queue trackers: which ids have work queued in a program's own database."""

from __future__ import annotations

import asyncio
import enum
import functools
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from itertools import repeat
from typing import Any

import pytest
import redis
from kit import refused
from waiting import SOON

import millpond
import millpond.aio
from millpond import Pruned, Scanned, Tracked, TrackerStats

Invalid = millpond.InvalidArgumentError


def returning(value: Any, seen: list[Any] | None = None) -> Callable[..., Any]:
    """A function of the program that returns this; what it was called with goes into a list."""

    def function(*given: Any) -> Any:
        if seen is not None:
            seen.append(given)
        return value

    return function


async def all_of(tracker: Any) -> list[bytes]:
    return sorted(tracked.id for tracked in await tracker.ids())


async def test_ids_are_added_and_known(connect: Any, url: str, name: str) -> None:
    tracker = connect(url).queue_tracker(name)
    assert await tracker.stats() == TrackerStats(ids=0, rounds=0, oldest=None, row=None)
    assert await tracker.ids() == []
    assert await tracker.add(["ann", b"\xff\x00"]) is None
    assert await tracker.add(id for id in (bytearray(b"bob"), memoryview(b"ann"))) is None
    assert await tracker.is_queued("ann") is True
    assert await tracker.is_queued(id=b"eve") is False
    assert await tracker.are_queued(["bob", "eve", b"\xff\x00", "bob"]) == [True, False, True, True]
    assert await tracker.len() == 3

    (first,) = await tracker.ids(limit=1)
    assert first == Tracked(b"\xff\x00", (await tracker.stats()).oldest)
    # Both were added in one step, so they are on one page.
    ann, bob = await tracker.ids(after=first.stamp, limit=1)
    assert (ann.id, bob.id) == (b"ann", b"bob")
    assert ann.stamp == bob.stamp > first.stamp
    assert await tracker.ids(bob.stamp) == await tracker.ids(2**70) == []
    assert (await tracker.clear(), await tracker.clear(), await tracker.len()) == (3, 0, 0)


class Place(str, enum.Enum):
    LAST = "x/2"


async def test_a_scan_goes_on_where_the_last_one_ended(connect: Any, url: str, name: str) -> None:
    tracker = connect(url).queue_tracker(name)
    seen: list[Any] = []
    pages: list[tuple[Any, Scanned]] = [
        ([(7, "a"), (8, b"b")], Scanned(rows=2, added=2, more=True)),
        (iter([["x/1", "a"], (Place.LAST, None)]), Scanned(2, 0, True)),
        (((number, "") for number in (-1, 2**64)), Scanned(2, 0, True)),
        ({"y": "c"}.items(), Scanned(1, 1, False)),
        (sqlite3.connect(":memory:").execute("select 1, 'd'"), Scanned(1, 1, False)),
    ]
    for page, scanned in pages:
        assert await tracker.scan(returning(page, seen), 2, timedelta(days=1)) == scanned
    assert seen == [(None, 2), ("8", 2), ("x/2", 2), (str(2**64), 2), (None, 2)]
    assert await tracker.stats() == (4, 1, (await tracker.ids())[0].stamp, "1")
    # The table has ended twice; only the first time the next scan began anew.
    assert await tracker.scan(returning((), seen), round_min=timedelta(0)) == Scanned(0, 0, False)
    assert seen[-1] == ("1", 25)
    assert (await tracker.begin_scan(limit=1, round_min=0.5))[1::2] == (2, None)


async def test_a_prune_removes_what_is_done(connect: Any, url: str, name: str) -> None:
    tracker = connect(url).queue_tracker(name)
    seen: list[Any] = []
    assert await tracker.prune(returning(None, seen)) == Pruned(checked=0, removed=0)
    assert seen == [], "there was nothing to ask for"
    for id in "cba":
        await tracker.add([id])
    assert await tracker.prune(returning({"c"}, seen), limit=2) == Pruned(checked=2, removed=1)
    assert await tracker.prune(returning([], seen)) == Pruned(checked=2, removed=0)
    assert seen == [([b"c", b"b"],), ([b"a", b"b"],)]
    assert await all_of(tracker) == [b"a", b"b"]
    # Any iterable is taken, and the function may change the list that it got.
    assert await tracker.prune(lambda ids: (ids.pop() for _ in [*ids])) == Pruned(2, 2)


async def test_the_halves_of_a_scan_and_of_a_prune(connect: Any, url: str, name: str) -> None:
    tracker = connect(url).queue_tracker(name)
    assert (await tracker.begin_scan()).row is None
    assert await tracker.advance("", ["1", b"2"], iter(["a", b""]), 2) == Scanned(2, 1, True)
    # Another scan was faster.
    overtaken = await tracker.advance(after="", rows=["3"], ids=["c"], limit=1, round_min=1)
    assert overtaken == Scanned(rows=0, added=0, more=True)
    assert (await tracker.begin_scan()).row == "2"
    await tracker.add(["b"])
    sample = await tracker.sample()
    assert sample == millpond.Sample([b"a", b"b"], (await tracker.ids())[0].stamp)
    await tracker.add(["b"])
    # One that was added since then stays.
    assert await tracker.remove(["b", "a"], sample.ids, sample.stamp) == Pruned(2, 1)
    assert await tracker.remove([], iter([]), stamp=1) == Pruned(0, 0)
    assert await all_of(tracker) == [b"b"]


async def test_a_blocking_function_may_call_the_tracker(url: str, name: str) -> None:
    tracker = millpond.connect(url).queue_tracker(name)

    def rows(after: Any, limit: int) -> Any:
        tracker.add(["a", "c"])
        yield 1, "a"
        tracker.add(["d"])
        yield 2, "b"

    def done(ids: list[bytes]) -> Any:
        tracker.add([ids[0]])
        yield from ids
        tracker.add([ids[1]])

    assert tracker.scan(rows) == Scanned(2, 1, False)
    assert tracker.are_queued([*"abcd"]) == [True] * 4
    assert tracker.prune(done) == Pruned(4, 2)


async def test_coroutine_functions(url: str, name: str) -> None:
    tracker = millpond.aio.connect(url).queue_tracker(name)

    async def rows(after: Any, limit: int) -> Any:
        await tracker.add(["a"])
        return ((number, id) for number, id in enumerate("ab"))

    async def done(ids: list[bytes]) -> list[bytes]:
        await tracker.add(["b"])
        return ids

    assert await tracker.scan(functools.partial(rows)) == Scanned(2, 1, False)
    # Any awaitable is awaited.
    assert await tracker.prune(lambda ids: asyncio.ensure_future(done(ids))) == Pruned(2, 1)
    assert await all_of(tracker) == [b"b"]


async def test_a_task_that_is_cancelled(url: str, name: str) -> None:
    tracker = millpond.aio.connect(url).queue_tracker(name)
    await tracker.add(["a", "b"])
    before = await tracker.stats()
    for call in (tracker.scan, tracker.prune):
        begun = asyncio.Event()

        async def function(*given: Any, begun: Any = begun) -> Any:
            begun.set()
            await asyncio.sleep(60)

        task = asyncio.ensure_future(call(function))
        await asyncio.wait_for(begun.wait(), SOON)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await tracker.stats())[:2] == before[:2]
    assert (await tracker.prune(returning([]))).checked == 1


class End(BaseException):
    pass


@pytest.mark.parametrize("error", [TypeError("why"), millpond.ServerError("why"), End()], ids=repr)
@pytest.mark.parametrize("where", ["function", "iterator"])
async def test_errors_come_out(connect: Any, url: str, name: str, error: Any, where: str) -> None:
    tracker = connect(url).queue_tracker(name)
    await tracker.scan(returning([(1, "a"), (2, "b")]), 2)
    before = await tracker.stats()

    def generator(item: Any) -> Any:
        yield item
        raise error

    def raising(item: Any) -> Any:
        if where == "iterator":
            return generator(item)
        raise error

    for call, item in ((tracker.scan, (3, "c")), (tracker.prune, "a")):
        with pytest.raises(type(error)) as raised:
            await call(lambda *given: raising(item))  # noqa: B023
        assert raised.value is error
        assert (await tracker.stats())[::3] == before[::3]
    # Any of them may have made the check fail, so the next one has a single id.
    assert await tracker.prune(returning([])) == Pruned(1, 0)
    assert await tracker.prune(returning([])) == Pruned(2, 0)


async def agenerator() -> Any:
    yield 1, "a"


NO_LISTS = [
    (None, TypeError, "must return an iterable, such as a list, not NoneType"),
    ("ab", TypeError, "must return an iterable, such as a list, not str"),
    ({"a": True}, TypeError, "must return an iterable, such as a list, not dict"),
    (agenerator(), TypeError, "must return an iterable, such as a list, not async_generator"),
]


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        *NO_LISTS,
        ({(6, "a")}, TypeError, "rows must return the rows in order, not a set"),
        ([(6, "a"), 7], TypeError, "rows[1] must be (row, id), not int"),
        (["6a"], TypeError, "rows[0] must be (row, id), not str"),
        ([{"number": 6, "id": "a"}], TypeError, "rows[0] must be (row, id), not dict"),
        ([(6, "a"), (7,)], TypeError, "rows[1] must be (row, id), not a tuple of 1"),
        ([[6, "a", "b"]], TypeError, "rows[0] must be (row, id), not a list of 3"),
        ([(6.5, "a")], TypeError, "rows[0][0] must be str or int, not float"),
        ([(True, "a")], TypeError, "rows[0][0] must be str or int, not bool"),
        ([(b"6", "a")], TypeError, "rows[0][0] must be str or int, not bytes"),
        ([(6, 7)], TypeError, "rows[0][1] must be str, bytes, bytearray, memoryview or"),
        ([(6, "a"), ("\udc80", "a")], UnicodeEncodeError, "surrogates"),
        ([(6, "a"), ("", "a")], Invalid, "a row has 0 bytes; 1 to 1024 are allowed"),
        ([(6, "a" * 513)], Invalid, "an id has 513 bytes; 1 to 512 are allowed"),
        ([(6, "a"), (5, "b")], Invalid, "they have to come after that row"),
        (repeat((6, "a")), Invalid, "rows has more than 1000 items"),
    ],
)
async def test_wrong_rows(connect: Any, returned: Any, error: Any, message: str) -> None:
    tracker = connect("memory:").queue_tracker("x")
    await tracker.scan(returning([(5, "x")]), 1)
    before = await tracker.stats()
    await refused(lambda: tracker.scan(returning(returned), 2), error, message)
    assert await tracker.stats() == before
    rows = [(number, "a") for number in range(1_000)]
    assert await tracker.scan(returning(rows), 1_000) == Scanned(1_000, 1, True)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        *NO_LISTS,
        (["x", 7], TypeError, "ids[1] must be str, bytes"),
        (["x", "y"], Invalid, "1 of the ids to remove were not sampled"),
        (repeat("x"), Invalid, "ids has more than 1000 items"),
    ],
)
async def test_wrong_ids(connect: Any, returned: Any, error: Any, message: str) -> None:
    tracker = connect("memory:").queue_tracker("x")
    await tracker.add(["x"])
    await tracker.add(["y"])
    await refused(lambda: tracker.prune(returning(returned), 1), error, message)
    assert await all_of(tracker) == [b"x", b"y"]


class Called:
    async def __call__(self, *given: Any) -> Any: ...


@pytest.mark.parametrize("name_of", ["rows", "done"])
async def test_wrong_functions_are_refused_before_any_call(connect: Any, name_of: str) -> None:
    tracker = connect("memory:").queue_tracker("x")
    call = {"rows": tracker.scan, "done": tracker.prune}[name_of]
    await tracker.add(["a"])
    before = await tracker.ids()
    coroutine = Called().__call__
    wrong: list[tuple[Any, str]] = [(None, "must be a function, not NoneType")]
    wrong += [([], "must be a function, not list")]
    wrong += [(agenerator, "is an async generator function, which no tracker runs")]
    is_blocking = not isinstance(tracker, millpond.aio.QueueTracker)
    if is_blocking:
        only = "is a coroutine function, which only a tracker of millpond.aio awaits"
        wrong += [(coroutine, only), (functools.partial(coroutine), only), (Called(), only)]
    for function, message in wrong:
        await refused(lambda: call(function), TypeError, f"{name_of} {message}")  # noqa: B023
        assert await tracker.ids() == before
    if is_blocking:
        await refused(lambda: call(lambda *given: coroutine()), TypeError, "not coroutine")


async def test_decode_responses(connect: Any, url: str, name: str) -> None:
    tracker = connect(url, decode_responses=True).queue_tracker(name)
    seen: list[Any] = []
    assert (await tracker.scan(returning([("é", "à"), ("ê", b"a")], seen), 2)).added == 2
    assert await tracker.scan(returning([], seen)) == Scanned(0, 0, False)
    assert seen == [(None, 2), ("ê", 25)]
    assert [tracked.id for tracked in await tracker.ids()] == ["a", "à"]
    assert await tracker.prune(lambda ids: [id for id in ids if id == "à"]) == Pruned(2, 1)
    assert (await tracker.sample()).ids == ["a"]
    await tracker.add([b"\xff"])
    assert await tracker.is_queued(b"\xff") is True
    with pytest.raises(UnicodeDecodeError):
        await tracker.ids()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.add("ann"), TypeError, "ids must be an iterable"),
        (lambda t: t.add(["a", 1]), TypeError, "ids[1] must be str, bytes"),
        (lambda t: t.add([]), Invalid, "names no id"),
        (lambda t: t.is_queued(7), TypeError, "id must be str, bytes"),
        (lambda t: t.is_queued(""), Invalid, "an id has 0 bytes"),
        (lambda t: t.ids("1"), TypeError, "after must be int"),
        (lambda t: t.ids(-1), Invalid, "after is negative"),
        (lambda t: t.ids(limit=2**70), Invalid, "not 1 to 1000"),
        (lambda t: t.scan(print, "1"), TypeError, "limit must be int, not str"),
        (lambda t: t.scan(print, 1_001), Invalid, "the limit is 1001, not 1 to 1000"),
        (lambda t: t.scan(print, round_min="1"), TypeError, "round_min must be a number"),
        (lambda t: t.scan(print, round_min=float("inf")), Invalid, "more than 100 years"),
        (lambda t: t.prune(print, 0), Invalid, "the limit is 0, not 1 to 1000"),
        (lambda t: t.advance(7, [], []), TypeError, "after must be str, not int"),
        (lambda t: t.advance("", [1], ["a"]), TypeError, "rows[0] must be str, bytes"),
        (lambda t: t.advance("", [b"\xff"], ["a"]), Invalid, "not UTF-8"),
        (lambda t: t.advance("", ["1"], []), Invalid, "more rows than ids"),
        (lambda t: t.advance("", [], ["a"]), Invalid, "more ids than rows"),
        (lambda t: t.remove(["a"], ["b"], 1), Invalid, "1 of the ids to remove were not sampled"),
        (lambda t: t.remove([], [], -1), Invalid, "stamp is negative"),
    ],
)
async def test_arguments(connect: Any, capsys: Any, call: Any, error: Any, message: str) -> None:
    client = connect("memory:")
    await refused(lambda: client.queue_tracker(7), TypeError, "name must be str, bytes")
    await refused(lambda: client.queue_tracker("").len(), Invalid, "the name is empty")
    tracker = client.queue_tracker("x")
    await refused(lambda: call(tracker), error, message)
    assert await tracker.stats() == (0, 0, None, None)
    assert capsys.readouterr().out == "", "the function was called"


async def test_a_key_that_holds_something_else(connect: Any, shared_server: Any, name: str) -> None:
    redis.Redis.from_url(shared_server.url).set(f"{{{name}}}:tracker", "text")
    tracker = connect(shared_server.url).queue_tracker(name)
    calls: list[Any] = [(lambda: tracker.add(["a"]), "add"), (tracker.len, "stats")]
    calls += [(lambda: tracker.scan(print), "stats"), (lambda: tracker.prune(print), "sample")]
    for call, operation in calls:
        with pytest.raises(millpond.WrongTypeError) as raised:
            await call()
        assert raised.value.operation == f"tracker.{operation}"
