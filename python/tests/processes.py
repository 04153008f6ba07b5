"""What tests do to processes: a child of a fork, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


def in_child(work: Callable[[], None], seconds: float = 20) -> None:
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
def interrupted_within(seconds: float) -> Iterator[None]:
    """Presses Ctrl-C soon; it has to end what is under way."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()
    assert time.monotonic() - began < seconds
