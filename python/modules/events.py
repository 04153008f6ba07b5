"""Queues of events, which fire at their time, are acknowledged, and are delivered in order per key.

An event is published for now or for a later time. When that time has come, it is delivered to one consumer at a time:
it is leased to the consumer that receives it, and delivered again if it is not acknowledged by the end of the lease.
Events with the same key are delivered one at a time, in the order in which they fire. An event that fails too often
becomes a dead letter.

Payloads, keys and tokens are bytes, regardless of the client's ``decode_responses``; ids are str.
"""

from __future__ import annotations

import builtins
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from .._native import _at_ms
from ..event_values import (
    DeadReason,
    Delivery,
    EventIds,
    EventState,
    IfExists,
    Missed,
    NewEvent,
    EventPlace,
    ManyDeliveries,
    NewEvents,
    Overlap,
    Schedule,
    Schedules,
)
from ..outcomes import no_modification_of_event
from ..records import Event, EventConfig, EventPage, EventPosition, EventStats, Published, ScheduleInfo, SyncedSchedules
from ..values import Fields, Member, Seconds
from .mode import Loop
from .working import Runner

if TYPE_CHECKING:
    from . import _handles

__all__ = [
    "Deliveries",
    "Event",
    "EventConfig",
    "EventJob",
    "EventPage",
    "EventPosition",
    "EventQueue",
    "EventStats",
    "EventWorker",
    "NewEvent",
    "Published",
    "Schedule",
    "ScheduleInfo",
    "SyncedSchedules",
]


class EventQueue:
    """A queue of events, which fire at their time; made by :meth:`millpond.aio.Client.events`.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:").events("orders")
    >>> _ = await queue.publish("paid", key="customer-12")
    >>> reminder = await queue.publish("remind", key="customer-12", delay=3_600)
    >>> for event in await queue.receive(10):
    ...     print(event.payload)
    ...     await queue.ack(event)
    b'paid'
    >>> await queue.cancel(reminder)
    ['removed']
    """

    _native: _handles.EventQueue

    async def publish(
        self,
        payload: Member,
        *,
        key: Member | None = None,
        at: datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        ttl: Seconds | None = None,
        dedup_id: str | None = None,
        dedup_window: Seconds | None = None,
        if_exists: IfExists | None = None,
        headers: Fields | None = None,
    ) -> Published: ...

    async def publish_call(
        self,
        payload: Member,
        *,
        key: Member | None = None,
        at: datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        ttl: Seconds | None = None,
        dedup_id: str | None = None,
        dedup_window: Seconds | None = None,
        if_exists: IfExists | None = None,
        headers: Fields | None = None,
    ) -> builtins.list[bytes]: ...

    async def publish_many(self, events: NewEvents) -> builtins.list[Published]: ...

    async def receive(self, max: int = 1) -> builtins.list[Event]: ...

    def deliveries(
        self,
        max: int = 1,
        wait: Seconds | None = None,
        lease: Seconds | None = None,
        key_range: str | None = None,
    ) -> Deliveries: ...

    def worker(
        self,
        *,
        concurrency: int = 10,
        prefetch: int = 0,
        timeout: Seconds | None = None,
        budget: Seconds | None = None,
        lease: Seconds | None = None,
        key_range: str | None = None,
    ) -> EventWorker: ...

    async def ack(self, delivery: Delivery) -> None: ...

    async def nack(
        self, delivery: Delivery, err: str = "", after: Seconds | None = None
    ) -> None: ...

    async def release(self, delivery: Delivery, after: Seconds | None = None) -> None: ...

    async def dead_letter(self, delivery: Delivery, reason: str = "") -> None: ...

    async def ack_many(
        self, deliveries: ManyDeliveries
    ) -> builtins.list[Literal["lost", "ended", "gone", "died", "cancelled"]]: ...

    async def ack_with(
        self, delivery: Delivery, events: NewEvents
    ) -> builtins.list[Published]: ...

    async def renew(
        self, deliveries: ManyDeliveries, lease: Seconds | None = None
    ) -> builtins.list[Literal["lost", "held", "cancelled"]]: ...

    async def cancel(
        self, ids: EventIds, also_running: bool = False, force: bool = False
    ) -> builtins.list[Literal["gone", "removed", "running"]]: ...

    async def reschedule(
        self,
        ids: EventIds,
        *,
        delay: Seconds | None = None,
        at: datetime | None = None,
        at_ms: int | None = None,
    ) -> builtins.list[Literal["gone", "rescheduled", "too_late"]]:
        """core"""
        until = _at_ms(at, at_ms, delay)
        if until is not None:
            return await self._native.reschedule_at_ms(ids, until)
        assert delay is not None
        return await self._native.reschedule(ids, delay)

    async def fetch(self, ids: EventIds) -> builtins.list[Event | None]: ...

    async def list(
        self,
        state: EventState,
        *,
        key: Member | None = None,
        since_us: int | None = None,
        before_us: int | None = None,
        after: EventPlace | None = None,
        limit: int | None = None,
    ) -> EventPage: ...

    async def redrive(
        self, ids: EventIds
    ) -> builtins.list[Literal["gone", "redriven", "not_dead"]]: ...

    async def redrive_all(
        self,
        *,
        reason: DeadReason | None = None,
        since_us: int | None = None,
        before_us: int | None = None,
        max: int | None = None,
        per_second: int | None = None,
    ) -> int: ...

    async def purge(
        self, state: EventState, *, key: Member | None = None, before_us: int | None = None
    ) -> int: ...

    async def reshard(self, partitions: int) -> None: ...

    async def reshard_step(self, partitions: int) -> int: ...

    async def put_schedule(
        self,
        id: str,
        *,
        cron: str | None = None,
        zone: str | None = None,
        every: Seconds | None = None,
        anchor_ms: int | None = None,
        payload: Member | None = None,
        headers: Fields | None = None,
        ttl: Seconds | None = None,
        missed: Missed | None = None,
        grace: Seconds | None = None,
        overlap: Overlap | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        revision: int | None = None,
    ) -> Literal["created", "unchanged", "updated", "ignored"]: ...

    async def sync_schedules(
        self, owner: str, revision: int, schedules: Schedules
    ) -> SyncedSchedules: ...

    async def remove_schedule(self, id: str) -> bool: ...

    async def get_schedule(self, id: str) -> ScheduleInfo | None: ...

    async def list_schedules(self) -> builtins.list[ScheduleInfo]: ...

    async def pause_schedule(self, id: str) -> bool: ...

    async def resume_schedule(self, id: str) -> bool: ...

    async def trigger_schedule(self, id: str) -> Published | None: ...

    async def delete(self) -> None: ...

    async def stats(self) -> EventStats: ...

    async def configure(
        self,
        *,
        partitions: int | None = None,
        lease: Seconds | None = None,
        max_attempts: int | None = None,
        max_crashes: int | None = None,
        backoff_min: Seconds | None = None,
        backoff_max: Seconds | None = None,
        events_max: int | None = None,
        dedup_ids_max: int | None = None,
        paused: bool | None = None,
        concurrency: int | None = None,
        rate: int | None = None,
        burst: int | None = None,
        retention: Seconds | None = None,
    ) -> None: ...

    async def config(self) -> EventConfig | None: ...

    async def pause(self) -> None: ...

    async def resume(self) -> None: ...


