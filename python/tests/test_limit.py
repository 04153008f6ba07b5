from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HANGING = """
import ctypes

def test_is_quick():
    pass

def test_holds_the_gil():
    # No other thread runs, and no handler of a signal.
    libc = ctypes.PyDLL(None)
    while True:
        libc.pause()
"""


def test_what_hangs_is_named_and_ended(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"MILLPOND_TEST_SECONDS_MAX": "5", "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-q"]
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    said = "HANGS: test_hanging.py::test_holds_the_gil did not end within 5 s"
    assert said in run.stderr, run.stdout + run.stderr
