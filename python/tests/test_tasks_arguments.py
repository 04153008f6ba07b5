"""Wrong arguments are refused before anything is sent, with the name and the index."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from kit import refused

import millpond
from millpond import Doc, Modification, Move, Retry, Task

Invalid = millpond.InvalidArgumentError
LONG = "é" * 65
HOLED = {1: 2, (1, 2): 3}


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def modify(call: Any) -> Any:
    return lambda store: store.modify(call(Modification()))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.insert(b"q"), TypeError, "queue must be str, not bytes"),
        (lambda s: s.insert(None), TypeError, "queue must be str, not NoneType"),
        (lambda s: s.insert(""), Invalid, "the queue's name is empty"),
        (lambda s: s.insert("x" * 65_537), Invalid, "65536 are allowed"),
        (lambda s: s.insert("\udc80"), UnicodeEncodeError, "surrogates"),
        (lambda s: s.insert("q", "\udc80"), UnicodeEncodeError, "surrogates"),
        (lambda s: s.insert("q", {1, 2}), TypeError, "value is a set, which JSON does not have"),
        (lambda s: s.insert("q", HOLED), TypeError, "value has a key that is a tuple, which"),
        (lambda s: s.insert("q", math.nan), Invalid, "value is nan, which JSON does not have"),
        (lambda s: s.insert("q", [1, {"a b": math.inf}]), Invalid, "value[1]['a b'] is inf, which"),
        (
            lambda s: s.insert("q", {"items": [{}, {"price": Decimal(1)}]}),
            TypeError,
            "value.items[1].price is a Decimal, which JSON does not have",
        ),
        (lambda s: s.insert("q", nested(101)), Invalid, "nested more than 100 deep"),
        (lambda s: s.insert("q", nested(100_000)), Invalid, "value cannot be written as JSON"),
        (lambda s: s.insert("q", circle()), Invalid, "value cannot be written as JSON: Circular"),
        (lambda s: s.insert("q", 10**400), Invalid, "number out of range"),
        (lambda s: s.insert("q", 10**5_000), Invalid, "value cannot be written as JSON"),
        (lambda s: s.insert("q", json='"\\ud800"'), Invalid, "the value is not a JSON text"),
        (lambda s: s.insert("q", "x" * (16 << 20)), Invalid, "16777216 are allowed"),
        (lambda s: s.insert("q", json="{'a': 1}"), Invalid, "the value is not a JSON text"),
        (lambda s: s.insert("q", json=""), Invalid, "the value is not a JSON text"),
        (lambda s: s.insert("q", json=b"1"), TypeError, "json must be str, not bytes"),
        (lambda s: s.insert("q", 1, json="1"), Invalid, "value and json are both given"),
        (lambda s: s.insert("q", 1, "id"), TypeError, "positional"),
        (lambda s: s.insert("q", id=1), TypeError, "id must be str, not int"),
        (lambda s: s.insert("q", id=""), Invalid, "the id is empty"),
        (lambda s: s.insert("q", id=LONG), Invalid, "65 characters; 64 are allowed"),
        (lambda s: s.insert("q", id="a\0b"), Invalid, "NUL"),
        (lambda s: s.insert("q", at_ms=1.0), TypeError, "at_ms must be int, not float"),
        (lambda s: s.insert("q", at_ms=-1), Invalid, "at_ms is negative"),
        (lambda s: s.insert("q", at_ms=10**15), Invalid, "behind the year 9999"),
        (lambda s: s.insert("q", at_ms=2**64), Invalid, "behind the year 9999"),
        (
            lambda s: s.insert("q", at_ms=1, delay=1),
            Invalid,
            "more than one of at, at_ms and delay",
        ),
        (lambda s: s.insert("q", delay="1"), TypeError, "delay must be a number of seconds"),
        (lambda s: s.insert("q", delay=-1), Invalid, "delay is -1"),
        (lambda s: s.insert("q", delay=math.nan), Invalid, "delay is NaN"),
        (lambda s: s.insert("q", delay=math.inf), Invalid, "100 years are allowed"),
        (lambda s: s.insert("q", attempt="1"), TypeError, "attempt must be int, not str"),
        (lambda s: s.insert("q", attempt=2**32), Invalid, "attempt is too large"),
        (lambda s: s.insert("q", err=1), TypeError, "err must be str, not int"),
        (lambda s: s.insert("q", err="x" * 65_537), Invalid, "65536 are allowed"),
        (lambda s: s.insert("q", priority=10), Invalid, "it goes from 0 to 9"),
        (lambda s: s.insert("q", priority=2**70), Invalid, "it goes from 0 to 9"),
        (lambda s: s.insert("q", priority=True), TypeError, "priority must be int, not bool"),
        (lambda s: s.insert("q", ttl=0), Invalid, "a millisecond or more"),
        (lambda s: s.insert("q", ttl=math.inf), Invalid, "100 years are allowed"),
        (lambda s: s.modify(None), TypeError, "modification must be a Modification, not NoneType"),
        (lambda s: s.modify([]), TypeError, "modification must be a Modification, not list"),
        (modify(lambda m: m.insert("q", skip_colliding=1)), TypeError, "'bool'"),
        (modify(lambda m: m.insert("q", id="a").insert("q", id="a")), Invalid, "a is named twice"),
        (modify(lambda m: m.delete(("a", 1)).depend(("a", 1))), Invalid, "a is named twice"),
        (modify(lambda m: m.change(Task("t", 1, "q"))), TypeError, "must be a TaskChange, as"),
        (modify(lambda m: m.change(Task("t", 1).change())), Invalid, "queue's name is empty"),
        (modify(lambda m: m.delete("a")), TypeError, "task must be a Task or (id, version)"),
        (modify(lambda m: m.delete(("a", "1"))), TypeError, "task[1] must be int, not str"),
        (modify(lambda m: m.delete((1, 1))), TypeError, "task[0] must be str, not int"),
        (modify(lambda m: m.delete(("a", 2**64))), Invalid, "task[1] does not fit into 64 bits"),
        (modify(lambda m: m.depend(("a", 1, 2))), TypeError, "task must be a Task or"),
        (modify(lambda m: m.insert_doc("n", "k" * 257)), Invalid, "257 characters; 256 are"),
        (modify(lambda m: m.insert_doc("", "k")), Invalid, "the namespace is empty"),
        (modify(lambda m: m.insert_doc("n", None)), TypeError, "key must be str"),
        (modify(lambda m: m.insert_doc("n", "k", json="x")), Invalid, "the content is not a JSON"),
        (
            modify(lambda m: m.insert_doc("n", "k", 1, json="1")),
            Invalid,
            "content and json are both",
        ),
        (modify(lambda m: m.insert_doc("n", "", 1)), Invalid, "without a key needs an id"),
        (modify(lambda m: m.put_doc("n", "k")), Invalid, "is put needs a content"),
        (modify(lambda m: m.put_doc("n", "k", json=None)), Invalid, "is put needs a content"),
        (modify(lambda m: m.put_doc("n", None, 1)), TypeError, "key must be str"),
        (lambda s: s.put_doc("n", "k", 1, json="1"), Invalid, "content and json are both"),
        (lambda s: s.get_doc("n", None), TypeError, "key must be str"),
        (lambda s: s.get_doc("n", "k", 1), TypeError, "secondary_key must be str"),
        (lambda s: s.get_doc("n", ""), Invalid, "the key is empty"),
        (modify(lambda m: m.change_doc(Doc("n", "d", 1))), TypeError, "must be a DocChange, as"),
        (modify(lambda m: m.delete_doc(("n", "d"))), TypeError, "doc must be a Doc or (namespace"),
        (modify(lambda m: m.depend_doc(("n", 1, 1))), TypeError, "doc[1] must be str, not int"),
        (lambda s: s.claim([]), Invalid, "a claim names at least one queue"),
        (lambda s: s.claim(["q", 1]), TypeError, "queues[1] must be str, not int"),
        (lambda s: s.claim(b"q"), TypeError, "queues must be an iterable"),
        (lambda s: s.claim("q", "30"), TypeError, "lease must be a number of seconds"),
        (lambda s: s.claim("q", -1), Invalid, "lease is -1"),
        (lambda s: s.claim("q", math.inf), Invalid, "100 years are allowed"),
        (lambda s: s.claim_many("q", 0), Invalid, "1 to 1000 tasks, not 0"),
        (lambda s: s.claim_many("q", 1_001), Invalid, "1 to 1000 tasks, not 1001"),
        (lambda s: s.claim_many("q", "1"), TypeError, "max must be int, not str"),
        (lambda s: s.renew(), Invalid, "there is nothing to renew"),
        (lambda s: s.renew([("a", 1), ("a", 2)]), Invalid, "a is named twice"),
        (lambda s: s.renew("a"), TypeError, "tasks must be an iterable"),
        (lambda s: s.renew(["a"]), TypeError, "tasks[0] must be a Task or (id, version)"),
        (lambda s: s.renew((), [("n", "d")]), TypeError, "docs[0] must be a Doc or (namespace"),
        (lambda s: s.fetch([]), Invalid, "at least one id"),
        (lambda s: s.fetch_docs("n", [None]), TypeError, "ids[0] must be str"),
        (lambda s: s.list("q", limit=0), Invalid, "a page has 1 to 10000 entries, not 0"),
        (lambda s: s.list("q", limit=2**70), Invalid, "a page has 1 to 10000 entries"),
        (lambda s: s.list("q", after="a"), TypeError, "after must be a Position or a Task"),
        (lambda s: s.list("q", after=("a", 1)), TypeError, "after[0] must be int, not str"),
        (lambda s: s.list("q", claimant=LONG), Invalid, "the claimant has 65 characters"),
        (lambda s: s.list_docs("n", after=("a", "b")), TypeError, "after must be a DocPosition"),
        (lambda s: s.list_docs("n", start="k" * 257), Invalid, "the start has 257 characters"),
        (lambda s: s.list_docs("n", limit=10_001), Invalid, "a page has 1 to 10000 entries"),
        (lambda s: s.queues(exact=[1]), TypeError, "exact[0] must be str"),
        (lambda s: s.queues(""), Invalid, "the queue's name is empty"),
        (lambda s: s.queue_stats(prefixes=1), TypeError, "prefixes must be an iterable"),
        (lambda s: s.queue_stats(limit=0), Invalid, "1 to 100000"),
        (lambda s: s.namespace_stats(limit=100_001), Invalid, "1 to 100000"),
        (lambda s: s.are_empty(), Invalid, "the filter names no queue"),
        (lambda s: s.claim_docs("n", ["k", ""]), Invalid, "key is empty"),
        (lambda s: s.claim_docs("n", []), Invalid, "a claim names at least one key"),
    ],
)
async def test_calls(
    connect: Any, url: str, name: str, call: Any, error: Any, message: str
) -> None:
    store = connect(url, timeout=60).tasks(name)
    await refused(lambda: call(store), error, message)
    assert await store.queues() == {}
    assert await store.namespace_stats() == []


async def test_handles(connect: Any) -> None:
    client = connect("memory:")
    store = client.tasks("x")
    task, doc = Task("t", 1, "q"), Doc("n", "d", 1)
    for call, error, message in [
        (lambda: client.tasks(None), TypeError, "name must be str, bytes"),
        (lambda: client.tasks("x", "me"), TypeError, "positional"),
        (lambda: client.tasks("x", claimant=b"me"), TypeError, "claimant must be str, not bytes"),
        (lambda: store.claims(1), TypeError, "queues must be an iterable"),
        (lambda: store.claims("q", max="1"), TypeError, "max must be int"),
        (lambda: store.worker("q", 1), TypeError, "positional"),
        (lambda: store.worker("q", backoff=-1), Invalid, "backoff is -1"),
        (lambda: store.worker("q", concurrency=-1), Invalid, "concurrency is negative"),
        (lambda: store.worker("q", timeout=-1), Invalid, "timeout is -1"),
        (lambda: store.worker("q", max_attempts=-1), Invalid, "max_attempts is negative"),
        (lambda: store.worker("q", max_crashes=2**32), Invalid, "max_crashes is too large"),
        (lambda: store.worker("q", error_queue=1), TypeError, "error_queue must be str"),
        (lambda: Task("t"), TypeError, "version"),
        (lambda: Task("t", -1), Invalid, "version is negative"),
        (lambda: Task("t", 1, claims=2**32), Invalid, "claims is too large"),
        (lambda: Doc("n", "d", "1"), TypeError, "version must be int, not str"),
        (lambda: task.change(1, json="1"), Invalid, "value and json are both given"),
        (lambda: task.change(at_ms=1, delay=1), Invalid, "more than one of at, at_ms and delay"),
        (lambda: task.change(queue=1), TypeError, "queue must be str"),
        (lambda: task.change().retry(1), TypeError, "err must be str, not int"),
        (lambda: task.change().retry_or_quarantine("e", "q", -1), Invalid, "max is negative"),
        (lambda: doc.change(delay=1, release=True), Invalid, "release sets the time too"),
        (lambda: Modification(1), TypeError, "positional"),
    ]:
        await refused(call, error, message)


async def test_settings_that_no_store_can_have(connect: Any) -> None:
    client = connect("memory:")
    for store, message in [
        (client.tasks(""), "the store's name is empty"),
        (client.tasks("x" * 100_000), "65536 are allowed"),
        (client.tasks("x", claimant=""), "the claimant is empty"),
        (client.tasks("x", claimant=LONG), "65 characters"),
    ]:
        with pytest.raises(Invalid, match=message) as raised:
            await store.insert("q")
        assert raised.value.operation == "tasks.insert"
    with pytest.raises(Invalid, match="a millisecond or more"):
        await client.tasks("x").worker("q", lease=0).run(pytest.fail)
    for queues in ([], ["", "q"]):
        for loop in (client.tasks("x").claims(queues), client.tasks("x").worker(queues).jobs()):
            with pytest.raises(Invalid):
                [one async for one in loop]


async def test_a_modification_has_a_limit(connect: Any) -> None:
    store = connect("memory:").tasks("x")
    gathered = Modification()
    for number in range(100_000):
        gathered.depend((str(number), 0))
    with pytest.raises(millpond.DependencyError) as raised:
        await store.modify(gathered)
    assert len(raised.value.depends) == 100_000
    with pytest.raises(Invalid, match="100001 entries; 100000 are allowed"):
        await store.modify(gathered.insert("q"))


async def test_what_a_handler_raises(connect: Any, name: str) -> None:
    store = connect("memory:").tasks(name)
    for wrong, error in [(Retry("why", "soon"), TypeError), (Move(1), TypeError)]:  # type: ignore
        await store.insert("q")

        def handle(job: Any, wrong: Any = wrong) -> None:
            raise wrong

        told: list[Any] = []
        worker = store.worker("q", max_attempts=1)
        await worker.drain(handle, lambda job, error: told.extend([type(error), type(error.__cause__)]))
        assert told == [millpond.DeadLetterError, error]
    await store.insert("p")

    def tell(job: Any) -> None:
        raise Retry("x" * 100_000, 5)

    await store.worker("p").drain(tell)
    assert len((await store.list("p")).tasks[0].err) == 65_536
