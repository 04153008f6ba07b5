"""Fork is normal: a client on Redis works in every child, whatever its parent does or did."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import kit
import pytest
import redis
from kit import each_wait, returned
from processes import in_child
from waiting import PATIENCE

import millpond
import millpond.aio


def connection_ids(admin: redis.Redis, client_name: str) -> set[str]:
    return {one["id"] for one in admin.client_list() if one["name"] == client_name}


def thread_count() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("used", [False, True])
def test_a_client_works_in_a_child(shared_server: Any, name: str, used: bool) -> None:
    client = millpond.connect(shared_server.url, client_name=name)
    ick = client.ick(name)
    if used:
        ick.add([(1, "parent")])
    with redis.Redis.from_url(shared_server.url) as admin:
        of_parent = connection_ids(admin, name)
    assert len(of_parent) == used

    def work() -> None:
        for number in range(100):
            assert ick.add([(1, str(number))]).new == 1
        with redis.Redis.from_url(shared_server.url) as admin:
            own = connection_ids(admin, name) - of_parent
            assert len(own) == 1, "the child has one connection, and not its parent's"
        assert thread_count() == 1, "calls that do not wait need no thread"
        assert sum(len(batch) for batch in ick.batches(30, wait=0.1)) == 100 + used

    in_child(work)
    assert ick.add([(1, "after")]).new == 1
    assert ick.reserve(10) == [(b"after", 1.0)]
    with redis.Redis.from_url(shared_server.url) as admin:
        of_parent_now = connection_ids(admin, name)
    assert len(of_parent_now) == 1, "the child's connections went with it"
    assert of_parent_now == of_parent or not used


def test_many_forks_while_threads_work(shared_server: Any, name: str) -> None:
    client = millpond.connect(shared_server.url)
    stop = threading.Event()
    counts = [0] * 4

    def hammer(number: int) -> None:
        ick = client.ick(f"{name}-{number}")
        while not stop.is_set():
            counts[number] += ick.add([(1, str(counts[number]))]).new

    threads = [threading.Thread(target=hammer, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()

    def work() -> None:
        ick = client.ick(f"{name}-children-{os.getpid()}")
        for number in range(20):
            assert ick.add([(1, str(number))]).new == 1
        assert len(ick.reserve(100)) == 20

    try:
        for _ in range(50):
            in_child(work)
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
    for number in range(4):
        stats = client.ick(f"{name}-{number}").stats()
        assert stats is not None
        assert stats.pset_size == counts[number] > 0


@each_wait
@pytest.mark.parametrize("used", [False, True])
def test_a_queue_works_in_a_child(
    shared_server: Any, name: str, how: kit.Wait, used: bool
) -> None:
    kind, client = how.queue, millpond.connect(shared_server.url)
    queue = kind.open(client, name)
    call = how.begin(queue)
    if used:
        kind.put(queue, -1)
        assert kind.numbers(call()) == [-1]

    def work() -> None:
        own = queue if kind.is_shared else kind.open(client, f"{name}-child")
        for number in range(100):
            kind.put(own, number)
        results = kind.takes(own, 100)
        assert sorted(n for result in results for n in kind.numbers(result)) == [*range(100)]
        for result in results:
            kind.end(own, result)
        assert not returned(how.begin(own, 0.05))

    in_child(work)
    assert kind.size(kind.look(queue)) == used
    kind.put(queue, 100)
    assert kind.numbers(call()) == [100]


@each_wait
def test_forks_while_threads_wait(shared_server: Any, name: str, how: kit.Wait) -> None:
    kind, client = how.queue, millpond.connect(shared_server.url)
    queues = kind.open_many(client, name, 3)
    got: list[Any] = []
    waits = [lambda call=how.begin(queue, 60): got.append(call()) for queue in queues]
    threads = [threading.Thread(target=wait) for wait in waits]
    for thread in threads:
        thread.start()
    time.sleep(0.2)

    def work() -> None:
        own = kind.open(client, f"{name}-child")
        assert not returned(how.begin(own, 0.02))
        threading.Timer(0.05, kind.put, (own, 1)).start()
        result = how.begin(own, 60)()
        assert kind.numbers(result) == [1]
        kind.end(own, result)

    for _ in range(5):
        in_child(work)
    assert not got
    for number, queue in enumerate(queues):
        kind.put(queue, number)
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(number for result in got for number in kind.numbers(result)) == [0, 1, 2]


@each_wait
@pytest.mark.parametrize("url", ["memory", "file"], indirect=True)
def test_an_embedded_client_belongs_to_its_process(url: str, how: kit.Wait) -> None:
    kind, client = how.queue, millpond.connect(url)
    queue = kind.open(client, "x")
    kind.put(queue, 1)
    call = how.begin(queue)
    result = call()
    async_queue = kind.open(millpond.aio.connect(url), "x")

    def work() -> None:
        for refused in [*how.calls(queue, result), call]:
            with pytest.raises(millpond.ForkedError):
                refused()

        async def main() -> None:
            with pytest.raises(millpond.ForkedError):
                await kind.look(async_queue)

        asyncio.run(main())
        client.close()
        with millpond.connect("memory:") as own:
            kind.put(kind.open(own, "x"), 1)

    in_child(work)
    kind.put(queue, 2)
    assert kind.numbers(call()) == [2]
    kind.end(queue, result)


@each_wait
def test_asyncio_in_a_child(shared_server: Any, name: str, how: kit.Wait) -> None:
    kind, client = how.queue, millpond.aio.connect(shared_server.url)
    queue = kind.open(client, name)
    kept = how.begin(kind.open(client, f"{name}-empty"))

    async def work() -> None:
        await asyncio.gather(*(kind.put(queue, number) for number in range(100)))
        results: list[Any] = await asyncio.gather(*kind.takes(queue, 100))
        assert sorted(n for result in results for n in kind.numbers(result)) == [*range(100)]
        await asyncio.gather(*(kind.end(queue, result) for result in results))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kept(), 0.05)

    async def left() -> int:
        return kind.size(await kind.look(queue))

    asyncio.run(work())
    for _ in range(5):
        in_child(lambda: asyncio.run(work()))
    asyncio.run(work())
    assert asyncio.run(left()) == 0


@pytest.mark.parametrize(
    "take",
    [
        lambda client, name: client.ick(name).lease(30),
        lambda client, name: client.volatile_hash(name).lock("a", 30),
    ],
    ids=["lease of an ick", "lock of a field"],
)
def test_a_child_does_not_give_back_its_parents_lease(
    shared_server: Any, name: str, take: Any
) -> None:
    client = millpond.connect(shared_server.url)
    held = [take(client, name)]
    assert held[0] is not None

    def work() -> None:
        client.ick(name).stats()
        held.clear()
        time.sleep(0.2)

    in_child(work)
    assert take(client, name) is None

    def give_back() -> None:
        assert held.pop().release() is False, "the copy in a child is not the lease"

    in_child(give_back)

    def leave() -> None:
        with held[0]:
            pass

    in_child(leave)
    assert take(client, name) is None
    assert held[0].release() is True


def test_a_child_that_ends_by_itself(shared_server: Any, tmp_path: Path) -> None:
    program = f"""
