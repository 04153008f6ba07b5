"""What a volatile hash is for: sessions that expire, each at its own time, and pages that many ask for and
one computes.

python examples/python/volatile.py [URL]
"""

import os
import sys

import millpond

MINUTE = 60

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url, decode_responses=True) as client:
    # Hashes of their own for each run.
    sessions = client.volatile_hash(f"examples/sessions/{os.getpid()}")
    pages = client.volatile_hash(f"examples/pages/{os.getpid()}")

    # A session lives for half an hour after it was last used.
    assert sessions.set_if_absent("ann", "cart 3", 30 * MINUTE)
    assert not sessions.set_if_absent("ann", "cart 4", 30 * MINUTE)
    sessions.set_many({"bob": "cart 5", "cy": "cart 6"}, 10 * MINUTE)
    assert sessions.touch("bob", 30 * MINUTE)
    assert sessions.get_many(["ann", "dee"]) == ["cart 3", None]

    # Those first that expire first.
    first = sessions.fields(limit=1)
    assert [field.field for field in first.fields] == ["cy"]
    rest = sessions.fields(after=first.next, omit_values=True)
    assert [field.field for field in rest.fields] == ["ann", "bob"]

    # Two requests ask for a page that is not there: one of them computes it, the other one waits.
    fence = pages.get_or_acquire("/", "req-1", MINUTE).fence
    assert fence is not None
    assert pages.get_or_acquire("/", "req-2", MINUTE).remaining > 0
    pages.set_and_release("/", "req-1", "<h1>Shop</h1>", 10 * MINUTE)
    page = pages.get_or_acquire("/", "req-2", MINUTE).value
    assert page == "<h1>Shop</h1>"
    print("req-2 shows", page)

    # One that was stopped for too long has lost its lock to another one, whose fence is higher.
    pages.acquire("/prices", "req-1", 0.001)
    lock = None
    while lock is None:
        lock = pages.lock("/prices", MINUTE)
    with lock:  # renewed until the end of the block, and then released
        assert lock.fence > fence
        try:
            pages.set_and_release("/prices", "req-1", "old prices", 10 * MINUTE)
        except millpond.LeaseLostError:
            print("req-1 sets no old prices")
        else:
            raise AssertionError("it has lost its lock")
        lock.set("new prices", 10 * MINUTE)
    assert pages.get("/prices") == "new prices"

    # Nothing is left.
    assert (sessions.clear(), pages.clear()) == (3, 2)
