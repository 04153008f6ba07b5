"""shuffle_consumer.py for asyncio: several messages at a time on one event loop.

python examples/python/asyncio_shuffle_consumer.py redis://localhost
"""

import asyncio
import logging
import os
import sys

import millpond.aio


async def print_page(job):
    """The work; it is cancelled if it takes longer than ten seconds, and if its lease is lost."""
    await asyncio.sleep(0.1)
    page, tenant = job.message.field("page"), job.message.field("tenant")
    print(f"printing page {page} for {tenant}", flush=True)


async def main(url):
    """Works off a few messages of its own, or works until Ctrl-C or SIGTERM."""
    async with millpond.aio.connect(url, decode_responses=True) as client:
        queue = client.shuffle_queue("{examples/jobs}")
        consumer = queue.consumer("printers", f"printer-{os.getpid()}", max_deliveries=5)
        worker = consumer.worker(timeout=10, delete=True)
        if url == "memory:":
            tenants = ("ann", "bob", "cy")
            await queue.write_many([(who, {"tenant": who, "page": "1"}) for who in tenants])
            assert (await worker.drain(print_page)).done == 3
        else:
            await worker.run(print_page)
        print(f"{await queue.pending_count('printers')} still with others")


logging.basicConfig()  # what goes wrong is logged
asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
