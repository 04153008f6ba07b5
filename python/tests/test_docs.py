"""Every example that is shown runs."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

MODULES = ["", ".aio", ".aio.client", ".aio.ick", ".aio.shuffle", ".client", ".errors", ".ick"]
MODULES += [".shuffle", ".shuffle_consumer", ".aio.shuffle_consumer", ".values"]
MODULES += [".tasks", ".task_worker", ".task_values", ".aio.tasks", ".aio.task_worker"]


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    found = importlib.import_module(f"millpond{module}")
    assert doctest.testmod(found).failed == 0


def test_readme() -> None:
    ran = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
    assert ran.failed == 0
    assert ran.attempted > 10
