"""The adapter for Python: recruiters, and what a request says of their handlers."""

import itertools

import millpond
from python_values import finished, made, milliseconds, seconds, settled


class Noted:
    """A recruiter, and what its handlers and its hook have noted during the calls that are made."""

    def __init__(self, session, recruiter):
        self.session, self.recruiter = session, recruiter
        self.slices, self.errors = [], []
        recruiter.on_error(self.note_error)

    def __getattr__(self, name):
        return getattr(self.recruiter, name)

    def note_error(self, job, error):
        name = error.name if isinstance(error, millpond.MillpondError) else None
        self.errors.append({"job": job, "name": name, "message": str(error)})

    def install(self, given):
        turns = given["handler"]
        numbers = itertools.count()

        async def handle(slice):
            return await self.take_turn(slice, turns[min(next(numbers), len(turns) - 1)])

        handler = handle if self.session.is_async else lambda slice: finished(handle(slice))
        return made(self.recruiter.install, {**given, "handler": handler})

    async def take_turn(self, slice, turn):
        """Does a slice."""
        await settled(self.session.sleep(seconds(turn.get("sleep_ms", 0))))
        ran = [await self.session.respond(request) for request in turn.get("run", ())]
        if turn.get("more"):
            slice.more()
        if turn.get("abort"):
            slice.abort()
        seen = {name: getattr(slice, name) for name in ("job", "is_over", "fence", "is_lost")}
        times = {f"{name}_ms": milliseconds(getattr(slice, name)) for name in ("budget", "remaining")}
        self.slices.append({**seen, **times, "ran": ran})
        if "raises" in turn:
            raise RuntimeError(turn["raises"])
        return turn.get("returns")

    async def enlist(self, given):
        rest = {name: value for name, value in given.items() if name != "times"}
        times, begin = range(given.get("times", 1)), self.noted()
        duties = [await settled(made(self.recruiter.enlist, rest)) for _ in times]
        return {"duties": duties, **self.taken(begin)}

    async def run(self, given):
        begin = self.noted()
        await settled(made(self.recruiter.run, given))
        return self.taken(begin)

    def noted(self):
        """How much is noted."""
        return len(self.slices), len(self.errors)

    def taken(self, begin):
        """What was noted since then: a call in a slice leaves what was noted before it."""
        slices, errors = begin
        notes = {"slices": self.slices[slices:], "errors": self.errors[errors:]}
        del self.slices[slices:], self.errors[errors:]
        return notes
