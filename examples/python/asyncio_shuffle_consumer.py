"""shuffle_consumer.py for asyncio: several consumers on one event loop wait for work together.

python examples/python/asyncio_shuffle_consumer.py redis://localhost
"""

import asyncio
import os
import sys

import millpond.aio


async def consume(queue, number):
    """Works until nothing has come for a second; returns how many pages it has printed."""
    consumer = queue.consumer("printers", f"printer-{os.getpid()}-{number}")
    printed = 0
    async for batch in consumer.messages(10, wait=1):
        for message in batch:
            print("printing page", message.field("page"), "for", message.field("tenant"))
            printed += await consumer.ack_and_delete(message)
    return printed


async def main(url):
    """Starts the consumers, and a producer if no other program can be one."""
    async with millpond.aio.connect(url, decode_responses=True) as client:
        queue = client.shuffle_queue("{examples/jobs}")
        consumers = [asyncio.create_task(consume(queue, number)) for number in range(4)]
        if url == "memory:":
            tenants = ("ann", "bob", "cy")
            await queue.write_many([(who, {"tenant": who, "page": "1"}) for who in tenants])

        printed = sum(await asyncio.gather(*consumers))
        assert printed == 3 or url != "memory:"
        print(f"{printed} pages, {await queue.pending_count('printers')} still with others")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
