"""The package is typed, the stub is that of the binary, and both kinds of callers are alike."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import millpond
import millpond.aio

PROJECT = Path(__file__).parents[1]

PROGRAM = """
from typing import Optional
from typing_extensions import assert_type
import millpond
import millpond.aio

client = millpond.connect("memory:")
ick = client.ick(b"x")
assert_type(ick.add([(1, "a"), "b", (None, b"c"), (1.5, bytearray())]), millpond.Added)
assert_type(ick.reserve(1), list[tuple[bytes, float]])
assert_type(ick.stats(), Optional[millpond.Stats[bytes]])
text = millpond.connect("memory:", decode_responses=True)
with text, text.ick("x").batches(1) as batches:
    for batch in batches:
        assert_type(batch, list[tuple[str, float]])

async def main() -> None:
    async with millpond.aio.connect("memory:", decode_responses=True) as client:
        ick = client.ick("x")
        assert_type(await ick.add(["a"]), millpond.Added)
        lease = await ick.lease(1)
        assert_type(lease, Optional[millpond.aio.ConsumerLease[str]])
        async for batch in ick.batches(1, wait=1):
            assert_type(batch, list[tuple[str, float]])

ick.add([(1, 2)])  # type: ignore[list-item]
ick.reserve("1")  # type: ignore[arg-type]
ick.peek(1, set="both")  # type: ignore[arg-type]
"""


def check(*command: str) -> None:
    ran = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd="/")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_package(tmp_path: Path) -> None:
    check("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "millpond")


def test_the_stub(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    # What every native module has and no stub names.
    allowed.write_text("millpond._native.__all__\n")
    check("mypy.stubtest", "millpond._native", "--allowlist", str(allowed))


def test_a_program_of_users(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    check("mypy", "--strict", "--warn-unused-ignores", str(program))


@pytest.mark.parametrize("name", ["Batches", "Client", "ConsumerLease", "Ick", "IckChannel"])
def test_both_kinds_of_callers_are_alike(name: str) -> None:
    def parameters(found: Any) -> dict[str, Any]:
        members = inspect.getmembers(found, inspect.isfunction)
        return {
            name: inspect.signature(member).parameters
            for name, member in members
            if not name.startswith("_")
        }

    def properties(found: Any) -> set[str]:
        return {name for name, _ in inspect.getmembers(found, lambda one: type(one) is property)}

    blocking, awaited = getattr(millpond, name), getattr(millpond.aio, name)
    assert parameters(blocking) == parameters(awaited)
    assert properties(blocking) == properties(awaited)


def test_connect_is_alike() -> None:
    blocking, awaited = inspect.signature(millpond.connect), inspect.signature(millpond.aio.connect)
    assert blocking.parameters == awaited.parameters
