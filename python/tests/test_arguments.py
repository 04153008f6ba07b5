"""Wrong arguments are refused before anything is sent, with the name and the index."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import repeat
from typing import Any

import kit
import pytest
from kit import each_items, each_wait, refused

import millpond

Invalid = millpond.InvalidArgumentError


class Unprintable:
    def __iter__(self) -> Any:
        raise ZeroDivisionError


class Long:
    """Says of itself that it is longer than any memory."""

    def __len__(self) -> int:
        return 2**62

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return 0

    def __length_hint__(self) -> int:
        return 2**62


@each_items
async def test_arguments_of_many_items(connect: Any, items: kit.Items) -> None:
    client = connect("memory:")
    for value, error, message in [
        (None, TypeError, f"{items.name} must be an iterable"),
        (5, TypeError, f"{items.name} must be an iterable"),
        (Unprintable(), ZeroDivisionError, ""),
        (Long(), TypeError, f"{items.name}[0] must be "),
        (range(10**12), TypeError, f"{items.name}[0] must be "),
        (repeat(items.item), Invalid, f"{items.name} has more than {items.limit} items"),
    ]:
        await refused(lambda: items.call(client, value), error, message)  # noqa: B023


@each_wait
async def test_waits(connect: Any, how: kit.Wait) -> None:
    queue = how.queue.open(connect("memory:"), "x")
    for wait, error, message in [
        ("1", TypeError, "wait must be a number of seconds"),
        (-1, Invalid, "wait is -1"),
        (math.nan, Invalid, "wait is NaN"),
    ]:
        await refused(lambda: how.begin(queue, wait)(), error, message)  # noqa: B023


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ick: ick.add([(1, "a"), (2, 3)]), TypeError, "pairs[1][1] must be str, bytes"),
        (lambda ick: ick.add(["a", 5]), TypeError, "pairs[1] must be str, bytes"),
        (lambda ick: ick.add([(1, "a", 2)]), TypeError, "pairs[0] must be (score, member)"),
        (lambda ick: ick.add([[1, "a"]]), TypeError, "pairs[0] must be str, bytes"),
        (lambda ick: ick.add([(True, "a")]), TypeError, "pairs[0][0] must be float or int"),
        (lambda ick: ick.add([("1", "a")]), TypeError, "must be float or int, not str"),
        (lambda ick: ick.add([(Decimal(1), "a")]), TypeError, "not Decimal"),
        (lambda ick: ick.add([(10**400, "a")]), Invalid, "pairs[0][0] is be"),
        (lambda ick: ick.add([(float("nan"), "a")]), Invalid, "score 0 is"),
        (lambda ick: ick.add({"a": 1}), TypeError, "scores.items()"),
        (lambda ick: ick.add("abc"), TypeError, "pairs must be an iterable, such as a list"),
        (lambda ick: ick.add([(1, "a"), (1, "\udc80")]), UnicodeEncodeError, "surrogates"),
        (lambda ick: ick.commit("abc"), TypeError, "members must be an iterable"),
        (lambda ick: ick.commit(b"abc"), TypeError, "members must be an iterable"),
        (lambda ick: ick.commit(bytearray(b"a")), TypeError, "not bytearray"),
        (lambda ick: ick.commit(["a", None]), TypeError, "members[1] must be str, bytes"),
        (lambda ick: ick.exchange(1, "abc"), TypeError, "members must be an iterable"),
        (lambda ick: ick.reserve("1"), TypeError, "max must be int, not str"),
        (lambda ick: ick.reserve(1.5), TypeError, "max must be int, not float"),
        (lambda ick: ick.reserve(True), TypeError, "max must be int, not bool"),
        (lambda ick: ick.reserve(-1), Invalid, "max is negative"),
        (lambda ick: ick.reserve(10**17), Invalid, "below 10^17"),
        (lambda ick: ick.reserve(10**30), Invalid, "below 10^17"),
        (lambda ick: ick.peek(1, set="both"), Invalid, "set is"),
        (lambda ick: ick.lease("1"), TypeError, "ttl must be a number of seconds or a timedelta"),
        (lambda ick: ick.lease(0), Invalid, "between a millisecond and"),
        (lambda ick: ick.lease(-1), Invalid, "ttl is -1"),
    ],
)
async def test_calls(
    connect: Any, url: str, name: str, call: Any, error: Any, message: str
) -> None:
    ick = connect(url).ick(name)
    await refused(lambda: call(ick), error, message)
    assert await ick.stats() is None


async def test_handles(connect: Any) -> None:
    client = connect("memory:")
    for call, error, message in [
        (lambda: client.ick(None), TypeError, "name must be str, bytes"),
        (lambda: client.ick_channel("x", 0), Invalid, "1 to 65536"),
        (lambda: client.ick_channel("x", 2**40), Invalid, "too large"),
        (lambda: client.ick_channel("x", 2).batches([0, "1"], 1), TypeError, "numbers[1] must"),
    ]:
        await refused(call, error, message)
    too_long = client.ick("x" * 100_000)
    await refused(lambda: too_long.add(["a"]), Invalid, "65536 are allowed")


async def test_connect(connect: Any) -> None:
    for url, options, error, message in [
        ("redis://:secret@", {}, millpond.InvalidUrlError, "names no host"),
        ("memory:", {"timeout": "5"}, TypeError, "timeout must be a number"),
        ("memory:", {"timeout": 0}, Invalid, "timeout has to be longer"),
        ("memory:", {"connect_timeout": -1}, Invalid, "connect_timeout is"),
        ("memory:", {"retries": -1}, Invalid, "retries is negative"),
        ("memory:", {"username": "me"}, Invalid, "with a password"),
        (b"memory:", {}, TypeError, ""),
        ("memory:", {"colour": "red"}, TypeError, "colour"),
    ]:
        with pytest.raises(error) as raised:
            connect(url, **options)
        assert message in str(raised.value)
        assert "secret" not in str(raised.value)
