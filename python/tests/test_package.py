"""The package as it is published: the wheel in an environment that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from servers import WORKSPACE


def built_wheel(folder: Path) -> Path:
    named = os.environ.get("MILLPOND_WHEEL")
    if named:
        return Path(named)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", folder, WORKSPACE / "python"], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_a_wheel_in_a_clean_environment(tmp_path: Path) -> None:
    wheel = built_wheel(tmp_path)
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean/bin/python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    subprocess.run([*pip, wheel], check=True)
    example = WORKSPACE / "examples/python/first.py"
    # -I: no module comes from the folder or from the caller's environment.
    done = subprocess.run(
        [python, "-I", example], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "a.txt changed while it was being worked on, and came again\n"
    with zipfile.ZipFile(wheel) as files:
        for name in ("LICENSE-MIT", "LICENSE-APACHE"):
            (path,) = (path for path in files.namelist() if path.endswith(f"/{name}"))
            assert files.read(path) == (WORKSPACE / name).read_bytes()
        # A list of what is in it would be one that the build made, with paths of the machine.
        assert not [path for path in files.namelist() if "sbom" in path]
    where = [python, "-I", "-c", "import millpond; print(millpond.__file__)"]
    done = subprocess.run(where, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp_path))
