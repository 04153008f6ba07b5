"""What calls return: values with names, the same for both kinds of callers."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, AnyStr, Generic, NamedTuple

from ._native import Doc, Message, Task

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
