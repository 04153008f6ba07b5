"""The adapter for Python: what a request says of the functions that scans and prunes call."""

from python_values import decoded, finished, made, settled


class Raised(Exception):
    """What such a function fails with."""


async def called(session, tracker, name, given):
    """Makes a scan or a prune, and returns what its function got too."""
    seen = None
    rest = {key: value for key, value in given.items() if key not in ("rows", "done", "adds", "raises")}

    async def meanwhile():
        if "adds" in given:
            await settled(tracker.add(decoded(given["adds"])))
        if "raises" in given:
            raise Raised(given["raises"])

    async def rows(after, limit):
        nonlocal seen
        seen = {"after": after, "limit": limit}
        await meanwhile()
        return [(row, decoded(id)) for row, id in given["rows"]]

    async def done(ids):
        nonlocal seen
        seen = ids
        await meanwhile()
        return decoded(given["done"])

    function = {"scan": rows, "prune": done}[name]
    if not session.is_async:
        function = lambda *arguments, of=function: finished(of(*arguments))  # noqa: E731
    try:
        method = getattr(tracker, name)
        result = await settled(made(method, {**rest, {"scan": "rows", "prune": "done"}[name]: function}))
    except Raised as error:
        return {"seen": seen, "raised": str(error)}
    return {"seen": seen, "result": result}
