"""What may have no end is refused as it is read; meanwhile signals are handled and threads run."""

from __future__ import annotations

import _thread
import threading
from itertools import chain, count, repeat, starmap
from typing import Any

import pytest

import millpond

Invalid = millpond.InvalidArgumentError
MEMBER = repeat("m")


def message_of(fields: Any) -> Any:
    return ("tenant", fields)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.ick("x").add(zip(count(), MEMBER)), "pairs has more than 1000000 items"),
        (lambda c: c.ick("x").add(f"{n}" for n in count()), "pairs has more than 1000000 items"),
        (lambda c: c.ick("x").add(["m"] * 1_000_001), "pairs has more than 1000000 items"),
        (lambda c: c.ick("x").commit(repeat("m" * (1 << 20))), "members[1024] there are more than"),
        (
            lambda c: c.shuffle_queue("x").write_many([message_of(repeat(("f", "v")))]),
            "messages[0][1] has more than 32768 items",
        ),
        (
            lambda c: c.shuffle_queue("x").write_many(repeat(message_of({"f": "v" * (1 << 20)}))),
            "messages[1023] there are more than 1073741824 bytes",
        ),
        (
            lambda c: c.events("x").sync_schedules("app", 1, repeat(millpond.Schedule("s", every=60))),
            "schedules has more than 10000 items",
        ),
        (lambda c: c.tasks("x").queues(["q"] * 5_001, ["q"] * 5_000), "at most 10000 names"),
    ],
)
async def test_calls(connect: Any, call: Any, message: str) -> None:
    client = connect("memory:")
    with pytest.raises(Invalid) as raised:
        await call(client)
    assert message in str(raised.value)
    assert await client.ick("x").stats() is None
    assert await client.shuffle_queue("x").len() == 0


async def test_handles(connect: Any) -> None:
    client = connect("memory:")
    for call, message in [
        (lambda: client.ick_channel("x", 2).batches(range(2**40), 1), "numbers has more than 655"),
        (lambda: client.tasks("x").claims(repeat("q")), "queues has more than 1000 items"),
        (lambda: client.tasks("x").worker(repeat("q")), "queues has more than 1000 items"),
    ]:
        with pytest.raises(Invalid, match=message):
            call()


def doing(call: Any) -> Any:
    """An iterable without items that makes a call of C's, with no bytecode that could release the
    lock."""
    return filter(None, starmap(call, [()]))


def test_ctrl_c() -> None:
    ick = millpond.connect("memory:").ick("x")
    numbers = count()
    with pytest.raises(KeyboardInterrupt):
        ick.add(chain(doing(_thread.interrupt_main), zip(numbers, MEMBER)))
    assert next(numbers) < 10_000, "it was read to the limit"
    assert ick.stats() is None


def test_other_threads_run() -> None:
    ick = millpond.connect("memory:").ick("x")
    # A busy machine may not get to the other thread at once.
    for _ in range(20):
        begun, ran = threading.Lock(), []
        begun.acquire()

        def other(begun: Any = begun, ran: Any = ran) -> None:
            begun.acquire()
            ran.append(1)

        thread = threading.Thread(target=other)
        thread.start()
        try:
            # Ends as soon as the other thread has run.
            ick.add(chain(doing(begun.release), map(str, iter(ran.__len__, 1))))
            return
        except Invalid:
            thread.join()
    pytest.fail("no other thread ran while an iterable was read")
