"""Messages per second through a shuffle queue and through dramatiq in turn; prints a list of rows
as JSON.

Arguments: the server's URL. All that it holds is deleted.
"""

import functools
import itertools
import json
import sys
import threading
import time

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from measure import compare

import millpond

connect = functools.cache(millpond.connect)

ROUNDS = 5
TENANTS = 40
BATCH = 100


def tenant(number):
    """Tenants in the order in which all programs have them."""
    return str(number * 7 % TENANTS)


def fields(number):
    """A message of 2 fields with 56 bytes in all."""
    return {"task": f"resize-{number:08}", "image": "https://example.org/images/1.png"}


def batches(total):
    return (range(start, start + BATCH) for start in range(0, total, BATCH))


def per_second(total, start):
    return total / (time.perf_counter() - start)


class Shuffle:
    """A shuffle queue with nothing in it."""

    def __init__(self, url):
        redis.Redis.from_url(url).flushall()
        self.queue = connect(url).shuffle_queue("q", streams=64, streams_per_shard=4)
        self.queue.len()  # makes the connection

    def one(self, number):
        self.queue.write(tenant(number), fields(number))

    def many(self, numbers):
        self.queue.write_many([(tenant(number), fields(number)) for number in numbers])

    def work(self, total, threads, loop):
        """Works on what is there, in this many threads, and returns how many that were per second."""
        done = [0] * threads

        def run(index):
            done[index] = loop(self.queue.consumer("workers", f"worker-{index}"))

        running = [threading.Thread(target=run, args=(index,)) for index in range(threads)]
        start = time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        rate = per_second(total, start)
        assert (sum(done), self.queue.len()) == (total, 0), f"{done} of {total}"
        return rate


def nothing(**fields):
    """The work itself, which is none."""


def one_by_one(consumer):
    """Each message read, worked on and acknowledged alone."""
    done = 0
    while message := consumer.read():
        nothing(message=message)
        done += consumer.ack_and_delete(message)
    return done


def taken_in_batches(consumer):
    """Messages read in batches, and each acknowledged alone."""
    done = 0
    for messages in consumer.messages(BATCH):
        for message in messages:
            nothing(message=message)
            done += consumer.ack_and_delete(message)
    return done


def in_batches(consumer):
    """Messages read and acknowledged in batches."""
    done = 0
    for messages in consumer.messages(BATCH):
        for message in messages:
            nothing(message=message)
        done += consumer.ack_and_delete(messages)
    return done


class Acknowledged(dramatiq.Middleware):
    """Signals when this many messages are acknowledged."""

    def __init__(self, total):
        self.count, self.total, self.finished = itertools.count(1), total, threading.Event()

    def after_ack(self, broker, message):
        if next(self.count) == self.total:
            self.finished.set()


class Dramatiq:
    """An actor of dramatiq whose queue has nothing in it."""

    def __init__(self, url):
        redis.Redis.from_url(url).flushall()
        self.broker = RedisBroker(url=url)
        self.actor = dramatiq.actor(broker=self.broker)(nothing)
        self.broker.client.ping()

    def one(self, number):
        self.actor.send(**fields(number))

    def many(self, numbers):
        messages = [self.actor.message(**fields(number)) for number in numbers]
        dramatiq.group(messages, broker=self.broker).run()

    def work(self, total, threads, prefetch):
        """Starts a worker on what is there, until the last message is acknowledged."""
        acknowledged = Acknowledged(total)
        self.broker.add_middleware(acknowledged)
        worker = dramatiq.Worker(self.broker, worker_threads=threads)
        worker.queue_prefetch = prefetch or worker.queue_prefetch  # as dramatiq_queue_prefetch does
        start = time.perf_counter()
        worker.start()
        assert acknowledged.finished.wait(120)
        rate = per_second(total, start)
        worker.stop()
        left = self.broker.do_qsize(self.actor.queue_name)
        assert left == 0, f"{left} messages are left"
        return rate


def adding(kind, url, total, size):
    """Measures adding `count` messages, ``size`` with each call."""

    def measure():
        empty = kind(url)
        start = time.perf_counter()
        if size == 1:
            for number in range(total):
                empty.one(number)
        else:
            for numbers in batches(total):
                empty.many(numbers)
        return per_second(total, start)

    return measure


def working(kind, url, total, *settings):
    """Measures the work on the given number of messages."""

    def measure():
        filled = kind(url)
        for numbers in batches(total):
            filled.many(numbers)
        return filled.work(total, *settings)

    return measure


def main():
    (url,) = sys.argv[1:]
    rows = []

    def row(name, concurrent, ours, theirs, peer="dramatiq"):
        described = {"name": name, "concurrent": concurrent, "peer": peer, "aim": 1}
        rows.append(compare(ROUNDS, described, ours, theirs))

    for name, total, size in (("add", 2000, 1), ("add 100", 5000, BATCH)):
        row(name, 1, *(adding(kind, url, total, size) for kind in (Shuffle, Dramatiq)))
    for name, total, loop, prefetch in (
        ("process, each taken alone", 2000, one_by_one, None),
        ("process, taken by 100, each acknowledged alone", 5000, taken_in_batches, BATCH),
        ("process, taken and acknowledged by 100", 5000, in_batches, BATCH),
    ):
        peer = "dramatiq" if prefetch is None else f"dramatiq, prefetch {prefetch}"
        for threads in (1, 8):
            ours = working(Shuffle, url, total, threads, loop)
            row(name, threads, ours, working(Dramatiq, url, total, threads, prefetch), peer)
    json.dump(rows, sys.stdout)


main()
