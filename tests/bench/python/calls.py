"""Calls a second from Python, ours and redis-py's in turn; prints a list of rows as JSON.

Arguments: the server's URL, the source of the script that an add calls.
"""

import asyncio
import json
import statistics
import sys
import time

import redis
import redis.asyncio

import millpond
import millpond.aio

ROUNDS = 15
KEYS = ["k", "k/ick/{k}/pset", "k/ick/{k}/cset"]
ARGS = ["0", "1763691473.5", "document-00000001"]
PAIR = [(1763691473.5, "document-00000001")]


def row(name, concurrent, aim, figures):
    ours, theirs = zip(*figures[1:])  # the first round warms up
    return {
        "name": name,
        "concurrent": concurrent,
        "peer": "redis-py",
        "aim": aim,
        "ours": statistics.median(ours),
        "theirs": statistics.median(theirs),
        "ratio": statistics.median(a / b for a, b in zip(ours, theirs)),
    }


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

    return row("sync", 1, 1, [in_turn(i, ours, theirs) for i in range(ROUNDS + 1)])


def in_turn(number, ours, theirs):
    if number % 2:
        second = theirs()
        return ours(), second
    return ours(), theirs()


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
    return row("asyncio", concurrent, 3 if concurrent == 64 else None, figures)


def main():
    url, source = sys.argv[1:]
    sha = redis.Redis.from_url(url).script_load(source)
    rows = [sync(url, sha)]
    for concurrent in (1, 64):
        rows.append(asyncio.run(asynchronous(url, sha, concurrent)))
    json.dump(rows, sys.stdout)


main()
