"""Ctrl-C ends a call that waits; other threads release the lock and go on."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from processes import interrupted, one_of_two_threads
from waiting import SOON, until

import millpond


def test_a_hung_server(own_server: Any) -> None:
    ick = millpond.connect(own_server.url, timeout=60).ick("x")
    ick.add([(1, "a")])
    own_server.run("stop")
    with interrupted():
        ick.add([(1, "b")])
    own_server.run("cont")
    assert ick.add([(1, "c")]).new == 1


def test_a_server_that_cannot_be_reached() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ick = millpond.connect(f"redis://127.0.0.1:{port}", timeout=60, retries=1000).ick("x")
    with interrupted():
        ick.add([(1, "b")])


def test_a_timeout_without_end(own_server: Any) -> None:
    ick = millpond.connect(own_server.url, timeout=math.inf, connect_timeout=math.inf).ick("x")
    ick.add([(1, "a")])
    own_server.run("stop")
    with interrupted():
        ick.add([(1, "b")])


def test_a_wait_for_work(url: str, name: str) -> None:
    ick = millpond.connect(url).ick(name)
    batches = ick.batches(10, wait=math.inf)
    with interrupted():
        next(batches)
    ick.add([(1, "a")])
    assert next(batches) == [(b"a", 1.0)]


def test_a_handler_that_raises_nothing_ends_nothing(own_server: Any) -> None:
    ick = millpond.connect(own_server.url, timeout=60).ick("x")
    ick.add([(1, "a")])
    handled: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(number))

    def send_and_continue() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: handled)
        time.sleep(0.2)  # the call goes on waiting
        own_server.run("cont")

    own_server.run("stop")
    sender = threading.Thread(target=send_and_continue)
    sender.start()
    assert ick.add([(1, "b")]).new == 1
    sender.join()
    assert handled == [signal.SIGUSR1]
    signal.signal(signal.SIGUSR1, before)


def test_a_handler_can_raise_what_it_likes_and_call(own_server: Any, name: str) -> None:
    ick = millpond.connect("memory:").ick(name)

    def handler(number: int, frame: Any) -> None:
        ick.add([(1, "handled")])
        raise LookupError("from the handler")

    before = signal.signal(signal.SIGUSR1, handler)
    hung = millpond.connect(own_server.url, timeout=60).ick("x")
    own_server.run("stop")
    sender = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    sender.start()
    with pytest.raises(LookupError, match="from the handler"):
        hung.add([(1, "b")])
    sender.join()
    assert ick.peek(1) == [(b"handled", 1.0)]
    signal.signal(signal.SIGUSR1, before)


def test_other_threads_go_on(own_server: Any) -> None:
    ick = millpond.connect(own_server.url, timeout=60).ick("x")
    ick.add([(1, "a")])
    own_server.run("stop")
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ick.add([(1, "b")])))
    thread.start()
    with interrupted():
        time.sleep(60)
    assert not answers
    own_server.run("cont")
    thread.join(SOON)
    assert answers == [millpond.Added(1, 0)]


def test_the_lock_is_released_while_a_call_waits(own_server: Any) -> None:
    ick = millpond.connect(own_server.url, timeout=60).ick("x")
    ick.add([(1, "a")])
    own_server.run("stop")
    thread = threading.Thread(target=ick.add, args=([(1, "b")],))
    thread.start()
    began = time.monotonic()
    for _ in range(20):
        time.sleep(0.001)
    assert time.monotonic() - began < SOON
    assert thread.is_alive()
    own_server.run("cont")
    thread.join(SOON)
    assert not thread.is_alive()


def test_one_loop_over_batches_is_for_one_thread(name: str) -> None:
    ick = millpond.connect("memory:").ick(name)
    batches = ick.batches(1, wait=math.inf)
    with one_of_two_threads(lambda: next(batches)) as got:
        ick.add([(1, "a")])
    assert got == [[(b"a", 1.0)]]


@pytest.mark.parametrize("url_kind", ["memory", "redis"])
def test_a_program_ends_although_a_thread_waits(url_kind: str, shared_server: Any) -> None:
    url = "memory:" if url_kind == "memory" else shared_server.url
    program = f"""
import math, millpond, threading, time
ick = millpond.connect({url!r}).ick("nothing here")
for _ in range(4):
    threading.Thread(target=lambda: list(ick.batches(1, wait=math.inf)), daemon=True).start()
def hammer():
    while True:
        ick.add([(1, "a")]), ick.delete()
threading.Thread(target=hammer, daemon=True).start()
time.sleep(0.3)
"""
    for _ in range(5):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
        assert (ended.returncode, ended.stderr) == (0, b"")
