"""What calls take and return, for blocking and asyncio callers alike."""

from __future__ import annotations

import datetime
import enum
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, AnyStr, Final, Generic, Literal, NamedTuple, Optional, Union

from ._native import Message, Receipt

if TYPE_CHECKING:
    from . import _handles

__all__ = [
    "UNSET",
    "Added",
    "DeadLetter",
    "Fields",
    "Member",
    "Pair",
    "Reclaimed",
    "Recovery",
    "Seconds",
    "ShuffleStats",
    "Stats",
    "StreamStats",
    "Taken",
    "Unset",
    "Written",
]

Member = Union[str, bytes, bytearray, memoryview]
"""A name or a member: bytes, or text, which stands for its UTF-8."""

Pair = Union[Member, tuple[Optional[float], Member]]
"""A score and a member; a score that is None or left out is the server's time in seconds."""

Pairs = Iterable[Pair]
Members = Iterable[Member]

Fields = Union[Mapping[str, Member], Mapping[bytes, Member], Iterable[tuple[Member, Member]]]
"""The fields of a message: a mapping, or pairs of a field and its value."""

Written = Iterable[tuple[Member, Fields]]
"""Messages to write: pairs of a shard key and fields."""

Taken = Union[Message[Any], Receipt, Iterable[Union[Message[Any], Receipt]]]
"""A message that was taken, or many; where a message is, its receipt, is as good."""

Seconds = Union[float, datetime.timedelta]
"""A time in seconds, or a timedelta."""


# A str, as only constants of Python's own kinds are shown in signatures of native calls.
class Unset(str, enum.Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Literal[Unset.UNSET]] = Unset.UNSET
"""An argument that is left out, where None is a value too."""


class Added(NamedTuple):
    """What an add changed."""

    new: int
    """Members that were not in the producer set."""
    lowered: int
    """Members that were, and whose score went down."""


class Recovery(NamedTuple):
    """What opening a ``file:`` found; from :meth:`Client.recovery`."""

    records: int
    """Records that were read, of the snapshot and of the log."""
    torn_bytes: int
    """Bytes at the end of the log that were no whole record and were cut off."""
    snapshot_bytes: int
    """Size of the snapshot; 0 without one."""
    log_bytes: int
    """Size of the log after the snapshot."""
    closed: bool
    """Whether the last process closed the engine, or there was none. After a crash or a kill it is
    False, which alone does not mean that anything was lost."""
    suspicion: str | None
    """What looks as if acknowledged steps were lost, in a sentence. None where nothing does."""
    warnings: tuple[str, ...]
    """Everything that an operator should know: the suspicion, and a directory that other users can
    enter."""

    @classmethod
    def _of(cls, values: _handles.Recovered | None) -> Recovery | None:
        if values is None:
            return None
        sizes, closed, suspicion, told = values
        return cls(*sizes, closed, suspicion, tuple(told))


def warn_of_recovery(values: _handles.Recovered | None) -> None:
    """Warns the caller of this function's caller."""
    found = Recovery._of(values)
    for text in found.warnings if found else ():
        warnings.warn(f"millpond: {text}", RuntimeWarning, stacklevel=3)


@dataclass(frozen=True)
class Stats(Generic[AnyStr]):
    """The sizes and score ranges of an Ick. A range of an empty set is None."""

    ver: str
    """The version flag, ``ick.v1``."""
    key: AnyStr
    """The name, which is the key of the flag."""
    pset_key: AnyStr
    """The key of the producer set."""
    cset_key: AnyStr
    """The key of the consumer set."""
    pset_size: int
    """Members that are flagged and not reserved."""
    cset_size: int
    """Members that are reserved and not committed."""
    total_size: int
    """Members in both sets together; one that is in both counts twice."""
    pset_min: float | None
    pset_max: float | None
    cset_min: float | None
    cset_max: float | None
    total_min: float | None
    total_max: float | None

    @classmethod
    def _of(cls, groups: _handles.IckStats[AnyStr] | None) -> Stats[AnyStr] | None:
        """Makes stats of the groups of values that the native half returns."""
        if groups is None:
            return None
        keys, sizes, ranges = groups
        return cls(*keys, *sizes, *ranges)


class StreamStats(NamedTuple):
    """What a stream holds for a group."""

    len: int
    """Entries, finished ones included."""
    pending: int
    """Messages delivered to the group and not acknowledged."""
    lag: int
    """Messages not yet delivered to the group. After messages were deleted in between, and on
    Redis before 7, it may be as high as ``len`` where it should be less."""
    oldest_idle: float | None
    """How many seconds ago the oldest pending message was last delivered, if there is one."""


@dataclass(frozen=True)
class ShuffleStats:
    """What a shuffle queue holds for a group."""

    streams: list[StreamStats]
    """Each stream, by its number."""
    len: int
    """Entries in all streams."""
    pending: int
    """Messages in all streams delivered to the group and not acknowledged."""
    lag: int
    """Messages in all streams not yet delivered to the group."""

    @classmethod
    def _of(cls, values: _handles.Streams) -> ShuffleStats:
        """Makes stats of the values that the native half returns."""
        streams, *sums = values
        return cls([StreamStats(*stream) for stream in streams], *sums)


@dataclass(frozen=True)
class Reclaimed(Generic[AnyStr]):
    """What reclaiming did."""

    messages: list[Message[AnyStr]]
    """The messages that were taken over; each has its ``deliveries``."""
    dead: int
    """How many messages became dead letters."""


@dataclass(frozen=True)
class DeadLetter(Generic[AnyStr]):
    """A message that was delivered too often without being acknowledged, and its history."""

    id: str
    """Its id among the dead letters."""
    message: Message[AnyStr]
    """The message as it was."""
    group: AnyStr
    """The group that it was delivered to."""
    consumer: AnyStr
    """The last consumer that it was delivered to."""
    deliveries: int
    """How often it was delivered."""


def letter_ids(letters: DeadLetter[Any] | str | Iterable[DeadLetter[Any] | str]) -> list[str]:
    """The ids of a dead letter or of several, which may be ids already."""
    if isinstance(letters, (DeadLetter, str)):
        letters = [letters]
    return [letter.id if isinstance(letter, DeadLetter) else letter for letter in letters]
