# The fields of classes of the native half.

import datetime
from types import GenericAlias
from typing import Any, Generic

from typing_extensions import Self, TypeVar

from .values import UNSET, Unset

_Value = TypeVar("_Value", covariant=True, default=Any)
_T = TypeVar("_T", default=Any)
