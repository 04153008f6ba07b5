"""Publishes webhooks, in order for each customer, and one for later; run events_worker.py with the same
URL to deliver them.

python examples/python/events_producer.py redis://localhost

Any number of producers may run. With the default, memory:, other programs do not see what is published.
"""

import json
import sys

from millpond import NewEvent, connect

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with connect(url) as client:
    queue = client.events("examples/webhooks")

    # Those of a customer are delivered one after the other, in this order.
    events = [
        NewEvent(json.dumps({"to": customer, "what": what}), key=customer, headers={"version": "1"})
        for customer in ("ann", "bob")
        for what in ("paid", "packed", "sent")
    ]
    # One whose address does not exist, one for later, and one that is published once, however often
    # this runs.
    events.append(NewEvent(json.dumps({"to": "nobody", "what": "paid"}), key="nobody"))
    events.append(NewEvent(json.dumps({"to": "ann", "what": "reviewed?"}), key="ann", delay=0.5))
    events.append(NewEvent(json.dumps({"to": "all", "what": "welcome"}), dedup_id="welcome"))

    created = sum(published.status == "created" for published in queue.publish_many(events))
    assert created == 9 or url != "memory:"
    print(f"{created} webhooks to deliver")
