"""The adapter for Python: jobs of a worker, and what a request says of each."""

import millpond
from python_values import arguments, first, made, seconds, settled, shown

# What is done before the end of a job, whose arguments the rest are.
BEFORE = ("claim_docs", "claim_wait_ms", "run", "sleep_ms", "then")


async def work(session, worker, said_of_all):
    """Takes jobs, and does with each as the request says."""
    jobs, seen = worker.jobs(), []
    for said in said_of_all:
        job = await first(jobs)
        if job is None:
            break
        one = {"task": shown(job.task), "docs": [], "is_lost": False}

        async def done(job=job, said=said, one=one):
            await meanwhile(session, job, said, one)
            return await ended(session, job, said)

        one["answer"] = await session.attempt(done())
        seen.append(one)
    return seen


async def run(session, worker, said_of_all):
    """The same by a handler."""
    left, seen = iter(said_of_all), []

    async def handler(job):
        said = next(left, None)
        if said is None:
            raise RuntimeError("no such job")
        one = {"task": shown(job.task), "docs": [], "is_lost": False, "told": None}
        seen.append(one)
        try:
            await meanwhile(session, job, said, one)
        except Exception as error:
            one["answer"] = await session.attempt(raised(error))
            raise
        one["answer"] = {"result": None}
        return handled(said)

    def on_error(job, error):
        seen[-1]["told"] = error.name

    await session.handle(worker, handler, on_error)
    return seen


async def meanwhile(session, job, said, one):
    """What a job does before it ends."""
    wait = {"wait_ms": said["claim_wait_ms"]} if "claim_wait_ms" in said else {}
    for namespace, key in said.get("claim_docs") or ():
        claimed = made(job.claim_docs, {"namespace": namespace, "key": key, **wait})
        one["docs"] += shown(await settled(claimed))
    for request in said.get("run") or ():
        # What comes of it shows in the job.
        request["calls"][0][1].setdefault("claimant", job.task.claimant)
        await session.respond(request)
    await settled(session.sleep(seconds(said.get("sleep_ms", 0))))
    one["is_lost"] = job.is_lost


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


def handled(said):
    """What a handler returns or raises."""
    then = said["then"]
    if then == "done":
        return None
    if then == "finish":
        return arguments(millpond.Job.finish, rest(said))["modification"]
    if then == "fail":
        raise RuntimeError(said["err"])
    raise made(getattr(millpond, then.title()), rest(said))
