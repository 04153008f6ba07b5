"""Ctrl-C ends a call that waits; other threads release the lock and go on."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import kit
import pytest
from kit import each_loop, each_wait, each_worker
from processes import interrupted, one_of_two_threads
from waiting import SOON, never_polling, renewing, until

import millpond


@each_wait
def test_a_wait_for_work(url: str, name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.connect(url), name)
    call = how.begin(queue)
    with interrupted():
        call()
    how.queue.put(queue, 1)
    assert how.queue.numbers(call()) == [1]


@each_wait
def test_an_interrupted_wait_takes_no_wake_up(url: str, name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.connect(never_polling(url)), name)
    kept = how.begin(queue, 60)
    with interrupted():
        kept()
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(how.begin(queue, 60)()))
    thread.start()
    time.sleep(0.2)  # it listens now
    how.queue.put(queue, 1)
    thread.join(SOON)
    assert [how.queue.numbers(result) for result in got] == [[1]]


@each_wait
def test_a_hung_server(own_server: Any, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.connect(own_server.url, timeout=60), "x")
    how.queue.put(queue, 1)
    result = how.begin(queue, 0)()
    own_server.run("stop")
    for call in how.calls(queue, result):
        with interrupted():
            call()
    own_server.run("cont")
    how.queue.put(queue, 2)


def test_a_server_that_cannot_be_reached() -> None:
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


@each_worker
def test_a_run_of_a_worker(url: str, name: str, kind: kit.Queue) -> None:
    queue = kind.open(millpond.connect(url), name)
    with interrupted():
        kind.worker(queue).run(pytest.fail, stop_on_signals=False)
    kind.put(queue, 1)
    with pytest.raises(KeyboardInterrupt):
        # Only when the handler runs.
        kind.worker(queue).run(
            lambda job: signal.raise_signal(signal.SIGINT), stop_on_signals=False
        )
    # It was given back.
    seen: list[int] = []
    kind.worker(queue).drain(lambda job: seen.append(kind.number(job)))
    assert seen == [1]


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


@each_wait
def test_other_threads_work_while_some_wait(url: str, name: str, how: kit.Wait) -> None:
    queues = how.queue.open_many(millpond.connect(url), name, 4)
    got: list[Any] = []
    waits = [lambda call=how.begin(queue, 30): got.append(call()) for queue in queues]
    threads = [threading.Thread(target=wait) for wait in waits]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    assert not got
    for number, queue in enumerate(queues):
        how.queue.put(queue, number)
    for thread in threads:
        thread.join(SOON)
    assert sorted(number for result in got for number in how.queue.numbers(result)) == [0, 1, 2, 3]


@each_loop
def test_one_loop_is_for_one_thread(name: str, how: kit.Wait) -> None:
    queue = how.queue.open(millpond.connect("memory:"), name)
    call = how.begin(queue, 30)
    with one_of_two_threads(call) as got:
        how.queue.put(queue, 1)
    assert [how.queue.numbers(result) for result in got] == [[1]]


PROGRAM = f"""
import asyncio, sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import kit, millpond, millpond.aio
client, url = millpond.connect(sys.argv[1]), sys.argv[1]
kept = []
def start(work):
    threading.Thread(target=work, daemon=True).start()
def hammer(how):
    queue = how.queue.open(client, "busy " + how.name)
    while True:
        how.queue.put(queue, 1)
        kept.append(how.begin(queue, 0)())
for how in kit.WAITS:
    start(how.begin(how.queue.open(client, "nothing here")))
    start(lambda how=how: hammer(how))
for kind in kit.WORKERS:
    queue = kind.open(client, "nothing to do")
    start(lambda work=kind.worker(queue, concurrency=2).run: work(print))
def recruiter(client):
    recruiter = client.recruiter("site")
    # A server on a busy machine may take longer than a decision may.
    recruiter.on_error(lambda job, error: None)
    recruiter.install("a", lambda slice: None, per_second=1_000)
    return recruiter
def enlist():
    while True:
        recruiter(client).enlist()
start(recruiter(client).run)
start(enlist)
async def main():
    client = millpond.aio.connect(url)
    kept.append(asyncio.ensure_future(recruiter(client).run()))
    for how in kit.WAITS:
        kept.append(asyncio.ensure_future(how.begin(how.queue.open(client, "nothing here"))()))
    for kind in kit.WORKERS:
        work = kind.worker(kind.open(client, "nothing to do")).run(print)
        kept.append(asyncio.ensure_future(work))
    await asyncio.sleep(0.3)
asyncio.run(main())
"""


@pytest.mark.parametrize("url", ["memory", "redis"], indirect=True)
def test_a_program_ends_although_threads_wait(url: str) -> None:
    command = [sys.executable, "-c", PROGRAM, renewing(url)]
    for _ in range(5):
        ended = subprocess.run(command, capture_output=True, timeout=60)
        assert (ended.returncode, ended.stderr) == (0, b"")
