"""Recruiters: background work in small slices, done by any process that has a moment to spare."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import callers
import pytest
import redis
from kit import refused
from processes import in_child, interrupted
from waiting import PATIENCE, SOON, until, until_async

import millpond
import millpond.aio
from millpond import Duty

Invalid = millpond.InvalidArgumentError
HOUR = 3_600


def eager(client: Any, name: str) -> Any:
    """A recruiter whose process does not rest after a slice."""
    recruiter = client.recruiter(name)
    recruiter.set_duty_max(1)
    return recruiter


def on_clock(connect: Any, name: str = "site") -> tuple[Any, millpond.ManualClock]:
    """A recruiter in memory that may ask."""
    clock = millpond.ManualClock()
    recruiter = eager(connect("memory:", clock=clock), name)
    clock.advance(5)
    return recruiter, clock


def due_on(client: Any, name: str, handler: Any, **options: Any) -> Any:
    """A recruiter of a server that may ask: the first of many, each of which may at a random time within 5 seconds."""
    recruiters = [eager(client, f"{name}-{number}") for number in range(50)]
    for recruiter in recruiters:
        recruiter.install("a", handler, **({"per_second": 1_000} | options))
    due: list[Any] = []
    until(lambda: due.extend(one for one in recruiters if one.is_due) or due)
    return due[0]


async def reported(recruiter: Any) -> millpond.RecruiterStats:
    """The counts, when all is reported: nothing runs after it."""
    recruiter.stop()
    deadline = time.monotonic() + PATIENCE
    while not (stats := await recruiter.stats()).enlisted:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)
    return stats


class Number:
    def __index__(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("returned", "why", "items"),
    [
        (None, "worked", 1),
        (True, "worked", 1),
        (1, "worked", 1),
        (1_000_000, "worked", 1_000_000),
        (2**70, "worked", 2**53),
        (Number(), "worked", 2),
        (0, "nothing", 0),
        (False, "nothing", 0),
        (-1, "failed", 0),
        (1.0, "failed", 0),
        ("1", "failed", 0),
        ([], "failed", 0),
        ({"sent": 1}, "failed", 0),
    ],
)
async def test_what_a_handler_returns(connect: Any, name: str, returned: Any, why: str, items: int) -> None:
    recruiter = eager(connect("memory:"), name)
    errors: list[Any] = []
    recruiter.on_error(lambda job, error: errors.append((job, error)))
    recruiter.install("a", lambda slice: returned, share=1)
    duty = await recruiter.enlist()
    assert (duty.recruited, duty.job, duty.why) == (why == "worked", "a", why)
    assert 0 <= duty.took < SOON
    (job,) = (await reported(recruiter)).jobs
    assert (getattr(job, why), job.items) == (1, items)
    assert [(of, type(error)) for of, error in errors] == [("a", TypeError)] * (why == "failed")


async def test_coroutine_functions(url: str, name: str) -> None:
    recruiter = eager(millpond.aio.connect(url), name)

    @recruiter.job("a", share=1)
    async def work(slice: Any) -> int:
        await asyncio.sleep(0.001)
        assert not slice.is_over
        return 3

    assert await work(type("Slice", (), {"is_over": False})) == 3
    duty = await recruiter.enlist()
    assert duty.why == "worked" and 0 < duty.took < SOON
    assert (await reported(recruiter)).jobs[0].items == 3


async def test_a_function_of_a_blocking_caller_is_not_awaited(name: str) -> None:
    recruiter = eager(millpond.connect("memory:"), name)

    async def work() -> None: ...

    with pytest.raises(TypeError, match="only a recruiter of millpond.aio awaits"):
        recruiter.install("a", work, share=1)
    recruiter.install("a", lambda slice: work(), share=1)
    assert recruiter.enlist().why == "failed"


@pytest.mark.parametrize("error", [ValueError("why"), millpond.Retry("why"), StopIteration(), Exception()], ids=repr)
async def test_an_exception_is_a_failed_slice(connect: Any, url: str, name: str, error: Exception) -> None:
    recruiter = eager(connect(url), name)
    errors: list[Any] = []
    recruiter.on_error(lambda job, error: errors.append((job, error)))

    @recruiter.job("a", share=1)
    def fail(slice: Any) -> None:
        raise error

    duty = await recruiter.enlist()
    assert (duty.recruited, duty.job, duty.why) == (False, "a", "failed")
    assert errors == [("a", error)]
    assert (await reported(recruiter)).jobs[0].failed == 1


async def test_errors_are_logged(connect: Any, name: str, caplog: pytest.LogCaptureFixture) -> None:
    recruiter = eager(connect("memory:"), name)
    recruiter.install("a", lambda slice: 1 / 0, share=1)
    assert (await recruiter.enlist()).why == "failed"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("millpond", logging.ERROR)
    assert record.getMessage() == "the job a failed" and record.exc_info[0] is ZeroDivisionError
    # So are those of the hook itself.
    caplog.clear()
    recruiter.on_error(lambda job, error: job + 1)
    assert (await recruiter.enlist()).why == "failed"
    (record,) = caplog.records
    assert record.exc_info[0] is TypeError


async def test_a_hook_can_be_awaited(name: str) -> None:
    recruiter = eager(millpond.aio.connect("memory:"), name)
    errors: list[Any] = []

    async def hook(job: Any, error: Exception) -> None:
        await asyncio.sleep(0)
        errors.append(job)

    recruiter.on_error(hook)
    recruiter.install("a", lambda slice: 1 / 0, share=1)
    await recruiter.enlist()
    assert errors == ["a"]


class End(BaseException):
    pass


@pytest.mark.parametrize("end", [End, SystemExit, KeyboardInterrupt])
async def test_what_ends_a_program_passes(connect: Any, name: str, end: type[BaseException]) -> None:
    recruiter = eager(connect("memory:"), name)
    recruiter.on_error(print)

    def work(slice: Any) -> None:
        raise end

    recruiter.install("a", work, share=1)
    with pytest.raises(BaseException) as raised:
        await recruiter.enlist()
    assert raised.type is end
    assert (await reported(recruiter)).jobs[0].failed == 1


@pytest.mark.parametrize("is_asking", [False, True])
async def test_a_task_that_is_cancelled(name: str, is_asking: bool) -> None:
    clock = millpond.ManualClock()
    recruiter = eager(millpond.aio.connect("memory:", clock=clock), name)
    clock.advance(5)
    begun = asyncio.Event()

    async def work(slice: Any) -> None:
        begun.set()
        await asyncio.sleep(60)

    recruiter.install("a", work, **({"per_second": 1} if is_asking else {"share": 1}))
    enlisted = asyncio.ensure_future(recruiter.enlist())
    await asyncio.wait_for(begun.wait(), SOON)
    assert (await recruiter.enlist()).why == "in_slice"
    enlisted.cancel()
    with pytest.raises(asyncio.CancelledError):
        await enlisted
    assert (await reported(recruiter)).jobs[0].aborted == 1


async def test_a_task_that_is_cancelled_while_it_asks(own_server: Any, name: str) -> None:
    recruiter = due_on(millpond.aio.connect(own_server.url), name, work)
    recruiter.set_decision_timeout(1)
    assert (await recruiter.enlist()).why == "worked"
    await until_async(lambda: recruiter.is_due)
    own_server.run("stop")
    enlisted = asyncio.ensure_future(recruiter.enlist())
    await asyncio.sleep(0.05)
    enlisted.cancel()
    with pytest.raises(asyncio.CancelledError):
        await enlisted
    own_server.run("cont")
    # Neither its ask nor a slice that it was granted is left.
    await until_async(lambda: recruiter.is_due)


@pytest.mark.parametrize(
    ("offered", "budget"),
    [(None, 0.5), (0.02, 0.02), (timedelta(milliseconds=20), 0.02), (7, 0.5), (float("inf"), 0.5), (0, 0.0)],
)
async def test_the_budget_is_the_smaller_one(connect: Any, name: str, offered: Any, budget: float) -> None:
    recruiter, clock = on_clock(connect, name)
    seen: list[Any] = []

    @recruiter.job("a", share=1, budget=0.5)
    def work(slice: Any) -> None:
        seen.append((slice.job, slice.budget, slice.remaining, slice.is_over))
        clock.advance(0.015)
        seen.append((slice.job, slice.budget, slice.remaining, slice.is_over))
        clock.advance(1)
        assert (slice.remaining, slice.is_over) == (0.0, True)

    duty = await recruiter.enlist(budget=offered)
    left = pytest.approx(max(budget - 0.015, 0))
    assert seen == [("a", budget, budget, budget == 0), ("a", budget, left, budget == 0)]
    assert duty == Duty(True, "a", 1.015, "worked")
    job = (await reported(recruiter)).jobs[0]
    assert (job.overran, job.busy_us) == (1, 1_015_000)


def test_an_enlistment_in_a_handler(name: str) -> None:
    recruiter = eager(millpond.connect("memory:"), name)
    duties: list[Duty] = []
    recruiter.install("a", lambda slice: duties.append(recruiter.enlist()), share=1)
    assert recruiter.enlist().why == "worked"
    assert duties == [Duty(False, None, 0.0, "in_slice")]


async def test_a_job_per_second(connect: Any, name: str) -> None:
    recruiter, clock = on_clock(connect, name)
    fences: list[int] = []

    @recruiter.job("a", per_second=1, burst=1, max_running=1, lease=timedelta(seconds=10))
    def work(slice: Any) -> None:
        assert not slice.is_lost
        fences.append(slice.fence)
        if len(fences) == 2:
            clock.advance(10)
            assert slice.is_lost

    assert recruiter.is_due is True
    # The process asks once more before it knows when its turn is.
    assert [(await recruiter.enlist()).why for _ in range(4)] == ["worked", "denied", "not_due", "not_due"]
    assert recruiter.is_due is False
    for _ in range(100):
        clock.advance(1)
        await recruiter.enlist()
    assert fences == sorted(set(fences)) and 20 < len(fences) <= 111
    stats = await reported(recruiter)
    assert stats.enlisted == 104
    assert stats.jobs[0].granted == stats.jobs[0].worked == len(fences)


async def test_a_job_per_second_on_a_server(connect: Any, shared_server: Any, name: str) -> None:
    fences: list[int] = []
    recruiter = due_on(connect(shared_server.url), name, lambda slice: fences.append(slice.fence))
    while len(fences) < 10:
        await recruiter.enlist()
        await asyncio.sleep(0)
    assert fences == sorted(set(fences)) and fences[0] > 0
    assert (await reported(recruiter)).jobs[0].granted >= 10


async def test_a_job_with_little_to_do_rests_until_it_is_woken(connect: Any, name: str) -> None:
    recruiter, clock = on_clock(connect, name)
    say = ["abort"]

    @recruiter.job("a", per_second=1, idle_max=60)
    def work(slice: Any) -> int:
        for word in say:
            getattr(slice, word)()
        return len(say)

    async def backoff() -> int:
        return (await recruiter.stats()).jobs[0].backoff

    async def until_backoff(expected: Callable[[int], bool]) -> None:
        for _ in range(1_000):
            clock.advance(1)
            await recruiter.enlist()
            if expected(await backoff()):
                return
        pytest.fail("it does not come to that")

    assert (await recruiter.enlist()).why == "aborted"
    say.clear()
    await until_backoff(lambda backoff: backoff == 5)
    await recruiter.wake("a")
    assert await backoff() == 0
    await until_backoff(lambda backoff: backoff > 2)
    say.append("more")
    await until_backoff(lambda backoff: backoff == 0)
    # Nothing has run of this one.
    await recruiter.wake("unknown")
    assert [job.job for job in (await recruiter.stats()).jobs] == ["a"]


def work(slice: Any) -> None: ...


def generator(slice: Any) -> Any:
    yield


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.install("a", None, share=1), TypeError, "the handler has to be a function, not NoneType"),
        (lambda r: r.install("a", generator, share=1), TypeError, "a generator function, which no recruiter runs"),
        (lambda r: r.job("a", share=1)(7), TypeError, "the handler has to be a function, not int"),
        (lambda r: r.install("a", work), Invalid, "the job a has either a share or a rate per second"),
        (lambda r: r.install("a", work, share=1, per_second=1), Invalid, "has either a share or a rate"),
        (lambda r: r.install(b"a", work, share=1), TypeError, "id must be str, not bytes"),
        (lambda r: r.install("", work, share=1), Invalid, ""),
        (lambda r: r.install("a" * 65, work, share=1), Invalid, "64"),
        (lambda r: r.install("a", work, share="1"), TypeError, "share must be float or int, not str"),
        (lambda r: r.install("a", work, share=True), TypeError, "share must be float or int, not bool"),
        (lambda r: r.install("a", work, share=1.5), Invalid, "the share of a is 1.5, not 0 to 1"),
        (lambda r: r.install("a", work, share=1, burst=2), Invalid, "it has no burst and no max_running"),
        (lambda r: r.install("a", work, per_second=0), Invalid, "not one a day to 1000"),
        (lambda r: r.install("a", work, per_second=float("nan")), Invalid, "not one a day to 1000"),
        (lambda r: r.install("a", work, per_second=1, burst=0), Invalid, "the burst of a is 0, not 1 to 10000"),
        (lambda r: r.install("a", work, per_second=1, burst=-1), Invalid, "burst is negative"),
        (lambda r: r.install("a", work, per_second=1, burst=1.5), TypeError, "burst must be int, not float"),
        (lambda r: r.install("a", work, per_second=1, burst=2**40), Invalid, "burst is too large"),
        (lambda r: r.install("a", work, per_second=1, max_running=1_001), Invalid, "1000 are allowed"),
        (lambda r: r.install("a", work, per_second=1, budget="1"), TypeError, "budget must be a number of seconds"),
        (lambda r: r.install("a", work, per_second=1, budget=0), Invalid, "the budget of a is"),
        (lambda r: r.install("a", work, per_second=1, budget=-1), Invalid, "budget is -1"),
        (lambda r: r.install("a", work, per_second=1, lease=0.01), Invalid, "the lease of a is"),
        (lambda r: r.install("a", work, per_second=1, idle_max=3_601), Invalid, "the idle_max of a is"),
        (lambda r: r.on_error(None), TypeError, "the hook has to be a function, not NoneType"),
        (lambda r: r.uninstall(1), TypeError, "job must be str, not int"),
        (lambda r: r.wake(1), TypeError, "job must be str, not int"),
        (lambda r: r.enlist("1"), TypeError, "budget must be a number of seconds or a timedelta"),
        (lambda r: r.enlist(-1), Invalid, "budget is -1"),
        (lambda r: r.set_duty_max("1"), TypeError, "part must be float or int"),
        (lambda r: r.set_duty_max(0), Invalid, "duty_max is 0, not 0.001 to 1"),
        (lambda r: r.set_decision_timeout(2), Invalid, "not 1 ms to 1 s"),
    ],
)
async def test_arguments(connect: Any, name: str, call: Any, error: Any, message: str) -> None:
    recruiter = connect("memory:").recruiter(name)
    await refused(lambda: call(recruiter), error, message)
    assert (await recruiter.enlist()).why == "no_jobs"


async def test_jobs_are_installed_once(connect: Any, name: str) -> None:
    client = connect("memory:")
    recruiter = eager(client, name)
    seen: list[str] = []
    recruiter.install("a", lambda slice: seen.append("first"), share=0.75)
    await refused(lambda: recruiter.install("a", work, share=0.1), Invalid, "the job a is installed already")
    await refused(lambda: recruiter.install("b", work, share=0.35), Invalid, "come to 110.0000 %")
    assert recruiter.uninstall("b") is False
    assert recruiter.uninstall("a") is True
    recruiter.install("a", lambda slice: seen.append("second"), share=1)
    assert (await recruiter.enlist()).job == "a"
    assert seen == ["second"]
    # Another object of the same name has jobs of its own.
    assert (await client.recruiter(name).enlist()).why == "no_jobs"


async def test_most_enlistments_make_nothing(connect: Any, name: str) -> None:
    recruiter, clock = on_clock(connect, name)
    duties = [await recruiter.enlist() for _ in range(2)]
    assert duties[0] is duties[1] and duties[0] == Duty(False, None, 0.0, "no_jobs")
    recruiter.install("a", work, share=0)
    assert (await recruiter.enlist()).why == "not_drawn"
    recruiter.stop()
    assert (await recruiter.enlist()).why == "stopped"
    stats = await reported(recruiter)
    assert (stats.no_jobs, stats.not_drawn) == (2, 1)


async def test_a_process_gives_a_part_of_its_time(connect: Any, name: str) -> None:
    clock = millpond.ManualClock()
    recruiter = connect("memory:", clock=clock).recruiter(name)
    recruiter.install("a", lambda slice: clock.advance(1), share=1)
    for part, rest in [(0.1, 9), (0.5, 1), (1, 0)]:
        recruiter.set_duty_max(part)
        assert (await recruiter.enlist()).why == "worked"
        if rest:
            clock.advance(rest - 0.001)
            assert (await recruiter.enlist()).why == "over_duty"
            clock.advance(0.001)


async def test_a_run_works_until_it_is_stopped(connect: Any, url: str, name: str) -> None:
    recruiter = connect(url).recruiter(name)
    fences: list[int] = []

    @recruiter.job("a", per_second=1_000)
    def work(slice: Any) -> None:
        fences.append(slice.fence)
        if len(fences) == 20:
            recruiter.stop()

    assert await recruiter.run() is None
    assert len(fences) == 20 and fences == sorted(set(fences))
    # It stays stopped.
    assert await recruiter.run() is None
    # Nothing waits for the report of the last slice.
    for _ in range(1_000):
        if (await recruiter.stats()).jobs[0].worked == 20:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the last slice is not reported")


@pytest.mark.parametrize("caller", ["blocking", "asyncio"])
async def test_a_run_that_waits_is_stopped_from_another_thread(caller: str, name: str) -> None:
    clock = millpond.ManualClock()
    recruiter = callers.connect(caller, "memory:", clock=clock).recruiter(name)
    recruiter.install("a", work, per_second=1)
    timer = threading.Timer(0.1, recruiter.stop)
    timer.start()
    await recruiter.run()
    timer.join()


async def test_a_run_that_is_cancelled(name: str) -> None:
    clock = millpond.ManualClock()
    recruiter = millpond.aio.connect("memory:", clock=clock).recruiter(name)
    seen: list[Any] = []
    recruiter.install("a", seen.append, per_second=1_000)
    run = asyncio.ensure_future(recruiter.run())
    await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    clock.advance(5)
    assert (await recruiter.enlist()).why == "worked"


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_a_run(connect: Any, name: str, number: int, is_waiting: bool) -> None:
    recruiter, clock = on_clock(connect, name)
    before = signal.getsignal(number)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), number))

    @recruiter.job("a", per_second=1)
    def work(slice: Any) -> None:
        if is_waiting:
            timer.start()
        else:
            signal.raise_signal(number)

    await recruiter.run()
    assert signal.getsignal(number) is before
    assert (await reported(recruiter)).jobs[0].worked == 1


def test_ctrl_c(name: str) -> None:
    recruiter = millpond.connect("memory:", clock=millpond.ManualClock()).recruiter(name)
    recruiter.install("a", work, per_second=1)
    with interrupted():
        recruiter.run(stop_on_signals=False)


async def test_signals_are_left_to_the_program(connect: Any, name: str) -> None:
    recruiter, _ = on_clock(connect, name)

    class Ended(Exception):
        pass

    def end(number: int, frame: Any) -> None:
        raise Ended

    recruiter.install("a", lambda slice: signal.raise_signal(signal.SIGTERM), per_second=1)
    before = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(Ended):
            await recruiter.run(stop_on_signals=False)
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (await reported(recruiter)).jobs[0].failed == 1


async def test_a_run_needs_a_job_per_second(connect: Any, name: str) -> None:
    recruiter = connect("memory:").recruiter(name)
    recruiter.install("a", work, share=1)
    await refused(recruiter.run, Invalid, "a loop over slices needs a job per second")


async def test_a_closed_client(connect: Any, name: str) -> None:
    clock = millpond.ManualClock()
    client = connect("memory:", clock=clock)
    recruiter = eager(client, name)
    clock.advance(5)
    recruiter.install("a", work, per_second=1)
    errors: list[Any] = []
    recruiter.on_error(lambda job, error: errors.append((job, type(error))))
    await client.aclose()
    assert (await recruiter.enlist()).why == "unavailable"
    assert errors == [(None, millpond.ClosedError)]
    for call in (recruiter.stats, lambda: recruiter.wake("a")):
        await refused(call, millpond.ClosedError, "")
    clock.advance(HOUR)
    await refused(recruiter.run, millpond.ClosedError, "")


@pytest.mark.parametrize("is_logged", [False, True])
async def test_a_server_that_does_not_respond(
    connect: Any, own_server: Any, name: str, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    recruiter = due_on(connect(own_server.url), name, work)
    errors: list[Any] = []
    if not is_logged:
        recruiter.on_error(lambda job, error: errors.append((job, error)))
    own_server.run("stop")
    began = time.monotonic()
    assert (await recruiter.enlist()).why == "unavailable"
    assert time.monotonic() - began < SOON
    own_server.run("cont")
    if is_logged:
        (record,) = caplog.records
        assert record.getMessage().startswith("no slice: ")
    else:
        ((job, error),) = errors
        assert job is None and isinstance(error, millpond.MillpondError) and error.retry != "never"
    assert (await recruiter.enlist()).why == "not_due"


async def test_a_run_goes_on_when_its_server_was_away(connect: Any, own_server: Any, name: str) -> None:
    recruiter = connect(own_server.url).recruiter(name)
    told: list[Any] = []

    def on_error(job: Any, error: Exception) -> None:
        if job is None and not told:
            return  # a busy machine: a decision took longer than it may
        if "away" not in told:
            own_server.run("restart")
        told.append("away" if job is None else error)

    recruiter.on_error(on_error)

    @recruiter.job("a", per_second=1_000)
    def work(slice: Any) -> None:
        if not told:
            told.append("begun")
            own_server.run("kill")
        elif "away" in told:
            recruiter.stop()

    await recruiter.run()
    assert told[0] == "begun" and set(told[1:]) == {"away"}


async def test_a_key_that_holds_something_else(connect: Any, shared_server: Any, name: str) -> None:
    recruiter = due_on(connect(shared_server.url), name, work)
    with redis.Redis.from_url(shared_server.url) as admin:
        for number in range(50):
            admin.set(f"{{{name}-{number}}}:steal", "text")
    errors: list[Any] = []
    recruiter.on_error(lambda job, error: errors.append((job, type(error))))
    assert (await recruiter.enlist()).why == "unavailable"
    assert errors == [(None, millpond.WrongTypeError)]
    await refused(recruiter.run, millpond.WrongTypeError, "")
    await refused(recruiter.stats, millpond.WrongTypeError, "")


def test_a_child_of_a_fork_has_slices_of_its_own(shared_server: Any, name: str) -> None:
    recruiter = eager(millpond.connect(shared_server.url), name)
    seen: list[str] = []

    def child() -> None:
        # Its parent is in a slice, and it is not.
        assert recruiter.enlist().why == "worked"
        assert seen == ["child"]
        recruiter.stop()
        until(lambda: recruiter.stats().jobs)

    slices: list[Any] = []

    @recruiter.job("a", share=1)
    def work(slice: Any) -> None:
        if slices:
            return seen.append("child")
        slices.append(slice)
        in_child(child)

    assert recruiter.enlist().why == "worked"
    assert recruiter.enlist().why == "worked"
    recruiter.stop()
    until(lambda: [job.worked for job in recruiter.stats().jobs] == [3])


def test_a_slice_of_the_parent_is_not_ended_by_its_child(shared_server: Any, name: str) -> None:
    running: list[Any] = []

    def work(slice: Any) -> None:
        if os.fork() == 0:
            # The child returns from the handler, and its slice ends with it.
            running.append("child")
            return
        os.wait()
        with redis.Redis.from_url(shared_server.url) as admin:
            keys = admin.keys(f"{{{name}-*}}:steal:running:a")
            running.append(sum(admin.zcard(key) for key in keys))

    recruiter = due_on(millpond.connect(shared_server.url), name, work, per_second=1, max_running=1)
    duty = recruiter.enlist()
    if running == ["child"]:
        os._exit(0)
    assert duty.why == "worked"
    assert running == [1]


@pytest.mark.parametrize("url", ["memory", "file"], indirect=True)
def test_an_embedded_engine_belongs_to_its_process(url: str, name: str) -> None:
    recruiter = eager(millpond.connect(url), name)
    recruiter.install("a", work, per_second=1_000)
    errors: list[Any] = []
    recruiter.on_error(lambda job, error: errors.append((job, type(error))))

    def child() -> None:
        until(lambda: recruiter.enlist().why == "unavailable")
        assert errors == [(None, millpond.ForkedError)]

    in_child(child)


def test_threads_take_turns(name: str) -> None:
    recruiter = eager(millpond.connect("memory:"), name)
    running: list[int] = []
    most = []

    @recruiter.job("a", share=1)
    def work(slice: Any) -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.001)
        running.pop()

    def enlist() -> None:
        while len(most) < 20:
            assert recruiter.enlist().why in ("worked", "in_slice")

    threads = [threading.Thread(target=enlist) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert max(most) == 1
