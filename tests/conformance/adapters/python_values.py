"""Values of the protocol as Python has them, and one body for two kinds of callers."""

import base64
import inspect
import math

import millpond

# What a request has by its fields, and the package by a type.
RECORDS = ("Receipt", "TaskId", "DocId", "Position", "DocPosition", "EventPosition")
RECORDS += ("FieldPosition", "HashField")
FIELDS = {}
# Lists of a modification and of what it met.
LISTS = ("inserts", "changes", "deletes", "depends", "claims")
LISTS = (*LISTS, *(f"doc_{name}" for name in LISTS))


class Unsupported(Exception):
    """Python, or the package, cannot express this."""


def fields(of):
    """The names of the parameters of a function, or of the fields of a type."""
    if of.__qualname__ not in FIELDS:
        FIELDS[of.__qualname__] = tuple(inspect.signature(of).parameters)
    return FIELDS[of.__qualname__]


def decoded(value):
    """A value of a request as Python has it."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"id", "token"}:
        return (value["id"], decoded(value["token"]))
    for name in RECORDS:
        if value.keys() == set(fields(getattr(millpond, name))):
            return getattr(millpond, name)(**{name: decoded(item) for name, item in value.items()})
    ((label, text),) = value.items()
    if label == "utf8":
        return text.encode()
    if label == "b64":
        return base64.b64decode(text)
    if label == "float":
        return float(text)
    if label == "int":
        return int(text)
    if label == "string":
        return text
    raise Unsupported(f"Python has no {label}")


def seconds(ms):
    """Milliseconds as the package takes them; a wrong argument as it is."""
    is_number = isinstance(ms, (int, float)) and not isinstance(ms, bool)
    return ms / 1000 if is_number else ms


def arguments(callee, given):
    """What a request has for the parameters of a function or a type."""
    names, found = fields(callee), {}
    for name, value in given.items():
        if name == "modification":
            value = modification(value)
        elif name == "pairs":
            value = [tuple(decoded(pair)) for pair in value]
            if any(score is None or isinstance(score, bool) for score, _ in value):
                raise Unsupported("a bool is a number in Python, and None the server's time")
        elif name == "events":
            value = [made(millpond.NewEvent, event) for event in value]
        elif name == "schedules":
            value = [made(millpond.Schedule, schedule) for schedule in value]
        else:
            value = decoded(value)
        if name == "after_ms" and "after" not in names:
            name = "delay_ms"
        if name in ("value", "content") and "json" in names:
            name = "json"
        if name not in names and name.endswith("_ms"):
            name, value = name.removesuffix("_ms"), seconds(value)
        if name not in names:
            raise Unsupported(f"the call {callee.__name__} takes no {name}")
        found[name] = value
    return found


def made(callee, given):
    """Calls a function or a type."""
    return callee(**arguments(callee, given))


def change(entry):
    """The change of a task, and the end of it, in the protocol's order."""
    changed = made(millpond.Task, entry["task"]).change()
    for end in ("retry", "retry_or_quarantine", "quarantine"):
        if end in entry:
            told = entry[end] if isinstance(entry[end], list) else [entry[end]]
            changed = getattr(changed, end)(*told)
    settings = dict(entry.get("set") or {})
    if settings.pop("no_value", False):
        settings["json"] = None
    return made(changed.replace, settings)


def doc_change(entry):
    """The change of a document."""
    return made(made(millpond.Doc, entry["doc"]).change, entry.get("set") or {})


def modification(lists):
    """The modification of these lists."""
    gathered = millpond.Modification()
    for name, entries in lists.items():
        of_doc, verb = name.startswith("doc_"), name.removeprefix("doc_").removesuffix("s")
        method = getattr(gathered, f"{verb}_doc" if of_doc else verb)
        for entry in entries:
            if verb == "change":
                method(doc_change(entry) if of_doc else change(entry))
            elif verb in ("delete", "depend"):
                method(decoded(entry))
            else:
                made(method, entry)
    return gathered


def milliseconds(time):
    """Seconds as a response has them."""
    ms = round(time * 1000, 3)
    return int(ms) if ms.is_integer() else ms


def shown_field(of, name, value):
    """A field of a record, which is in milliseconds if it is a length of time."""
    annotation = of.__annotations__[name]
    # A named tuple has its annotations as references.
    if getattr(annotation, "__forward_arg__", annotation) not in ("float", "float | None"):
        return name, shown(value)
    return f"{name}_ms", None if value is None else milliseconds(value)


def shown(value):
    """A value of a response as JSON has it."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, dict):
        return {name: shown(item) for name, item in value.items()}
    if type(value).__module__.startswith("millpond"):
        names = fields(type(value))
        if isinstance(value, millpond.Event):
            headers = [[name, shown(header)] for name, header in value.headers.items()]
            return {name: shown(part) for name, part in value._asdict().items()} | {"headers": headers}
        if type(value).__module__ == "millpond.records":
            return dict(shown_field(type(value), name, getattr(value, name)) for name in names)
        if "json" not in names:
            return {name: shown(getattr(value, name)) for name in names}
        text = "value" if "value" in names else "content"
        of = {name: getattr(value, "json" if name == text else name) for name in names if name != "json"}
        return of | ({"headers": shown(list(of["headers"].items()))} if "headers" in of else {})
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return value


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
