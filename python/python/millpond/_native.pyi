# What is public of the native half, under the same names in millpond: a batch of these is made
# without any code of Python's. What is private is in _handles.pyi and aio/_handles.pyi.

import datetime
from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import Any, AnyStr, Final, Generic, Literal, final, overload

from typing_extensions import TypeVar

from ._handles import Batches as Batches
from ._handles import Claims as Claims
from ._handles import Client as Client
from ._handles import ConsumerLease as ConsumerLease
from ._handles import Garbage as Garbage
from ._handles import Ick as Ick
from ._handles import IckChannel as IckChannel
from ._handles import Job as Job
from ._handles import Jobs as Jobs
from ._handles import Messages as Messages
from ._handles import ShuffleConsumer as ShuffleConsumer
from ._handles import ShuffleQueue as ShuffleQueue
from ._handles import TaskStore as TaskStore
from ._handles import Worker as Worker
from .aio import _handles as _aio
from .values import Member, Seconds, Unset

ERROR_KINDS: Final[list[tuple[int, str, str]]]
VERSION: Final[str]

_Value = TypeVar("_Value", covariant=True, default=Any)
_T = TypeVar("_T", default=Any)

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
) -> _aio.Client[Any]: ...
def shard(streams: int, streams_per_shard: int, shard_key: Member) -> list[int]: ...
def _panic(is_async: bool) -> Any: ...
def _undecodable(stream: int | None, id: str, fields: object, deliveries: int) -> Message[str]: ...

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
class Task(Generic[_Value]):
    def __new__(
        cls,
        id: str,
        version: int,
        queue: str | None = None,
        *,
        value: _T | Unset = ...,
        json: str | Unset | None = ...,
        at_ms: int | None = None,
        created_ms: int | None = None,
        modified_ms: int | None = None,
        claimant: str | None = None,
        claims: int | None = None,
        attempt: int | None = None,
        err: str | None = None,
        priority: int | None = None,
        expires_ms: int | None = None,
    ) -> Task[_T]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def queue(self) -> str: ...
    @property
    def at_ms(self) -> int: ...
    @property
    def at(self) -> datetime.datetime: ...
    @property
    def created_ms(self) -> int: ...
    @property
    def created(self) -> datetime.datetime: ...
    @property
    def modified_ms(self) -> int: ...
    @property
    def modified(self) -> datetime.datetime: ...
    @property
    def claimant(self) -> str: ...
    @property
    def claims(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def err(self) -> str: ...
    @property
    def value(self) -> _Value: ...
    @property
    def json(self) -> str | None: ...
    @property
    def priority(self) -> int: ...
    @property
    def expires_ms(self) -> int | None: ...
    @property
    def expires(self) -> datetime.datetime | None: ...
    def change(
        self,
        value: object = ...,
        *,
        json: str | Unset | None = ...,
        queue: str | None = None,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int | None = None,
        err: str | None = None,
    ) -> TaskChange: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> Any: ...

@final
class TaskChange:
    def replace(
        self,
        value: object = ...,
        *,
        json: str | Unset | None = ...,
        queue: str | None = None,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int | None = None,
        err: str | None = None,
    ) -> TaskChange: ...
    def retry(self, err: str) -> TaskChange: ...
    def retry_or_quarantine(self, err: str, queue: str, max: int) -> TaskChange: ...
    def quarantine(self, err: str, queue: str) -> TaskChange: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Doc(Generic[_Value]):
    def __new__(
        cls,
        namespace: str,
        id: str,
        version: int,
        key: str | None = None,
        secondary_key: str | None = None,
        *,
        content: _T | Unset = ...,
        json: str | Unset | None = ...,
        at_ms: int | None = None,
        claimant: str | None = None,
        created_ms: int | None = None,
        modified_ms: int | None = None,
    ) -> Doc[_T]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def namespace(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def secondary_key(self) -> str: ...
    @property
    def content(self) -> _Value: ...
    @property
    def json(self) -> str | None: ...
    @property
    def at_ms(self) -> int: ...
    @property
    def at(self) -> datetime.datetime: ...
    @property
    def claimant(self) -> str: ...
    @property
    def created_ms(self) -> int: ...
    @property
    def created(self) -> datetime.datetime: ...
    @property
    def modified_ms(self) -> int: ...
    @property
    def modified(self) -> datetime.datetime: ...
    def change(
        self,
        content: object = ...,
        *,
        json: str | Unset | None = ...,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        release: bool = False,
    ) -> DocChange: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> Any: ...

@final
class DocChange:
    def __eq__(self, other: object, /) -> bool: ...

@final
class Modification:
    def __new__(cls) -> Modification: ...
    def insert(
        self,
        queue: str,
        value: object = ...,
        *,
        json: str | Unset | None = ...,
        id: str | None = None,
        at: datetime.datetime | None = None,
        at_ms: int | None = None,
        delay: Seconds | None = None,
        attempt: int | None = None,
        err: str | None = None,
        priority: int | None = None,
        ttl: Seconds | None = None,
        skip_colliding: bool = False,
    ) -> Modification: ...
    def change(self, change: TaskChange) -> Modification: ...
    def delete(self, task: Task[Any] | tuple[str, int]) -> Modification: ...
    def depend(self, task: Task[Any] | tuple[str, int]) -> Modification: ...
    def insert_doc(
        self,
        namespace: str,
        key: str,
        content: object = ...,
        *,
        json: str | Unset | None = ...,
        id: str | None = None,
        secondary_key: str | None = None,
        skip_colliding: bool = False,
    ) -> Modification: ...
    def put_doc(
        self,
        namespace: str,
        key: str,
        content: object = ...,
        *,
        json: str | Unset | None = ...,
        id: str | None = None,
        secondary_key: str | None = None,
    ) -> Modification: ...
    def change_doc(self, change: DocChange) -> Modification: ...
    def delete_doc(self, doc: Doc[Any] | tuple[str, str, int]) -> Modification: ...
    def depend_doc(self, doc: Doc[Any] | tuple[str, str, int]) -> Modification: ...
    def __len__(self) -> int: ...
