"""consumer.py for asyncio: the event loop runs on while this waits for work.

python examples/python/asyncio_consumer.py redis://localhost
"""

import asyncio
import sys

import millpond.aio


async def main(url):
    async with millpond.aio.connect(url) as client:
        ick = client.ick("examples/documents")
        if url == "memory:":
            await ick.add([(None, "a.txt"), (None, "b.txt"), (None, "c.txt")])

        worked = 0
        async with ick.batches(100, wait=1) as batches:
            async for batch in batches:
                for member, score in batch:
                    print("working on", member.decode())
                    worked += 1

        stats = await ick.stats()
        assert stats.cset_size == 0, "what was worked on is committed"
        assert worked == 3 or url != "memory:"
        print(f"{worked} documents; nothing is left")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
