# The private half behind the public classes. At run time, blocking and asyncio callers have the
# same classes, those of millpond._native, whose calls return awaitables for a client of
# millpond.aio.

import builtins
from collections.abc import Iterable
from datetime import datetime
from typing import Any, AnyStr, Generic, Literal, final

from typing_extensions import TypeAlias

from .._native import Doc, Message, Modification, Receipt, Task
from ..event_values import (
    DeadReason,
    Delivery,
    EventIds,
    EventState,
    IfExists,
    EventPlace,
    ManyDeliveries,
    Missed,
    NewEvents,
    Overlap,
    Schedules,
)
from ..errors import MillpondError
from ..records import (
    Acquired,
    Added,
    DeadLetter,
    DocPage,
    DocPosition,
    Duty,
    JobCounts,
    Event,
    EventConfig,
    EventPage,
    EventStats,
    FieldPage,
    HashStats,
    LockHolder,
    Modified,
    NamespaceStats,
    Position,
    Pruned,
    Published,
    QueueStats,
    Reaped,
    Reclaimed,
    Recovery,
    RecruiterStats,
    Renewed,
    Sample,
    Scanned,
    ScheduleInfo,
    ShuffleStats,
    Swept,
    SyncedSchedules,
    TaskId,
    TaskPage,
    Tracked,
    TrackerStats,
    ValueOrLock,
)
from ..task_values import DocHandles, Docs, TaskHandles, Tasks, Texts
from ..values import FieldPlace, Fields, Member, Members, Pairs, Seconds, Taken, Written

Entries: TypeAlias = list[tuple[AnyStr, float]]
Score: TypeAlias = float | None
Ranges: TypeAlias = tuple[Score, Score, Score, Score, Score, Score]
IckStats: TypeAlias = tuple[tuple[str, AnyStr, AnyStr, AnyStr], tuple[int, int, int], Ranges]

@final
class Client(Generic[AnyStr]):
    def close(self) -> None: ...
    # methods

@final
class Ick(Generic[AnyStr]):
    # core
    async def stats(self) -> IckStats[AnyStr] | None: ...
    # methods

@final
class IckChannel(Generic[AnyStr]):
    # methods

@final
class ConsumerLease(Generic[AnyStr]):
    @property
    def is_lost(self) -> bool: ...
    async def release(self) -> bool: ...
    # methods

@final
class Batches(Generic[AnyStr]):
    async def next(self) -> list[tuple[AnyStr, float]] | None: ...
    async def commit(self) -> int: ...

@final
class ShuffleQueue(Generic[AnyStr]):
    # core
    async def dead_letters(
        self, max: int, after: str | None
    ) -> list[DeadLetter[AnyStr]]: ...
    async def delete_dead_letters(self, letters: list[str]) -> int: ...
    async def redrive(self, letters: list[str]) -> list[Receipt | None]: ...
    # methods

@final
class ShuffleConsumer(Generic[AnyStr]):
    async def read(self, wait: Seconds | None) -> Message[AnyStr] | None: ...
    async def read_many(self, max: int, wait: Seconds | None) -> list[Message[AnyStr]]: ...
    # methods

@final
class ShuffleWorker(Generic[AnyStr]):
    def start(self, drains: bool, tells_all: bool) -> ShuffleRun: ...
    # methods

@final
class ShuffleRun:
    @property
    def concurrency(self) -> int: ...
    async def next(self) -> list[tuple[Any, ...]] | None: ...
    def counts(self) -> JobCounts: ...
    def end(self, job: ShuffleJob[Any], returned: None) -> None: ...
    def fail(
        self,
        job: ShuffleJob[Any],
        kind: str,
        err: str,
        delay: Seconds | None,
        queue: str | None,
    ) -> None: ...

@final
class ShuffleJob(Generic[AnyStr]):
    @property
    def message(self) -> Message[AnyStr]: ...
    # methods

@final
class Messages(Generic[AnyStr]):
    async def next(self) -> list[Message[AnyStr]] | None: ...

@final
class Garbage(Generic[AnyStr]):
    async def next(self) -> list[AnyStr] | None: ...
    def counts(self) -> tuple[int, int]: ...

@final
class EventQueue:
    # core
    async def reschedule(
        self, ids: EventIds, delay: Seconds
    ) -> list[Literal["gone", "rescheduled", "too_late"]]: ...
    async def reschedule_at_ms(
        self, ids: EventIds, at_ms: int
    ) -> list[Literal["gone", "rescheduled", "too_late"]]: ...
    # methods

@final
class Deliveries:
    async def next(self) -> list[Event] | None: ...

@final
class EventWorker:
    def start(self, drains: bool, tells_all: bool) -> EventRun: ...
    # methods

@final
class EventRun:
    @property
    def concurrency(self) -> int: ...
    async def next(self) -> list[tuple[Any, ...]] | None: ...
    def counts(self) -> JobCounts: ...
    def end(self, job: EventJob, returned: None) -> None: ...
    def fail(
        self,
        job: EventJob,
        kind: str,
        err: str,
        delay: Seconds | None,
        queue: str | None,
    ) -> None: ...

@final
class EventJob:
    @property
    def event(self) -> Event: ...
    # methods

@final
class VolatileHash(Generic[AnyStr]):
    # methods

@final
class FieldLock:
    @property
    def is_lost(self) -> bool: ...
    async def release(self) -> bool: ...
    # core
    @property
    def fence(self) -> int: ...
    # methods

@final
class VolatileHashes(Generic[AnyStr]):
    # methods

@final
class QueueTracker(Generic[AnyStr]):
    # methods

@final
class Recruiter:
    def install(
        self,
        id: str,
        per_second: float | None,
        share: float | None,
        burst: int | None,
        budget: Seconds | None,
        max_running: int | None,
        lease: Seconds | None,
        idle_max: Seconds | None,
    ) -> None: ...
    def decide(self, budget: Seconds | None) -> Duty | Slice | None: ...
    async def ask(self, budget: Seconds | None) -> tuple[Duty | Slice, MillpondError | None]: ...
    def slices(self) -> Slices: ...
    # methods
    # core
    def uninstall(self, job: str) -> bool: ...

@final
class Slice:
    # methods
    # core
    def end(self, items: int) -> Duty: ...
    def fail(self) -> Duty: ...

@final
class Slices:
    async def next(self) -> Slice | None: ...

@final
class TaskStore:
    # methods

@final
class Claims:
    async def next(self) -> list[Task] | None: ...

@final
class Worker:
    def start(self, drains: bool, tells_all: bool) -> Run: ...
    # methods

@final
class Run:
    @property
    def concurrency(self) -> int: ...
    async def next(self) -> list[tuple[Any, ...]] | None: ...
    def counts(self) -> JobCounts: ...
    def end(self, job: Job, returned: Modification | None) -> None: ...
    def fail(
        self, job: Job, kind: str, err: str, delay: Seconds | None, queue: str | None
    ) -> None: ...

@final
class Jobs:
    async def next(self) -> Job | None: ...

@final
class Job:
    # core
    @property
    def task(self) -> Task[Any]: ...
    # methods
