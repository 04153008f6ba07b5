"""What opening a directory found is returned by the client and reported as warnings."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import millpond

LOG = "00000000000000000001.log"


async def test_a_torn_end_and_a_cut(connect: Callable[..., Any], tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = connect(f"file:{data}?sync=never")
    assert client.recovery().closed and client.recovery().records == 0
    await client.ick("files").add([(1, "a")])
    await client.ick("files").add([(2, "b")])
    # What a kill would leave, and less.
    copy.mkdir(0o700)
    shutil.copy(data / LOG, copy / LOG)
    torn = (copy / LOG).read_bytes()
    (copy / LOG).write_bytes(torn[:-5])
    await client.aclose()
    assert client.recovery() is not None

    with pytest.warns(RuntimeWarning, match=r"^millpond: .* were cut off") as told:
        client = connect(f"file:{copy}")
    found = client.recovery()
    assert isinstance(found, millpond.Recovery)
    assert (found.records, found.snapshot_bytes, found.closed) == (1, 0, False)
    assert found.torn_bytes > 40 and found.log_bytes > 1000
    assert found.suspicion is not None and f"{found.torn_bytes} bytes" in found.suspicion
    assert found.warnings == [found.suspicion]
    assert [str(one.message) for one in told] == [f"millpond: {found.suspicion}"]
    await client.aclose()

    closed = (copy / LOG).read_bytes()
    (copy / LOG).write_bytes(closed[:-5])
    with pytest.raises(millpond.CorruptError, match="the file ends here"):
        connect(f"file:{copy}")
    with pytest.warns(RuntimeWarning, match=r"^millpond: repaired, "):
        client = connect(f"file:{copy}?repair")
    assert client.recovery().suspicion.startswith("repaired, ")
    await client.aclose()


async def test_other_clients_have_none(connect: Callable[..., Any]) -> None:
    assert connect("memory:").recovery() is None
    assert connect("redis://127.0.0.1:1").recovery() is None


async def test_rights_are_warned_about(connect: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    with pytest.warns(RuntimeWarning, match="mode 0755") as told:
        client = connect(f"file:{data}")
    # It names the caller of connect.
    assert Path(told[0].filename).name in {"callers.py", Path(__file__).name}
    assert client.recovery().suspicion is None
    await client.aclose()
