"""tasks_worker.py for asyncio: several tasks at a time on one event loop.

python examples/python/asyncio_tasks_worker.py redis://localhost
"""

import asyncio
import logging
import sys

import millpond.aio


async def send(job):
    """Sends a mail, while others are sent; the job is renewed meanwhile. It is cancelled if it takes
    longer than ten seconds, and if its lease is lost.
    """
    await asyncio.sleep(0.1)
    print(f"sending a mail to {job.task.value['to']}", flush=True)
    return job.delete().insert("archive", job.task.value)


async def main(url):
    """Works off a few tasks of its own, or works until Ctrl-C or SIGTERM."""
    async with millpond.aio.connect(url) as client:
        store = client.tasks("examples/mail")
        worker = store.worker("mails", concurrency=4, timeout=10, max_attempts=5, max_crashes=10)
        if url == "memory:":
            for who in ("ann", "bob", "cy"):
                await store.insert("mails", {"to": who})
            assert (await worker.drain(send)).done == 3
        else:
            await worker.run(send)

        archived = await store.worker("archive").drain(lambda job: None)
        print(f"{archived.done} mails archived")


logging.basicConfig()  # what goes wrong is logged
asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
