"""What calls take and answer, for blocking and asyncio callers alike."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, AnyStr, Generic, NamedTuple, Optional, Union

__all__ = ["Added", "Member", "Pair", "Seconds", "Stats"]

Member = Union[str, bytes, bytearray, memoryview]
"""A name or a member: bytes, or text, which stands for its UTF-8."""

Pair = Union[Member, tuple[Optional[float], Member]]
"""A score and a member; a score that is None or left out is the server's time in seconds."""

Pairs = Iterable[Pair]
Members = Iterable[Member]

Seconds = Union[float, datetime.timedelta]
"""A time in seconds, or a timedelta."""


class Added(NamedTuple):
    """What an add changed."""

    new: int
    """Members that were not in the producer set."""
    lowered: int
    """Members that were, and whose score went down."""


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
    def _of(cls, groups: Any) -> Stats[AnyStr] | None:
        """Makes stats of the groups of values that the native half answers."""
        return None if groups is None else cls(*(value for group in groups for value in group))
