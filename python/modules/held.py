"""What is held until it is released: a lease, a lock."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Held"]


class Held:
    """What is released at the end of an ``async with`` block."""

    __slots__ = ()
    _native: Any

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._native.release()
