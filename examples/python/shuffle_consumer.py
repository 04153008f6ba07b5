"""Works on what shuffle_producer.py writes, until Ctrl-C or SIGTERM.

python examples/python/shuffle_consumer.py redis://localhost

Any number of consumers may run, each with a name of its own. With the default, memory:, it works
off a few messages of its own.
"""

import logging
import os
import sys

import millpond


def print_page(job):
    """The work, which must be safe to do twice: a message is delivered at least once."""
    page, tenant = job.message.field("page"), job.message.field("tenant")
    print(f"printing page {page} for {tenant}", flush=True)


logging.basicConfig()  # what goes wrong is logged
url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url, decode_responses=True) as client:
    queue = client.shuffle_queue("{examples/jobs}")
    consumer = queue.consumer("printers", f"printer-{os.getpid()}", max_deliveries=5)

    # A message is renewed while print_page runs, and then acknowledged and deleted. If it raises,
    # the message is delivered again, later; one that was tried five times becomes a dead letter.
    # What a consumer left that is gone is taken over after the lease, which all workers share.
    worker = consumer.worker(lease=60, delete=True)

    if url == "memory:":
        queue.write_many([(who, {"tenant": who, "page": "1"}) for who in ("ann", "bob", "cy")])
        assert worker.drain(print_page).done == 3
    else:
        worker.run(print_page)
    print(f"{queue.pending_count('printers')} still with others")
