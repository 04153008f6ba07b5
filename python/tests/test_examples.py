"""The project's examples and the program in its README do what they say."""

from __future__ import annotations

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
    printed = run(str(EXAMPLES / consumer), shared_server.url)
    assert printed.count("printing page") == 9
    assert "9 pages" in printed


def test_shuffle_on_a_server(shared_server: Servers) -> None:
    assert "taken over" in run(str(EXAMPLES / "shuffle.py"), shared_server.url)


@pytest.mark.parametrize("worker", ["tasks_worker.py", "asyncio_tasks_worker.py"])
def test_tasks_producer_and_worker_share_a_server(own_server: Servers, worker: str) -> None:
    assert "6 mails to send" in run(str(EXAMPLES / "tasks_producer.py"), own_server.url)
    printed = run(str(EXAMPLES / worker), own_server.url)
    assert printed.count("sending a mail") == 6
    assert "6 mails archived" in printed


def test_tasks_on_a_server(shared_server: Servers) -> None:
    printed = run(str(EXAMPLES / "tasks.py"), shared_server.url)
    assert "one order, one invoice" in printed
    assert "after 2 attempts" in printed


def test_programs_in_the_readme() -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(programs) == 3
    printed = [run("-c", program) for program in programs]
    # The others have nothing to print; their own assertions hold.
    assert printed == ["", "", "index a.txt\nindex b.txt\n"]
