"""Works on what shuffle_producer.py writes, until nothing has come for a second.

python examples/python/shuffle_consumer.py redis://localhost

Any number of consumers may run, each with a name of its own. With the default, memory:, it writes
a few messages for itself first.
"""

import os
import sys

import millpond


def print_page(message):
    """The work, which must be safe to do twice."""
    print("printing page", message.field("page"), "for", message.field("tenant"))


url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url, decode_responses=True) as client:
    queue = client.shuffle_queue("{examples/jobs}")
    if url == "memory:":
        queue.write_many([(who, {"tenant": who, "page": "1"}) for who in ("ann", "bob", "cy")])

    consumer = queue.consumer("printers", f"printer-{os.getpid()}", max_deliveries=5)
    printed = 0

    # What was delivered to others a minute ago and is not finished comes first. A message that was
    # tried five times becomes a dead letter.
    reclaimed = consumer.reclaim(min_idle=60, max=100)
    for message in reclaimed.messages:
        print_page(message)
        printed += consumer.ack_and_delete(message)

    # A message is done when it is acknowledged. An exception leaves the rest of the batch pending,
    # and another consumer reclaims it: at least once.
    for batch in consumer.messages(10, wait=1):
        for message in batch:
            print_page(message)
            printed += consumer.ack_and_delete(message)

    assert printed == 3 or url != "memory:"
    pending = queue.pending_count("printers")
    print(f"{printed} pages, {reclaimed.dead} given up, {pending} still with others")
