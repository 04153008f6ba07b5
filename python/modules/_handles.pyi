# The private half behind the public classes. At run time both kinds of callers have the same
# classes, those of millpond._native, whose calls return awaitables for a client of millpond.aio.

import builtins
from collections.abc import Iterable
from typing import Any, AnyStr, Generic, Literal, final

from typing_extensions import TypeAlias

from .._native import Doc, Message, Modification, Receipt, Task
from ..records import (
    Added,
    DeadLetter,
    DocPage,
    DocPosition,
    Modified,
    NamespaceStats,
    Position,
    QueueStats,
    Reclaimed,
    Recovery,
    Renewed,
    ShuffleStats,
    TaskId,
    TaskPage,
)
from ..task_values import DocHandles, Docs, TaskHandles, Tasks, Texts
from ..values import Fields, Member, Members, Pairs, Seconds, Taken, Written

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
    async def delete_dead_letters(self, letters: list[str]) -> int: ...
    # methods

@final
class ShuffleConsumer(Generic[AnyStr]):
    async def read(self, wait: Seconds | None) -> Message[AnyStr] | None: ...
    async def read_many(self, max: int, wait: Seconds | None) -> list[Message[AnyStr]]: ...
    # methods

@final
class Messages(Generic[AnyStr]):
    async def next(self) -> list[Message[AnyStr]] | None: ...

@final
class Garbage(Generic[AnyStr]):
    async def next(self) -> list[AnyStr] | None: ...
    def counts(self) -> tuple[int, int]: ...

@final
class TaskStore:
    # methods

@final
class Claims:
    async def next(self) -> list[Task] | None: ...

@final
class Worker:
    # methods

@final
class Jobs:
    async def next(self) -> Job | None: ...

@final
class Job:
    # core
    @property
    def task(self) -> Task[Any]: ...
    # methods
