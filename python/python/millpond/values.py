"""Argument types of all calls, for blocking and asyncio callers alike."""

from __future__ import annotations

import datetime
import enum
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, AnyStr, Final, Generic, Literal, Optional, Union

from ._native import Message, Receipt
from .records import DeadLetter, FieldPosition, HashField, Recovery

if TYPE_CHECKING:
    from . import _handles

__all__ = [
    "UNSET",
    "FieldPlace",
    "Fields",
    "Member",
    "Pair",
    "Seconds",
    "Stats",
    "Taken",
    "Unset",
    "Written",
]

Member = Union[str, bytes, bytearray, memoryview]
"""A name or a member: bytes, or text, which is encoded as UTF-8."""

Pair = Union[Member, tuple[Optional[float], Member]]
"""A score and a member; if the score is None or left out, it is the server's time in seconds."""

Pairs = Iterable[Pair]
Members = Iterable[Member]

Fields = Union[Mapping[str, Member], Mapping[bytes, Member], Iterable[tuple[Member, Member]]]
"""Fields and their values: a mapping, or pairs of a field and its value."""

Written = Iterable[tuple[Member, Fields]]
"""Messages to write: pairs of a shard key and fields."""

Taken = Union[Message[Any], Receipt, Iterable[Union[Message[Any], Receipt]]]
"""A message that was taken, or several; a receipt works as well as the message."""

FieldPlace = Union[FieldPosition[Any], HashField[Any], tuple[int, Member]]
"""The position of a field of a volatile hash, or the field itself, or when it expires and its name."""

Seconds = Union[float, datetime.timedelta]
"""A time in seconds, or a timedelta."""


# A str, because signatures of native calls show only constants of built-in types.
class Unset(str, enum.Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final[Literal[Unset.UNSET]] = Unset.UNSET
"""An argument that is left out, for arguments whose value can be None."""


def warn_of_recovery(found: Recovery | None) -> None:
    """Warns the caller of this function's caller."""
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
    """The sum of both; a member that is in both sets counts twice."""
    pset_min: float | None
    pset_max: float | None
    cset_min: float | None
    cset_max: float | None
    total_min: float | None
    total_max: float | None

    @classmethod
    def _of(cls, groups: _handles.IckStats[AnyStr] | None) -> Stats[AnyStr] | None:
        """Builds stats from the groups of values that the native half returns."""
        if groups is None:
            return None
        keys, sizes, ranges = groups
        return cls(*keys, *sizes, *ranges)


def letter_ids(letters: DeadLetter[Any] | str | Iterable[DeadLetter[Any] | str]) -> list[str]:
    """The ids of a dead letter or of several, which may be ids already."""
    if isinstance(letters, (DeadLetter, str)):
        letters = [letters]
    return [letter.id if isinstance(letter, DeadLetter) else letter for letter in letters]
