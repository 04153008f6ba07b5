"""What becomes of suites that fail, on small programs that do: `make check` runs them."""

from __future__ import annotations

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import suites


class Suites(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        suites.LOGS, suites.FLAKY = self.folder, self.folder / "flaky"
        suites.FLAKY.write_text("# suite, test\nrust-x\ta::known\t2026-11-25\t\n")

    def suite(self, name: str, script: str, failing: str = suites.FAILING_BY_CARGO) -> suites.Suite:
        command = ("sh", "-c", script)
        return suites.Suite(name, suites.BY_CARGO, failing, command, self.folder, row=name)

    def run_suite(self, name: str, script: str, failing: str = suites.FAILING_BY_CARGO) -> tuple[suites.Result, str]:
        """Runs it as `main` does; returns the result and the line of the table."""
        with contextlib.redirect_stdout(io.StringIO()):
            results = suites.run_all([self.suite(name, script, failing)])
            flaky = suites.run_again(results)
        suites.refuse_empty(results)
        return results[0], suites.table(results, flaky, 1).splitlines()[1]

    def fails_once(self, test: str) -> str:
        return (
            f'if [ -e once ]; then echo "test result: ok. 3 passed"; '
            f'else touch once; echo "seed: 42"; echo "test {test} ... FAILED"; exit 1; fi'
        )

    def test_what_passes_alone_is_flaky_and_listed(self) -> None:
        result, row = self.run_suite("rust-x", self.fails_once("a::b"))
        self.assertIsNone(result.failure)
        self.assertEqual(result.cases, 3)
        self.assertIn("FLAKY a::b 42", row)
        suite, test, _, seeds = suites.FLAKY.read_text().splitlines()[-1].split("\t")
        self.assertEqual((suite, test, seeds), ("rust-x", "a::b", "seeds 42"))

    def test_what_was_flaky_before_has_no_second_run(self) -> None:
        result, row = self.run_suite("rust-x", self.fails_once("a::known"))
        self.assertEqual(result.failure, "exit status 1")
        self.assertIn("FAILED rust-x", row)

    def test_what_is_right_or_wrong_has_no_second_run(self) -> None:
        for name in ("rust-models", "rust-events_agreement", "rust-tasks_linearizable", "conformance"):
            (self.folder / "once").unlink(missing_ok=True)
            self.assertEqual(self.run_suite(name, self.fails_once("a"))[0].failure, "exit status 1", name)

    def test_what_fails_twice_fails(self) -> None:
        result, _ = self.run_suite("ruby", "exit 3", r"^(\S+#\w+)")
        self.assertEqual(result.failure, "exit status 3")
        self.assertEqual(len(suites.FLAKY.read_text().splitlines()), 2)

    def test_what_tests_nothing_fails_or_says_why(self) -> None:
        self.assertEqual(self.run_suite("empty", "true")[0].failure, "it ran no test")
        result, row = self.run_suite("interop", 'echo "interop: SKIPPED, nothing was tested: no Go"')
        self.assertIsNone(result.failure)
        self.assertIn("skipped: nothing was tested: no Go", row)

    def test_the_names_of_tests_that_fail(self) -> None:
        printed = {
            "c": ("memory: a\nnoise\nfile: b\nfile: c\nf.c:3: no", "file: c"),
            "ruby": ("  1) Failure:\nIckTest#test_it [x.rb:3]:\nno", "IckTest#test_it"),
            "php": ("1) Millpond\\\\Tests\\\\IckTest::testIt", "Millpond\\Tests\\IckTest::testIt"),
            "python": ("FAILED python/tests/test_x.py::test_it - no", "python/tests/test_x.py::test_it"),
            "node": ("test at test/x.mjs:3:1\n✖ a call (3.5ms)", "a call"),
        }
        known = {suite.name: suite for suite in suites.SUITES}
        for name, (text, test) in printed.items():
            result, _ = self.run_suite(name, f"printf '%b\n' '{text}'; exit 1", known[name].failing)
            self.assertEqual(result.failing, (test,), name)


if __name__ == "__main__":
    unittest.main()
