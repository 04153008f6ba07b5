"""Workers: jobs that renew themselves, and what happens to those that fail."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import callers
import pytest
from waiting import (
    PATIENCE,
    SOON,
    delete_held,
    delete_held_async,
    renewals,
    renewing,
    until,
    until_async,
    until_not_renewed,
)

import millpond
import millpond.aio
from millpond import DependencyError, LeaseLostError, Modification, Move, Release, Retry

DONE = object()


async def only(store: Any, queue: str) -> Any:
    (task,) = (await store.list(queue)).tasks
    return task


async def test_jobs(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", {"n": 1})
    async for job in store.worker("q").jobs():
        assert (job.task.value, job.task.claims, job.is_lost) == ({"n": 1}, 1, False)
        assert job.handle == millpond.TaskId(job.task.id, 1)
        done = await job.finish(job.delete().insert("p", 2))
        assert [task.value for task in done.inserted] == [2]
    assert await store.queues() == {"p": 1}


async def test_every_end(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for number, end in enumerate(["done", "retry", "later", "move", "release"]):
        await store.insert("q", end, id=end, priority=9 - number)
    jobs = store.worker("q", backoff=100, backoff_max=100).jobs()
    ends = [await jobs.__anext__() for _ in range(5)]
    assert [job.task.value for job in ends] == ["done", "retry", "later", "move", "release"]
    assert await ends[0].done() == ([], [], [], [])
    (retried,) = (await ends[1].retry("why")).changed
    assert (retried.attempt, retried.err, retried.claims) == (1, "why", 1)
    assert 50_000 <= retried.at_ms - retried.modified_ms <= 100_000
    (later,) = (await ends[2].retry("why", delay=7)).changed
    assert later.at_ms - later.modified_ms == 7_000
    (moved,) = (await ends[3].move_to("p", "why")).changed
    assert (moved.queue, moved.attempt, moved.err, moved.claimant) == ("p", 1, "why", "")
    (released,) = (await ends[4].release()).changed
    assert (released.attempt, released.err, released.claimant) == (0, "", store.claimant)
    assert 50 <= released.at_ms - released.modified_ms <= 100
    assert all(job.is_ended for job in ends)
    # What has ended cannot end again.
    for job in ends:
        with pytest.raises(LeaseLostError):
            await job.done()


async def test_a_block_releases_the_job_that_it_is_left_in(
    connect: Any, url: str, name: str
) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", 1)
    async with store.worker("q").jobs() as jobs:
        async for job in jobs:
            break
    assert job.is_ended and (await only(store, "q")).claimant == ""
    with pytest.raises(ZeroDivisionError):
        async with store.worker("q").jobs() as jobs:
            async for job in jobs:
                raise ZeroDivisionError
    released = await only(store, "q")
    assert (released.claims, released.attempt, released.at_ms) == (2, 0, released.modified_ms)
    # What ended stays as it ended, and what another one works on is left to it.
    async with store.worker("q").jobs() as jobs:
        async for job in jobs:
            await job.retry("why", delay=60)
            break
    assert (await only(store, "q")).err == "why"
    await store.insert("p", 1)
    async with store.worker("p").jobs() as jobs:
        kept = [job async for job in jobs]
    assert not kept[0].is_ended and await store.claim("p") is None


async def test_a_handler_says_how_its_job_ends(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    ends: dict[str, Any] = {
        "none": None,
        "modification": DONE,
        "retry": Retry("why", 60),
        "soon": Retry(ValueError("why"), delay=0),
        "move": Move("p", "why"),
        "bare": ZeroDivisionError(),
        "error": ValueError("it \udc80 broke"),
        "dependency": DependencyError("of its own"),
    }
    for end in ends:
        await store.insert("q", end, id=end)
    tries: dict[str, int] = {}

    def handle(job: Any) -> Any:
        end = job.task.value
        tries[end] = tries.get(end, 0) + 1
        if tries[end] > 1:
            return None
        if isinstance(ends[end], Exception):
            raise ends[end]
        return ends[end] and job.delete().insert("next", end)

    await store.worker("q", backoff=60).drain(handle)
    assert tries == {**dict.fromkeys(ends, 1), "soon": 2}
    assert (await only(store, "next")).value == "modification"
    moved = await only(store, "p")
    assert (moved.id, moved.err, moved.attempt) == ("move", "why", 1)
    left = {task.id: task.err for task in (await store.list("q")).tasks}
    assert left == {
        "retry": "why",
        "bare": "ZeroDivisionError",
        "error": "ValueError: it ? broke",
        "dependency": "millpond.errors.DependencyError: of its own",
    }


async def test_a_handler_releases(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    await store.insert("q")
    claims = []

    def handle(job: Any) -> None:
        claims.append(job.task.claims)
        if len(claims) < 3:
            raise Release(0)

    await store.worker("q", max_crashes=1).drain(handle)
    assert claims == [1, 2, 3]


async def test_a_handler_can_be_a_coroutine(url: str, name: str) -> None:
    store = millpond.aio.connect(url).tasks(name)
    await store.modify(Modification().insert_doc("n", "k", 1, id="d").insert("q", id="t"))

    async def handle(job: millpond.aio.Job) -> Modification:
        (doc,) = await job.claim_docs("n", "k")
        await asyncio.sleep(0)
        return job.delete().change_doc(doc.change(doc.content + 1, release=True))

    await store.worker("q").drain(handle)
    (doc,) = (await store.list_docs("n")).docs
    assert (doc.content, doc.claimant) == (2, "")


async def test_what_fails_too_often_goes_to_the_error_queue(
    connect: Any, url: str, name: str
) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", id="a")
    tries = []

    def handle(job: Any) -> None:
        tries.append(job.task.attempt)
        raise LookupError(len(tries))

    worker = store.worker("q", backoff=0, backoff_max=0, max_attempts=3)
    await worker.drain(handle)
    assert tries == [0, 1, 2]
    put_aside = await only(store, "q/err")
    assert put_aside.err == "LookupError: 1\nLookupError: 2\nexhausted: LookupError: 3"
    await store.insert("q", id="b")
    await store.worker("q", max_attempts=1, error_queue="bad").drain(handle)
    assert (await only(store, "bad")).id == "b"


async def test_what_kills_its_workers_goes_to_the_error_queue(
    connect: Any, url: str, name: str
) -> None:
    store = connect(url).tasks(name)
    await store.insert("q")
    for _ in range(2):
        await store.claim("q", lease=0)
    await store.worker("q", max_crashes=2, error_queue="bad").drain(pytest.fail)
    put_aside = await only(store, "bad")
    assert put_aside.err == "crashed: claimed 2 times without an end"


async def test_a_job_outlasts_its_lease(connect: Any, url: str, name: str) -> None:
    client = connect(renewing(url))
    store, other = client.tasks(name), client.tasks(name)
    await store.modify(Modification().insert("q").insert_doc("n", "k", [1]))
    async for job in store.worker("q", lease=60).jobs():
        (doc,) = await job.claim_docs("n", "k")
        # The second renewal is the first that surely has the document.
        for _ in range(3):
            await renewals(job, 1)
            assert not job.is_lost
            assert await other.claim("q") is None
        with pytest.raises(DependencyError):
            await other.claim_docs("n", "k")
        # As others see it too: the leases end later than they did.
        (task,) = await other.fetch(job.task.id)
        assert task.version >= job.task.version + 3 and task.at_ms > job.task.at_ms
        (renewed,) = await other.fetch_docs("n", [doc.id])
        assert renewed.at_ms > doc.at_ms
        await job.finish(job.delete().change_doc(doc.change([2], release=True)))
    assert await store.are_empty("q")
    assert [doc.content for doc in await other.claim_docs("n", "k")] == [[2]]


async def test_a_busy_handler_keeps_its_job(connect: Any, url: str, name: str) -> None:
    store = connect(renewing(url)).tasks(name)
    await store.insert("q")
    versions = []

    def handle(job: Any) -> None:
        end = time.monotonic() + PATIENCE
        # Nobody else gets the interpreter's lock for long.
        while job.handle.version < job.task.version + 3 and time.monotonic() < end:
            pass
        versions.append(job.handle.version - job.task.version)
        assert not job.is_lost

    await store.worker("q", lease=60).drain(handle)
    assert len(versions) == 1 and versions[0] >= 3
    assert await store.are_empty("q")


async def test_a_handler_sees_that_its_lease_is_lost(
    connect: Any, shared_server: Any, name: str
) -> None:
    store = connect(renewing(shared_server.url)).tasks(name)
    for number in range(2):
        await store.insert("q", number, priority=number)
    lost = []

    def handle(job: Any) -> None:
        if job.task.value == 1:
            # Another client uses the claimant's name, by a call that blocks for a handler of
            # either kind.
            claimant = job.task.claimant
            thief = millpond.connect(shared_server.url).tasks(name, claimant=claimant)
            delete_held(thief, job)
            until(lambda: job.is_lost)
        lost.append((job.task.value, job.is_lost))

    await store.worker("q", lease=60).drain(handle)
    assert lost == [(1, True), (0, False)]
    assert await store.are_empty("q")


async def test_a_job_that_is_taken_away(connect: Any, url: str, name: str) -> None:
    client = connect(renewing(url))
    store = client.tasks(name, claimant="ann")
    await store.insert("q", 1)
    async for job in store.worker("q", lease=60).jobs():
        assert job.task.claimant.startswith("ann/")
        end = time.monotonic() + PATIENCE
        claims: list[Any] = []
        # Again if it was renewed at the same moment, as another version is no other's claim.
        while not claims and time.monotonic() < end:
            handle = job.handle
            with pytest.raises(DependencyError) as raised:
                await store.modify(Modification().delete(handle))
            claims = raised.value.claims
        assert claims == [handle]
        thief = client.tasks(name, claimant=job.task.claimant)
        await delete_held_async(thief, job)
        await until_async(lambda: job.is_lost)
        with pytest.raises(LeaseLostError):
            await job.done()


async def test_documents_of_a_job(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    store, other = client.tasks(name), client.tasks(name)
    gathered = Modification().insert("q")
    await store.modify(gathered.insert_doc("n", "a", 1, id="a").insert_doc("n", "b", 2, id="b"))
    async for job in store.worker("q").jobs():
        assert len(await job.claim_docs("n", "a") + await job.claim_docs("n", "b")) == 2
        await other.insert("p")
        async for other_job in other.worker("p").jobs():
            with pytest.raises(DependencyError) as raised:
                await other_job.claim_docs("n", "b")
            assert raised.value.doc_claims == [("n", "b", 1)]
            await other_job.done()
        await job.finish(job.delete().delete_doc(("n", "b", 1)))
    (doc,) = await other.claim_docs("n", "a")
    assert doc.content == 1
    assert await store.namespace_stats() == [("n", 1, 1)]


async def test_a_forgotten_job_is_not_renewed(connect: Any, url: str, name: str) -> None:
    client = connect(renewing(url))
    store = client.tasks(name)
    await store.insert("q")
    jobs = store.worker("q", lease=60).jobs()
    job = await jobs.__anext__()
    await renewals(job, 1)
    task = job.task
    del job
    gc.collect()
    left = await until_not_renewed(store, task.id)
    assert (left.claims, left.claimant) == (1, task.claimant)
    # Its lease ends here, since a minute is long.
    await client.tasks(name, claimant=task.claimant).renew(left, lease=0.05)
    (task,) = await client.tasks(name).claims("q", wait=PATIENCE).__anext__()
    assert task.claims == 2


@pytest.mark.parametrize(("ends", "attempt"), [(KeyboardInterrupt, 0), (SystemExit, 1)])
def test_what_ends_a_program(url: str, name: str, ends: Any, attempt: int) -> None:
    # An exit is an attempt: one such job would end all programs for ever.
    store = millpond.connect(url).tasks(name)
    store.insert("q")

    def handle(job: Any) -> None:
        raise ends

    with pytest.raises(ends):
        store.worker("q", concurrency=2).run(handle)
    (task,) = store.list("q").tasks
    # A claim of the other thread may be under way when the run ends: what it brings is given back as well.
    assert task.claims in (1, 2)
    assert (task.attempt, task.err) == (attempt, "SystemExit" if attempt else "")
    assert (task.at_ms > task.modified_ms) == (attempt > 0)


SIGNALLED = pytest.mark.parametrize("ends", [RuntimeError, SystemExit])


def is_untried(store: Any) -> bool:
    (task,) = store.list("q").tasks
    return (task.attempt, task.err, task.at_ms > task.modified_ms) == (0, "", False)


@contextlib.contextmanager
def raising_at_sigterm(ends: type[BaseException]) -> Any:
    def stop(number: int, frame: Any) -> None:
        raise ends

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(ends):
            yield lambda job: signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        signal.signal(signal.SIGTERM, before)


@SIGNALLED
def test_what_a_signal_handler_raises_is_no_attempt(url: str, name: str, ends: Any) -> None:
    store = millpond.connect(url).tasks(name)
    store.insert("q")
    with raising_at_sigterm(ends) as handle:
        store.worker("q").run(handle, stop_on_signals=False)
    assert is_untried(store)


def test_what_a_signal_handler_raises_is_no_attempt_in_a_task(url: str, name: str) -> None:
    url = f"memory:{name}" if url == "memory:" else url
    store = millpond.connect(url).tasks(name)
    store.insert("q")
    with raising_at_sigterm(RuntimeError) as handle:
        worker = millpond.aio.connect(url).tasks(name).worker("q")
        asyncio.run(worker.run(handle, stop_on_signals=False))
    assert is_untried(store)


async def test_any_value_ends_a_job(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for value in (5, "done", [], {}, {"status": "sent"}, False):
        await store.insert("q", value)
    assert await store.worker("q").drain(lambda job: job.task.value) == (6, 0, 0, 0)
    assert await store.queues() == {}


async def test_why_what_was_meant_failed(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", id="t")
    ends = [
        lambda job: {"inserts": []},
        lambda job: [job.task.change()],
        lambda job: iter_nothing(),
        lambda job: job.delete().insert(""),
        lambda job: job.delete().depend(("none", 7)),
    ]

    def iter_nothing() -> Any:
        yield

    told: list[Any] = []
    worker = store.worker("q", backoff=0, backoff_max=0, max_attempts=len(ends))
    drained = await worker.drain(
        lambda job: ends[job.task.attempt](job), lambda job, error: told.append((job, error))
    )
    assert drained == (0, len(ends) - 1, 1, 0)
    advice = "return a Modification, such as `job.delete().insert(queue, value)`"
    lines = [
        f"TypeError: the handler returned a dict with the key 'inserts', as if it were a modification: {advice}",
        f"TypeError: the handler returned a list with a change that is in no Modification: {advice}",
        "TypeError: the handler returned a generator that nobody ran",
        "the queue's name is empty",
    ]
    err = (await only(store, "q/err")).err.splitlines()
    assert err[:4] == lines and err[4].startswith("exhausted: ")
    assert "task none is not at version 7 any more" in err[4]
    assert [type(error).__name__ for _, error in told] == [
        *["TypeError"] * 3,
        "InvalidArgumentError",
        "DeadLetterError",
    ]
    assert {job.task.id for job, _ in told} == {"t"} and "task none is not at version 7" in str(told[4][1])


def test_a_backoff_that_is_too_long() -> None:
    worker = millpond.connect("memory:").tasks("x").worker("q", backoff=7_200)
    with pytest.raises(millpond.InvalidArgumentError, match="the backoff is 7200s"):
        worker.run(print)


async def test_troubles_are_logged(
    connect: Any, url: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = connect(url).tasks(name)
    await store.insert("q", id="t")
    events: list[Any] = []

    def handle(job: Any) -> None:
        raise ZeroDivisionError("why")

    def on_event(report: Any) -> None:
        events.append(report)
        raise LookupError

    await store.worker("q", max_attempts=1).drain(handle, on_event=on_event)
    hook, dead = caplog.records
    assert hook.exc_info and hook.exc_info[0] is LookupError
    (report,) = events
    assert (report.kind, report.job.task.id, type(report.error)) == ("dead", "t", millpond.DeadLetterError)
    assert (dead.name, dead.levelname, dead.getMessage()) == ("millpond", "ERROR", report.message)
    assert dead.exc_info and dead.exc_info[0] is ZeroDivisionError
    assert "exhausted: ZeroDivisionError: why" in report.message


async def test_jobs_run_at_once(connect: Any, url: str, name: str) -> None:
    store = connect(url).tasks(name)
    for _ in range(6):
        await store.insert("q")
    running, most = set(), []
    worker = store.worker("q", concurrency=3, prefetch=1)
    here = threading.Condition()

    def threads(job: Any) -> None:
        with here:
            running.add(job)
            most.append(len(running))
            here.notify_all()
            assert here.wait_for(lambda: max(most) == 3, SOON)
            running.discard(job)
        if len(most) == 6:
            worker.stop()

    async def tasks(job: Any) -> None:
        running.add(job)
        most.append(len(running))
        await until_async(lambda: max(most) == 3)
        running.discard(job)
        if len(most) == 6:
            worker.stop()

    await worker.run(threads if isinstance(store, callers.Awaited) else tasks)
    assert max(most) == 3 and await store.queues() == {}


async def test_a_stop_waits_and_gives_back_what_nobody_has_begun(
    connect: Any, url: str, name: str
) -> None:
    store = connect(url).tasks(name)
    for number in range(4):
        await store.insert("q", number)
    worker = store.worker("q", concurrency=1, prefetch=3)

    def handle(job: Any) -> None:
        worker.stop()
        assert not job.is_lost

    await worker.run(handle)
    tasks = (await store.list("q")).tasks
    assert [(task.claimant, task.attempt) for task in tasks] == [("", 0)] * 3
    await worker.run(pytest.fail)  # It stays stopped.


async def test_what_runs_at_the_deadline_of_a_stop_is_given_back(
    connect: Any, url: str, name: str
) -> None:
    client = connect(url)
    store = client.tasks(name)
    await store.insert("q")
    worker = store.worker("q", concurrency=1, lease=60)

    def handle(job: Any) -> Modification:
        worker.stop(0.05)
        until(lambda: job.is_lost)
        return job.delete().insert("p")

    await worker.run(handle)
    (task,) = await client.tasks(name).claims("q", wait=PATIENCE).__anext__()
    assert (task.claims, task.attempt) == (2, 0)
    assert await store.queues() == {"q": 1}


@pytest.mark.parametrize("ends", ["lost", "stopped", "cancelled", "late"])
async def test_a_coroutine_is_cancelled(
    url: str, name: str, ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = millpond.aio.connect(renewing(url))
    store = client.tasks(name)
    await store.insert("q", id="t")
    timeout = 0.05 if ends == "late" else None
    worker = store.worker("q", lease=60, timeout=timeout, max_attempts=1)
    ended: list[Any] = []

    async def handle(job: Any) -> None:
        thief = client.tasks(name, claimant=job.task.claimant)
        if ends == "lost":
            await delete_held_async(thief, job)
        elif ends == "stopped":
            worker.stop(0.01)
        elif ends == "cancelled":
            assert await store.cancel(job.task.id) == [True]
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(job)
            worker.stop()

    reports: list[Any] = []
    await worker.run(handle, on_event=lambda report: reports.append(report.kind))
    assert [job.is_lost for job in ended] == [ends in ("lost", "stopped")]
    told = {"lost": "lost", "stopped": "released", "cancelled": "cancelled", "late": "dead"}
    assert reports == [told[ends]]
    if ends == "late":
        # What was left of the timeout when the handler began, of which a busy machine takes a part.
        err = (await only(store, "q/err")).err
        assert re.fullmatch(r"exhausted: timeout: it took longer than 0\.0\d+s", err), err
    else:
        assert await store.queues() == ({"q": 1} if ends == "stopped" else {})


async def test_what_a_handler_ends_itself_is_left_alone(
    url: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = millpond.aio.connect(url).tasks(name)
    await store.insert("q")

    async def handle(job: Any) -> None:
        await job.retry("by hand", 60)

    await store.worker("q").drain(handle)
    assert (await only(store, "q")).err == "by hand"
    assert not caplog.records


PROGRAM = """
import asyncio, sys, time
import millpond, millpond.aio

