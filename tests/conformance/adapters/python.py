"""The adapter for Python: one JSON request a line in, one JSON answer a line out.

With --asyncio it calls `millpond.aio` in place of `millpond`; everything else is the same.
"""

import asyncio
import base64
import inspect
import json
import math
import sys

import millpond

STATS = (
    "ver", "key", "pset_key", "cset_key", "pset_size", "cset_size", "total_size",
    "pset_min", "pset_max", "cset_min", "cset_max", "total_min", "total_max",
)  # fmt: skip


class Unsupported(Exception):
    """Python, or the package, has no way to say this."""


def decoded(value):
    """A value of a request as Python has it: strings are bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((label, text),) = value.items()
    if label == "b64":
        return base64.b64decode(text)
    if label == "float":
        return float(text)
    if label == "int":
        return int(text)
    if label == "string":
        return text
    raise Unsupported(f"Python has no {label}")


def encoded(value):
    """A value of an answer as JSON has it."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    return value


def pairs(request):
    """The pairs of an add, (score, member)."""
    found = [(decoded(score), decoded(member)) for score, member in request["pairs"]]
    for score, _ in found:
        if score is None:
            raise Unsupported("a score of None is the server's time")
        if isinstance(score, bool):
            raise Unsupported("a bool is a number in Python")
    return found


class Session:
    """The client that is open and the calls on it."""

    def __init__(self, connect):
        self.connect = connect
        self.client = None

    async def open(self, url):
        await self.close()
        self.client = await settled(self.connect(url))

    async def close(self):
        client, self.client = self.client, None
        if client is not None:
            await settled(client.close())

    async def result(self, request):
        """Makes the call of one request."""
        call = request["call"]
        if call == "open":
            return await self.open(request["url"])
        if call == "close":
            return await self.close()
        ick = self.client.ick(decoded(request["name"]))
        if call == "add":
            return await settled(ick.add(pairs(request)))
        if call == "reserve":
            return await settled(ick.reserve(decoded(request["max"]), backwash=request["backwash"]))
        if call == "commit":
            return await settled(ick.commit(decoded(request["members"])))
        if call == "exchange":
            members, size = decoded(request["members"]), decoded(request["max"])
            return await settled(ick.exchange(size, members, backwash=request["backwash"]))
        if call == "stats":
            stats = await settled(ick.stats())
            return stats and {name: encoded(getattr(stats, name, None)) for name in STATS}
        if call == "delete":
            return await settled(ick.delete(unlink=request["unlink"]))
        if call == "peek":
            return await settled(ick.peek(request["max"], set=request["set"]))
        raise Unsupported(f"the call {call} is not known")

    async def answer(self, request):
        """The answer to one request."""
        try:
            return {"result": encoded(await self.result(request))}
        except Unsupported as why:
            return {"unsupported": str(why)}
        except millpond.MillpondError as error:
            return {"error": {"code": error.code, "name": error.name, "message": str(error)}}
        except (TypeError, ValueError, OverflowError) as error:
            # What Python itself says of a wrong argument before it reaches the library.
            message = f"{type(error).__name__}: {error}"
            return {"error": {"code": 1, "name": "INVALID_ARGUMENT", "message": message}}


async def settled(value):
    """The value, or what it becomes if it is awaitable: the two packages share one body."""
    return await value if inspect.isawaitable(value) else value


async def serve(connect):
    """Answers all requests, one after the other."""
    session = Session(connect)
    for line in sys.stdin:
        request = json.loads(line)
        answer = await session.answer(request)
        answer["id"] = request["id"]
        print(json.dumps(answer), flush=True)
    await session.close()


if sys.argv[1:] == ["--asyncio"]:
    import millpond.aio

    asyncio.run(serve(millpond.aio.connect))
else:
    # Nothing here is ever awaited for real, so there is no event loop that calls could disturb.
    try:
        serve(millpond.connect).send(None)
    except StopIteration:
        pass
