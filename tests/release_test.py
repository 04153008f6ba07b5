"""What a release refuses, on a small clone with a remote of its own: `make check` runs this."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = str(pathlib.Path(__file__).resolve().parent.parent / ".ci/release")
spec = importlib.util.spec_from_loader("release", importlib.machinery.SourceFileLoader("release", SCRIPT))
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)

CARGO = """[workspace]
members = ["core", "house"]

[workspace.package]
version = "0.1.0"
"""

CRATE = """[package]
name = "{name}"
version.workspace = true
publish = {publish}
"""

CHANGELOG = """# Changelog

## [Unreleased]

### Added

- A queue.

### Compatibility

- wire: unchanged
- disk: unchanged
- C ABI: unchanged
"""


class Refusals(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "clone"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.folder.parent / "origin"), at=".")
        self.git("clone", "--quiet", str(self.folder.parent / "origin"), str(self.folder), at=".")
        self.git("config", "user.name", "Somebody")
        self.git("config", "user.email", "somebody@example.org")
        self.git("config", "commit.gpgsign", "false")
        self.git("switch", "--quiet", "--create", "main")
        self.tree = release.Tree(self.folder)
        self.write("Cargo.toml", CARGO)
        for name, publish in (("core", "true"), ("house", "false")):
            self.write(f"{name}/Cargo.toml", CRATE.format(name=name, publish=publish))
            self.write(f"{name}/src/lib.rs", "")
        self.write("CHANGELOG.md", CHANGELOG)
        for page in release.PAGES:
            self.write(page, "pip install millpond\n")
        self.write(".gitignore", "target\n")
        self.tree.run("cargo", "generate-lockfile", "--offline")
        self.publish()

    def git(self, *arguments: str, at: str | None = None) -> None:
        subprocess.run(["git", *arguments], cwd=at or self.folder, check=True, capture_output=True)

    def write(self, path: str, text: str) -> None:
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def publish(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "more")
        self.git("push", "--quiet", "origin", "main")
        record = self.tree.record()
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text("")

    def refusal(self, version: str = "0.1.0") -> str | None:
        """What is said by the first rule that refuses; the generator is no part of a small clone."""
        try:
            for rule in release.RULES:
                if rule is not release.is_generated:
                    rule(self.tree, version)
        except release.Refused as refused:
            return str(refused)
        return None

    def assert_refused(self, words: str, version: str = "0.1.0") -> None:
        self.assertIn(words, self.refusal(version) or "nothing is refused")

    def test_a_tree_with_which_all_is_right(self) -> None:
        self.assertIsNone(self.refusal())

    def test_what_is_no_version(self) -> None:
        for version in ("0.1", "v0.1.0", "0.01.0", "0.1.0-rc1", ""):
            self.assert_refused("is no version of three numbers, such as 0.1.0", version)

    def test_what_is_not_committed(self) -> None:
        self.write("new", "")
        self.assert_refused("not everything is committed:\n?? new")

    def test_another_branch(self) -> None:
        self.git("switch", "--quiet", "--create", "work")
        self.assert_refused("a release is made on main; this is work")

    def test_a_commit_that_nobody_else_has(self) -> None:
        self.git("commit", "--quiet", "--allow-empty", "--message", "mine")
        self.assert_refused("main differs from that of origin: push or pull first")

    def test_no_remote(self) -> None:
        self.git("remote", "remove", "origin")
        self.assert_refused("`git fetch --quiet --tags origin main` fails:")

    def test_versions_that_do_not_follow(self) -> None:
        self.assert_refused("the first release is 0.1.0, as Cargo.toml says; not 0.2.0", "0.2.0")
        self.git("tag", "v0.9.0")
        self.git("tag", "v0.10.0")
        self.git("tag", "vague")
        for version in ("0.10.1", "0.11.0", "1.0.0"):
            self.assertIsNone(self.refusal(version))
        for version in ("0.10.0", "0.9.1", "0.10.2", "0.12.0", "1.0.1", "2.0.0"):
            self.assert_refused(f"after 0.10.0 comes 0.10.1, 0.11.0 or 1.0.0; not {version}", version)

    def test_a_changelog_that_says_nothing(self) -> None:
        self.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n### Added\n\n## [0.0.1] - 2026-01-01\n\n- A queue.\n")
        self.publish()
        self.assert_refused("[Unreleased] in CHANGELOG.md is empty")

    def test_a_changelog_that_does_not_say_what_stays(self) -> None:
        for promise in release.PROMISES:
            for line in ("", f"- {promise}:\n"):
                self.write("CHANGELOG.md", CHANGELOG.replace(f"- {promise}: unchanged\n", line))
                self.publish()
                self.assert_refused(f"CHANGELOG.md has no line `- {promise}: unchanged`, or what has changed")

    def test_pages_of_packages_that_are_not_published(self) -> None:
        self.write("node/README.md", "There is no release yet: `make dist` makes one.\n")
        self.publish()
        self.assert_refused("node/README.md says that there is no release yet: it has to say how")

    def test_the_version_of_a_tag(self) -> None:
        self.assertEqual(release.tagged(self.tree), "0.1.0")
        self.git("tag", "v0.2.0")
        with self.assertRaisesRegex(release.Refused, "this commit is tagged v0.2.0, and its version is 0.1.0"):
            release.tagged(self.tree)
        self.git("tag", "--delete", "v0.2.0")
        self.git("tag", "v0.1.0")
        with self.assertRaisesRegex(release.Refused, "CHANGELOG.md has nothing of the form"):
            release.tagged(self.tree)
        self.write("CHANGELOG.md", CHANGELOG.replace("[Unreleased]", "[0.1.0] - 2026-12-01"))
        self.publish()
        self.assertEqual(release.tagged(self.tree), "0.1.0")
        self.git("commit", "--quiet", "--allow-empty", "--message", "mine")
        self.git("tag", "--force", "v0.1.0")
        with self.assertRaisesRegex(release.Refused, "merge-base --is-ancestor HEAD origin/main` fails"):
            release.tagged(self.tree)

    def test_what_fails_halfway_is_undone(self) -> None:
        before = self.tree.run("git", "rev-parse", "HEAD")
        # The generator is no part of a small clone.
        with self.assertRaisesRegex(release.Refused, "millpond-bindings` fails"):
            release.commit(self.tree, "0.1.0")
        self.assertEqual(self.tree.run("git", "status", "--porcelain"), "")
        self.assertEqual(self.tree.run("git", "rev-parse", "HEAD"), before)

    def test_a_dependency_without_a_version(self) -> None:
        core = CRATE.format(name="core", publish="true")
        for kind in ("dependencies", "build-dependencies"):
            self.write("core/Cargo.toml", f'{core}\n[{kind}]\nhouse = {{ path = "../house" }}\n')
            self.tree.run("cargo", "generate-lockfile", "--offline")
            self.publish()
            self.assert_refused("core is published, and depends on house by its path alone")
        self.write("core/Cargo.toml", f'{core}\n[dev-dependencies]\nhouse = {{ path = "../house" }}\n')
        self.tree.run("cargo", "generate-lockfile", "--offline")
        self.publish()
        self.assertIsNone(self.refusal())

    def test_a_commit_that_was_not_tested(self) -> None:
        self.tree.record().unlink()
        self.assert_refused("no record that `make test-all` and `cargo deny check` passed for this commit")

    def test_what_is_generated_is_stale(self) -> None:
        with self.assertRaisesRegex(release.Refused, "millpond-bindings -- --check` fails"):
            release.is_generated(self.tree, "0.1.0")


if __name__ == "__main__":
    unittest.main()
