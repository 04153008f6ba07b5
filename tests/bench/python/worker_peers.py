"""The jobs of dramatiq and Celery, which their own commands import and work on; `worker.py` starts
these, and says in the environment where the server is and which file takes the times."""

import mmap
import os
import time

import celery
import dramatiq
from dramatiq.brokers.redis import RedisBroker

url = os.environ["BENCH_URL"]
with open(os.environ["BENCH_TIMES"], "r+b") as file:
    times = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")


def work(number, wait_s):
    """Job `number`: waits, and says when it began and when it ended."""
    times[2 * number] = time.monotonic()
    if wait_s:
        time.sleep(wait_s)
    times[2 * number + 1] = time.monotonic()


dramatiq.set_broker(RedisBroker(url=url))
dramatiq.actor(work, actor_name="work")

app = celery.Celery(broker=url)
app.conf.worker_prefetch_multiplier = 64  # as its manual says for short tasks
app.task(work, name="early", ignore_result=True)
app.task(work, name="late", ignore_result=True, acks_late=True)
