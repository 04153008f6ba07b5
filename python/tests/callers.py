"""One test for both kinds of callers: a blocking client behind the face of an asyncio client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import millpond
import millpond.aio

# The same call under the name that is usual for each kind of caller.
SAME = {"aclose": "close"}
CALLS = {"add", "close", "commit", "delete", "exchange", "lease", "peek", "release", "reserve"}
CALLS |= {"stats", "write", "write_many", "read", "read_many", "ack", "ack_and_delete", "renew"}
CALLS |= {"reclaim", "len", "backlog", "pending_count", "dead_letters", "write_tracked"}
CALLS |= {"delete_tracked", "cordon_deadline_exceeded", "write_tracked_many", "resize"}
CALLS |= {"delete_dead_letters", "redrive", "remove_idle_consumers"}
CALLS |= {"ack_each", "ack_and_delete_each", "reject"}
CALLS |= {"insert", "modify", "claim", "claim_many", "renew", "fetch", "list", "queues"}
CALLS |= {"are_empty", "queue_stats", "claim_docs", "get_doc", "put_doc", "fetch_docs", "list_docs"}
CALLS |= {"namespace_stats", "pause", "resume", "purge", "move_tasks", "redrive"}
CALLS |= {"publish", "publish_call", "publish_many", "receive", "ack_many", "ack_with", "nack", "dead_letter"}
CALLS |= {"cancel", "reschedule", "configure", "config", "redrive_all"}
CALLS |= {"put_schedule", "sync_schedules", "get_schedule", "list_schedules", "trigger_schedule"}
CALLS |= {"set", "set_many", "set_if_absent", "set_if_present", "set_locked", "set_and_release"}
CALLS |= {"get", "get_many", "fields", "ttl", "touch", "clear", "reap"}
CALLS |= {"acquire", "get_or_acquire", "holder", "lock"}
CALLS |= {"enlist", "wake"}
CALLS |= {"is_queued", "are_queued", "ids", "scan", "prune", "begin_scan", "advance", "sample", "remove"}
CALLS |= {"time", "finish", "done", "fail", "retry", "move_to", "run", "drain"}


class Awaited:
    """Calls of the wrapped object are made at once and can be awaited."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        name = SAME.get(name, name)
        found = getattr(self._wrapped, name)
        # The delete of a job makes no call.
        if name in CALLS and (name, type(self._wrapped)) != ("delete", millpond.Job):
            return later(found)
        if callable(found):
            return lambda *args, **kwargs: wrap(found(*args, **kwargs))
        return found

    def __aiter__(self) -> Awaited:
        return self

    async def __anext__(self) -> Any:
        try:
            return wrap(next(self._wrapped))
        except StopIteration:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Awaited:
        self._wrapped.__enter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        self._wrapped.__exit__(*raised)


def wrap(value: Any) -> Any:
    return Awaited(value) if hasattr(value, "_native") else value


def later(call: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def called(*args: Any, **kwargs: Any) -> Any:
        return wrap(call(*args, **kwargs))

    return called


def connect(caller: str, url: str, **options: Any) -> Any:
    if caller == "asyncio":
        return millpond.aio.connect(url, **options)
    return wrap(millpond.connect(url, **options))
