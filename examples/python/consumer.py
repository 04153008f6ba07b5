"""Works on what producer.py flags, until nothing has come for a second.

python examples/python/consumer.py redis://localhost

One consumer an Ick. With the default, memory:, it flags a few documents for itself first.
"""

import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    ick = client.ick("examples/documents")
    if url == "memory:":
        ick.add([(None, "a.txt"), (None, "b.txt"), (None, "c.txt")])

    worked = 0
    # A batch is committed when its turn of the loop is over. An exception leaves it reserved, and
    # the next consumer gets it again: at least once.
    with ick.batches(100, wait=1) as batches:
        for batch in batches:
            for member, score in batch:
                print("working on", member.decode())
                worked += 1

    assert ick.stats().cset_size == 0, "what was worked on is committed"
    assert worked == 3 or url != "memory:"
    print(f"{worked} documents; nothing is left")
