"""Calls per second from Python, ours and redis-py's in turn; prints a list of rows as JSON.

Arguments: the server's URL, the source of the script that an add calls.
"""

import asyncio
import json
import sys
import time

import redis
import redis.asyncio
from measure import compare, with_figures

import millpond
import millpond.aio

ROUNDS = 15
KEYS = ["k", "k/ick/{k}/pset", "k/ick/{k}/cset"]
ARGS = ["0", "1763691473.5", "document-00000001"]
PAIR = [(1763691473.5, "document-00000001")]


def sync(url, sha):
    calls = 2000
    ick = millpond.connect(url).ick("k")
    client = redis.Redis.from_url(url)

    def ours():
        start = time.perf_counter()
        for _ in range(calls):
            ick.add(PAIR)
        return calls / (time.perf_counter() - start)

    def theirs():
        start = time.perf_counter()
        for _ in range(calls):
            client.evalsha(sha, 3, *KEYS, *ARGS)
        return calls / (time.perf_counter() - start)

    row = {"name": "sync", "concurrent": 1, "peer": "redis-py", "aim": 1}
    return compare(ROUNDS, row, ours, theirs)


async def asynchronous(url, sha, concurrent):
    calls = 1000 if concurrent == 1 else 10_000 // concurrent
    client = millpond.aio.connect(url)
    ick = client.ick("k")
    pool = redis.asyncio.Redis.from_url(url, max_connections=concurrent)

    async def measure(call):
        async def worker():
            for _ in range(calls):
                await call()

        start = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(concurrent)))
        return calls * concurrent / (time.perf_counter() - start)

    figures = []
    for number in range(ROUNDS + 1):
        order = [lambda: ick.add(PAIR), lambda: pool.evalsha(sha, 3, *KEYS, *ARGS)]
        if number % 2:
            second = await measure(order[1])
            figures.append((await measure(order[0]), second))
        else:
            figures.append((await measure(order[0]), await measure(order[1])))
    await pool.aclose()
    row = {"name": "asyncio", "concurrent": concurrent, "peer": "redis-py"}
    return with_figures({**row, "aim": 3 if concurrent == 64 else None}, *zip(*figures[1:]))


def main():
    url, source = sys.argv[1:]
    sha = redis.Redis.from_url(url).script_load(source)
    rows = [sync(url, sha)]
    for concurrent in (1, 64):
        rows.append(asyncio.run(asynchronous(url, sha, concurrent)))
    json.dump(rows, sys.stdout)


main()
