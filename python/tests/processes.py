"""What tests do to processes: a child of a fork, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from waiting import SOON, until

import millpond


def in_child(work: Callable[[], None], seconds: float = 60) -> None:
    """Does it in a child, which may neither fail nor hang."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException as failure:
            os.write(2, f"child: {failure!r}\n".encode())
        finally:
            os._exit(status)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


@contextmanager
def interrupted() -> Iterator[None]:
    """Presses Ctrl-C in a moment; it has to end what is under way, which else takes a minute."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()
    assert time.monotonic() - began < SOON


@contextmanager
def one_of_two_threads(call: Callable[[], Any]) -> Iterator[list[Any]]:
    """Calls in two threads what only one may do at a time. When one of them was refused the block
    lets the other one end; the list then has what that returned.
    """
    got: list[Any] = []
    refused: list[str] = []

    def work() -> None:
        try:
            got.append(call())
        except millpond.InvalidArgumentError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: refused)
    assert not got
    yield got
    for thread in threads:
        thread.join(SOON)
    assert len(refused) == 1 and "another thread" in refused[0]
