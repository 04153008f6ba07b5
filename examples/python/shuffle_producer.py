"""Writes messages of several tenants; run shuffle_consumer.py with the same URL to work on them.

python examples/python/shuffle_producer.py redis://localhost

Any number of producers may run. With the default, memory:, other programs do not see what is
written.
"""

import os
import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    # The braces tie all keys of the queue to one slot, for a cluster.
    queue = client.shuffle_queue(
        "{examples/jobs}", streams=16, streams_per_shard=4, track_keys="queue"
    )

    # Many messages in one step, each for its tenant.
    receipts = queue.write_many(
        (tenant, {"tenant": tenant, "page": page})
        for tenant in ("ann", "bob", "cy")
        for page in ("1", "2", "3")
    )
    assert len(receipts) == 9

    # One that can be deleted by its number, delivered or not.
    job = f"ann/4/{os.getpid()}"
    queue.write_tracked("ann", {"tenant": "ann", "page": "4", "job": job}, "job")
    deleted = queue.delete_tracked(job)
    assert deleted is not None or url != "memory:"  # a consumer may have been faster

    assert queue.backlog() >= 9 or url != "memory:"
    print(f"{len(receipts)} messages written")
