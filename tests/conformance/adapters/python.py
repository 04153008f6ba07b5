"""The adapter for Python: one JSON request per line in, one JSON response per line out.

With --asyncio it calls `millpond.aio` instead of `millpond`; everything else is the same.
"""

import asyncio
import base64
import json
import math
import sys
import threading
import time

import millpond
from python_tasks import Tasks, dependency
from python_values import Unsupported, finished, labelled, listed, settled

STATS = (
    "ver", "key", "pset_key", "cset_key", "pset_size", "cset_size", "total_size",
    "pset_min", "pset_max", "cset_min", "cset_max", "total_min", "total_max",
)  # fmt: skip


def decoded(value):
    """A value of a request as Python has it: strings are bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    return labelled(value)


def encoded(value):
    """A value of a response as JSON has it."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    if isinstance(value, dict):
        return {name: encoded(item) for name, item in value.items()}
    if isinstance(value, millpond.Receipt):
        return {"stream": value.stream, "id": value.id}
    if isinstance(value, millpond.Message):
        message = {"stream": value.stream, "id": value.id, "fields": encoded(value.fields)}
        return {**message, "deliveries": value.deliveries}
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


def given(request, names):
    """Those of these settings that a request has."""
    return {name: decoded(request[name]) for name in names if request.get(name) is not None}


class Session:
    """The client that is open and the calls on it."""

    def __init__(self, connect, sleep):
        self.connect = connect
        self.sleep = sleep
        self.is_async = sleep is asyncio.sleep
        self.client = None
        self.tasks = Tasks(self)
        self.later = set()

    async def open(self, url):
        await self.close()
        self.client = await settled(self.connect(url))

    async def close(self):
        client, self.client = self.client, None
        if client is not None:
            await settled(client.aclose() if self.is_async else client.close())

    async def result(self, request):
        """Makes the call of one request."""
        call = request["call"]
        if call == "open":
            return await self.open(request["url"])
        if call == "close":
            return await self.close()
        if call == "later":
            return self.begin_later(request)
        if call.startswith("shuffle_"):
            return await self.shuffle_result(request)
        if call.startswith("tasks_"):
            return await self.tasks.result(request)
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

    def shuffle_queue(self, request):
        """The queue of a request, with the settings that it names."""
        settings = given(request, ("streams", "streams_per_shard", "ttl", "dead_ttl"))
        if request.get("track_keys") is not None:
            settings["track_keys"] = request["track_keys"]
        return self.client.shuffle_queue(decoded(request["name"]), **settings)

    def shuffle_consumer(self, request):
        """The consumer of a request, with the settings that it names."""
        names = ("prefer_stream", "default_stream", "max_deliveries")
        settings = given(request, names)
        group, consumer = decoded(request["group"]), decoded(request["consumer"])
        return self.shuffle_queue(request).consumer(group, consumer, **settings)

    async def shuffle_result(self, request):
        """Makes the call of one request to a shuffle queue."""
        call = request["call"].removeprefix("shuffle_")
        if call == "shard":
            sizes = decoded(request["streams"]), decoded(request["streams_per_shard"])
            return millpond.shard(*sizes, decoded(request["key"]))
        if call in ("read", "ack", "extend", "reclaim"):
            return await self.consumed(call, self.shuffle_consumer(request), request)
        queue = self.shuffle_queue(request)
        if call == "write":
            fields = decoded(request["fields"])
            return await settled(queue.write(decoded(request["shard_key"]), fields))
        if call == "write_many":
            return await settled(queue.write_many(decoded(request["messages"])))
        if call == "write_tracked":
            fields, deadline = decoded(request["fields"]), decoded(request["deadline"])
            field = decoded(request["track_field"])
            key = decoded(request["shard_key"])
            return await settled(queue.write_tracked(key, fields, field, deadline))
        if call == "write_tracked_many":
            messages, field = decoded(request["messages"]), decoded(request["track_field"])
            deadline = decoded(request["deadline"])
            return await settled(queue.write_tracked_many(messages, field, deadline))
        if call == "resize":
            return await settled(queue.resize(decoded(request["streams"])))
        if call == "delete_dead_letters":
            return await settled(queue.delete_dead_letters(request["ids"]))
        if call == "delete_tracked":
            return await settled(queue.delete_tracked(decoded(request["value"])))
        if call == "cordon":
            return await settled(queue.cordon_deadline_exceeded(decoded(request["within"])))
        if call == "gc":
            gc = queue.gc(decoded(request["time_digits"]))
            seen = [value for batch in await listed(gc) for value in batch]
            return {"scanned": gc.scanned, "deleted": gc.deleted, "seen": seen}
        if call == "len":
            return await settled(queue.len())
        if call == "backlog":
            return await settled(queue.backlog())
        if call == "pending_count":
            return await settled(queue.pending_count(decoded(request["group"])))
        if call == "stats":
            stats = await settled(queue.stats(decoded(request["group"])))
            streams = [counted(stream) for stream in stats.streams]
            return {**counted(stats), "streams": streams}
        if call == "dead_letters":
            letters = await settled(queue.dead_letters(decoded(request["max"])))
            return [vars(letter) for letter in letters]
        raise Unsupported(f"the call {request['call']} is not known")

    async def consumed(self, call, consumer, request):
        """Makes the call of one request of a consumer."""
        if call == "read":
            size, wait = decoded(request["max"]), decoded(request["block"])
            if size != 1:
                return await settled(consumer.read_many(size, wait))
            message = await settled(consumer.read(wait))
            return [] if message is None else [message]
        if call == "reclaim":
            size, idle = decoded(request["max"]), decoded(request["min_idle"])
            return vars(await settled(consumer.reclaim(idle, size)))
        receipts = [millpond.Receipt(one["stream"], one["id"]) for one in request["receipts"]]
        if call == "extend":
            return await settled(consumer.extend(receipts))
        if request["delete"]:
            return await settled(consumer.ack_and_delete(receipts))
        return await settled(consumer.ack(receipts))

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
            return {"result": encoded(await call)}
        except Unsupported as why:
            return {"unsupported": str(why)}
        except millpond.MillpondError as error:
            told = {"code": error.code, "name": error.name, "message": str(error)}
            if isinstance(error, millpond.DependencyError):
                told["dependency"] = dependency(error)
            return {"error": told}
        except (TypeError, ValueError, OverflowError) as error:
            # Python's own error for a wrong argument before it reaches the library.
            message = f"{type(error).__name__}: {error}"
            return {"error": {"code": 1, "name": "INVALID_ARGUMENT", "message": message}}


def counted(stats):
    """The counts of stats; how long a message lies there is nothing that a case can say."""
    return {name: getattr(stats, name) for name in ("len", "pending", "lag")}


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
