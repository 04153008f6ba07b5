"""What recruiters take and return, for blocking and asyncio callers alike."""

from __future__ import annotations

import inspect
import operator
from typing import Literal

__all__ = ["Why"]

Why = Literal[
    "worked",
    "nothing",
    "aborted",
    "failed",
    "not_drawn",
    "not_due",
    "denied",
    "busy",
    "in_slice",
    "over_duty",
    "no_jobs",
    "unavailable",
    "stopped",
]
"""What became of a slice, or why an enlistment ran none."""


def items(returned: object) -> int:
    """How many items a handler worked on, by what it returned."""
    if returned is None:
        return 1
    try:
        # A truth is a number, too.
        count = operator.index(returned)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count >= 0:
        return count
    if inspect.iscoroutine(returned):
        returned.close()
    raise TypeError(
        f"the handler returned {returned!r}, which is no number of items that it worked on"
    )
