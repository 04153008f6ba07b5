"""Tasks and documents are values: they compare, hash, print and travel."""

from __future__ import annotations

import copy
import pickle
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


def test_values_are_read_anew() -> None:
    task = Task("t", 0, value={"n": [1]})
    value = task.value
    value["n"].append(2)
    assert task.value == {"n": [1]}
    assert task.change(value) == task.change(json='{"n":[1,2]}') != task.change()


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