import asyncio, math, millpond, millpond.aio, os, sys
clients = [millpond.connect(url) for url in ({shared_server.url!r}, "memory:", "file:data")]
icks = [client.ick("x") for client in clients]
for ick in icks:
    ick.add([(1, "a")])
kept = [next(icks[0].batches(1, wait=math.inf)), icks[0].lease(30), icks[2].batches(1, wait=1)]
kept.append(clients[0].volatile_hash("x").lock("a", 30))
async def main():
    await millpond.aio.connect({shared_server.url!r}).ick("x").stats()
asyncio.run(main())
child = os.fork()
if child == 0:
    icks[0].stats()
    asyncio.run(main())
    sys.exit(7)
assert os.waitpid(child, 0)[1] == 7 << 8
icks[2].add([(1, "b")])
"""
    for _ in range(5):
        # Python warns of forks in a process with threads, which is what this is about.
        command = [sys.executable, "-W", "ignore", "-c", program]
        ended = subprocess.run(command, capture_output=True, timeout=30, cwd=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, b"")
        redis.Redis.from_url(shared_server.url).flushall()


def add_some(url_and_name: tuple[str, str, int]) -> int:
    _, name, first = url_and_name
    ick = POOL_CLIENT[0].ick(name)
    return sum(ick.add([(1, str(number))]).new for number in range(first, first + 200))


POOL_CLIENT: list[Any] = []


def test_multiprocessing(shared_server: Any, name: str) -> None:
    POOL_CLIENT[:] = [millpond.connect(shared_server.url)]
    POOL_CLIENT[0].ick(name).add([(1, "before")])
    with multiprocessing.get_context("fork").Pool(4) as pool:
        parts = [(shared_server.url, name, first) for first in range(0, 2000, 200)]
        assert pool.map_async(add_some, parts).get(60) == [200] * 10
    assert POOL_CLIENT[0].ick(name).stats().pset_size == 2001


def test_a_worker_in_gunicorn(own_server: Any, tmp_path: Path) -> None:
    """The recipe of the README: SIGTERM lets the jobs that are running end, and no other begins."""
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    (recipe,) = re.findall(r"```py\n([^`]*post_worker_init.*?)```", readme, re.DOTALL)
    (tmp_path / "gunicorn.conf.py").write_text(recipe)
    handler = """
