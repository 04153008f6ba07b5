"""The adapter for Python: jobs of a worker, and what a request says of each."""

import asyncio
import threading
import time

import millpond
from python_values import arguments, finished, first, made, seconds, settled, shown

# What is done before the end of a job, whose arguments the rest are.
BEFORE = ("together", "claim_docs", "claim_wait_ms", "run", "sleep_ms", "stop_ms", "until_told_ms", "then")
# For how long a handler waits for others to be at work.
TOGETHER_MS = 10_000
# Held while it is counted who is at work.
COUNTING = threading.Lock()


async def work(session, worker, said_of_all):
    """Takes jobs, and does with each as the request says."""
    jobs, seen = worker.jobs(), []
    for said in said_of_all:
        job = await first(jobs)
        if job is None:
            break
        one = seen_of(job)

        async def done(job=job, said=said, one=one):
            await meanwhile(session, job, said, one)
            one["is_lost"] = job.is_lost
            return await ended(session, job, said)

        one["answer"] = await session.attempt(done())
        seen.append(one)
    return seen


async def drain(session, worker, said_of_all):
    """The same by a handler, until nothing is available."""
    handle, on_event, seen = handling(session, worker, said_of_all)
    drained = await settled(worker.drain(handle, ignore, on_event))
    return {"jobs": seen, "drained": drained._asdict()}


async def run(session, worker, said_of_all):
    """The same until the worker is stopped."""
    handle, on_event, seen = handling(session, worker, said_of_all)
    await settled(worker.run(handle, ignore, on_event))
    return seen


def ignore(job, error):
    """An error that the request asks for is not logged."""


def handling(session, worker, said_of_all):
    """The handler, what hears of reports, and what they see."""
    left, seen, taken = iter(said_of_all), [], {}
    at_work = {"now": 0, "most": 0}

    async def handle(job):
        said = next(left, None)
        if said is None:
            raise RuntimeError("no such job")
        one = {**seen_of(job), "answer": None, "kind": None, "told": None}
        seen.append(one)
        taken[str(taken_as(job))] = one
        with COUNTING:
            at_work["now"] += 1
            at_work["most"] = max(at_work.values())
        try:
            await until(session, TOGETHER_MS, lambda: at_work["most"] >= said.get("together", 0))
            await meanwhile(session, job, said, one)
            if "stop_ms" in said:
                worker.stop(seconds(said["stop_ms"]))
            await until(session, said.get("until_told_ms", 0), lambda: is_told(session, job))
            one["answer"] = {"result": None}
        except Exception as error:
            one["answer"] = await session.attempt(raised(error))
            raise
        finally:
            with COUNTING:
                at_work["now"] -= 1
            one |= {"is_lost": job.is_lost, "is_late": job.time_left == 0, "at_once": at_work["most"]}
        return handled(job, said)

    def on_event(report):
        one = report.job and taken.get(str(taken_as(report.job)))
        if one:
            one["kind"], one["told"] = report.kind, report.error and report.error.name

    return handle if session.is_async else lambda job: finished(handle(job)), on_event, seen


def taken_as(job):
    """What a job is, by the name that this has in a response."""
    name = next(name for name in ("task", "event", "message") if hasattr(job, name))
    return name, shown(getattr(job, name))


def seen_of(job):
    """What is seen of a job that begins."""
    return {**dict([taken_as(job)]), "docs": [], "is_lost": False}


def is_told(session, job):
    """Whether a job says that its handler should stop; asyncio cancels that instead."""
    return not session.is_async and (job.is_lost or job.time_left == 0)


async def until(session, most_ms, is_so):
    """Waits until something is so, but no longer than this."""
    end = time.monotonic() + seconds(most_ms)
    while not is_so() and time.monotonic() < end:
        await settled(session.sleep(0.005))


async def meanwhile(session, job, said, one):
    """What a job does before it ends."""
    wait = {"wait_ms": said["claim_wait_ms"]} if "claim_wait_ms" in said else {}
    for namespace, keys in said.get("claim_docs") or ():
        claimed = made(job.claim_docs, {"namespace": namespace, "keys": keys, **wait})
        one["docs"] += shown(await settled(claimed))
    for request in said.get("run") or ():
        # What comes of it shows in the job.
        on, given = request["calls"][0]
        if on == "tasks":
            given.setdefault("claimant", job.task.claimant)
        await session.respond(request)
    await settled(session.sleep(seconds(said.get("sleep_ms", 0))))


def rest(said):
    """The arguments of the end of a job."""
    return {name: value for name, value in said.items() if name not in BEFORE}


async def ended(session, job, said):
    """Ends a job."""
    then = said["then"]
    if then == "leave":
        return None
    result = await settled(session.called(job, "move_to" if then == "move" else then, rest(said)))
    return result if then == "finish" else None


async def raised(error):
    """The response for an error."""
    raise error


def handled(job, said):
    """What a handler returns or raises."""
    then = said["then"]
    if then == "done":
        return None
    if then == "value":
        return said.get("value")
    if then == "finish":
        return arguments(millpond.Job.finish, rest(said))["modification"]
    if then == "nearly":
        nearly = {"plain": said["modification"], "builder": job.task.change(), "unawaited": None}
        return nearly[said["as"]] or asyncio.sleep(0)
    if then == "fail":
        raise RuntimeError(said["err"])
    raise made(getattr(millpond, then.title()), rest(said))
