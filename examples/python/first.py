"""What an Ick is for: a document that changes while it is being worked on is processed again.

python examples/python/first.py [URL]
"""

import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    ick = client.ick("examples/first")
    ick.delete()

    # Flag two documents. The score says how urgent: the lowest comes first.
    added = ick.add([(2.0, "b.txt"), (1.0, "a.txt")])
    assert (added.new, added.lowered) == (2, 0)

    # Flag one of them again: it is merged into the existing flag, which keeps its score.
    added = ick.add([(3.0, "a.txt")])
    assert (added.new, added.lowered) == (0, 0)

    # Take a batch. It stays reserved until it is committed.
    batch = ick.reserve(10)
    assert [member for member, score in batch] == [b"a.txt", b"b.txt"]

    # While we work, a.txt changes again. The commit does not remove that flag.
    ick.add([(4.0, "a.txt")])
    assert ick.commit([b"a.txt", b"b.txt"]) == 2

    assert ick.reserve(10) == [(b"a.txt", 4.0)]
    print("a.txt changed while it was being worked on, and came again")

    ick.delete()
