"""Delivers what events_producer.py publishes, until Ctrl-C or SIGTERM.

python examples/python/events_worker.py redis://localhost

Any number of workers may run. With the default, memory:, it delivers a few webhooks of its own.
"""

import json
import logging
import sys
import time

import millpond


def deliver(job):
    """Delivers a webhook. The customer's next one comes when this one has ended."""
    event = job.event
    if job.is_lost:
        raise millpond.Release
    if event.key == b"nobody":
        raise millpond.Reject("no such address")
    # A server that is busy is asked again: what fails is put off, each time longer, and holds up its
    # own customer only.
    if event.key == b"bob" and event.attempts == 1:
        raise millpond.Retry("bob's server is busy", delay=0.02)
    webhook = json.loads(event.payload)
    print(f"deliver to {webhook['to']}: {webhook['what']}", flush=True)


logging.basicConfig()  # what goes wrong is logged
url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    queue = client.events("examples/webhooks")
    worker = queue.worker(concurrency=4)

    if url == "memory:":
        for customer in ("ann", "bob", "nobody"):
            queue.publish(json.dumps({"to": customer, "what": "paid"}), key=customer)
        drained = worker.drain(deliver)
        assert (drained.done, drained.dead) == (1, 1)
        time.sleep(0.03)
        assert worker.drain(deliver).done == 1
    else:
        # The first signal lets webhooks that are being delivered be delivered, for up to 25 s; a
        # second one does not.
        worker.run(deliver)

    print(f"{queue.stats().dead} webhooks could not be delivered")
