"""Runs test suites side by side and prints at the end how many cases each had and how long it
took.

    python3 tests/suites.py [--deep] [SUITE ...]

`make test` and `make test-all` build what the suites need and call this. Most tests wait more than
they compute, so a few suites run at a time; each test program in Rust counts as one. What a suite
prints goes to `target/suites/<suite>.log`, and of one that fails the end is printed here too. A
suite that exceeds its limit is ended with everything that it started, and so are all when this
program is interrupted. The exit status is 0 only if all suites passed and each of them ran at least
one case.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "suites"
CARGO = os.environ.get("CARGO", "cargo")
# On two cores more of them only delay each other.
SIDE_BY_SIDE = 3
LINES_OF_A_FAILURE = 120
# The longest: several times what the slowest suite of a tier takes.
LIMIT_SECONDS = 1_200
DEEP_LIMIT_SECONDS = 3_600


@dataclasses.dataclass(frozen=True)
class Suite:
    """A command that runs tests which are built."""

    name: str
    #: Matches each count of cases that passed in what the suite prints; they are summed.
    cases: str
    command: tuple[str, ...]
    folder: pathlib.Path = ROOT
    #: The tier that alone runs it, if only one does.
    tier: str | None = None
    #: The row of the table that it counts to.
    row: str = ""


def target(name: str, cases: str, tier: str | None = None) -> Suite:
    """A suite that is a target of the Makefile."""
    command = ("make", "--no-print-directory", f"run-{name}")
    return Suite(name, cases, command, tier=tier, row=name)


BY_CARGO = r"^test result: ok\. (\d+) passed"
BY_CONFORMANCE = r"^(\d+) passed, 0 failed"
# The longest come first, so that none is left to run alone at the end.
SUITES = (
    target("c-deep", r"^(\d+) passed", "deep"),
    target("conformance-all", BY_CONFORMANCE, "deep"),
    target("chaos", r"^[a-z ]+: (\d+) kills, seed", "deep"),
    target("server-matrix", BY_CARGO, "deep"),
    target("python", r"^(\d+) passed"),
    target("conformance", BY_CONFORMANCE, "fast"),
    target("php", r"^OK \((\d+) tests"),
    target("ruby", r"^(\d+) runs"),
    target("c", r"^(\d+) passed"),
    target("node", r"^ℹ pass (\d+)"),
    target("rust-models", BY_CARGO),
    target("rust-docs", BY_CARGO),
    target("examples", r"^(\d+) examples ran"),
    target("polyglot", r"^(\d+) documents"),
    target("interop", BY_CARGO),
)


def rust_programs() -> list[Suite]:
    """Every test program of the workspace, as cargo lists them: none can be forgotten here."""
    command = [CARGO, "test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    suites = []
    for message in map(json.loads, built.stdout.splitlines()):
        is_test = message["reason"] == "compiler-artifact" and message["profile"]["test"]
        if is_test and message["executable"]:
            folder = pathlib.Path(message["manifest_path"]).parent
            name = f"rust-{folder.name}-{message['target']['name']}"
            command = (str(ROOT / "tests" / "limited"), "300", message["executable"])
            suites.append(Suite(name, BY_CARGO, command, folder, row="rust"))
    return suites


@dataclasses.dataclass
class Result:
    suite: Suite
    seconds: float
    cases: int
    failure: str | None


def run(suite: Suite, running: set[subprocess.Popen[bytes]]) -> Result:
    log = LOGS / f"{suite.name}.log"
    started = time.monotonic()
    failure = None
    limit = DEEP_LIMIT_SECONDS if suite.tier == "deep" else LIMIT_SECONDS
    with log.open("wb") as out:
        # In a session of its own, so that all of it can be ended.
        process = subprocess.Popen(
            suite.command,
            cwd=suite.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        running.add(process)
        try:
            status = process.wait(limit)
            if status != 0:
                failure = f"exit status {status}"
        except subprocess.TimeoutExpired:
            failure = f"not done after {limit} s"
        finally:
            end(process)
            running.discard(process)
    printed = log.read_text(errors="replace")
    cases = sum(int(count) for count in re.findall(suite.cases, printed, re.MULTILINE))
    return Result(suite, time.monotonic() - started, cases, failure)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of a suite: servers too, if it was killed."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_all(suites: list[Suite]) -> list[Result]:
    waiting = collections.deque(suites)
    running: set[subprocess.Popen[bytes]] = set()
    finished: queue.SimpleQueue[Result] = queue.SimpleQueue()
    results: list[Result] = []

    def work() -> None:
        while True:
            try:
                suite = waiting.popleft()
            except IndexError:
                return
            try:
                finished.put(run(suite, running))
            except OSError as error:  # it cannot be started
                finished.put(Result(suite, 0, 0, str(error)))

    for _ in range(SIDE_BY_SIDE):
        threading.Thread(target=work, daemon=True).start()
    try:
        while len(results) < len(suites):
            results.append(finished.get())
            tell(results[-1])
    except BaseException:
        # They have sessions of their own, where the Ctrl-C of a terminal does not come.
        waiting.clear()
        time.sleep(0.1)
        while running:
            for process in tuple(running):
                end(process)
        raise
    return results


def tell(result: Result) -> None:
    name, seconds = result.suite.name, result.seconds
    if result.failure is None:
        print(f"{name}: passed in {seconds:.0f} s", flush=True)
        return
    printed = (LOGS / f"{name}.log").read_text(errors="replace").splitlines()
    print(f"----- {name}, the last lines", *printed[-LINES_OF_A_FAILURE:], sep="\n")
    print(f"----- {name}: failed after {seconds:.0f} s: {result.failure}", flush=True)


@dataclasses.dataclass
class Row:
    """What the suites of one row of the table came to."""

    cases: int = 0
    seconds: float = 0
    failures: int = 0


def rows_of(results: list[Result]) -> dict[str, Row]:
    rows: dict[str, Row] = collections.defaultdict(Row)
    for result in results:
        row = rows[result.suite.row]
        row.cases += result.cases
        row.seconds += result.seconds
        row.failures += result.failure is not None
    for name, row in rows.items():
        # The one suite that may be skipped reports it itself.
        if row.cases == 0 and name != "interop":
            row.failures += 1
    return rows


def table(rows: dict[str, Row], seconds: float) -> str:
    width = max(map(len, rows))
    lines = [f"{'suite':{width}}  cases  seconds"]
    for name, row in sorted(rows.items()):
        failed = "  FAILED" if row.failures else ""
        lines.append(f"{name:{width}}  {row.cases:5}  {row.seconds:7.0f}{failed}")
    cases = sum(row.cases for row in rows.values())
    lines.append(f"{'all':{width}}  {cases:5}  {seconds:7.0f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs test suites side by side.")
    parser.add_argument("--deep", action="store_true", help="also what only test-all runs")
    parser.add_argument("suite", nargs="*", help="only these; rust is every test program in Rust")
    arguments = parser.parse_args()
    known = {suite.name for suite in SUITES} | {"rust"}
    if unknown := set(arguments.suite) - known:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    tier = "deep" if arguments.deep else "fast"
    suites = [suite for suite in SUITES if suite.tier in (None, tier)]
    if arguments.suite:
        suites = [suite for suite in SUITES if suite.name in arguments.suite]
    if not arguments.suite or "rust" in arguments.suite:
        suites += rust_programs()
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    started = time.monotonic()
    rows = rows_of(run_all(suites))
    print()
    print(table(rows, time.monotonic() - started))
    failed = sum(row.failures > 0 for row in rows.values())
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
