"""tasks_worker.py for asyncio: several tasks at a time on one event loop.

python examples/python/asyncio_tasks_worker.py redis://localhost
"""

import asyncio
import sys

import millpond.aio


async def send(job):
    """Sends a mail, while others are sent; the job is renewed meanwhile."""
    await asyncio.sleep(0.1)
    print("sending a mail to", job.task.value["to"])
    return job.delete().insert("archive", job.task.value)


async def main(url):
    """Starts four workers, and a producer if no other program can be one."""
    async with millpond.aio.connect(url) as client:
        store = client.tasks("examples/mail")
        worker = store.worker("mails", max_attempts=5, max_claims=10, wait=1)
        workers = [asyncio.create_task(worker.run(send)) for _ in range(4)]
        if url == "memory:":
            for who in ("ann", "bob", "cy"):
                await store.insert("mails", {"to": who})
        await asyncio.gather(*workers)

        archived = 0
        async for batch in store.claims("archive", max=100):
            done = millpond.Modification()
            for task in batch:
                done.delete(task)
            await store.modify(done)
            archived += len(batch)
        assert archived == 3 or url != "memory:"
        print(f"{archived} mails archived")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
