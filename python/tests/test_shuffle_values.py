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


def test_what_differs() -> None:
    message = Message(3, ID, {"a": "b"})
    for other in [
        Message(4, ID, {"a": "b"}),
        Message(3, "1700000000000-4", {"a": "b"}),
        Message(3, ID, {"a": "c"}),
        Message(3, ID, {b"a": b"b"}),
        Message(3, ID, {"a": "b"}, deliveries=1),
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
        (lambda: Receipt("3", ID), TypeError, "stream must be int, not str"),
        (lambda: Receipt(-1, ID), millpond.InvalidArgumentError, "stream is negative"),
        (lambda: Message(3, ID, {"a": b"b"}), TypeError, "all str or all bytes"),
        (lambda: Message(3, ID, {"a": "b"}, "1"), TypeError, "deliveries must be int"),
        (lambda: Message(3, ID, {"a": "b"}).field(1), TypeError, "name must be str, bytes"),
    ],
)
def test_wrong_arguments(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)
