"""Finds what JSON cannot represent in a value, and where: errors of the module json have no path."""

from __future__ import annotations

import math

__all__: list[str] = []

# How deep the search goes; values that are nested deeper are refused anyway.
_DEPTH_MAX = 100
# Longer keys are cut in messages.
_KEY_MAX = 40


def fault_of(value: object, depth: int = 1) -> str | None:
    """The path to the first fault and what it is, such as ``.items[3].price is a Decimal, which JSON does not have``;
    None if there is no fault, or none of these kinds."""
    if value is None or isinstance(value, (str, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f" is {value}, which JSON does not have"
    if not isinstance(value, (dict, list, tuple)):
        return f" is {_kind(value)}, which JSON does not have"
    if depth > _DEPTH_MAX:
        return None
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if not (key is None or isinstance(key, (str, int, float))):
            return f" has a key that is {_kind(key)}, which JSON does not have"
        fault = fault_of(item, depth + 1)
        if fault is not None:
            return _step(key) + fault
    return None


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _step(key: object) -> str:
    if not isinstance(key, str):
        return f"[{key}]"
    if len(key) > _KEY_MAX:
        return f"[{key[:_KEY_MAX] + '…'!r}]"
    return f".{key}" if key.isidentifier() else f"[{key!r}]"
