"""The project's examples and the program in its README do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from servers import Servers

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "python"


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def until_terminated(example: str, url: str, count: int, words: str) -> str:
    """What it prints when it is asked to end, after it has said those words that often.

    Its threads print side by side: where Python does not buffer, a line's end is a write of its own.
    """
    command = [sys.executable, str(EXAMPLES / example), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout
            said = 0
            while said < count:
                line = program.stdout.readline()
                assert line, "it ended by itself"
                said += line.count(words)
            program.terminate()
            last = program.stdout.read().lstrip("\n")
        except BaseException:
            program.kill()  # as leaving the block waits for it
            raise
    assert program.returncode == 0
    return last


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example_alone(example: str) -> None:
    assert run(str(EXAMPLES / example))


@pytest.mark.parametrize("consumer", ["consumer.py", "asyncio_consumer.py"])
def test_producer_and_consumer_share_a_server(shared_server: Servers, consumer: str) -> None:
    assert "4 documents wait" in run(str(EXAMPLES / "producer.py"), shared_server.url)
    assert "busy.txt" in run(str(EXAMPLES / consumer), shared_server.url)
    assert "4 documents wait" in run(str(EXAMPLES / "producer.py"), shared_server.url)
    run(str(EXAMPLES / consumer), shared_server.url)


@pytest.mark.parametrize("consumer", ["shuffle_consumer.py", "asyncio_shuffle_consumer.py"])
def test_shuffle_producer_and_consumer_share_a_server(
    shared_server: Servers, consumer: str
) -> None:
    assert "9 messages" in run(str(EXAMPLES / "shuffle_producer.py"), shared_server.url)
    assert until_terminated(consumer, shared_server.url, 9, "printing page") == "0 still with others\n"


def test_shuffle_on_a_server(shared_server: Servers) -> None:
    assert "taken over" in run(str(EXAMPLES / "shuffle.py"), shared_server.url)


@pytest.mark.parametrize("worker", ["tasks_worker.py", "asyncio_tasks_worker.py"])
def test_tasks_producer_and_worker_share_a_server(own_server: Servers, worker: str) -> None:
    assert "6 mails to send" in run(str(EXAMPLES / "tasks_producer.py"), own_server.url)
    assert until_terminated(worker, own_server.url, 6, "sending a mail") == "6 mails archived\n"


def test_tasks_on_a_server(shared_server: Servers) -> None:
    printed = run(str(EXAMPLES / "tasks.py"), shared_server.url)
    assert "one order, one invoice" in printed
    assert "after 2 attempts" in printed


def test_events_producer_and_worker_share_a_server(own_server: Servers) -> None:
    assert "attempt 2" in run(str(EXAMPLES / "events.py"), own_server.url)
    assert "9 webhooks to deliver" in run(str(EXAMPLES / "events_producer.py"), own_server.url)
    last = until_terminated("events_worker.py", own_server.url, 8, "deliver to")
    assert last == "1 webhooks could not be delivered\n"


def test_volatile_on_a_server(shared_server: Servers) -> None:
    printed = run(str(EXAMPLES / "volatile.py"), shared_server.url)
    assert printed == "req-2 shows <h1>Shop</h1>\nreq-1 sets no old prices\n"


def test_recruiter_on_a_server(shared_server: Servers) -> None:
    printed = run(str(EXAMPLES / "recruiter.py"), shared_server.url)
    assert printed == "100 carts were removed and 20 mails sent, and no page failed\n"


def test_tracker_on_a_server(shared_server: Servers) -> None:
    printed = run(str(EXAMPLES / "tracker.py"), shared_server.url)
    assert printed == "7 of 11 customers have work queued, as the database says\n"


def test_each_night_a_fleet_does_its_job_once(own_server: Servers) -> None:
    read, write = os.pipe()
    command = [sys.executable, str(EXAMPLES / "events_nightly.py"), own_server.url, "1"]
    fleet = [subprocess.Popen(command, stdout=write) for _ in range(2)]
    os.close(write)
    nights = []
    try:
        with os.fdopen(read) as printed:
            for line in printed:
                nights += re.findall("clean up for .*", line)
                if len(nights) == 4:
                    for process in fleet:
                        process.terminate()
    finally:
        for process in fleet:
            process.kill()
    assert [process.wait() for process in fleet] == [0, 0]
    assert len(nights) >= 4
    assert len(set(nights)) == len(nights)


def test_programs_in_the_readme() -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(programs) == 3
    printed = [run("-c", program) for program in programs]
    # The others have nothing to print; their own assertions hold.
    assert printed == ["", "", "index a.txt\nindex b.txt\n"]
