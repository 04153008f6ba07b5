"""Redis servers of our own: the binary ``millpond-test-servers`` of the workspace starts them."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType

WORKSPACE = Path(__file__).parents[2]


@cache
def binary() -> str:
    named = os.environ.get("MILLPOND_TEST_SERVERS")
    if named:
        return named
    build = ["cargo", "build", "--quiet", "-p", "millpond-tests", "--bin", "millpond-test-servers"]
    subprocess.run(build, cwd=WORKSPACE, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", WORKSPACE / "target")
    return str(Path(target) / "debug" / "millpond-test-servers")


class Servers:
    """A server that lives as long as the ``with`` block; it dies with this process."""

    def __init__(self, kind: str = "redis") -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([binary(), kind], stdin=pipe, stdout=pipe, text=True)
        # What it reports: its addresses, and with TLS the file of its authority.
        self.started: dict[str, str] = json.loads(self._line())
        self.url: str = self.started["url"]

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def run(self, command: str) -> None:
        """Kills, stops, continues or restarts it: see the binary."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        assert self._line() == "ok\n"

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate()
