"""What each call of a task store does, on every backend and for both kinds of callers."""

from __future__ import annotations

import asyncio
import datetime
import time
from typing import Any

import pytest
import redis

import millpond
from millpond import DependencyError, DocId, Modification, Task, TaskId

DAY = datetime.datetime(2026, 11, 22, tzinfo=datetime.timezone.utc)


def now_ms() -> int:
    return int(time.time() * 1000)


async def test_a_task_goes_through(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    began = now_ms()
    inserted = await store.insert("inbox", {"order": 7})
    assert (inserted.queue, inserted.version, inserted.claims) == ("inbox", 0, 0)
    assert (inserted.attempt, inserted.err, inserted.priority) == (0, "", 0)
    assert inserted.expires_ms is None
    assert len(inserted.id) == 16
    assert began - 60_000 < inserted.created_ms == inserted.modified_ms == inserted.at_ms
    task = await store.claim("inbox")
    assert (task.id, task.version, task.claims) == (inserted.id, 1, 1)
    assert task.claimant == store.claimant
    assert 29_000 < task.at_ms - task.modified_ms <= 30_000
    assert await store.claim(["inbox", "other"]) is None
    done = await store.modify(Modification().delete(task).insert("outbox", [1]))
    assert [task.value for task in done.inserted] == [[1]]
    assert (done.changed, done.inserted_docs, done.changed_docs) == ([], [], [])
    assert await store.queues() == {"outbox": 1}


@pytest.mark.parametrize(
    ("value", "json"),
    [
        ({"a": 1, "b": [True, None, 1.5]}, '{"a":1,"b":[true,null,1.5]}'),
        ("Grüße, 世界 \U0001f41f", '"Grüße, 世界 \U0001f41f"'),
        (10**30, "1" + 30 * "0"),
        (-(2**63), "-9223372036854775808"),
        (None, "null"),
        (0, "0"),
        ("", '""'),
        ([], "[]"),
        ((1, 2), "[1,2]"),
        ('a\x00\n"b', '"a\\u0000\\n\\"b"'),
    ],
)
async def test_values(connect: Any, url: str, name: str, value: Any, json: str) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", value)
    task = await store.claim("q")
    assert task.json == json
    assert task.value == (list(value) if isinstance(value, tuple) else value)
    stored = await store.modify(Modification().insert_doc("n", "k", value))
    (doc,) = await store.claim_docs("n", "k")
    assert doc.json == stored.inserted_docs[0].json == json


async def test_texts_are_kept_byte_for_byte(connect: Any, url: str, name: str) -> None:
    store = connect(url, decode_responses=True).tasks(name)
    text = ' { "b" : 1.0, "a": 12345678901234567890.5e3, "a": "\\u00e9" } '
    await store.insert("q", json=text)
    task = await store.claim("q")
    assert task.json == text
    passed_on = await store.modify(Modification().delete(task).insert("p", json=task.json))
    assert passed_on.inserted[0].json == text


async def test_no_value_is_not_null(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    without = await store.insert("q")
    null = await store.insert("q", None)
    assert (without.value, without.json) == (None, None)
    assert (null.value, null.json) == (None, "null")
    assert (await store.insert("q", json=None)).json is None
    gathered = Modification().change(null.change(json=None)).change(without.change(None))
    emptied, filled = (await store.modify(gathered)).changed
    assert (emptied.json, filled.json) == (None, "null")
    docs = Modification().insert_doc("n", "a").insert_doc("n", "b", None)
    empty, null_doc = (await store.modify(docs)).inserted_docs
    assert (empty.json, null_doc.json, null_doc.content) == (None, "null", None)
    kept = Modification().change_doc(null_doc.change())
    kept.change_doc(empty.change(content=None))
    assert [doc.json for doc in (await store.modify(kept)).changed_docs] == ["null", "null"]


async def test_settings_of_an_insert(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name, claimant="me")
    assert store.claimant == "me"
    at_ms = await store.time() + 100_000
    task = await store.insert(
        "q", 1, id="t-1", at_ms=at_ms, attempt=2, err="before", priority=9, ttl=1_000
    )
    assert (task.id, task.at_ms, task.claimant) == ("t-1", at_ms, "me")
    assert (task.attempt, task.err, task.priority) == (2, "before", 9)
    assert task.expires_ms - task.created_ms == 1_000_000
    late = await store.insert("q", delay=datetime.timedelta(minutes=2))
    assert late.at_ms - late.created_ms == 120_000
    past = await store.insert("q", at_ms=5)
    assert past.at_ms == 5
    assert (await store.claim("q")).id == past.id
    assert await store.claim("q") is None
    with pytest.raises(DependencyError) as raised:
        await store.insert("other", id="t-1")
    assert raised.value.inserts == [("t-1", 0)]


async def test_priorities(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for priority in (0, 5, 9, 1):
        await store.insert("q", priority, priority=priority)
    assert [task.value for task in await store.claim_many("q", 3)] == [9, 5, 1]


async def test_all_of_a_modification(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    first = Modification()
    for id in "abcd":
        first.insert("q", id, id=id).insert_doc("n", f"key-{id}", id, id=id, secondary_key="s")
    assert len(first) == 8
    inserted = await store.modify(first)
    tasks, docs = inserted.inserted, inserted.inserted_docs
    assert [task.id for task in tasks] == [doc.id for doc in docs] == list("abcd")
    assert (docs[0].key, docs[0].secondary_key, docs[0].claimant) == ("key-a", "s", "")
    second = Modification().insert("p", id="e").change(tasks[0].change("new", queue="p", err="e"))
    second.delete(tasks[1]).depend(tasks[2]).insert_doc("n", "k", id="e", json="[ ]")
    second.change_doc(docs[0].change("new")).delete_doc(docs[1]).depend_doc(docs[2])
    assert len(second) == 8
    done = await store.modify(second)
    assert [task.id for task in done.inserted] == ["e"]
    (changed,) = done.changed
    assert (changed.value, changed.queue, changed.err, changed.version) == ("new", "p", "e", 1)
    assert [doc.json for doc in done.inserted_docs] == ["[ ]"]
    assert [(doc.content, doc.version) for doc in done.changed_docs] == [("new", 1)]
    assert [task.id for task in await store.fetch("edcba")] == []
    assert [task.id for task in await store.fetch(list("edcba"))] == ["e", "d", "c", "a"]
    assert [doc.id for doc in await store.fetch_docs("n", list("eba"))] == ["e", "a"]
    assert await store.modify(Modification()) == ([], [], [], [])


async def test_handles_in_place_of_records(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for id in "abcd":
        await store.modify(Modification().insert("q", id=id).insert_doc("n", "k", id=id))
    gathered = Modification().delete(("a", 0)).delete(TaskId("b", 0)).depend(["c", 0])
    gathered.delete_doc(("n", "a", 0)).delete_doc(DocId("n", "b", 0)).depend_doc(["n", "c", 0])
    await store.modify(gathered)
    assert await store.queues() == {"q": 2}
    assert await store.namespace_stats() == [("n", 2, 0)]
    made = Task("c", 0, "q").change(queue="p", attempt=3)
    assert (await store.modify(Modification().change(made))).changed[0].attempt == 3
    made_doc = millpond.Doc("n", "d", 0).change(delay=60)
    (doc,) = (await store.modify(Modification().change_doc(made_doc))).changed_docs
    assert doc.claimant == store.claimant
    assert doc.at_ms - doc.modified_ms == 60_000
    released = Modification().change_doc(doc.change(release=True))
    assert (await store.modify(released)).changed_docs[0].claimant == ""


async def test_changes(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", {"n": 1})
    task = await store.claim("q")

    async def changed(change: Any) -> Any:
        return (await store.modify(Modification().change(change))).changed[0]

    held = await changed(task.change(delay=60))
    assert (held.claimant, held.value, held.claims) == (store.claimant, {"n": 1}, 1)
    assert held.at_ms - held.modified_ms == 60_000
    released = await changed(held.change(value={"n": 2}, attempt=7))
    assert (released.claimant, released.value, released.attempt) == ("", {"n": 2}, 7)
    tried = await changed(released.change(err="one").retry("two").retry(""))
    assert (tried.attempt, tried.err, tried.queue) == (9, "one\ntwo", "q")
    again = await changed(tried.change(delay=5).retry_or_quarantine("three", "bad", 11))
    assert (again.attempt, again.queue) == (10, "q")
    again = await changed(again.change().retry_or_quarantine("four", "bad", max=11))
    assert (again.attempt, again.queue, again.err) == (11, "bad", "one\ntwo\nthree\nfour")
    moved = await changed(again.change().quarantine("five", "worse").replace(at_ms=7, attempt=0))
    assert (moved.queue, moved.attempt, moved.at_ms) == ("worse", 0, 7)


async def test_who_may_change(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    ann, bob = client.tasks(name, claimant="ann"), client.tasks(name, claimant="bob")
    await ann.insert("q", id="t")
    task = await ann.claim("q")
    with pytest.raises(DependencyError) as raised:
        await bob.modify(Modification().delete(task))
    error = raised.value
    assert (error.code, error.name, error.retry) == (22, "DEPENDENCY", "never")
    assert error.operation == "tasks.modify"
    assert error.claims == [TaskId("t", 1)]
    assert error.only_claims and error.has_claims
    assert not (error.has_missing or error.has_collisions or error.has_claimed_docs)
    await ann.modify(Modification().delete(task))


async def test_all_that_is_wrong_at_once(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    ann, bob = client.tasks(name), client.tasks(name)
    for id in ("taken", "held"):
        await ann.modify(Modification().insert(id, id=id).insert_doc("n", id, id=id))
    held = await ann.claim("held")
    (held_doc,) = await ann.claim_docs("n", "held")
    wrong = Modification().insert("q", id="taken").insert_doc("n", "k", id="taken")
    wrong.change(Task("c", 1, "q").change()).delete(("d", 2)).depend(("e", 3)).delete(held)
    wrong.change_doc(millpond.Doc("n", "c", 1).change()).delete_doc(("n", "d", 2))
    wrong.depend_doc(("n", "e", 3)).change_doc(held_doc.change(content=1))
    wrong.insert("q", id="not inserted")
    with pytest.raises(DependencyError) as raised:
        await bob.modify(wrong)
    error = raised.value
    assert error.inserts == [TaskId(id="taken", version=0)]
    assert (error.changes, error.deletes, error.depends) == ([("c", 1)], [("d", 2)], [("e", 3)])
    assert error.claims == [("held", 1)]
    assert error.doc_inserts == [DocId(namespace="n", id="taken", version=0)]
    assert (error.doc_changes, error.doc_deletes) == ([("n", "c", 1)], [("n", "d", 2)])
    assert (error.doc_depends, error.doc_claims) == ([("n", "e", 3)], [("n", "held", 1)])
    assert error.has_missing and error.has_missing_docs and error.has_collisions
    assert error.has_claims and error.has_claimed_docs and not error.only_claims
    for part in ("task c is not at version 1", "document n/d is not at version 2", "taken"):
        assert part in str(error)
    assert await ann.fetch("not inserted") == []


async def test_what_is_there_can_be_skipped(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    await store.modify(Modification().insert("q", 1, id="t").insert_doc("n", "k", 1, id="d"))
    assert await store.insert("q", 2, id="t", skip_colliding=True) is None
    other = await store.insert("q", 2, id="v", skip_colliding=True, at=DAY)
    assert (other.id, other.value, other.at) == ("v", 2, DAY)
    await store.modify(Modification().delete(other))
    again = Modification().insert("q", 2, id="t", skip_colliding=True).insert("q", id="u")
    again.insert_doc("n", "k", 2, id="d", skip_colliding=True)
    done = await store.modify(again)
    assert [task.id for task in done.inserted] == ["u"]
    assert done.inserted_docs == []
    assert [task.value for task in await store.fetch("t")] == [1]


async def test_claims_of_several_queues(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for number in range(10):
        await store.insert(f"q{number % 2}", number)
    claimed = await store.claim_many(("q0", "q1", "q0"), 7, lease=60)
    claimed += await store.claim_many((queue for queue in ["q1", "q0"]), max=7)
    assert sorted(task.value for task in claimed) == list(range(10))
    assert await store.claim_many(["q0", "q1"], 7) == []


async def test_a_lease_ends(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", id="t")
    first = await store.claim("q", lease=0.05)
    await asyncio.sleep(0.1)
    second = await store.claim("q", lease=datetime.timedelta(seconds=60))
    assert (second.id, second.version, second.claims) == ("t", 2, 2)
    with pytest.raises(DependencyError) as raised:
        await store.modify(Modification().delete(first))
    assert raised.value.deletes == [("t", 1)]
    assert await store.claim("q", lease=0) is None


async def test_renewals(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    store = client.tasks(name)
    await store.insert("q", id="t")
    await store.modify(Modification().insert_doc("n", "k", id="d"))
    task = await store.claim("q", lease=10)
    (doc,) = await store.claim_docs("n", "k", lease=10)
    renewed = await store.renew(task, [doc], lease=100)
    assert (renewed.tasks, renewed.docs) == ([TaskId("t", 2)], [DocId("n", "d", 2)])
    assert renewed.at_ms > task.at_ms + 80_000
    renewed = await store.renew(renewed.tasks[0])
    assert (renewed.tasks, renewed.docs) == ([("t", 3)], [])
    renewed = await store.renew(docs=iter([DocId("n", "d", 2)]))
    assert renewed.docs == [("n", "d", 3)]
    with pytest.raises(DependencyError) as raised:
        await client.tasks(name).renew([("t", 3)], ("n", "d", 2))
    assert (raised.value.claims, raised.value.doc_changes) == ([("t", 3)], [("n", "d", 2)])
    assert raised.value.operation == "tasks.renew"


async def test_pages_of_a_queue(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name, claimant="me")
    for number in range(5):
        await store.insert("q", number, id=f"t{number}", at_ms=1_000 + number // 2)
    page = await store.list("q", limit=2)
    assert [task.value for task in page.tasks] == [0, 1]
    assert page.next == millpond.Position(1_000, "t1")
    rest = await store.list("q", after=page.next)
    assert ([task.value for task in rest.tasks], rest.next) == ([2, 3, 4], None)
    assert await store.list("q", after=page.tasks[-1]) == rest
    assert await store.list("q", after=(1_000, "t1"), omit_values=False) == rest
    without = await store.list("q", omit_values=True)
    assert [task.json for task in without.tasks] == [None] * 5
    await store.claim("q")
    assert len((await store.list("q", claimant="me")).tasks) == 5
    assert len((await store.list("q", claimant="you")).tasks) == 4
    assert await store.list("nothing") == ([], None)


async def test_queues_and_their_stats(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for queue, count in (("mail/in", 2), ("mail/out", 3), ("=", 1)):
        for _ in range(count):
            await store.insert(queue)
    await store.insert("mail/in", delay=60)
    await store.claim("mail/out")
    assert await store.queues() == {"=": 1, "mail/in": 3, "mail/out": 3}
    assert list(await store.queues(prefixes="mail/")) == ["mail/in", "mail/out"]
    assert await store.queues("=", ["mail/o"]) == {"=": 1, "mail/out": 3}
    assert await store.queues(exact=["=", "none"], limit=5) == {"=": 1}
    assert await store.queues(limit=1) == {"=": 1}
    await store.pause("mail/in")
    ready = (await store.list("mail/in")).tasks[0].at_ms
    free, _, held = [task.at_ms for task in (await store.list("mail/out")).tasks]
    assert await store.queue_stats(prefixes=["mail/"]) == [
        millpond.QueueStats("mail/in", 3, 2, 0, 1, 0, True, ready, None, 0),
        millpond.QueueStats("mail/out", 3, 2, 1, 0, 1, False, free, held, 0),
    ]
    await store.resume("mail/in")
    assert await store.are_empty("none", prefixes="x") is True
    assert await store.are_empty(["none", "="]) is False


async def test_a_seed_that_runs_twice(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    store = client.tasks(name)
    seed = Modification().insert_doc("accounts", "ann", {"balance": 100})
    (ann,) = (await store.modify(seed)).inserted_docs
    assert ann.id == "ann"
    with pytest.raises(DependencyError) as raised:
        await store.modify(seed)
    assert raised.value.doc_inserts == [("accounts", "ann", 0)]
    (account,) = await store.claim_docs("accounts", "ann")
    put = await store.put_doc("accounts", "ann", {"balance": 70})
    assert (put.version, put.content, put.at_ms) == (2, {"balance": 70}, account.at_ms)
    assert await store.get_doc("accounts", "ann") == put
    assert await store.get_doc("accounts", "ann", "2026") is None
    of_2026 = await store.put_doc("accounts", "ann", json="[ ]", secondary_key="2026")
    assert (of_2026.id, of_2026.json) == ("ann|2026", "[ ]")
    assert await store.get_doc("accounts", "ann", secondary_key="2026") == of_2026
    assert (await store.put_doc("accounts", "ann", 1, id="own")).id == "own"
    gathered = Modification().put_doc("accounts", "bob", None).put_doc("accounts", "ann", 5)
    put = (await store.modify(gathered)).inserted_docs
    assert [(doc.id, doc.version, doc.json) for doc in put] == [("bob", 0, "null"), ("ann", 3, "5")]
    with pytest.raises(DependencyError) as raised:
        await client.tasks(name).put_doc("accounts", "ann", 6)
    assert raised.value.doc_claims == [("accounts", "ann", 3)]


async def test_documents(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    store, other = client.tasks(name), client.tasks(name)
    gathered = Modification()
    for key in "abc":
        for secondary in "21":
            gathered.insert_doc(
                "n", key, key + secondary, id=key + secondary, secondary_key=secondary
            )
    await store.modify(gathered.insert_doc("m", "a"))
    claimed = await store.claim_docs("n", "b", lease=60)
    assert [(doc.content, doc.version) for doc in claimed] == [("b1", 1), ("b2", 1)]
    assert claimed[0].claimant == store.claimant
    with pytest.raises(DependencyError) as raised:
        await other.claim_docs("n", "b")
    assert raised.value.doc_claims == [("n", "b1", 1), ("n", "b2", 1)]
    assert raised.value.only_claims
    assert await other.claim_docs("n", "none") == []
    assert await store.namespace_stats() == [("m", 1, 0), ("n", 6, 2)]
    assert await store.namespace_stats("n") == [millpond.NamespaceStats("n", 6, 2)]
    page = await store.list_docs("n", start="a", end="c", limit=3)
    assert [doc.content for doc in page.docs] == ["a1", "a2", "b1"]
    assert page.next == millpond.DocPosition("b", "1", "b1")
    for after in (page.next, page.docs[-1], ("b", "1", "b1")):
        rest = await store.list_docs("n", end="c", after=after)
        assert ([doc.content for doc in rest.docs], rest.next) == (["b2"], None)
    without = await store.list_docs("n", omit_contents=True)
    assert [doc.json for doc in without.docs] == [None] * 6


async def test_the_loop(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for number in range(10):
        await store.insert("q", number)
    sizes, seen = [], []
    async for batch in store.claims("q", max=4, lease=60):
        sizes.append(len(batch))
        done = Modification()
        for task in batch:
            seen.append(task.value)
            done.delete(task)
        await store.modify(done)
    assert (sizes, sorted(seen)) == ([4, 4, 2], list(range(10)))


@pytest.mark.parametrize("how", ["claims", "jobs"])
async def test_waiting_sees_what_falls_due_in_any_queue(
    connect: Any, url: str, name: str, how: str
) -> None:
    store = connect(url).tasks(name)
    queues = ["q", "other"]
    await store.insert("other", 1, delay=0.2)
    if how == "claims":
        (task,) = await store.claims(queues, wait=60).__anext__()
    else:
        task = (await store.worker(queues, wait=60).jobs().__anext__()).task
    assert (task.queue, task.value) == ("other", 1)


async def test_the_clock(connect: Any, url: str, name: str) -> None:
    assert abs(await connect(url).tasks(name).time() - now_ms()) < 60_000


async def test_errors_name_the_operation(connect: Any, shared_server: Any, name: str) -> None:
    server = redis.Redis.from_url(shared_server.url)
    server.set(f"{{{name}}}:tasks", "x")
    store = connect(shared_server.url).tasks(name)
    with pytest.raises(millpond.WrongTypeError, match=name) as raised:
        await store.insert("q")
    assert raised.value.operation == "tasks.insert"
    with pytest.raises(millpond.WrongTypeError) as raised:
        await store.claim("q")
    assert raised.value.operation == "tasks.claim"


def test_a_file_is_durable(tmp_path: Any) -> None:
    url = f"file:{tmp_path / 'data'}"
    with millpond.connect(url) as client:
        store = client.tasks("x", claimant="me")
        store.modify(Modification().insert("q", {"n": 1}, id="t").insert_doc("n", "k", [1], id="d"))
        taken = store.claim("q", lease=600)
    with millpond.connect(url) as client:
        store = client.tasks("x", claimant="me")
        assert store.fetch("t") == [taken]
        assert [doc.content for doc in store.fetch_docs("n", ["d"])] == [[1]]
        store.modify(Modification().delete(taken))
