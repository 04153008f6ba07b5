# The public part of the native half, under the same names in millpond: batches of these are made
# without running Python code. The private part is in _handles.pyi and aio/_handles.pyi.

import datetime
from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import Any, AnyStr, Final, Generic, Literal, final, overload

from ._fields import DocFields, TaskFields, _Value
from ._handles import Batches as Batches
from ._handles import Claims as Claims
from ._handles import Client as Client
from ._handles import ConsumerLease as ConsumerLease
from ._handles import Deliveries as Deliveries
from ._handles import EventJob as EventJob
from ._handles import EventQueue as EventQueue
from ._handles import EventRun as EventRun
from ._handles import EventWorker as EventWorker
from ._handles import FieldLock as FieldLock
from ._handles import Garbage as Garbage
from ._handles import Ick as Ick
from ._handles import IckChannel as IckChannel
from ._handles import Job as Job
from ._handles import Jobs as Jobs
from ._handles import Messages as Messages
from ._handles import QueueTracker as QueueTracker
from ._handles import Recruiter as Recruiter
from ._handles import Run as Run
from ._handles import ShuffleConsumer as ShuffleConsumer
from ._handles import ShuffleJob as ShuffleJob
from ._handles import ShuffleQueue as ShuffleQueue
from ._handles import ShuffleRun as ShuffleRun
from ._handles import ShuffleWorker as ShuffleWorker
from ._handles import Slice as Slice
from ._handles import Slices as Slices
from ._handles import TaskStore as TaskStore
from ._handles import VolatileHash as VolatileHash
from ._handles import VolatileHashes as VolatileHashes
from ._handles import Worker as Worker
from .aio import _handles as _aio
from .values import UNSET, Fields, Member, Seconds, Unset

ERROR_KINDS: Final[list[tuple[int, str, str]]]
VERSION: Final[str]

@overload
def connect(
    url: str,
    *,
    is_async: Literal[False],
    decode_responses: bool,
    timeout: Seconds | None,
    connect_timeout: Seconds | None,
    retries: int | None,
    username: str | None,
    password: str | None,
    client_name: str | None,
    clock: ManualClock | None,
) -> Client[Any]: ...
@overload
def connect(
    url: str,
    *,
    is_async: Literal[True],
    decode_responses: bool,
    timeout: Seconds | None,
    connect_timeout: Seconds | None,
    retries: int | None,
    username: str | None,
    password: str | None,
    client_name: str | None,
    clock: ManualClock | None,
) -> _aio.Client[Any]: ...
def shard(streams: int, streams_per_shard: int, shard_key: Member) -> list[int]: ...
def _panic(is_async: bool) -> Any: ...
def _at_ms(at: object, at_ms: int | None, delay: Seconds | None) -> int | None: ...
def _undecodable(stream: int | None, id: str, fields: object, deliveries: int) -> Message[str]: ...

@final
class ManualClock:
    def __new__(
        cls, at: datetime.datetime | None = None, *, at_ms: int | None = None
    ) -> ManualClock: ...
    @property
    def now(self) -> datetime.datetime: ...
    @property
    def now_ms(self) -> int: ...
    def advance(self, time: Seconds) -> None: ...

@final
class Message(Generic[AnyStr]):
    def __new__(
        cls,
        stream: int | None,
        id: str,
        fields: Mapping[AnyStr, AnyStr] | Iterable[tuple[AnyStr, AnyStr]],
        deliveries: int = 1,
    ) -> Message[AnyStr]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def stream(self) -> int | None: ...
    @property
    def id(self) -> str: ...
    @property
    def fields(self) -> list[tuple[AnyStr, AnyStr]]: ...
    @property
    def deliveries(self) -> int: ...
    def field(self, name: Member) -> AnyStr | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class Receipt:
    def __new__(cls, stream: int | None, id: str) -> Receipt: ...
    @property
    def stream(self) -> int | None: ...
    @property
    def id(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class Task(TaskFields[_Value]):
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    # core
    def change(
        self,
        value: object = UNSET,
        *,
        json: str | Unset | None = UNSET,
        queue: str | None = None,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int | None = None,
        err: str | None = None,
        headers: Fields | None = None,
    ) -> TaskChange: ...

@final
class TaskChange:
    def __eq__(self, other: object, /) -> bool: ...
    # core
    def replace(
        self,
        value: object = UNSET,
        *,
        json: str | Unset | None = UNSET,
        queue: str | None = None,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int | None = None,
        err: str | None = None,
        headers: Fields | None = None,
    ) -> TaskChange: ...
    def retry(self, err: str) -> TaskChange: ...
    def retry_or_quarantine(self, err: str, queue: str, max: int) -> TaskChange: ...
    def quarantine(self, err: str, queue: str) -> TaskChange: ...

@final
class Doc(DocFields[_Value]):
    def change(
        self,
        content: object = UNSET,
        *,
        json: str | Unset | None = UNSET,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        release: bool = False,
    ) -> DocChange: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class DocChange:
    def __eq__(self, other: object, /) -> bool: ...

@final
class Modification:
    def __new__(cls) -> Modification: ...
    def __len__(self) -> int: ...
    # core
    def insert(
        self,
        queue: str,
        value: object = UNSET,
        *,
        json: str | Unset | None = UNSET,
        id: str | None = None,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int | None = None,
        err: str | None = None,
        priority: int | None = None,
        ttl: Seconds | None = None,
        dedup_window: Seconds | None = None,
        headers: Fields | None = None,
        skip_colliding: bool = False,
    ) -> Modification: ...
    def change(self, change: TaskChange) -> Modification: ...
    def delete(self, task: Task[Any] | tuple[str, int]) -> Modification: ...
    def depend(self, task: Task[Any] | tuple[str, int]) -> Modification: ...
    def insert_doc(
        self,
        namespace: str,
        key: str,
        content: object = UNSET,
        *,
        json: str | Unset | None = UNSET,
        id: str | None = None,
        secondary_key: str | None = None,
        skip_colliding: bool = False,
    ) -> Modification: ...
    def put_doc(
        self,
        namespace: str,
        key: str,
        content: object = UNSET,
        *,
        json: str | Unset | None = UNSET,
        id: str | None = None,
        secondary_key: str | None = None,
    ) -> Modification: ...
    def change_doc(self, change: DocChange) -> Modification: ...
    def delete_doc(self, doc: Doc[Any] | tuple[str, str, int]) -> Modification: ...
    def depend_doc(self, doc: Doc[Any] | tuple[str, str, int]) -> Modification: ...
