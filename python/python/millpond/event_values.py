"""Argument types of queues of events, for blocking and asyncio callers alike."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Union

if TYPE_CHECKING:
    from .records import Event, EventPosition, Published
    from .values import Fields, Member, Seconds

__all__ = ["DeadReason", "EventState", "IfExists", "Missed", "NewEvent", "Overlap", "Schedule", "Status"]

EventState = Literal["scheduled", "behind", "ready", "leased", "retry", "dead", "done"]
"""What an event waits for."""

DeadReason = Literal["rejected", "exhausted", "crashed"]
"""Why an event was given up."""

IfExists = Literal["error", "ignore", "replace"]
"""What happens when an event is published whose deduplication id is taken."""

Status = Literal["created", "duplicate", "replaced"]
"""The result of publishing an event."""

Missed = Literal["latest", "expire"]
"""What becomes of the event of a tick that was not received in time."""

Overlap = Literal["wait", "allow"]
"""Whether the event of a tick waits for the event of the previous tick."""

Delivery = Union["Event", tuple[str, bytes]]
"""An event as it was received, or its id and token."""

EventId = Union["Event", "Published", str]
EventIds = Union[EventId, Iterable[EventId]]
"""The id of an event, or an object that has one; or several of these."""

ManyDeliveries = Union[Delivery, Iterable[Delivery]]
EventPlace = Union["EventPosition", "Event", tuple[int, str]]
Schedules = Iterable["Schedule"]
NewEvents = Iterable[Union["NewEvent", "Member"]]


@dataclass(frozen=True)
class NewEvent:
    """An event to publish with others; see :meth:`millpond.EventQueue.publish_many`.

    >>> import millpond
    >>> queue = millpond.connect("memory:").events("orders")
    >>> reminder = millpond.NewEvent("remind", key="customer-12", delay=3_600)
    >>> [published.status for published in queue.publish_many([reminder, "paid"])]
    ['created', 'created']
    """

    payload: Member
    """What to publish, at most 16 MiB."""
    key: Member | None = None
    """Events with the same key are delivered one at a time, in the order in which they fire."""
    at: datetime.datetime | None = None
    """When it fires, with a time zone; a time in the past means now."""
    at_ms: int | None = None
    """The same in milliseconds since the Unix epoch."""
    delay: Seconds | None = None
    """How many seconds after it is published it fires."""
    ttl: Seconds | None = None
    """How many seconds after its time it is dropped if it was not received."""
    dedup_id: str | None = None
    """Of all events with the same key and this id, only one is added: for producers that may publish twice."""
    dedup_window: Seconds | None = None
    """For how many seconds the id is remembered, even if the event has ended; five minutes by default."""
    if_exists: IfExists | None = None
    """What happens if the id is taken; ``"ignore"`` by default."""
    headers: Fields | None = None
    """Its headers: names with bytes."""


@dataclass(frozen=True)
class Schedule:
    """When to publish events, and which: a calendar rule, which is either ``cron`` or ``every``; see
    :meth:`millpond.EventQueue.sync_schedules`.

    >>> import millpond
    >>> queue = millpond.connect("memory:").events("jobs")
    >>> nightly = millpond.Schedule("nightly", cron="30 3 * * *", zone="Europe/Berlin", payload="clean up")
    >>> queue.sync_schedules("billing", 1, [nightly]).created
    1
    """

    id: str
    """Its id, up to 256 bytes, which is the key of its events."""
    cron: str | None = None
    """A cron expression: it fires when the local time of its zone matches."""
    zone: str | None = None
    """The time zone of a cron expression, such as ``"Europe/Berlin"``; ``"UTC"`` by default."""
    every: Seconds | None = None
    """It fires at an interval of this many seconds, at least one."""
    anchor_ms: int | None = None
    """One of the times at which ``every`` fires, in milliseconds since the Unix epoch; 0 by default."""
    payload: Member | None = None
    """What its events carry, at most 16 MiB; nothing by default."""
    headers: Fields | None = None
    """The headers of its events: names with bytes."""
    ttl: Seconds | None = None
    """An event is dropped if it was not received within this many seconds after its time."""
    missed: Missed | None = None
    """What becomes of an event that was not received in time; ``"latest"`` by default."""
    grace: Seconds | None = None
    """For how many seconds an event can be received before it is missed, with ``"expire"``; 60 by default."""
    overlap: Overlap | None = None
    """Whether events wait for each other; ``"wait"`` by default."""
    from_ms: int | None = None
    """No tick comes before this time, in milliseconds since the Unix epoch."""
    until_ms: int | None = None
    """No tick comes at this time or later, in milliseconds since the Unix epoch."""
    revision: int | None = None
    """A schedule with a lower revision than the existing one changes nothing; 0 by default."""