class Deliveries(Loop["builtins.list[Event]"]):
    """The loop of a consumer of events; made by :meth:`EventQueue.deliveries`. Requesting the next batch does not
    change the previous one: its events are leased until they are ended, or until the lease expires.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:").events("orders")
    >>> _ = await queue.publish_many(["a", "b", "c"])
    >>> async for events in queue.deliveries(max=2):
    ...     print(await queue.ack_many(events))
    ['ended', 'ended']
    ['ended']
    """

    __slots__ = ()
    _native: _handles.Deliveries


class EventWorker(Runner["EventJob"]):
    """Runs a handler for the events of a queue; made by :meth:`EventQueue.worker`. :meth:`run` works until it is
    stopped, on ``concurrency`` events at a time, and :meth:`drain` until nothing is ready.

    When the handler returns, the event is deleted. An event that failed is delivered again after the queue's backoff,
    up to its ``max_attempts``, after which it becomes a dead letter.

    >>> import millpond.aio
    >>> queue = millpond.aio.connect("memory:").events("orders")
    >>> _ = await queue.publish_many(["7", "x"])
    >>> def check(job):
    ...     if not job.event.payload.isdigit():
    ...         raise millpond.Reject("no number")
    >>> await queue.worker().drain(check, on_error=lambda job, error: None)
    JobCounts(done=1, retried=0, dead=1, others=0)
    >>> [event.err for event in (await queue.list("dead")).events]
    ['no number']
    """

    _native: _handles.EventWorker
    _meant = staticmethod(no_modification_of_event)

    def stop(self, within: Seconds = 25) -> None: ...


class EventJob:
    """An event that is being worked on; passed to the handler of an :class:`EventWorker`."""

    _native: _handles.EventJob

    @property
    def event(self) -> Event:
        """The event, as it was received."""
        found: Event = self._native.event
        return found

    @property
    def is_lost(self) -> bool: ...

    @property
    def is_last_attempt(self) -> bool: ...

    @property
    def is_cancelled(self) -> bool: ...

    @property
    def time_left(self) -> float | None: ...

    def __str__(self) -> str:
        return f"event {self.event.id} (attempt {self.event.attempts})"


EventWorker._job = EventJob
