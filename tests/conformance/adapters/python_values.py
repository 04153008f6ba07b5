"""What the parts of the adapter for Python share: values, and one body for two kinds of callers."""

import base64
import inspect


class Unsupported(Exception):
    """Python, or the package, cannot express this."""


def labelled(value):
    """A value of a request that JSON has no way to say, and that says which."""
    ((label, text),) = value.items()
    if label == "b64":
        return base64.b64decode(text)
    if label == "float":
        return float(text)
    if label == "int":
        return int(text)
    if label == "string":
        return text
    raise Unsupported(f"Python has no {label}")


async def settled(value):
    """The value, or what it becomes if it is awaitable: the two packages share one body."""
    return await value if inspect.isawaitable(value) else value


def finished(coroutine):
    """What a coroutine returns that never waits, since all its calls block."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("a call that blocks has waited")


async def listed(batches):
    """All that there is in an iterator of either kind."""
    if hasattr(batches, "__aiter__"):
        return [batch async for batch in batches]
    return list(batches)


async def first(iterator):
    """What an iterator of either kind yields next, or None."""
    try:
        return await settled(next_of(iterator))
    except (StopIteration, StopAsyncIteration):
        return None


def next_of(iterator):
    """What an iterator of either kind is requested the next."""
    return iterator.__anext__() if hasattr(iterator, "__anext__") else iterator.__next__()
