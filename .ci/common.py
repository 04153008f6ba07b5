"""What the scripts of a release share: where things are, and the tools that requirements.txt pins."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILD = ROOT / "target/dist"
TOOLS = BUILD / "tools"
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# What a package that carries the core says of others' code in it.
NOTICES, BILL = "THIRD-PARTY.md", "sbom.cdx.json"
# What users read first; packages carry them.
PAGES = ("README.md", "python/README.md", "node/README.md", "ffi/README.md", "ffi/ruby/README.md", "ffi/php/README.md")


def prepare_tools() -> None:
    """Installs zig, cargo-zigbuild and maturin into TOOLS, unless these versions are there."""
    pinned = ROOT / ".ci/requirements.txt"
    installed, wanted = TOOLS / "requirements.sha256", hashlib.sha256(pinned.read_bytes()).hexdigest()
    if installed.exists() and installed.read_text() == wanted:
        return
    shutil.rmtree(TOOLS, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
    pip = [TOOLS / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*pip, "--requirement", pinned], check=True)
    installed.write_text(wanted)
