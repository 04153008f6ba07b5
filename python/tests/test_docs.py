"""Every example that is shown runs."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import inspect
import types
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MODULES = ["", ".aio", ".aio.client", ".aio.ick", ".aio.shuffle", ".client", ".errors", ".ick"]
MODULES += [".shuffle", ".shuffle_consumer", ".aio.shuffle_consumer", ".values"]
MODULES += [".volatile", ".aio.volatile", ".recruiter", ".aio.recruiter", ".wsgi", ".asgi"]
MODULES += [".tracker", ".aio.tracker"]
MODULES += [".events", ".aio.events", ".tasks", ".task_worker", ".records", ".aio.tasks", ".aio.task_worker"]


@contextmanager
def top_level_await(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Examples are run as `python -m asyncio` runs them, with a loop that outlives each line."""
    loop = asyncio.new_event_loop()

    def run(code: types.CodeType, names: dict[str, Any]) -> None:
        found = types.FunctionType(code, names)()
        if inspect.iscoroutine(found):
            loop.run_until_complete(found)

    def compiled(source: str, name: str, mode: str, flags: int, dont_inherit: bool) -> Any:
        return compile(source, name, mode, flags | PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit)

    monkeypatch.setattr(doctest, "exec", run, raising=False)
    monkeypatch.setattr(doctest, "compile", compiled, raising=False)
    yield
    loop.close()


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.import_module(f"millpond{module}")
    with top_level_await(monkeypatch):
        ran = doctest.testmod(found)
    assert ran.failed == 0
    if module.endswith(("ick", "shuffle", "shuffle_consumer", "tasks", "task_worker", "client", "volatile", "recruiter", "tracker")):
        assert ran.attempted > 3


def test_readme() -> None:
    ran = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
    assert ran.failed == 0
    assert ran.attempted > 10
