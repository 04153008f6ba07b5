"""Runs test suites side by side and prints at the end how many cases each had and how long it
took.

    python3 tests/suites.py [--deep] [SUITE ...]

`make test` and `make test-all` build what the suites need and call this. Most tests wait more than
they compute, so a few suites run at a time; each test program in Rust counts as one, and of the two
large ones each module, in a process of its own. What a suite
prints goes to `target/suites/<suite>.log`, and of those that fail the end is printed last. A suite
that exceeds its limit is ended with everything that it started, and so are all when this program is
interrupted.

A suite that fails is run once more, alone, after all others. If it passes then, the table calls it
FLAKY, and the tests that failed are added to `tests/flaky`: commit that. A test that is listed there
already has no second run, until it is mended and taken off the list. Neither has a suite whose tests
are right or wrong whatever the machine does: models, agreement, linearizability, conformance.

The exit status is 0 only if all suites passed, each of them with at least one case, or say why they
were skipped.
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
WHOLE_CARGO = str(ROOT / "tests" / "whole" / "cargo")
# On two cores more of them only delay each other.
SIDE_BY_SIDE = 3
LINES_OF_A_FAILURE = 80
#: Tests that failed once and passed in a second run, a line each: suite, test, date, seeds.
FLAKY = ROOT / "tests" / "flaky"
RIGHT_OR_WRONG = re.compile("model|agreement|linearizable|conformance|traces")
# The longest: several times what the slowest suite of a tier takes.
LIMIT_SECONDS = 1_200
DEEP_LIMIT_SECONDS = 3_600


@dataclasses.dataclass(frozen=True)
class Suite:
    """A command that runs tests which are built."""

    name: str
    #: Matches each count of cases that passed in what the suite prints; they are summed.
    cases: str
    #: Matches the name of each test that failed in what the suite prints.
    failing: str
    command: tuple[str, ...]
    folder: pathlib.Path = ROOT
    #: The tier that alone runs it, if only one does.
    tier: str | None = None
    #: The row of the table that it counts to.
    row: str = ""


def target(name: str, cases: str, failing: str = r"^HANGS: (.*)", tier: str | None = None) -> Suite:
    """A suite that is a target of the Makefile."""
    command = ("make", "--no-print-directory", f"run-{name}")
    return Suite(name, cases, failing, command, tier=tier, row=name)


BY_CARGO = r"^test result: ok\. (\d+) passed"
FAILING_BY_CARGO = r"^test (.+) \.\.\. FAILED"
# The last test that began.
FAILING_BY_C = r"(?s:.*)^((?:none|memory|file|redis): \w+)$"
BY_CHAOS = r"^[a-z ]+: (\d+) kills, seed"
BY_CONFORMANCE = r"^(\d+) passed, 0 failed"
# The longest come first, so that none is left to run alone at the end.
SUITES = (
    target("c-deep", r"^(\d+) passed", FAILING_BY_C, "deep"),
    target("conformance-all", BY_CONFORMANCE, tier="deep"),
    target("checks", r"^(\d+) checks passed", tier="deep"),
    target("clone", r"^(\d+) builds passed", tier="deep"),
    target("chaos", BY_CHAOS, tier="deep"),
    target("server-matrix", BY_CARGO, FAILING_BY_CARGO, "deep"),
    target("python", r"^(\d+) passed", r"^(?:FAILED|ERROR) (\S+)"),
    target("conformance", BY_CONFORMANCE, tier="fast"),
    target("storm", BY_CHAOS, tier="fast"),
    target("php", r"^OK \((\d+) tests", r"^\d+\) (\S+::\S+)"),
    target("ruby", r"^(\d+) runs", r"^ +\d+\) (?:Failure|Error):\n(\S+#\w+)"),
    target("c", r"^(\d+) passed", FAILING_BY_C),
    # Of the list at the end, where each comes after the line with its place.
    target("node", r"^ℹ pass (\d+)", r"^test at .*\n✖ (.+?) \("),
    target("rust-models", BY_CARGO, FAILING_BY_CARGO),
    target("rust-docs", BY_CARGO, FAILING_BY_CARGO),
    target("examples", r"^(\d+) examples ran"),
    target("polyglot", r"^(\d+) documents"),
    target("shop", r"^(\d+) orders"),
    target("interop", BY_CARGO, FAILING_BY_CARGO),
)


#: Programs of which each module is a suite.
OF_MODULES = ("all", "alone")
#: Modules that only `make test-all` runs.
DEEP_MODULES = ("selftest",)


def rust_suites(tier: str) -> list[Suite]:
    """Every test program of the workspace, as cargo lists them: none can be forgotten here."""
    command = [WHOLE_CARGO, "build", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    suites = []
    for message in map(json.loads, built.stdout.splitlines()):
        is_test = message["reason"] == "compiler-artifact" and message["profile"]["test"]
        if not (is_test and message["executable"]):
            continue
        folder = pathlib.Path(message["manifest_path"]).parent
        target, program = message["target"]["name"], message["executable"]
        parts = {f"{folder.name}-{target}": []}
        if target in OF_MODULES and folder.name == "tests":
            parts = modules(program)
        for name, tests in parts.items():
            if tier != "deep" and name in DEEP_MODULES:
                continue
            command = (str(ROOT / "tests" / "limited"), "300", program, *tests)
            suites.append(Suite(f"rust-{name}", BY_CARGO, FAILING_BY_CARGO, command, folder, row="rust"))
    return suites


def modules(program: str) -> dict[str, list[str]]:
    """For each module of a test program the arguments that run its tests."""
    listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True)
    parts: dict[str, list[str]] = {}
    for test in re.findall(r"^(.+): test$", listed.stdout, re.MULTILINE):
        parts.setdefault(test.split("::")[0], ["--exact"]).append(test)
    return parts


@dataclasses.dataclass
class Result:
    suite: Suite
    seconds: float
    cases: int = 0
    failure: str | None = None
    #: Why the suite tested nothing.
    skipped: str = ""
    #: The tests that failed, each once, and the seeds that were printed.
    failing: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()

    def may_be_flaky(self, listed: set[tuple[str, str]]) -> bool:
        """Whether another run says something: not of what is right or wrong, nor of what was flaky before."""
        name = self.suite.name
        return not RIGHT_OR_WRONG.search(name) and not any((name, test) in listed for test in self.names())

    def names(self) -> tuple[str, ...]:
        """The tests that failed; a suite that names none counts as one."""
        return self.failing or ("-",)


def run(suite: Suite, running: set[subprocess.Popen[bytes]], again: str = "") -> Result:
    log = LOGS / f"{suite.name}{again}.log"
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
    seconds = time.monotonic() - started
    printed = log.read_text(errors="replace")
    cases = sum(int(count) for count in re.findall(suite.cases, printed, re.MULTILINE))
    if failure is not None:
        failing = dict.fromkeys(re.findall(suite.failing, printed, re.MULTILINE))
        seeds = dict.fromkeys(re.findall(r"\bseed:? (\w+)", printed, re.IGNORECASE))
        return Result(suite, seconds, cases, failure, failing=tuple(failing), seeds=tuple(seeds))
    skipped = re.search(r"\bSKIPPED, (.+)", printed) if cases == 0 else None
    return Result(suite, seconds, cases, skipped=skipped[1] if skipped else "")


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


def tell(result: Result, again: str = "") -> None:
    how = "passed" if result.failure is None else "FAILED"
    how = "skipped" if result.skipped else how
    print(f"{result.suite.name}: {how}{again} after {result.seconds:.0f} s", *result.failing, flush=True)


def listed_as_flaky() -> set[tuple[str, str]]:
    """The suite and the name of each test that was flaky before."""
    lines = FLAKY.read_text().splitlines()
    words = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(suite, test) for suite, test, *_ in words}


def run_again(results: list[Result]) -> list[Result]:
    """Runs what failed a second time, one after the other; returns what passed then, as it was the first time."""
    listed = listed_as_flaky()
    flaky = []
    for index, first in enumerate(results):
        if first.failure is None or not first.may_be_flaky(listed):
            continue
        second = run(first.suite, set(), again="-again")
        tell(second, " alone")
        if second.failure is None:
            flaky.append(first)
            results[index] = second
    with FLAKY.open("a") as entries:
        for first in flaky:
            seeds = " ".join(("seeds", *first.seeds)) if first.seeds else ""
            for test in first.names():
                print(first.suite.name, test, time.strftime("%Y-%m-%d"), seeds, sep="\t", file=entries)
    return flaky


def refuse_empty(results: list[Result]) -> None:
    """Counts what tested nothing, and does not say why, as failed. Some programs in Rust have no tests."""
    cases: collections.Counter[str] = collections.Counter()
    for result in results:
        cases[result.suite.row] += result.cases
    for result in results:
        if cases[result.suite.row] == 0 and not result.skipped and result.failure is None:
            result.failure = "it ran no test"


def table(results: list[Result], flaky: list[Result], seconds: float) -> str:
    """A line for each row: the number of cases, the seconds, and what is to be said of it."""
    rows: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        rows[result.suite.row].append(result)
    width = max(map(len, rows))
    lines = [f"{'suite':{width}}  cases  seconds  result"]
    for name, row in sorted(rows.items()):
        said = [f"FLAKY {' '.join((*first.failing, *first.seeds))}" for first in flaky if first.suite.row == name]
        said += [f"skipped: {result.skipped}" for result in row if result.skipped]
        said += [f"FAILED {result.suite.name}" for result in row if result.failure is not None]
        cases, took = sum(result.cases for result in row), sum(result.seconds for result in row)
        lines.append(f"{name:{width}}  {cases:5}  {took:7.0f}  {'; '.join(said) or 'passed'}")
    lines.append(f"{'all':{width}}  {sum(result.cases for result in results):5}  {seconds:7.0f}")
    return "\n".join(lines)


def print_failure(result: Result) -> None:
    log = LOGS / f"{result.suite.name}.log"
    # There is none of what could not be started.
    printed = log.read_text(errors="replace").splitlines() if log.exists() else []
    print(f"----- {result.suite.name}: {result.failure}, its last lines", *printed[-LINES_OF_A_FAILURE:], sep="\n")
    if result.failing:
        print(f"----- {result.suite.name}: failed in", *result.failing)


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
        suites += rust_suites(tier)
    if arguments.deep:
        # Suites of both tiers make more calls then.
        os.environ["MILLPOND_DEEP"] = "1"
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    started = time.monotonic()
    results = run_all(suites)
    flaky = run_again(results)
    refuse_empty(results)
    failed = [result for result in results if result.failure is not None]
    print()
    print(table(results, flaky, time.monotonic() - started))
    for result in failed:
        print_failure(result)
    skipped = sum(bool(result.skipped) for result in results)
    print(f"{len(results) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
