"""Messages and receipts are values: they compare, hash, print and travel."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import millpond
from millpond import Message, Receipt

ID = "1700000000000-3"


def test_the_shard_of_a_tenant() -> None:
    assert millpond.shard(16, 4, "tuna") == millpond.shard(16, 4, b"tuna") == [15, 13, 2, 12]
    assert millpond.shard(streams=16, streams_per_shard=4, shard_key="tuna") == [15, 13, 2, 12]
    with pytest.raises(TypeError, match="shard_key must be str, bytes"):
        millpond.shard(16, 4, 1)  # type: ignore[arg-type]
    for arguments in [(0, 1, "x"), (4, 0, "x"), (4, 5, "x"), (4, 2, ""), (65_537, 1, "x")]:
        with pytest.raises(millpond.InvalidArgumentError):
            millpond.shard(*arguments)


@pytest.mark.parametrize(
    "value",
    [
        Receipt(3, ID),
        Receipt(None, "0-1"),
        Message(3, ID, {"a": "b"}),
        Message(None, ID, [(b"a", b"\xff"), (b"a", b"")], deliveries=2),
        Message(0, ID, []),
    ],
    ids=repr,
)
def test_a_copy_is_equal(value: Any) -> None:
    evaluated = eval(repr(value), {"Message": Message, "Receipt": Receipt})
    for other in (evaluated, pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(other) is type(value)
        assert other == value
        assert not other != value
        assert hash(other) == hash(value)


def test_a_copy_of_what_is_no_text() -> None:
    queue = millpond.connect("memory:", decode_responses=True).shuffle_queue("x")
    queue.write("t", [("a", b"\xff"), ("a", "\u00e9")])
    consumer = queue.consumer("g", "c")
    consumer.read()
    (reclaimed,) = consumer.reclaim(0, 1).messages
    taken: Any = queue.consumer("another", "c").read()
    assert (reclaimed.deliveries, taken.deliveries) == (2, 1)
    for message in (reclaimed, taken):
        for other in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message)):
            assert other == message
            assert repr(other) == repr(message)
            assert other.deliveries == message.deliveries
            with pytest.raises(UnicodeDecodeError):
                other.fields


def test_what_differs() -> None:
    message = Message(3, ID, {"a": "b"})
    for other in [
        Message(4, ID, {"a": "b"}),
        Message(3, "1700000000000-4", {"a": "b"}),
        Message(3, ID, {"a": "c"}),
        Message(3, ID, {b"a": b"b"}),
        Message(3, ID, {"a": "b"}, deliveries=2),
        Receipt(3, ID),
        None,
    ]:
        assert message != other
    assert Receipt(3, ID) != Receipt(None, ID) != Receipt(3, "1-1")
    assert len({Receipt(3, ID), Receipt(3, ID), Receipt(2, ID)}) == 2


def test_a_value_does_not_change() -> None:
    message = Message(3, ID, [("a", "1"), ("a", "2")])
    message.fields.clear()
    assert message.fields == [("a", "1"), ("a", "2")]
    assert message.field("a") == "1"
    for value, attribute in [(message, "id"), (message, "fields"), (Receipt(3, ID), "stream")]:
        with pytest.raises(AttributeError):
            setattr(value, attribute, None)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Receipt(3, "x"), millpond.InvalidArgumentError, "form of 1700000000000-0"),
        (lambda: Receipt(3, b"1-1"), TypeError, "id must be str, not bytes"),
        (lambda: Receipt(3, "\ud800"), millpond.InvalidArgumentError, "form of 1700000000000-0"),
        (lambda: Receipt(3, "1-1\ud800"), millpond.InvalidArgumentError, "form of 170000000000"),
        (lambda: Receipt("3", ID), TypeError, "stream must be int, not str"),
        (lambda: Receipt(-1, ID), millpond.InvalidArgumentError, "stream is negative"),
        (lambda: Receipt(2**64, ID), millpond.InvalidArgumentError, "stream is too large"),
        (lambda: Message(3, ID, {"a": b"b"}), TypeError, "all str or all bytes"),
        (lambda: Message(3, ID, {"a": "b"}, "1"), TypeError, "deliveries must be int"),
        (lambda: Message(3, ID, {}, 2**64), millpond.InvalidArgumentError, "fit into 64 bits"),
        (lambda: Message(3, ID, {"a": "b"}).field(1), TypeError, "name must be str, bytes"),
    ],
)
def test_wrong_arguments(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)