import os, time
def send(job):
    os.write(1, f"begin {job.task.value}\\n".encode())  # in one piece, as two processes write
    while not os.path.exists("stopping"):
        time.sleep(0.01)
    time.sleep(0.5)
    os.write(1, f"end {job.task.value}\\n".encode())
"""
    (tmp_path / "mails.py").write_text(handler)
    (tmp_path / "web.py").write_text("def app(environ, start):\n    raise NotImplementedError\n")
    store = millpond.connect(own_server.url).tasks("shop")
    for number in range(6):
        store.insert("mails", number)
    command = [sys.executable, "-u", "-m", "gunicorn", "--workers", "2"]
    command += ["--bind", "127.0.0.1:0", "web:app"]
    environment = {**os.environ, "REDIS_URL": own_server.url, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    lines = []
    with subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment, cwd=tmp_path
    ) as server:
        assert server.stdout is not None
        for line in server.stdout:
            lines.append(line)
            if line.startswith("begin") and str(lines).count("begin") == 2:
                server.terminate()
            if "Worker exiting" in line and str(lines).count("Worker exiting") == 2:
                (tmp_path / "stopping").touch()
    assert server.returncode == 0, lines
    done = [line.split() for line in lines if re.match("(begin|end) ", line)]
    begun, ended = done[:2], done[2:]
    assert [word for word, _ in begun] == ["begin"] * 2
    assert sorted(ended) == sorted(["end", number] for _, number in begun)
    (stats,) = store.queue_stats()
    assert (stats.size, stats.available) == (4, 4)


def test_gunicorn(own_server: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "4"]
    command += ["--worker-class", "sync", "--bind", "127.0.0.1:0", "--log-level", "info"]
    command += ["--chdir", str(Path(__file__).parent), "prefork_app:app"]
    environment = {**os.environ, "URL": own_server.url, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    rest = threading.Thread()
    with subprocess.Popen(command, stderr=pipe, text=True, env=environment) as server:
        try:
            assert server.stderr is not None
            lines = iter(server.stderr.readline, "")
            web = next(line for line in lines if "Listening at: " in line)
            web = web.split("Listening at: ")[1].split()[0]
            rest = threading.Thread(target=list, args=(lines,))
            rest.start()

            def ask(number: int) -> str:
                with urllib.request.urlopen(f"{web}/{number}", timeout=30) as answer:
                    return str(answer.read().decode())

            with ThreadPoolExecutor(8) as threads:
                requests = 1000
                pids = set(threads.map(ask, range(requests)))
                while len(pids) < 4:  # one that began late
                    pids |= set(threads.map(ask, range(requests, requests + 100)))
                    requests += 100
            assert len(pids) == 4
            admin = redis.Redis.from_url(own_server.url)
            assert admin.zcard("shared/ick/{shared}/pset") == requests + 1
            listed = [one["id"] for one in admin.client_list() if one["name"] == "prefork"]
            assert len(set(listed)) == 5  # each worker's own, and the parent's
        finally:
            server.terminate()
            if rest.ident is not None:
                rest.join(30)