url, name, kind = sys.argv[1:]

def work(job):
    time.sleep(0.02)
    return ended(job)

async def work_later(job):
    await asyncio.sleep(0.02)
    return ended(job)

def ended(job):
    sys.stdout.write(f"{job.task.value}\\n")  # in one piece, from any thread
    sys.stdout.flush()
    return job.delete().insert("done", job.task.value)

def worker(package):
    return package.connect(url).tasks(name).worker("q", concurrency=4, prefetch=8, lease=60)

async def main():
    await worker(millpond.aio).run(work_later)

asyncio.run(main()) if kind == "asyncio" else worker(millpond).run(work)
"""


@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_program_and_interrupts_no_job(
    shared_server: Any, name: str, kind: str, number: int
) -> None:
    store = millpond.connect(shared_server.url).tasks(name)
    for value in range(150):
        store.insert("q", value)
    ran: list[str] = []
    for enough in (20, 150):
        command = [sys.executable, "-c", PROGRAM, shared_server.url, name, kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            try:
                assert program.stdout
                while len(ran) < enough:
                    ran.append(program.stdout.readline())
                program.send_signal(number)
                ran += program.stdout
            except BaseException:
                program.kill()  # as leaving the block waits for it
                raise
        assert program.returncode == 0
        # What nobody has begun is available at once, and the rest is done.
        assert [stats.claimed for stats in store.queue_stats("q")] in ([0], [])
        assert store.queues().get("done") == len(ran)
    assert sorted(map(int, ran)) == list(range(150))
    assert store.queues() == {"done": 150}


TASKS = 40

LONG = 600.0
"""Seconds of a lease that is longer than a test may take, which without exclusion takes one."""

on_memory_and_redis = pytest.mark.parametrize("url", ["memory", "redis"], indirect=True)


def trap(store: Any) -> Any:
    """Tasks of one document, which each add 1 to it."""
    gathered = Modification().insert_doc("n", "k", 0)
    for _ in range(TASKS):
        gathered.insert("q")
    return store.modify(gathered)


def added(job: Any, doc: Any) -> Modification:
    return job.delete().change_doc(doc.change(doc.content + 1))  # type: ignore[no-any-return]


@on_memory_and_redis
@pytest.mark.parametrize("count", [1, 2])
def test_threads_that_need_one_document(url: str, name: str, count: int) -> None:
    client = millpond.connect(url)
    store = client.tasks(name)
    trap(store)

    def handle(job: Any) -> Modification:
        (doc,) = job.claim_docs("n", "k")
        time.sleep(0.01)
        return added(job, doc)

    def work(store: Any) -> None:
        store.worker("q", lease=LONG, max_attempts=1, max_crashes=1).drain(handle)

    others = [store, store if count == 1 else client.tasks(name)]
    threads = [threading.Thread(target=work, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.queues() == {}
    assert [doc.content for doc in store.list_docs("n").docs] == [TASKS]


@on_memory_and_redis
@pytest.mark.parametrize("wait", [None, LONG])
async def test_coroutines_that_need_one_document(url: str, name: str, wait: Any) -> None:
    store = millpond.aio.connect(url).tasks(name)
    await trap(store)

    async def handle(job: Any) -> Modification:
        (doc,) = await job.claim_docs("n", "k", wait)
        await asyncio.sleep(0.01)
        return added(job, doc)

    worker = store.worker("q", lease=LONG, max_attempts=1, max_crashes=1)
    await asyncio.gather(worker.drain(handle), worker.drain(handle))
    assert await store.queues() == {}
    assert [doc.content for doc in (await store.list_docs("n")).docs] == [TASKS]


async def test_a_job_waits_for_documents(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    store, other = client.tasks(name), client.tasks(name)
    await store.modify(Modification().insert("q").insert_doc("n", "k", 1, id="d"))
    held = (await other.claim_docs("n", "k", lease=60))[0]
    job = await store.worker("q").jobs().__anext__()
    start = time.monotonic()
    with pytest.raises(DependencyError) as raised:
        await job.claim_docs("n", "k", wait=0.1)
    assert time.monotonic() - start >= 0.1
    await other.renew([], [held], lease=0.05)
    assert len(await job.claim_docs("n", "k", wait=60)) == 1
    # Its message for a document that was claimed is no failed attempt; any other is.
    (released,) = (await job.fail(f"as it was: {raised.value}")).changed
    assert (released.attempt, released.err) == (0, "")
    assert 8 <= released.at_ms - released.modified_ms <= 16


async def test_several_workers_do_each_task_once(connect: Any, url: str, name: str) -> None:
    client = connect(url)
    store = client.tasks(name)
    gathered = Modification()
    for number in range(200):
        gathered.insert(f"q{number % 3}", number)
    await store.modify(gathered)
    seen: list[int] = []
    lock = threading.Lock()

    def handle(job: Any) -> None:
        with lock:
            seen.append(job.task.value)

    async def work() -> None:
        await client.tasks(name).worker(["q0", "q1", "q2"]).drain(handle)

    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(None, asyncio.run, work()) for _ in range(4)))
    assert sorted(seen) == list(range(200))
    assert await store.queues() == {}


def test_defaults_are_the_cores() -> None:
    store = millpond.connect("memory:").tasks("x")
    store.insert("q")
    first = store.insert("p", attempt=50)
    (job,) = store.worker("q").jobs()
    assert job.task.at_ms - job.task.modified_ms == 30_000
    retried = job.retry("").changed[0]
    assert 15_000 <= retried.at_ms - retried.modified_ms <= 30_000
    (job,) = store.worker("p", max_attempts=0).jobs()
    assert job.task.id == first.id
    retried = job.retry("").changed[0]
    assert 1_800_000 <= retried.at_ms - retried.modified_ms <= 3_600_000
