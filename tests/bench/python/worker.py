"""Jobs per second through a worker, ours and those of the peers that `measured_at` names in turn,
round by round; prints a list of rows as JSON.

A round enqueues its jobs, starts a worker on them, and counts from the start of the first job until
the last has ended in the store, which then holds none of them.

Arguments: the server's URL. All that it holds is deleted.
"""

import asyncio
import contextlib
import functools
import itertools
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import celery
import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from measure import in_turn, with_figures

import millpond
import millpond.aio

ROUNDS = 3
CONCURRENT = 100  # of ours
BATCH = 1000
WAIT_S = 0.005
LONGEST_ROUND_S = 120
PROCESSES = 2  # of each peer's worker, which share the jobs at once
DRAMATIQ_PREFETCH = 300  # with its default a worker sleeps between jobs that take no time


def measured_at(url):
    """What is done, and who does it: ours, and the peers. All have 100 jobs at once, but a peer has
    fewer where it does more of them so and they take no time."""
    return {
        "no-op": (
            {
                "tasks": of_millpond(url, 60_000, 0, fill_tasks),
                "shuffle queue": of_millpond(url, 60_000, 0, fill_shuffle),
                "events": of_millpond(url, 60_000, 0, fill_events),
            },
            {
                "dramatiq, 16 at once": of_dramatiq(url, 40_000, 0, threads=8),
                "Celery, solo, acks late, 2 at once": of_celery(url, 8000, 0, "solo", 1, "late"),
                "Celery, threads, acks late": of_celery(url, 6000, 0, "threads", 50, "late"),
                "Celery, threads, acks early": of_celery(url, 6000, 0, "threads", 50, "early"),
            },
        ),
        "wait 5 ms": (
            {
                "tasks": of_millpond(url, 30_000, WAIT_S, fill_tasks),
                "shuffle queue": of_millpond(url, 30_000, WAIT_S, fill_shuffle),
                "events": of_millpond(url, 30_000, WAIT_S, fill_events),
            },
            {
                "dramatiq": of_dramatiq(url, 25_000, WAIT_S, threads=50),
                "Celery, threads, acks late": of_celery(url, 6000, WAIT_S, "threads", 50, "late"),
                "Celery, threads, acks early": of_celery(url, 6000, WAIT_S, "threads", 50, "early"),
                "the waits alone": lambda: CONCURRENT / WAIT_S,
            },
        ),
    }


AIMS = {"dramatiq, 16 at once": 10, "the waits alone": 0.9}


async def fill_tasks(client, total):
    """Fills a task store; returns what makes its worker, and what tells how much is left in it."""
    store = client.tasks("bench")
    for start in range(0, total, BATCH):
        modification = millpond.Modification()
        for number in range(start, start + BATCH):
            modification.insert("q", {"number": number})
        await store.modify(modification)

    async def left():
        return (await store.queues()).get("q", 0)

    return functools.partial(store.worker, "q"), left


async def fill_shuffle(client, total):
    """The same of a shuffle queue with 40 tenants."""
    queue = client.shuffle_queue("q", streams=64, streams_per_shard=4)
    for start in range(0, total, BATCH):
        numbers = range(start, start + BATCH)
        await queue.write_many([(str(n * 7 % 40), {"number": str(n)}) for n in numbers])
    worker = queue.consumer("workers", "worker-1").worker
    return functools.partial(worker, delete=True), queue.len


async def fill_events(client, total):
    """The same of a queue of events."""
    queue = client.events("bench")
    await queue.publish_many([str(number) for number in range(total)])

    async def left():
        return (await queue.stats()).events

    return queue.worker, left


def of_millpond(url, total, wait_s, fill):
    """Measures a worker of ours, in this process and on one event loop."""

    async def work():
        async with millpond.aio.connect(url) as client:
            made, left = await fill(client, total)
            worker = made(concurrency=CONCURRENT, prefetch=CONCURRENT)
            times = []

            async def handle(job):
                times.append(time.monotonic())
                if len(times) == total:
                    worker.stop()
                if wait_s:
                    await asyncio.sleep(wait_s)

            await worker.run(handle)
            rate = total / (time.monotonic() - times[0])
            assert await left() == 0, f"{await left()} jobs are left"
            return rate

    def measure():
        redis.Redis.from_url(url).flushall()
        return asyncio.run(work())

    return measure


def of_dramatiq(url, total, wait_s, threads):
    """Measures dramatiq, whose messages are in a hash until they are acknowledged."""

    def measure():
        client = redis.Redis.from_url(url)
        client.flushall()
        broker = RedisBroker(url=url)
        broker.declare_queue("default")
        for number in range(total):
            broker.enqueue(dramatiq.Message("default", "work", (number, wait_s), {}, {}))
        command = ["dramatiq", "worker_peers", "--processes", PROCESSES, "--threads", threads]
        return run([command], url, total, lambda: client.hlen("dramatiq:default.msgs"))

    return measure


def of_celery(url, total, wait_s, pool, concurrency, task):
    """Measures Celery, whose messages go from a list to a hash until they are acknowledged."""

    def measure():
        client = redis.Redis.from_url(url)
        client.flushall()
        with celery.Celery(broker=url) as app, app.producer_or_acquire() as producer:
            for number in range(total):
                app.send_task(task, (number, wait_s), producer=producer)
        command = ["celery", "--quiet", "--app", "worker_peers", "worker"]
        command += ["--pool", pool, "--concurrency", concurrency]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--hostname"]
        commands = [[*command, f"worker-{number}"] for number in range(PROCESSES)]
        return run(commands, url, total, lambda: client.llen("celery") + client.hlen("unacked"))

    return measure


def run(commands, url, total, left):
    """Runs a peer's own commands on what is enqueued until nothing is left, and returns how many
    jobs they did per second. Each job writes its times to a file, whatever process it runs in."""
    with tempfile.NamedTemporaryFile() as file, contextlib.ExitStack() as stack:
        file.truncate(16 * total)
        times = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")
        environment = {
            **os.environ,
            "BENCH_URL": url,
            "BENCH_TIMES": file.name,
            "dramatiq_queue_prefetch": str(DRAMATIQ_PREFETCH),
        }
        workers = [stack.enter_context(started(command, environment)) for command in commands]
        deadline = time.monotonic() + LONGEST_ROUND_S

        def pause(seconds):
            assert all(worker.poll() is None for worker in workers), f"{commands} ended"
            assert time.monotonic() < deadline, f"{commands} do not end"
            time.sleep(seconds)

        for index in range(2 * total):
            while not times[index]:
                pause(0.002)
        while left():
            pause(0.0005)
        return total / (time.monotonic() - min(times[::2]))


@contextlib.contextmanager
def started(command, environment):
    worker = subprocess.Popen(
        [sys.executable, "-m", *map(str, command)],
        cwd=Path(__file__).parent,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield worker
    finally:
        worker.terminate()
        worker.wait()


def main():
    (url,) = sys.argv[1:]
    rows = []
    for name, (ours, peers) in measured_at(url).items():
        figures = in_turn(ROUNDS, {**ours, **peers})
        for queue, peer in itertools.product(ours, peers):
            row = {"name": f"{name}, {queue}", "concurrent": CONCURRENT, "peer": peer}
            row["aim"] = AIMS.get(peer)
            rows.append(with_figures(row, figures[queue], figures[peer]))
    json.dump(rows, sys.stdout)


main()
