"""Writes messages of several tenants; run shuffle_consumer.py with the same URL to work on them.

python examples/python/shuffle_producer.py redis://localhost

Any number of producers may run. With the default, memory:, nobody else sees what is written.
"""

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

    # One that can be called off by its number, whoever has it.
    queue.write_tracked("ann", {"tenant": "ann", "page": "4", "job": "ann/4"}, "job")
    assert queue.delete_tracked("ann/4") is not None

    assert queue.backlog() >= 9 or url != "memory:"
    print(f"{len(receipts)} messages written")
