from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import callers
import pytest
from servers import Servers

# A shell that starts the suite in the background has it ignore Ctrl-C, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

LIMITED = Path(__file__).parents[2] / "tests/limited"
limit: subprocess.Popen[str] | None = None


def pytest_runtest_logstart(nodeid: str) -> None:
    """Names and ends a test that hangs, from another process: a native call may hold the GIL.

    pytest-timeout, which fails just the one test, comes first; it needs the GIL.
    """
    global limit
    if limit is None:
        seconds = os.environ.get("MILLPOND_TEST_SECONDS_MAX", "180")
        command = [LIMITED, seconds, "--parent"]
        limit = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    print(nodeid.replace("\n", " "), file=limit.stdin, flush=True)


def pytest_unconfigure() -> None:
    if limit is not None:
        limit.communicate("\n")


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs tests that are coroutines, each on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


@pytest.fixture
def own_server() -> Iterator[Servers]:
    """A server that a test may stop or kill."""
    with Servers() as servers:
        yield servers


@pytest.fixture
def name() -> str:
    """The name of a queue that no other test uses."""
    return uuid.uuid4().hex


@pytest.fixture(params=["memory", "file", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return "memory:"
    if request.param == "file":
        return f"file:{tmp_path / 'data'}"
    servers: Servers = request.getfixturevalue("shared_server")
    return servers.url


@pytest.fixture(params=["blocking", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Connects for one kind of caller; what it makes is always awaited."""

    def connect(url: str, **options: Any) -> Any:
        if url.startswith("redis") and "timeout" not in url:
            # Nothing here is about how long a step of 250,000 members takes on a busy machine.
            options.setdefault("timeout", 60)
        return callers.connect(request.param, url, **options)

    return connect
