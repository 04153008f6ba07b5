"""Flags documents as dirty; run consumer.py with the same URL to work on them.

python examples/python/producer.py redis://localhost

Any number of producers may run. With the default, memory:, other programs do not see what is
flagged.
"""

import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    ick = client.ick("examples/documents")

    # Three documents, with no score: the server's time, so the oldest flag comes first.
    ick.add([(None, "a.txt"), (None, "b.txt"), (None, "c.txt")])

    # A busy document is flagged a thousand times and is one piece of work. It may be new, if a
    # consumer took the first flag meanwhile; a later time never lowers its score.
    added = ick.add([(None, "busy.txt")] * 1_000)
    assert added.new <= 1
    assert added.lowered == 0

    stats = ick.stats()
    assert stats.pset_size <= 4 or url != "memory:"
    print(f"flagged; {stats.pset_size} documents wait, {stats.cset_size} are being worked on")
