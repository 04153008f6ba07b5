"""Works on what tasks_producer.py inserts, until nothing has come for a second.

python examples/python/tasks_worker.py redis://localhost

Any number of workers may run. With the default, memory:, it inserts a few tasks for itself first.
"""

import sys

import millpond


def send(job):
    """Sends a mail. What follows from it happens in the same step as the end of the task: here a
    note for the archive.
    """
    if job.is_lost:
        raise millpond.Release
    print("sending a mail to", job.task.value["to"])
    return job.delete().insert("archive", job.task.value)


url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
with millpond.connect(url) as client:
    store = client.tasks("examples/mail")
    if url == "memory:":
        for who in ("ann", "bob", "cy"):
            store.insert("mails", {"to": who})

    # A task is leased and renewed while send runs. If it raises, the task is retried, later
    # each time; after five attempts, or if its workers died ten times while they worked on it,
    # it goes to mails/err.
    store.worker("mails", max_attempts=5, max_claims=10, wait=1).run(send)

    archived = 0
    for batch in store.claims("archive", max=100):
        done = millpond.Modification()
        for task in batch:
            done.delete(task)
        store.modify(done)
        archived += len(batch)
    assert archived == 3 or url != "memory:"
    print(f"{archived} mails archived")
