"""Inserts tasks, now and for later; run tasks_worker.py with the same URL to work on them.

python examples/python/tasks_producer.py redis://localhost

Any number of producers may run. With the default, memory:, other programs do not see what is
inserted.
"""

import sys

import millpond

url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    store = client.tasks("examples/mail")

    # Many tasks in one step: all of them or none.
    mails = millpond.Modification()
    for who in ("ann", "bob", "cy"):
        mails.insert("mails", {"to": who})

    # One that has to go first, one for later, and one that is sent once, however often this runs
    # within a day of it.
    mails.insert("mails", {"to": "dee"}, priority=9)
    mails.insert("mails", {"to": "eve"}, delay=0.5)
    mails.insert("mails", {"to": "all"}, id="welcome", dedup_window=86_400, skip_colliding=True)
    inserted = store.modify(mails).inserted

    assert len(inserted) == 6 or url != "memory:"
    print(f"{len(inserted)} mails to send")
