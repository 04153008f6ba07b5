"""What a shuffle queue is for: one tenant's burst does not delay the others, and what a worker that
dies has taken is not lost.

python examples/python/shuffle.py [URL]
"""

import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url, decode_responses=True) as client:
    queue = client.shuffle_queue("{examples/shuffle}", streams=64, streams_per_shard=4)
    consumer = queue.consumer("workers", "worker-1")
    # What an interrupted earlier run left. Two at once would see each other's messages.
    while left := consumer.reclaim(min_idle=0, max=1_000).messages:
        consumer.ack_and_delete(left)
    for batch in consumer.messages():
        consumer.ack_and_delete(batch)

    # One tenant writes a thousand messages, and then another one writes one.
    queue.write_many([("busy", {"image": "many.png"})] * 1_000)
    queue.write("quiet", {"image": "one.png", "size": "40x40"})

    # The busy one has four of the streams, and consumers read from all that have messages, in
    # turn: the quiet one's message is among the first five.
    first = consumer.read_many(5)
    (quiet,) = (message for message in first if message.field("image") == "one.png")
    assert quiet.fields == [("image", "one.png"), ("size", "40x40")]
    print("the message of the quiet tenant had not to wait for a thousand others")

    # worker-1 dies here, with five messages that it has not acknowledged. Another one reclaims
    # them. In production the idle time is much longer than the longest job, not 0.
    other = queue.consumer("workers", "worker-2", max_deliveries=5)
    reclaimed = other.reclaim(min_idle=0, max=100)
    assert [message.deliveries for message in reclaimed.messages] == [2] * 5
    assert other.ack_and_delete(reclaimed.messages) == 5
    print("what a worker had taken that died was taken over")

    # Done is what is acknowledged.
    for batch in other.messages(500):
        other.ack_and_delete(batch)
    assert queue.backlog() == 0
