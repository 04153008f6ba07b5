"""Tasks and documents are values: they compare, hash, print and travel."""

from __future__ import annotations

import copy
import inspect
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import millpond
from millpond import Doc, Modification, Task

FULL = {
    "at_ms": 1, "created_ms": 2, "modified_ms": 3, "claimant": "c", "claims": 4, "attempt": 5,
    "err": "e", "priority": 6, "expires_ms": 7,
}  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        Task("t", 3),
        Task("t", 3, "q", value={"a": "é"}),
        Task("t", 3, "q", value=None, **FULL),  # type: ignore[arg-type]
        Doc("n", "d", 1),
        Doc("n", "d", 1, "k", "s", content=[1], at_ms=1, claimant="c", created_ms=2, modified_ms=3),
    ],
    ids=repr,
)
def test_a_copy_is_equal(value: Any) -> None:
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert type(other) is type(value)
        assert other == value
        assert not other != value
        assert hash(other) == hash(value)
        assert other.json == value.json
    if value.at_ms == 0:
        assert eval(repr(value), {"Task": Task, "Doc": Doc}) == value


def test_every_field() -> None:
    task = Task("t", 3, "q", json="[1, 2]", **FULL)  # type: ignore[arg-type]
    assert {name: getattr(task, name) for name in FULL} == FULL
    assert (task.id, task.version, task.queue, task.value) == ("t", 3, "q", [1, 2])
    assert task != Task("t", 4, "q", json="[1, 2]", **FULL)  # type: ignore[arg-type]
    assert task != ("t", 3)
    with pytest.raises(AttributeError):
        task.version = 4  # type: ignore[misc]


def test_values_are_read_once() -> None:
    task = Task("t", 0, value={"n": [1]})
    assert task.value == {"n": [1]}
    assert task.value is task.value
    doc = Doc("n", "d", 1, content={"n": [1]})
    assert doc.content is doc.content
    # What a caller does to the value changes nothing about the task.
    task.value["n"].append(2)
    assert task.json == '{"n":[1]}'
    assert task == Task("t", 0, value={"n": [1]})
    assert task.change(task.value) == task.change(json='{"n":[1,2]}') != task.change()


def test_times_are_datetimes_too() -> None:
    task = Task("t", 0, at_ms=1, created_ms=1_500, modified_ms=253_402_300_799_999, expires_ms=0)
    assert task.at == datetime(1970, 1, 1, microsecond=1_000, tzinfo=timezone.utc)
    assert task.created == datetime(1970, 1, 1, second=1, microsecond=500_000, tzinfo=timezone.utc)
    assert task.modified == datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=timezone.utc)
    assert task.expires == datetime(1970, 1, 1, tzinfo=timezone.utc)
    assert task.at.utcoffset() == timedelta(0)
    assert Task("t", 0).expires is None
    doc = Doc("n", "d", 1, at_ms=1_700_000_000_123, created_ms=1, modified_ms=2)
    assert doc.at.timestamp() == 1_700_000_000.123
    assert doc.modified - doc.created == timedelta(milliseconds=1)
    with pytest.raises(OverflowError):
        Task("t", 0, at_ms=2**63).at
    assert millpond.Renewed([], [], cancelled=[], at_ms=1).at == task.at


@pytest.mark.parametrize("at_ms", [100_000_000, 1_699_999_999_999, 253_402_300_799_999])
def test_a_datetime_is_accepted_as_its_milliseconds(at_ms: int) -> None:
    task, doc = Task("t", 0, at_ms=at_ms), Doc("n", "d", 1)
    there = task.at.astimezone(timezone(-timedelta(hours=5, minutes=30)))
    for at in (task.at, there):
        assert task.change(at=at) == task.change(at_ms=at_ms)
        assert task.change().replace(at=at) == task.change(at_ms=at_ms)
        assert doc.change(at=at) == doc.change(at_ms=at_ms)
    # Nothing is early.
    early = task.at - timedelta(microseconds=1)
    assert task.change(at=early) == task.change(at_ms=at_ms)


def test_datetimes_that_are_no_time() -> None:
    task = Task("t", 0)
    naive = datetime(2026, 1, 1)
    for refused in (lambda: task.change(at=naive), lambda: Modification().insert("q", at=naive)):
        with pytest.raises(millpond.InvalidArgumentError, match="at has no time zone"):
            refused()
    with pytest.raises(millpond.InvalidArgumentError, match="before the year 1970"):
        task.change(at=datetime(1969, 12, 31, tzinfo=timezone.utc))
    with pytest.raises(TypeError, match="at must be a datetime, not int"):
        task.change(at=1)  # type: ignore[arg-type]
    both = {"at_ms": 1, "delay": 1}
    for name, other in both.items():
        with pytest.raises(millpond.InvalidArgumentError, match="only one is allowed"):
            task.change(at=task.at, **{name: other})  # type: ignore[arg-type]


def test_what_is_left_out_can_be_named() -> None:
    unset, task = millpond.UNSET, Task("t", 0, value=1)
    assert repr(unset) == "UNSET"
    assert task.change(unset, json=unset) == task.change()
    assert task.change(None) == task.change(json="null") != task.change(json=None)
    with pytest.raises(TypeError):
        task.change(...)
    for call in (Task.change, Modification.insert, Modification.put_doc, millpond.TaskStore.insert):
        assert "UNSET" in str(inspect.signature(call))
        assert "..." not in str(inspect.signature(call))


def test_a_modification_can_be_added_to_and_used_again() -> None:
    store = millpond.connect("memory:").tasks("x")
    gathered = Modification()
    assert gathered.insert("q") is gathered
    assert [store.modify(gathered).inserted[0].queue for _ in range(2)] == ["q", "q"]
    store.modify(gathered.insert("p"))
    assert store.queues() == {"p": 1, "q": 3}


def test_the_reason_of_a_refusal_survives_pickling() -> None:
    store = millpond.connect("memory:").tasks("x")
    with pytest.raises(millpond.DependencyError) as raised:
        store.modify(Modification().delete(("t", 1)).depend_doc(("n", "d", 2)))
    error = raised.value
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.operation, copied.deletes) == (
        str(error),
        error.operation,
        [("t", 1)],
    )
    assert copied.doc_depends == [millpond.DocId("n", "d", 2)]
    assert copied.has_missing and copied.has_missing_docs and not copied.has_claims
    empty = millpond.DependencyError()
    assert (empty.inserts, empty.doc_claims, empty.only_claims) == ([], [], False)


def test_the_exceptions_of_handlers_survive_pickling() -> None:
    retry = pickle.loads(pickle.dumps(millpond.Retry(ValueError("why"), 5)))
    assert (retry.err, retry.delay) == ("why", 5)
    move = pickle.loads(pickle.dumps(millpond.Move("q", "why")))
    assert (move.queue, move.err) == ("q", "why")
