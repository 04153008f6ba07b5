"""The adapter for Python: one JSON request per line in, one JSON response per line out.

With --asyncio it calls `millpond.aio` instead of `millpond`; everything else is the same.
"""

import asyncio
import json
import sys
import threading
import time

import millpond
import python_tracker
from python_jobs import drain, run, work
from python_recruiter import Noted
from python_values import LISTS, Unsupported, finished, first, listed, made, milliseconds, settled, shown


class Session:
    """The client that is open and the calls on it."""

    def __init__(self, connect, sleep):
        self.connect = connect
        self.sleep = sleep
        self.is_async = sleep is asyncio.sleep
        self.client = None
        self.recruiters = {}
        self.later = set()

    async def open(self, url):
        await self.close()
        self.client = await settled(self.connect(url))

    async def close(self):
        client, self.client, self.recruiters = self.client, None, {}
        if client is not None:
            await settled(client.aclose() if self.is_async else client.close())

    async def result(self, request):
        """Makes the calls of one request, each on what the one before it returned."""
        if "calls" in request:
            found = self.client
            for name, given in request["calls"]:
                found = await settled(self.called(found, name, given))
            return await gathered(found)
        if request["call"] == "open":
            return await self.open(request["url"])
        if request["call"] == "close":
            return await self.close()
        if request["call"] == "later":
            return self.begin_later(request)
        raise Unsupported(f"the call {request['call']} is not known")

    def called(self, on, name, given):
        """Makes one call."""
        if name == "recruiter":
            return self.recruiter(given)
        if isinstance(on, Noted) and name in vars(Noted):
            return getattr(on, name)(given)
        if name in ("scan", "prune"):
            return python_tracker.called(self, on, name, given)
        if name == "worker":
            given = {"concurrency": 1, **given}
        if name in ("work", "drain", "run"):
            return {"work": work, "drain": drain, "run": run}[name](self, on, given["jobs"])
        if name == "unlink":
            name, given = "delete", {"unlink": True}
        if name == "are_empty":
            given = {name: value for name, value in given.items() if name != "limit"}
        if name == "reschedule_at_ms":
            name = "reschedule"
        of = getattr(on, name, None)
        if isinstance(of, bool):
            # A property.
            return of
        method = of or getattr(millpond, name, None)
        if not callable(method):
            raise Unsupported(f"the call {name} is not known")
        return made(method, given)

    def recruiter(self, given):
        """The recruiter with a name, the same until the client is closed."""
        name = json.dumps(given["name"])
        if name not in self.recruiters:
            self.recruiters[name] = Noted(self, made(self.client.recruiter, given))
        return self.recruiters[name]

    def begin_later(self, request):
        """Makes a request after a while, beside what comes next."""

        async def late():
            await settled(self.sleep(request["ms"] / 1000))
            response = await self.respond(request["request"])
            if "result" not in response:
                print(response, file=sys.stderr)

        if self.is_async:
            task = asyncio.create_task(late())
            self.later.add(task)
            task.add_done_callback(self.later.discard)
        else:
            threading.Thread(target=lambda: finished(late())).start()

    async def respond(self, request):
        """The response to one request."""
        return await self.attempt(self.result(request))

    async def attempt(self, call):
        """The outcome of a call, as a response."""
        try:
            return {"result": shown(await call)}
        except Unsupported as why:
            return {"unsupported": str(why)}
        except millpond.MillpondError as error:
            told = {"code": error.code, "name": error.name, "message": str(error)}
            if isinstance(error, millpond.DependencyError):
                told["dependency"] = {
                    name: [list(one) for one in getattr(error, name)] for name in LISTS
                }
            return {"error": told}
        except (TypeError, ValueError, OverflowError) as error:
            # Python's own error for a wrong argument before it reaches the library.
            message = f"{type(error).__name__}: {error}"
            return {"error": {"code": 1, "name": "INVALID_ARGUMENT", "message": message}}


async def gathered(found):
    """What a call returns; of a loop the first batch, of a collection of garbage all, of the sizes
    of queues a list, and of a time its milliseconds.
    """
    if isinstance(found, float):
        return milliseconds(found)
    if hasattr(found, "scanned"):
        seen = [value for batch in await listed(found) for value in batch]
        return {"scanned": found.scanned, "deleted": found.deleted, "seen": seen}
    if hasattr(found, "__next__") or hasattr(found, "__anext__"):
        return await first(found) or []
    is_sizes = isinstance(found, dict) and all(isinstance(size, int) for size in found.values())
    return list(found.items()) if is_sizes else found


async def serve(session, read):
    """Handles all requests, one after the other."""
    while line := await settled(read()):
        request = json.loads(line)
        response = await session.respond(request)
        response["id"] = request["id"]
        print(json.dumps(response), flush=True)
    await session.close()


async def serve_on_a_loop():
    """Reads on a thread, so that what is to happen later does."""
    import millpond.aio

    await serve(
        Session(millpond.aio.connect, asyncio.sleep), lambda: asyncio.to_thread(sys.stdin.readline)
    )


if sys.argv[1:] == ["--asyncio"]:
    asyncio.run(serve_on_a_loop())
else:
    # Nothing here is ever awaited for real, so there is no event loop that calls could disturb.
    finished(serve(Session(millpond.connect, time.sleep), sys.stdin.readline))
