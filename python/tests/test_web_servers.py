"""Workers in the processes of web servers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

import millpond

MAILS = """
import asyncio, os

async def send(job):
    os.write(1, b"begin\\n")  # in one piece, as the server writes too
    while not os.path.exists("stopping"):
        await asyncio.sleep(0.01)
    os.write(1, b"end\\n")
"""

# Only the signal stops this worker.
APP = """
import asyncio, contextlib, os
import starlette.applications, millpond.aio
from mails import send

@contextlib.asynccontextmanager
async def lifespan(app):
    worker = millpond.aio.connect(os.environ["REDIS_URL"]).tasks("shop").worker("mails", concurrency=4)
    run = asyncio.create_task(worker.run(send))
    yield
    await run

app = starlette.applications.Starlette(lifespan=lifespan)
"""

SERVERS = {
    "uvicorn": ["uvicorn", "--port", "0"],
    "uvicorn with uvloop": ["uvicorn", "--port", "0", "--loop", "uvloop"],
    "gunicorn": ["gunicorn", "--worker-class", "asgi", "--bind", "127.0.0.1:0"],
}


def recipe() -> str:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    (found,) = re.findall(r"```py\n([^`]*lifespan.*?)```", readme, re.DOTALL)
    return str(found)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("app", [APP, recipe()], ids=["signal", "recipe"])
def test_a_signal_ends_an_asgi_server_after_its_jobs(
    own_server: Any, tmp_path: Path, server: str, app: str
) -> None:
    store = millpond.connect(own_server.url).tasks("shop")
    for _ in range(6):
        store.insert("mails")
    (tmp_path / "mails.py").write_text(MAILS)
    (tmp_path / "web.py").write_text(app)
    environment = {**os.environ, "REDIS_URL": own_server.url, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-u", "-m", *SERVERS[server], "web:app"]
    options: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    lines: list[str] = []
    with subprocess.Popen(command, env=environment, cwd=tmp_path, **options) as process:
        ends = threading.Timer(PATIENCE, process.kill)
        ends.start()
        for line in process.stdout:
            lines.append(line)
            if lines.count("begin\n") == 4 and line == "begin\n":
                process.terminate()
            if "hutting down" in line:
                (tmp_path / "stopping").touch()
        ends.cancel()
    assert process.returncode in (0, -signal.SIGTERM), lines
    jobs = [line for line in lines if line in ("begin\n", "end\n")]
    assert jobs == ["begin\n"] * 4 + ["end\n"] * 4
    (stats,) = store.queue_stats()
    assert (stats.size, stats.available) == (2, 2)
